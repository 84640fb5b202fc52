#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recorder as its users meet it: exit codes, signals, files, and what survives.
. "$(dirname "$0")/tap.sh"

check "a missing command ends with 127" status_is 127 "$aiflame" record -q -o a.data no-such-command
check "and says what to do" says "command not found" "$aiflame" record -q no-such-command
check "and not that it goes on" sh -c "! '$aiflame' record no-such-command 2>&1 | grep -q 'goes on'"
check "nor where no profile can be written" sh -c "! '$aiflame' record -o no/such/a.data true 2>&1 | grep -q 'goes on'"
check "and leaves no profile" test ! -e a.data
echo text >plain
check "what cannot be executed ends with 126" status_is 126 "$aiflame" record -q ./plain
check "the command's exit code is ours" status_is 7 "$aiflame" record -q sh -c 'exit 7'
check "a signal is 128 + its number" status_is 137 "$aiflame" record -q sh -c 'kill -9 $$'
check "an unknown option ends with 2" status_is 2 "$aiflame" record --no-such-option true
check "and proposes the nearest" says "did you mean --device-rate" "$aiflame" record --device-rat 9 true
check "a value that was forgotten is not the next option" says "record: --counters wants an argument: LIST, not the option '-o'; give --counters=-o if that is meant" \
	"$aiflame" record --counters -o c.data touch ran
check "nor one that is misspelt" says "not the option '--durtion'" "$aiflame" record --counters --durtion 1 touch ran
check "nor what ends them" status_is 2 "$aiflame" record -o -- touch ran
check "of a letter" says "-o wants an argument: FILE, not the option '-q'; give -o-q if that is meant" "$aiflame" record -o -q touch ran
check "and nothing is run" test ! -e ran -a ! -e c.data
dashed() { "$aiflame" record --name=-q -o-q.data true && [ -e ./-q.data ] && "$aiflame" record -q --name -z1 -o z.data true && ! "$aiflame" record --duration -5 true 2>dashed.err && grep -q "'-5' is not understood" dashed.err; }
check "values that begin so can be given, and are judged" dashed
check "an unwritable output is said before the command runs" sh -c "
	! '$aiflame' record -q -o /nowhere/x.data touch ran && [ ! -e ran ]"
check "a program without a device gets a reason" says "reason" "$aiflame" record -o none.data true
check "its profile opens" "$aiflame" info none.data
check "a command that is over in a moment has its command line" sh -c "
	'$aiflame' record -q -o s.data sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/true \$i; done' &&
	[ \$('$aiflame' query --format csv s.data 'SELECT cmdline FROM processes' | grep -c '^/bin/true [1-8]') = 8 ] &&
	'$aiflame' record -q -o s.data true && '$aiflame' query --format csv s.data 'SELECT cmdline FROM processes' | grep -qx true"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -r "$build/src/agent/libaiflame-agent.so"; then
	check "a program of another user: what to do is said" says "record as that user" \
		"$aiflame" record -o u.data setpriv --reuid 65534 --clear-groups sleep 0.5
	check "and nothing else" sh -c "
		grep -q 'reason   the program ran as another user than the recorder' says.out && ! grep 'no memory' says.out"
	# It is heard of as root, and gives that up. One child loses its parent, which may be seen, too, if only for a moment.
	cat >drop.pl <<-'EOF'
		$( = 65534; $) = "65534 65534"; $< = 65534; $> = 65534;
		chdir "/";
		unless (fork) { fork and exit; exec "sleep", "1.1" }
		wait;
		system "sleep", "1.2";
	EOF
	check "nor are the children of one that has become another user's forgotten" sh -c "
		'$aiflame' record -q -o u.data perl drop.pl
		'$aiflame' query --format csv u.data 'SELECT cmdline FROM processes' >u.txt; cat u.txt
		grep -qx 'perl drop.pl' u.txt && grep -qx 'sleep 1.1' u.txt && grep -qx 'sleep 1.2' u.txt &&
		[ \$('$aiflame' query --format csv u.data \
			'SELECT count FROM losses WHERE reason = 1409' | tail -1) = \$((\$(wc -l <u.txt) - 1)) ]"
fi

# Nothing on a device, and nothing of CPUs: one message, with what to do, whatever is asked for.
"$aiflame" record -q -o cpus.data sh -c : 2>/dev/null
check "what used no device cannot be drawn, and why" says "no device activity and no CPU samples: only processes that use a device are sampled" "$aiflame" flame -o no.svg cpus.data
check "nor its CPU time, with what to do" says "without a device with --children" "$aiflame" flame --of cpu -o no.svg cpus.data

# The live line, in a terminal of its own.
in_terminal() {
	script -qec "stty cols 120; $*" /dev/null </dev/null | tr -d '\r' >screen
}
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
check "the live line shows while a quiet command runs" sh -c "$(in_terminal "'$aiflame' record -o l.data sleep 0.7") grep -q 'aiflame: [0-9]* s, 0 processes, 0 launches' screen"
check "until the command writes" sh -c "$(in_terminal "'$aiflame' record -o l.data python3 -c 'import time; print(\"first\", flush=True); time.sleep(0.8); print(\"last\")'")
	! sed '1,/first/d; /last/q' screen | grep -q 'aiflame:'"
check "and not with -q" sh -c "$(in_terminal "'$aiflame' record -q -o l.data sleep 0.7") ! grep -q aiflame: screen"
narrow() { # at 50 columns, of which the last is the cursor's
	AIFLAME_STANDBY=$work/standby script -qec "stty cols 50; '$aiflame' record -a -o l.data --duration 0.7" /dev/null </dev/null | tr '\r' '\n' >screen
	sed -n 's/ .\[K$//; /^aiflame: [0-9]* s,/p' screen >drawn
	grep -q ' launches, [0-9]* samples$' drawn && ! grep -q MB drawn || { cat -v screen; return 1; }
}
check "in a narrow terminal it does not wrap" narrow
else
	n=$((n + 1))
	echo "ok $n - the live line # SKIP no pseudo-terminals here"
fi
check "output that is no terminal stays clean" sh -c "
	[ -z \"\$('$aiflame' record -q -o q.data true 2>&1)\" ]"

check "the example is recorded" "$aiflame" record -q -o m.data "$matmul" 128 2
check "it adds up" says "everything adds up" "$aiflame" info m.data
check "every launch is joined" sh -c "'$aiflame' info m.data | grep -A1 '^  launches' | tail -1 | grep -q '= joined *14'"
check "the file is ours alone" sh -c "[ \$(stat -c %a m.data) = 600 ]"
check "three kernels are in the table" sh -c "
	[ \$('$aiflame' report --kernels --format csv m.data | grep -c multiply_) = 3 ]"
check "an existing profile becomes .old" sh -c "
	'$aiflame' record -q -o m.data true && '$aiflame' report --kernels m.data.old | grep -q multiply_basic"
check "patterns name the file" sh -c "
	RUN=x7 '$aiflame' record -q -o 'p-%q{RUN}.data' true && [ -e p-x7.data ]"
check "--duration ends the recording" sh -c "
	'$aiflame' record -q --duration 300ms --kill -o d.data sleep 30; [ -e d.data ]"
# One command to the picture.
picture() {
	"$aiflame" record -q --flame one.svg -o one.data "$matmul" 64 2 >/dev/null && "$aiflame" flame -o two.svg one.data && cmp one.svg two.svg
}
check "record --flame draws what flame draws" picture
check "  of what ends with a signal, too" sh -c "'$aiflame' record -q --flame sig.svg -o sig.data sh -c '\"$matmul\" 64 2; kill -9 \$\$' >/dev/null
	[ \$? = 137 ] && grep -q multiply_basic sig.svg"
check "  the page, too" sh -c "'$aiflame' record -q --flame page.html -o one.data '$matmul' 64 2 >/dev/null && grep -qi '^<!doctype html>' page.html"
check "  another suffix is refused before anything runs" sh -c "'$aiflame' record --flame a.png touch ran; [ \$? = 2 ] && [ ! -e ran ]"
check "  with the suffixes that there are" says "use .svg, .html or .folded" "$aiflame" record --flame a.png true
check "  a place that is none" sh -c "'$aiflame' record --flame no/such/a.svg touch ran; [ \$? = 2 ] && [ ! -e ran ]"
check "  it is said that it is there" says "y.svg is written" "$aiflame" record --flame y.svg -o one.data "$matmul" 64 2
check "  and a file that is somebody's" sh -c "echo mine >mine.svg; '$aiflame' record --flame mine.svg touch ran; [ \$? = 2 ] && [ ! -e ran ]"
check "  nothing to draw is said, and the status is the command's" says "no device activity" "$aiflame" record -q --flame n.svg -o n.data true

# Nothing is collected before --delay, ever. When it begins is the machine's affair; but a helper that looked four times
# a second would never begin before 1.25 s here: one of eight attempts does.
delayed() {
	for _ in 1 2 3 4 5 6 7 8; do
		"$aiflame" record -q -o dd.data --delay 1.15 --duration 500ms --kill "$matmul" 256 2000 >/dev/null
		got=$("$aiflame" query --format csv dd.data "SELECT (max(w.end_ns) / 1000000) || ' ' || (p.end_ns / 1000000)
			FROM windows w, processes p WHERE w.device IS NULL AND w.start_ns < 1200000000" | tail -1)
		echo "collected from and to, in ms: $got"
		[ "${got% *}" -ge 1150 ] || return 1
		[ "${got% *}" -le 1240 ] && [ $((${got#* } - ${got% *})) -ge 430 ] && return 0
	done
	return 1
}
check "what --delay and --duration ask for is collected" delayed
check "what outlives its command is named" says "of it runs on, unrecorded" \
	"$aiflame" record -o left.data sh -c 'sleep 3 >/dev/null 2>&1 &'
check "but not what has ended" sh -c "
	'$aiflame' record -o left.data sh -c 'sleep 0.2 & wait' 2>&1 | grep 'used none of'"

# SQLite's limit on paths: nothing is run, nothing is moved.
long=$(printf '%0100d/%0100d/%0100d/%0100d/%0100d' 0 0 0 0 0)
mkdir -p "$long"
echo theirs >"$long/x.data"
check "a path that is too long for SQLite is refused" \
	says "x.data: its full path is longer than 500 bytes" "$aiflame" record -q -o "$long/x.data" touch ran
check "before the command runs" test ! -e ran
check "and what is there stays" sh -c "[ \"\$(cat '$long/x.data')\" = theirs ] && [ \$(ls '$long') = x.data ]"
mv d.data "$long/d.data"
check "so is one to read" says "d.data: its full path is longer than 504 bytes" "$aiflame" info "$long/d.data"
mv "$long/d.data" d.data
check "and one to export to" says "is longer than 504 bytes" "$aiflame" export -o "$long/e.sqlite" d.data
check "which is not left there" sh -c "[ \$(ls '$long') = x.data ]"

# Workers that are forked and never call exec, as those of data loaders: no agent of theirs says a word.
cat >workers.py <<'EOF'
import multiprocessing, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        time.sleep(0)
if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=work, args=(1,)) for _ in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
EOF
"$aiflame" record -q -o workers.data "$(python3 -c 'import sys; print(sys.executable)')" workers.py
workers="FROM processes c JOIN processes p ON c.ppid = p.pid WHERE p.id = 0 AND c.agent AND NOT c.runtime"
# counts N SQL: what it counts in workers.data
counts() {
	[ "$("$aiflame" query --format csv workers.data "SELECT count(*) $2" | tail -1)" = "$1" ] ||
		{ "$aiflame" query workers.data "SELECT * FROM processes"; return 1; }
}
check "forked workers are listed, with CPU time" counts 3 "$workers AND c.cpu_ns > 0"
check "and an end" counts 3 "$workers AND c.end_ns > c.start_ns"
check "the summary says what processes without a device computed" \
	says "4 processes without a device: " "$aiflame" report workers.data

# A target that is killed: what it did until then is there.
"$aiflame" record -q -o k.data "$matmul" 512 1000 >/dev/null &
recorder=$!
sleep 4
pkill -9 -P $recorder matmul
wait $recorder
check "a target killed by -9 is 137" test $? -eq 137
check "and its launches are there" sh -c "'$aiflame' report --kernels k.data | grep -q multiply_basic"

# A recorder that is killed: the target runs on undisturbed, what is older than a second opens.
"$aiflame" record -q -o r.data sh -c "'$matmul' 256 500 >out.txt; echo \$? >status.txt" &
recorder=$!
sleep 4
kill -9 $recorder
wait $recorder 2>/dev/null
check "after the recorder's death the profile opens" says "cut short" "$aiflame" info r.data
# told_once COMMAND...: on either stream
told_once() { "$aiflame" "$@" >once.txt 2>&1 && [ "$(grep -c "cut short" once.txt)" = 1 ] || { cat once.txt; return 1; }; }
check "which each view tells once: info" told_once info r.data
check "tables" told_once report --stacks r.data
check "the first screen" told_once report r.data
check "the listing" told_once annotate multiply_basic r.data
check "SQL" told_once query r.data "SELECT 1"
check "what is exported" told_once export -o r.json r.data
check "a picture, which says so itself" sh -c "'$aiflame' flame -o r.svg r.data 2>&1 | grep -c 'cut short' | grep -qx 1 && grep -q 'UTC, cut short' r.svg"
check "with its launches" sh -c "'$aiflame' report --kernels r.data | grep -q multiply_basic"
for i in $(seq 240); do [ -e status.txt ] && break; sleep 0.5; done
check "and the target ended well" grep -qx 0 status.txt

# Ctrl-C in a terminal reaches both; a signal to the recorder alone is passed on.
"$aiflame" record -q -o i.data sleep 30 &
recorder=$!
sleep 0.7
kill -TERM $recorder
wait $recorder
check "a signal to the recorder is forwarded" test $? -eq 143
check "and the profile is whole" "$aiflame" info i.data

"$aiflame" record -q -o two1.data "$matmul" 128 20 >/dev/null &
first=$!
"$aiflame" record -q -o two2.data "$matmul" 128 20 >/dev/null
wait $first
check "two recorders at once do not mix" sh -c "
	for f in two1 two2; do '$aiflame' info \$f.data | grep -q '= joined *68' || exit 1; done"
done_testing
