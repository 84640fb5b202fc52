#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What somebody meets who tries aiflame for the first time: programs that are too short, static or stopped, and mistakes.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_program

# ---- a program that is over at once
check "a program that is over at once is recorded" sh -c "'$aiflame' record --cpu -o short.data true 2>short.screen"
if [ "$("$aiflame" query --format csv short.data 'SELECT count(*) FROM cpu_samples' | tail -n 1 | tr -d '\r')" -lt 3 ]; then
	check "report --cpu says of a program without samples that it was over too soon" says "over before its first sample" "$aiflame" report --cpu short.data
	check "report --cpu asks for --cpu where it was not given alone" sh -c "! '$aiflame' report --cpu short.data | grep 'record with --cpu'"
	check "the summary proposes no flame graph of CPU time without samples" sh -c "cat short.screen; ! grep 'flame --of cpu' short.screen"
	check "the summary of a program without samples does not speak of devices" sh -c "cat short.screen; ! grep 'on any device' short.screen"
else
	skip "report --cpu says of a program without samples that it was over too soon" "true was sampled"
fi

# ---- a static program
echo 'int main(void) { for (volatile long i = 0; i < 100000000; i++) {} return 0; }' >static.c
if cc -static -o static static.c 2>/dev/null; then
	"$aiflame" record --cpu -o static.data ./static 2>static.screen
	check "record --cpu says of a static program what samples it" grep -q -e "record as root with --ebpf" static.screen
	check "the summary of a static program does not speak of devices" sh -c "cat static.screen; ! grep 'on any device' static.screen"
	check "the summary of a static program proposes no flame graph of CPU time" sh -c "cat static.screen; ! grep 'flame --of cpu' static.screen"
	check "report --cpu says that a program is static" says "statically linked" "$aiflame" report --cpu static.data
else
	skip "record --cpu says of a static program what samples it" "no static C library is here"
fi

# ---- children that nobody waits for, as those of a program that is ended by Ctrl-C
cat >unreaped.py <<'END'
import os, sys
child = os.fork()
if not child:
    os.execv(sys.argv[1], [sys.argv[1], "1"])
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # over, and not reaped: the kernel counts its time nowhere
os._exit(0)
END
meta() { "$aiflame" query --format csv "$1" "SELECT value FROM meta WHERE key = '$2'" | tail -n 1 | tr -d '"\r'; }
check "a program that leaves a child unreaped is recorded" sh -c "'$aiflame' record --cpu -o unreaped.data python3 unreaped.py '$app' 2>unreaped.screen >/dev/null"
# of the profile's CPU time, that of the agent's own threads is no sample's
adds_up() {
	sampled=$("$aiflame" query --format csv unreaped.data 'SELECT sum(weight_ns) FROM cpu_samples' | tail -n 1 | tr -d '\r')
	echo "$sampled sampled, $(meta unreaped.data cost.target_cpu_ns) used, $(meta unreaped.data cost.cpu_unreaped_ns) unreaped"
	[ "$(meta unreaped.data cost.target_cpu_ns)" -ge "$sampled" ]
}
check "the summary counts no less CPU time than the profile has" adds_up
check "the summary says which CPU time is of children that nobody waited for" grep -qE '^cost .* at least .*nobody waited for' unreaped.screen

# ---- notes in pprof
cat >pprof.py <<'END'
import gzip, sys
from protobuf import fields
profile = list(fields(gzip.open(sys.argv[1]).read()))
strings = [v.decode() for f, v in profile if f == 6]
files = [strings[dict(fields(v))[5]] for f, v in profile if f == 3]
mappings = {dict(fields(v))[1] for f, v in profile if f == 3}
functions = [strings[dict(fields(v))[2]] for f, v in profile if f == 5]
locations = [dict(fields(v)) for f, v in profile if f == 4]
assert all(l.get(2, 0) in mappings | {0} for l in locations), "a mapping that is not there"
print(files[0], [f for f in functions if f.startswith("[")])
assert files[0].endswith("/cpu_program"), files
assert "[mark]" not in files + functions, files
assert "[before sampling]" in functions, functions
END
"$aiflame" record -q --cpu -o c.data "$app" 1 >/dev/null
"$aiflame" export --format pprof -o c.pb.gz c.data
check "pprof has the names of notes, and the program in front" env PYTHONPATH="$root/tests/e2e" PYTHONDONTWRITEBYTECODE=1 python3 pprof.py c.pb.gz
"$aiflame" import -q c.pb.gz -o back.data
says_unsampled() { "$aiflame" flame --of cpu --format folded -o - "$1" | sed -n 's/.*\(\[before sampling\] [0-9]*\)$/\1/p' | sort; }
check "pprof: CPU time before sampling comes back from an export" test "$(says_unsampled back.data)" = "$(says_unsampled c.data)" -a -n "$(says_unsampled c.data)"
if command -v go >/dev/null && go tool pprof -top c.pb.gz >top.txt 2>/dev/null; then
	check "go tool pprof shows the program's and the notes' names" sh -c "cat top.txt; grep -q '^File: cpu_program' top.txt && grep -qF '[before sampling]' top.txt"
else
	skip "go tool pprof shows the program's and the notes' names" "go tool pprof is not here"
fi

# ---- mistakes
check "record says that a directory is no program" says "it is a directory" "$aiflame" record -q -o x.data "$work"
check "record says of a file that may not be run how to change that" says "chmod +x" "$aiflame" record -q -o x.data ./static.c
check "an option that is far from all gets no proposal" test "$("$aiflame" flame --bogus 2>&1)" = "aiflame flame: unknown option '--bogus'; see aiflame flame -h --all"
check "a percentage beyond 100 is answered with the range" says "a percentage from 0 to 100" "$aiflame" record --overhead 200 true
for command in view scope flame; do
	check "$command says how to make a profile where there is none" says "make one with: aiflame record" "$aiflame" $command none.data
done
check "query says how to see the tables where one is not there" says "aiflame query .tables lists" "$aiflame" query c.data 'SELECT * FROM kernel'
check "query says how to see the columns where one is not there" says "aiflame query .schema lists" "$aiflame" query c.data 'SELECT no FROM launches'
check "query says that it only reads" says "a query only reads" "$aiflame" query c.data 'DROP TABLE launches'
if "$aiflame" stacks $$ >/dev/null 2>&1; then
	check "stacks --format json is stacks --json" sh -c "'$aiflame' stacks --format json \$\$ | python3 -c 'import json, sys; assert json.load(sys.stdin)[\"processes\"]'"
	check "stacks --format text is no JSON" sh -c "'$aiflame' stacks --format text \$\$ >text.txt && [ \"\$(head -c 1 text.txt)\" != '{' ]"
else
	skip "stacks --format json is stacks --json" "processes may not be read here"
fi
done_testing
