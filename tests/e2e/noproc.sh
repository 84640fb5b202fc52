#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where /proc is not mounted, as in a bare chroot, commands that need it say so.
. "$(dirname "$0")/tap.sh"

if [ "$(id -u)" != 0 ] || ! unshare -m --propagation private umount -l /proc 2>/dev/null; then
	skip "commands say that /proc is not mounted" "needs root and a mount namespace"
	done_testing
fi
# without_proc COMMAND...: its words where /proc is not mounted
without_proc() { unshare -m --propagation private sh -c 'umount -l /proc && exec "$@"' - "$@" 2>&1; }
# told COMMAND...: it says what is missing and what to do
told() {
	without_proc "$aiflame" "$@" >said
	cat said
	grep -q '/proc is not mounted here.*; mount it: mount -t proc proc /proc' said && ! grep -q 'install aiflame' said
}
check "record says that /proc is not mounted" told record -o x.data true
check "record -p says that /proc is not mounted" told record -p 1 -o x.data
check "stacks says that /proc is not mounted" told stacks 1
check "env says that /proc is not mounted" told env
check "top says that /proc is not mounted" told top --once
check "doctor says that /proc is not mounted" told doctor
done_testing
