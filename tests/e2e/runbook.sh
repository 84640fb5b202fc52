#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame runbook: the loop of docs/runbook.md on a program whose tokens and functions are known.
. "$(dirname "$0")/tap.sh"
printf '#!/bin/sh\nexec "%s" "$1" $(cat copies)\n' "$build/tests/e2e/runbook_app" >generate
chmod +x generate
echo 0 >copies
# A busy machine is no failure of the program's.
export CK_V7_PERF_MIN_DECODE_TOK_S=0.001
PATH=$(dirname "$aiflame"):$PATH
sed -n '/^## The loop/,/^## Modes/s/^    //p' "$root/docs/runbook.md" | sed 's/^# change one thing.*/echo 500 >copies/' >loop.sh
check "the loop of docs/runbook.md runs" metered sh -e loop.sh
check "fields of run files are as docs/runbook.md defines them" python3 - <<'PY'
import csv, hashlib, json, os
def load(name): return json.load(open('before/' + name))
p = load('profile_summary.json')
assert set(p) == {'total_us', 'total_ms', 'by_op', 'by_layer', 'by_mode', 'entries', 'aiflame'}, p.keys()
keys = ['mode', 'kernel', 'op', 'layer', 'time_us', 'token_id']
for e in p['entries']:
    assert list(e) == keys and all(isinstance(v, str) for v in e.values()), e
assert {int(e['token_id']) for e in p['entries']} == set(range(30))
near = lambda a, b: abs(a - b) <= 0.1 * len(p['entries']) + 1e-4 * abs(b)
total = lambda f: sum(float(e['time_us']) for e in p['entries'] if f(e))
assert near(p['total_us'], total(lambda e: True)) and near(p['total_ms'] * 1e3, p['total_us'])
for op, us in p['by_op'].items(): assert near(us, total(lambda e: e['op'] == op)), op
first = p['aiflame']['first_token']
assert near(first['total_us'], total(lambda e: e['token_id'] == '0')) and first['total_us'] < 0.5 * p['total_us']
paths = p['aiflame']['paths']['decode']
assert near(sum(x['time_us'] for x in paths), total(lambda e: e['op'] != 'none'))
layers = lambda f: {e['layer'] for e in p['entries'] if f(e)}
assert layers(lambda e: e['kernel'] == 'gemm') >= {'0', '1'} and layers(lambda e: True) <= {'-1', '0', '1'}
assert total(lambda e: e['layer'] != '-1') > 0.5 * total(lambda e: e['op'] == 'gemm')
assert set(p['by_layer']) == layers(lambda e: True) - {'-1'}
for n, ops in p['by_layer'].items(): assert near(sum(ops.values()), total(lambda e: e['layer'] == n)), n
for n, ops in first['by_layer'].items(): assert near(sum(ops.values()), total(lambda e: e['token_id'] == '0' and e['layer'] == n)), n
d = p['by_mode']['decode']
assert near(d['total_us'], total(lambda e: True)) and near(sum(d['by_op'].values()), d['total_us'])
for op, us in d['by_op'].items(): assert near(us, total(lambda e: e['op'] == op)), op
rows = list(csv.DictReader(open('before/profile_decode.csv')))
assert rows == p['entries']
j = load('profile_decode.json')
assert j['total_entries'] == len(rows) == len(j['entries']) and j['token_id'] == 29
assert all(isinstance(e['layer'], int) and isinstance(e['time_us'], float) for e in j['entries'])
m = load('flamegraph_manifest.json')
assert m['mode'] == 'decode' and m['available_modes'] == ['decode'] and list(m['by_mode']) == ['decode']
assert all(os.path.isabs(m[k]) and os.path.getsize(m[k]) for k in ('svg_path', 'perf_data_path', 'folded_path'))
assert m['top_symbols'][0]['symbol'] == 'gemm' and m['top_symbols'][0]['samples'] > 0
v = load('vtune_summary.json')
assert v['hotspots'] == v['top_hotspots'] == v['analyses'][0]['hotspots'] and v['hotspots'][0]['symbol'] == 'gemm'
assert v['analysis'] == 'hotspots' and v['analyses'][0]['summary_metrics'] == {} == v['analysis_metrics']['hotspots']
assert 90 < sum(h["percent"] for h in v["hotspots"]) < 101 # they are the first ones
a = load('advisor_summary.json')
assert a['analysis'] == 'roofline' and a['project_dir'] == a['project_path'] and a['summary_metrics']['elapsed_time_s'] > 0
g = load('perf_gate_report.json')
assert set(g) == {'generated_at', 'model_dir', 'family', 'budgets', 'sources', 'metrics', 'checks', 'passed', 'aiflame'}
t = g['metrics']['decode_diagnostics']
assert t['decode_tokens'] == 30 and abs(t['decode_tokens'] * 1e6 / t['decode_total_us'] - g['metrics']['decode_tok_s']) < 0.1
assert [c['metric'] for c in g['checks']] == ['decode_tok_s', 'ipc', 'cache_miss_rate', 'branch_miss_rate']
assert g['aiflame']['verdict'] == ('pass' if g['metrics']['ipc'] else 'cannot tell') and {s['signal'] for s in g['aiflame']['signals']} <= {'major faults'}, g['aiflame']
i = load('run_index.json')
assert i['schema'] == 'ck.run.index.v1' and len(i['files']) == 22
for f in i['files'].values(): assert f['exists'] == os.path.exists(f['path']), f
l = json.loads(open('before/ledger.jsonl').readline())
assert len(l['id']) == 16 and l['grown'] is None
after = json.loads(open('after/ledger.jsonl').readline())
assert after['baseline'] == 'before' and after['id'] != l['id']
grown = after['grown']
assert 'shuffle_weights' in grown[0]['stack'] and all(g['after'] - g['before'] >= 0.00999 for g in grown), grown
for name, f in l['artifacts'].items(): assert hashlib.sha256(open(f['path'], 'rb').read()).hexdigest() == f['sha256'], name
PY
check "no run file has a field more or less than its definition" python3 "$root/tests/e2e/runbook_fields.py" before
check "time outside the expected is a signal, its function the evidence" says "shuffle_weights" "$aiflame" runbook check -d after
check "time outside the expected: the report has the signal" python3 -c "
import json
s = {x['signal']: x for x in json.load(open('after/perf_gate_report.json'))['aiflame']['signals']}['outside the expected']
assert s['value'] > s['threshold'] == 0.25 and s['evidence'].startswith('shuffle_weights') and s['action'], s"
check "time outside the expected: run files have the fields of their definition" python3 "$root/tests/e2e/runbook_fields.py" after
check "a run where all is expected has no signal" sh -c "'$aiflame' runbook check -d before >said; grep -q decode_tok_s said && ! grep outside said"
check "a program that is over before it is sampled is told so" says "give it work for a second" "$aiflame" runbook run -d short -r 1 -- true
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$aiflame"; then
	chmod 755 . && mkdir -m 777 user
	check "an ordinary user runs, checks, compares, keeps a ledger and renders" setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$PWD/user" XDG_STATE_HOME="$PWD/user" \
		sh -ec '"$1" runbook run -d user/a -r 1 --mode decode -- ./generate 30 && "$1" runbook check user/a --cannot-tell pass &&
			"$1" runbook compare before user/a && "$1" runbook ledger user/a --baseline before && "$1" runbook render user/a' sh "$aiflame"
	check "an ordinary user's run files are all there, as defined, and the user's own" sh -c "python3 '$root/tests/e2e/runbook_fields.py' user/a && [ -s user/a/hub.html ] && [ -z \"\$(find user/a ! -uid 65534)\" ]"
else
	skip "an ordinary user runs, checks, compares, keeps a ledger and renders" "not root, or the build is closed to other users"
fi
beside() { # what two threads that mark nothing compute in the ranges of a third is twice what that computes
	"$aiflame" runbook run -d beside -r 1 --mode decode -- "$build/tests/e2e/runbook_app" 20 0 2 && python3 -c "
import json
seconds = {h['symbol']: h['value'] for h in json.load(open('beside/vtune_summary.json'))['hotspots']}
both, own = seconds['multiply_beside'], seconds['gemm']
assert 1.6 < both / own < 2.5, seconds
used = float('$("$aiflame" query --format csv beside/decode.data 'SELECT sum(weight_ns) / 1e9 FROM cpu_samples' | tail -n 1)')
assert both + own > 0.75 * used, (seconds, used)" && grep -q multiply_beside beside/decode.folded
}
check "the work of threads that mark no ranges is in the mode of the one that does" beside
within() { # half of the time is in a function that attention calls: by its name alone it would be outside
	"$aiflame" runbook run -d within -r 1 --mode decode -- "$build/tests/e2e/runbook_app" 20 0 0 600 && python3 -c "
import json
p = json.load(open('within/profile_summary.json'))
all = sum(x['time_us'] for x in p['aiflame']['paths']['decode'])
it = [x for x in p['aiflame']['paths']['decode'] if x['kernel'] == 'exponential']
us = lambda rows: sum(x['time_us'] for x in rows)
assert us(it) > 0.3 * all and {x['op'] for x in it} == {'glue'}, p['aiflame']['paths']
assert us(x for x in it if x['within'] == ['attention']) > 0.9 * us(it), it" &&
		"$aiflame" runbook check within --cannot-tell pass >said && ! grep outside said &&
		"$aiflame" runbook check within --cannot-tell pass --expect gemm >said && grep -A1 'outside the expected' said | grep exponential
}
check "functions that attention calls are not outside the expected" within
fails() { # leaves the ledger alone of what the run before wrote
	cp -r before again && touch again/decode.html && status_is 1 "$aiflame" runbook run -d again -r 1 -- false &&
		[ "$(ls again)" = "$(printf '%s\n' decode.data ledger.jsonl)" ] || { ls again; return 1; }
}
check "a run that fails leaves no files of the run before" fails
check "a command that cannot be started is named, and leaves no directory" sh -c "! '$aiflame' runbook run -d none -- ./nothing 2>said.err && grep -q 'cannot start ./nothing' said.err && [ ! -e none ]"
check "a run is compared with another" says "outside the expected" "$aiflame" runbook compare before after
pinned() { # once more, but on one CPU
	cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
	"$aiflame" runbook run -d pinned -r 1 --mode decode --threads 1 --cpus "$cpu" --cpu-clock $clock -- ./generate 30 && grep -q "\"cpus\": \"$cpu\"" pinned/config.json &&
		grep -q '"threads": "1"' pinned/config.json && grep -q '"command": "./generate 30"' pinned/config.json
}
clock=perf
"$aiflame" record -q --cpu-clock tick -o tick.data true 2>/dev/null && clock=tick
check "threads and CPUs are pinned, and remembered" pinned
check "runbook run records by the clock of --cpu-clock" sh -c "'$aiflame' query --format csv pinned/decode.data \"SELECT value FROM meta WHERE key = 'cpu_clock'\" | tr -d '\"' | grep -qx $clock"
on_calm "two runs are compared by time, with or without tokens" sh -c "'$aiflame' runbook compare before after | grep -E '^elapsed_seconds  *[0-9.]+ -> *[0-9.]+  [+][0-9.]+ %' && '$aiflame' runbook compare before after | grep '^task_clock_ms '"
check "runs of two configurations are not compared" sh -c "'$aiflame' runbook compare after pinned >compared; [ \$? -eq 4 ]"
check "compare says in what two configurations differ" grep "^cannot tell  other configurations: threads '', then '1'" compared
# gates A B TEXT: they are not judged, for that reason
gates() { "$aiflame" gate "$1/decode.data" "$2/decode.data" >gated; [ $? = 4 ] && grep -q "$3" gated || { cat gated; return 1; }; }
check "gate of two profiles says in what their configurations differ" gates after pinned "configurations of after and pinned differ: threads '', then '1'"
check "gate of two directories says that their configurations differ" sh -c "'$aiflame' gate after pinned | grep 'configurations of after and pinned differ'"
machine() { # on another CPU by name, which --any-machine lets pass; what is no configuration of ours says nothing
	cp -r after model && sed -i 's/"hash": "./"hash": "z/; s/"cpu": "/&another /' model/config.json && gates after model "differ: cpu '" &&
		! "$aiflame" gate --any-machine after model | grep configurations && "$aiflame" gate --any-machine after pinned | grep "differ: threads" &&
		sed -i 's/aiflame.config.v1/a model/' model/config.json && ! "$aiflame" gate after model | grep configurations
}
check "--any-machine compares runs of different machines" machine
slowed() { "$aiflame" runbook compare before after | grep 'throughput drop' && cp -r after other && sed -i 's/"hash": "./"hash": "z/' other/config.json && ! "$aiflame" runbook compare before other | grep 'throughput drop'; }
on_calm "no rule of change fires between different configurations" slowed
check "--cpus with a range that ends before it begins is misuse" status_is 2 "$aiflame" runbook run -d bad --cpus 3-1 -- true
check "the ledger has the configuration's hash" python3 -c "
import json
hash = json.load(open('before/config.json'))['hash']
assert len(hash) == 16 and json.loads(open('before/ledger.jsonl').readline())['config_hash'] == hash
assert json.load(open('after/config.json'))['hash'] == hash"
# what a project runs, and how, in a file
mkdir plan && cp generate copies plan
cat >plan/runbook.json <<'END'
{"schema": "aiflame.runbook.v1", "family": "qwen3", "runs": 2, "warmup": 1, "expect": ["gemm", "copy"],
 "pin": {"threads": 1, "thread_env": ["MY_THREADS"], "env": {"WITH": "a b"}},
 "modes": {"decode": {"cli": ["./logged", "30"], "python": ["python3", "none.py"]}, "prefill": {"cli": ["./logged", "30"]},
           "train": {"cli": ["./logged", "9"]}},
 "metrics": {"loss": "{}/train.json:.loss"}, "require": ["test -s {}/run_index.json || test -s run/run_index.json", "{}/train.json:.pass=true"]}
END
printf '#!/bin/sh\necho "$MY_THREADS $OMP_NUM_THREADS $WITH" >>said\nexec ./generate "$@"\n' >plan/logged
chmod +x plan/logged
planned() { # by the file alone; what is said beside it replaces it
	(cd plan && "$aiflame" runbook run -d run -m decode -m prefill && [ "$(sort said | uniq -c | tr -s ' ')" = " 4 1 1 a b" ] &&
		grep -q '"env": "WITH=a b"' run/config.json && grep -q '"command": "./logged 30"' run/config.json &&
		python3 -c 'import json; assert json.load(open("run/profile_summary.json"))["aiflame"]["tokens"] == {"decode": 30, "prefill": 1}
r = json.load(open("run/perf_stat_summary.json"))["aiflame"]["cpus_utilized"]; assert r["n"] == 2, r')
}
check "runbook.json gives commands, modes, pins, runs and a warm-up" planned
status_in() { (cd plan && status_is "$@"); }
check "runbook.json: what it requires is looked at before anything is judged" status_in 5 "$aiflame" runbook check run --cannot-tell pass
echo '{"pass": true, "loss": 2.25}' >plan/run/train.json
check "runbook.json: its family has the budgets" sh -c "cd plan && '$aiflame' runbook check run --cannot-tell pass && grep -q '\"family\": \"qwen3\"' run/perf_gate_report.json"
check "runbook.json: its metrics are in the ledger" sh -c "cd plan && '$aiflame' runbook ledger run && grep -q '\"loss\": 2.25[,}]' run/ledger.jsonl"
check "runbook.json: its metrics are compared" sh -c "cd plan && '$aiflame' runbook compare run run | grep -q '^loss  *2.25 -> *2.25'"
check "runbook.json: modes with two commands are not one run" sh -c "cd plan && ! '$aiflame' runbook run -d all 2>said.err && grep -q 'modes decode and train have two commands' said.err"
check "runbook.json: a mode without a command for the runtime is refused" sh -c "cd plan && ! V7_PERF_RUNTIME=python '$aiflame' runbook run -d all -m prefill 2>said.err && grep -q 'no python command of mode prefill' said.err"
for bad in '{"schema": "aiflame.runbook.v2"}' '{"schema": "aiflame.runbook.v1", "thread": 1}' '{"schema": "aiflame.runbook.v1", "runs": -1}' '{"family": "qwen3"' '[]' '{"schema": "aiflame.runbook.v1", "metrics": {"loss": "{}/train.json"}}'; do
	check "runbook.json: a wrong one is refused, with its place: $bad" sh -c "printf '%s' '$bad' >bad.json && ! '$aiflame' runbook check before --plan bad.json 2>said.err && grep -q 'bad.json: at byte' said.err"
done
check "the page of a run needs no other file" sh -c "grep -q 'iframe sandbox' after/hub.html && ! grep -Eq '(src|href)=.?https?:' after/hub.html"
hub() { # the tables of its files, and why one is not there
	for text in '<h2>Functions' '<td>shuffle_weights<td' 'Instructions of the samples' 'scalar floating point' 'n/a: not measured: run with --deep' \
		"n/a: VTune's memory-access was not run" '<h2>Ledger' '<td>one change<td>before<td>' ; do
		grep -qF "$text" after/hub.html || { echo "no $text"; return 1; }
	done
}
check "the page of a run has functions, instructions, roofs and the ledger, or why not" hub
pages() { # no page asks for anything but the others beside it
	[ -s after/decode.html ] && grep -q '<a href="decode.html">' after/hub.html && ! ls after/*.html | xargs grep -lE '(src|href)="?(https?:|//)' &&
		cp -r after moved && begin=$(date +%s%N) && "$aiflame" runbook render moved && echo "rendered in $((($(date +%s%N) - begin) / 1000000)) ms"
}
check "the page of a run links to that of the recording, both offline" pages
check "check judges nothing where --require fails" status_is 5 "$aiflame" runbook check -d before --require false
check "check --v7-exit ends with 1 where --require fails" status_is 1 "$aiflame" runbook check -d before --require false --v7-exit
check "a failed --require leaves no earlier verdict" sh -c "! ls before/perf_gate_report.json"
check "a failed --require leaves no earlier verdict in the index" sh -c "grep -q 'perf_gate_report.json.*\"exists\": false' before/run_index.json"
echo '{"pass_parity": true, "loss": [{"v": 2.50}], "by": "gr\u00fcn=1", "text": "2.50", "nul": "true\u0000", "big": 1e400}' >before/train.json
for ok in '.pass_parity=true' 'pass_parity=true' '.loss[0].v=2.5' '.by=grün=1' '.text=2.50'; do
	check "--require holds for a value as required: $ok" status_is 0 "$aiflame" gate --dir before --cannot-tell pass --require "{}/train.json:$ok"
done
for bad in '.pass_parity=false' '.loss[0].v=2.51' '.loss=2.5' '.none=true' '.pass_parity=1' '.text=2.5' '.nul=true' '.big=1e999'; do
	check "--require fails for a value that is not as required: $bad" status_is 5 "$aiflame" gate --dir before --cannot-tell pass --require "{}/train.json:$bad"
done
check "a failed --require says what the value is" says "it is true in before/train.json: nothing is judged" "$aiflame" gate --dir before --require "{}/train.json:.pass_parity=false"
check "--require of a file that is not there fails" status_is 5 "$aiflame" runbook check -d before --require none.json:.x=1
check "--require of a command that names a JSON file runs the command" status_is 0 "$aiflame" runbook check -d before --cannot-tell pass --require 'test -s before/train.json:.x=1 || true'
pmu=$(grep -c '"ipc":' before/perf_stat_summary.json)
[ "$pmu" != 0 ] || check "counters that are missing are neither passed nor failed" status_is 4 "$aiflame" runbook check -d before
check "a budget that is exceeded fails the check" env CK_V7_PERF_MIN_DECODE_TOK_S=1e9 sh -c "'$aiflame' runbook check -d before; [ \$? -eq 3 ]"
check "check --v7-exit ends with 1 where a budget is exceeded" env CK_V7_PERF_MIN_DECODE_TOK_S=1e9 sh -c "'$aiflame' runbook check -d before --v7-exit; [ \$? -eq 1 ]"
check "gate --dir judges as check does" env CK_V7_PERF_MIN_DECODE_TOK_S=1e9 sh -c "'$aiflame' gate --dir before; [ \$? -eq 3 ] && '$aiflame' gate --dir before --v7-exit; [ \$? -eq 1 ]"
check "gate --dir --family judges by that family's budgets" says '"family": "qwen3"' sh -c "'$aiflame' gate --dir before --family qwen3 --cannot-tell pass && cat before/perf_gate_report.json"
check "gate --dir without run files is missing input" status_is 2 "$aiflame" gate --dir . --v7-exit
check "gate --dir with two sides is misuse" status_is 2 "$aiflame" gate --dir before a b
check "gate --dir with a budget that would not be read is misuse" status_is 2 "$aiflame" gate --dir before --budget 'time +3%'
check "check of a directory without run files is missing input" status_is 2 "$aiflame" runbook check -d . --v7-exit
echo '{"entries": [{"mode": 3' >profile_summary.json
cp before/perf_stat_summary.json .
check "check says at which byte a file is damaged" says "at byte" "$aiflame" runbook check -d .
check "a run of Python names the mode that the program does not mark" says "no range of the program is called prefill" "$aiflame" runbook run -d py -r 1 --mode decode --mode prefill -- "$(python3 -c 'import sys; print(sys.executable)')" -c '
def gemm(n):
    return sum(i * i for i in range(n))
gemm(6000000)'
check "a run without marked tokens has none, and says so" python3 -c "
import json
p = json.load(open('py/profile_summary.json'))
assert p['aiflame']['tokens'] == {'decode': None, 'prefill': None}
assert {e['token_id'] for e in p['entries']} == {''} and p['aiflame']['first_token']['total_ms'] == 0
assert abs(p['total_us'] - sum(float(e['time_us']) for e in p['entries'])) < 0.1 * len(p['entries']) + 0.1
# Time is that of the Python function, not of what the interpreter runs for it.
d = p['by_mode']['decode']
assert d['by_op'].get('gemm', 0) > 0.5 * d['total_us'], d"
check "rules for make follow runbook.json where there is one" sh -c "cd plan && '$aiflame' runbook make >r.mk && make -n -f r.mk profile-v7-decode | grep -x 'aiflame runbook run --dir runbook --mode decode *' && make -n -f r.mk profile-v7-vtune profile-v7-advisor && cd .. && make -n -f plan/r.mk profile-v7-decode | grep -e '--mode decode -- ./train'"
check "rules for make have v7's names" sh -c "'$aiflame' runbook make >r.mk && make -n -f r.mk v7-perf-gate | grep -q 'check --dir runbook --v7-exit'"
done_testing
