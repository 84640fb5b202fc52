#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# annotate: the listing of a real kernel, and NVIDIA's disassembler where there is one.
. "$(dirname "$0")/tap.sh"

PATH=/usr/bin:/bin # no nvdisasm but ours
export PATH
unset CUDA_HOME CUDA_PATH
export HOME="$work"
POCL_CACHE_DIR=$work/lines "$aiflame" record -q --all-launches --device-lines -o m.data "$matmul" 256 10 >/dev/null 2>&1
"$aiflame" annotate basic m.data >basic.txt
check "a kernel's head has its time, launches and samples" \
	grep -Eq '^[0-9.]+ % of busy time: .* in 11 launches; [0-9,]+ samples$' basic.txt
check "source lines are listed with their text" grep -Eq '^ *[0-9.]+ %  #+ +[^ ]*\.cl:11 .*c\[row \* n \+ col\] \+= ' basic.txt
check "instructions are listed with offset, mnemonic and operands" \
	grep -Eq '^ *[0-9.]+ %  #* +\+0x[0-9a-f]{4}  [a-z0-9]+ .*\[r' basic.txt
check "jumps within a kernel go to an offset that the listing has" sh -c "
	'$aiflame' annotate --min 0 basic m.data >jumps.txt && ! grep -Eq '  j[a-z]+ 0x' jumps.txt &&
	to=\$(sed -nE 's/.*  j[a-z]+ (\+0x[0-9a-f]+)\$/\1/p' jumps.txt | head -1) && [ -n \"\$to\" ] && grep -q \"  \$to  \" jumps.txt"
check "annotate lists only the kernels that match" sh -c "! grep -q multiply_local basic.txt"
check "no line is longer than 110 columns" awk 'length($0) > 110 { exit 1 }' basic.txt
"$aiflame" annotate --min 0 -i m.data '^multiply_basic$' >all.txt
check "--min 0 leaves no line out" sh -c "! grep -q '\.\.\.' all.txt && [ \$(wc -l <all.txt) -gt \$(wc -l <basic.txt) ]"
check "the hottest kernel comes first" sh -c "'$aiflame' annotate multiply m.data | head -1 | grep -qx multiply_basic"
check "a name that no kernel has is one clear line, which names one that is there" \
	says "no kernel that was executed matches 'nothing'; one is 'multiply_" "$aiflame" annotate nothing m.data
check "a name that no kernel has is a failure" status_is 1 "$aiflame" annotate nothing m.data
check "a KERNEL that is no regular expression is a failure" status_is 1 "$aiflame" annotate '(' m.data
check "annotate without KERNEL is misuse" status_is 2 "$aiflame" annotate
check "report --stalls says that the profile has no stall reasons" says "no stall reasons in this profile" "$aiflame" report --stalls m.data
check "the summary of a profile without stall reasons names no waits" sh -c "! '$aiflame' report m.data | grep -q waits:"

# The same bytes as if they were NVIDIA's: any are allowed.
cp m.data nv.data
sqlite3 nv.data "UPDATE string SET value = 'sm_90' WHERE value = 'x86_64'"
cp nv.data slow.data
cp nv.data wrong.data
cp nv.data triton.data
check "without nvdisasm, instructions have names or numbers" \
	sh -c "'$aiflame' annotate basic nv.data | grep -Eq '  \+0x[0-9a-f]{3}0  (@[!UP0-9T]* )?[A-Z0-9a-fx_]+( |\$)'"
check "without nvdisasm, one line says where there is more text" sh -c "
	'$aiflame' annotate basic nv.data 2>hint.txt >hinted.txt && [ \$(wc -l <hint.txt) = 1 ] && grep -q 'nvdisasm was not found' hint.txt"
check "a listing with full text has no hint at nvdisasm" sh -c "'$aiflame' annotate basic m.data 2>&1 >none.txt | [ \$(wc -c) = 0 ]"
check "how lines were found is not a part of the kernel's name" sh -c "! grep -q '(line matched)' basic.txt"
tool() { # tool DIRECTORY LINE...
	mkdir -p "$1"
	{ echo '#!/bin/sh' && cat; } >"$1/nvdisasm"
	chmod +x "$1/nvdisasm"
}
tool cuda/bin <<'EOF'
echo "$*" >>"$HOME/asked.txt"
size=$(wc -c <"$4") i=0
while [ $i -lt $size ]; do printf '        /*%04x*/                   TOLD.E R%d, desc[UR6] ;\n' $i $i; i=$((i + 16)); done
EOF
check "nvdisasm of \$CUDA_HOME gives the full text" \
	sh -c "CUDA_HOME='$work/cuda' '$aiflame' annotate basic nv.data | grep -Eq '  TOLD\.E R[0-9]+, desc'"
check "nvdisasm is asked for one function, as raw bytes" grep -Eqx -- '-b SM90 -ndf /dev/fd/[0-9]+' asked.txt
check "nvdisasm is asked once for the same code" sh -c "CUDA_HOME='$work/cuda' '$aiflame' annotate basic nv.data >/dev/null && [ \$(wc -l <asked.txt) = 1 ]"
check "text of nvdisasm stays in the profile" sh -c "'$aiflame' annotate basic nv.data | grep -q '  TOLD\.E '"
tool wrong <<'EOF'
printf '/*0000*/ HALF ;\n'
exit 1
EOF
check "the output of an nvdisasm that fails is left out" \
	sh -c "PATH='$work/wrong:$PATH' '$aiflame' annotate --min 0 basic wrong.data >w.txt && ! grep -q HALF w.txt && grep -q +0x0010 w.txt"
mkdir -p venv/bin venv/lib/python3.12/site-packages/triton/backends/nvidia/bin
cp cuda/bin/nvdisasm venv/lib/python3.12/site-packages/triton/backends/nvidia/bin
check "nvdisasm of the Triton package is found" \
	sh -c "PATH='$work/venv/bin:$PATH' '$aiflame' annotate basic triton.data | grep -q '  TOLD\.E '"
cp wrong.data own.data
tool own <<'EOF'
[ "$2" = SM90a ] || exit 1
printf '/*00d0*/ OWN.E ;\n'
EOF
check "nvdisasm is asked for sm_90a where sm_90 fails" \
	sh -c "PATH='$work/own:$PATH' '$aiflame' annotate --min 0 basic own.data | grep -q '  OWN\.E'"
tool slow <<'EOF'
exec sleep 100
EOF
check "an nvdisasm that never ends is stopped" \
	sh -c "PATH='$work/slow:$PATH' timeout 60 '$aiflame' annotate --min 0 basic slow.data | grep -q +0x0010"
done_testing
