#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Graphs of a device: one launch, many executions; and what kernels need. The fake runtime replays two graphs from
# one stack, and launches a kernel of one of them by itself.
. "$(dirname "$0")/tap.sh"
fake=$build/tests/mock/fake_app

cat >graphs.script <<EOF
device 0 name="Fake GPU" kind=gpu units=4 clock=monotonic
stream 0 device=0
stream 1 device=0
program 0
kernel 0 program=0 name=matmul
kernel 1 program=0 name=norm
now
launch stream=0 kernel=0 time=1000 stack=0x401000,0x402000 grid=64,1,1 block=8,1,1 start=1000000 end=2000000 registers=168 shared=49152
launch stream=0 kernel=1 time=1100 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=2000000 end=2100000
EOF
for i in 0 1 2; do
	cat >>graphs.script <<EOF
launch graph=7 time=20${i}0 stack=0x401020,0x402000
exec stream=0 kernel=0 start=3${i}00000 end=3${i}40000 graph=7 node=0 registers=168 shared=49152
exec stream=1 kernel=1 start=3${i}40000 end=3${i}50000 graph=7 node=1 registers=32
exec stream=0 kind=fill bytes=64 start=3${i}60000 end=3${i}61000 graph=7 node=2
EOF
done
cat >>graphs.script <<EOF
launch graph=9 time=3000 stack=0x401020,0x402000
exec stream=0 kernel=0 start=4000000 end=4500000 graph=9 node=0 registers=168 shared=49152
sleep time=100000000
EOF
# are SQL ROW...: exactly these rows
are() {
	sql=$1
	shift
	"$aiflame" query --format csv a.data "$sql" | tail -n +2 >rows.txt
	printf '%s\n' "$@" | diff - rows.txt
}

check "a program that replays graphs is recorded" "$aiflame" record -q --all-launches -o a.data "$fake" graphs.script
check "a replay of a graph is one launch" are "SELECT kind, count(*), count(kernel), count(grid) FROM launches GROUP BY 1" "kernel,6,2,2"
check "a replay has an execution for each kernel node" are \
	"SELECT e.launch - (SELECT min(launch) FROM launches), e.graph, node, k.name FROM executions e
	JOIN kernels k ON k.id = e.kernel WHERE e.graph ORDER BY start_ns" \
	"2,7,0,matmul" "2,7,1,norm" "3,7,0,matmul" "3,7,1,norm" "4,7,0,matmul" "4,7,1,norm" "5,9,0,matmul"
check "a replay has copies and fills of its nodes" are "SELECT kind, bytes, graph, node FROM copies" "fill,64,7,2" "fill,64,7,2" "fill,64,7,2"
check "a kernel that is launched by itself has no graph" are \
	"SELECT count(*) FROM executions WHERE graph IS NULL AND node IS NULL" 2
check "executions have registers and shared bytes where they are known" are \
	"SELECT DISTINCT name, registers, shared_bytes FROM executions e JOIN kernels k ON k.id = kernel ORDER BY 1, 2" \
	matmul,168,49152 norm,, norm,32,0
check "counts of a recording of graphs add up" says "everything adds up" "$aiflame" info a.data
# number NAME: of a line of info
number() { "$aiflame" info a.data | sed -n "s/^  $1  *//p"; }
check "info tells launches from executions, as tables count them" \
	test "$(number launches),$(number executions),$("$aiflame" report --kernels --format csv a.data | awk -F, 'NR > 1 { n += $5 } END { print n }')" = 6,12,12
check "a replay is listed as its graph, not as an unknown kernel" sh -c "
	'$aiflame' report --launches --format csv a.data >launches.csv; cat launches.csv
	[ \$(grep -c 'fake graph 7' launches.csv) = 3 ] && grep -q 'fake graph 9' launches.csv && ! grep -q unknown launches.csv"
check "export has graphs and registers of executions" sh -c "
	'$aiflame' export -i a.data -o x.sqlite && [ \"\$(sqlite3 x.sqlite 'SELECT sum(graph), sum(registers) FROM executions')\" = '51|936' ]"

"$aiflame" flame --by time -i a.data -o a.folded
check "nodes stand under the replay and their graph" sh -c "
	cat a.folded
	grep -qE ';\[0x40101f\];\[fake graph 7\];matmul_\[g\] 120000\$' a.folded && grep -qE ';\[fake graph 7\];norm_\[g\] 30000\$' a.folded &&
	grep -qE ';\[fake graph 7\];Memset \(Device\)_\[g\] 3000\$' a.folded && grep -qE ';\[fake graph 9\];matmul_\[g\] 500000\$' a.folded"
check "a launch without a graph stands under no graph" sh -c "grep -v 'fake graph' a.folded | grep -q ';matmul_\[g\] 1000000\$'"
check "a picture names the graphs" sh -c "'$aiflame' flame a.data -o a.svg && grep -q 'fake graph 9' a.svg"
check "a picture of one kernel names its graph" sh -c "
	'$aiflame' flame --by time --kernel norm -i a.data -o n.folded && grep -q 'fake graph 7' n.folded"
check "report --kernels counts a kernel's executions in and outside of graphs together" sh -c "
	'$aiflame' report --kernels --format csv a.data | tee k.csv | grep -q ',1620000,0,5,324000,40000,40000,1000000,1000000,0,,,,,,[0-9]*,matmul,' || { cat k.csv; false; }"
launches() { "$aiflame" report --launches --format "$1" a.data; }
launches csv >l.csv
check "report --launches as CSV and JSON has registers and shared bytes" sh -c "
	cat l.csv; grep -q ',64x1x1,8x1x1,168,49152,matmul,' l.csv && grep -q ',64x1x1,8x1x1,0,0,norm,' l.csv &&
	'$aiflame' report --launches --format json a.data | grep -q '\"registers\": 168'"
check "report --launches has no registers for a replay of several nodes" test "$(awk -F, '$8 == 168' l.csv | wc -l)" = 1
check "report --launches as a table has no registers" sh -c "! '$aiflame' report --launches a.data | grep -q registers"

# The same with stacks for graph 7: as CUPTI has it, its nodes are copies of those of graph 5, and the last of them is of a
# child. main (0x402000) makes nodes 0 and 2 under 0x401100, and replays under 0x401020.
awk '{ print } $1 == "now" {
	print "node 1 graph=5 node=0 time=100 stack=0x401200,0x401100,0x402000"
	print "node 1 graph=4 node=0 time=110 stack=0x401300,0x401110,0x402000"
	print "node 2 graph=6 node=0 time=120 from=0x400000000"
	print "node 2 graph=7 node=0 time=130 from=0x500000000"
	print "node 1 graph=5 node=1 time=125"
	print "node 2 graph=7 node=1 time=140 from=0x500000001"
	print "node 4 graph=5 time=150"
	print "node 6 graph=6 time=160"
	print "node 5 graph=5 time=170"
	print "node 1 graph=8 node=0 time=2005 stack=0x401400,0x401100,0x402000"
	print "node 3 graph=7 node=0 time=2015 from=0x800000000"
}' graphs.script >nodes.script
mv a.data without.data
check "a program whose graph nodes have stacks is recorded" "$aiflame" record -q --all-launches -o a.data "$fake" nodes.script
check "a node has the stack that made it, also after an update" are \
	"SELECT graph, node, f.address FROM graph_nodes n JOIN stacks s ON s.id = n.stack JOIN frames f ON f.id = s.frame
	ORDER BY since_ns, 2" "7,0,4198911" "7,2,4199167" "7,0,4199423"
"$aiflame" flame --by time -i a.data -o a.folded
check "a node's stack stands under the graph, without what the replay's stack begins with" sh -c "
	cat a.folded
	grep -qE '\[0x401fff\];\[0x40101f\];\[fake graph 7\];\[0x4010ff\];\[0x4011ff\];matmul_\[g\] 80000\$' a.folded &&
	grep -qE '\[0x401fff\];\[0x40101f\];\[fake graph 7\];\[0x4010ff\];\[0x4013ff\];matmul_\[g\] 40000\$' a.folded &&
	grep -qE '\[fake graph 7\];\[0x40110f\];\[0x4012ff\];Memset \(Device\)_\[g\] 3000\$' a.folded"
check "exports as folded and pprof have the stacks of nodes" sh -c "
	'$aiflame' export --format folded -i a.data -o - | grep -qE '\[fake graph 7\];\[0x4010ff\];\[0x4013ff\];matmul_' &&
	'$aiflame' export --format pprof -i a.data -o a.pb.gz && zcat a.pb.gz | grep -qa 'fake graph 7' &&
	'$aiflame' export --format pprof -i without.data -o w.pb.gz && [ \$(zcat a.pb.gz | wc -c) -gt \$(zcat w.pb.gz | wc -c) ]"
cat >stacks.py <<EOF
# stacks.py FORMAT FILE: of each execution of a graph, its frames from the outermost, and its kernel
import json, sys
d = json.load(open(sys.argv[2]))
if sys.argv[1] == "chrome":
	f = d["stackFrames"]
	for e in d["traceEvents"]:
		if "graph id" in e.get("args", {}):
			n, path = str(e["sf"]), [e["name"]]
			while n in f:
				path.append(f[n]["name"])
				n = str(f[n].get("parent", ""))
			print(";".join(reversed(path)))
else:
	strings = d.get("shared", {}).get("stringArray")
	for t in d["threads"]:
		str_ = strings or t["stringArray"]
		for n in t["samples"]["stack"]:
			path = []
			while n is not None:
				frame = t["stackTable"]["frame"][n]
				path.append(str_[t["funcTable"]["name"][t["frameTable"]["func"][frame]]])
				n = t["stackTable"]["prefix"][n]
			print(";".join(reversed(path)))
EOF
for format in chrome firefox; do
	"$aiflame" export --format $format -i a.data -o a.$format.json && python3 stacks.py $format a.$format.json >$format.stacks
	check "a time line has the stacks of nodes and replays: $format" sh -c "
		cat $format.stacks
		[ \$(grep -cE '\[0x401fff\];\[0x40101f\];\[fake graph 7\];\[0x4010ff\];\[0x4011ff\];matmul' $format.stacks) = 2 ] &&
		[ \$(grep -cE '\[fake graph 7\];\[0x4010ff\];\[0x4013ff\];matmul' $format.stacks) = 1 ] &&
		[ \$(grep -cE '\[fake graph 7\];norm' $format.stacks) = 3 ] && grep -qE '\[0x40101f\];\[fake graph 9\];matmul' $format.stacks"
done
check "a time line has the stacks of nodes and replays: perfetto" sh -c "'$aiflame' export --format perfetto -i a.data -o a.pftrace &&
	grep -qa 'fake graph 9' a.pftrace && grep -qa '0x4013ff' a.pftrace"
check "a node that was made by an unknown stack stands under its graph" sh -c "grep -qE '\[fake graph 7\];norm_\[g\] 30000\$' a.folded"
check "a graph without known nodes keeps its kernels under the graph" sh -c "grep -qE '\[fake graph 9\];matmul_\[g\] 500000\$' a.folded"
check "attributions have the stacks of nodes" are "SELECT count(DISTINCT capture), sum(capture IS NULL AND graph = 7) FROM attributed" "3,1"
check "device time is the same with and without stacks of nodes" test "$(awk '{ n += $NF } END { print n }' a.folded)" = \
	"$("$aiflame" flame --by time -i without.data -o w.folded && awk '{ n += $NF } END { print n }' w.folded)"
check "a file without a table of nodes opens" sh -c "
	sqlite3 without.data 'DROP TABLE graph_node' && '$aiflame' info without.data | grep -q 'everything adds up'"
done_testing
