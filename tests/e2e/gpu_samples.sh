#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Samples that a device takes of itself, on any machine: the fake runtime counts them in functions of a real
# cubin, whose object the agent leaves beside the recorder's socket.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
fake=$build/tests/mock/fake_app
export AIFLAME_STANDBY="$work/standby"

cat >two.script <<EOF
device 0 name="Fake GPU" kind=gpu units=4 clock=monotonic
stream 0 device=0
program 0
kernel 0 program=0 name=_Z5chainPfPKfi
kernel 1 program=0 name=_Z5callsPfPKfi
reason 0 name=long_scoreboard
reason 1 name=selected
code 0 name=_Z5chainPfPKfi object="$root/tests/golden/cubin/kernels_sm90a.cubin" hash=0xabcdef0123456789 symbol=19
code 1 name=_Z5callsPfPKfi hash=0xabcdef0123456789 symbol=18
code 2 name=_Z6absentv hash=0x77 symbol=3
now
window 0 device=0 start=0 end=10000000 period=132000 samples=512 lost=5 others=5
pc window=0 code=0 pc=0xc0 hits=0,300,1,52
pc window=0 code=1 pc=0x100 hits=1,100
pc window=0 code=2 pc=0x10 hits=0,30
pc window=0 code=2 pc=0x20 hits=0,20
launch stream=0 kernel=0 time=1000 stack=0x401000,0x402000 grid=64,1,1 block=8,1,1 start=1000000 end=4000000
launch stream=0 kernel=0 time=1100 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=4000000 end=5000000
launch stream=0 kernel=1 time=1200 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=5000000 end=7000000
sleep time=100000000
EOF
# rows SQL: without the head
rows() {
	"$aiflame" query --format csv a.data "$1" | tail -n +2
}
# are SQL ROW...: exactly these rows
are() {
	sql=$1
	shift
	rows "$sql" >rows.txt
	printf '%s\n' "$@" | diff - rows.txt || { cat a.err; return 1; }
}

check "a recording of counted samples" sh -c '"$0" record --all-launches -o a.data "$1" two.script 2>a.err' "$aiflame" "$fake"
check "a recording of counted samples has its window" are "SELECT end_ns - start_ns, held, lost, thread FROM windows WHERE device = 0" "10000000,1,5,"
check "a recording of counted samples has its samples, those of other programs first" are \
	"SELECT count, reason, pc FROM samples ORDER BY frame" "5,," "300,long_scoreboard,192" "52,selected,192" \
	"100,selected,256" "30,long_scoreboard,16" "20,long_scoreboard,32"
check "a function is a module, and knows its kernel" are \
	"SELECT path, build_id, name FROM modules LEFT JOIN kernels ON kernel = kernels.id WHERE kind = 'device' AND path NOT LIKE 'elf %' ORDER BY build_id" \
	"cubin 0000000000000077,0000000000000077.3," \
	'cubin abcdef0123456789,abcdef0123456789.18,"calls(float*, float const*, int)"' \
	'cubin abcdef0123456789,abcdef0123456789.19,"chain(float*, float const*, int)"'
check "lines and inlined functions come from the object" are \
	"SELECT inline_depth, n.name, file, n.line FROM frame_names n JOIN frames f ON f.id = n.frame WHERE address = 192 AND kind = 'device' ORDER BY 1" \
	'0,"chain(float*, float const*, int)",/src/aiflame/kernels.cu,28' \
	'1,"middle(float const*, int)",/src/aiflame/kernels.cu,20' '2,"inner(float const*, int)",/src/aiflame/kernels.cu,13'
check "lines of a function that a kernel calls come from its own section" are \
	"SELECT function, line FROM frames WHERE address = 256 AND kind = 'device'" '"apart(float, int)",6'
check "the profile has the sampled code" are "SELECT size, length(bytes), arch FROM codes WHERE arch = 'sm_90' ORDER BY size" "512,512,sm_90" "1408,1408,sm_90"
check "the object is kept once" are "SELECT path, name FROM codes JOIN modules ON modules.id = module WHERE arch = 'elf'" "elf cubin abcdef0123456789,device binary"
check "--keep-code: a recording with whole objects" "$aiflame" record -q --all-launches --keep-code -o whole.data "$fake" two.script
exported() { # KERNEL
	"$aiflame" export --kernel "$1" -o out.cubin whole.data && cmp out.cubin "$root/tests/golden/cubin/kernels_sm90a.cubin" && rm out.cubin
}
check "--keep-code: the object is exported as it was, by a kernel in it" exported '^chain'
check "--keep-code: the object is exported as it was, by another that was sampled" exported 'calls'
cut_exported() { # KERNEL: functions that were sampled have code and lines, the third has neither
	"$aiflame" export --kernel "$1" -o out.cubin a.data && [ "$(stat -c %s out.cubin)" = "$(stat -c %s "$root/tests/golden/cubin/kernels_sm90a.cubin")" ] &&
		{ ! command -v readelf || {
			readelf -SW out.cubin 2>/dev/null | grep -o ' [.]text[.]_Z.*BITS ' | awk '{ print $2 }' | sort | uniq -c >kinds.txt
			grep -q '1 NOBITS' kinds.txt && grep -q '2 PROGBITS' kinds.txt &&
				readelf --debug-dump=decodedline out.cubin 2>/dev/null | awk '$1 == "kernels.cu" { print $2 }' >lines.txt &&
				grep -qx 28 lines.txt && grep -qx 6 lines.txt && ! grep -qx 44 lines.txt
		}; } && rm out.cubin
}
check "the object is exported with the functions that were sampled, by a kernel in it" cut_exported '^chain'
check "the object is exported with the functions that were sampled, by another one" cut_exported 'calls'
check "a kernel without an object has none" says "there are binaries of c" "$aiflame" export --kernel absent -o out.cubin a.data
check "a kernel without an object has its name" are \
	"SELECT function FROM frames WHERE address IN (16, 32) AND kind = 'device'" "absent()" "absent()"
check "a missing object is said once" are "SELECT count FROM losses WHERE reason = 1500" "1"
# 300 and 52, shared by 3 ms and 1 ms.
check "a window's samples are shared by time" are \
	"SELECT reason, count, grade FROM attributed WHERE count > 0 ORDER BY count" "selected,13,mixed" "selected,39,mixed" \
	"long_scoreboard,75,mixed" "selected,100,exact" "long_scoreboard,225,mixed"
check "a recording of counted samples: the numbers add up" says "everything adds up" "$aiflame" info a.data
check "info says that the device sampled itself" sh -c "'$aiflame' info a.data | grep -Eq '^  sampling +fake: every .* a unit$'"
check "the recorder leaves nothing behind" sh -c "! find standby -name '*.object' -o -name 'r-*' | grep ."

# A third kernel, of whose 60 us no sample fell into one: of 6.06 ms.
sed 's/^sleep/launch stream=0 kernel=2 time=1300 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=7000000 end=7020000\
launch stream=0 kernel=2 time=1400 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=7020000 end=7040000\
launch stream=0 kernel=2 time=1500 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=7040000 end=7060000\
sleep/; s/^reason 0/kernel 2 program=0 name=_Z5briefv\
reason 0/' two.script >brief.script
unsampled='1 kernel without a sample: 3 launches, 0.99 % of the busy time'
check "a kernel without a sample among others is recorded" "$aiflame" record -q --all-launches -o brief.data "$fake" brief.script
check "the summary says how much time has kernels without a sample" says "         $unsampled" "$aiflame" report brief.data
for table in kernels stalls; do check "report --$table says how much time has kernels without a sample" says "$unsampled" "$aiflame" report --$table brief.data; done
check "report --stalls of one kernel says nothing of others" sh -c "'$aiflame' report --stalls --kernel chain brief.data >one.txt && ! grep 'without a sample' one.txt"
check "annotate of a kernel without a sample says how long its launches are" says "other kernels have some: a launch of this one takes 20.0 us" "$aiflame" annotate brief brief.data
check "annotate of a kernel without a sample says how much time has such kernels" says "in all, $unsampled" "$aiflame" annotate brief brief.data
check "annotate of a kernel with samples says nothing of others" sh -c "'$aiflame' annotate chain brief.data >chain.txt && ! grep 'without a sample' chain.txt"
check "nothing is said where all kernels have samples" sh -c "'$aiflame' report a.data >all.txt && '$aiflame' report --kernels a.data >>all.txt && ! grep 'without a sample' all.txt"

# A library's cubin: 3,000 kernels, 6 MB, of which three are sampled.
python3 "$here/large_cubin.py" make "$root/tests/golden/cubin/kernels_sm90a.cubin" many.cubin 3000
sed "/^kernel\|^code\|^pc\|^launch/d" two.script | sed "/^now/,\$d" >many.script
{
	i=0
	for k in 5 1500 2999; do
		echo "kernel $i program=0 name=k$k" && echo "code $i name=k$k object=\"$work/many.cubin\" hash=0x99 symbol=$((k + 1))" && i=$((i + 1))
	done
	echo now && echo "window 0 device=0 start=0 end=10000000 period=132000 samples=600"
	for i in 0 1 2; do
		echo "pc window=0 code=$i pc=0xc0 hits=0,150,1,30" && echo "pc window=0 code=$i pc=0x110 hits=1,20"
		echo "launch stream=0 kernel=$i time=$((1000 + i)) stack=0x401000,0x402000 grid=64,1,1 block=8,1,1 start=$((i + 1))000000 end=$((i + 1))900000"
	done
	echo "sleep time=100000000"
} >>many.script
check "a large object: it is recorded" "$aiflame" record -q --all-launches -o many.data "$fake" many.script
check "a large object: it is recorded with --keep-code" "$aiflame" record -q --all-launches --keep-code -o all.data "$fake" many.script
size() { stat -c %s "$1"; }
check "a large object: the file has the code of other functions only with --keep-code" test "$(size many.data)" -lt 300000 -a "$(size all.data)" -gt 4500000
has_functions() { [ "$("$aiflame" query --format csv many.data "SELECT group_concat(name) FROM (SELECT name FROM codes WHERE arch = 'sm_90' ORDER BY name)" | tail -1)" = '"k1500,k2999,k5"' ]; }
check "a large object: the functions that were sampled have their code" has_functions
same() { # COMMAND...: prints the same of both files
	"$aiflame" "$@" many.data >cut.txt && "$aiflame" "$@" all.data >whole.txt && cmp cut.txt whole.txt && [ "$(wc -l <cut.txt)" -gt "$lines" ]
}
for k in 5 1500 2999; do lines=10 && check "a large object: annotate shows k$k as with the whole object" same annotate --min 0 "^k$k\$"; done
lines=5
check "a large object: flame draws instructions as with the whole object" same flame --leaf instruction --format folded -o -
check "a large object: the export has the sampled functions alone" sh -c "
	'$aiflame' export -o k.cubin many.data && python3 '$here/large_cubin.py' compare k.cubin many.cubin k5 k1500 k2999"
check "a large object: the export with --keep-code has everything" sh -c "'$aiflame' export -o full.cubin all.data && cmp full.cubin many.cubin"

check "--no-code keeps no code" sh -c "
	'$aiflame' record -q --all-launches --no-code -o n.data '$fake' two.script &&
	[ \"\$('$aiflame' query --format csv n.data 'SELECT count(*), max(length(bytes)) FROM codes' | tail -1)\" = 2, ]"

# A recorder that dies leaves its objects; the next one takes them away.
sed 's/^sleep.*/sleep time=3000000000/' two.script >long.script
"$aiflame" record -q -o k.data "$fake" long.script &
recorder=$!
has_object() { [ -n "$(find standby -name '*.object')" ]; }
wait_until has_object
check "the object lies beside the socket" sh -c "find standby -name abcdef0123456789.object | grep -q ."
kill -9 $recorder
wait $recorder 2>/dev/null
check "a recorder that was killed could not remove it" sh -c "find standby -name '*.object' | grep -q ."
check "the next recorder removes what a killed one left" sh -c "
	'$aiflame' record -q -o l.data true && ! find standby -name '*.object' | grep ."
done_testing
