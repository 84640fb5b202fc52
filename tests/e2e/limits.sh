#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A recorder under bad conditions: full disks, odd outputs, closed descriptors, tight limits, programs that
# cannot be recorded. One clear line where something fails; the command is never disturbed.
if [ "$(id -u)" = 0 ] && [ -z "${LIMITS_OWN_MOUNTS:-}" ] && unshare -m true 2>/dev/null; then
	# The small disk goes when this script does, however that ends.
	LIMITS_OWN_MOUNTS=1 exec unshare -m "$0"
fi
. "$(dirname "$0")/tap.sh"
fake=$build/tests/mock/fake_app
few='generate launches=2000 stacks=4 kernels=3 streams=2'
much='generate launches=600000 rate=200000 stacks=4000 depth=50 kernels=20 streams=3'
long='generate launches=350000 rate=50000 stacks=40 depth=40 kernels=20 streams=3'
mkdir tmp
export TMPDIR="$work/tmp" few much long fake aiflame
unset XDG_RUNTIME_DIR

# rec OPTIONS... CMD...: a quiet recording that loses nothing on purpose
rec() { timeout -k 5 300 "$aiflame" record -q --all-launches "$@"; }
# has N DATA: so many launches, all with their times
has() {
	"$aiflame" info "$2" >has.out && grep -q 'everything adds up' has.out &&
		[ "$("$aiflame" query --format csv "$2" 'SELECT count(*) FROM executions' | tail -1)" = "$1" ] ||
		{ cat has.out; return 1; }
}
# fails STATUS TEXT COMMAND...: exactly one line, with that text
fails() {
	wanted=$1 text=$2
	shift 2
	"$@" >out.txt 2>&1
	got=$?
	[ $got -eq "$wanted" ] && grep -qF -- "$text" out.txt && [ "$(wc -l <out.txt)" -eq 1 ] ||
		{ echo "status $got"; cat out.txt; return 1; }
}
# whole N DATA COMMAND...: ends with 0 and has N launches
whole() {
	launches=$1 data=$2
	shift 2
	"$@" && has "$launches" "$data"
}

# ---- the disk ----
mkdir small
if [ -n "${LIMITS_OWN_MOUNTS:-}" ] && mount -t tmpfs -o size=1500k none small 2>/dev/null; then
	trap 'umount "$work/small"; rm -rf "$work"' EXIT
	check "a full disk is said once, the command's status is given" \
		fails 7 "No space left on device; what was written before is valid" \
		rec -o small/a.data sh -c '"$fake" "$much"; exit 7'
	check "a profile whose disk became full opens" says "cut short" "$aiflame" info small/a.data
	not_drawn() {
		rm -f small/*
		status_is 125 rec -o small/p.data --flame p.svg sh -c '"$fake" "$much"' >not_drawn.out 2>&1
		cat not_drawn.out
		grep -q "p.svg was not drawn" not_drawn.out
	}
	check "record --flame says that it drew nothing where the disk became full, and fails" not_drawn
	rm -f small/*
	dd if=/dev/zero of=small/fill bs=1k count=2000 2>/dev/null
	check "a disk that is full from the start: the command does not run" \
		fails 125 "No space left on device" rec -o small/b.data touch ran
	check "a disk that is full from the start: no file is left" sh -c '[ ! -e ran ] && [ "$(ls small)" = fill ]'
	mount -o remount,ro small
	check "a file system that may not be written: that is said, and no file that is not there" \
		fails 125 "cannot write small/c.data: Read-only file system" rec -o small/c.data touch ran
else
	skip "a full disk is said once, the command's status is given" "no tmpfs can be mounted here"
fi
check "a limit that is met at once is said, without what is not there" sh -c "(ulimit -f 2; '$aiflame' record -q -o first.data touch ran) 2>f.txt
	[ \$? = 125 ] && grep -q 'File too large; free space, or record with -o elsewhere$' f.txt && ! ls first.data* && [ ! -e ran ]"
limited() { (ulimit -f 500 && rec -o limited.data sh -c 'echo here; exit 7'); }
check "a limit on the size of files does not reach the command" status_is 7 limited
check "a limit on the size of files: the profile says what it cost" sh -c '
	(ulimit -f 2000; "$aiflame" record -q -o l.data "$fake" "$few") && "$aiflame" info l.data | grep -q "File too large"'

# ---- the output ----
mkdir gone
check "a directory that is removed meanwhile is said" fails 7 "gone/a.data: was removed or moved" \
	rec -o gone/a.data sh -c 'rm -r gone; exit 7'
mkdir here
check "a directory that is renamed meanwhile is said" fails 7 "here/a.data: was removed or moved" \
	rec -o here/a.data sh -c 'mv here there; "$fake" "$few"; exit 7'
check "a directory that is renamed meanwhile has the whole profile" has 2000 there/a.data
mkfifo fifo
for out in fifo /dev/null /dev/full there; do
	check "output to $out is refused" fails 125 "it is not a file; choose another name with -o" rec -o $out touch ran
done
check "output to standard output is refused" fails 125 "cannot go to standard output" rec -o - touch ran
check "output to a directory that does not exist is refused" fails 125 "choose a writable place" rec -o no/such/a.data touch ran
check "refused outputs run no command" test ! -e ran
"$aiflame" record -q -o huge.data true
truncate -s 50G huge.data
check "an existing huge profile is moved, not read" sh -c '
	"$aiflame" record -q -o huge.data true && [ "$(stat -c %s huge.data.old)" = 53687091200 ] && rm huge.data.old'
"$aiflame" record -q -o target true
cp target target.before
ln -s target link.data
check "a symbolic link is moved, what it points to is not touched" sh -c '
	"$aiflame" record -q -o link.data true && [ ! -L link.data ] && [ -L link.data.old ] && cmp target target.before'
echo precious >notes.txt
ln -s notes.txt notes.link
truncate -s 1M zeros
for f in notes.txt notes.link zeros "$aiflame"; do
	check "a file that is no profile is not moved away: ${f##*/}" fails 125 "it exists and is no aiflame profile" rec -o "$f" touch ran
done
"$aiflame" record -q -o p.data true
cp notes.txt p.data.old
check "a file that is no profile is not lost as the .old of one" fails 125 "would become p.data.old, which is no aiflame profile" rec -o p.data touch ran
check "files that are no profiles are as they were" sh -c 'grep -q precious notes.txt && [ -L notes.link ] && grep -q precious p.data.old && "$aiflame" info p.data && [ ! -e ran ] && [ ! -e notes.txt.old ]'
: >empty.data
check "an empty file is replaced by the profile" rec -o empty.data true

# ---- file systems without locks ----
cat >nolocks.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#define WRAP(name)                                                                         \
	int name(int fd, int what, ...)                                                    \
	{                                                                                  \
		int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, #name); \
		va_list ap;                                                                \
		void *arg;                                                                 \
		va_start(ap, what);                                                        \
		arg = va_arg(ap, void *);                                                  \
		va_end(ap);                                                                \
		if (what != F_SETLK && what != F_SETLKW && what != F_GETLK)                \
			return real(fd, what, arg);                                        \
		errno = atoi(getenv("NO_LOCKS"));                                          \
		return -1;                                                                 \
	}
WRAP(fcntl)
WRAP(fcntl64)
int flock(int fd, int what)
{
	(void)fd, (void)what;
	errno = atoi(getenv("NO_LOCKS"));
	return -1;
}
END
gcc -shared -fPIC -o nolocks.so nolocks.c
"$aiflame" record -q -o locks.data "$fake" "$few"
for e in 37 38 95; do # ENOLCK, ENOSYS, EOPNOTSUPP
	without() { NO_LOCKS=$e LD_PRELOAD="$work/nolocks.so" "$@"; }
	check "no locks, error $e: it is recorded" without "$aiflame" record -q --all-launches -o without.data "$fake" "$few"
	check "no locks, error $e: the profile is whole" has 2000 without.data
	check "no locks, error $e: the profile says so" says NO_LOCKS "$aiflame" info without.data
	check "no locks, error $e: a profile can be seen, and that is said" says "its file system has no locks" without "$aiflame" info without.data
	check "no locks, error $e: a profile that was recorded with locks can be seen" says "everything adds up" without "$aiflame" info locks.data
done
check "nothing is said of locks where there are some" status_is 1 says "no locks" "$aiflame" info locks.data
# The recorder stands still within a transaction, as often as not.
is_seen() {
	without "$aiflame" info going.data >going.txt 2>&1
	grep -qE 'it is being recorded|cut short' going.txt
}
going_on() {
	without "$aiflame" record -q --all-launches -o going.data "$fake" 'generate launches=300000 rate=100000 stacks=40 depth=40 kernels=20 streams=3' &
	recorder=$!
	wait_until is_seen
	seen=$?
	wait $recorder
	got=$?
	[ $seen = 0 ] && [ $got = 0 ] && has 300000 going.data || { echo "$seen $got"; cat going.txt; return 1; }
}
check "no locks: a profile that is being recorded is not damaged by info" going_on

# ---- the size ----
trimmed() {
	# The few rows above are windows and looks at the thread (100 a second), which are dropped and counted, too: the more, the longer
	# the program took for want of a CPU.
	"$aiflame" info "$1" >t.info && grep -q 'old rows were dropped' t.info && grep -q 'everything adds up' t.info &&
		grep -q 'MAX_SIZE' t.info && "$aiflame" flame -o t.svg "$1" && "$aiflame" report --kernels "$1" >t.txt &&
		sum=$("$aiflame" query --format csv "$1" "
			SELECT (SELECT count(*) FROM launches) + (SELECT count(*) FROM executions) +
			(SELECT sum(count) FROM losses WHERE name = 'MAX_SIZE')" | tail -1) &&
		seconds=$("$aiflame" query --format csv "$1" "SELECT max(end_ns) / 1000000000 FROM processes" | tail -1) && echo "$sum rows, $seconds s" &&
		[ "$sum" -ge 700000 ] && [ "$sum" -lt $((702000 + 150 * seconds)) ] ||
		{ cat t.info; return 1; }
}
rec -o keep.data --keep 3s "$fake" "$long"
check "--keep drops what is older, and counts it" trimmed keep.data
# Rows go in chunks of a second and more; the last are looked at a moment after the end.
check "--keep keeps what is younger" sh -c '
	"$aiflame" query --format csv keep.data "SELECT max(last_ns + tail_ns) - (SELECT min(time_ns) FROM launches) FROM device_times" | tail -1 |
		tee kept.out | awk "{ exit !(\$1 > 2.5e9 && \$1 < 7e9) }" || { cat kept.out; exit 1; }'
rec -o size.data --max-size 300K "$fake" "$long"
check "--max-size drops the oldest, and counts it" trimmed size.data
check "--max-size: the file stays below it and a second's rows" sh -c '[ "$(stat -c %s size.data)" -lt 1200000 ]'

# ---- options ----
check "--keep x is refused with the reason" fails 2 "--keep: 'x' is not understood" rec --keep x true
check "--max-size -1 is refused with the reason" fails 2 "--max-size: '-1' is not understood" rec --max-size -1 true
check "--device-rate 99999999 is refused with the most that there is" fails 2 "at most 10000000" rec --device-rate 99999999 true
check "--device-rate 0 is accepted" status_is 0 rec -o 0.data --device-rate 0 true

# ---- the environment ----
check "a TMPDIR that does not exist: the recording is whole" whole 2000 e.data env TMPDIR=/nowhere "$aiflame" record -q --all-launches -o e.data "$fake" "$few"
check "an empty environment: the recording is whole" whole 2000 e.data \
	env -i PATH="$PATH" "$aiflame" record -q --all-launches -o e.data "$fake" "$few"
check "a locale that does not exist: the recording is whole" whole 2000 e.data env LC_ALL=xx_YY.KOI8 "$aiflame" record -q --all-launches -o e.data "$fake" "$few"
check "LD_PRELOAD is kept behind ours" sh -c '
	LD_PRELOAD=libm.so.6 "$aiflame" record -q sh -c "case \$LD_PRELOAD in *libaiflame-agent.so:libm.so.6) ;; *) exit 1 ;; esac"'
check "a working directory that is gone: the recording is whole" sh -c '
	mkdir cwd && cd cwd && rmdir ../cwd && "$aiflame" record -q -o "$TMPDIR/../cwd.data" "$fake" "$few"'
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	check "closed descriptors ($closed): the command is recorded" sh -c "
		timeout 120 \"\$aiflame\" record --all-launches -o c.data \"\$fake\" \"\$few\" $closed && \"\$aiflame\" info c.data | grep -q 'adds up'"
	check "closed descriptors ($closed): the profile is whole" has 2000 c.data
done
check "closed descriptors stay closed for the command" sh -c '"$aiflame" record -q sh -c "[ ! -e /proc/self/fd/0 ]" <&-'
check "a recorder whose output nobody reads ends well" sh -c '
	{ "$aiflame" record --all-launches -o b.data "$fake" "$few" 2>&1; echo $? >status; } | head -c 1 >one; grep -qx 0 status'
check "a recorder whose output nobody reads: the profile is whole" has 2000 b.data
# same COMMAND...: recorded, it says the same, on both streams
same() {
	"$aiflame" record -q "$@" >with.txt 2>&1
	"$@" >without.txt 2>&1
	diff without.txt with.txt
}
check "SIGPIPE ends the command's own pipelines" same sh -c 'yes | head -1'
# 1 to 31: the C library keeps 32 and 33 for itself, and sets them when a program has threads.
check "a recorded command ignores the signals that it ignored unrecorded" same \
	sh -c 'echo $((0x$(sed -n "s/SigIgn:.//p" /proc/self/status) & 0x7fffffff))'
check "SIGCHLD that was ignored at the start does not hide the command's status" status_is 5 timeout 120 \
	sh -c 'trap "" CHLD; exec "$aiflame" record -q -o b.data sh -c "exit 5"'
check "signals that were ignored do not end the recording" sh -c '
	trap "" HUP INT; "$aiflame" record -q -o b.data sh -c "sleep 0.3; kill -INT \$PPID; kill -HUP \$PPID; sleep 0.3; exit 6"
	[ $? = 6 ]'
check "a program can be recorded with 32 descriptors" sh -c 'ulimit -n 32; exec timeout 120 "$aiflame" record -q --all-launches -o n.data "$fake" "$few"'
check "32 descriptors are enough for a whole profile" has 2000 n.data
check "little memory for the rings: the command runs, the profile says why" sh -c '
	(ulimit -v 200000; exec timeout 120 "$aiflame" record -q -o v.data "$fake" "$few") &&
	"$aiflame" info v.data | grep -q "Cannot allocate memory"'

tight() {
	# Room for the program and not for the agent: how much that is depends on the libraries' sizes.
	for limit in 10000 11000 12000 13000 14000 15000; do
		rec -o t.data sh -c "ulimit -v $limit"'; exec "$fake" "generate launches=200 stacks=4 kernels=3 streams=2"' &&
			"$aiflame" info t.data >t.info && grep -q 'HANDSHAKE_FAILED .*(Cannot allocate memory)' t.info && return
	done
	cat t.info
	return 1
}
check "little memory for the command alone: it runs, and the profile says why there is nothing" tight
check "little memory for the command alone: the summary says that an agent got no memory" says "an agent got no memory from the recorder" \
	"$aiflame" report t.data
if unshare -T true 2>/dev/null; then
	elsewhen() { rec -o n.data unshare -T "$@"; }
	# Launches, executions, ranges and what was collected lie within the recording; each execution follows its launch.
	in_time() {
		"$aiflame" info n.data >in_time.out
		[ "$("$aiflame" query --format csv n.data "
			SELECT (SELECT count(*) FROM launches) = $1 AND (SELECT count(*) FROM executions) = $1 AND
				(SELECT min(time_ns) > 0 AND max(time_ns) < 60000000000 FROM launches) AND
				(SELECT min(start_ns) > 0 AND max(start_ns + dur_ns) < 60000000000 FROM executions) AND
				(SELECT min(e.start_ns - l.time_ns) >= 0 AND max(e.start_ns - l.time_ns) < 60000000000
					FROM executions e JOIN launches l USING (launch)) AND
				NOT EXISTS (SELECT * FROM windows WHERE start_ns < 0 OR end_ns > 60000000000) AS ok" | tail -1)" = 1 ] &&
			grep -q 'everything adds up' in_time.out && ! grep -q TIME_NAMESPACE in_time.out && return 0
		"$aiflame" query n.data "SELECT min(time_ns), max(time_ns) FROM launches"
		"$aiflame" query n.data "SELECT min(start_ns), max(dur_ns) FROM executions"
		"$aiflame" query n.data "SELECT * FROM windows LIMIT 5"
		cat in_time.out
		return 1
	}
	cat >clocks.py <<-'END'
		import time
		for i, (name, clock) in enumerate((("monotonic", 1), ("raw", 4), ("realtime", 0), ("boottime", 7), ("own", 1))):
		    now, value = time.clock_gettime_ns(1), time.clock_gettime_ns(clock)
		    if name == "own":
		        value = 123456789
		        for n in (0, 1000000):
		            print(f"clock device={i} before={now + n} after={now + n + 100} value={value + n}")
		    print(f'device {i} name="{name}" clock={name}\nstream {i} device={i}\nkernel {i} name={name}')
		    print(f"launch stream={i} kernel={i} time={now} stack=0x401000 start={value + 100000} end={value + 200000}")
	END
	is_away() {
		AIFLAME_STANDBY=$work/elsewhen "$aiflame" ctl status >status.txt
		grep -q 'fake.* - .*fake_app' status.txt
	}
	found_elsewhen() {
		mkdir -p -m 700 elsewhen
		AIFLAME_STANDBY=$work/elsewhen LD_PRELOAD=$build/src/agent/libaiflame-agent.so unshare -T --fork --kill-child --monotonic "$1" --boottime "$1" \
			"$fake" 'generate launches=10
			sleep time=20000000000' &
		away=$!
		wait_until is_away
		there=$(awk '/fake_app/ { print $1 }' status.txt)
		AIFLAME_STANDBY=$work/elsewhen rec -o n.data -p "$there" &
		recorder=$!
		AIFLAME_STANDBY=$work/elsewhen wait_until "$aiflame" ctl sync n.data
		AIFLAME_STANDBY=$work/elsewhen "$aiflame" ctl stop n.data
		wait $recorder
		"$aiflame" report n.data >found.txt
		[ "${there:-0}" -gt 1 ] && kill "$there"
		wait "$away" 2>/dev/null
		grep -q "1 started a runtime" found.txt || { cat status.txt found.txt; return 1; }
	}
	# No clock may be below zero.
	back=$(awk '{ print $1 < 1000 ? int($1 / 2) : 500 }' /proc/uptime)
	for offset in 1000 "-$back"; do
		check "a program in a time namespace $offset s away runs" elsewhen --monotonic "$offset" "$fake" "$few"
		check "a program in a time namespace $offset s away has this machine's times" in_time 2000
		check "a program with five clocks in a time namespace $offset s away runs" elsewhen --monotonic "$offset" --boottime "$((offset * 2 / 3))" \
			sh -c 'python3 clocks.py >clocks.txt && exec "$fake" clocks.txt'
		check "executions of five clocks in a time namespace $offset s away have this machine's times" in_time 5
		check "a standby page in a time namespace $offset s away is found" found_elsewhen "$offset"
	done
	check "a program in a time namespace with this machine's clock runs" elsewhen "$fake" "$few"
	check "a program in a time namespace with this machine's clock is recorded whole" has 2000 n.data
	apart() { rec -o n.data unshare -T --monotonic 1000 unshare -T --monotonic 5000 sh -c '"$fake" "$few"'; }
	check "a program in a time namespace inside of another runs" apart
	check "a program in a time namespace inside of another has this machine's times" in_time 2000
	# What /proc says is of its children's namespace, which is another than its own.
	cat >unread.py <<-'END'
		import ctypes
		here = ctypes.CDLL(None)
		if here.unshare(0x80):
		    raise SystemExit(4)
		here.aif_fake_run(b"generate launches=10")
	END
	check "a program whose namespace's offset cannot be read runs" elsewhen --monotonic 1000 python3 unread.py
	check "a namespace's offset that cannot be read is a reason in the profile" says TIME_NAMESPACE "$aiflame" info n.data
	check "a namespace's offset that cannot be read is in the summary" says "the program ran in a time namespace of its own" "$aiflame" report n.data
else
	skip "time namespaces" "none can be made here"
fi

# ---- commands ----
if (ulimit -s 65536) 2>/dev/null; then
	check "a command with five megabytes of arguments is recorded" sh -c '
	ulimit -s 65536
	x=$(head -c 100000 /dev/zero | tr "\0" x); set --; for i in $(seq 50); do set -- "$@" "$x"; done
	exec timeout 120 "$aiflame" record -o argv.data "$fake" "generate launches=5" "$@" 2>argv.txt'
	check "five megabytes of arguments do not fill the screen" sh -c '[ "$(wc -c <argv.txt)" -lt 4000 ]'
else
	skip "a command with five megabytes of arguments is recorded" "the stack's hard limit is lower"
fi
check "a pipeline of fifty processes runs, and all are listed" sh -c '
	cmd="seq 1000"; for i in $(seq 50); do cmd="$cmd | cat"; done
	[ "$("$aiflame" record -q -o pipe.data sh -c "$cmd | wc -l")" = 1000 ] &&
	[ "$("$aiflame" query --format csv pipe.data "SELECT count(*) FROM processes WHERE agent" | tail -1)" -ge 52 ]'
nested() {
	rec -o outer.data sh -c '"$aiflame" record -q --all-launches -o inner.data "$fake" "$few"; "$fake" "$few"; "$fake" "$few"' &&
		has 2000 inner.data && has 4000 outer.data
}
check "a recorder inside a recorded shell: each has its own" nested
echo 'int main(void) { return 9; }' >nine.c
# uncovered WHAT TEXT: ./nine runs as it does without us, and the profile says why it has nothing
uncovered() {
	check "$1: runs undisturbed" status_is 9 rec -o u.data ./nine
	check "$1: runs undisturbed below a recorded shell" status_is 9 rec -o us.data sh -c './nine; exit $?'
	check "$1: the profile says why there is nothing" says "$2" "$aiflame" info u.data
}
if gcc -fsanitize=address -o asan nine.c 2>/dev/null && ASAN_OPTIONS=detect_leaks=0 ./asan; [ $? = 9 ]; then
	check "AddressSanitizer ends a program that begins with the agent" status_is 1 rec -o asan.data ./asan
	check "AddressSanitizer: the profile says that it does not let the agent in" says "NOT_COVERED_ASAN" "$aiflame" info asan.data
	check "AddressSanitizer: the summary says why there is nothing" says "AddressSanitizer does not let it begin" "$aiflame" report asan.data
	check "AddressSanitizer: with verify_asan_link_order=0 the program runs and carries the agent" sh -c '
		ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 "$aiflame" record -q -o asan.data ./asan; [ $? = 9 ] &&
		! "$aiflame" info asan.data | grep NOT_COVERED &&
		[ "$("$aiflame" query --format csv asan.data "SELECT count(*) FROM processes WHERE agent" | tail -1)" = 1 ]'
else
	skip "a program built with AddressSanitizer" "it cannot be built here"
fi
gcc -static -o nine nine.c 2>/dev/null && uncovered "a static program" "statically linked"
# The loader has no loader itself, and loads the agent into the program that it is given.
by_loader() {
	loader=$(ldd "$matmul" | sed -n 's/^[^/]*\(\/[^ ]*ld-[^ ]*\).*/\1/p')
	"$aiflame" record -o loader.data "$loader" "$matmul" 64 3 >loader.txt 2>&1 &&
		! grep "statically linked" loader.txt && ! "$aiflame" info loader.data | grep 1400 &&
		says multiply_basic "$aiflame" report --kernels loader.data
}
check "a program that is given to the loader is recorded, and not said to be statically linked" by_loader
command -v musl-gcc >/dev/null && musl-gcc -o nine nine.c && uncovered "a musl program" "another C library"
gcc -m32 -o nine nine.c 2>/dev/null && uncovered "a 32-bit program" "32-bit program"
if [ "$(id -u)" = 0 ] && su nobody -s /bin/sh -c "test -x '$aiflame'"; then # the tree may lie in a closed folder
	chmod 755 "$work" && mkdir -m 777 user
	check "a set-user-id program is named as one" sh -c '
		cd user && su nobody -s /bin/sh -c "\"$aiflame\" record -q -o s.data passwd --status" >/dev/null &&
		"$aiflame" info s.data | grep -q "set-user-id"'
	check "an ordinary user's directory without permission: the error says what to do" sh -c '
		cd user && mkdir -m 755 ro && cd ro && su nobody -s /bin/sh -c "\"$aiflame\" record -q true" 2>&1 |
		grep -q "choose a writable place with -o"'
fi
check "recordings under bad conditions leave nothing in TMPDIR" sh -c '[ -z "$(ls -A "$TMPDIR")" ]'
done_testing
