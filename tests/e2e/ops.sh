#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The operators' table is torch's and that of IBM's AIU guide: each row of key_averages(), by PyTorch's own code (Debian's python3-torch), to the
# nanosecond: of a run made here (whose trace we write, as Debian's PyTorch is built without Kineto), of made-up traces, and of real ones where AIFLAME_TRACES names a folder of them.
# The devices' time beside an independent calculation.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import torch' >/dev/null 2>&1 && python=$p && break
done
# The guide of IBM's AIU prints a table: a trace with its numbers has the same, to the blank.
python3 "$here/aiu_guide.py" guide.json
"$aiflame" import guide.json -o guide.data >/dev/null 2>&1
"$aiflame" report --ops --style aiu --sort-by aiu_time_total --row_limit 10 guide.data >guide.txt
check "report --ops of the AIU guide's trace is the guide's table" sh -c "head -n 14 guide.txt | diff '$here/aiu_guide.txt' -"
check "copies have the guide's names in SQL" test "$("$aiflame" query --format csv guide.data 'SELECT DISTINCT kind, name FROM copies ORDER BY 1' | tr '\n' ' ')" = \
	"kind,name allocate,Memset (Device) read,Memcpy (DtoH) write,Memcpy (HtoD) "
if [ -z "$python" ]; then
	n=$((n + 1))
	echo "ok $n - PyTorch # SKIP no python3 with torch: install python3-torch (300 MB)"
	done_testing
	exit
fi
torch() { "$python" "$here/ops_torch.py" "$@"; }

check "PyTorch's training run is traced" torch run run.json
check "PyTorch's trace is imported" "$aiflame" import run.json -o run.data
for by in name shape; do
	check "PyTorch's own table, by $by, is that of report --ops" torch ran "$aiflame" run.json run.data "$by"
done
for seed in 1 2; do
	torch make $seed m.json
	"$aiflame" import m.json -o m.data >/dev/null 2>&1
	for by in name shape; do
		check "trace $seed: PyTorch's table, by $by, is that of report --ops" torch compare "$aiflame" m.json m.data "$by"
	done
	check "trace $seed: device time by use, idle time by cause and by interval are PyTorch's" \
		torch breakdown "$aiflame" m.json m.data
done
torch make 3 m.json distinct
"$aiflame" import m.json -o m.data >/dev/null 2>&1
check "PyTorch's printed table is that of --style torch" torch table "$aiflame" m.json m.data
check "the plain table has PyTorch's titles" says '# of Calls' "$aiflame" report --ops m.data
check "the plain table has PyTorch's sums" says 'Self CUDA time total: ' "$aiflame" report --ops m.data
check "report --steps has a row for each step" test "$("$aiflame" report --steps --format csv --limit 0 m.data | wc -l)" -gt 10
check "report --streams has a row for each stream" test "$("$aiflame" report --streams --format csv m.data | wc -l)" = 3
check "operators are rows of the table ops in SQL" test "$("$aiflame" query --format csv m.data "SELECT count(*) > 100 FROM ops WHERE kind = 'operator'" | tail -n 1)" = 1
# A recording has no operators' times: samples and launches have. torch_hook.c launches where PyTorch's CPU operators allocate.
check "the hook for PyTorch's operators is compiled" "${CC:-cc}" -std=gnu17 -O2 -g -fPIC -shared -fvisibility=hidden -D_GNU_SOURCE= -I"$root/src" -o hook.so \
	"$here/torch_hook.c" "$root"/src/unwind/*.c "$root/src/base/auxv.c" -ldl -pthread
check "PyTorch is recorded" env LD_PRELOAD="$work/hook.so" "$aiflame" record -q --all-launches --cpu --cpu-clock perf -F 999 -o t.data \
	"$python" "$here/ops_recorded.py" run "$work/hook.so" t.json
check "calls of recorded operators are PyTorch's, their CPU time the program's own" "$python" "$here/ops_recorded.py" compare "$aiflame" t.data t.json
sed 's/^/# /' check.out
if [ -z "${AIFLAME_TRACES:-}" ]; then
	skip "PyTorch's table of real traces is that of report --ops" "AIFLAME_TRACES names no folder with traces of torch.profiler"
else
	# Those whose kernels name their operator: torch knows no other way.
	for t in "$AIFLAME_TRACES"/tracelens/*.json.gz "$AIFLAME_TRACES"/kineto_tb_samples/*.json.gz \
		"$AIFLAME_TRACES"/hta/nccl*.json.gz "$AIFLAME_TRACES"/hta/amd*.json.gz "$AIFLAME_TRACES"/hta/cupti*.json.gz; do
		[ -e "$t" ] || continue
		"$aiflame" import "$t" -o t.data >/dev/null 2>&1
		check "PyTorch's table of ${t##*/} is that of report --ops" torch compare "$aiflame" "$t" t.data name
	done
fi
done_testing
