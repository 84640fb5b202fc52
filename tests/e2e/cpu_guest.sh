#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPU samples: the target does not notice them. What its calls, threads, registers, children and signals do is as it was.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_app
ticks=
! "$aiflame" record -q --cpu-clock tick -o none.data true 2>/dev/null || ticks=tick

number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; } # FILE SQL: one value
between() { awk -v a="$1" -v x="$2" -v b="$3" 'BEGIN { print a, "<=", x, "<=", b; exit !(a <= x && x <= b) }'; }

for clock in perf $ticks; do
	least=60
	[ $clock = perf ] || least=3 # signals come when the thread returns from the kernel: it is there all the time
	check "$clock: no call of the target is interrupted" "$aiflame" record -q --cpu-clock $clock -F 999 -o w.data "$app" waits 3
	check "$clock: a target that is not interrupted is sampled" between $least "$(number w.data 'SELECT count(*) FROM cpu_samples')" 6000
	check "$clock: a program whose 1,200 short threads come and go ends well" "$aiflame" record -q --cpu-clock $clock -F 999 -o h.data "$app" threads
	check "$clock: errno, rounding and vectors are kept" "$aiflame" record -q --cpu-clock $clock -F 4999 -o r.data "$app" registers 2
	check "$clock: a program that forks and starts others is recorded" "$aiflame" record -q --cpu-clock $clock -F 999 -o f.data "$app" forks
	check "$clock: a child with a runtime is sampled" sh -c "
		[ $(number f.data 'SELECT count(DISTINCT process) FROM cpu_samples') = 2 ]"
	check "$clock: a program whose main thread ends by a system call has its status" status_is 4 "$aiflame" record -q --cpu --cpu-clock $clock -o e.data "$app" exits_alone 0.3
	check "$clock: a program that has accesses that are not aligned fault runs on" "$aiflame" record -q --cpu --cpu-clock $clock -F 999 -o l.data "$app" aligned 0.5
	check "$clock: the target's own profiler ticks on" "$aiflame" record -q --cpu-clock $clock -F 999 -o o.data "$app" profiler 1
done
check "a program that touches shared memory has a sample at each page fault, and goes on" timeout 120 "$aiflame" record -q --cpu -e page-faults -o s.data "$app" shared 1
check "page faults of shared memory are sampled" between 1500 "$(number s.data 'SELECT count(*) FROM cpu_samples')" 6000
check "calls of the target are interrupted with --wall" status_is 1 "$aiflame" record -q --wall -F 999 -o w.data "$app" waits 2
check "calls that --wall interrupts are counted" says "returned EINTR because of samples by the wall clock" "$aiflame" info w.data
check "waiting is sampled with --wall" between 1.5 "$(number w.data 'SELECT max(ns) / 1e9 FROM (SELECT sum(weight_ns) AS ns FROM cpu_samples GROUP BY tid)')" \
	"$(number w.data 'SELECT 0.3 + max(end_ns - start_ns) / 1e9 FROM processes')" # two seconds and what the last call waits for a CPU
check "a thread that fetches signals gets none of the agent's" "$aiflame" record -q -F 999 -o b.data "$app" blocked 2
check "a thread that fetches signals: the profile says that it is not sampled" says "it blocks signals" "$aiflame" info b.data
check "a program with its own SIGURG keeps it" "$aiflame" record -q -F 999 -o u.data "$app" urgent 1
check "a program with its own SIGURG: the profile says that it is not sampled" says "SIGURG" "$aiflame" info u.data
check "a program with its own SIGURG gets no samples" test "$(number u.data 'SELECT count(*) FROM cpu_samples')" = 0
check "a program that restores the default of all signals is undisturbed" "$aiflame" record -q -F 999 -o restored.data "$app" restores 2
restored() {
	"$aiflame" flame --of cpu -o restored.folded restored.data && awk '/;after_restoring/ { n += $NF } END { printf "%.2f s\n", n / 1e9; exit n < 3e8 }' restored.folded
}
check "a program that restores the default of all signals is sampled afterwards" restored

# A program from which tools removed its build id: a header leads to address 0 where it was. The collector of garbage has no
# symbol there, either, and what it calls is known by the caller that has one.
python=$(readlink -f /usr/bin/python3)
objcopy --remove-section .note.gnu.build-id --remove-section .gnu_debuglink "$python" "${python##*/}"
cat >collect.py <<'END'
import gc, time
held = [[i] for i in range(200000)]
end = time.process_time() + 1
while time.process_time() < end:
    gc.collect()
END
check "an interpreter whose notes were removed is recorded" env PYTHONHOME=/usr "$aiflame" record -q --cpu -F 999 -o removed.data "./${python##*/}" collect.py
collected() {
	"$aiflame" flame --of cpu --detail full -o removed.folded removed.data &&
		awk '/;gc_collect/ { n += $NF } { all += $NF } END { print n / all; exit n < 0.6 * all }' removed.folded
}
check "an interpreter whose notes were removed: its garbage collector has a name" collected

# A program waits for its recorder for a second. One that has no CPU for longer is asked again, and again.
cat >late.py <<'END'
import time
end = time.process_time() + 2.5
while time.process_time() < end:
    sum(range(10000))
END
cat >late.sh <<'END'
recorder=$PPID
kill -STOP $recorder
(sleep 1.6; kill -CONT $recorder) &
exec python3 late.py
END
check "a program whose recorder does not answer in time is recorded" "$aiflame" record -q --cpu -o late.data sh late.sh
check "a program whose recorder does not answer in time is sampled once it does" between 10 "$(number late.data 'SELECT count(*) FROM cpu_samples')" 5000
check "a program that asks its recorder again is one process" test "$(number late.data "SELECT count(*) FROM processes WHERE cmdline LIKE '%late.py'")" = 1

# A forked child waits for half a second. What it launches until it is asked again is counted.
cat >late_fork.py <<'END'
import ctypes, os, signal, time
fake = ctypes.CDLL(None)
assert fake.aif_fake_run(b"generate kernels=2 streams=1") == 0
recorder = os.getppid()
child = os.fork()
if child == 0:
    os.kill(recorder, signal.SIGSTOP)
    for i in range(50):
        fake.aif_fake_launch(0, 1)
    os.kill(recorder, signal.SIGCONT)
    for i in range(300):
        fake.aif_fake_launch(0, 1)
        time.sleep(0.01)
    os._exit(0)
os.waitpid(child, 0)
END
check "a forked child whose recorder does not answer in time is recorded" "$aiflame" record -q --all-launches -o late_fork.data python3 late_fork.py
check "launches of a forked child until its recorder answers are counted" test 350 = "$(number late_fork.data "
	SELECT (SELECT count(*) FROM launches) + (SELECT sum(count) FROM losses WHERE name = 'BEFORE_ATTACH')")"
done_testing
