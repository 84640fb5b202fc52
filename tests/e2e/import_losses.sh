#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What each importer drops, cuts, guesses or joins, it counts: a table of inputs, the reason of each, and how many. info says it,
# the report, and the page.
. "$(dirname "$0")/tap.sh"

python3 "$root/tests/e2e/import_losses.py" "$work" >cases.txt || { echo "not ok 1 - inputs are made"; exit 1; }

# counted FILES REASON COUNT: info of the import has the reason so often, and the report says that something is not whole
counted() {
	# shellcheck disable=SC2086 # words are files
	PATH=/nowhere "$aiflame" import -q -o got.data $1 || return 1 # without perf, which would read what has its own stacks
	"$aiflame" info got.data >info.txt || return 1
	if [ "$2" = none ]; then
		sed -n '/^losses/,$p' info.txt | sed -n 2p | grep -qx '  none' || { cat info.txt; return 1; }
		"$aiflame" view -o got.html got.data && [ -z "$(python3 "$root/tests/e2e/page_losses.py" got.html)" ]
		return
	fi
	grep -qE "^  [0-9]+ $2 +$3 " info.txt || { sed -n '/^losses/,$p' info.txt; return 1; }
	"$aiflame" report got.data | grep -q '^trouble' || { echo 'the report does not say it'; return 1; }
	"$aiflame" view -o got.html got.data && python3 "$root/tests/e2e/page_losses.py" got.html >page.txt || return 1
	sentence=$(sed -n "s/^AIF_REASON([0-9]*, $2, [A-Z]*, \"\([^{\"]*\).*/\1/p" "$root/src/base/reasons.def")
	grep -qF -- "${sentence%"${sentence##*[! ]}"}" page.txt || { echo "the page does not say it:"; cat page.txt; return 1; }
}

while read -r importer reason count files; do
	check "$importer: $reason is counted" counted "$files" "$reason" "$count"
done <cases.txt

streams() { "$aiflame" import -q -o got.data "$1" && "$aiflame" info got.data | grep -q ': stream 7: k'; }
check "tool_db: a stream has the number that the tool gave it" streams "$(sed -n 's/^tool_db IMPORT_NO_TIME 1 //p' cases.txt)"

# Nobody forgets one: a new importer, and a new reason of imports, need a line in the table.
every() {
	sed -n 's/^AIF_IMPORTER(\([a-z_]*\),.*/\1/p' "$root/src/import/importers.def" | while read -r importer; do
		grep -q "^$importer [A-Z]" cases.txt || { echo "no loss of $importer"; exit 1; }
	done || return
	sed -n 's/^AIF_REASON([0-9]*, \(IMPORT_[A-Z_]*\),.*/\1/p' "$root/src/base/reasons.def" | while read -r reason; do
		grep -q "^[a-z_]* $reason " cases.txt || { echo "no input with $reason"; exit 1; }
	done
}
check "each importer and each reason of imports is in the table" every
done_testing
