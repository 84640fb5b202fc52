#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes that the agent is not put into, each with the sentence that docs/standby.md has of it: those that need other rights or a
# place of their own. The others are in inject.sh. What is mounted here goes with the test.
if [ -z "${OWN_MOUNTS:-}" ] && unshare -m -p -f --kill-child --mount-proc true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare -m -p -f --kill-child --mount-proc "$0"
fi
. "$(dirname "$0")/tap.sh"
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP the agent is put into programs on x86-64 only"; exit 0; }
# By process id 1, this is the namespace of this test.
{ [ "$(id -u)" = 0 ] && [ $$ = 1 ] && command -v setpriv >/dev/null; } || { echo "1..0 # SKIP needs root, namespaces and setpriv"; exit 0; }
mkdir -m 700 run
chmod 755 "$work"
export XDG_RUNTIME_DIR="$work/run" AIFLAME_AGENT="$work/libaiflame-agent.so"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
mkdir -m 700 nobody nobody/run
cp "$aiflame" aiflame && cp "$build/src/agent/libaiflame-agent.so" "$build/tests/e2e/inject_app" . && chmod 755 aiflame libaiflame-agent.so inject_app
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
mkdir -m 777 out
chown 65534:65534 nobody nobody/run

# as_nobody COMMAND...: as an ordinary user, with a directory of that user's own
as_nobody() {
	(cd nobody && exec setpriv --reuid 65534 --regid 65534 --clear-groups env \
		"XDG_RUNTIME_DIR=$work/nobody/run" "XDG_STATE_HOME=$work/nobody" "XDG_CACHE_HOME=$work/nobody" "HOME=$work/nobody" "$@")
}
# start COMMAND...: its standard input is open until `finish`; it says when it is ready
start() {
	rm -f in said
	mkfifo in
	"$@" <in >said 2>err &
	target=$!
	exec 9>in
	wait_until grep -q ready said
}
finish() {
	exec 9>&-
	wait "$target"
	got=$?
	[ $got -eq 0 ] || { echo "status $got"; cat said err; return 1; }
}
# refused TEXT BY...: the recorder, run as BY, says so of the target, which carries no agent and ends as it would have
refused() {
	text=$1
	shift
	says "process $target: $text" "$@" "$work/aiflame" record -q -p "$target" --inject always --duration 0.1 -o "$work/out/refused.data"
	failed=$?
	! grep libaiflame "/proc/$target/maps" || failed=1
	finish && return $failed
}
waits='print("ready", flush=True); sys.stdin.read()'
# An interpreter may lie where only root can execute it: it becomes the ordinary user, at which that user may not look then.
hidden='import ctypes, os, resource, sys; libc = ctypes.CDLL(None); os.setgroups([]); os.setgid(65534); os.setuid(65534)'
nobodys="$hidden; assert libc.prctl(4, 1, 0, 0, 0) == 0"

first() { says "process 1: is the first process, with which all others would end" "$aiflame" record -q -p 1 --duration 0.1; }
check "the first process is refused" first
of_another() {
	start "$python" -c "import sys; $waits"
	refused "belongs to user 0; record as that user or as root" as_nobody
}
check "another user's program is refused" of_another
# Its files in /proc are root's.
unreadable_by_its_user() {
	start "$python" -c "$hidden; $waits"
	refused "its memory map cannot be read: Permission denied; it has privileges that this command lacks; record as root" as_nobody
}
check "a program that its user may not look at is refused" unreadable_by_its_user
unreadable_by_root() {
	start "$python" -c "$hidden; $waits"
	"$aiflame" record -q -p "$target" --inject always --cpu --duration 0.1 -o refused.data && grep -q memfd:libaiflame-agent "/proc/$target/maps"
	failed=$?
	finish && return $failed
}
check "root records a program that its user may not look at" unreadable_by_root
# Kernels of 6.13 and newer let it read the map still, others do not.
without_capability() {
	start "$python" -c "import sys; $waits"
	refused "" setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace && grep "CAP_SYS_PTRACE is missing" says.out
}
check "root without CAP_SYS_PTRACE is refused" without_capability

# no_ptrace COMMAND...: runs it where ptrace() is refused, as it is by yama and in some containers
cat >no_ptrace.py <<'END'
import ctypes, os, struct, sys
code = b"".join(struct.pack("HBBI", *i) for i in
	[(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)])
text = ctypes.create_string_buffer(code)
prog = struct.pack("HxxxxxxP", 4, ctypes.addressof(text))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(prog)) == 0
os.execvp(sys.argv[1], sys.argv[1:])
END
no_ptrace() { "$python" "$work/no_ptrace.py" "$@"; }
no_ptrace_as_nobody() {
	"$python" "$work/no_ptrace.py" setpriv --reuid 65534 --regid 65534 --clear-groups env \
		"XDG_RUNTIME_DIR=$work/nobody/run" "XDG_STATE_HOME=$work/nobody" "XDG_CACHE_HOME=$work/nobody" "HOME=$work/nobody" "$@"
}
by_filter() {
	start "$python" -c "import sys; $waits"
	refused "ptrace is forbidden here (Operation not permitted); CAP_SYS_PTRACE is missing, or a container's filter forbids it" no_ptrace
}
check "a recorder that may not use ptrace says so" by_filter
# yama is SIMULATED, where this kernel has none: its file says so, and ptrace() is refused.
yama() { # SCOPE: as that setting
	mkdir -p kernel/yama
	for f in perf_event_paranoid ngroups_max pid_max cap_last_cap osrelease; do cat "/proc/sys/kernel/$f" >kernel/$f 2>/dev/null; done
	echo "$1" >kernel/yama/ptrace_scope
}
scope_1() {
	start "$python" -c "$nobodys; $waits"
	refused "kernel.yama.ptrace_scope=1 forbids it to ordinary users; set it to 0 (sysctl), record as root or with CAP_SYS_PTRACE" \
		no_ptrace_as_nobody
}
scope_3() {
	echo 3 >kernel/yama/ptrace_scope
	start "$python" -c "import sys; $waits"
	refused "kernel.yama.ptrace_scope=3 forbids ptrace until the next boot; start it with the variables" no_ptrace
}
if yama 1 && mount --bind kernel /proc/sys/kernel; then
	check "an ordinary user whom yama forbids ptrace is told the setting" scope_1
	check "root whom yama forbids ptrace is told the setting" scope_3
	umount /proc/sys/kernel
else
	skip "who is forbidden ptrace by yama is told the setting" "nothing can be mounted here"
fi

# write_execute: the program may have no memory that was written as code (PR_SET_MDWE)
may_not_execute() {
	start "$python" -c "import ctypes, sys; assert ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) == 0; $waits"
	refused "may not have new code in its memory (SELinux, or MemoryDenyWriteExecute)" env
}
if "$python" -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0)'; then
	check "a program that may not have new code is refused, and unharmed" may_not_execute
else
	skip "a program that may not have new code is refused, and unharmed" "this kernel has no PR_SET_MDWE"
fi
# Its one thread is always within what its malloc() jumps to, which has no name that others know, and holds a lock there.
cat >allocator.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char pool[256 << 20];
static size_t used;
static int is_slow;
__attribute__((noinline)) static void *take(size_t n)
{
	struct timespec t = {0, 20000000};
	char *p;
	long r;
	pthread_mutex_lock(&lock);
	if (is_slow)
		__asm__ volatile("syscall" : "=a"(r) : "a"(SYS_nanosleep), "D"(&t), "S"(0) : "rcx", "r11", "memory");
	p = pool + used + 16;
	*(size_t *)(p - 16) = n;
	used += (n + 31) & ~15ul;
	pthread_mutex_unlock(&lock);
	return p;
}
void *malloc(size_t n) { return take(n); }
void *calloc(size_t a, size_t b) { return take(a * b); }
void free(void *p) {}
void *realloc(void *p, size_t n)
{
	char *q = malloc(n);
	return p ? memcpy(q, p, *(size_t *)((char *)p - 16) < n ? *(size_t *)((char *)p - 16) : n) : q;
}
int main(void)
{
	puts("ready");
	fflush(stdout);
	is_slow = 1;
	for (int i = 0; i < 300; i++)
		*(volatile char *)malloc(100) = 1;
	return 0;
}
END
own_allocator() {
	cc -O2 -o allocator allocator.c -lpthread || return 1
	start ./allocator
	refused "none of its threads could be borrowed: each is in an allocator or the loader" env
}
check "a program whose thread is always within its own malloc() is refused, and goes on" own_allocator

no_more_threads() {
	start "$python" -c "$nobodys; resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)); $waits"
	refused "cannot make one more thread: Resource temporarily unavailable; raise its limits" env
}
check "a program that may make no thread is refused, and unharmed" no_more_threads

# built COMPILER...: a program for it is here
built() { printf '%s\n' '#include <unistd.h>' '#include <sys/types.h>' 'int main(void) {' "$1" '}' >program.c && shift && "$@" -w -o program program.c; }
between_vfork_and_exec() {
	built 'int pid = vfork(); char c; if (pid) { int s; waitpid(pid, &s, 0); return s; }
		write(1, "ready", 5); read(0, &c, 1); _exit(0);' cc || return
	start ./program
	parent=$target
	target=$(pgrep -P "$parent")
	says "process $target: shares its memory with its parent, between vfork() and exec()" "$aiflame" record -q -p "$target" --inject always --duration 0.1
	failed=$?
	target=$parent
	finish && return $failed
}
check "a child between vfork() and exec() is refused" between_vfork_and_exec
of_musl() {
	built 'char c; write(1, "ready", 5); return read(0, &c, 1) != 0;' musl-gcc || return
	start ./program
	grep -q musl "/proc/$target/maps" && refused "its C library is musl, and the agent needs glibc" env
}
if command -v musl-gcc >/dev/null; then
	check "a program that musl-gcc has made is refused" of_musl
else
	skip "a program that musl-gcc has made is refused" "no musl here: apt-get install musl-tools"
fi
done_testing
