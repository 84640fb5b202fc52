#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python walker against sys._getframe(), on every interpreter found: python3, python3.N and debug builds in PATH, and
# those that AIFLAME_PYTHONS names (a list of commands). CAPTURES=N: so many at random on each (python_walk_long.sh).
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
check "the walk of Python's frames is compiled" "${CC:-cc}" -std=gnu17 -O2 -g -fPIC -shared -D_GNU_SOURCE= -I"$root/src" -o walk.so \
	"$here/python_walk.c" "$root"/src/unwind/*.c "$root/src/base/auxv.c" "$root/src/base/buf.c" "$root/src/base/memory.c" "$root/src/base/reasons.c" \
	"$root/src/symbolize/pylines.c" -ldl -pthread
check "a program that embeds Python is compiled" "${CC:-cc}" -std=gnu17 -O2 -g -D_GNU_SOURCE= -I"$root/src" -o embed \
	"$here/python_embed.c" "$root"/src/unwind/*.c "$root/src/base/auxv.c" -ldl -pthread

# tell: cases that were printed to $1
tell() {
	while IFS= read -r line; do
		n=$((n + 1))
		case $line in
		"ok "*) echo "ok $n - $version: ${line#ok }" ;;
		*) failed=$((failed + 1)); echo "not ok $n - $version: ${line#not ok }" ;;
		esac
	done <<-END
		$(grep -E '^(ok|not ok) ' "$1")
	END
}
library='import os, sys, sysconfig
path = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
if ".so" in path and os.path.exists(path):
    print(sys.base_prefix, path)'

seen=
captures=${CAPTURES:-20000}
for python in python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 python3-dbg python3.11-dbg \
	${AIFLAME_PYTHONS:-}; do
	# what it is, rather than what it is called
	which=$("$python" -c 'import ctypes, os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null) || continue
	case " $seen " in *" $which "*) continue ;; esac
	seen="$seen $which"
	"$python" "$here/python_walk.py" ./walk.so "$captures" >walk.out 2>walk.err
	status=$?
	captures=${CAPTURES:-10000} # of each other one
	version=$(sed -n 's/^# CPython \([^ ]*\) .*/\1/p' walk.out)
	sed -n 's/^# \(.*\)/# \1/p' walk.out
	tell walk.out
	check "$version: the walk in $which ends well" sh -c "[ $status = 0 ] || { tail -n 5 walk.err; exit 1; }"
	if found=$("$python" -c "$library") && [ -n "$found" ]; then
		PYTHONHOME=${found% *} ./embed "${found#* }" >embed.out 2>&1
		status=$?
		tell embed.out
		check "$version: the walk in a program with ${found#* } ends well" sh -c "[ $status = 0 ] || { cat embed.out; exit 1; }"
	fi
done
if [ -z "$seen" ]; then
	n=$((n + 1))
	echo "ok $n - Python frames # SKIP no python3 with ctypes: install libpython3-stdlib"
fi
done_testing
