#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads, forks, libraries that come and go, longjmp and exceptions, all at once and while launching: no crash, no
# leak, and each launch with the stack that it had. Built by gcc and clang, at each level of optimisation, with
# frame pointers and without, all stripped. (Static musl programs are left alone: limits.sh.)
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e

# build DIR CXX FLAGS...
build() {
	to=$1 cxx=$2
	shift 2
	mkdir "$to"
	"$cxx" -std=gnu++17 "$@" -rdynamic -o "$to/storm" "$here/storm.cpp" -ldl -pthread || return
	nm "$to/storm" >"$to/symbols" && strip "$to/storm" || return
	frame=0
	for name in plugin_a plugin_b plugin_c; do
		frame=$((3 * frame + 48))
		"$cxx" -std=gnu++17 "$@" -shared -fPIC -s -DPLUGIN=$name -DFRAME=$frame -o "$to/$name.so" "$here/storm.cpp" || return
		for worker in 0 1 2 3 4 5 6 7; do cp "$to/$name.so" "$to/$name$worker.so"; done
	done
}
# is_built DIR OUT: by a build() that has ended, which said OUT
is_built() { [ -e "$1/plugin_c7.so" ] || { cat "$2"; return 1; }; }
# storm DIR WALKS SHORT_THREADS FORKS
storm() {
	timeout -k 5 120 "$aiflame" record -q --all-launches -o s.data "$1/storm" "$work/$1" "$2" "$3" "$4" counts.txt >storm.out 2>&1 ||
		{ echo "status $?"; cat storm.out; return 1; }
}
# counted DIR
counted() { python3 "$here/storm_compare.py" "$aiflame" s.data counts.txt "$1/symbols"; }
sql() { "$aiflame" query --format csv s.data "$1" | tail -n +2; }

check "the program of the storm builds" build big g++ -O2 -fomit-frame-pointer
check "8 threads, 10,000 short ones, 100 forks and thousands of libraries that come and go: no crash" storm big 20000 10000 100
sed 's/^/# /' storm.out
check "the storm: each launch has the stack that it had" counted big
sed 's/^/# /' check.out
check "the storm: every stack is complete" test "$(sql 'SELECT count(*) FROM launches l JOIN stacks s ON s.id = l.stack WHERE s.flags != 0')" = 0
check "the storm: the numbers add up" says "everything adds up" "$aiflame" info s.data
check "the storm: no launch is lost" test "$(sql "SELECT count(*) FROM losses WHERE name LIKE 'LAUNCH%' OR name LIKE 'RING%'")" = 0
check "the storm: libraries took each other's place" sh -c '[ "$(sed -n "s/.* library: \([0-9]*\);.*/\1/p" storm.out)" -gt 500 ]'
check "8,000 threads that ended left no memory" sh -c '[ "$(sed -n "s/.* grown by \(-*[0-9]*\) KB/\1/p" storm.out)" -lt 4000 ]'
sed '1s/ [0-9]*$/ 0/' counts.txt >other.txt
check "the storm's comparison sees a wrong count" sh -c '! python3 "$1" "$2" s.data other.txt big/symbols' sh "$here/storm_compare.py" "$aiflame"

for cxx in g++ clang++; do
	command -v $cxx >/dev/null || continue
	for level in 0 1 2 3; do
		# Both at once, before anything runs.
		built=
		for pointer in -fomit-frame-pointer -fno-omit-frame-pointer; do
			build "$cxx$level$pointer" $cxx -O$level $pointer >"build$pointer.out" 2>&1 &
			built="$built $!"
		done
		for pid in $built; do wait "$pid"; done
		for pointer in -fomit-frame-pointer -fno-omit-frame-pointer; do
			check "$cxx -O$level $pointer: the program builds" is_built "$cxx$level$pointer" "build$pointer.out"
			check "$cxx -O$level $pointer: the program runs to its end" storm "$cxx$level$pointer" 2000 400 10
			check "$cxx -O$level $pointer: each launch has the stack that it had" counted "$cxx$level$pointer"
		done
	done
done
# What the loader calls a library by may be relative to a directory.
relative() {
	rm -f s.data
	timeout -k 5 60 "$aiflame" record -q --all-launches -o s.data big/storm big 200 8 0 counts.txt && counted big
}
check "libraries loaded by a relative path have their names" relative
done_testing
