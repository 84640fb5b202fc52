#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a hostile target, or an odd file of one, does to the recorder and to the targets beside it.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/hostile_app
fake=$build/tests/mock/fake_app
mkdir tmp
export TMPDIR="$work/tmp" app fake aiflame
unset XDG_RUNTIME_DIR

# has DATA REASON [DETAIL]: a row of its losses
has() {
	"$aiflame" query --format csv "$1" "SELECT name, detail FROM losses" >has.out &&
		grep -q "^$2,.*${3:-}" has.out || { cat has.out; return 1; }
}
hasnt() { ! has "$@"; }

# ---- paths ----
# Without a terminal, as a service is.
check "a terminal that is called a module does not become the recorder's" \
	status_is 5 setsid -w "$aiflame" record -q -o terminal.data "$app" terminal
check "a terminal that is called a module is not opened, and that is said" has terminal.data MODULE_NO_FILE /dev/pts/
mkfifo fifo
ln -s fifo link
mkdir dir
check "nothing but regular files is opened" status_is 5 \
	timeout 60 "$aiflame" record -q -o odd.data "$app" module "$work/fifo" "$work/link" "$work/dir" /dev/null /proc/kmsg
for f in fifo link dir null kmsg; do
	check "a module that is no regular file is said: $f" has odd.data MODULE_NO_FILE "$f"
done
check "a module that does not exist does not disturb the command" sh -c '
	"$aiflame" record -q -o gone.data "$app" module /no/such; [ $? = 5 ]'
check "a module that does not exist is said to be gone" has gone.data MODULE_GONE /no/such

# ---- files that take long to read ----
cat >small.c <<'END'
__attribute__((noinline)) int small(int x) { return x * 3; }
int other(int x) { return small(x) + 1; }
END
# Where hostile_app says it is: its code begins at 0x1000.
gcc -g -O1 -shared -fPIC -nostdlib -Wl,--build-id=none -Wl,-z,separate-code -o linked.so small.c
objcopy --only-keep-debug linked.so linked.debug
objcopy --strip-all --add-gnu-debuglink=linked.debug linked.so
cp linked.so table.so
cat >grow.py <<'END'
"""Makes the symbol table of an ELF file one of SIZE bytes: grow.py FROM TO SECTION SIZE"""
import os
import struct
import sys

source, to, name, size = sys.argv[1:4] + [int(sys.argv[4])]
b = bytearray(open(source, 'rb').read())
at, = struct.unpack_from('<Q', b, 0x28)
entry, count, names = struct.unpack_from('<HHH', b, 0x3a)
text, = struct.unpack_from('<Q', b, at + names * entry + 24)
for i in range(count):
    s = at + i * entry
    begin = text + struct.unpack_from('<I', b, s)[0]
    if b[begin:b.index(b'\0', begin)].decode() == name:
        struct.pack_into('<QQ', b, s + 24, 1 << 20, size)
open(to, 'wb').write(b)
os.truncate(to, (1 << 20) + size)
END
if truncate -s 4T linked.debug 2>/dev/null; then
	check "a debug file of 4 TB without a build-id is not summed up" \
		status_is 5 timeout -k 5 400 "$aiflame" record -q -o sparse.data "$app" module "$work/linked.so"
	check "functions of a debug file of 4 TB are addresses" sh -c '
		"$aiflame" query --format csv sparse.data "SELECT name FROM frame_names" | grep -q "^\[linked.so+0x"'
else
	skip "a debug file of 4 TB" "this file system has no such files"
fi
gcc -g -O1 -shared -fPIC -nostdlib -Wl,-z,separate-code -o whole.so small.c
if python3 grow.py whole.so table.so .symtab 24000000000 2>/dev/null; then
	check "a symbol table of 24 GB is not read to its end" \
		status_is 5 timeout -k 5 400 "$aiflame" record -q -o table.data "$app" module "$work/table.so"
	check "a symbol table of 24 GB: the numbers add up" says "everything adds up" "$aiflame" info table.data
else
	skip "a symbol table of 24 GB" "this file system has no such files"
fi
# As long as may be summed up: each takes its time. Two of them, or the time of one would have ended it.
truncate -s 4G linked.debug
for i in 1 2 3 4 5 6 7 8; do cp linked.so linked$i.so; done
childless() { [ -z "$(cat "/proc/$1/task/$1/children" 2>/dev/null)" ]; }
# taken PID: it has seen all signals that were sent, or has ended
taken() { [ ! -e "/proc/$1/status" ] || grep -qE '^ShdPnd:[[:space:]]0*$' "/proc/$1/status"; }
# stop TIMES: so many signals to a recorder whose command has ended, once names are looked up
stop() {
	timeout -s KILL 120 "$aiflame" record -q -o stop.data sh -c '"$app" module "$work"/linked*.so; echo >ended' &
	timer=$!
	wait_until test -e ended
	recorder=$(cat /proc/$timer/task/$timer/children)
	# It names: no process is its child any more.
	wait_until childless "${recorder% }"
	for i in $(seq "$1"); do
		kill -INT $recorder
		wait_until taken "${recorder% }"
	done
	wait $timer
	got=$?
	rm -f ended
	return $got
}
export work
check "a second signal ends a recorder that looks for names" status_is 0 stop 2
check "a recorder that a second signal ended says that names are missing" has stop.data NAMES_STOPPED
check "a recorder that a second signal ended: the numbers add up" says "everything adds up" "$aiflame" info stop.data

# ---- descriptors ----
# Large files stay open until the end.
head -c 400000 /dev/zero >>whole.so
mkdir many
for i in $(seq 80); do ln -s ../whole.so "many/$i.so"; done
check "a program with more modules than 64 descriptors is recorded" status_is 5 \
	sh -c 'ulimit -n 64; "$aiflame" record -q --all-launches -o few.data sh -c "\"$app\" module $PWD/many/*.so; got=\$?; \"$fake\"; exit \$got"'
check "64 descriptors: names that could not be read are said" has few.data NO_DESCRIPTORS "names of a module"
check "64 descriptors: nothing else is blamed" sh -c '
	"$aiflame" query --format csv few.data "SELECT name, detail FROM losses" >few.txt
	grep -E "MODULE_GONE|MODULE_NO_FILE|NO_PERF|HANDSHAKE|CPU_TOO_MANY" few.txt && exit 1; cat few.txt'
check "64 descriptors: the numbers add up" says "everything adds up" "$aiflame" info few.data

# ---- the recorder's memory ----
# 60 files whose debug information takes 11 MB each when all of it is decoded: 19,200 frames of them, one after another.
for i in $(seq 60); do ln -s "$aiflame" "many/program$i.so"; done
check "a program with 19,200 frames in 60 modules with debug information is recorded" \
	status_is 5 "$aiflame" record -q --all-launches -o memory.data "$app" frames "$PWD"/many/program*.so
check "19,200 frames: each has its name" sh -c '
	[ "$("$aiflame" query --format csv memory.data "SELECT count(DISTINCT frame) FROM frame_names" | tail -1)" = 19200 ]'
check "19,200 frames: the recorder took less than 200 MB" sh -c '
	rss=$("$aiflame" query --format csv memory.data "SELECT value FROM meta WHERE key = '"'cost.recorder_rss_kb'"'" | tail -1)
	echo "$rss KB"; [ "$rss" -gt 1000 ] && [ "$rss" -lt 200000 ]'

# ---- one that floods, and a neighbour ----
export steady='generate launches=100000 rate=25000 stacks=40 depth=40 kernels=20 streams=3'
# of PROGRAM SQL: about the rows of that process
of() {
	"$aiflame" query --format csv flood.data "SELECT $2 process = (SELECT id FROM processes WHERE exe LIKE '%$1' AND agent
		ORDER BY id DESC LIMIT 1)" | tail -1
}
flood() {
	timeout -k 5 400 "$aiflame" record -q --all-launches -o flood.data sh -c '"$app" flood 4 & "$fake" "$steady"; got=$?; wait $!; exit $got'
}
whole() { [ "$(of fake_app 'count(*) FROM executions WHERE')" = 100000 ] && [ "$(of fake_app 'count(*) FROM launches WHERE')" = 100000 ]; }
lost() { [ "$(of "$1" "count(*) FROM losses WHERE name IN ('RING_FULL', 'RECORDER_SILENT', 'RING_UNREAD', 'DEFINITIONS_FULL') AND")" -gt 0 ]; }
neighbour_lost() { lost fake_app; }
# Where other programs have the CPUs, the neighbour's ring may be full for that: one of three recordings must be whole.
flooded() {
	for _ in 1 2 3; do
		metered flood || return
		whole && ! neighbour_lost && break
	done
	return 0
}
check "a target that floods the recorder and its neighbour end well" flooded
on_calm "the neighbour of a target that floods loses nothing" whole
check "a target that floods has losses" lost hostile_app
on_calm "the neighbour of a target that floods has no loss" status_is 1 neighbour_lost
check "a target that floods: the numbers add up" says "everything adds up" "$aiflame" info flood.data

check "hostile targets leave nothing in TMPDIR" sh -c '[ -z "$(ls -A "$TMPDIR")" ]'
done_testing
