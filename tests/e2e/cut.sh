#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Answers from a recording that was cut short, as by a full disk or kill -9, say so themselves: who reads them has not seen stderr.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_program
# cut_short FILE: makes it a profile whose recorder did not finish it
cut_short() { python3 -c "
import sqlite3
d = sqlite3.connect('$1')
d.execute('UPDATE recording SET complete = 0')
d.commit()"; }

"$aiflame" record -q --cpu -o c.data "$app" 0.5 >/dev/null && cut_short c.data
"$aiflame" record -q --cpu --wall -o w.data "$app" 0.5 >/dev/null && cut_short w.data
for file in c w; do
	what=$([ $file = c ] && echo "CPU samples" || echo "samples by the wall clock")
	check "why of $what that were cut short says so on stdout" sh -c "'$aiflame' why $file.data 2>/dev/null | grep -q '^unknown  what came later: the recording was cut short'"
	check "why's JSON of $what that were cut short says so" sh -c "'$aiflame' why --format json $file.data 2>/dev/null | python3 -c '
import json, sys
assert any(\"cut short\" in a[\"why\"] for a in json.load(sys.stdin)[\"abstained\"])'"
done
check "the summary of a recording that was cut short says so on stdout" sh -c "'$aiflame' report c.data 2>/dev/null | grep -q '^ran .*, cut short: what came later is missing'"
"$aiflame" view -o c.html c.data 2>/dev/null
check "the page of a recording that was cut short says so in its title" python3 -c '
import base64, gzip, re
packed = re.findall("[A-Za-z0-9+/=]{400,}", open("c.html").read())
data = [gzip.decompress(d) for d in map(base64.b64decode, packed) if d[:2] == b"\x1f\x8b"]
assert re.search(rb"\"title\":\"[^\"]*\(cut short\)\"", data[0]), data[0][:300]'
# Nothing of the device's was recorded, and no CPU samples were: nothing at all is known.
"$aiflame" record -q -o n.data true && cut_short n.data
check "why that knows nothing of a recording that was cut short says that it was" sh -c "'$aiflame' why n.data 2>/dev/null | grep -q '^unknown  what came later: the recording was cut short'"
done_testing
