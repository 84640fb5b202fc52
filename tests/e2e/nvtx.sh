#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges that programs and their libraries mark with NVTX: record --nvtx.
. "$(dirname "$0")/tap.sh"
here=$build/tests/e2e
if [ ! -x "$here/nvtx_app" ]; then
	echo "1..0 # SKIP no OpenCL to build with"
	exit 0
fi
unset NVTX_INJECTION64_PATH
sql() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
# is WANTED FILE SQL
is() { got=$(sql "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
recorded() { "$aiflame" record -q --all-launches "$@"; }

doctor() { NVTX_INJECTION64_PATH=/nonexistent/libtool.so "$aiflame" doctor; }
check "doctor names a tool of NVTX that is set" says "NVTX_INJECTION64_PATH names /nonexistent/libtool.so" doctor

check "a process that runs already cannot have its ranges recorded" status_is 2 "$aiflame" record --nvtx -p $$

# With the stand-in for NVTX's headers, and with the real ones where they are.
for with in "" _real; do
	app=$here/nvtx_app$with lib=$here/nvtx_lib$with.so
	of=${with:+, real headers}
	if [ ! -x "$app" ]; then
		skip "ranges of NVTX's own headers are recorded" "not installed"
		continue
	fi
	check "a program with ranges is recorded without --nvtx$of" recorded -o no.data "$app" ranges "$lib"
	check "without --nvtx no range is recorded$of" is 0 no.data "SELECT count(*) FROM ops WHERE kind = 'range'"
	check "a program with ranges of all kinds is recorded$of" says "levels 0 1 1" recorded --nvtx -o r.data "$app" ranges "$lib"
	check "each range is recorded with its domain$of" is "NCCL:crosses,1
NCCL:ncclAllReduce,1
a,1
a moment,1
across threads,1
b,1
crossed,1
inner,1
library:work,2
other thread,1
outer ä,1
wide ä€,1" r.data "SELECT name, count(*) FROM ops WHERE kind = 'range' AND name NOT LIKE 'not%' GROUP BY name ORDER BY name"
	check "a range's name that is not UTF-8 is shown$of" is 1 r.data "SELECT count(*) FROM ops WHERE name LIKE 'not % utf-8'"
	check "a range has what was launched in it$of" is "3|1|2" r.data "SELECT group_concat(n, '|') FROM (SELECT
		(SELECT count(*) FROM launches l WHERE l.tid = o.tid AND time_ns BETWEEN start_ns AND start_ns + dur_ns) AS n
		FROM ops o WHERE name IN ('inner', 'NCCL:ncclAllReduce', 'other thread') ORDER BY start_ns)"
	check "payloads are read by their schemas$of" is '"comm=77, Message size [bytes]=4096, op=Sum, text=a text"' r.data \
		"SELECT shapes FROM ops WHERE name LIKE '%AllReduce'"
	check "payloads of numbers and categories are read$of" is '"category=loading, payload=-7"' r.data "SELECT shapes FROM ops WHERE name LIKE 'wide%'"
	check "a range of one domain may end below another's$of" is 1 r.data "SELECT a.start_ns < b.start_ns AND a.start_ns + a.dur_ns < b.start_ns + b.dur_ns
		FROM ops a, ops b WHERE a.name = 'NCCL:crosses' AND b.name = 'crossed'"
	check "a range that another thread ends is whole$of" is 1 r.data "SELECT a.start_ns + a.dur_ns BETWEEN b.start_ns AND b.start_ns + b.dur_ns AND a.tid <> b.tid
		FROM ops a, ops b WHERE a.name = 'across threads' AND b.name = 'other thread'"
	check "no range is lost$of" is 0 r.data "SELECT count(*) FROM losses WHERE reason BETWEEN 1450 AND 1459"
	check "counts of a recording with ranges add up$of" says "everything adds up" "$aiflame" info r.data

	check "a program that uses ranges wrongly is recorded$of" recorded --nvtx -o w.data "$app" wrong
	check "wrong uses of ranges are counted$of" is "1450,6
1452,2
1453,5" w.data "SELECT reason, count FROM losses WHERE reason BETWEEN 1450 AND 1459 ORDER BY reason"
	check "a range that never ends ends with its process$of" is 2 w.data "SELECT count(*) FROM ops WHERE name LIKE 'never ends%' AND start_ns + dur_ns >= (SELECT max(time_ns) FROM launches)"
	check "a program with a million names of ranges is recorded$of" recorded --nvtx -o n.data "$app" names 1000000
	# The ring was full where the recorder got no CPU for long: then that is counted, range by range.
	lost="SELECT coalesce(sum(count), 0) FROM losses WHERE name = 'RING_FULL' AND detail = 'ranges'"
	check "a million names: each range is there, or counted as lost$of" is 1000000 n.data "SELECT count(*) + ($lost) FROM ops WHERE kind = 'range'"
	check "a million names: as many names as have room are there, or lost$of" is 1 n.data "SELECT count(DISTINCT name) <= 65536 AND count(DISTINCT name) + ($lost) >= 65000 FROM ops WHERE kind = 'range'"
	check "a million names: the others are counted$of" is 1 n.data "SELECT (SELECT count FROM losses WHERE reason = 1451) BETWEEN 1000000 - 65536 AND 1000000 - 65000"
	check "a million names: no more ranges without a name are there than are counted$of" is 1 n.data "SELECT (SELECT count FROM losses WHERE reason = 1451) >= (SELECT count(*) FROM ops WHERE name = '[other names]')"
	check "a program with a payload that comes again is recorded$of" recorded --nvtx -o a.data "$app" again 1000
	# The first of a thread, and those of ranges that any thread may end, are in their records, which end at 511 bytes.
	check "a payload that comes again is whole each time$of" is "511,1001,1
3023,999,1" a.data "SELECT length(shapes) AS l, count(*), count(DISTINCT shapes) FROM ops WHERE name = 'TSL:thunk' GROUP BY l"
	check "a program whose schemas lie is recorded$of" recorded --nvtx -o h.data "$app" hostile
	check "a payload that is cut off ends where it does$of" is "comm=1" h.data "SELECT shapes FROM ops WHERE shapes <> '' ORDER BY start_ns LIMIT 1"
	check "payloads that are not where their schemas say are left out$of" is ",5
many=1,1" h.data "SELECT shapes, count(*) FROM ops WHERE name LIKE '%wild' GROUP BY 1 ORDER BY 1"
	check "a program with threads, a fork and libraries that come and go is recorded$of" recorded --nvtx -o s.data "$app" storm "$lib" 2000
	check "all launches of threads and forks are there, or lost$of" is 1442 s.data "SELECT (SELECT count(*) FROM launches) + (SELECT coalesce(sum(count), 0) FROM losses WHERE reason < 1100)"
	check "ranges of threads and forks are there$of" is 1 s.data "SELECT count(*) > 40000 FROM ops WHERE name = 'storm' OR name = 'span' OR name LIKE 'storm %'"
	check "a program with another tool of NVTX is recorded$of" env NVTX_INJECTION64_PATH=/nonexistent/libtool.so "$aiflame" record -q --nvtx -o t.data "$app" ranges "$lib"
	check "no range is recorded where another tool of NVTX is set$of" is 0 t.data "SELECT count(*) FROM ops WHERE kind = 'range'"
	check "the loss of ranges names the other tool of NVTX$of" is /nonexistent/libtool.so t.data "SELECT detail FROM losses WHERE reason = 1454"
	check "info names the other tool of NVTX$of" says "/nonexistent/libtool.so" "$aiflame" info t.data

	check "a program that marks the layers of a model is recorded$of" recorded --nvtx -o l.data "$app" layers 20
	folded() { "$aiflame" flame --leaf kernel --by launches --format folded -o - "$@" l.data; }
	check "a flame graph has layers between the host's frames and the kernel$of" says "clEnqueueNDRangeKernel;forward;layer 1;mlp;add_one_[g] 40" folded
	check "pprof has layers$of" sh -c '"$1" export --format pprof -o l.pb.gz l.data && zcat l.pb.gz | grep -qa "layer 1"' - "$aiflame"
	check "--range-frames off shows no layers$of" status_is 1 sh -c '"$1" flame --leaf kernel --format folded -o - --range-frames off l.data | grep -q forward' - "$aiflame"
	folded --range-frames only >only.folded
	check "--range-frames only shows layers without the host's frames$of" grep -qx "forward;layer 2;attention;add_one_\[g\] 60" only.folded
	check "--range-frames only shows what is in no range$of" grep -qx "\[no range\];add_one_\[g\] 1" only.folded
	check "--range-frames only shows all of the device time$of" awk '{ n += $NF } END { exit n != 1 + 20 * 16 }' only.folded
	check "--range selects what was launched in a layer$of" says "40" sh -c '"$1" report --kernels --format csv --range "^layer 0$" l.data | tail -n 1 | cut -d, -f5 | grep -x 100 && echo 40' - "$aiflame"
	check "why --range tells idle time as nothing of the range$of" says "idle where nothing of what was asked for ran" "$aiflame" why --range "^layer 0$" l.data
	check "why --range draws no conclusion from idle time$of" sh -c '! "$1" why --range "^layer 0$" l.data | grep -q "^try"' - "$aiflame"
	check "a --range that nothing matches names the table of ranges$of" says "report --ranges" "$aiflame" report --range nothing l.data
	check "the summary names the table of ranges$of" says "aiflame report --ranges l.data" "$aiflame" report l.data
	check "report --ranges lists ranges$of" says "optimizer" "$aiflame" report --ranges l.data
	check "a program whose ranges are steps is recorded$of" recorded --nvtx -o p.data "$app" steps 12
	steps() { "$aiflame" report --steps --format csv "$@" p.data | grep -c 'train_step [0-9]'; }
	check "ranges that say which step it is are the steps$of" says 12 steps
	check "--time step:5 selects a step of a range$of" says "train_step 4" "$aiflame" report --ranges --time step:5 p.data
	check "ranges that are steps are in the table of ranges$of" says "train_step 11" "$aiflame" report --ranges p.data
	check "why says that the program marks the steps$of" says "12 steps, as the program marks them" "$aiflame" why p.data
	check "a time line has ranges with payloads$of" says "Message size [bytes]=4096" "$aiflame" export --format chrome -o - r.data
done
done_testing
