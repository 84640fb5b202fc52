#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares what views, exporters and imports write for fixed profiles with the files in tests/golden/views, byte by byte.
#   tests/e2e/golden.sh             compares
#   GOLDEN_PROFILES=full tests/e2e/golden.sh    compares what all views show of one profile, or of several
#   tests/e2e/golden.sh --update    writes the files anew; `git diff` shows what a change of the code does to users
# A file holds standard output; behind it, where there is any, what went to standard error, and a status that is not 0.
# What is no text is decoded. Replaced are aiflame's version and the profile's size on disk, which hangs on the libraries
# that write it. A picture's script and style are compared with the files of viewer/ that they are.
. "$(dirname "$0")/tap.sh"
golden=$root/tests/golden/views
update=0
[ "${1:-}" != --update ] || update=1
unset COLUMNS
version=$("$aiflame" --version | sed -n '1s/^aiflame //p' | sed 's/[^0-9.].*//; s/\./\\./g')
have_protoc=$(command -v protoc || :)
: >made.list

plain() { # what differs between machines and versions, of text
	LC_ALL=C sed -e "s/\\b$version\\b/VERSION/g" -e 's/^\(file     .*\), [0-9.]* [KM]iB; next: /\1, SIZE; next: /'
}
# view FILE WHAT COMMAND...: a case: the command's output is that of tests/golden/views/FILE
view() {
	file=$1 what=$2
	shift 2
	"$@" >view.out 2>view.err
	status=$?
	{
		cat view.out
		[ ! -s view.err ] || { echo "[standard error]" && cat view.err; }
		[ $status -eq 0 ] || echo "[status $status]"
	} | plain >view.txt
	same "$file" "$what"
}
# same FILE WHAT: a case: view.txt is that file, or becomes it
same() {
	n=$((n + 1))
	echo "$1" >>made.list
	if [ $update = 1 ]; then
		mkdir -p "$(dirname "$golden/$1")"
		cmp -s view.txt "$golden/$1" || cp view.txt "$golden/$1"
		echo "ok $n - $2 is written"
	elif cmp -s view.txt "$golden/$1"; then
		echo "ok $n - $2 is unchanged"
	else
		failed=$((failed + 1))
		echo "not ok $n - $2 is unchanged"
		if [ -e "$golden/$1" ]; then
			diff -a -U 1 --label "tests/golden/views/$1" --label now "$golden/$1" view.txt | head -n 20 | sed 's/^/#   /'
		else
			echo "#   tests/golden/views/$1 is not there: run tests/e2e/golden.sh --update"
		fi
	fi
}
not_here() { # FILE WHAT WHY
	echo "$1" >>made.list
	skip "$2 is unchanged" "$3"
}

# ---- profiles
cp "$golden"/input/* . || exit 1
echo "what is no profile of anybody" >unknown.txt
for kind in full sampled; do
	"$build/tests/e2e/golden_profiles" $kind $kind.data "$root/tests/golden/cubin" || exit 1
done
view import/trace.txt "what import says of a trace" "$aiflame" import -o imported.data trace.json
view import/ranks.txt "what import says of the traces of two ranks" "$aiflame" import -o ranks.data trace.json trace_rank1.json
view import/stacks.txt "what import says of folded text" "$aiflame" import -o stacks.data stacks.folded
view import/stalls.txt "what import says of iaprof's text" "$aiflame" import -o stalls.data stalls.iaprof
view import/quiet.txt "what import -q says of a trace" "$aiflame" import -q -o quiet.data trace.json
view import/samples.txt "what import --as cpu --count 10ms says of folded text" "$aiflame" import -o samples.data --as cpu --count 10ms stacks.folded
view import/unknown.txt "what import says of a file that it does not know" "$aiflame" import -o unknown.data unknown.txt
view import/mixed.txt "what import says of files of two kinds" "$aiflame" import -o mixed.data trace.json stacks.folded
view import/missing.txt "what import says of a file that is not there" "$aiflame" import -o missing.data no.json
# The seeds of the fuzzer have a file of each kind.
[ -n "${GOLDEN_PROFILES:-}" ] || for seed in "$root"/tests/fuzz/found/fuzz_import-*; do
	kind=${seed##*-}
	cp "$seed" "$kind.in"
	view "import/seed-$kind.txt" "what import says of the seed $kind" "$aiflame" import -o seed.data "$kind.in"
	[ $status -eq 0 ] || continue
	view "import/seed-$kind.folded" "flame --format folded of the imported seed $kind" "$aiflame" flame --format folded --leaf stall -o - seed.data
	view "import/seed-$kind.info" "info of the imported seed $kind" "$aiflame" info seed.data
done

# ---- decoders: FILE to text on standard output
decoded() { # FORMAT FILE
	case $1 in
	pprof) gzip -dc "$2" >plain.pb && message Pprof plain.pb ;;
	perfetto) message Perfetto "$2" ;;
	otlp) message Otlp "$2" ;;
	tensorboard) find "$2" -type f | LC_ALL=C sort | while read -r f; do echo "[$f]" && message XSpace "$f"; done ;;
	sqlite) python3 sqlite_text.py "$2" ;;
	*) cat "$2" ;;
	esac
}
message() { protoc --proto_path="$root/tests/e2e" --decode="$1" viewers.proto <"$2" | LC_ALL=C sed 's/^\( *\)\1/\1/' | python3 "$root/tests/e2e/proto_lines.py"; }
cat >sqlite_text.py <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.text_factory = lambda b: b.decode("utf-8", "backslashreplace")
for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall():
    print(ascii(sql))
    if kind == "table":
        for row in db.execute('SELECT * FROM "%s"' % name):
            print(" ", ascii(row))
END
exported() { # PROFILE FORMAT OPTIONS...
	profile=$1 format=$2
	shift 2
	rm -rf "out.$format"
	"$aiflame" export --format "$format" -o "out.$format" "$@" "$profile.data" || return
	decoded "$format" "out.$format"
}
same_as_query() { # PROFILE: each table
	rm -rf out.csv
	"$aiflame" export --format csv -o out.csv "$1.data" || return
	for t in $tables; do
		"$aiflame" query --format csv "$1.data" "SELECT * FROM $t" | diff -a - "out.csv/$t.csv" && rm "out.csv/$t.csv" || return
	done
	rmdir out.csv
}
picture() { # PROFILE OPTIONS...: without script and style
	profile=$1
	shift
	"$aiflame" flame -o - "$@" "$profile.data" |
		LC_ALL=C sed -e '/<script>/,/<\/script>/{/<script>/!{/<\/script>/!d}}' -e '/<style>/,/<\/style>/{/<style>/!{/<\/style>/!d}}'
}
# The parts that stand in each picture: without the lines of their element.
script() { LC_ALL=C sed -n '/<script>/,/<\/script>/p' picture.svg | sed '1d; $d'; }
style() { LC_ALL=C sed -n '/<style>/,/<\/style>/p' picture.svg | sed '1d; $d'; }
style_lines=$(wc -l <"$root/viewer/flame.css")
script_is() { script | diff "$root/viewer/flame.js" -; }
style_is() { style | head -n "$style_lines" | diff "$root/viewer/flame.css" -; }
colours() { style | tail -n "+$((style_lines + 1))"; }

# ---- each view of each profile
formats=$("$aiflame" export -h | sed -n 's/^ *--format \([a-z|]*\)$/\1/p' | tr '|' ' ')
reports=$("$aiflame" report -h --all | sed -n 's/^ *--\([a-z]*\)  .*/\1/p')
tables=$("$aiflame" query -h | tr '\n' ' ' | sed 's/.*profile.s tables: //; s/ and the view / /; s/\. .*//; s/,//g')
check "there are formats, reports and tables" test -n "$formats" -a -n "$reports" -a -n "$tables"
for p in ${GOLDEN_PROFILES:-full sampled imported stacks}; do
	of="of the $p profile"
	view $p/summary.txt "report $of" "$aiflame" report $p.data
	view $p/info.txt "info $of" "$aiflame" info $p.data
	view $p/why.txt "why $of" "$aiflame" why $p.data
	view $p/why.json "why --format json $of" "$aiflame" why --format json $p.data
	for t in $reports; do
		for f in table csv json; do
			view "$p/report-$t.$f" "report --$t --format $f $of" "$aiflame" report "--$t" --format $f $p.data
		done
	done
	for t in $tables; do
		view "$p/query-$t.csv" "query of $t $of" "$aiflame" query --format csv $p.data "SELECT * FROM $t"
	done
	for f in $formats; do
		case $f in
		csv)
			check "export --format csv $of has each table, and what query has of it" same_as_query $p
			continue
			;;
		pprof | perfetto | otlp | tensorboard)
			if [ -z "$have_protoc" ]; then
				not_here "$p/export-$f.txt" "export --format $f $of" "no protoc here"
				continue
			fi
			;;
		esac
		view "$p/export-$f.txt" "export --format $f $of" exported $p "$f"
	done
	view $p/flame.svg "flame $of" picture $p
	view $p/flame.folded "flame --format folded $of" "$aiflame" flame --format folded -o - $p.data
	view $p/flame-cpu.folded "flame --of cpu --format folded $of" "$aiflame" flame --of cpu --format folded -o - $p.data
	view $p/flame-off-cpu.folded "flame --of off-cpu --format folded $of" "$aiflame" flame --of off-cpu --format folded -o - $p.data
	for o in "leaf kernel" "leaf line" "leaf stall" "by time" "by samples" "by launches" "detail brief" "detail full"; do
		view "$p/flame-${o%% *}-${o##* }.folded" "flame --$o --format folded $of" "$aiflame" flame --${o%% *} "${o##* }" --format folded -o - $p.data
	done
	view $p/annotate.txt "annotate of all kernels $of" "$aiflame" annotate . $p.data
done

[ -z "${GOLDEN_PROFILES:-}" ] || { done_testing; exit; }

# ---- options
"$aiflame" flame -o picture.svg full.data
check "a picture's script is viewer/flame.js" script_is
check "a picture's style begins as viewer/flame.css" style_is
view full/flame-colours.css "the list of a picture's colours" colours
view full/flame-stall.svg "flame --leaf stall of the full profile" picture full --leaf stall
view full/flame-cpu.svg "flame --of cpu of the full profile" picture full --of cpu
view full/flame-memory.svg "flame --of memory of the full profile" picture full --of memory
view full/flame-inverted.svg "flame --inverted of the full profile" picture full --inverted --leaf kernel --title "A <title> & \"more\""
view full/flame-narrow.svg "flame --width 300 of the full profile" picture full --width 300
# options FILE WORDS...: of the full profile
options() {
	file=$1
	shift
	view "full/$file" "$* of the full profile" "$aiflame" "$@" full.data
}
options flame-lines.folded flame --format folded -o - --lines
options flame-inverted.folded flame --format folded -o - --inverted
options flame-focus.folded flame --format folded -o - --focus forward
options flame-ignore.folded flame --format folded -o - --ignore 'all_reduce|gemm'
options flame-kernel.folded flame --format folded -o - --kernel 'sum|odd'
options flame-time.folded flame --format folded -o - --time 0.1,0.6
options flame-step.folded flame --format folded -o - --time step:2
options why-steps.txt why --time steps:2-3
options why-startup.txt why --time startup
options flame-ranges-off.folded flame --format folded -o - --range-frames off
options flame-ranges-only.folded flame --format folded -o - --range-frames only
options flame-range.folded flame --format folded -o - --range odd
options report-range.table report --kernels --range odd
options flame-process.folded flame --format folded -o - --process 4712
options flame-tid.folded flame --format folded -o - --tid 4730
options flame-device.folded flame --format folded -o - --device H100
options flame-nothing.folded flame --format folded -o - --focus 'no such frame'
options flame-memory.folded flame --of memory --format folded -o -
options flame-memory-time.folded flame --of memory --format folded -o - --time 0.22,0.29
options report-memory-thread.table report --memory --tid 4730
options report-memory-stack.table report --memory --by stack
options report-memory-stack.csv report --memory --by stack --format csv
options report-memory-shape.table report --memory --by shape
options flame-one-thread.folded flame --format folded -o - --of cpu --by-thread no
options summary-time.txt report --time 0.5,1
options summary-process.txt report --process 4712
options summary-device.txt report --device Intel
options report-kernels-time.table report --kernels --time 0.05,0.3
options report-kernels-full.table report --kernels --detail full
options report-kernels-sort.csv report --kernels --format csv --sort launches --limit 2
options report-kernels-re.table report --kernels --kernel 'sum|calls'
options report-stacks-brief.table report --stacks --detail brief
options report-stalls-sort.table report --stalls --sort samples
options report-ops-shape.table report --ops --by shape
options report-ops-stack.table report --ops --by stack
options report-launches-all.csv report --launches --limit 0 --format csv
options report-unknown-sort.table report --kernels --sort colour
options report-no-process.table report --kernels --process nobody
options report-broken-time.table report --kernels --time 5,1
options annotate-min.txt annotate --min 0 shared_sum
options annotate-none.txt annotate 'no such kernel'
view full/query.table "query of kernel_times as a table of the full profile" "$aiflame" query full.data "SELECT * FROM kernel_times"
view full/query.json "query of frames as JSON of the full profile" "$aiflame" query --format json full.data "SELECT * FROM frames JOIN frame_names ON frame = id"
view full/query-error.txt "query of what is no table" "$aiflame" query full.data "SELECT * FROM no_such_table"
view full/query-write.txt "query that writes" "$aiflame" query full.data "DELETE FROM meta"
view full/export-chrome-part.txt "export --format chrome of a part of the full profile" exported full chrome --time 0.5,0.8 --process 4711 --detail full
view full/export-folded-part.txt "export --format folded of one device of the full profile" exported full folded --device Intel --detail brief
view full/export-speedscope-kernel.txt "export --format speedscope of one kernel of the full profile" exported full speedscope --kernel calls
view stacks/flame-file.svg "flame of folded text" sh -c "'$aiflame' flame -o - stacks.folded | LC_ALL=C sed -e '/<script>/,/<.script>/d' -e '/<style>/,/<.style>/d'"
for t in kernels stacks breakdown comm steps; do
	view "ranks/report-$t.table" "report --$t of two ranks" "$aiflame" report "--$t" ranks.data
done
view ranks/summary.txt "report of two ranks" "$aiflame" report ranks.data
view ranks/one.table "report --kernels --process of one of two ranks" "$aiflame" report --kernels --process 'python3 (rank 1)' ranks.data
view stalls/report-stalls.table "report --stalls of iaprof's text" "$aiflame" report --stalls stalls.data
view stalls/report-counters.table "report --counters of iaprof's text" "$aiflame" report --counters stalls.data
view stalls/export-iaprof.txt "export --format iaprof of iaprof's text" exported stalls iaprof
view samples/flame.folded "flame of stacks that were imported as CPU samples" "$aiflame" flame --format folded -o - samples.data

# ---- no file is left that nothing makes
LC_ALL=C sort made.list >made.sorted
(cd "$golden" && find . -type f ! -path './input/*' | sed 's,^\./,,' | LC_ALL=C sort) >there.list
if [ $update = 1 ]; then
	LC_ALL=C comm -13 made.sorted there.list | while read -r f; do rm "$golden/$f"; done
else
	check "each golden file has its case" diff made.sorted there.list
fi
done_testing
