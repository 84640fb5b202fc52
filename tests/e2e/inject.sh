#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent is put into running programs that nobody prepared: they compute what they would have, end as they would
# have, and are recorded. Programs that are left alone, each with its reason.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/inject_app
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
attaches=${ATTACHES:-3}

case $(uname -m) in
x86_64) ;;
*)
	says_not_yet() { sleep 60 & says "not yet on this machine" "$aiflame" record -q -p $!; kill $!; }
	check "another machine than x86-64 is refused" says_not_yet
	done_testing
	exit
	;;
esac

# start COMMAND...: its standard input is open until `finish`
start() {
	rm -f in
	mkfifo in
	"$@" <in >out 2>err &
	target=$!
	exec 9>in
	wait_until runs || exit 1
}
# The shell has become the program.
runs() { [ "$(readlink "/proc/$target/exe")" != "$(readlink "/proc/$$/exe")" ]; }
# The target has become that program.
is_in() { [ "$(readlink "/proc/$target/exe")" = "$(readlink -f "$1")" ]; }
# finish STATUS: the program ends when nobody writes to it any more, with that status
finish() {
	exec 9>&-
	wait "$target"
	got=$?
	[ $got -eq "$1" ] || { echo "status $got instead of $1"; cat out err; return 1; }
}
carries_agent() { grep -q 'memfd:libaiflame-agent' "/proc/$target/maps"; }
attach() { "$aiflame" record -q -p "$target" --inject always --cpu --duration 0.2 -o attach.data "$@"; }
# unharmed MODE STATUS: attached several times, of which the first puts the agent into it
unharmed() {
	start "$app" "$1"
	"$aiflame" record -p "$target" --inject always --cpu --duration 0.2 -o attach.data 2>first.err ||
		{ cat first.err; kill "$target"; exec 9>&-; return 1; }
	! grep 'the command and its children' first.err || { kill "$target"; exec 9>&-; return 1; }
	sed -n 's/.*stood still for \([0-9.]*\) ms.*/\1/p' first.err >>stops
	for _ in $(seq 2 "$attaches"); do
		attach || { kill "$target"; exec 9>&-; return 1; }
	done
	carries_agent || { echo "no agent"; return 1; }
	finish "$2" && [ "$(cat out)" = "$1: all is right" ] && [ ! -s err ]
}
i=10
for mode in malloc forks fork-threads spawns handlers sleeps epoll blocked busy vectors threads events; do
	check "a program is unharmed: $mode" unharmed $mode $i
	i=$((i + 1))
done
# A program in a call that a stop would cut short: it is let alone until that is over.
written() {
	start "$app" writes
	"$aiflame" record -q -p "$target" --inject always --cpu --duration 0.2 -o w.data 2>w.err
	finish 22 && [ "$(cat out)" = "writes: all is right" ] && [ ! -s err ]
}
check "a program that is attached to while it writes to a slow reader writes all" written

# Whose allocator has memory of its own, for which the heap need not grow.
by_sbrk() { unharmed sbrk 23; }
check "a program that takes memory by sbrk() gets it without gaps" by_sbrk

echo "# the longest times that a thread stood still, in ms: $(tr '\n' ' ' <stops)"

# ---- what is recorded

cpu_of() {
	start "$app" busy
	"$aiflame" record -q -p "$target" --inject always --cpu --duration 1 -o busy.data || return
	says compute "$aiflame" report --cpu busy.data && finish 18
}
check "CPU samples of a program without a device name its function" cpu_of
# The helper looks at samples four times a second: of a shorter recording, all are of its end.
short_ones() {
	start "$app" busy
	for k in $(seq 20); do
		"$aiflame" record -q -p "$target" --inject always --cpu --duration 0.1 -o short.data || return
		"$aiflame" query --format csv short.data "SELECT count(*), ifnull(min(time_ns), 0) >= 0 FROM cpu_samples" | tail -n 1 >>short
		[ "$k" -lt 3 ] || ! grep -q '^[1-9]' short || break
	done
	cat short
	finish 18 && ! grep -qv ',1' short && grep -q '^[1-9]' short
}
check "recordings shorter than the agent's interval have CPU samples, and none of the recording before" short_ones
standby() {
	start "$app" sleeps
	attach && says "$target" "$aiflame" ctl status && ls "/proc/$target/task" >before &&
		attach && ls "/proc/$target/task" >after && cmp before after && finish 15
}
check "afterwards it is on standby, and the next attach takes the agent that is there" standby
# The helper looks at threads and modules now and then, for some microseconds.
are_those_of_before() { ls "/proc/$target/fd" >after && cmp before after; }
# Each of its threads makes one of its own.
has_all_descriptors() { [ "$(ls -l "/proc/$target/fd" | grep -c eventpoll)" = 8 ]; }
no_descriptor() {
	start "$app" sleeps
	wait_until has_all_descriptors || return
	ls "/proc/$target/fd" >before
	attach && wait_until are_those_of_before && finish 15
}
check "no descriptor stays open in the program" no_descriptor
# What a step behind a system call raises would end that.
traps() {
	start sh -c 'trap "" TRAP; exec "$0" sleeps' "$app"
	wait_until grep -qx inject_app "/proc/$target/comm" || return
	grep '^SigIgn' "/proc/$target/status" >before
	attach && grep '^SigIgn' "/proc/$target/status" >after && grep -q '[1-9a-f].$' before && cat before after && cmp before after && finish 15
}
check "a program that ignores SIGTRAP still does after an attach" traps
# schedules: the threads' nicenesses, real-time priorities and policies, and the flag by which forks have others
schedules() {
	for t in /proc/"$target"/task/*; do
		sed 's/.*) //' "$t/stat" | awk '{ print $17, $38, $39 }'
		chrt -p "${t##*/}" | sed "s/^pid [0-9]*/pid/"
	done | sort | uniq
}
scheduled() {
	start "$app" malloc
	schedules >before
	attach && carries_agent && schedules >after && cat after && cmp before after && finish 10
}
if command -v chrt >/dev/null; then
	check "threads are scheduled as before an attach, and the agent's as they" scheduled
else
	skip "threads are scheduled as before an attach, and the agent's as they" "needs chrt"
fi
parts() {
	start "$app" sleeps
	says "that thread loaded the agent in" \
		"$aiflame" record -v -p "$target" --inject always --cpu --duration 0.2 -o attach.data && finish 15
}
check "record -v says what a stop was for, and how long the loader took apart from it" parts
# A program that is named again carries the agent by then.
several() {
	mkfifo in1 in2
	"$app" sleeps <in1 >out1 & first=$!
	"$app" epoll <in2 >out2 & second=$!
	exec 7>in1 8>in2
	wait_until grep -qx inject_app "/proc/$first/comm" && wait_until grep -qx inject_app "/proc/$second/comm" || return
	"$aiflame" record -q -p $first -p $second -p $first --inject always --cpu --duration 0.2 -o several.data
	status=$?
	for target in $first $second; do carries_agent || status=1; done
	exec 7>&- 8>&-
	wait $first
	[ $? = 15 ] || status=1
	wait $second
	[ $? = 16 ] || status=1
	cat out1 out2
	return $status
}
check "programs that are named together are recorded, and unharmed, one of them named twice" several
# A program that was started a moment ago has no C library yet.
just_started() {
	rm -f in
	mkfifo in
	(loading "$app" sleeps) <in >out 2>err &
	target=$!
	exec 9>in
	wait_until runs_app && ! grep libc.so "/proc/$target/maps" &&
		says "is still being loaded: its C library is not in it yet" "$aiflame" record -q -p "$target"
	failed=$?
	loaded && attach && carries_agent && finish 15 && return $failed
}
runs_app() { grep -qx inject_app "/proc/$target/comm" && grep -q "ld-linux" "/proc/$target/maps"; }
check "a program whose libraries are being loaded is said to be, and is recorded when they are there" just_started
never() {
	start "$app" sleeps
	says "does not carry the agent" "$aiflame" record -q -p "$target" --inject never &&
		! carries_agent && finish 15
}
check "--inject never leaves it alone" never

no_runtime() {
	sleep 60 &
	target=$!
	wait_until runs &&
		says "of 1 process seen, 1 carried the agent, 0 started a runtime" "$aiflame" record -o none.data -p "$target" --duration 0.2
	got=$?
	kill "$target"
	return $got
}
check "a program into which the agent was put is not said to have started a runtime" no_runtime
# A wait that has an end goes on by another system call than it began with.
continued() {
	sleep 60 &
	target=$!
	wait_until runs && wait_until grep -q '^State:.*S' "/proc/$target/status" && kill -STOP "$target" &&
		wait_until grep -q '^State:.*T' "/proc/$target/status" && kill -CONT "$target" &&
		wait_until grep -q '^219 ' "/proc/$target/syscall" && attach && carries_agent
	got=$?
	kill "$target"
	return $got
}
check "a program that was stopped and continued while it slept is recorded" continued

# ---- programs that become another one, as the child of a shell does: `program & aiflame record -p $!`

# becomes [-f] COMMAND...: becomes the command when a byte comes in; with -f a child of it does, whose number is printed
cat >becomes.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const int forks = argc > 1 && !strcmp(argv[1], "-f");
	const pid_t pid = forks ? fork() : 0;
	int status;
	char c;

	if (pid) {
		FILE *f = fopen("child", "w");

		fprintf(f, "%d\n", (int)pid);
		fclose(f);
		waitpid(pid, &status, 0);
		return WEXITSTATUS(status);
	}
	if (read(0, &c, 1) == 1)
		execvp(argv[1 + forks], argv + 1 + forks);
	return 1;
}
END
# recording NAME: of $target, with CPU samples, until it is stopped; what it says is in NAME.err
recording() {
	"$aiflame" record -p "$target" --inject always --cpu --duration 600 -o "$1.data" >"$1.err" 2>&1 9>&- &
	recorder=$!
}
# stopped NAME: the recording was ended, and well
stopped() {
	"$aiflame" ctl stop "$1.data" && wait $recorder || { cat "$1.err"; return 1; }
}
# given_up NAME: ends what a case has started
given_up() {
	kill $recorder "$target"
	exec 9>&-
	cat "$1.err"
	return 1
}
# has_followed NAME: the program that the target has become carries the agent, and is in the profile
has_followed() {
	is_in "$app" && carries_agent && in_file "$1" "SELECT count(*) > 0 FROM processes WHERE cmdline LIKE '%inject_app sleeps' AND agent"
}
# The child is young when its recording begins, and becomes the program a moment later.
from_fork() {
	rm -f child
	start ./becomes -f "$app" sleeps
	parent=$target
	wait_until test -s child
	target=$(cat child)
	recording fork
	echo >&9
	wait_until has_followed fork || given_up fork || return
	target=$parent
	stopped fork && finish 15
}
later() {
	start ./becomes "$app" sleeps
	recording later
	{ wait_until grep -q "process $target: the agent was put into it" later.err && wait_until carries_agent; } || given_up later || return
	echo >&9
	{ wait_until has_followed later &&
		wait_until grep -q "process $target: has become another program, inject_app: the agent was put into it" later.err; } ||
		given_up later || return
	stopped later && finish 15
}
into_static() {
	echo 'int main(void) { char c; return read(0, &c, 1) != 0; }' >still.c
	cc -w -static -o still still.c || return
	start ./becomes ./still
	recording still
	wait_until grep -q "process $target: the agent was put into it" still.err || given_up still || return
	echo >&9
	wait_until grep -q "process $target: has become another program, still: of which nothing is recorded: is statically linked" still.err ||
		given_up still || return
	stopped still && finish 0 &&
		says "a process that was named became another program, into which the agent could not be put" "$aiflame" info still.data
}
# Each becomes the next as its recording begins.
chain() {
	start ./becomes ./becomes ./becomes ./becomes ./becomes "$app" sleeps
	failed=0
	for _ in 1 2 3 4 5; do
		recording chain
		echo >&9
		wait_until grep -qE 'the agent was put into it|process [0-9]+: becomes one program' chain.err || failed=1
		"$aiflame" ctl stop chain.data
		wait $recorder || grep -q 'becomes one program after the other' chain.err || { cat chain.err; failed=1; }
	done
	finish 15 && return $failed
}
if cc -o becomes becomes.c; then
	check "a program that was forked a moment ago, and is yet to become the one that was named, is recorded as that" from_fork
	check "record -p follows a program into the one that it becomes" later
	check "record -p says that nothing more is recorded where a program becomes a statically linked one" into_static
	check "a program that becomes one after the other while recordings begin is unharmed" chain
else
	skip "programs that become another one are recorded" "no compiler"
fi

# ---- languages

# Not a wrapper that becomes it later.
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null)
if [ -n "$python" ]; then
	cat >threads.py <<'END'
import sys, threading
done = threading.Event()
sums = [0] * 50
def work(i):
    while not done.is_set():
        sums[i] = sum(k * k for k in range(500))
        done.wait(0.002)
threads = [threading.Thread(target=work, args=(i,)) for i in range(50)]
for t in threads: t.start()
sys.stdin.read()
done.set()
for t in threads: t.join()
print(set(sums))
sys.exit(7)
END
	python() {
		start "$python" threads.py
		attach || return
		# On a busy machine sampling may begin late.
		for _ in $(seq 20); do
			"$aiflame" record -q -p "$target" --inject always --cpu --duration 1 -o python.data || return
			! says "genexpr" "$aiflame" report --cpu python.data || break
		done
		says "genexpr" "$aiflame" report --cpu python.data && finish 7 && grep -qx '{41541750}' out
	}
	check "Python with 50 threads: its functions are recorded" python
else
	skip "Python with 50 threads" "python3 is not installed"
fi
if command -v node >/dev/null; then
	node_app() {
		start node -e 'let n = 0; const t = setInterval(() => { for (let i = 0; i < 1e5; i++) n += i % 7; }, 2);
			process.stdin.on("end", () => { clearInterval(t); process.exitCode = n > 0 ? 9 : 1; console.log("right"); });
			process.stdin.resume();'
		attach && attach && finish 9 && grep -qx right out
	}
	check "node is unharmed" node_app
else
	skip "node is unharmed" "node is not installed"
fi
if command -v java >/dev/null && java --list-modules 2>/dev/null | grep -q jdk.compiler; then
	cat >Work.java <<'END'
public class Work {
	static volatile boolean over;
	public static void main(String[] args) throws Exception {
		Thread[] all = new Thread[8];
		long[] sums = new long[8];
		for (int i = 0; i < 8; i++) {
			final int n = i;
			all[i] = new Thread(() -> { while (!over) { long s = 0; for (Object o : new Object[1000]) s += String.valueOf(o).length(); sums[n] = s; } });
			all[i].start();
		}
		while (System.in.read() >= 0) { }
		over = true;
		for (Thread t : all) t.join();
		System.out.println(sums[0]);
		System.exit(11);
	}
}
END
	jvm() {
		start java Work.java
		sleep 2 # it compiles itself first
		attach && attach && finish 11 && grep -qx 4000 out
	}
	check "a JVM is unharmed" jvm
else
	skip "a JVM is unharmed" "no Java compiler is installed"
fi

# ---- what is left alone

refuses() { says "$1" "$aiflame" record -q -p "$2" --duration 0.1; }
is_static() {
	echo 'int main(void) { char c; return read(0, &c, 1) != 0; }' >static.c
	cc -w -static -o static static.c || return
	start ./static
	refuses "is statically linked" "$target" && finish 0
}
check "a statically linked program is refused" is_static
has_no_libc() {
	echo 'int number(void) { return 0; }' >number.c
	cat >bare.c <<-'END'
		extern int number(void);
		static long call(long n, long a, void *b, long c)
		{
			long r;

			__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
			return r;
		}
		void _start(void)
		{
			char c;

			call(0, 0, &c, 1);
			call(60, number(), 0, 0);
		}
	END
	cc -w -shared -fPIC -nostdlib -o libnumber.so number.c &&
		cc -w -O1 -nostdlib -o bare bare.c ./libnumber.so || return
	start ./bare
	wait_until grep -q "^0 " "/proc/$target/syscall" && refuses "has no C library" "$target" && finish 0
}
check "a program whose libraries are loaded, none of them a C library, is not said to be loading" has_no_libc
is_stopped() {
	start "$app" malloc # SIGSTOP ends some waits of "sleeps" with EINTR
	kill -STOP "$target"
	wait_until grep -q '^State:.*T' "/proc/$target/status"
	refuses "is stopped" "$target" && kill -CONT "$target" && finish 10
}
check "a stopped program is refused, and stays stopped" is_stopped
zombie() {
	"$python" -c 'import os, time
pid = os.fork()
if not pid: os._exit(0)
print(pid, file=open("zombie", "w"), flush=True)
time.sleep(1000)' &
	parent=$!
	wait_until test -s zombie
	z=$(cat zombie)
	wait_until grep -q '^State:.*Z' "/proc/$z/status"
	refuses "has ended" "$z"
	r=$?
	kill $parent
	return $r
}
check "a process that has ended is refused" zombie
if command -v strace >/dev/null; then
	traced() {
		start "$app" malloc # strace ends some waits of "sleeps" with EINTR
		strace -f -o /dev/null -p "$target" 2>strace.err &
		tracer=$!
		wait_until grep -q 'TracerPid:.*[1-9]' "/proc/$target/status"
		refuses "is traced by process" "$target"
		r=$?
		kill $tracer
		finish 10 && return $r
	}
	check "a traced program is refused" traced
else
	skip "a traced program is refused" "strace is not installed"
fi
# narrow: a 32-bit program, which sleeps without a library
narrow() {
	"$python" -c '
import os, struct
code = bytes.fromhex("b81d000000cd80ebf7")  # pause(), again and again
ehdr = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 40, 0, 0)
phdr = struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096)
open("narrow", "wb").write(ehdr + phdr + code)
os.chmod("narrow", 0o755)'
	./narrow &
	target=$!
	wait_until is_in ./narrow || { kill "$target"; return 1; }
	refuses "is a 32-bit program" "$target"
	r=$?
	kill "$target"
	return $r
}
runs_32_bit() { "$python" -c 'import os, sys; sys.exit(not os.path.exists("/proc/sys/abi/vsyscall32"))'; }
if runs_32_bit; then
	check "a 32-bit program is refused as one" narrow
else
	skip "a 32-bit program is refused as one" "this kernel runs none"
fi
# Debian's musl: the loader is a link to libc.so
musl() {
	printf '%s\n' '#include <fcntl.h>' '#include <sys/mman.h>' '#include <unistd.h>' 'int main(void) {' \
		'char c; int fd = open("libc.so", O_RDONLY); mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0); write(1, "ready", 5);' \
		'return read(0, &c, 1) != 0; }' >musl.c
	printf '%4096s' '' >libc.so
	cc -w -static -o musl musl.c || return
	start ./musl
	wait_until grep -q ready out
	refuses "its C library is musl" "$target" && finish 0
}
check "a program of musl's libc.so is refused as one" musl
filtered() {
	start "$python" -c '
import ctypes, struct, sys
libc = ctypes.CDLL(None)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
prog = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(prog)) == 0
print("ready", flush=True)
sys.stdin.read()'
	wait_until grep -q ready out
	refuses "has a seccomp filter" "$target" && finish 0
}
check "a program with a seccomp filter is refused" filtered
# Another thread sleeps, and could be borrowed.
stackless() {
	start "$app" stackless
	wait_until has_no_first_stack
	refuses "has unmapped the stack that it began on" "$target" && finish 24 && [ "$(cat out)" = "stackless: all is right" ]
}
has_no_first_stack() { ! grep -F '[stack]' "/proc/$target/maps"; }
check "a program that has unmapped the stack that it began on is refused" stackless
# As the sentence says, it is recorded once its limit is raised.
no_free_descriptor() {
	start "$python" -c '
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    while True: os.dup(1)
except OSError:
    print("ready", flush=True)
sys.stdin.read()'
	wait_until grep -q ready out
	refuses "has no free descriptor: all 64 that its limit allows are open" "$target" && ! carries_agent &&
		$(sed -n 's/.* \(prlimit --pid .*\)/\1/p' says.out) && attach && carries_agent && finish 0
}
if command -v prlimit >/dev/null; then
	check "a program without a free descriptor is refused, and recorded once its limit is raised" no_free_descriptor
else
	skip "a program without a free descriptor is refused, and recorded once its limit is raised" "needs prlimit"
fi
other_rights() {
	cp "$(command -v sleep)" other && chown 65534 other && chmod 4755 other || return
	setpriv --reuid 65533 --clear-groups ./other 100 &
	target=$!
	wait_until grep -qx other "/proc/$target/comm"
	refuses "set-user-id" "$target"
	r=$?
	kill "$target"
	return $r
}
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	check "a set-user-id program is refused" other_rights
else
	skip "a set-user-id program is refused" "only root can make one of another user's"
fi
# A program whose only thread is in a handler, until it has read a byte: memory that was mapped for it meanwhile is no agent.
in_handler() {
	printf '%s\n' '#include <signal.h>' '#include <unistd.h>' 'static void h(int s) { char c; write(1, "ready", 5); read(0, &c, 1); }' \
		'int main(void) { char c; signal(SIGUSR1, h); raise(SIGUSR1); write(1, "out", 3); return read(0, &c, 1) != 0; }' >handler.c
	cc -w -o handler handler.c || return
	start ./handler
	wait_until grep -q ready out
	refuses "none of its threads could be borrowed: each is in a handler of a signal" "$target" && refuses "each is in a handler" "$target"
	failed=$?
	printf x >&9
	wait_until grep -q readyout out && attach && carries_agent && finish 0 && return $failed
}
check "a program none of whose threads could be borrowed is recorded when one can" in_handler
variables() {
	start env "AIFLAME_STANDBY=$work/elsewhere" AIFLAME_SOCKET=/nowhere AIFLAME_TOKEN=0123456789abcdef0123456789abcdef "$app" sleeps
	wait_until is_in "$app"
	attach && carries_agent && finish 15
}
check "a program that was started with some of our variables, but without the agent, is recorded" variables
# ---- Go: its threads that wait for work are borrowed
go_program() { # NAME SOURCE [VARIABLE...]: builds it
	name=$1 source=$2
	shift 2
	env HOME="$work" GO111MODULE=off "$@" go build -buildmode=pie -o "$name" "$source"
}
go_unharmed() {
	go_program rings "$root/bench/attach_matrix/rings.go" || return
	start ./rings
	for _ in $(seq "$attaches"); do
		attach || { kill "$target"; exec 9>&-; return 1; }
	done
	carries_agent && finish 23 && grep -qx "rings of goroutines: 0 wrong" out && [ ! -s err ]
}
go_bare() {
	printf 'package main\nimport "os"\nfunc main() { os.Stdin.Read(make([]byte, 1)) }\n' >bare.go
	go_program bare bare.go CGO_ENABLED=0 || return
	start ./bare
	refuses "has no C library, as Go programs that are built without cgo" "$target" && finish 0
}
if command -v go >/dev/null && cc --version >/dev/null 2>&1; then
	check "a program of Go with C is unharmed" go_unharmed
	check "a program of Go without C is refused" go_bare
else
	skip "a program of Go with C is unharmed" "no Go here: apt-get install golang-go"
	skip "a program of Go without C is refused" "no Go here: apt-get install golang-go"
fi
# ---- what CUDA launches is seen from then on: CUPTI is subscribed to late (here a mock of both, tests/mock/cuda)
late_cuda() {
	mock=$build/tests/mock/cuda
	rm -f over cuda.log
	start env "LD_LIBRARY_PATH=$mock" "MOCK_LOG=$work/cuda.log" MOCK_CUPTI=version=130001 "$mock/app" -f "$work/over" -t 2 "$root/tests/golden/cubin/kernels_sm90a.cubin"
	wait_until grep -q libcuda "/proc/$target/maps" || return
	for k in 1 2 3; do
		"$aiflame" record -q --all-launches -p "$target" --duration 1 -o "cuda$k.data" 2>cuda.err || { cat cuda.err; return 1; }
		"$aiflame" query --format csv "cuda$k.data" "SELECT count(*) > 50 AND count(dur_ns) > 0.9 * count(*) FROM launches LEFT JOIN executions USING (launch)" >asked.out
		grep -qx 1 asked.out || { cat asked.out; "$aiflame" info "cuda$k.data"; return 1; }
		! "$aiflame" info "cuda$k.data" | grep NOT_COVERED_LATE || return
	done
	: >over
	finish 0 && grep -q 'launches=' out && ! grep -q 'failed=[1-9]' out && ! grep BAD cuda.log
}
if [ -x "$build/tests/mock/cuda/app" ]; then
	check "launches of a CUDA program that nobody prepared are recorded, three times" late_cuda
else
	skip "launches of a CUDA program that nobody prepared are recorded, three times" "no mock"
fi
# ---- what OpenCL launches, too: through the drivers' tables, in a queue that gives no times
# It may compile all the while: then it launches nothing. Joined before it has made its queue, it has the device's times.
launches() {
	for _ in $(seq 30); do
		"$aiflame" record -q --all-launches -p "$target" --inject always --duration 1 -o cl.data >cl.out 2>&1 || return
		! "$aiflame" query --format csv cl.data "SELECT count(*) > 2 FROM launches" | grep -qx 1 || return 0
	done
	return 1
}
late_opencl() {
	start sh -c "exec $build/tests/e2e/idle_app 100000"
	wait_until grep -q libpocl "/proc/$target/maps"
	status=0
	for k in 1 2 3; do
		launches || { cat cl.out; status=1; break; }
		"$aiflame" flame -o cl.folded cl.data
		"$aiflame" query --format csv cl.data "SELECT count(dur_ns) >= 0.8 * count(*) - 1 AND min(start_ns >= time_ns) = 1 FROM launches LEFT JOIN executions USING (launch)" >asked.out
		grep -qx 1 asked.out && grep -q "^main;.*target_launch;clEnqueueNDRangeKernel;spin_" cl.folded && "$aiflame" info cl.data >info.out &&
			! grep NOT_COVERED_LATE info.out || { cat asked.out info.out; tail -3 cl.folded; status=1; }
	done
	wait_until has_runtime opencl || status=1
	kill "$target"
	exec 9>&-
	return $status
}
has_runtime() { "$aiflame" ctl status | grep -qE "^$target +$1 "; }
# What the device's threads do is device time. Which they are shows when they end commands, each after some.
no_workers() {
	start sh -c "exec $build/tests/e2e/idle_app 100000"
	wait_until grep -q libpocl "/proc/$target/maps"
	launches
	status=1
	for _ in $(seq 20); do
		"$aiflame" record -q --all-launches -p "$target" --inject always --cpu -F 999 --duration 600 -o cpu.data >cl.out 2>&1 9>&- &
		recorder=$!
		# On a busy machine that takes a while.
		wait_until in_file cpu "SELECT count(*) > 50 FROM cpu_samples WHERE stack >= 0" || cat cl.out
		"$aiflame" ctl stop cpu.data
		wait $recorder || { cat cl.out; break; }
		"$aiflame" query --format csv cpu.data "SELECT count(*) > 50, sum(tid <> $target) FROM cpu_samples WHERE stack >= 0" | tee asked.out
		if grep -qx "1,0" asked.out; then status=0; break; fi
	done
	kill "$target"
	exec 9>&-
	return $status
}
# The program's results are what they are without us, and so is its end. It makes its kernels when the agent is in it.
late_opencl_right() {
	start env LD_PRELOAD="$build/tests/e2e/libhold_opencl.so" "$build/examples/matmul"
	wait_until grep -q libpocl "/proc/$target/maps"
	"$aiflame" record -q -p "$target" --inject always --duration 60 -o matmul.data >cl.out 2>&1 9>&- &
	recorder=$!
	wait_until in_file matmul "SELECT count(*) = 1 FROM processes WHERE runtime" || { kill $recorder "$target"; cat cl.out; return 1; }
	finish 0
	failed=$?
	wait $recorder || { cat cl.out; return 1; }
	[ $failed = 0 ] && [ "$(wc -l <out)" = "$("$build/examples/matmul" | wc -l)" ] && [ ! -s err ] &&
		says multiply_basic "$aiflame" report --kernels matmul.data
}
if [ -x "$build/tests/e2e/idle_app" ]; then
	check "launches of an OpenCL program that nobody prepared are recorded, three times" late_opencl
	check "worker threads of a CPU device that were there before have no CPU samples" no_workers
	check "an OpenCL program that nobody prepared ends as it would, recorded to its end" late_opencl_right
else
	skip "launches of an OpenCL program that nobody prepared are recorded, three times" "OpenCL was not there at build time"
	skip "worker threads of a CPU device that were there before have no CPU samples" "OpenCL was not there at build time"
	skip "an OpenCL program that nobody prepared ends as it would, recorded to its end" "OpenCL was not there at build time"
fi
done_testing
