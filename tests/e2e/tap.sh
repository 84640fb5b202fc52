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
n=0 failed=0
# OpenCL means PoCL here: other drivers that are installed take time to say that they have no device, and Intel's is
# loaded in a way (RTLD_DEEPBIND) that sanitizers refuse.
[ ! -e /etc/OpenCL/vendors/pocl.icd ] || export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd

# check WHAT COMMAND...: a case, by the command's status
check() {
	what=$1
	shift
	n=$((n + 1))
	if "$@" >"$work/check.out" 2>&1; then
		echo "ok $n - $what"
	else
		failed=$((failed + 1))
		echo "not ok $n - $what"
		echo "#   $*"
		tail -n 12 "$work/check.out" | sed 's/^/#   /'
	fi
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
done_testing() {
	echo "1..$n"
	[ $failed -eq 0 ]
}
