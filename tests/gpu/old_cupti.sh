#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVIDIA, with an older libcupti than the toolkit's, on a real GPU. Needs nvcc, or the programs.
#   CUPTI_DIR=DIRECTORY [PROGRAMS=DIRECTORY] [AIFLAME=PATH] tests/gpu/old_cupti.sh
# The directory has libcupti.so.12 or libcupti.so.11.8, and the libnvperf_host.so of the same release. The program gets that
# copy first, and the agent takes what is loaded. PROGRAMS has examples/cuda/matmul.cu (-lineinfo) and tests/gpu/work.cu, compiled
# with a toolkit of that release: CUPTI 11.8 knows nothing of what the runtime of CUDA 13 calls.
: "${CUPTI_DIR:?a directory with an older libcupti}"
CUPTI_DIR=$(cd "$CUPTI_DIR" && pwd) || exit 1
. "$(dirname "$0")/../e2e/tap.sh"
here=$root/tests/gpu
aiflame=${AIFLAME:-$aiflame}
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
for old in "$CUPTI_DIR/libcupti.so.12" "$CUPTI_DIR/libcupti.so.11.8" ''; do
	[ ! -e "$old" ] || break
done
[ "$old" ] || { echo "not ok 1 - a libcupti in $CUPTI_DIR"; exit 1; }
export old CUPTI_DIR
cat >with.sh <<'END'
LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$old" LD_LIBRARY_PATH="$CUPTI_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$@"
END
# rec FILE OPTIONS... -- COMMAND...: the command with that copy
rec() {
	to=$1 options=
	shift
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	timeout -k 5 90 "$aiflame" record -q $options -o "$to" sh with.sh "$@"
}
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n +2 | tr -d '"'; }
is() { got=$(ask "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; ask "$2" 'SELECT * FROM losses'; return 1; }; }
adds_up() { "$aiflame" info "$1" >info.out; grep -q 'everything adds up' info.out || { cat info.out; return 1; }; }
early() { ! grep -E 'started before their launch +[1-9]' info.out; }
folded() { "$aiflame" flame "$1" -o "$1.folded" && grep -q -- "$2" "$1.folded"; }
losses() { ask "$1" "SELECT reason, name, count, detail FROM losses WHERE reason >= 1200 AND name NOT LIKE 'CPU%'" | sed 's/^/# /'; }

if [ "${PROGRAMS:-}" ]; then
	cp "$PROGRAMS/matmul" "$PROGRAMS/work" .
else
	nvcc -O2 -lineinfo -o matmul "$root/examples/cuda/matmul.cu" && nvcc -O2 -o work "$here/work.cu"
fi || { echo "not ok 1 - the programs compile"; exit 1; }

copy() { # of libcupti, in the program
	rec i.data --all-launches -- ./work idle 6 &
	recording=$!
	sleep 5
	cat /proc/[0-9]*/maps 2>/dev/null | grep -oE '/[^ ]*libcupti[^ ]*' | sort -u >maps.out
	wait $recording || return 1
	cat maps.out
	[ "$(wc -l <maps.out)" = 1 ] && [ "$(cat maps.out)" = "$(readlink -f "$old")" ]
}
check "$(basename "$old") is what the program has, and no other" copy
check "launches of 8 threads are recorded" rec l.data --all-launches -- ./work launches 8 5000
check "launches of 8 threads are all there" is 40000 l.data "SELECT count(*) FROM launches WHERE kind = 'kernel'"
check "launches of 8 threads: each has its stack" is 0 l.data "SELECT count(*) FROM launches WHERE stack IS NULL"
check "launches of 8 threads: each has its time" is 40000 l.data "SELECT count(*) FROM executions e JOIN launches USING (launch) WHERE e.dur_ns > 0"
check "launches of 8 threads are of two kernels in eight streams" is '2,8' l.data 'SELECT count(DISTINCT kernel), count(DISTINCT stream) FROM executions'
check "launches of 8 threads: no instruction is sampled" is 0 l.data 'SELECT count(*) FROM samples'
check "launches of 8 threads: the profile says why no instruction is sampled" is 1 l.data "SELECT count(*) FROM losses WHERE reason = 1305 OR (reason = 1308 AND detail LIKE '%leave out --all-launches')"
check "launches of 8 threads: the numbers add up" adds_up l.data
check "launches of 8 threads: no execution started before its launch" early
losses l.data
check "copies and fills are recorded" rec c.data --all-launches -- ./work copies 50
check "copies and fills are there" is 'fill,50,52428800 read,50,52428800 write,50,52428800' c.data \
	"SELECT group_concat(row, ' ') FROM (SELECT kind || ',' || count(*) || ',' || sum(bytes) AS row FROM copies GROUP BY kind ORDER BY kind)"
check "a graph is recorded" rec g.data --all-launches -- ./work graph 21 300
check "a graph has one launch for each replay" is 300 g.data "SELECT count(*) FROM launches WHERE kind = 'kernel'"
check "a graph: no node is lost" is 6300 g.data 'SELECT count(*) FROM executions WHERE kernel IS NOT NULL'
check "cooperative launches are recorded" rec k.data --all-launches -- ./work cooperative 20
check "cooperative launches are there" is 20 k.data 'SELECT count(*) FROM executions'
same() { ./work occupancy >plain.out && rec n.data --all-launches -- ./work occupancy >recorded.out && diff plain.out recorded.out; }
check "a program's output is what it is unrecorded" same

check "the three towers are recorded" rec m.data --all-launches -- ./matmul 2048 20
check "the three towers have C++ frames below each" folded m.data 'multiply_tile_by_tile;launch_tiled;'

# Records and samples in turn: the first samples come after some seconds.
turns() { rec s.data --overhead 2 --cupti blocks --duration 14 --kill -- ./work endless; [ -s s.data ]; }
check "a program is recorded for 14 s with --overhead 2" turns
check "--overhead 2: executions are recorded" is 1 s.data 'SELECT count(*) > 1000 FROM executions WHERE dur_ns > 0'
losses s.data
echo "# samples: $(ask s.data 'SELECT sum(count), count(DISTINCT pc) FROM samples')"
samples() {
	is 1 s.data "SELECT (SELECT coalesce(sum(count), 0) > 1000 FROM samples) OR (SELECT count(*) > 0 FROM losses WHERE reason IN (1305, 1306, 1308))"
}
check "--overhead 2: instructions are sampled, or the profile says why none is" samples
check "--overhead 2: nothing else is refused" is 0 s.data 'SELECT count(*) FROM losses WHERE reason = 1211'
check "--overhead 2: the numbers add up" adds_up s.data
turns_matmul() { rec t.data --overhead 2 --cupti blocks -- ./matmul 2048 1500; }
check "matrix products are recorded for some seconds with --overhead 2" turns_matmul
losses t.data
echo "# samples: $(ask t.data 'SELECT sum(count), count(DISTINCT pc) FROM samples'), in towers: $(ask t.data 'SELECT sum(count) FROM attributed WHERE pc IS NOT NULL')"
check "matrix products with --overhead 2: the numbers add up" adds_up t.data
done_testing
