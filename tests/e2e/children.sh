#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --children: CPU samples of processes that use no device, and no harm to programs that fork beside threads.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/children_app

# number FILE SQL: one value
number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
# between LOW FILE SQL HIGH
between() {
	value=$(number "$2" "$3")
	awk -v a="$1" -v x="$value" -v b="$4" 'BEGIN { print a, "<=", x, "<=", b; exit !(a <= x && x <= b) }'
}
sampled="FROM cpu_samples c JOIN processes p ON p.id = c.process WHERE p.ppid IN (SELECT pid FROM processes)"

# Of each process's CPU time: all but its first 0.1 s, in which it may be about to call exec, and what the helper's first look
# takes. A busy machine takes longer.
check "forked workers of a program that uses a device" "$aiflame" record -q --children --cpu-clock perf -F 499 -o workers.data "$app" workers 4 1000
check "forked workers are sampled" between 4 workers.data "SELECT count(DISTINCT c.process) $sampled" 4
check "forked workers: nearly all of their time is sampled" between 2.4 workers.data "SELECT sum(c.weight_ns) / 1e9 $sampled" 4.1
check "forked workers are sampled with whole stacks" sh -c "'$aiflame' flame --of cpu --detail full -o w.folded workers.data &&
	grep -qE 'main;workers(_.i.)?;(fork_workers(_.i.)?;)+worker(_.i.)?;burn' w.folded && ! grep -q truncated w.folded"
check "forked workers are processes that use no device" between 1 workers.data "SELECT count(*) FROM processes WHERE runtime" 1
check "forked workers: the launches are the parent's" between 200 workers.data "SELECT count(*) FROM launches" 200
check "forked workers have an end in the profile" between 0 workers.data "SELECT count(*) FROM processes WHERE end_ns IS NULL" 0
check "forked workers are named in the summary" says "4 processes without a device: " "$aiflame" report workers.data
check "forked workers are named as sampled in the summary" sh -c "! '$aiflame' report workers.data | grep -q 'not sampled'"
check "a program with forked workers is recorded without --children" "$aiflame" record -q -o not.data "$app" workers 2 600
check "forked workers are not sampled without --children" between 0 not.data "SELECT count(*) $sampled" 0
check "forked workers that are not sampled: the summary says how they would be" says "not sampled (record --children samples them)" "$aiflame" report not.data

check "workers that are forked before a device is used" "$aiflame" record -q --children --cpu-clock perf -F 499 -o early.data "$app" early 4 1000
check "workers that are forked before a device is used are sampled" between 4 early.data "SELECT count(DISTINCT c.process) $sampled" 4
check "workers that are forked before a device is used: the launches are the parent's" between 100 early.data "SELECT count(*) FROM launches" 100

# The agent joins a program 0.1 s after its start: a child that is forked meanwhile starts by itself.
check "workers that are forked while their parent is joined" sh -c "'$aiflame' record -q --children --cpu-clock perf -F 499 -o meanwhile.data '$app' meanwhile 300 >n"
check "workers that are forked while their parent is joined are all sampled" between "$(cat n)" meanwhile.data "SELECT count(DISTINCT c.process) $sampled" "$(cat n)"

check "a program without a device is recorded" "$aiflame" record -q --children --cpu-clock perf -F 499 -o burn.data sh -c "'$app' burn 1000; :"
check "a program without a device, started by a shell, is sampled" between 0.6 burn.data "SELECT sum(weight_ns) / 1e9 FROM cpu_samples c JOIN processes p ON p.id = c.process WHERE cmdline LIKE '%burn 1000' AND NOT runtime" 1.02
check "a program without a device can be drawn" sh -c "'$aiflame' flame --of cpu -o b.folded burn.data && grep -q 'main;burn' b.folded"
check "a program that uses its device late is recorded" "$aiflame" record -q --children -o self.data "$app" late-self 600
check "a program that uses its device late has all launches, and samples" between 1 self.data "SELECT (SELECT count(*) FROM launches) = 100 AND (SELECT sum(weight_ns) > 2e8 FROM cpu_samples)" 1
check "a program that uses its device late is known to use one" between 1 self.data "SELECT count(*) FROM processes WHERE runtime" 1
check "a forked child that uses its device late is recorded" "$aiflame" record -q --children -o late.data "$app" late 600
check "a forked child that uses its device late has all launches, and samples" between 1 late.data "SELECT (SELECT count(*) FROM launches) = 100 AND (SELECT sum(weight_ns) > 2e8 FROM cpu_samples)" 1
check "a forked child that uses its device late is known to use one" between 1 late.data "SELECT count(*) FROM processes WHERE runtime" 1

# Before Linux 5.9 a thread cannot take an empty table.
if python3 -c 'import os, sys; sys.exit(tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (5, 9))' 2>/dev/null; then
	check "the agent's thread has no descriptors of the program until there is a device" "$aiflame" record -q --children -o files.data "$app" files
	check "the agent's thread, made again for a device: all launches" between 100 files.data "SELECT count(*) FROM launches" 100
else
	skip "the agent's thread has no descriptors of the program until there is a device" "Linux before 5.9"
fi

check "600 forks beside threads that allocate, load and start: none hangs" sh -c "
	'$aiflame' record -q --children -o storm.data '$app' storm 600 >storm.out; status=\$?; cat storm.out; exit \$status"
check "600 forks: the launches are whole" between 100 storm.data "SELECT count(*) FROM launches" 100

python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
if [ -n "$python" ]; then
	cat >workers.py <<'EOF'
import multiprocessing, sys, time
def crunch(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=crunch, args=(1,)) for _ in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    sys.exit(any(w.exitcode for w in workers))
EOF
	for way in fork spawn forkserver; do
		check "Python's workers: $way: the program is recorded" "$aiflame" record -q --children --cpu-clock perf -F 499 -o "$way.data" "$python" workers.py $way
		check "Python's workers: $way: all are sampled, with Python frames" sh -c "'$aiflame' flame --of cpu --by-thread yes -o $way.folded $way.data &&
			[ \$(grep -E 'crunch' $way.folded | cut -d';' -f1 | sort -u | wc -l) -ge 3 ]"
		check "Python's workers: $way: most of their time is sampled" between 1.8 $way.data "SELECT sum(weight_ns) / 1e9 FROM cpu_samples" 4.6
	done
else
	skip "Python's workers are sampled, with Python frames" "python3 is not installed"
fi
done_testing
