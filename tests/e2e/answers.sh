#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The JSON of each command begins as docs/answer.schema.json says, and the commands that it names run.
. "$(dirname "$0")/tap.sh"
"$build/tests/e2e/golden_profiles" full full.data "$root/tests/golden/cubin" || exit 1
cp full.data "a b.data"
# begins FILE COMMAND...: what COMMAND writes is valid by the schema, and is kept
begins() {
	file=$1
	shift
	"$@" >"$file"
	python3 - "$file" "$root/docs/answer.schema.json" <<'EOP'
import json, sys

import jsonschema
answer, schema = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.validate(answer, schema)
assert list(answer)[:6] == schema["required"], list(answer)
EOP
}
# runs FILE: each command that FILE names ends with 0
runs() {
	python3 - "$1" "$aiflame" <<'EOP'
import json, shlex, subprocess, sys

answer = json.load(open(sys.argv[1]))
commands = {c for c in answer["next"] + [e["command"] for e in answer["evidence"]] if c}
assert commands
for c in sorted(commands):
    words = shlex.split(c)
    ended = subprocess.run([sys.argv[2], *words[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 0, (c, ended.stderr)
EOP
}
# has FILE EXPRESSION: of the answer a
has() { python3 -c 'import json, sys; a = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$1" "$2"; }

check "why begins with its answer" begins why.json "$aiflame" why --format json "a b.data"
check "why's commands run, of a path with a blank" runs why.json
said() { "$aiflame" why "a b.data" >why.txt && python3 -c '
import json
a, text = json.load(open("why.json")), open("why.txt").read()
assert "bound by " + a["verdict"] + "\n" in text, a["verdict"]
assert a["try"] and all(t in text for t in a["try"]), a["try"]
rows = [e for e in a["evidence"] if e["share_ppm"] is not None]
assert rows and all(e["text"] in text for e in a["evidence"]), a["evidence"]'; }
check "why's sentences are those of its text" said
check "a part of report begins with the same members" begins idle.json "$aiflame" report --idle --format json full.data
check "report has the rows of its table" has idle.json "a['table'] == 'idle' and a['rows'] and 'idle_share' in a['rows'][0]"
for table in kernels launches ops steps queue memory cpu; do
	check "report --$table begins with the same members" begins table.json "$aiflame" report --$table --limit 3 --format json full.data
done
check "info begins with its answer" begins info.json "$aiflame" info --format json full.data
check "info has what the profile holds, and that it adds up" has info.json "a['conservation']['adds_up'] and a['conservation']['launches'] == a['conservation']['joined'] + sum(a['conservation'][k] for k in ('in_progress_at_stop', 'unread_at_end', 'never_heard_of_again', 'lost', 'left_out', 'seen_from_outside')) and a['contents']['length_ns'] > 0 and a['meta']"
check "info's losses are those of its text" sh -c "'$aiflame' info full.data >info.txt && python3 -c '
import json
a, text = json.load(open(\"info.json\")), open(\"info.txt\").read()
assert all(\"%d %s\" % (l[\"reason\"], l[\"name\"]) in text for l in a[\"losses\"])
assert bool(a[\"losses\"]) == bool(a[\"abstained\"] or a[\"evidence\"])'"
check "diff begins with its answer" begins diff.json "$aiflame" diff --format json full.data "a b.data"
check "diff's commands run" runs diff.json
check "diff says why it cannot tell" has diff.json "a['verdict'].startswith('cannot tell: ') and a['abstained']"
check "gate begins with its answer" begins gate.json "$aiflame" gate --format json --budget 'busy >= 99.9%' full.data "a b.data"
check "gate's commands run" runs gate.json
check "gate that cannot tell says so in all places" has gate.json "a['result'] == 'cannot tell' and a['verdict'].startswith('cannot tell: ') and a['abstained'] and not a['evidence']"
done_testing
