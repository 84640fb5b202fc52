# SPDX-License-Identifier: Apache-2.0
# For end-to-end tests: sourced. Cases print TAP; the test ends with its first failures counted.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$root/build}
aiflame=$build/src/aiflame
matmul=$build/examples/matmul
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM # so that the time limit leaves nothing behind either
cd "$work" || exit 1
export AIFLAME_SAMPLING_KEY=$$ # the GPUs of this test are no other's
n=0 failed=0
# OpenCL means PoCL here: other drivers that are installed take time to say that they have no device, and Intel's is
# loaded in a way (RTLD_DEEPBIND) that sanitizers refuse.
# What one recording leaves for the next is no other test's, nor the user's.
export XDG_STATE_HOME="$work/state"
[ ! -e /etc/OpenCL/vendors/pocl.icd ] || export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd

# say_case STATUS WHAT COMMAND...: a case, by the status of the command, whose output is in check.out
say_case() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $n - $2"
	shift 2
	echo "#   $*"
	tail -n 12 "$work/check.out" | sed 's/^/#   /'
}
# check WHAT COMMAND...: a case, by the command's status
check() {
	what=$1
	shift
	"$@" >"$work/check.out" 2>&1
	say_case $? "$what" "$@"
}
# skip WHAT WHY: a case that cannot be tried here
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
# status_is N COMMAND...
status_is() {
	wanted=$1
	shift
	"$@"
	got=$?
	[ $got -eq "$wanted" ] || { echo "status $got instead of $wanted"; return 1; }
}
# says TEXT COMMAND...: its output, either stream, holds the text
says() {
	text=$1
	shift
	"$@" >"$work/says.out" 2>&1
	grep -qF -- "$text" "$work/says.out" || { echo "nowhere: $text"; cat "$work/says.out"; return 1; }
}
# wait_until COMMAND...: again and again until it succeeds; if it has not within two minutes, fails with what it said last
wait_until() {
	for _ in $(seq 2400); do
		"$@" >"$work/wait.out" 2>&1 && return
		sleep 0.05
	done
	echo "in two minutes never: $*"
	cat "$work/wait.out"
	return 1
}
# in_file NAME SQL: what the recording of that name, or with that file, has committed to NAME.data so far fulfils the SQL
in_file() {
	{ "$aiflame" ctl sync "$1" || "$aiflame" ctl sync "$1.data"; } && cp "$1.data" "$work/so-far.data" &&
		[ "$("$aiflame" query --format csv "$work/so-far.data" "$2" 2>/dev/null | tail -n 1)" = 1 ] && rm "$work/so-far.data"
}
# loading COMMAND...: runs it, as it is while the loader has not found its C library, which lies behind a FIFO; `loaded` lets it go on
loading() {
	mkdir -p slow && rm -f slow/libc.so.6 && mkfifo slow/libc.so.6
	exec env LD_LIBRARY_PATH="$work/slow" "$@"
}
# The loader leaves out a library of another class of machines, of which it reads this much.
loaded() {
	rm -f wrong && { printf '\177ELF\1\1\1'; head -c 1017 /dev/zero; } >wrong
	timeout 60 sh -c 'cat wrong >slow/libc.so.6' && rm slow/libc.so.6
}
# ended PID...: these children have ended, whether this shell has waited for them or not
ended() {
	for pid in "$@"; do
		case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null) in '' | Z*) ;; *) return 1 ;; esac
	done
}
# metered COMMAND...: runs it, ends with its status, and busy=1 if meanwhile more than a twentieth of all CPUs' time was
# stolen or went to programs that are not this shell's children.
busy=0
cpu_used() { # in ticks: of children that have ended, of all, idle
	times >"$work/times.out" # in no subshell: it would have no children
	awk 'FNR == 2 && FILENAME != "/proc/stat" { split($1, u, /[ms]/); split($2, s, /[ms]/); own = 100 * (60 * (u[1] + s[1]) + u[2] + s[2]) }
		$1 == "cpu" { all = $2 + $3 + $4 + $7 + $8 + $9; idle = $5 + $6 }
		END { print own, all, idle }' "$work/times.out" /proc/stat
}
metered() {
	cpu_used >"$work/before.out"
	"$@"
	metered_status=$?
	cpu_used >"$work/after.out"
	cat "$work/before.out" "$work/after.out" | awk 'NR == 1 { own = $1; all = $2; idle = $3 }
		END { others = $2 - all - ($1 - own); exit others > 0.05 * ($2 - all + $3 - idle) }' && busy=0 || busy=1
	return $metered_status
}
# on_calm WHAT COMMAND...: like check, where only a machine that does nothing else can tell that it is not so. What the command
# runs may be metered.
on_calm() {
	what=$1
	shift
	"$@" >"$work/check.out" 2>&1
	status=$?
	if [ $status != 0 ] && [ "$busy" = 1 ]; then
		skip "$what" "this machine is busy with something else"
	else
		say_case $status "$what" "$@"
	fi
}
done_testing() {
	echo "1..$n"
	[ $failed -eq 0 ]
}
