#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The roofline of a run: kernels whose arithmetic and traffic are known, counted under valgrind.
. "$(dirname "$0")/tap.sh"
if ! command -v valgrind >/dev/null 2>&1 || [ "$(uname -m)" != x86_64 ]; then
	check "runbook run --roofline runs" true
	skip "functions stand under the machine's roofs" "no valgrind, or not x86-64"
	done_testing
	exit
fi
check "a program with known kernels is compiled" "${CC:-cc}" -O3 -g -o kernels "$root/tests/e2e/runbook_roofline.c"
# The model's caches: blocks fit, arrays do not.
small="--D1=8192,8,64 --LL=32768,16,64"
# counted CACHES DIRECTORY COMMAND...: again where the command, a tenth of a second of work, was over before the agent's thread had a CPU,
# which the run says
counted() {
	caches=$1 d=$2
	shift 2
	for _ in $(seq 8); do
		VALGRIND_OPTS=$caches "$aiflame" runbook run -d "$d" -r 1 --roofline -- "$@" >ran 2>&1 && break
		grep -q 'no CPU samples in' ran || { cat ran; return 1; }
		rm -rf "$d"
	done
	cat ran
	[ -e "$d/advisor_summary.json" ]
}
run() { # KERNEL ROUNDS [N]: into KERNEL
	counted "$small" "$1" ./kernels "$@"
}
# intensity KERNEL EXPRESSION: what it should be, within 15 %
intensity() {
	python3 - "$1" "$2" <<'END'
import json, sys
d, expected = sys.argv[1], eval(sys.argv[2])
r = json.load(open(d + "/advisor_summary.json"))["aiflame"]["roofline"]
p = next(p for p in r["points"] if p["routine"] == d)
print(f"{d}: {p['intensity']:.5g} FLOP for each byte, known {expected:.5g}", file=open("intensities.out", "a"))
print(open("intensities.out").read())
sys.exit(abs(p["intensity"] / expected - 1) > 0.15)
END
}
# A sample needs time: a second of the kernel, and a hundred times that under valgrind would be too long.
check "a run of STREAM's triad is counted" run triad 300
check "the intensity of a triad is 2 FLOP for 32 bytes" intensity triad "2 / 32"
check "a run of a stencil is counted" run stencil 300
check "the intensity of a stencil is 5 FLOP for 24 bytes" intensity stencil "5 / 24"
check "a run of a product of matrices by blocks is counted" run matmul 20 240
check "the intensity of a product of matrices is that of its blocks" intensity matmul "2 * 240**3 / ((240 / 16)**3 * 2 * 16 * 16 * 8 + 240**2 * 8 * 2)"
check "run files with a roofline have the fields of their definition" sh -c "'$aiflame' runbook check triad --cannot-tell pass && '$aiflame' runbook ledger triad && python3 '$root/tests/e2e/runbook_fields.py' triad"
"$aiflame" runbook render triad >/dev/null 2>&1
check "the page of a run has its roofline" sh -c "grep -q 'alt=\"Roofline\"' triad/hub.html && grep -q '<tr><td>triad<' triad/hub.html"
check "the picture of a roofline is XML with a point for the kernel" python3 -c "
import xml.dom.minidom
d = xml.dom.minidom.parse('triad/roofline.svg')
assert any('triad' in t.firstChild.data for t in d.getElementsByTagName('title')) and d.getElementsByTagName('circle')"

bound() { [ "$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1] + "/advisor_summary.json"))["aiflame"]["roofline"]; print(max(r["points"], key=lambda p: p["self_time_s"])["bound"])' "$1")" = "$2" ]; }
check "a triad is bound by memory" bound triad memory
fires() { "$aiflame" runbook check "$1" --cannot-tell pass >"$1.said" 2>&1; grep '^signal  *memory bound:' "$1.said" || { cat "$1.said"; return 1; }; }
check "memory bound: fires on a triad by its roofline" fires triad
silent() { ! fires "$1" >/dev/null && grep -q decode_tok_s "$1.said"; }

# A library whose name is a symbolic link, as most are.
mkdir real
echo 'int kernels_main(int, char **); int main(int argc, char **argv) { return kernels_main(argc, argv); }' >main.c
linked() {
	"${CC:-cc}" -O3 -g -shared -fPIC -Dmain=kernels_main -Wl,-soname,libkernels.so -o real/libkernels.so.1 "$root/tests/e2e/runbook_roofline.c" &&
		ln -s real/libkernels.so.1 libkernels.so && "${CC:-cc}" -o linked main.c -L. -lkernels -Wl,-rpath,"$work"
}
check "a program with its kernels in a library is compiled" linked
check "kernels of a library are counted" counted "--LL=4194304,16,64" library ./linked matmul 100 128
check "a product of matrices that fits the caches of the model, in a library with a symbolic link for its name, is bound by arithmetic" bound library compute
check "memory bound: silent on a product that fits the caches" silent library

mkdir empty
none() {
	PATH=$work/empty:$(dirname "$aiflame") "$aiflame" runbook run -d none -r 1 --roofline -- "$work/kernels" triad 300 &&
		"$(command -v python3)" -c 'import json; assert "valgrind" in json.load(open("none/advisor_summary.json"))["aiflame"]["skipped"]["callgrind"]'
}
check "runbook run --roofline without valgrind says so, and goes on" none
sed "s/^/# /" intensities.out
done_testing
