#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Python programs under the agent: each launch's Python frames are those that the program wrote of itself at
# that moment by sys._getframe(), with their current lines, in their order among the native ones. On pyopencl
# with PoCL, and on the fake runtime with every interpreter found: python3, python3.N, $AIFLAME_PYTHONS.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
compared=0

# agree PYTHON cl|fake PART TIMES LAUNCHES: recorded as the program says, so many launches at least
agree() {
	rm -f log.txt p.data
	timeout -k 5 120 "$aiflame" record -q --all-launches -o p.data "$1" "$here/python.py" "$2" log.txt "$3" "$4" \
		>run.out 2>&1 </dev/null || { echo "status $?"; cat run.out; return 1; }
	"$1" "$here/python_compare.py" "$aiflame" p.data log.txt "$5" >compare.out || { cat compare.out; return 1; }
	compared=$((compared + $(sed -n 's/^\([0-9]*\) launches.*/\1/p' compare.out)))
	"$aiflame" info p.data >info.out
	# A CPU sample may come at the very moment at which a frame is entered, or its memory is given back: most often
	# where a deep recursion returns through the pages of its stack. The stack of a greenlet's function is cut (1100):
	# what called it lies in a copy. Threads that end within milliseconds have no samples (1357).
	lost=$("$aiflame" query --format csv p.data "SELECT coalesce(sum(CASE WHEN reason = 1100 OR reason IN (1604, 1606) AND
		detail = 'CPU samples' THEN count > 5 ELSE 1 END), 0) FROM losses WHERE reason != 1357" | tail -1)
	grep -q 'everything adds up' info.out && [ "$lost" = 0 ] || { echo "lost: $lost" && sed -n '/BROKEN/p; /^losses/,$p' info.out && return 1; }
}
# Cases of tap.sh run in this shell: `compared` is kept.
all_parts() {
	check "$3: stacks of functions, methods, lambdas, comprehensions, generators, callbacks, exec, exceptions, coroutines" \
		agree "$1" "$2" main 4 $((800 * $4))
	check "$3: stacks of 900 calls" agree "$1" "$2" deep 1 100
	check "$3: stacks of new functions, 300 times in one stack, 400 in one stack" agree "$1" "$2" sudden 1 18
	check "$3: stacks of threads" agree "$1" "$2" threads 4 $((2000 * $4))
	check "$3: stacks of 2,400 functions that come and go" agree "$1" "$2" churn 1 $((2800 * $4))
	check "$3: stacks of fork, and of multiprocessing's fork and spawn" agree "$1" "$2" forks 1 $((2000 * $4))
}

# ---- pyopencl ----
opencl=
for python in /usr/bin/python3 python3; do
	"$python" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 || continue
	opencl=$python
	break
done
if [ -n "$opencl" ]; then
	all_parts "$opencl" cl pyopencl 1
	check "at least 5,000 launches with Python stacks were compared: $compared" test "$compared" -ge 5000
	check "pyopencl: launches by kernel(queue, ...), through code that it generates" agree "$opencl" cl launcher 1 100
	check "the caller of a kernel is the program's function, not pyopencl's" sh -c '
		"$1" report --kernels --format csv p.data >callers.csv && grep -q "(python.py)" callers.csv &&
		! grep -q "enqueue_knl\|invoker" callers.csv' sh "$aiflame"

	"$aiflame" record -q --all-launches -o k.data "$opencl" "$here/python.py" cl k.txt main 1
	check "without Python's C frames the stack is Python, the extension, the API, the kernel" sh -c '
		"$1" flame -i k.data -o k.folded && [ "$(grep -cE \
		"^<module> \(python.py\)_\[p\];main \(python.py\)_\[p\];every \(python.py\)_\[p\];callbacks \(python.py\)_\[p\];key \(python.py\)_\[p\];([^;]*_cl[^;]*;)+clEnqueueNDRangeKernel;f_\[g\] [0-9]+$" \
		k.folded)" -eq 1 ]' sh "$aiflame"
	check "Python's C frames, where shown, stand in their true order" sh -c '
		"$1" flame --detail full -i k.data -o full.folded && grep -qE \
		"Py_RunMain;.*_PyEval_EvalFrameDefault;([^;]*_\[i\];)*<module> \(python.py\)_\[p\];main \(python.py\)_\[p\];every \(python.py\)_\[p\];callbacks \(python.py\)_\[p\];[^p][^;]*;([^;]*;)*_PyEval_EvalFrameDefault;([^;]*_\[i\];)*key \(python.py\)_\[p\];([^;]*;)*[^;]*_cl[^;]*;clEnqueueNDRangeKernel;f_\[g\] " \
		full.folded' sh "$aiflame"
	check "--lines splits Python frames by line" sh -c '
		"$1" flame --lines -i k.data -o lines.folded &&
		[ "$(grep -oE ";callbacks \(python.py:[0-9]+\)_\[p\];key " lines.folded | sort -u | wc -l)" -eq 3 ] &&
		! grep -q "(python.py)" lines.folded' sh "$aiflame"
	total() { awk '{ s += $NF } END { printf "%.0f\n", s }' "$1"; }
	check "--lines has the same total" test "$(total k.folded)" = "$(total lines.folded)"
	check "--detail full, with Python's C frames, has the same total" test "$(total k.folded)" = "$(total full.folded)"
	"$aiflame" flame -i k.data -o k.svg
	# drawn CLASS TEXT: the frame is of that colour
	drawn() { tr '\n' ' ' <k.svg | grep -qE "<g class=\"$1[0-9]\"[^>]*><title>$2 "; }
	check "a picture has Python frames in pink" drawn p "callbacks \(python.py\)"
	check "a picture has the API in muted red" drawn a clEnqueueNDRangeKernel
	check "a picture has kernels in aqua" drawn g f
	"$aiflame" record -q --all-launches --no-python -o no.data "$opencl" "$here/python.py" cl no.txt main 1
	count() { "$aiflame" query --format csv "$1" "$2" | tail -n 1; }
	check "--no-python records no frame of Python" test "$(count no.data "SELECT count(*) FROM frames WHERE kind = 'python'")" = 0
	check "--no-python records every launch" test "$(count no.data 'SELECT count(*) FROM launches')" = "$(count k.data 'SELECT count(*) FROM launches')"
	# Collected from later on, or again: each launch has its Python frames from the first on.
	cat >steps.py <<END
import sys, time
sys.path.insert(0, "$root/python")
import aiflame
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "__kernel void f(__global float *a) { a[get_global_id(0)] += 1; }").build(), "f")
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
kernel.set_arg(0, buffer)
def launch():
    cl.enqueue_nd_range_kernel(queue, kernel, (64,), None)
for i in range(60):
    aiflame.step()
    if sys.argv[1] == "turns" and i % 20 == 10:
        assert aiflame.start()
        while not aiflame.recording():
            time.sleep(0.001)
    for _ in range(10):
        launch()
    queue.finish()
    time.sleep(0.01)
    if sys.argv[1] == "turns" and i % 20 == 19:
        aiflame.pause()
        time.sleep(1.2) # until the interpreter is let go of
END
	late() { # HOW OPTIONS...: none without a Python frame
		how=$1
		shift
		"$aiflame" record -q --all-launches "$@" -o late.data "$opencl" steps.py "$how" &&
			count late.data "WITH RECURSIVE up(stack, frame, parent, top) AS (
				SELECT id, frame, parent, id FROM stacks WHERE id IN (SELECT stack FROM launches) UNION ALL
				SELECT s.id, s.frame, s.parent, up.top FROM stacks s JOIN up ON s.id = up.parent),
				python AS (SELECT top, max(f.kind = 'python') AS has FROM up JOIN frames f ON f.id = up.frame GROUP BY 1)
				SELECT count(*) >= 20, sum(NOT has) FROM launches JOIN python ON top = launches.stack" >late.out
		cat late.out
		[ "$(cat late.out)" = 1,0 ]
	}
	check "a recording that --steps begins has Python frames in each launch" late steps --steps 30:33
	check "a recording that start() and pause() of the program begin has Python frames in each launch" late turns --delay 1000000
	# A comparison that cannot fail would say nothing.
	sed '/^key\t/s/[0-9]*$/1/' k.txt >other.txt
	check "the comparison sees a wrong line" sh -c '! "$1" "$2" "$3" k.data other.txt' sh "$opencl" "$here/python_compare.py" "$aiflame"
	sed '/^every\t/s/^every/other/' k.txt >other.txt
	check "the comparison sees a wrong name" sh -c '! "$1" "$2" "$3" k.data other.txt' sh "$opencl" "$here/python_compare.py" "$aiflame"
else
	n=$((n + 1))
	echo "ok $n - pyopencl # SKIP no python3 with pyopencl: install python3-pyopencl"
fi

# ---- every interpreter, on the fake runtime ----
seen=
for python in python3 /usr/bin/python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3-dbg python3.11-dbg \
	${AIFLAME_PYTHONS:-}; do
	# what it is, rather than what it is called
	which=$("$python" -c 'import ctypes, os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null) || continue
	case " $seen " in *" $which "*) continue ;; esac
	seen="$seen $which"
	version=$("$python" -c 'import platform; print(platform.python_version())')
	all_parts "$python" fake "$version" 1
done
if [ -z "$seen" ]; then
	n=$((n + 1))
	echo "ok $n - Python on the fake runtime # SKIP no python3 with ctypes: install libpython3-stdlib"
fi
echo "# $compared launches compared"
done_testing
