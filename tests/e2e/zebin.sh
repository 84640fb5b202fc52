#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Intel's device code as Intel's compiler makes it (ocloc), read by us and by others: IGA for instructions, readelf for
# lines. Then samples at real offsets of a real kernel, from the fake runtime, as instructions with lines and stalls.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
see=$build/tests/e2e/zebin_see
fake=$build/tests/mock/fake_app
export AIFLAME_STANDBY="$work/standby"

for tool in ocloc iga64; do
	command -v $tool >/dev/null || {
		echo "1..0 # SKIP no $tool: apt-get install intel-opencl-icd libigc-tools"
		exit 0
	}
done

# compile KERNEL DEVICE: as KERNEL.DEVICE.bin
compile() {
	upper=$(echo "$1" | tr a-z A-Z)
	ocloc compile -q -file "$here/zebin.cl" -device "$2" --format zebin -options "-g -D $upper" -output "$1.$2" \
		-out_dir "$work/out" >"$1.$2.log" 2>&1 && mv out/"$1.$2"_*.bin "$1.$2.bin"
}
# agrees KERNEL DEVICE IGA-PLATFORM
agrees() {
	f=$1.$2
	compile "$1" "$2" && "$see" "$f.bin" "$1" "$f.text" >"$f.seen" && iga64 -d "-p=$3" -Xprint-pc "$f.text" >"$f.iga" &&
		python3 "$here/zebin_compare.py" names "$f.seen" "$f.iga" &&
		python3 "$here/zebin_compare.py" boards "$f.seen" "$f.iga" || return 1
	# A module with several functions has lost its lines to IGC.
	readelf -SW "$f.bin" 2>/dev/null | grep -q debug_line || { [ "$1" = maths ]; return; }
	readelf --debug-dump=decodedline "$f.bin" >"$f.lines" 2>/dev/null
	python3 "$here/zebin_compare.py" lines "$f.seen" "$f.lines"
}

for kernel in matmul reduce maths branches systolic wide; do
	check "pvc: instructions, scoreboards and lines of $kernel" agrees $kernel pvc 12p72
done
for kernel in matmul reduce branches wide; do
	check "dg2: instructions, scoreboards and lines of $kernel" agrees $kernel dg2 12p71
done
for kernel in matmul reduce branches; do
	check "tgllp: instructions, scoreboards and lines of $kernel" agrees $kernel tgllp 12p1
done
check "pvc, dg2 and tgllp are of different families" sh -c "head -qn 1 matmul.*.seen | cut -d' ' -f3 | sort | tr '\n' ' ' | grep -qx 'xe_hpc xe_hpg xe_lp '"
check "skl: lines are read, instructions of that age are not claimed to be known" sh -c "
	ocloc compile -q -file '$here/zebin.cl' -device skl --format zebin -options '-g -D MATMUL' -output skl -out_dir out &&
	'$see' out/skl_*.bin matmul skl.text | head -1 | grep -q '^kernel matmul gen9 '"

# ---- a profile with it

at() { # MNEMONIC-PATTERN: the offset of the first in the loop over k
	awk -v name="$1" '$2 ~ name && $6 >= 8 { print "0x" $1; exit }' matmul.pvc.seen
}
sqrt=$(at '^math.sqt$')
waited=$(awk -v at="${sqrt#0x}" '$1 == at { exit } $2 == "send.ugm" && $6 >= 8 { last = $1 } END { print last }' matmul.pvc.seen)
board=$(awk -v at="${sqrt#0x}" '$1 == at { print $5 }' matmul.pvc.seen) # a set of one
source=$(awk -v s="$board" '$4 >= 0 && sprintf("%x", 2 ^ $4) == s { at = $1 } END { print at }' matmul.pvc.seen)
cat >k.script <<EOF
device 0 name="Fake GPU" kind=gpu units=4 clock=monotonic
stream 0 device=0
program 0
kernel 0 program=0 name=matmul
reason 0 name=sbid
reason 1 name=active
reason 2 name=send
code 0 name=matmul object="$work/matmul.pvc.bin" hash=0x1 symbol=4294967295
code 1 name=reduce object="$work/matmul.pvc.bin" hash=0x1 symbol=4294967295
now
window 0 device=0 start=0 end=10000000 period=132000 samples=500
pc window=0 code=0 pc=$sqrt hits=0,300,1,100
pc window=0 code=0 pc=0x$waited hits=2,100
launch stream=0 kernel=0 time=1000 stack=0x401000,0x402000 grid=64,1,1 block=8,1,1 start=1000000 end=4000000
launch stream=0 kernel=0 time=1100 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=4000000 end=5000000
sleep time=100000000
EOF
rows() {
	"$aiflame" query --format csv k.data "$1" | tail -n +2
}
line=$(awk -v at="${sqrt#0x}" '$1 == at { print $6 }' matmul.pvc.seen)
check "a program of a zebin is recorded" "$aiflame" record -q --all-launches -o k.data "$fake" k.script
check "each function of a zebin is a module" sh -c "
	'$aiflame' query --format csv k.data \"SELECT path FROM modules WHERE kind = 'device'\" | grep -c '^zebin 0000000000000001\$' | grep -qx 2"
check "the code of a zebin is in the profile, under the family's name" sh -c "
	'$aiflame' query --format csv k.data 'SELECT arch, size, length(bytes) FROM codes WHERE arch <> \"elf\"' | grep -qx \"xe_hpc,\$(sed -n 's/^kernel matmul xe_hpc //p' matmul.pvc.seen | sed 's/.*/&,&/')\""
exported() {
	"$aiflame" export --kernel matmul -o k.zebin k.data && cmp k.zebin matmul.pvc.bin && readelf -x .text.matmul k.zebin >dump.txt 2>/dev/null && grep -q '^  0x' dump.txt &&
		readelf --debug-dump=decodedline k.zebin 2>/dev/null | grep -q '^zebin.cl '
}
check "export --format elf gives the zebin as the compiler made it, for readelf" exported
disassembled() { # with the document's tools: the section's bytes, by readelf, through IGA
	sed -n 's/^  0x[0-9a-f]* \(.\{35\}\).*/\1/p' dump.txt | tr -d ' \n' | xxd -r -p >section.bin && iga64 -d -p=12p72 section.bin >section.iga && grep -q 'math.sqt' section.iga
}
check "export --format elf gives a zebin whose code IGA disassembles" disassembled
check "an inlined function has its line and that of its caller" sh -c "
	rows() { '$aiflame' query --format csv k.data \"\$1\" | tail -n +2; }
	rows \"SELECT n.name, n.line FROM frame_names n JOIN frames f ON f.id = n.frame WHERE kind = 'device' AND f.address = $((sqrt)) ORDER BY inline_depth\" |
		tr '\n' ' ' | grep -q '^matmul,[0-9]* weigh,$line \$'"
"$aiflame" annotate matmul k.data >full.txt 2>full.err
check "annotate: a line has its samples" grep -Eq "^ *80.0 %  #+ +zebin.cl:$line \(weigh\)" full.txt
check "annotate: an instruction says what it waits for, and which message that is" \
	grep -Eq "^ *80.0 %  #+ +\+0x0*${sqrt#0x}  math.sqt .*  sbid 75 % waits for \+0x0*$source send.ugm\$" full.txt
check "annotate: instructions have operands, by IGA" sh -c "grep -q 'math.sqt (32|M0) r' full.txt && ! grep -q IGA full.err"
check "annotate: a message has its meaning" grep -Eq "^ *20.0 % .*  load.ugm.d32.a64 .*  send 100 %\$" full.txt
check "annotate: operands are whole in a file" sh -c "'$aiflame' annotate --min 0 matmul k.data >whole.txt && grep -q '{.*}\$' whole.txt && ! grep -Eq '[+]0x.*[.][.][.]|…' whole.txt"
# wide COLUMNS: its longest line on a terminal so wide
wide() { COLUMNS='' python3 "$root/tests/e2e/terminal.py" "$1" "$aiflame" annotate --min 0 matmul k.data; }
whole=$(wc -L <whole.txt)
check "annotate: operands are whole on a terminal that is wide enough" test "$(wide 300)" = "$whole"
check "annotate: lines are cut to a terminal that is narrower" test "$(wide $((whole - 5)))" -le $((whole - 5))
check "the text that IGA gave is kept in the profile" grep -aq 'iga\.xe_hpc\.' k.data
check "flame: instructions have name and offset, on their lines" sh -c "
	'$aiflame' flame k.data -o i.folded && grep -Eq ';matmul_\[g\];weigh_\[g\]_\[i\];zebin.cl:${line}_\[g\];math.sqt \\+$sqrt' i.folded"
check "flame: instructions have their stalls" sh -c "
	'$aiflame' flame --leaf stall k.data -o s.folded && grep -Eq 'math.sqt \\+$sqrt.*;sbid_\[g\] [0-9]+\$' s.folded"
check "flame: lines stand without instructions where asked for" sh -c "
	'$aiflame' flame --leaf line k.data -o l.folded && grep -Eq 'zebin.cl:${line}_\[g\] [0-9]+\$' l.folded && ! grep -q 'math.sqt' l.folded"
check "flame: each launch path has its share" sh -c "
	awk '/math.sqt/ { s[NR] = \$NF } END { for (i in s) { n++; t += s[i]; if (s[i] > m) m = s[i] } exit !(n == 2 && m > 0.74 * t && m < 0.76 * t) }' i.folded"

# ---- what IGA does not know, and what no compiler wrote

changed() { # FILE PYTHON: a profile FILE.data with the code b changed
	python3 -c "
import sys
b = bytearray(open('matmul.pvc.bin', 'rb').read())
$2
open('$1.bin', 'wb').write(b)" && sed "s#matmul.pvc.bin#$1.bin#" k.script >"$1.script" &&
		"$aiflame" record -q --all-launches -o "$1.data" "$fake" "$1.script"
}
check "the code of a newer GPU is put in its place" changed xe2 "
at = b.index(b'IntelGT\0') + 8
assert b[at:at + 2] == b'\xf7\x04'
b[at] = 0xfa"
check "annotate: of a newer GPU's code names are left, with a note" sh -c "
	'$aiflame' annotate matmul xe2.data >xe2.txt 2>xe2.err && grep -Eq '\+0x0*${sqrt#0x}  math.sqt +sbid' xe2.txt &&
	grep -q 'xe2, ' xe2.txt && grep -q 'IGA .* does not know this device; install' xe2.err"
check "random bytes are put in the place of code" changed random "
import random
random.seed(5)
b[0x40:0x40 + 700] = random.randbytes(700)"
check "annotate: random bytes are listed" sh -c "'$aiflame' annotate --min 0 matmul random.data >random.txt && [ \$(wc -l <random.txt) -gt 40 ]"

# ---- without lines

ocloc compile -q -file "$here/zebin.cl" -device pvc --format zebin -options "-D MATMUL" -output bare -out_dir out >/dev/null 2>&1
sed "s#$work/matmul.pvc.bin#$(ls "$work"/out/bare_*.bin)#" k.script >bare.script
check "built without -g: a program is recorded" "$aiflame" record -q --all-launches -o bare.data "$fake" bare.script
check "built without -g: info names the kernels without lines" sh -c "
	'$aiflame' info bare.data | grep -q '1503 CODE_NO_LINES .* without source lines (matmul); compile device code with -g'"
sed "s#matmul.pvc.bin#maths.pvc.bin#; s/name=matmul/name=maths/; s/name=reduce/name=Intel_Symbol_Table_Void_Program/" k.script >lost.script
check "lines that the compiler lost: a program is recorded" "$aiflame" record -q --all-launches -o lost.data "$fake" lost.script
check "lines that the compiler lost: info names the kernel" sh -c "'$aiflame' info lost.data | grep -q '1504 CODE_LOST_LINES .* (maths)'"

# ---- its older format

ocloc compile -q -file "$here/zebin.cl" -device pvc -options "-g -D MATMUL" -output old -out_dir out >/dev/null 2>&1
sed "s#$work/matmul.pvc.bin#$(ls "$work"/out/old_*.bin)#" k.script >old.script
check "patchtokens: a program is recorded by name" "$aiflame" record -q --all-launches -o old.data "$fake" old.script
check "patchtokens: info says why there is no more, and what to do" says "IGC_EnableZEBinary=1" "$aiflame" info old.data
old_binary() { "$aiflame" export --kernel matmul -o old.elf old.data && cmp old.elf out/old_*.bin; }
check "patchtokens: the binary is exported as it was found" old_binary
check "patchtokens: annotate says what the code is, and what to do" says "older format (patchtokens), which is not read; set IGC_EnableZEBinary=1" "$aiflame" annotate matmul old.data
check "patchtokens: flame keeps offsets" sh -c "'$aiflame' flame old.data -o o.folded && grep -q ';matmul_\[g\];+$sqrt' o.folded"
done_testing
