#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command helps, has a manual page that agrees with it, and answers misuse in one line.
. "$(dirname "$0")/tap.sh"

commands=$("$aiflame" help | sed -n '/^commands:/,$p' | sed -n 's/^  \([a-z]*\)  *[a-zA-Z].*/\1/p')
check "there are commands" test -n "$commands"
for c in $commands; do
	check "$c -h works" says "usage: aiflame $c" "$aiflame" "$c" -h
	check "$c has a manual page" test -s "$root/docs/man/aiflame-$c.md"
	"$aiflame" "$c" -h | sed 's/^/    /; s/ *$//' >help.txt
	check "which agrees with -h" sh -c "tail -n +5 '$root/docs/man/aiflame-$c.md' | diff - help.txt"
	check "which becomes a page for man" grep -q "^.SH SYNOPSIS" "$build/docs/man/aiflame-$c.1"
	check "$c refuses unknown options with 2" status_is 2 "$aiflame" "$c" --no-such-option
done
check "an unknown command gets a proposal" says "did you mean 'record'" "$aiflame" recrod
check "no command is an error with help" status_is 2 "$aiflame"
check "--version names the features" says "opencl" "$aiflame" --version
check "a missing profile is one clear line" sh -c "
	[ \$('$aiflame' info nowhere.data 2>&1 | wc -l) = 1 ] && ! '$aiflame' info nowhere.data 2>/dev/null"
echo "this is no profile" >text.data
check "another file too" sh -c "[ \$('$aiflame' info text.data 2>&1 | wc -l) = 1 ]"

"$aiflame" record -q -o m.data "$matmul" 64 1 >/dev/null
check "report --format json is JSON" sh -c "'$aiflame' report --launches --format json m.data | python3 -m json.tool"
check "an unknown column is named, with the known ones" says "use one of" "$aiflame" report --kernels --sort x m.data
check "query answers" says "multiply_basic" "$aiflame" query m.data "SELECT * FROM kernel_times"
check "query only reads" sh -c "! '$aiflame' query m.data 'DELETE FROM meta'"
check "query opens no other file" sh -c "! '$aiflame' query m.data \"ATTACH 'x' AS x\" && [ ! -e x ]"
check "launches and executions agree" sh -c "
	[ \"\$('$aiflame' query --format csv m.data 'SELECT count(*) FROM launches l JOIN executions e USING (launch)
	WHERE l.time_ns <= e.start_ns' | tail -1)\" = 6 ]"
check "export writes plain tables" sh -c "
	'$aiflame' export -i m.data -o x.sqlite && sqlite3 x.sqlite 'SELECT name FROM kernel_times' | grep -q multiply_basic"
check "export -o - writes to standard output" sh -c "
	'$aiflame' export -i m.data -o - >y.sqlite && [ ! -e ./- ] && cmp x.sqlite y.sqlite"
check "and says when that is closed" sh -c "! '$aiflame' export -i m.data -o - >&- 2>e.txt && grep -q 'standard output' e.txt"
check "flame -o - too" sh -c "'$aiflame' flame -i m.data -o - | grep -q '</svg>' && [ ! -e ./- ]"
check "query without SQL says so" says "is no SQL; try aiflame query m.data 'SELECT" "$aiflame" query m.data
check "and is misuse" status_is 2 "$aiflame" query m.data
check "two files are misuse" status_is 2 "$aiflame" query -i m.data m.data "SELECT 1"
# 500 MB of text must pass by.
check "query holds no result in memory" sh -c "ulimit -v 200000
	[ \$('$aiflame' query --format csv m.data \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
		SELECT i, printf('%.10000c', 'x') || i AS x FROM n\" | wc -c) -gt 500000000 ]"
for o in "--format json" "--sort time" "--limit 40"; do
	check "report $o without a table is refused" status_is 2 "$aiflame" report $o m.data
done
check "report --stacks goes back to main" sh -c "'$aiflame' report --stacks m.data | grep multiply_basic | grep -q ' < main'"
head -c 3000 m.data >cut.data
check "a truncated profile is an error, not a crash" status_is 1 "$aiflame" info cut.data
cp m.data hostile.data
sqlite3 hostile.data "CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON v_t BEGIN SELECT 1; END" 2>/dev/null
check "a stored view is never run" sh -c "
	'$aiflame' query hostile.data 'SELECT * FROM v' 2>&1 | grep -q 'no such table' || '$aiflame' info hostile.data 2>&1 | grep -qi 'aiflame'"
done_testing
