#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent in targets that are hard on a guest, under the smallest recorder there is.
. "$(dirname "$0")/tap.sh"
agent=$build/src/agent/libaiflame-agent.so
mini=$build/tests/mock/mini_recorder
fake=$build/tests/mock/fake_app
bin=$build/tests/e2e

# An agent waits a second for its recorder, and two for a sign of it, and goes on without: where the recorder had no CPU for half a
# second, that may have happened, and the command runs again.
had_no_cpu() { [ "$(sed -n 's/^# longest_pause ms=//p' "$1")" -ge 500 ] 2>/dev/null; }
# under OPTIONS -- CMD...: runs CMD with the agent; records go to $work/log
under() {
	options=
	while [ "$1" != -- ]; do options="$options $1"; shift; done
	shift
	for _ in $(seq 5); do
		timeout 120 "$mini" $options -a "$agent" -o "$work/log" "$@"
		under_status=$?
		had_no_cpu "$work/log" || break
	done
	return $under_status
}
# of NAME PROCESS: a number of the report, e.g. of launches 0; of exec 0
of() {
	sed -n "s/^# \(process\|records\) $2\(.*\) $1=\([0-9]*\).*/\3/p" "$work/log"
}
# counts PROCESS LAUNCHES: so many launches were recorded, all of them ended, nothing was lost
counts() {
	[ "$(of launch "$1")" = "$2" ] && [ "$(of exec "$1")" = "$2" ] && [ "$(of bad "$1")" = 0 ] &&
		[ "$(of lost_launches "$1")" = 0 ] && [ "$(of lost_others "$1")" = 0 ] ||
		{ grep '^#' "$work/log"; return 1; }
}
# hard LAUNCHES CASE [N]: the case ends well and every launch is there
hard() {
	wanted=$1
	shift
	under -- "$bin/agent_hard" "$@" && counts 0 "$wanted"
}

check "the agent needs no glibc newer than 2.17" "$root/scripts/check-glibc" "$agent" 2.17
check "the agent links the C library's own libraries only" sh -c "
	! objdump -p '$agent' | grep NEEDED | grep -vE ' (libc.so.6|libdl.so.2|libpthread.so.0)\$'"
check "the agent exports eighty-one names at most but for MPI's" sh -c "[ \$(nm -D --defined-only '$agent' | grep -vc ' MPI_') -le 81 ]"
check "the agent exports functions of MPI that begin and wait for operations of ranks and messages, that test requests, that begin messages which are not followed, and that end communicators" sh -c "[ \$(nm -D --defined-only '$agent' | grep -c ' MPI_') = $(($(grep -c '^AIF_MPI_' "$root/src/agent/mpi/calls.def") + 13)) ]"
check "the agent does not take memory from the target's malloc" sh -c "
	! nm -D --undefined-only '$agent' | grep -E ' (malloc|calloc|realloc|free|abort|exit|_exit)(@|\$)'"

# The helper may have taken a ring before the program did.
# The ring is the first, or the second if the helper came before: then numbers of launches begin with 1 and ten digits.
one_script() {
	for _ in $(seq 5); do
		"$mini" -a "$agent" "$fake" "$root/tests/golden/fake_basic.script" >fake.all
		had_no_cpu fake.all || break
	done
	grep -v '^#\|name=aiflame$' fake.all |
		sed 's/tid=[0-9]*/tid=T/; s|^0/[0-9]* |0/0 |; s/ 0x1\([0-9a-f]\{10\}\) / 0x\1 /; s/ 0x0*\([1-9a-f]\)/ 0x\1/; s/ 0x00* / 0 /' >fake.dump
	diff "$root/tests/golden/fake_basic.dump" fake.dump
}
check "a script becomes these records" one_script
check "without a recorder nothing is kept and nothing breaks" \
	env LD_PRELOAD="$agent" OPENCL_LAYERS="$agent" "$fake" -b 10
check "a recorder that has gone is not waited for" \
	env LD_PRELOAD="$agent" AIFLAME_SOCKET=/nowhere AIFLAME_TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \
	timeout 60 "$fake" -b 10
million() {
	under -q -s 4 -r 268435456 -- "$fake" "generate launches=1000000 rate=1000000 stacks=40 kernels=20 streams=3" &&
		counts 0 1000000
}
check "a million launches are all there" million
four() {
	under -q -r 33554432 -- "$fake" -t 4 'generate launches=20000 stacks=10 kernels=5 streams=2' &&
		grep -q 'records 0 thread=[45] .* launch=80000 exec=80000' "$work/log" || { grep '^#' "$work/log"; return 1; }
}
check "four threads have four rings, and the helper may have one" four
# accounted LAUNCHES: so many were recorded or counted as lost, and each that was recorded ended, or its end is counted as lost
accounted() {
	[ $(($(of launch 0) + $(of lost_launches 0))) = "$1" ] && [ "$(of bad 0)" = 0 ] &&
		[ $(($(of exec 0) + $(of lost_execs 0))) = "$(of launch 0)" ] || { grep '^#' "$work/log"; return 1; }
}
small_ring() { # two: the helper may take one
	under -q -r 65536 -s 2 -- "$fake" "generate launches=300000 stacks=30000 depth=60" && accounted 300000 &&
		[ "$(of lost_launches 0)" -gt 0 ]
}
check "launches that a full ring drops are counted, to the last one" small_ring
# A ring of the default size holds a tenth of a second of these: a recorder that gets no CPU for longer loses some, and counts them.
many_stacks() {
	under -q -- "$fake" "generate launches=100000 rate=50000 stacks=40000 depth=20" && accounted 100000 && [ "$(of thread 0)" -gt 1 ]
}
check "40,000 stacks in one thread start its table anew" many_stacks
anew() { # what a full ring drops, where the recorder gets no CPU, is counted
	"$aiflame" record -q --all-launches --cpu-rate 0 -o anew.data "$fake" \
		"generate launches=100000 rate=50000 stacks=40000 depth=20" &&
		"$aiflame" query --format csv anew.data "WITH lost AS (SELECT
			coalesce(sum(count) FILTER (WHERE detail = 'launches'), 0) AS launches,
			coalesce(sum(count) FILTER (WHERE detail = 'definitions'), 0) AS definitions FROM losses WHERE name = 'RING_FULL')
			SELECT count(*) + max(lost.launches), count(*) - count(grid) <= max(lost.definitions) FROM launches, lost" |
		tee anew.csv | tail -1 | grep -qx 100000,1 || { cat anew.csv; return 1; }
}
check "a table that starts anew costs no launch its shape" anew
# What the memo has noted of one stack is of no use when ids have begun anew.
cat >noted.py <<'END'
import ctypes
fake = ctypes.CDLL(None)
many = b"generate launches=50000 rate=25000 stacks=1000000 depth=20"
assert fake.aif_fake_run(many) == 0
for i in range(12):
    fake.aif_fake_launch(7, 7)
    if i % 4 == 3:
        assert fake.aif_fake_run(many) == 0
END
# A ring holds half a second of these launches: a recorder that gets no CPU for longer loses some, and says so. Those that are there
# have the one stack all the same.
noted() {
	for _ in 1 2 3 4; do
		"$aiflame" record -q --all-launches --cpu-rate 0 -o noted.data /usr/bin/python3 noted.py || return 1
		"$aiflame" query --format csv noted.data "SELECT * FROM losses WHERE name = 'RING_FULL'" >noted.losses
		[ "$(wc -l <noted.losses)" -gt 1 ] || break
		cat noted.losses
	done
	"$aiflame" query --format csv noted.data "SELECT count(*), count(DISTINCT l.stack), max(function) FROM launches l
		JOIN executions e USING (launch) JOIN stacks s ON s.id = l.stack JOIN frames f ON f.id = s.frame WHERE e.kernel IS NULL" >noted.out
	cat noted.out
	case $(tail -1 noted.out) in
	12,1,aif_fake_launch) ;;
	[1-9],1,aif_fake_launch | 1[01],1,aif_fake_launch) grep -qE ',(launches|definitions)$' noted.losses ;;
	*) return 1 ;;
	esac
}
check "one stack is one stack, whatever came between" noted

# CUDA's driver calls InitializeInjection() of the library that a variable names. Here there is no driver:
# the program runs on, the profile says why nothing came.
inject() {
	"$aiflame" record -q -o cuda.data python3 -c "import ctypes, os, time
agent = ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH'])
print(agent.InitializeInjection(), agent.InitializeInjection(), agent.cuptiSubscribe(None, None, None))
time.sleep(0.4)" >inject.out &&
		cat inject.out && [ "$(cat inject.out)" = "1 1 15" ]
}
check "CUDA without CUPTI: the program is told that all is well" inject
check "CUDA without CUPTI: the profile says what is missing" says 'libcupti was not found' "$aiflame" info cuda.data
check "a library that listens to CUDA already comes after ours" env CUDA_INJECTION64_PATH=libm.so.6 "$aiflame" record -q -o cuda.data \
	sh -c '[ "$AIFLAME_CUDA_INJECTION" = libm.so.6 ] && [ "$CUDA_INJECTION64_PATH" = "$LD_PRELOAD" ]'

if [ ! -x "$bin/agent_hard" ] || ! "$bin/agent_hard" chdir 2>"$work/why"; then
	n=$((n + 1))
	echo "ok $n - OpenCL targets # SKIP no OpenCL device: install pocl-opencl-icd ocl-icd-libopencl1"
	done_testing
	exit
fi

commands() {
	POCL_DEVICES=$1 under $2 -- "$bin/agent_commands" && [ "$(of bad 0)" = 0 ] &&
		[ $(($(of exec 0) + $(of note 0))) = "$(of launch 0)" ] && [ "$(of note 0)" = 1 ]
}
for devices in pthread basic "pthread pthread" "pthread basic"; do
	check "OpenCL: every command is recorded, seen and unseen by the application: $devices" commands "$devices" ""
done
check "OpenCL: every command is recorded with device lines" commands pthread -l
check "OpenCL: build options are the application's own" grep -q "program 0 source=[1-9][0-9]* options=-DUNUSED=1\$" "$work/log"
check "OpenCL: --no-source keeps no source" sh -c "
	'$mini' -n -a '$agent' -o n.log '$bin/agent_hard' chdir && grep -q 'program 0 source=0' n.log"
check "times of CPU devices are on a host clock" sh -c "
	grep -q ' device 0 .*clock=[01]\$' '$work/log'"
check "OpenCL: every launch of a plain program is recorded" hard 16 chdir
# libOpenCL's function jumps to the layer and leaves no frame; it is on the stack all the same.
check "the API function stands between application and kernel" sh -c "
	'$aiflame' record -q -o api.data '$bin/agent_hard' busy 1500 && '$aiflame' flame --leaf kernel -o api.folded api.data &&
	grep -q ';target_launch;clEnqueueNDRangeKernel;add_one' api.folded"
check "launches of a library that comes and goes are recorded" hard 300 dlclose 300
loaded() { under -- "$bin/agent_dlopen" && grep -q 'launch=8 exec=8' "$work/log" || { grep '^#' "$work/log"; return 1; }; }
check "launches through a libOpenCL that dlopen() loaded are recorded" loaded
check "a program that closes all descriptors and reuses their numbers is recorded" hard 24 close_all
check "a program that changes its directory is recorded" hard 16 chdir
check "a program that drops its privileges is recorded" hard 16 setuid
check "a program that calls exit from another thread has every launch" hard 16 exit_thread
# PoCL calls back for the last command after clFinish() may have returned: _exit() may come before that.
exit_at_once() {
	under -- "$bin/agent_hard" _exit_thread && { counts 0 16 || { [ "$(of exec 0)" = 15 ] && [ "$(of launch 0)" = 16 ] && [ "$(of bad 0)" = 0 ]; }; }
}
check "a program whose other thread calls _exit() has all of its launches" exit_at_once
# PoCL's worker goes on compiling while exit takes the compiler's static objects apart: it crashes in 2 of 80 such
# exits without us (in 4 with us, always with a hold-up of 200 ms). What is ours is to add no time to that.
exit_compiling() {
	ended=0
	: >cold.err
	for i in 1 2 3 4 5 6; do
		rm -rf cold && mkdir cold
		POCL_CACHE_DIR=$work/cold "$aiflame" record -q -o cold.data "$bin/agent_hard" exit_compiling 2>>cold.err &&
			ended=$((ended + 1))
		says "everything adds up" "$aiflame" info cold.data || return 1
	done
	# The best of them: 0.02 ms; where leave() waits for what nobody has waited for, 5 ms.
	grep "left after" cold.err
	[ $ended -ge 1 ] && awk '/left after/ && (!n++ || $3 < best) { best = $3 } END { exit !n || best > 2000 }' cold.err
}
check "an exit while the driver compiles is not held up" exit_compiling
check "launches of 10,000 short threads are recorded" hard 10000 threads 10000
check "10,000 short threads share 40 rings at most" sh -c "[ $(of slots 0) -le 40 ]"
# recorded STATUS REASON CASE: under the whole recorder; the case ends as it does without, and the profile has the reason
recorded() {
	status_is "$1" timeout 60 "$aiflame" record -q --all-launches -o r.data "$bin/agent_hard" "$3" &&
		says "everything adds up" "$aiflame" info r.data && says "$2" "$aiflame" info r.data
}
# loses N REASON: so many things were lost in r.data
loses() {
	[ "$("$aiflame" query --format csv r.data "SELECT sum(count) FROM losses WHERE name = '$2'" | tail -1)" = "$1" ] ||
		{ "$aiflame" info r.data; return 1; }
}
for sandbox in sandbox sandbox_thread; do
	if "$bin/agent_hard" $sandbox; then
		check "$sandbox: no system call of ours ends a program that forbids some" recorded 0 "1420 SECCOMP" $sandbox
		# Where the driver's worker first ends a command behind the filter, nobody hears of that end: it is counted.
		check "$sandbox: launches in known threads are recorded" sh -c "
			[ \$('$aiflame' query --format csv r.data 'SELECT count(*) = 32 AND count(e.launch) > 0 FROM launches l LEFT JOIN executions e USING (launch)' | tail -1) = 1 ]"
		check "$sandbox: launches in new threads are counted" loses 8 SECCOMP_THREADS
	else
		skip "$sandbox" "no seccomp filter can be installed here"
	fi
done
"$bin/agent_hard" locked >/dev/null
if [ $? = 0 ]; then
	check "a program that keeps all its memory: only what its threads use is taken" recorded 0 "launches  " locked
else
	skip "a program that keeps all its memory" "mlockall() is refused"
fi
check "a program without address space for a ring runs on" recorded 0 "1005 NO_MEMORY" space
check "a program without address space for a ring: launches that are not recorded are counted" loses 8 NO_MEMORY
crowd() {
	under -s 16 -- "$bin/agent_hard" crowd 64 && [ "$(of no_slot 0)" -ge 48 ] &&
		[ $(($(of launch 0) + $(of no_slot 0))) = 64 ] && [ "$(of exec 0)" = "$(of launch 0)" ]
}
check "more threads than rings are counted, their ends come by the helper" crowd
killed() {
	under -- "$bin/agent_hard" "$1"
	[ $? = "$2" ] && [ "$(of launch 0)" = 8 ] && [ "$(of bad 0)" = 0 ]
}
check "a program that SIGTERM ends has every launch" killed sigterm 143
check "a program that kill -9 ends has every launch" killed sigkill 137
execs() { under -- "$bin/agent_hard" exec && counts 0 8 && counts 1 16; }
check "a program that calls exec has every launch" execs
forks() { POCL_DEVICES=basic under -- "$bin/agent_hard" fork && counts 0 16 && counts 1 8; }
check "launches in a forked child are recorded" forks
check "a forked child says that it was forked" grep -q '^# hello 1 .*after_fork=1' "$work/log"
fork_first() { under -- "$bin/agent_hard" fork_first && counts 0 8 && counts 1 8; }
check "a fork before the runtime starts: launches of both are recorded" fork_first
fork_early() { POCL_DEVICES=basic under -- "$bin/agent_hard" fork_early && counts 1 8; }
check "a fork after the parent looked for platforms: launches of both are recorded" fork_early
check "timers spare the application's signal and its sleeping calls" sh -c "
	'$mini' -t 999 -a '$agent' -o s.log '$bin/agent_hard' signals"
samples() {
	under -t 999 -- "$matmul" 512 2 && [ "$(of sample 0)" -gt 20 ]
}
check "timers sample the CPU of a program that launches" samples
# The timer of a thread would go on, and with it the samples, for which the next recorder were blamed.
if [ -r /proc/self/timers ]; then
	check "CPU samples end with a recorder that orders the end and answers nothing more" timeout 120 "$mini" -q -C 99 -a "$agent" -o "$work/log" "$bin/agent_hard" samples_end
else
	skip "CPU samples end with a recorder that orders the end and answers nothing more" "needs /proc/self/timers"
fi

# Stop and silence: nothing while they last, collection goes on afterwards. The target launches each
# millisecond or so; the longest time without a launch tells.
# On a busy machine the target may have its first launch when the stop is over, or few behind it: then all takes longer.
pause() { # OPTION FROM TO
	for times in 1 2 4; do
		under "$1" $((times * $2)),$((times * $3)) -- "$bin/agent_hard" busy $((times * 4500)) && [ "$(of exec 0)" = "$(of launch 0)" ] || return
		sed -n 's/.* launch .* time=\([0-9]*\).*/\1/p' "$work/log" | sort -n | awk '
			NR > 1 && $1 - last > gap { gap = $1 - last; behind = 0 }
			{ last = $1; behind++ }
			END { print gap / 1e9, behind; exit !(gap > 1e9 && behind > 50) }' && return
	done
	return 1
}
check "the recorder says stop and go on" pause -S 500 3500
check "the recorder falls silent and comes back" pause -H 100 3500

# Two copies: the second one keeps out of the way. And the layer alone, without LD_PRELOAD.
cp "$agent" copy.so
check "a second copy is passive" sh -c "
	OPENCL_LAYERS=\$PWD/copy.so '$mini' -a '$agent' -o 2.log '$bin/agent_hard' chdir && grep -q 'launch=16 exec=16' 2.log"
check "two layers in one process record each launch once" sh -c "
	LD_PRELOAD=\$PWD/copy.so '$mini' -a '$agent' -o 2.log '$bin/agent_hard' chdir && [ \$(grep -c '^# hello' 2.log) = 1 ]"

# Programs on a stack of 20 KB, of which where their variables lie is chance, and the loader takes 5 KB for any preloaded library.
loop='i=0; n=0; while [ $i -lt 20 ]; do i=$((i + 1)); prlimit --stack=20480:20480 true 2>/dev/null && n=$((n + 1)); done; echo $n'
small_start() { # COMMAND...: of the 20 programs of the loop so many start
	started=$(env -i PATH="$PATH" "$@" sh -c "$loop")
	[ "$started" -ge 12 ] || { echo "$started of 20"; return 1; }
}
if small_start LD_PRELOAD=libdl.so.2 X="$(printf '%400s' '')" >/dev/null; then
	check "programs on a stack of 20 KB start with the agent as with another library" small_start "$aiflame" record -q --children -o small.data
else
	skip "programs on a stack of 20 KB start with the agent as with another library" "few start with another library"
fi

# The same under AddressSanitizer and UBSan, where such a build is at hand.
asan_agent=${ASAN_BUILD_DIR:-$root/build-asan}/src/agent/libaiflame-agent.so
asan=$(gcc -print-file-name=libasan.so 2>/dev/null)
sanitized() {
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		timeout 120 "$mini" -q -a "$asan:$asan_agent" -o "$work/log" "$@" && [ "$(of bad 0)" = 0 ]
}
if [ -e "$asan_agent" ] && [ -e "$asan" ]; then
	check "ASan and UBSan find nothing in the agent: every command of OpenCL" sanitized "$bin/agent_commands"
	check "ASan and UBSan find nothing in the agent: 500 threads" sanitized "$bin/agent_hard" threads 500
	check "ASan and UBSan find nothing in the agent: exit() in another thread" sanitized "$bin/agent_hard" exit_thread
	check "ASan and UBSan find nothing in the agent: a fork" env POCL_DEVICES=basic "$mini" -q -a "$asan:$asan_agent" "$bin/agent_hard" fork
	check "ASan and UBSan find nothing in the agent: many stacks in four threads" sanitized "$fake" -t 4 \
		"generate launches=20000 stacks=18000 depth=50 kernels=9 streams=3"
fi
done_testing
