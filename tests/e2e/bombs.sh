#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles of a megabyte that a careless view would make gigabytes of (bombs.c). VIEWS=all: also the views that reach the
# bound only after a gigabyte of output or memory, for a minute (bombs_long.sh).
. "$(dirname "$0")/tap.sh"
for kind in rows inlined deep long product; do
	"$build/tests/e2e/bombs" $kind $kind.data || { echo "1..0 # SKIP no profiles"; exit 1; }
done
# bounded KIND OUT COMMAND...
bounded() {
	profile=$1 out=$2
	shift 2
	check "memory is bounded in $* of $profile.data" python3 "$root/tests/e2e/bombs.py" "$aiflame" "$profile.data" "$out" "$@"
	rm -rf "$out"
}
# at_length KIND OUT COMMAND...: the same, with VIEWS=all
at_length() { [ "${VIEWS:-}" != all ] || bounded "$@"; }
bounded rows - info
bounded rows - query "SELECT count(*) FROM launches"
bounded rows out.json export --format chrome
at_length rows out.sqlite export --format sqlite
bounded inlined out.svg flame
at_length inlined out.folded flame --detail full --lines
bounded inlined - report --stacks
at_length inlined out.pb.gz export --format pprof
bounded inlined out.json export --format chrome
bounded inlined out.firefox.json export --format firefox
bounded deep out.folded flame
bounded deep - report --stacks
at_length deep out.pftrace export --format perfetto
bounded long out.folded flame
at_length long out.json export --format chrome
at_length product - info
at_length product out.svg flame
[ "${VIEWS:-}" != all ] || cp stderr.txt flame.said

# What is kept can be looked at, and what is left out is said.
names() { [ "$("$aiflame" query --format csv inlined.data 'SELECT count(*) FROM frame_names' 2>/dev/null | tail -1)" = 128 ]; }
check "128 of 60,000 inlined names of a function are kept" names
check "info says that inlined names were left out" says "the innermost are left out" "$aiflame" info inlined.data
check "query says that rows beyond what a file of its size can hold are missing" says "are missing above" \
	"$aiflame" query rows.data "SELECT count(*) FROM launches"

# What is said of memory: whose bound it was, and what can be done about it with this command.
there() { # only options that it has
	grep 'memory is bounded at' flame.said >said.out
	cat said.out
	grep -q -- --time said.out && ! grep -q -- --limit said.out
}
[ "${VIEWS:-}" != all ] || check "the message about bounded memory names only options that the command has" there
awk 'BEGIN { for (i = 0; i < 200000; i++) print "main;f" i ";g" i " 1" }' >large.folded
own() {
	(ulimit -d 8000 && "$aiflame" import -o a.data large.folded) >own.out 2>&1
	status=$?
	cat own.out
	[ $status -ne 0 ] && ! grep -q 'memory is bounded' own.out
}
check "a limit of memory that the user set is not taken for aiflame's" own

# Files of other tools: a table whose pages lead to one page many times.
python3 "$root/tests/e2e/btree_bomb.py" bomb.sqlite
python3 "$root/tests/e2e/btree_bomb.py" sound.sqlite without
ranges() { "$aiflame" query --format csv "$1" 'SELECT count(*) FROM ops' | tail -1 | tr -d '"\r'; }
check "an SQLite file whose rows come again is imported" "$aiflame" import -o bomb.data bomb.sqlite
check "rows that come again are read once" test "$(ranges bomb.data)" = 100
check "rows that come again are said" says "rows come again" "$aiflame" info bomb.data
check "a table without rowid is imported" "$aiflame" import -o sound.data sound.sqlite
check "a table without rowid is read whole" test "$(ranges sound.data)" = 100
check "a table without rowid is sound" sh -c '! "$0" info sound.data | grep -q damaged' "$aiflame"

# A recursion whose rows go to temporary files, without a limit that was asked for.
growing="WITH RECURSIVE n(i, t) AS (SELECT 1, '' UNION SELECT i + 1, printf('%0900d', i) FROM n) SELECT count(*) FROM n"
[ "${VIEWS:-}" != all ] || check "query bounds temporary files without being asked" says "would become larger than --max-temp allows" \
	timeout 250 "$aiflame" query --timeout 0 long.data "$growing"

# --max-size
check "--max-size stops a picture" says "a.svg: stopped: it would become larger than 1.0 KiB" \
	"$aiflame" flame --max-size 1K -o a.svg deep.data
check "--max-size stops folded text" status_is 1 "$aiflame" flame --max-size 1K -o a.folded long.data
check "--max-size stops an export" status_is 1 "$aiflame" export --max-size 10K --format chrome -o a.json long.data
check "--max-size stops a compressed export by its size before compression" status_is 1 \
	"$aiflame" export --max-size 100K --format chrome -o a.json.gz long.data
check "--max-size stops a database" says "a.sqlite: stopped: it would become larger than 64.0 KiB" \
	"$aiflame" export --max-size 64K --format sqlite -o a.sqlite long.data
check "--max-size stops a folder of tables" status_is 1 "$aiflame" export --max-size 10K --format csv -o a.csv long.data
nothing() { for f in a.*; do [ ! -e "$f" ] || { echo "$f"; return 1; }; done; }
check "nothing is left of what --max-size stopped" nothing
check "a picture within --max-size is written" status_is 0 "$aiflame" flame --leaf kernel --max-size 10M -o a.svg deep.data
done_testing
