#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `import aiflame` in a program that nobody prepared, and that uses no device: its own profiles, and its ranges in those of a
# recorder that comes from outside.
. "$(dirname "$0")/tap.sh"
app=$root/tests/e2e/program_late.py
export PYTHONPATH="$root/python" AIFLAME="$aiflame"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
[ -e "$build/src/agent/libaiflame-agent.so" ] || { echo "1..0 # SKIP no agent is built"; exit 0; }
python=$(python3 -c 'import ctypes, os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null)
if [ -z "$python" ] || ! "$python" -c 'import ctypes; ctypes.CDLL(None)._dl_find_object' 2>/dev/null; then
	echo "1..0 # SKIP needs python3 with ctypes and glibc 2.35"
	exit 0
fi
wanted="['forward', 'decorated', 'step#0', 'step#1', 'step#2']
most is sampled
its functions
again"
# own FIRST... : what a program prints whose profile is there
own() { "$@" "$python" "$app" own own.data >own.out 2>&1 && head -n 4 own.out | diff - - <<-END
	$wanted
	END
}
check "a program that nobody prepared has its own profile, with ranges, steps and CPU samples, twice" own env
check "the agent's symbols are not found by libraries of a program that has loaded it" grep -qx "no symbol True" own.out
check "a program that has profiled itself has no descriptor more" grep -qx "descriptors 0" own.out
check "a forked child of a program that has profiled itself has its own profile" grep -qx "a child's own 1" own.out
check "children of a program that has profiled itself end as they would" grep -qxF "child 3 b'2\\n'" own.out
check "a program under aiflame env that uses no device has its own profile, with ranges, steps and CPU samples, twice" own sh -c "eval \"\$('$aiflame' env)\" && exec \"\$@\"" -
check "a program with a seccomp filter is not given the agent, and runs on" sh -c "'$python' '$app' sandbox f.data >f.out && cat f.out && [ ! -e f.data ] && grep -q 'warned aiflame: .*: it has a seccomp filter' f.out &&
	grep -qxF \"child 3 b'2\\\\n'\" f.out"

mkfifo in
"$python" "$app" goes-on <in >out 2>err &
target=$!
exec 9>in
wait_until grep -q ready out
ranges() {
	"$aiflame" record -q -p $target --inject always --cpu --duration 1 -o r.data || return
	"$aiflame" query --format csv r.data "SELECT (SELECT count(*) > 2 FROM ops WHERE name = 'outer') AND (SELECT count(*) > 2 FROM ops WHERE name = 'inner') AND
		(SELECT count(*) > 2 FROM ops WHERE kind = 'step') AND (SELECT count(*) FROM ops WHERE name = 'inner') <= (SELECT count(*) FROM ops WHERE name = 'outer') + 1" | grep -qx 1
}
# On a busy machine the program may not have looked before the first recording is over.
seen() { for _ in $(seq 20); do ! ranges || return 0; done; return 1; }
if [ "$(uname -m)" = x86_64 ]; then
	check "ranges and steps of a program that a recorder was attached to are recorded" seen
else
	skip "ranges and steps of a program that a recorder was attached to are recorded" "not yet on this machine"
fi
exec 9>&-
wait $target
check "a program whose ranges were recorded late ends as it would" test $? = 7 -a ! -s err
done_testing
