#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files that PyTorch's Inductor generates: copied while they are there, their comments shown as operators, their lines
# listed. A program of pyopencl's writes such a file, launches from it, and is recorded by PoCL.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 && python=$p && break
done
[ -n "$python" ] || { echo "1..0 # SKIP no pyopencl"; exit 0; }

# run NAME [HOW...]: records into NAME.data
run() {
	name=$1
	shift
	rm -rf "cache.$name"
	"$aiflame" record -q --all-launches -o "$name.data" "$python" "$here/compiled.py" "$PWD/cache.$name" "$@" &&
		mv "cache.$name" "gone.$name" && "$aiflame" flame -i "$name.data" -o "$name.folded"
}
sources() { "$aiflame" query --format csv "$1.data" "SELECT count(*) FROM programs WHERE source_name LIKE '%/cache.$1/%.py'" | tail -1; }
skipped() { "$aiflame" query --format csv "$1.data" "SELECT detail FROM losses WHERE name = 'GENERATED_SKIPPED'" | tail -n +2; }

check "a program with a generated wrapper is recorded" run plain
check "the generated wrapper's file and that of its kernel are kept" test "$(sources plain)" = 2
check "the kept text of a generated file is that of the file" sh -c '
	"$1" query --format csv plain.data "SELECT hex(source) FROM programs WHERE source LIKE '\''# AOT ID%'\''" | tail -1 | xxd -r -p |
		cmp - "$(grep -l "AOT ID" gone.plain/*/*.py)"' sh "$aiflame"
check "operators stand between the generated wrapper and what it called" grep -q \
	'call (c[a-z2-7]*\.py)_\[p\];aten.view, aten.gelu \[compiled\];<lambda>' plain.folded
check "at most six operators of a generated call are named" grep -q \
	'call (c[a-z2-7]*\.py)_\[p\];aten.a, aten.b, aten.c, aten.d, aten.e, aten.f, \.\.\. \[compiled\];<lambda>' plain.folded
check "pprof's format has the operators of generated code" sh -c '"$1" export --format pprof -i plain.data -o p.pb.gz && zcat p.pb.gz | grep -qa "aten.view, aten.gelu \[compiled\]"' - "$aiflame"
check "calls without a comment of operators have none" grep -q 'call (c[a-z2-7]*\.py)_\[p\];<lambda>' plain.folded
check "an allocation in generated code has no operators" grep -q 'call (c[a-z2-7]*\.py)_\[p\];empty_strided (c[a-z2-7]*\.py)_\[p\];<lambda>' plain.folded
check "comments of definitions are taken for no calls" sh -c '! grep -q definition plain.folded'

check "a program whose torch knows which lines its code stands for" run lines lines
check "a generated call has the line of the program that it stands for" grep -q 'aten.view, aten.gelu \[compiled\] model.py:12;<lambda>' lines.folded
check "the next generated call has a line of its own" grep -q 'aten.f, \.\.\. \[compiled\] model.py:15;<lambda>' lines.folded
check "the function's name with a letter beyond ASCII is kept whole" sh -c '"$1" query lines.data "SELECT source FROM programs" | grep -q "line 15, in Größe"' sh "$aiflame"
check "a program whose torch knows the lines later is recorded" run late late
check "lines that torch knows later stand at their calls" grep -q 'aten.view, aten.gelu \[compiled\] model.py:12;<lambda>' late.folded
check "a program with a module torch that is not PyTorch is recorded" run odd odd
check "operators stand alone where the module torch is not PyTorch" grep -q 'aten.view, aten.gelu \[compiled\];<lambda>' odd.folded
check "a program with a generated wrapper is recorded with --no-source" sh -c '
	"$1" record -q --no-source --all-launches -o none.data "$2" "$3/compiled.py" "$PWD/cache.none"' sh "$aiflame" "$python" "$here"
check "--no-source shows nothing of generated code" sh -c '"$1" flame -i none.data -o none.folded && ! grep -q "\[compiled\]" none.folded' sh "$aiflame"

check "a program with a generated file of 5 MiB is recorded" run huge huge
check "a generated file of 5 MiB is not copied" test "$(sources huge)" = 0
check "a generated file of 5 MiB is named, with the reason" sh -c 'case "$1" in *.py:\ larger\ than\ 4\ MiB) ;; *) echo "$1"; exit 1 ;; esac' sh "$(skipped huge)"
check "a program with a generated file of 3 GiB is recorded" run vast vast
check "a generated file of 3 GiB is not copied, nor a file that only it names" test "$(sources vast)" = 0
check "a generated file of 3 GiB is named, with the reason" sh -c 'case "$1" in *.py:\ larger\ than\ 4\ MiB) ;; *) echo "$1"; exit 1 ;; esac' sh "$(skipped vast)"
check "a program whose generated file is a symbolic link is recorded" run link link "$PWD/target.py"
# On a busy machine the program may be over before its files are opened with its rights, which is counted.
followed() {
	[ "$(sources link)" = 2 ] && return
	case $(skipped link) in
	*': its owner is not known') ;;
	*) sources link && skipped link && return 1 ;;
	esac
}
check "a symbolic link to a file of the same user is followed" followed
check "counts of a recording of generated code add up" says "everything adds up" "$aiflame" info plain.data
if [ "$(id -u)" = 0 ]; then
	echo "# Source Nodes: [secret]" >secret.py && chown 65534 secret.py && chmod 600 secret.py
	check "a program whose generated file is a link to another user's is recorded" run secret secret "$PWD/secret.py"
	check "another user's file is not read through a link" sh -c '! "$1" query secret.data "SELECT source FROM programs" | grep -q secret' sh "$aiflame"
	check "another user's file behind a link is named, with the reason" sh -c 'case "$1" in *.py:\ it\ is\ another\ user*) ;; *) echo "$1"; exit 1 ;; esac' sh "$(skipped secret)"
fi
done_testing
