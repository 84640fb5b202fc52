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
without_proc() {
	jail bare && start chroot bare /app sleeps
	wait_until is_called app
	says "its loader refuses the agent" attach && finish 15
}

# What a program says of itself is its word.
lies=$build/tests/e2e/inject_lies
libc=$(ldd "$app" | sed -n 's/.*libc.so.6 => \([^ ]*\) .*/\1/p')
is_ready() { grep -qx ready out; }
# ends: the recorder ends by itself, well or with a sentence
ends() {
	timeout 60 "$aiflame" record -q -p "$target" --inject always --cpu --duration 0.2 -o attach.data >attach.out 2>&1
	status=$?
	! grep -E "the injector was killed|Sanitizer|runtime error" attach.out || return 1
	case $status in 0) ;; 125) grep -q "^aiflame: process $target: " attach.out ;; *) false ;; esac || { echo "status $status"; cat attach.out; return 1; }
}
reads_library() {
	start "$lies" reads "$libc" && wait_until is_ready && attach && carries_agent && finish 42
}
executes_library() {
	start "$lies" executes "$libc" && wait_until is_ready
	ends
	failed=$?
	finish 42 && return $failed
}
tells_lies() {
	mkdir -p fake && cp -L "$libc" fake/libc.so.6 || return
	for seed in $(seq "${SEEDS:-12}"); do
		start "$lies" lies fake/libc.so.6 "$seed" && wait_until is_ready
		ends
		failed=$?
		exec 9>&-
		wait "$target"
		[ $failed -eq 0 ] || { echo "seed $seed"; return 1; }
	done
}
loses_library() {
	mkdir -p lost && cp -L "$(dirname "$libc")/libm.so.6" lost/libgone.so || return
	start "$lies" loads lost/libgone.so
	wait_until is_ready && rm lost/libgone.so && attach && carries_agent && finish 42
}
other_library() {
	cp -L "$(dirname "$libc")/libm.so.6" lost/libgone.so || return
	start "$lies" loads lost/libgone.so
	wait_until is_ready && rm lost/libgone.so && mkfifo lost/libgone.so && attach && carries_agent && finish 42
}
# In its root directory a link leads out of it, as from here.
leads_out() {
	jail trap && mkdir -p trap/proc outside && ln -s "$work/outside" trap/tmp/aiflame-0 && mount -t proc proc trap/proc || return
	start chroot trap /app sleeps
	wait_until is_called app
	ends
	failed=$?
	umount -l trap/proc
	finish 15 && [ -z "$(ls -A outside)" ] && return $failed
}
# Processes that end or become another program while they are looked at.
comes_and_goes() {
	for i in $(seq "${TIMES:-15}"); do
		sh -c "sleep 0.0$((i % 10)); exec sleep 0.1" &
		target=$!
		ends || return 1
		wait "$target"
	done
}
# each_case WITH: every case
each_case() {
	check "a program in a root directory of its own is recorded, three times$1" in_chroot
	check "a program whose root directory has no /proc is left alone, and unharmed$1" without_proc
	check "a program that has its C library mapped once more, to read it, is recorded$1" reads_library
	check "a program that has its C library mapped once more, as code that cannot run there, is left alone, and unharmed$1" executes_library
	check "a recorder of programs whose C library's headers lie ends by itself$1" tells_lies
	check "a program whose library has been deleted is recorded$1" loses_library
	check "a program whose library has become a FIFO is recorded$1" other_library
	check "a link in a program's root directory leads root nowhere$1" leads_out
	check "a recorder of a process that becomes another program and ends meanwhile ends by itself$1" comes_and_goes
}
each_case ""
# The same with a recorder, and an injector, that says what it reads or writes where nothing is; the agent is that of before.
sanitized=${ASAN_BUILD_DIR:-$root/build-asan}/src/aiflame
if [ -x "$sanitized" ]; then
	aiflame=$sanitized
	export "AIFLAME_AGENT=$build/src/agent/libaiflame-agent.so" UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
	umount -l jail/proc
	rm -rf --one-file-system jail bare trap outside fake lost
	each_case ", with ASan and UBSan"
else
	skip "root puts the agent into processes that deceive, with ASan and UBSan" "no build-asan/src/aiflame: scripts/build-tests asan src/aiflame"
fi
done_testing
