#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each importer, each kind of fault: it is said, or the file is read as it is meant, or refused, or the format cannot have it.
. "$(dirname "$0")/tap.sh"

python3 "$root/tests/e2e/import_table.py" "$work" >cases.txt || { echo "not ok 1 - inputs are made"; exit 1; }
tab=$(printf '\t')

# Without perf, which would read perf.data by itself.
imports() { rm -f got.data && PATH=/nowhere "$aiflame" import -q -o got.data "$1"; }
losses() { "$aiflame" info got.data | sed '1,/^losses/d'; }
said() { imports "$1" && losses | grep -E "^  [0-9]+ $2 +$3 "; }
# Names of programs that are not here, and that a format has no times, are no fault of the file.
kept() {
	imports "$1" && ! losses | grep -vE '^  none$|IMPORT_UNTIMED|IMPORT_FILES|^  incomplete: names$' || return
	# shellcheck disable=SC2086 # words are options
	"$aiflame" $2 got.data >shown.txt && grep -F -- "$3" shown.txt
}
refused() { ! imports "$1" 2>why.txt && grep -F -- "$2" why.txt; }

while IFS=$tab read -r importer what file of value fault; do
	case $what in
	said) check "$importer: $fault is said" said "$file" "$of" "$value" ;;
	kept) check "$importer: $fault: the file is read as it is meant" kept "$file" "$of" "$value" ;;
	# Its fields are one less.
	refused) check "$importer: $value is refused" refused "$file" "$of" ;;
	esac
done <cases.txt

every() {
	sed -n 's/^AIF_IMPORTER(\([a-z_]*\),.*/\1/p' "$root/src/import/importers.def" | while read -r importer; do
		[ "$(grep -c "^$importer$tab" cases.txt)" -ge 2 ] || { echo "not in the table: $importer"; exit 1; }
	done
}
check "each importer is in the table" every
written() { python3 "$root/tests/e2e/import_table.py" >table.md && diff "$root/bench/results/import-faults.md" table.md; }
check "bench/results/import-faults.md is what import_table.py writes" written
done_testing
