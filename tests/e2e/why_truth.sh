#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of tests/gpu/why that know why their device is idle, by pyopencl on PoCL: are the right class and line blamed?
. "$(dirname "$0")/tap.sh"
for p in python3 /usr/bin/python3; do
	"$p" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 && python=$p && break
done
[ -n "${python:-}" ] || { echo "1..0 # SKIP no pyopencl"; exit 0; }
judged() {
	metered env KEEP="$work/kept" AIFLAME="$aiflame" PYTHON="$python" JOBS=1 SECONDS_EACH=2 "$root/tests/gpu/why/run.sh" "$1"
}
for what in default/server default/compute default/allocate full/server full/collect default/mix_python default/gil full/nested; do
	on_calm "idle time has the class, line and steps that the program says: $what" judged $what
done
# A truth that is another's is seen.
wrong() {
	sed 's/"garbage collection"/"compile"/g' kept/full-collect.json >wrong.json
	! "$python" "$root/tests/gpu/why/check.py" "$aiflame" full kept/full-collect.data wrong.json >wrong.out && grep -q 'asked: class and line' wrong.out
}
check "a wrong cause is not taken for the true one" wrong
done_testing
