#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory of recordings: who holds a device's memory at its peak, against programs that have written down what they did:
# OpenCL's buffers, images and shared virtual memory, PyTorch's allocator (that of the host, where torch.profiler records
# memory), Level Zero on the simulated driver.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
query() { "$aiflame" query --format csv "$1" "$2" | tail -n +2 | tr -d '\r'; }
# is WANTED DATA SQL
is() { got=$(query "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }

app=$build/tests/e2e/memory_app
if [ -x "$app" ]; then
	record() { "$aiflame" record -q --all-launches -o o.data "$app" >o.truth; }
	check "OpenCL: buffers, parts, images and shared virtual memory are recorded" record
	number() { awk -v what="$1" '$1 == what { print $2 }' o.truth; }
	check "OpenCL: all allocations have their stacks" is "$(number allocations)" o.data "SELECT count(*) FROM memory WHERE kind = 'allocate' AND bytes > 0 AND stack IS NOT NULL"
	released() { is "$(number released)" o.data "SELECT sum(a.bytes) FROM memory r JOIN memory a ON a.block = r.block AND a.kind = 'allocate'
		AND a.time_ns = (SELECT max(time_ns) FROM memory b WHERE b.block = r.block AND b.kind = 'allocate' AND b.time_ns < r.time_ns) WHERE r.kind = 'release'"; }
	check "OpenCL: a release is recorded with the last reference" released
	at_peak() { "$aiflame" report --memory --format csv --limit 0 o.data | awk -F , 'NR > 1 { n += $1 } END { print n }'; }
	check "OpenCL: the table has the program's peak" sh -c "[ $(at_peak) = $(number peak) ]"
	lines() {
		"$aiflame" flame --of memory -o o.folded o.data || return 1
		awk '{ w = $NF; sub(/ [0-9]*$/, ""); n = split($0, f, ";"); at = f[2]; sub(/_\[.\]$/, "", at); if (at ~ /^(buffer|clCreate)/) at = "main"
			sum[at] += w } END { for (k in sum) print k, sum[k] }' o.folded | sort >o.ours
		grep -vE '^(allocations|released|peak) ' o.truth | sort | diff - o.ours
	}
	check "OpenCL: a flame graph of memory shows what each function allocated" lines
	again() {
		"$aiflame" export --format chrome -o o.json o.data && "$aiflame" import -o again.data o.json || return 1
		is "$(query o.data "SELECT kind, count(*) FROM memory GROUP BY 1")" again.data "SELECT kind, count(*) FROM memory GROUP BY 1" &&
			is "$(awk '/^allocations/ { next } /^released/ { r = $2 } /^peak/ { print r }' o.truth)" again.data "SELECT sum(bytes) FROM memory WHERE kind = 'release'"
	}
	check "OpenCL: a Chrome trace has allocations as [memory] events, which import reads" again
	check "OpenCL: no record is lost" is 0 o.data "SELECT count(*) FROM losses WHERE reason < 1300"
	cost() { "$app" many 20000 >many.plain && "$aiflame" record -q --all-launches -o m.data "$app" many 20000 >many.all && paste many.plain many.all; }
	check "OpenCL: a hundred thousand allocations are recorded" cost
	sed 's/^/# a buffer and its release, ns, without and with: /' check.out
	check "OpenCL: a hundred thousand allocations are all there, or counted as lost" is 1 m.data "SELECT n BETWEEN 800000 AND 801000 FROM
		(SELECT count(*) + (SELECT coalesce(sum(count), 0) FROM losses WHERE reason = 1000) AS n FROM memory)"
else
	skip "OpenCL: buffers, parts, images and shared virtual memory are recorded" "OpenCL was not there at build time"
fi

python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import torch' >/dev/null 2>&1 && python=$p && break
done
if [ -n "$python" ] && [ -x "$app" ]; then
	agent=$build/src/agent/libaiflame-agent.so
	check "PyTorch's profiler sees the same with the agent" sh -c "'$python' '$here/memory_torch.py' t.plain && LD_PRELOAD='$agent' '$python' '$here/memory_torch.py' t.loaded &&
		[ \$(wc -l <t.plain) -ge 100 ] && sort -n t.plain >a && sort -n t.loaded | diff a -"
	check "PyTorch is recorded" "$aiflame" record -q --all-launches -o t.data "$python" "$here/memory_torch.py" t.truth
	same() { query t.data "SELECT CASE kind WHEN 'release' THEN -bytes ELSE bytes END FROM memory WHERE allocated IS NOT NULL" | sort -n >ours && sort -n t.truth | diff - ours; }
	check "PyTorch: each block is as its profiler has it" same
	holds() { "$aiflame" report --memory --format csv --limit 0 t.data >t.csv; cat t.csv; [ "$(awk -F , '/hold_activations/ { n += $1 } END { print n }' t.csv)" = 3145728 ]; }
	check "PyTorch: each block has the line of Python that holds it" holds
	sums() { "$aiflame" export --format chrome -o t.json t.data && "$aiflame" import -o back.data t.json && cmp_sums; }
	cmp_sums() { is "$(query t.data "SELECT count(*), sum(bytes), sum(allocated) FROM memory WHERE allocated IS NOT NULL")" back.data "SELECT count(*), sum(bytes), sum(allocated) FROM memory WHERE allocated IS NOT NULL"; }
	check "PyTorch: a Chrome trace has the allocator's sums" sums
	check "PyTorch: an allocation has its operator" grep -qE 'aten::empty[a-z_]*,"?hold_activations' t.csv
else
	skip "PyTorch's profiler sees the same with the agent" "no python3 with torch: install python3-torch (300 MB)"
fi

if [ -x "$build/tests/mock/level_zero/ze_app" ]; then
	zero() {
		printf 'no code' >mm.bin
		env ZE_ENABLE_ALT_DRIVERS="$build/tests/mock/level_zero/libze_mock.so" "$aiflame" record -q --all-launches -o z.data \
			"$build/tests/mock/level_zero/ze_app" mm.bin mm,add a copies memory
	}
	check "Level Zero: allocations are recorded, on the simulated driver" zero
	check "Level Zero: memory of the device, of the host and shared is told apart" is "allocate,1,4
allocate,0,1
release,1,4
release,0,1" z.data "SELECT kind, device IS NOT NULL, count(*) FROM memory GROUP BY 1, 2 ORDER BY 1, 2 DESC"
	check "Level Zero: an allocation has its size" is "8192,16384" z.data "SELECT sum(bytes * (device IS NULL)), max(bytes) FROM memory"
else
	skip "Level Zero: allocations are recorded, on the simulated driver" "the tests were built without Level Zero's headers"
fi
done_testing
