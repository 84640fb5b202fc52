#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Root puts the agent into processes that have another root directory, and into such as deceive. What is mounted here goes
# with the test.
if [ -z "${OWN_MOUNTS:-}" ] && unshare -m -p -f --kill-child --mount-proc true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare -m -p -f --kill-child --mount-proc "$0"
fi
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/inject_app
why=
[ "$(uname -m)" = x86_64 ] || why="not yet on this machine"
[ "$(id -u)" = 0 ] && [ -n "${OWN_MOUNTS:-}" ] && command -v setpriv >/dev/null || why="needs root, a mount namespace and setpriv"
if [ -n "$why" ]; then
	skip "root puts the agent into processes that deceive" "$why"
	done_testing
	exit
fi
trap 'umount -l "$work/jail/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
mkdir -m 700 run
chmod 755 "$work"
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS

# start COMMAND...: its standard input is open until `finish`
start() {
	rm -f in
	mkfifo in
	"$@" <in >out 2>err &
	target=$!
	exec 9>in
}
# finish STATUS: the program ends when nobody writes to it any more, with that status
finish() {
	exec 9>&-
	wait "$target"
	got=$?
	[ $got -eq "$1" ] || { echo "status $got instead of $1"; cat out err; return 1; }
}
is_called() { grep -qx "$1" "/proc/$target/comm"; }
carries_agent() { grep -q 'memfd:libaiflame-agent' "/proc/$target/maps"; }
attach() { "$aiflame" record -q -p "$target" --inject always --cpu --duration 0.2 -o attach.data; }

# jail DIRECTORY: a root directory with the program and its libraries
jail() {
	mkdir -p "$1/proc" && mkdir -m 1777 "$1/tmp" && cp "$app" "$1/app" || return
	ldd "$app" "$build/src/agent/libaiflame-agent.so" | sed -n 's/[^/]*\(\/[^ ]*\) (.*/\1/p' >libraries
	while read -r lib; do
		mkdir -p "$1${lib%/*}" && cp -L "$lib" "$1$lib" || return
	done <libraries
}
# Its standby directory lies in its own root directory, and its memory map names that as from here.
in_chroot() {
	jail jail && mount -t proc proc jail/proc || return
	start chroot jail /app sleeps
	wait_until is_called app
	attach && attach && attach && carries_agent && finish 15 && [ -d jail/tmp/aiflame-0 ]
}
check "a program in a root directory of its own is recorded, three times" in_chroot
without_proc() {
	jail bare && start chroot bare /app sleeps
	wait_until is_called app
	says "its loader refuses the agent" attach && finish 15
}
check "a program whose root directory has no /proc is left alone, and unharmed" without_proc
done_testing
