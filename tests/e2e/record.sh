#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recorder as its users meet it: exit codes, signals, files, and what survives.
. "$(dirname "$0")/tap.sh"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run" # where ctl finds this test's recordings and no other's
unset AIFLAME_STANDBY
synced() { "$aiflame" ctl sync "$1"; }

check "a missing command ends with 127" status_is 127 "$aiflame" record -q -o a.data no-such-command
check "a missing command is said to be not found" says "command not found" "$aiflame" record -q no-such-command
check "where a missing command was to run nothing is said to go on" sh -c "! '$aiflame' record no-such-command 2>&1 | grep -q 'goes on'"
check "where no profile can be written nothing is said to go on" sh -c "! '$aiflame' record -o no/such/a.data true 2>&1 | grep -q 'goes on'"
check "a missing command leaves no profile" test ! -e a.data
# For root each directory can be searched.
mkdir -m 000 closed
with_closed() { PATH=$work/closed:$PATH "$aiflame" record -q "$@"; }
check "a missing command ends with 127 where a directory of PATH cannot be searched" status_is 127 with_closed no-such-command
check "a directory of PATH that cannot be searched does not hide a command behind it" with_closed -o closed.data true
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -x "$aiflame"; then
	mkdir -m 777 open && printf '#!/bin/sh\n' >open/not-executable
	chmod 711 "$work"
	# as_user COMMAND: with both directories in PATH, as another user
	as_user() { env PATH="$work/closed:$work/open:$PATH" XDG_RUNTIME_DIR=/nowhere setpriv --reuid 65534 --clear-groups "$aiflame" record -q -o open/a.data "$1"; }
	check "for an ordinary user, too, a missing command ends with 127" status_is 127 as_user no-such-command
	check "a file of PATH that cannot be executed ends with 126 for an ordinary user" status_is 126 as_user not-executable
	chmod 700 "$work"
fi
echo text >plain
check "a file that cannot be executed ends with 126" status_is 126 "$aiflame" record -q ./plain
check "the command's exit code is the recorder's" status_is 7 "$aiflame" record -q sh -c 'exit 7'
check "a command that a signal ends gives 128 + its number" status_is 137 "$aiflame" record -q sh -c 'kill -9 $$'
check "an unknown option ends with 2" status_is 2 "$aiflame" record --no-such-option true
check "an unknown option's nearest is proposed" says "did you mean --device-rate" "$aiflame" record --device-rat 9 true
check "a forgotten value is not taken from the next option" says "record: --counters wants an argument: LIST, not the option '-o'; give --counters=-o if that is meant" \
	"$aiflame" record --counters -o c.data touch ran
check "a misspelt option is not taken for a value" says "not the option '--durtion'" "$aiflame" record --counters --durtion 1 touch ran
check "the end of options is not taken for a value" status_is 2 "$aiflame" record -o -- touch ran
check "a forgotten value of a one-letter option is not taken from the next option" says "-o wants an argument: FILE, not the option '-q'; give -o-q if that is meant" "$aiflame" record -o -q touch ran
check "a command line with a forgotten value runs nothing" test ! -e ran -a ! -e c.data
dashed() { "$aiflame" record --name=-q -o-q.data true && [ -e ./-q.data ] && "$aiflame" record -q --name -z1 -o z.data true && ! "$aiflame" record --duration -5 true 2>dashed.err && grep -q "'-5' is not understood" dashed.err; }
check "values that begin with a dash can be given, and are judged" dashed
check "an unwritable output is said before the command runs" sh -c "
	! '$aiflame' record -q -o /nowhere/x.data touch ran && [ ! -e ran ]"
check "a program that used no device gets a reason" says "reason" "$aiflame" record -o none.data true
check "the profile of a program that used no device opens" "$aiflame" info none.data
check "a command that is over in a moment has its command line" sh -c "
	'$aiflame' record -q -o s.data sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/true \$i; done' &&
	[ \$('$aiflame' query --format csv s.data 'SELECT cmdline FROM processes' | grep -c '^/bin/true [1-8]') = 8 ] &&
	'$aiflame' record -q -o s.data true && '$aiflame' query --format csv s.data 'SELECT cmdline FROM processes' | grep -qx true"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -r "$build/src/agent/libaiflame-agent.so"; then
	# Processes are looked for the less often the more there are, each two seconds at the least: the command ends when the profile so
	# far has what is expected.
	mkfifo go
	lasts_until() { # SQL COMMAND...: recorded into u.data, which has it
		sql=$1
		shift
		"$aiflame" record -o u.data "$@" <go >says.out 2>&1 &
		recorder=$!
		exec 7>go
		wait_until in_file u "$sql"
		has=$?
		exec 7>&-
		wait $recorder
		return $has
	}
	other_user() {
		lasts_until 'SELECT count(*) > 0 FROM losses WHERE reason = 1409' setpriv --reuid 65534 --clear-groups cat || return
		cat says.out
		grep -qF "record as that user" says.out
	}
	check "a program of another user: what to do is said" other_user
	check "a program of another user has one reason" sh -c "
		grep -q 'reason   the program ran as another user than the recorder' says.out && ! grep 'no memory' says.out"
	# It is heard of as root, and gives that up. One child loses its parent, which may be seen, too, if only for a moment.
	cat >drop.pl <<-'EOF'
		$( = 65534; $) = "65534 65534"; $< = 65534; $> = 65534;
		chdir "/";
		unless (fork) { fork and exit; exec "cat", "-u" }
		wait;
		system "cat", "-s";
	EOF
	dropped() {
		lasts_until "SELECT count(*) = 2 FROM processes WHERE cmdline IN ('cat -u', 'cat -s')" perl drop.pl || return
		"$aiflame" query --format csv u.data 'SELECT cmdline FROM processes' >u.txt
		cat u.txt
		grep -qx 'perl drop.pl' u.txt && grep -qx 'cat -u' u.txt && grep -qx 'cat -s' u.txt &&
			[ "$("$aiflame" query --format csv u.data 'SELECT count FROM losses WHERE reason = 1409' | tail -1)" = $(($(wc -l <u.txt) - 1)) ]
	}
	check "children of a program that has become another user's are listed" dropped
fi

# Nothing on a device, and nothing of CPUs: one message, with what to do, whatever is asked for.
"$aiflame" record -q -o cpus.data sh -c : 2>/dev/null
check "flame says why a profile without device work cannot be drawn" says "no device activity and no CPU samples: no process used a device" "$aiflame" flame -o no.svg cpus.data
check "flame --of cpu names --cpu where no CPU time was sampled" says "record with --cpu" "$aiflame" flame --of cpu -o no.svg cpus.data

# The live line, in a terminal of its own.
in_terminal() { # raw: what was shown so far
	: >raw
	script -qefc "stty cols 120; $*" /dev/null </dev/null >raw
	tr -d '\r' <raw >screen
}
# One process that writes nothing, until the terminal has shown that.
cat >until_shown.py <<'END'
import re, sys, time
until = time.monotonic() + 120
while time.monotonic() < until and not re.search(sys.argv[1], open("raw").read()):
    time.sleep(0.1)
END
python=$(python3 -c 'import sys; print(sys.executable)')
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
live='aiflame: [0-9]* s, [0-9]* processes, 0 launches'
in_terminal "'$aiflame' record -o l.data $python until_shown.py '$live'"
check "the live line shows while a quiet command runs" grep -q "$live" screen
check "the live line ends when the command writes" sh -c "$(in_terminal "'$aiflame' record -o l.data python3 -c 'import time; print(\"first\", flush=True); time.sleep(0.8); print(\"last\")'")
	! sed '1,/first/d; /last/q' screen | grep -q 'aiflame:'"
check "record -q shows no live line" sh -c "$(in_terminal "'$aiflame' record -q -o l.data sleep 0.7") ! grep -q aiflame: screen"
narrow() { # at 50 columns, of which the last is the cursor's
	AIFLAME_STANDBY=$work/standby script -qec "stty cols 50; '$aiflame' record -a --inject never -o l.data --duration 0.3" /dev/null </dev/null | tr '\r' '\n' >screen
	sed -n 's/ .\[K$//; /^aiflame: [0-9]* s,/p' screen >drawn
	grep -q ' launches, [0-9]* samples$' drawn && ! grep -q MB drawn || { cat -v screen; return 1; }
}
check "the live line does not wrap in a narrow terminal" narrow
else
	skip "the live line shows while a quiet command runs" "no pseudo-terminals here"
fi
check "record -q of a command that says nothing is silent" sh -c "
	[ -z \"\$('$aiflame' record -q -o q.data true 2>&1)\" ]"

check "the example is recorded" "$aiflame" record -q -o m.data "$matmul" 128 2
check "the numbers of the example's recording add up" says "everything adds up" "$aiflame" info m.data
check "every launch of the example is joined with its execution" sh -c "'$aiflame' info m.data | grep -A1 '^  launches' | tail -1 | grep -q '= joined *14'"
check "a profile is readable by its user alone" sh -c "[ \$(stat -c %a m.data) = 600 ]"
check "the example's three kernels are in the table" sh -c "
	[ \$('$aiflame' report --kernels --format csv m.data | grep -c multiply_) = 3 ]"
check "an existing profile becomes .old" sh -c "
	'$aiflame' record -q -o m.data true && '$aiflame' report --kernels m.data.old | grep -q multiply_basic"
check "%q{RUN} in -o is replaced by the variable" sh -c "
	RUN=x7 '$aiflame' record -q -o 'p-%q{RUN}.data' true && [ -e p-x7.data ]"
check "--duration ends the recording" sh -c "
	'$aiflame' record -q --duration 300ms --kill -o d.data sleep 600; [ -e d.data ]"
# One command to the picture.
picture() {
	"$aiflame" record -q --flame one.svg -o one.data "$matmul" 64 2 >/dev/null && "$aiflame" flame -o two.svg one.data && cmp one.svg two.svg
}
check "record --flame draws what flame draws" picture
check "record --flame draws what a command that ends with a signal launched" sh -c "'$aiflame' record -q --flame sig.svg -o sig.data sh -c '\"$matmul\" 64 2; kill -9 \$\$' >/dev/null
	[ \$? = 137 ] && grep -q multiply_basic sig.svg"
check "record --flame page.html writes the page" sh -c "'$aiflame' record -q --flame page.html -o one.data '$matmul' 64 2 >/dev/null && grep -qi '^<!doctype html>' page.html"
check "record --flame refuses another suffix before anything runs" sh -c "'$aiflame' record --flame a.png touch ran; [ \$? = 2 ] && [ ! -e ran ]"
check "record --flame names the suffixes that there are" says "use .svg, .html or .folded" "$aiflame" record --flame a.png true
check "record --flame refuses a directory that does not exist before anything runs" sh -c "'$aiflame' record --flame no/such/a.svg touch ran; [ \$? = 2 ] && [ ! -e ran ]"
check "record --flame says that the picture is written" says "y.svg is written" "$aiflame" record --flame y.svg -o one.data "$matmul" 64 2
check "record --flame refuses a file that is no picture of ours before anything runs" sh -c "echo mine >mine.svg; '$aiflame' record --flame mine.svg touch ran; [ \$? = 2 ] && [ ! -e ran ]"
check "record --flame says that there is nothing to draw" says "no device activity" "$aiflame" record -q --flame n.svg -o n.data true
check "record --flame without a picture ends with 125" status_is 125 "$aiflame" record -q --flame n.svg -o n.data true
check "record --flame without a picture keeps the status of a command that failed" status_is 3 "$aiflame" record -q --flame n.svg -o n.data sh -c 'exit 3'

# How soon after the delay it begins is the machine's affair: bench/delay.sh.
mkfifo storm.in
exec 3<>storm.in
delayed() {
	for seconds in 0.5 4 32; do # until the program has begun
		echo storm >&3
		"$aiflame" record -q -o dd.data --delay 0.7 --duration $seconds --kill "$build/tests/e2e/attach_app" 1 <&3 >/dev/null
		[ "$("$aiflame" query --format csv dd.data 'SELECT count(*) > 0 FROM launches' | tail -1)" = 0 ] || break
	done
	got=$("$aiflame" query --format csv dd.data "SELECT (min(l.time_ns) / 1000000) || ' ' || (max(w.end_ns) / 1000000)
		FROM launches l, windows w WHERE w.device IS NULL AND w.start_ns < 700000000" | tail -1)
	echo "first launch, and end of what was not collected at first, in ms: $got"
	[ "${got% *}" -ge 700 ] && [ "${got#* }" -ge 700 ]
}
check "record --delay collects launches after the delay, and none before" delayed
check "a process that outlives its command is named" says "of it runs on, unrecorded" \
	"$aiflame" record -o left.data sh -c 'sleep 30 >/dev/null 2>&1 & echo $! >left.pid'
kill "$(cat left.pid)"
check "a recording without devices names the option that records CPUs" says "others are sampled on CPUs only if that is asked for; record with --cpu" "$aiflame" record -o left.data true
# advised COMMAND...: it gives the same advice as the summary does
advised() { says "no process used a device, and others are sampled on CPUs only if that is asked for; record with --cpu" "$@"; }
check "why gives the summary's advice for a recording without devices" advised "$aiflame" why left.data
check "why's JSON gives the summary's advice for a recording without devices" advised "$aiflame" why --format json left.data
check "report --cpu gives the summary's advice for a recording without devices" advised "$aiflame" report --cpu left.data
check "report --threads gives the summary's advice for a recording without devices" advised "$aiflame" report --threads left.data
check "flame gives the summary's advice for a recording without devices" advised "$aiflame" flame -o left.svg left.data
check "flame --of cpu gives the summary's advice for a recording without devices" advised "$aiflame" flame --of cpu -o left.svg left.data
check "a process that has ended with its command is not named" sh -c "
	'$aiflame' record -o left.data sh -c 'sleep 0.2 & wait' 2>&1 | grep 'used none of'"

# SQLite's limit on paths: nothing is run, nothing is moved.
long=$(printf '%0100d/%0100d/%0100d/%0100d/%0100d' 0 0 0 0 0)
mkdir -p "$long"
echo theirs >"$long/x.data"
check "a path that is too long for SQLite is refused" \
	says "x.data: its full path is longer than 500 bytes" "$aiflame" record -q -o "$long/x.data" touch ran
check "a path that is too long is refused before the command runs" test ! -e ran
check "a file at a path that is too long stays as it was" sh -c "[ \"\$(cat '$long/x.data')\" = theirs ] && [ \$(ls '$long') = x.data ]"
mv d.data "$long/d.data"
check "a profile's path that is too long is refused" says "d.data: its full path is longer than 504 bytes" "$aiflame" info "$long/d.data"
mv "$long/d.data" d.data
check "an export's path that is too long is refused" says "is longer than 504 bytes" "$aiflame" export -o "$long/e.sqlite" d.data
check "an export whose path is too long is not left there" sh -c "[ \$(ls '$long') = x.data ]"

# Workers that are forked and never call exec, as those of data loaders: no agent of theirs says a word.
cat >workers.py <<'EOF'
import multiprocessing, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        time.sleep(0)
if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=work, args=(0.3,)) for _ in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
EOF
"$aiflame" record -q -o workers.data "$python" workers.py
workers="FROM processes c JOIN processes p ON c.ppid = p.pid WHERE p.id = 0 AND c.agent AND NOT c.runtime"
# counts N SQL: what it counts in workers.data
counts() {
	[ "$("$aiflame" query --format csv workers.data "SELECT count(*) $2" | tail -1)" = "$1" ] ||
		{ "$aiflame" query workers.data "SELECT * FROM processes"; return 1; }
}
check "forked workers are processes of the profile, with CPU time" counts 3 "$workers AND c.cpu_ns > 0"
check "forked workers have an end in the profile" counts 3 "$workers AND c.end_ns > c.start_ns"
check "the summary says what processes without a device computed" \
	says "4 processes without a device: " "$aiflame" report workers.data

# matmul says when each of its three variants is over.
has_begun() { grep -q multiply_basic out.txt; }
# A target that is killed: what it did until then is there.
"$aiflame" record -q -o k.data stdbuf -oL "$matmul" 256 100 >out.txt &
recorder=$!
wait_until has_begun
kill -9 "$(pgrep -P $recorder matmul)"
wait $recorder
check "the recorder of a target killed by -9 ends with 137" test $? -eq 137
check "a target killed by -9 has its launches in the profile" sh -c "'$aiflame' report --kernels k.data | grep -q multiply_basic"

# A recorder that is killed: the target runs on undisturbed, what is older than a second opens.
rm out.txt
"$aiflame" record -q -o r.data sh -c "stdbuf -oL '$matmul' 256 100 >out.txt; echo \$? >status.txt" &
recorder=$!
wait_until has_begun
synced r.data
kill -9 $recorder
wait $recorder 2>/dev/null
check "after the recorder's death the profile opens" says "cut short" "$aiflame" info r.data
# told_once COMMAND...: on either stream
told_once() { "$aiflame" "$@" >once.txt 2>&1 && [ "$(grep -c "cut short" once.txt)" = 1 ] || { cat once.txt; return 1; }; }
check "info says once that a recording was cut short" told_once info r.data
check "report --stacks says once that a recording was cut short" told_once report --stacks r.data
check "the first screen says once on stdout that a recording was cut short" sh -c "'$aiflame' report r.data 2>/dev/null | grep -c 'cut short' | grep -qx 1"
check "annotate says once that a recording was cut short" told_once annotate multiply_basic r.data
check "query says once that a recording was cut short" told_once query r.data "SELECT 1"
check "export says once that a recording was cut short" told_once export -o r.json r.data
check "flame says in the picture and once as text that a recording was cut short" sh -c "'$aiflame' flame -o r.svg r.data 2>&1 | grep -c 'cut short' | grep -qx 1 && grep -q 'UTC, cut short' r.svg"
check "a recording that was cut short has its launches" sh -c "'$aiflame' report --kernels r.data | grep -q multiply_basic"
check "the target of a recorder that was killed ends well" wait_until grep -qx 0 status.txt

# Ctrl-C in a terminal reaches both; a signal to the recorder alone is passed on.
"$aiflame" record -q -o i.data sleep 600 &
recorder=$!
wait_until synced i.data
kill -TERM $recorder
wait $recorder
check "a signal to the recorder is forwarded to the command" test $? -eq 143
check "the profile is whole after a signal to the recorder" "$aiflame" info i.data

"$aiflame" record -q -o two1.data "$matmul" 128 20 >/dev/null &
first=$!
"$aiflame" record -q -o two2.data "$matmul" 128 20 >/dev/null
wait $first
# The second request to end leaves a command that goes on alone.
touch go
"$aiflame" record -o on.data sh -c 'trap "" TERM HUP; echo $$ >on.pid; while [ -e go ]; do sleep .05; done' 2>on.err &
recorder=$!
check "a command that ignores signals runs" wait_until test -s on.pid
kill -TERM $recorder && kill -HUP $recorder && wait $recorder
check "a command that the recorder leaves running is named, and how it is ended" grep -qx "aiflame: the command goes on and is not recorded any more; kill $(cat on.pid) ends it" on.err
rm go
check "two recorders at once do not mix" sh -c "
	for f in two1 two2; do '$aiflame' info \$f.data | grep -q '= joined *68' || exit 1; done"
done_testing
