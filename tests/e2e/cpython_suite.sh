#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPython's own tests (Debian's libpython3.11-testsuite), without the agent and with it: the same tests with the
# same results. With it, each reading of a clock or a file is a launch (cpython_hook.c), so that stacks are taken
# in any thread and in any state of the interpreter.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
python=/usr/bin/python3
if ! "$python" -c 'import ctypes, test.test_generators' >/dev/null 2>&1; then
	n=$((n + 1))
	echo "ok $n - CPython's tests # SKIP not installed: install libpython3.11-testsuite"
	done_testing
	exit
fi
check "the hook of CPython's tests is compiled" "${CC:-cc}" -O2 -fPIC -shared -o hook.so "$here/cpython_hook.c" -ldl
mkdir site
cat >site/sitecustomize.py <<'END'
import ctypes
ctypes.CDLL(None).hook_start()
END

# results NAME COMMAND...: each test and what became of it, sorted
results() {
	name=$1
	shift
	mkdir -p "tmp.$name"
	TMPDIR="$work/tmp.$name" timeout -k 5 150 "$@" >"$name.out" 2>&1 </dev/null
	echo "status $?" >"$name.results"
	# "test_x (test.test_y.Z.test_x) ... ok"; where a test prints something itself its result stands elsewhere,
	# and the count of failures tells.
	sed -n 's/^\(test[^ ]* ([a-zA-Z_0-9.]*)\).*\.\.\. \(ok\|FAIL\|ERROR\|skipped.*\|expected failure\)$/\1 \2/p; s/^Ran \([0-9]*\) tests in.*/ran \1/p; s/^\(OK\|FAILED\).*/&/p' \
		"$name.out" | sort >>"$name.results"
}
# same MODULE... [-m PATTERN]...
same() {
	rm -f p.data
	# At the same time: most of them wait for most of theirs.
	results alone "$python" -m test -v "$@" &
	PYTHONPATH="$work/site" LD_PRELOAD="$work/hook.so" results with "$aiflame" record -q --all-launches -o p.data \
		"$python" -m test -v "$@"
	wait
	diff alone.results with.results && [ "$(grep -c ' ok$' alone.results)" -gt 0 ]
}
launches=0
suite() {
	check "$* ends the same with the agent as without" same "$@"
	[ -e p.data ] || return
	check "the counts of the recording of $* add up" says "everything adds up" "$aiflame" info p.data
	launches=$((launches + $("$aiflame" query --format csv p.data 'SELECT count(*) FROM launches' | tail -n 1)))
}
suite test_generators test_coroutines test_asyncgen
# Left out: the same once more, of the class that it is inherited from; and one that sleeps for 3 s.
suite test_thread test_fork1 -i '*fork_wait.ForkWait*'
suite test_threading
suite test_gc test_code test_exceptions test_frame test_raise
suite test_sys test_weakref
suite test_contextlib test_types test_traceback test_dynamic test_sort test_functools
suite test_signal -m '*PosixTests*' -m '*WakeupFDTests*' -m '*WakeupSignalTests*' -m '*BasicSignal*'
suite test_subprocess -m '*ProcessTestCase.test_[a-m]*' -i '*test_check_output_timeout'
suite test_multiprocessing_fork -m '*WithProcessesTestQueue*' -m '*WithThreadsTestPool.test_[a-m]*'
check "CPython's tests made more than 10,000 launches: $launches" test "$launches" -gt 10000
done_testing
