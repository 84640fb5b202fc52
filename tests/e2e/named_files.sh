#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a user names to be read is a regular file, or is refused at once: no command waits for the writer of a FIFO, or reads
# a device to its end. One rule (src/base/open_named.h), tried with each command that opens a file.
. "$(dirname "$0")/tap.sh"

"$aiflame" import -q -o good.data "$root/tests/fuzz/found/fuzz_import-chrome" || exit 1
cp "$root/tests/fuzz/found/fuzz_import-rocpd3" good.sqlite
mkfifo fifo.json
mkdir baselines
"$aiflame" baseline set --baselines baselines kept good.data >/dev/null || exit 1
echo 'time 5%' >budgets

# Each line: what stands in the place of FILE is to be refused. COMMANDS lists the commands of the lines.
cat >lines <<'END'
annotate -i FILE gemm
baseline set --baselines baselines new FILE
diff FILE good.data
diff good.data FILE
export --format chrome -i FILE -o out.json
flame -i FILE -o out.svg
gate FILE good.data
gate --budgets FILE good.data good.data
import FILE -o out.data
import --from perf-stat FILE -o out.data
info -i FILE
merge good.data FILE -o out.data
query -i FILE VALUES(1)
reduce FILE -o out.data
report -i FILE
report --kernels -i FILE
runbook run -d run --plan FILE -- true
gate --require FILE:a=1 good.data good.data
scope -i FILE -o out.html
stat --from FILE
view -i FILE -o out.html
why -i FILE
END
# Of those that open no file that a user names: what they record, where they write.
without='bench completion ctl doctor env record stacks top'

every_command() {
	sed -n 's/^AIF_COMMAND(\(.*\))/\1/p' "$root/src/cmd/commands.def" | sort >all
	{ cut -d ' ' -f 1 lines; printf '%s\n' $without; } | sort -u | diff all -
}
check "each command either opens no named file or is tried here" every_command

# The command ends by itself, not well, and names the file in one line.
refuses() { # FILE LINE
	file=$1 line=$2 text=$3
	set -- $(echo "$line" | sed "s|FILE|$file|")
	timeout 120 "$aiflame" "$@" >said 2>&1 </dev/null
	got=$?
	[ "$got" != 124 ] || { echo "still waits after two minutes: $*"; return 1; }
	[ "$got" != 0 ] || { echo "took it: $*"; cat said; return 1; }
	grep -F "$file" said | grep -q "$text" || { echo "does not say '$text' of $file: $*"; cat said; return 1; }
}
while read -r line; do
	check "a FIFO that nobody writes to is refused at once: $line" refuses fifo.json "$line" FIFO
done <lines
for line in 'flame -i FILE -o out.svg' 'import FILE -o out.data' 'diff FILE good.data' 'stat --from FILE' 'info FILE'; do
	check "a device is refused, not read to its end: $line" refuses /dev/zero "$line" 'a device'
done

# SQLite opens what lies beside a database whatever it is.
cp good.data beside.data
mkfifo beside.data-journal
for line in 'info FILE' 'view FILE -o out.html' 'diff FILE good.data'; do
	check "a FIFO in the place of a profile's journal is refused at once: $line" refuses beside.data "$line" FIFO
done
cp good.sqlite beside.sqlite
mkfifo beside.sqlite-journal beside.sqlite-wal
check "FIFOs beside a database that is imported are not opened" timeout 120 "$aiflame" import -q -o beside2.data beside.sqlite

# A baseline's list of reasons is appended to.
fifo_of_reasons() {
	mkfifo baselines/kept/accepted.txt || return 1
	timeout 120 "$aiflame" baseline set --baselines baselines --reason why kept good.data >said 2>&1
	got=$?
	cat said
	[ "$got" != 124 ]
}
check "a FIFO in the place of a baseline's reasons is not waited for" fifo_of_reasons

# What reads once reads what a process writes, a pipe of the shell's <(COMMAND) or a FIFO that somebody has open.
check "import reads a pipe that the shell names" bash -c "'$aiflame' import -q -o piped.data <(cat '$root/tests/fuzz/found/fuzz_import-chrome')"
check "flame reads a pipe that the shell names" bash -c "'$aiflame' flame -o piped.svg <(sleep 1; echo 'a;b 3')"
check "stat reads a pipe that the shell names" bash -c "'$aiflame' stat --from <(cat '$root/tests/fuzz/found/fuzz_import-perf_stat')"
written() {
	mkfifo written && exec 8<>written || return 1
	echo 'a;b 3' >&8
	timeout 60 "$aiflame" flame -o written.svg written 8>&- &
	reader=$!
	wait_until sh -c "ls -l /proc/\$(pgrep -P $reader)/fd | grep -q written" || return 1
	exec 8>&-
	wait $reader
}
check "flame reads a FIFO that another process has open" written
done_testing
