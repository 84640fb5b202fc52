#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command helps, has a manual page that agrees with it, and answers misuse in one line.
. "$(dirname "$0")/tap.sh"

commands=$("$aiflame" help | sed -n '/^commands:/,$p' | sed -n 's/^  \([a-z]*\)  *[a-zA-Z].*/\1/p')
check "there are commands" test -n "$commands"
"$aiflame" help | tail -n +3 | sed '/^commands:/,/^$/{/^  /d}' | sed 's/^/    /; s/ *$//' >help.txt
check "aiflame(1) agrees with the help" sh -c "tail -n +5 '$root/docs/man/aiflame.md' | diff - help.txt"
check "aiflame(1) has a section COMMANDS that lists annotate" sh -c "sed -n '/^.SH COMMANDS/,/^.SH FILES/p' '$build/docs/man/aiflame.1' | grep -q '^.fBannotate'"
for c in $commands; do
	check "$c -h works" says "usage: aiflame $c" "$aiflame" "$c" -h
	check "$c has a manual page" test -s "$root/docs/man/aiflame-$c.md"
	"$aiflame" "$c" -h --all | sed 's/^/    /; s/ *$//' >help.txt
	check "the manual page of $c has the text of $c -h --all" sh -c "tail -n +5 '$root/docs/man/aiflame-$c.md' | diff - help.txt"
	summary=$("$aiflame" help | sed -n "/^commands:/,\$s/^  $c  *//p")
	check "the manual page of $c has the summary that aiflame help has" test "$(sed -n 3p "$root/docs/man/aiflame-$c.md")" = "aiflame $c - $summary"
	check "aiflame(1) lists the command $c" sh -c "sed -n '/^.SH COMMANDS/,/^.SH FILES/p' '$build/docs/man/aiflame.1' | grep -qx '^.fB$c.fR'"
	check "the manual page of $c is built for man, with a SYNOPSIS" grep -q "^.SH SYNOPSIS" "$build/docs/man/aiflame-$c.1"
	check "$c refuses unknown options with 2" status_is 2 "$aiflame" "$c" --no-such-option
done
check "record -h shows at most 40 lines of options" sh -c '[ "$("$1" record -h | sed -n "/^options:/,/^\$/p" | wc -l)" -le 41 ]' sh "$aiflame"
check "record -h has its options in groups" says "what to record:" "$aiflame" record -h
check "record -h leaves out further options" sh -c '! "$1" record -h | grep -q -e --off-cpu' sh "$aiflame"
check "record -h says how to see further options" says "has further options" "$aiflame" record -h
check "record -h --all has further options below a heading" sh -c '"$1" record -h --all | sed -n "/^further options:/,/^examples:/p" | grep -q -e --off-cpu' sh "$aiflame"
check "help record --all is record -h --all" sh -c '[ "$("$1" help record --all)" = "$("$1" record -h --all)" ]' sh "$aiflame"
for words in "flame --all -h" "flame --help --all" "flame -i x --all --help" "flame -h -i x --all" "help --all flame" "-h flame --all"; do
	check "aiflame $words is flame -h --all" test "$("$aiflame" $words 2>&1)" = "$("$aiflame" flame -h --all)"
done
check "record --all -h is record -h --all" test "$("$aiflame" record --all -h)" = "$("$aiflame" record -h --all)"
check "--all without -h is no option of flame" status_is 2 "$aiflame" flame --all
check "an --all of the command that record runs asks for no help" sh -c '! "$1" record -q -o x.data -- true -h --all | grep -q usage' sh "$aiflame"
check "help --all lists the commands" says "commands:" "$aiflame" help --all
check "help names an unknown command" says "unknown command 'recrod'; did you mean 'record'" "$aiflame" help --all recrod
check "an unknown option of a command that hides some points to the whole help" says "see aiflame flame -h --all" "$aiflame" flame --zzzzzz
check "an unknown option of a command that hides none points to its help" test "$("$aiflame" merge --zzzzzz 2>&1)" = "aiflame merge: unknown option '--zzzzzz'; see aiflame merge -h"
check "a mistyped further option gets a proposal" says "did you mean --off-cpu" "$aiflame" record --off-cpi
check "further options have a section in the manual page" grep -qx ".SS further options" "$build/docs/man/aiflame-record.1"
# Of each command, options that neither its part of options.md nor the part for several commands has.
unexplained_options() {
	for c in $commands; do
		awk -v c="$c" '/^## / { n = split(substr($0, 4), w, ", "); on = $0 == "## Several commands"
			for (i = 1; i <= n; i++) on = on || w[i] == c } on' "$root/src/cmd/options.md" >explained
		"$aiflame" "$c" -h --all | sed -n '/^options:/,/^examples:/s/^  \(-[a-zA-Z], \|    \)\(--[a-z0-9-]*\).*/\2/p' |
			while read -r o; do grep -q -e "\`$o\`" explained || echo "$c $o"; done
	done
}
check "options.md says of each option who needs it" test "$(unexplained_options)" = ""
few_are_shown() { # -h shows at most three quarters of all options
	for c in $commands; do
		"$aiflame" "$c" -h | sed -n '/^options:/,/^examples:/s/^  \(-[a-zA-Z], \|    \)--.*/shown/p'
		"$aiflame" "$c" -h --all | sed -n '/^options:/,/^examples:/s/^  \(-[a-zA-Z], \|    \)--.*/all/p'
	done | sort | uniq -c | awk '{ n[$2] = $1; print } END { exit !(n["shown"] && n["shown"] * 4 <= n["all"] * 3) }'
}
check "help shows at most three quarters of all options" few_are_shown
listed() { # options that a help on stdin lists
	sed -n '/^options:/,/^examples:/{s/^  \(-[a-zA-Z]\)\(,\| \).*/\1/p; s/^  \(-[a-zA-Z], \|    \)\(--[a-z0-9-]*\).*/\2/p}' | sort -u
}
no_hidden_words() { # no -h names an option in its text or examples that it does not list
	for c in $commands; do
		"$aiflame" "$c" -h >short.txt
		listed <short.txt >short.listed
		"$aiflame" "$c" -h --all | listed | comm -13 short.listed - >hidden.listed
		grep -oE -- '(^|[^a-z0-9-])--?[a-zA-Z][a-z0-9-]*' short.txt | sed 's/^[^-]//' | sort -u | comm -12 - hidden.listed | sed "s/^/$c: /"
	done >hidden.txt
	cat hidden.txt
	[ ! -s hidden.txt ]
}
check "no option that a command's -h names in its text or examples is hidden there" no_hidden_words
no_few_hidden() { # no -h hides fewer than three options
	for c in $commands; do
		"$aiflame" "$c" -h | listed >short.listed
		few=$("$aiflame" "$c" -h --all | listed | comm -13 short.listed - | grep -c -e --)
		[ "$few" = 0 ] || [ "$few" -gt 2 ] || echo "$c hides $few"
	done >few.txt
	cat few.txt
	[ ! -s few.txt ]
}
check "no command's -h hides one or two options only" no_few_hidden
check "an unknown command gets a proposal" says "did you mean 'record'" "$aiflame" recrod
check "an option that is written with one dash gets a proposal" says "did you mean --kernels" "$aiflame" report -kernels
check "a near miss of an option with one dash gets a proposal" says "did you mean --kernels" "$aiflame" report -krnels
check "one wrong letter gets no proposal" says "unknown option '-X'; see aiflame report -h --all" "$aiflame" report -X
check "-V is --version" sh -c '[ "$("$1" -V)" = "$("$1" --version)" ]' sh "$aiflame"

# ---- completion: the shells' words are those of the tables
cat >complete.bash <<'END'
eval "$("$1" completion bash)"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_aiflame
echo "${COMPREPLY[*]}"
END
completes() { # WORDS: words that bash completes the last one to
	bash complete.bash "$aiflame" "$@"
}
check "bash completes commands" test "$(completes aiflame rec)" = record
check "bash completes options" test "$(completes aiflame flame --inv)" = --inverted
check "bash completes the values of an option" test "$(completes aiflame flame --by "")" = "wall time samples launches energy"
check "bash completes --all behind -h" test "$(completes aiflame flame -h "")" = --all
check "bash completes --all behind help" test "$(completes aiflame help --a)" = --all
for shell in zsh fish; do
	check "completion for $shell has --all behind -h" says "the whole help" "$aiflame" completion $shell
done
check "bash completes files where an option wants one" test "$(completes aiflame flame --output "")" = ""
all_completed() { # each option in the help of each command
	for c in $commands; do
		"$aiflame" "$c" -h --all | sed -n '/^options:/,/^examples:/{s/^  \(-[a-zA-Z]\)\(,\| \).*/\1/p; s/^  \(-[a-zA-Z], \|    \)\(--[a-z0-9-]*\).*/\2/p}' | sort >wanted.txt
		completes aiflame "$c" - | tr ' ' '\n' | sort >got.txt
		comm -23 wanted.txt got.txt | sed "s/^/$c: /"
		"$aiflame" completion zsh >zsh.txt
		"$aiflame" completion fish >fish.txt
		sed -n 's/^--//p' wanted.txt | while read -r o; do
			grep -q -- "'\*--$o[=[]" zsh.txt || echo "zsh: $c --$o"
			grep -q "__fish_seen_subcommand_from $c' .*-l $o " fish.txt || echo "fish: $c --$o"
		done
	done >missing.txt
	cat missing.txt
	[ ! -s missing.txt ]
}
check "completions have each option of each command" all_completed
check "completions are for bash, zsh and fish" status_is 2 "$aiflame" completion tcsh
for shell in zsh fish; do
	command -v $shell >/dev/null && check "$shell reads its completion" sh -c "'$aiflame' completion $shell >x.$shell && $shell -n x.$shell"
done
check "no command is an error with help" status_is 2 "$aiflame"
check "--version names the features" says "opencl" "$aiflame" --version
check "all reasons are in the documentation" sh -c "'$root/scripts/make-reasons' | diff '$root/docs/reasons.md' -"
reasons=$(grep -o '^AIF_REASON([0-9]*, [A-Z0-9_]*' "$root/src/base/reasons.def" | sed 's/.*(//; s/,//')
check "docs/reasons.md and aiflame-reasons(7) have each reason's number and name" sh -c "[ \$(printf '%s\n' '$reasons' | wc -l) -gt 90 ] && printf '%s\n' '$reasons' | while read -r number name; do
	grep -qF \"| \$number | \\\`\$name\\\` | \" '$root/docs/reasons.md' && grep -qx \".fB\$number \$name.fR\" '$build/docs/man/aiflame-reasons.7' || { echo \$number \$name; exit 1; }
done"
check "help and manual tell of --version" sh -c "'$aiflame' -h | grep -q -- --version && grep -q -- --version '$root/docs/man/aiflame.md'"
check "a missing profile is one clear line" sh -c "
	[ \$('$aiflame' info nowhere.data 2>&1 | wc -l) = 1 ] && ! '$aiflame' info nowhere.data 2>/dev/null"
echo "this is no profile" >text.data
check "a file that is no profile is one clear line" sh -c "[ \$('$aiflame' info text.data 2>&1 | wc -l) = 1 ]"

"$aiflame" record -q -o m.data "$matmul" 64 1 >/dev/null
check "report --format json is JSON" sh -c "'$aiflame' report --launches --format json m.data | python3 -m json.tool"
check "an unknown column is named, with the known ones" says "use one of" "$aiflame" report --kernels --sort x m.data
check "query answers" says "multiply_basic" "$aiflame" query m.data "SELECT * FROM kernel_times"
check "query lists its tables" test "$("$aiflame" query --format csv m.data .tables | grep -cx 'launches\|kernel_times\|meta')" = 3
check "query lists columns" sh -c "'$aiflame' query --format csv m.data .schema | grep -qx launches,time_ns"
check "query lists the columns of one table" sh -c "'$aiflame' query --format csv m.data '.schema launches' >one.csv && grep -qx launches,time_ns one.csv && ! grep -v '^launches,' one.csv | grep -vx table,column"
check "query reads a quote in the name of a table as a part of it" test "$("$aiflame" query --format csv m.data ".schema x' OR '1' = '1")" = table,column
check "query lists columns of its views" sh -c "'$aiflame' query --format csv m.data .schema | grep -qx kernel_times,busy_ns"
check "sqlite_master has the tables of query with their columns" says "executions(launch, start_ns" "$aiflame" query m.data "SELECT sql FROM sqlite_master WHERE name = 'executions'"
endless="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
check "query stops a recursion without an end" says "more CPU time than --timeout allows" "$aiflame" query --timeout 100ms m.data "$endless"
check "query ends with 1 where it stopped a recursion" status_is 1 "$aiflame" query --timeout 100ms m.data "$endless"
growing="WITH RECURSIVE n(i, t) AS (SELECT 1, '' UNION SELECT i + 1, printf('%0900d', i) FROM n) SELECT count(*) FROM n"
check "query stops a recursion whose rows fill the disk" says "would become larger than --max-temp allows" timeout 60 "$aiflame" query --max-temp 20M m.data "$growing"
check "query ends with 1 where temporary files became too large" status_is 1 timeout 60 "$aiflame" query --max-temp 20M m.data "$growing"
check "query sorts within the bound of its temporary files" test "$("$aiflame" query --max-temp 200M --format csv m.data "WITH RECURSIVE n(i, t) AS (SELECT 1, '' UNION SELECT i + 1, printf('%0900d', i) FROM n LIMIT 30000) SELECT count(*) FROM (SELECT t FROM n ORDER BY t LIMIT 20000)" | tail -1 | tr -d '\r')" = 20000
check "query with a timeout answers" test "$("$aiflame" query --timeout 10m --format csv m.data "SELECT count(*) > 0 FROM kernel_times" | tail -1 | tr -d '\r')" = 1
check "query only reads" sh -c "! '$aiflame' query m.data 'DELETE FROM meta'"
for sql in "VACUUM" "VACUUM INTO 'vacuumed'" "REINDEX"; do
	check "query refuses $sql: it only reads" says "only reads" "$aiflame" query m.data "$sql"
	check "query ends with 1 for $sql" status_is 1 "$aiflame" query m.data "$sql"
done
check "a refused statement has made no file" test ! -e vacuumed
check "JSON has no infinite numbers" python3 -c "
import json, subprocess
out = subprocess.run(['$aiflame', 'query', '--format', 'json', 'm.data', \"SELECT 1e999 AS a, -1e999 AS b, 1e9 AS c, x'00ff' AS d\"],
	check=True, capture_output=True).stdout
def none(word): raise ValueError(word)
assert json.loads(out, parse_constant=none) == [{'a': None, 'b': None, 'c': 1e9, 'd': '00FF'}], out"
check "query opens no other file" sh -c "! '$aiflame' query m.data \"ATTACH 'x' AS x\" && [ ! -e x ]"
check "launches and executions agree" sh -c "
	[ \"\$('$aiflame' query --format csv m.data 'SELECT count(*) FROM launches l JOIN executions e USING (launch)
	WHERE l.time_ns <= e.start_ns' | tail -1)\" = 6 ]"
check "query tells how processes ended" test "$("$aiflame" query --format csv m.data \
	'SELECT exit_status FROM processes WHERE runtime' | tail -1)" = 0
"$aiflame" record -q -o killed.data sh -c "'$matmul' 64 1; kill -9 \$\$" >/dev/null 2>&1
check "query tells that a process was ended by a signal" test "$("$aiflame" query --format csv killed.data \
	"SELECT exit_status FROM processes WHERE exit_status > 0" | tail -1)" = 137
check "query -o FILE writes its result there" sh -c "'$aiflame' query m.data -o q.csv --format csv 'SELECT count(*) AS n FROM launches' && grep -qx n q.csv"
check "query does not write over its profile" status_is 2 "$aiflame" query m.data -o m.data 'SELECT count(*) FROM launches'
check "the profile that query -o named is still one" "$aiflame" info m.data
check "export writes plain tables" sh -c "
	'$aiflame' export -i m.data -o x.sqlite && sqlite3 x.sqlite 'SELECT name FROM kernel_times' | grep -q multiply_basic"
check "export -o - writes to standard output" sh -c "
	'$aiflame' export -i m.data -o - >y.sqlite && [ ! -e ./- ] && cmp x.sqlite y.sqlite"
check "export -o - says when standard output is closed" sh -c "! '$aiflame' export -i m.data -o - >&- 2>e.txt && grep -q 'standard output' e.txt"
check "flame -o - writes a picture to standard output" sh -c "'$aiflame' flame -i m.data -o - | grep -q '</svg>' && [ ! -e ./- ]"
check "flame --format decides what is written, whatever the file's name" sh -c "
	'$aiflame' flame -i m.data --format folded -o - | grep -q '^[^<].* [0-9]*\$' &&
	'$aiflame' flame -i m.data --format svg -o x.txt && grep -q '</svg>' x.txt"
check "flame --format decides the name of the file that is written" sh -c "'$aiflame' flame -i m.data --format folded && [ -s aiflame.folded ] && [ ! -e aiflame.svg ]"
check "text may be called .txt, too, as -h says" sh -c "
	'$aiflame' flame -i m.data -o f.txt && ! grep -q svg f.txt && grep -q ' [0-9]*\$' f.txt && '$aiflame' flame -h | grep -q '\.txt'"
check "flame refuses a name whose ending it does not know" says "use .svg, .folded or .txt" "$aiflame" flame -i m.data -o f.png
check "query without SQL says so" says "is not SQL; try aiflame query m.data 'SELECT" "$aiflame" query m.data
check "query without SQL is misuse" status_is 2 "$aiflame" query m.data
check "query with two files is misuse" status_is 2 "$aiflame" query -i m.data m.data "SELECT 1"
# 500 MB of text must pass by.
check "query holds no result in memory" sh -c "ulimit -v 200000
	[ \$('$aiflame' query --format csv m.data \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
		SELECT i, printf('%.10000c', 'x') || i AS x FROM n\" | wc -c) -gt 500000000 ]"
for o in "--format json" "--sort time" "--limit 40" "--by shape"; do
	check "report $o without a table is refused" status_is 2 "$aiflame" report $o m.data
done
check "--by is refused for a table that is not of operators" status_is 2 "$aiflame" report --kernels --by shape m.data
check "--by caller names the table that it is for" says "report: --by caller is for --idle" "$aiflame" report --ops --by caller m.data
check "--by stack names the tables that it is for" says "report: --by stack is for --ops, --idle, --memory" "$aiflame" report --kernels --by stack m.data
check "--kernel is refused for the table of idle time" says "--kernel is not for this table" "$aiflame" report --idle --kernel x m.data
check "two tables of report are misuse, not the last one" says "--kernels and --copies exclude each other" "$aiflame" report --kernels --copies m.data
check "two tables of report end with status 2" status_is 2 "$aiflame" report --kernels --copies m.data
check "one table of report given twice is one" "$aiflame" report --kernels --kernels m.data
check "report shows no process where there is one" sh -c "! '$aiflame' report --kernels m.data | grep -q process"
check "report --format csv has the column process for a single one" sh -c "'$aiflame' report --kernels --format csv m.data | grep -q ',process,kernel,operator,caller\$'"
check "report --launches tells microseconds" sh -c "'$aiflame' report --launches m.data | grep -qE '^ *[0-9]+\.[0-9]{6} s'"
"$aiflame" record -q --all-launches -o two.data sh -c "'$matmul' 64 1; '$matmul' 64 2" >/dev/null
pids=$("$aiflame" query --format csv two.data 'SELECT DISTINCT pid FROM executions e JOIN processes p ON p.id = e.process' | tail -n +2)
second=$(echo "$pids" | tail -1)
check "a recording of two processes has two pids" test "$(echo "$pids" | wc -l)" = 2
for t in --kernels --stacks --copies --launches; do
	check "report $t shows both" sh -c "'$aiflame' report $t two.data | sed -n 1p | grep -q process"
	for one in "^$second\$" "$second"; do
		check "report $t --process has one of them" sh -c "
			[ \"\$('$aiflame' report $t --limit 0 --process '$one' --format json two.data |
			python3 -c 'import json, sys; print(*{r[\"process\"] for r in json.load(sys.stdin)[\"rows\"]})')\" = $second ]"
	done
done
check "--process of digits is a pid, not a part of one" \
	says "--process '${second%?}': nothing in this profile matches" "$aiflame" report --kernels --process "${second%?}" two.data
check "--process matches no argument of a command" says "nothing in this profile matches" "$aiflame" flame --process 64 -o x.svg two.data
check "--tid of digits is a thread id, not a part of one" says "nothing in this profile matches" "$aiflame" flame --tid "${second%?}" -o x.svg two.data
check "the summary of two processes names them" says "process  " "$aiflame" report two.data
check "--kernel chooses launches" sh -c "
	'$aiflame' report --launches --kernel '^multiply_basic\$' --limit 0 --format csv two.data | tail -n +2 >k.txt &&
	[ -s k.txt ] && ! grep -v ,multiply_basic, k.txt"
check "--time chooses launches" test "$("$aiflame" report --launches --time 1000, --format csv two.data | wc -l)" = 1
check "a --device that nothing matches is named" says "--device 'nothing'" "$aiflame" report --kernels --device nothing two.data
check "--kernel without a table is refused" status_is 2 "$aiflame" report --kernel x two.data
last=$("$aiflame" query --format csv two.data 'SELECT max(start_ns) / 1000000 FROM executions' | tail -1)
shown=$(awk -v ms="$last" 'BEGIN { printf ms < 1000 ? "%d" : "%.2f s", ms < 1000 ? ms : ms / 1000 }')
check "the summary of a part says which part it is" says "shown    what ran from 0 ns to $shown" "$aiflame" report --time "0,${last}ms" two.data
check "the summary of a part without activity says which options to widen" says "no activity matching --time, --range, --process, --tid and --device; widen" "$aiflame" report --time 1000, two.data
check "a --kernel that nothing matches is named in a table" says "no device activity matching --kernel" "$aiflame" report --kernels --kernel nosuch m.data
check "a --kernel that nothing matches is no failure" "$aiflame" report --kernels --kernel nosuch m.data
for f in table csv json; do
	check "report --comm --format $f of a program that communicates nothing is no failure" "$aiflame" report --comm --format $f m.data
	check "report --stalls --format $f of a profile without stall reasons is a failure" status_is 1 "$aiflame" report --stalls --format $f m.data
done
check "report --copies of a time without copies names --time" says "no copies matching --time, " "$aiflame" report --copies --time 1000, m.data
check "--kernel '[write]' chooses copies to the device" sh -c "
	'$aiflame' report --kernels --kernel '[write]' --format csv m.data | tail -n +2 >w.txt && grep -q ',Memcpy HtoD,' w.txt && ! grep -q multiply w.txt"
check "flame --leaf is refused with --of cpu" status_is 2 "$aiflame" flame --of cpu --leaf kernel -o x.svg m.data
check "flame --by-thread is refused without --of cpu or off-cpu" says "leave it out, or give --of cpu or off-cpu" "$aiflame" flame --by-thread no -o x.svg m.data
check "flame --width has bounds" says "give 300 to 100000" "$aiflame" flame --width 299 -o x.svg m.data
check "flame -h --all says the bounds of --width" says "300 to 100000" "$aiflame" flame -h --all
echo "a;b 3" >t.folded
check "flame --lines of folded text is misuse" status_is 2 "$aiflame" flame --lines -o x.svg t.folded
check "flame --time of folded text is refused" says "t.folded is folded text" "$aiflame" flame --time 1,2 -o x.svg t.folded
check "flame draws folded text as a picture" "$aiflame" flame --title t --width 300 --focus b -o x.svg t.folded
check "flame --title of text is misuse" status_is 2 "$aiflame" flame --title t -o x.folded m.data
check "ctl without a command says what is missing" says "ctl: start|pause|stop|sync|snapshot|status is missing; usage: aiflame ctl [OPTIONS] start" "$aiflame" ctl
check "annotate without KERNEL says what is missing" says "annotate: KERNEL is missing; " "$aiflame" annotate
check "query without SQL says what is missing" says "query: SQL is missing; " "$aiflame" query
check "the summary says what the grades are shares of" says "; of the busy time " "$aiflame" report m.data
unset COLUMNS
long="SELECT printf('%.300c', 'x') AS x, 1 AS n FROM meta LIMIT 1"
check "no line of a table with stacks is longer than its terminal" test "$(python3 "$root/tests/e2e/terminal.py" 100 "$aiflame" report --stacks m.data)" -le 100
check "a query's table is cut to its terminal" test "$(python3 "$root/tests/e2e/terminal.py" 70 "$aiflame" query m.data "$long")" = 70
check "COLUMNS overrides the terminal's width" test "$(COLUMNS=50 python3 "$root/tests/e2e/terminal.py" 70 "$aiflame" query m.data "$long")" = 50
check "a query's output into a pipe is not cut" sh -c "[ \$(COLUMNS=50 '$aiflame' query m.data \"$long\" | wc -L) -gt 300 ]"
# The device must have been opened before the delay is over, which a busy machine may not manage.
late() {
	for delay in 300ms 1 4; do
		"$aiflame" record -q --all-launches --delay $delay -o late.data "$matmul" 256 200 >/dev/null &&
			"$aiflame" flame late.data -o - | grep -q '; [0-9.]* m*s not collected' && return
	done
	return 1
}
check "a picture says what was not collected" late
check "a picture of a whole recording says nothing of what was not collected" sh -c "! '$aiflame' flame m.data -o - | grep -q 'not collected'"
check "a picture of a selection names its options" sh -c "
	'$aiflame' flame --kernel '^multiply' --focus main --time 1ms, -o - m.data | grep -qF '>only --time 1.0 ms,, --kernel ^multiply, --focus main; '"
check "a picture of a selection of folded text names its options" sh -c "'$aiflame' flame --ignore c -o - t.folded | grep -qF '>only --ignore c<'"
check "a picture of a whole profile names no selection" sh -c "! '$aiflame' flame m.data -o - | grep -qE '>only --|; only --'"
check "info says what samples the CPU device, and how often" sh -c "'$aiflame' info late.data | grep -Eq '^  sampling +opencl by (perf|timer): every [0-9.]+ [mu]s a thread\$'"
check "the caller of a copy is a function of the program" sh -c "
	'$aiflame' report --copies --format csv two.data | tail -n +2 >c.txt && [ -s c.txt ] && ! grep -vE 'Matrices|run|main|enqueue|Enqueue' c.txt"
check "--of cpu of a program without a device says why there is nothing" sh -c "
	'$aiflame' record -q -o none.data sh -c : && '$aiflame' flame --of cpu none.data 2>&1 | grep -q 'no process used a device, and others are sampled on CPUs only if that is asked for; record with --cpu'"

# ---- what contradicts itself, or would keep or record nothing
# refused TEXT OPTIONS...: record exits with 2 and one line
refused() {
	said=$1
	shift
	rm -f ran
	"$aiflame" record -q -o refused.data "$@" touch ran >refused.txt 2>&1
	[ $? = 2 ] && [ "$(wc -l <refused.txt)" = 1 ] && grep -qF -- "$said" refused.txt && [ ! -e ran ] && [ ! -e refused.data ] ||
		{ cat refused.txt; return 1; }
}
check "record refuses --overhead with --all-launches" refused "give one" --overhead 2 --all-launches
check "record refuses --all-launches with --overhead" refused "give one" --all-launches --overhead 1
check "record refuses --duration 0" refused "--duration: '0' is too little; give 1ns or more, or leave it out" --duration 0
check "record refuses a --duration below a nanosecond" refused "is too little" --duration 0.0000000001
check "record refuses a negative --duration" refused "--duration: '-1' is not understood" --duration -1
check "record refuses a negative --delay" refused "--delay: '-1' is not understood" --delay -1
check "record refuses --keep 0" refused "--keep: '0' is too little; give 100ms or more, or leave it out" --keep 0
check "record refuses --keep 99ms" refused "is too little" --keep 99ms
check "record refuses --max-size 1" refused "--max-size: '1' is too little; give 64K or more, or leave it out" --max-size 1
check "record refuses --max-size 65535" refused "is too little" --max-size 65535
check "record takes the least --keep and --max-size, and --delay 0" "$aiflame" record -q -o least.data --keep 100ms --max-size 64K --duration 10 --delay 0 true
check "a recording of which --keep dropped everything says that --keep is the reason" sh -c "
	'$aiflame' record --all-launches --keep 100ms -o kept.data sh -c '\"$matmul\" 64 1; sleep 1.5' 2>kept.txt >&2 &&
	grep -q '^reason .* launches were recorded and dropped by --max-size or --keep' kept.txt || { cat kept.txt; exit 1; }"

# ---- what aiflame env prints
long=$(printf '/x/%05000d.so:/y/%05000d.so' 1 2)
check "env keeps an LD_PRELOAD of any length" test "$(LD_PRELOAD=$long "$aiflame" env 2>/dev/null |
	sed -n 's/^export LD_PRELOAD=//p' | wc -c)" -gt 10000
mkdir "a b" && cp "$build/src/agent/libaiflame-agent.so" "a b/"
mkdir -m 700 s && ln -s /nowhere/libaiflame-agent.so s/libaiflame-agent-0.so && ln -s /nowhere/x s/x
k8s() { AIFLAME_STANDBY=$work/s AIFLAME_AGENT="$work/a b/libaiflame-agent.so" "$aiflame" env --format k8s; }
check "env --format k8s mounts an agent below a name with spaces" says "path: \"$work/a b\"" k8s
check "env --format k8s mounts an agent below a name without spaces at /opt/aiflame" says 'mountPath: "/opt/aiflame"' k8s
check "env --format k8s names the mounted agent in its variables" says 'value: "/opt/aiflame/libaiflame-agent.so"' k8s
check "the link for a name with spaces takes the place of dead ones" test \
	"$(ls s | sed 's/-[0-9a-f]*.so$/-N.so/' | tr '\n' ' ')" = "libaiflame-agent-N.so x "
check "record --wall without samples says what to do" says "record: --wall and --cpu-rate 0 exclude each other" "$aiflame" record -F 0 --wall -o x.data true
check "record --wall without samples is misuse" status_is 2 "$aiflame" record -F 0 --wall -o x.data true
for every in 0 1; do
	check "record --reduce $every says what to do" says "record: --reduce: give 2 or more" "$aiflame" record --reduce $every -o x.data true
	check "record --reduce $every is misuse" status_is 2 "$aiflame" record --reduce $every -o x.data true
done
for cpu in "" --cpu; do
	check "record $cpu --steps of a program that marks none names the steps" says "no launch or sample in the steps 30:50 (--steps): the program began fewer, or marks none" \
		"$aiflame" record $cpu --steps 30:50 -o x.data true
done
cp m.data own.data
for c in "flame -o own.svg" report info "annotate basic" export; do
	check "$c takes one FILE" status_is 2 "$aiflame" $c -i m.data own.data
done
check "a profile is not exported over itself, whatever it is called" sh -c "
	! '$aiflame' export -i own.data -o ./own.data && cmp m.data own.data"
check "report --stacks goes back to main" sh -c "'$aiflame' report --stacks m.data | grep multiply_basic | grep -q ' < main'"
head -c 3000 m.data >cut.data
check "a truncated profile is an error, not a crash" status_is 1 "$aiflame" info cut.data
cp m.data hostile.data
sqlite3 hostile.data "CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON v_t BEGIN SELECT 1; END" 2>/dev/null
check "a stored view is never run" sh -c "
	'$aiflame' query hostile.data 'SELECT * FROM v' 2>&1 | grep -q 'no such table' || '$aiflame' info hostile.data 2>&1 | grep -qi 'aiflame'"
# What other tools' users are told to type is there.
check "options that docs/from-other-tools.md names are options" sh -c 'grep -oE "\`aiflame [^\`]*\`" "$2/docs/from-other-tools.md" | tr -d "\`" |
	while read -r _ command words; do
		"$1" $command -h --all >help.txt 2>&1 || { echo "no command $command"; exit 1; }
		for w in $words; do
			case $w in --*) grep -qE -- "(^|[ ,])$w([ =,]|$)" help.txt || { echo "$command has no $w"; exit 1; } ;; esac
		done
	done' - "$aiflame" "$root"
done_testing
