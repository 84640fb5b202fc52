#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stacks through code that was compiled while the program ran: made by hand in each way (jit_app.c), by LLVM
# (lli), V8 (node) and CPython (-X perf). Tables and symbols that debuggers are told of are exact; else there
# is a marked guess by frame pointer; else the stack is marked as cut.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
app=$build/tests/e2e/jit_app
if [ ! -x "$app" ]; then
	echo "ok 1 - code made by a program # SKIP x86-64 only"
	echo "1..1"
	exit
fi
# run NAME COMMAND...: to NAME.data and, with every frame and launches as widths, NAME.folded
run() {
	name=$1
	shift
	timeout -k 5 60 "$aiflame" record -q --all-launches -o "$name.data" "$@" >run.out 2>&1 </dev/null ||
		{ echo "status $?"; cat run.out; return 1; }
	"$aiflame" flame --detail full --by launches -i "$name.data" -o "$name.folded" &&
		says "everything adds up" "$aiflame" info "$name.data"
}
# all NAME COUNT PATTERN: as many launches, all with stacks that fit (grep -E, from main to the innermost function)
all() {
	awk -v want="$2" '{ n += $NF } END { exit n != want }' "$1.folded" || { cat "$1.folded"; return 1; }
	! grep -vE "$3" "$1.folded"
}
# forget_map NAME: what its processes have left in /tmp
forget_map() {
	for pid in $("$aiflame" query --format csv "$1.data" 'SELECT pid FROM processes' | tail -n +2); do
		rm -f "/tmp/perf-$pid.map"
	done
}
# With the C library's debug symbols and without.
main='(_start;([^;]*;){0,2})?main'
made="$main;(run_[a-z]*_\[i\];)?several;outer;call_code"
end='launcher;aif_fake_launch;[^;]*_\[g\] [0-9]+$'

check "code registered with debuggers, without frame pointer: recorded" run registered "$app" registered
check "code registered with debuggers, without frame pointer: unwound exactly, by its own tables, and named" all registered 40 "^$made;\[jit\] compiled_function;$end"
check "code of calls and returns only: recorded" run trampoline "$app" trampoline
check "code of calls and returns only: unwound exactly, by its instructions" all trampoline 40 "^$made;\[jit 0x[0-9a-f]+\];$end"
check "code with a frame pointer: recorded" run framed "$app" framed
check "code with a frame pointer: guessed, and marked" all framed 40 "^\[guessed\];$made;\[jit 0x[0-9a-f]+\];$end"
check "code with a frame pointer: the file says that it was guessed" test "$("$aiflame" query --format csv framed.data \
	'SELECT DISTINCT s.flags FROM launches l JOIN stacks s ON s.id = l.stack' | tail -n +2)" = 2
check "code without frame pointer: recorded" run bare "$app" bare
check "code without frame pointer: cut, and marked" all bare 40 "^\[truncated\];\[jit 0x[0-9a-f]+\];$end"
# Until the helper thread has seen what is executable, a stack ends where such code called such code.
check "code that calls other code, with names for perf: recorded" env AIFLAME_TEST_MAP=1 "$aiflame" record -q --all-launches \
	-o nested.data "$app" nested
"$aiflame" flame --detail full --by launches -i nested.data -o nested.folded
check "code that calls other code, with names for perf: both have their latest names" sh -c 'grep -qE "$1" nested.folded && ! grep -qE "older code|\[jit 0x" nested.folded' sh \
	"^\[guessed\];$made;\[jit\] mapped name \(with blanks\);\[jit\] inner::name;$end"
check "code that calls other code, with names for perf: guessed or cut, and marked" all nested 40 "^(\[guessed\];$made;\[jit\] mapped name \(with blanks\)|\[truncated\]);\[jit\] inner::name;$end"
check "code that takes the place of other code: recorded" run replaced "$app" replaced
versioned="$main;(run_[a-z]*_\[i\];)?run_version;outer;call_code;\[jit\] version_[0-4];$end"
check "code that takes the place of other code: each launch has the function of its time" all replaced 45 "^$versioned"
check "code that takes the place of other code: no launch has another's function" sh -c '[ "$(grep -c " 9$" replaced.folded)" = 5 ]'
check "code that changes faster than it is looked at: recorded" run storm "$app" storm
check "code that changes faster than it is looked at: exact or cut, never wrong" all storm 1500 "^($versioned|\[truncated\];\[jit[^;]*\]?[^;]*;$end)"
check "an object that vanishes, a list that breaks: recorded without a crash" run gone "$app" gone
check "an object that vanishes, a list that breaks: exact or cut" all gone 120 "^($made;\[jit\] compiled_function;$end|\[truncated\];\[jit\] compiled_function;$end)"
check "a list without end, objects of nonsense: recorded without a crash" run hostile "$app" hostile
check "a list without end, objects of nonsense: exact or cut" all hostile 40 "^($made;\[jit[^;]*;$end|\[truncated\];\[jit[^;]*;$end)"

# A compiler's code is looked for when a stack meets it, at most ten times a second, and by the helper thread: on a busy
# machine a program may be over before either. Such stacks are cut, and say so; three times in a row they are not.
# again CHECK NAME COMMAND...: records it once more, or twice, where the check fails
again() {
	what=$1
	shift
	for _ in 1 2; do
		"$what" >/dev/null 2>&1 && return
		run "$@" >/dev/null
	done
}
lli=
for p in lli lli-19 lli-16 lli-15 lli-14; do
	command -v $p >/dev/null && lli=$p && break
done
if [ -n "$lli" ]; then
	for kind in orc mcjit; do
		check "LLVM's $kind: lli is recorded" run lli "$lli" -jit-kind=$kind "$here/jit.ll"
		exact() { all lli 50 "^$main;.*llvm::.*;\[jit\] main;\[jit\] outer_of_lli;\[jit\] inner_of_lli;aif_fake_launch;[^;]* 50$"; }
		again exact lli "$lli" -jit-kind=$kind "$here/jit.ll"
		check "LLVM's $kind: unwound exactly" exact
	done
else
	skip "LLVM's JIT: lli is recorded" "no lli: install llvm"
fi

if command -v node >/dev/null && check_addon=$("${CC:-cc}" -std=gnu17 -O2 -shared -fPIC -o jit_addon.node "$here/jit_addon.c" -ldl 2>&1); then
	cat >jit.js <<-END
		const { launch } = require('./jit_addon.node');
		function innerOfNode(n) { for (let i = 0; i < 3; i++) launch(); return n + 1; }
		function outerOfNode(n) { return innerOfNode(n) + 1; }
		let x = 0;
		// By CPU time, of which the helper thread has its share on a busy machine, too.
		while (process.cpuUsage().user < 800000) x = outerOfNode(x);
	END
	check "V8: node is recorded" run node node --perf-basic-prof --interpreted-frames-native-stack --no-opt jit.js
	# In node 18 the builtin function that calls out of V8 leads nowhere: those stacks are cut.
	if [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]; then
		guessed() { grep -qE "^\[guessed\];.*node::Start.*;Builtins_JSEntry;.*\[jit\] [^;]*outerOfNode [^;]*;.*\[jit\] [^;]*innerOfNode [^;]*;.*;launch;aif_fake_launch;" node.folded; }
		check "V8: frames are guessed, and named by the names for perf" guessed
	else
		skip "V8: frames are guessed, and named by the names for perf" "node older than 20"
	fi
	check "V8: every stack is guessed or cut, and marked" sh -c '! grep -vE "^\[(guessed|truncated)\];" node.folded'
	forget_map node
else
	skip "V8: node is recorded" "no node: install nodejs ${check_addon:-}"
fi

cat >jit.py <<-END
	import ctypes, time
	c = ctypes.CDLL(None)
	c.aif_fake_run(b"generate kernels=20 streams=3")
	def inner_of_python(n):
	    c.aif_fake_launch(1, 2)
	    return n
	def outer_of_python(n):
	    return sorted([n, n + 1], key=inner_of_python)
	for i in range(60):
	    outer_of_python(i)
	    time.sleep(0.005)
END
found=
for python in python3 python3.12 python3.13 python3.14 ${AIFLAME_PYTHONS:-}; do
	"$python" -c 'import sys, ctypes; sys.exit(0 if hasattr(sys, "is_stack_trampoline_active") else 1)' >/dev/null 2>&1 || continue
	pid=$("$python" -X perf -c 'import os, sys; print(os.getpid()); sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null) ||
		continue
	rm -f "/tmp/perf-$pid.map"
	found=$("$python" -c 'import platform; print(platform.python_version())')
	check "CPython $found with -X perf: recorded" run python "$python" -X perf jit.py
	check "CPython $found: a trampoline for each function, exact and named" all python 120 \
		"^_start;.*;\[jit\] py::outer_of_python:[^;]*;_PyEval_EvalFrameDefault;outer_of_python \(jit.py\)_\[p\];.*;\[jit\] py::inner_of_python:[^;]*;_PyEval_EvalFrameDefault;inner_of_python \(jit.py\)_\[p\];.*aif_fake_launch;"
	check "CPython $found: folded into the function's frame" sh -c "
		'$aiflame' flame -i python.data -o brief.folded && grep -q inner_of_python brief.folded && ! grep -F py:: brief.folded"
	forget_map python
done
[ -n "$found" ] || skip "CPython with -X perf: recorded" "no CPython 3.12 or newer that has them"
forget_map nested
done_testing
