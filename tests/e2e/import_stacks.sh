#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of stacks with counts become profiles with the same stacks and counts.
. "$(dirname "$0")/tap.sh"

cat >"$work/in.folded" <<'END'
main;copy;Memcpy DtoH_[g] 25
main;copy;Memcpy HtoD (Pageable -> Device)_[g] 26
main;copy;Memcpy PtoP_[g] 27
main;copy;Memset (Device)_[g] 28
main;other;cuLaunchKernel;gemm_[g];LDG +0x20_[g] 125
main;run (a.py)_[p];cuLaunchKernel;gemm_[g] 1000
main;run (a.py)_[p];cuLaunchKernel;gemm_[g];FMA +0x10_[g] 500
main;run (a.py)_[p];cuLaunchKernel;gemm_[g];LDG +0x20_[g] 250
main;write;vfs_write_[k] 77
END
grep '_\[g\]' "$work/in.folded" >"$work/device.folded"
grep -v '_\[g\]' "$work/in.folded" >"$work/cpu.folded"
goes_round() { # FROM TO
	LC_ALL=C sort "$1" >"$work/a.sorted" && LC_ALL=C sort "$2" >"$work/b.sorted" && diff "$work/a.sorted" "$work/b.sorted"
}
mkdir -p "$work/result/data.0" && : >"$work/result/result.vtune"
check "import says what to export of a result directory of VTune" says "vtune -report hotspots -format csv -csv-delimiter comma -r $work/result" "$aiflame" import "$work/result" -o "$work/in.data"
check "import asks for the files of another directory" says "is a directory; name the files in it" "$aiflame" import "$work/result/data.0" -o "$work/in.data"
check "folded: stacks of every kind are imported" "$aiflame" import -q "$work/in.folded" -o "$work/in.data"
"$aiflame" flame --detail full -o "$work/out.folded" "$work/in.data"
check "folded: device time comes back" goes_round "$work/device.folded" "$work/out.folded"
"$aiflame" flame --of cpu --detail full -o "$work/out.folded" "$work/in.data"
check "folded: CPU time comes back" goes_round "$work/cpu.folded" "$work/out.folded"
kinds() { "$aiflame" query --format csv "$work/in.data" "SELECT kind, dur_ns FROM copies ORDER BY 2" | tr -d '\r' | tr '\n' ' '; }
check "folded: transfers are known by torch's names" test "$(kinds)" = "kind,dur_ns read,25 write,26 peer,27 fill,28 "
printf 'main;[peer]_[g] 5\n' >"$work/mark.folded"
check "folded: transfers are known by their kinds" says "main;Memcpy PtoP_[g] 5" sh -c "
	'$aiflame' import -q '$work/mark.folded' -o '$work/s.data' && '$aiflame' flame --format folded -o - '$work/s.data'"
check "folded: info tells that there are no times" says "IMPORT_UNTIMED" "$aiflame" info "$work/in.data"
check "folded: counts of the import add up" says "everything adds up" "$aiflame" info "$work/in.data"
# Inlined functions of both sides, places in device code that are no functions; _[G] is the device, too, in stacks of 2025.
printf '%s\n' 'main;push_[i];cuLaunchKernel;gemm_[g];inner_[g]_[i];deeper_[g]_[i];gemm.cu:12_[g];FMA +0x10_[g];long_scoreboard_[g] 61' 'main;push_[i];cuLaunchKernel;gemm_[g];called_[g];STG +0x40_[g] 31' 'main;a (a.py)_[p];gemm_[g];inner_[g]_[i] 7' >"$work/device.folded"
printf '%s\n' 'main;write_[i];vfs_write_[k]_[i] 78' 'main;write;inner_[i];innermost_[i] 5' >"$work/cpu.folded"
cat "$work/device.folded" "$work/cpu.folded" >"$work/kinds.folded"
check "folded: every kind of frame is imported" "$aiflame" import -q "$work/kinds.folded" -o "$work/kinds.data"
"$aiflame" flame --detail full -o "$work/out.folded" "$work/kinds.data"
check "folded: inlined frames and frames that are no functions come back in device code" goes_round "$work/device.folded" "$work/out.folded"
"$aiflame" flame --of cpu --detail full -o "$work/out.folded" "$work/kinds.data"
check "folded: inlined frames and frames that are no functions come back on CPUs" goes_round "$work/cpu.folded" "$work/out.folded"
printf 'app;7;main;run;-;mm.cpp_[G];mm_[G];mad (16) r1_[g];sbid_[g];0x1f0_[g] 5\n' >"$work/G.folded"
check "folded: frames marked _[G] are read" says 'app;7;main;run;-;mm.cpp_[g];mm_[g];' sh -c "
	'$aiflame' import -q '$work/G.folded' -o '$work/s.data' && '$aiflame' flame --detail full --format folded -o - '$work/s.data'"
lines() { # TEXT TAKEN BAD ARGS...: what of it is taken, and how many lines are told to be damaged
	printf '%b' "$1" >"$work/lines.folded"
	"$aiflame" import -q "$work/lines.folded" -o "$work/s.data" && "$aiflame" flame --of cpu --detail full -o "$work/s.folded" "$work/s.data" || return 1
	"$aiflame" info "$work/s.data" >"$work/s.info"
	[ "$(LC_ALL=C sort "$work/s.folded" | tr '\n' ,)" = "$2" ] && [ "$(awk '$2 == "IMPORT_LINE" { print $3 }' "$work/s.info")" = "$3" ] ||
		{ cat "$work/s.folded" "$work/s.info"; return 1; }
}
check "folded: a line without a count costs itself alone" lines 'python;f;work 88.5\nno count\npython;g 1\n' 'python;f;work 89,python;g 1,' 1
check "folded: a torn last line costs itself alone" lines 'a;b 2\na;c' 'a;b 2,' 1
check "folded: a count that is no number costs its line alone" lines 'a;b 2\na;c -5\na;d 1e3\na;e 9223372036854775807\na;f 99999999999999999999\na;g 0x10\n' 'a;b 2,' 5
check "folded: stacks of one frame" lines 'bash 5\npython3 2\n' 'bash 5,python3 2,' ''
check "folded: --from tells a format that nothing in the file tells" sh -c "
	printf 'word\nanother\nbash 5\n' >'$work/one.folded' && ! '$aiflame' import -q '$work/one.folded' -o '$work/s.data' 2>'$work/one.err' &&
	grep -q 'say which with --from' '$work/one.err' && grep -q 'frame;frame COUNT' '$work/one.err' &&
	'$aiflame' import -q --from folded '$work/one.folded' -o '$work/s.data' && '$aiflame' info '$work/s.data' | grep -E '1712 IMPORT_LINE +2 '"
check "folded: a file without stacks is refused" says "no line \"frame;frame COUNT\" in it" sh -c "
	printf 'word\nanother\n' >'$work/none.folded'; '$aiflame' import -q --from folded '$work/none.folded' -o '$work/n.data'"
check "folded: the larger of a difference's two counts is taken" lines 'main;foo 3 5\nmain;bar 2 1\n' 'main;bar 1,main;foo 5,' ''
check "folded: info tells which count of a difference was taken" says "1731 IMPORT_PAIRS" "$aiflame" info "$work/s.data"
check "folded: a name that ends with a number is a name" lines 'main;step 3 5\nmain;bar 1\n' 'main;bar 1,main;step 3 5,' ''
printf 'a;b 1\na;b 1152921504606846976\na;c 2\n' >"$work/much.folded"
check "folded: a sum beyond what time can be costs its line" says "1712 IMPORT_LINE" sh -c "'$aiflame' import -q '$work/much.folded' -o '$work/s.data' && '$aiflame' info '$work/s.data'"
printf 'python;f (t.py);work 88.5\n' >"$work/samples.folded"
check "folded: --count gives a sample its time" says "work 885000000" sh -c "'$aiflame' import -q --count 10ms '$work/samples.folded' -o '$work/s.data' && '$aiflame' flame --of cpu -o '$work/s.folded' '$work/s.data' && cat '$work/s.folded'"
printf '# mode: wall\n# interval: 1000\n\nP1;T2;a.py:f:7 12\n\n# duration: 13\n' >"$work/comments.folded"
check "folded: comments of the tools that wrote a file are no stacks" says "a.py:f:7_[p] 12000" sh -c "'$aiflame' import -q --count 1us '$work/comments.folded' -o '$work/c.data' && '$aiflame' flame --of cpu -o '$work/c.folded' '$work/c.data' && cat '$work/c.folded'; ! '$aiflame' info '$work/c.data' | grep IMPORT_LINE"
check "folded: --as device makes stacks of the device" says "work_[g] 89" sh -c "'$aiflame' import -q --as device '$work/samples.folded' -o '$work/s.data' && '$aiflame' flame -o '$work/s.folded' '$work/s.data' && cat '$work/s.folded'"

# Counts are lengths here: how often something was is nowhere in the file.
check "lengths without launches: the summary says nothing of launches" sh -c "'$aiflame' report '$work/in.data' >'$work/first' && grep -q 'stacks with lengths' '$work/first' &&
	! grep -E 'sample|idle|active from| in +[0-9]+  ' '$work/first'"
check "lengths without launches: report --kernels says nothing of launches" sh -c "'$aiflame' report --kernels '$work/in.data' >'$work/kernels' && grep -q gemm '$work/kernels' && ! grep -E 'launches|average|samples' '$work/kernels' &&
	'$aiflame' report --kernels --format csv '$work/in.data' | grep -E ',1875,1875,(0,){8},*0,gemm,'"
check "lengths without launches: report --launches says that they are not known" says "launches are not known" sh -c "'$aiflame' report --launches '$work/in.data'; true"
check "lengths without launches: info says that its numbers are of rows" says "mean nothing else" "$aiflame" info "$work/in.data"
check "lengths without launches: flame --by launches is refused" says "are not known: the imported file has stacks with lengths; leave out --by launches" sh -c "'$aiflame' flame --by launches -o '$work/no.svg' '$work/in.data'; true"
check "lengths without launches: a picture says lengths, no samples and launches" sh -c "'$aiflame' flame -o '$work/l.svg' '$work/in.data' && grep -q 'stacks with lengths' '$work/l.svg' && ! grep -E '[0-9] (samples?|launch(es)?)\\>' '$work/l.svg'"

# iaprof's text, by its rules: zeros in the first columns, one kernel from two stacks.
printf '%b' 'string\t1\tpython3\nstring\t2\tmain;forward;zeLaunch\nstring\t3\tmm.cl\nstring\t4\tmm\ninterval\t0\t1000.25\n' \
	'kernel\t0xfffd0000\t1\t4711\t2\t3\t4\nstring\t5\tsend.ugm\neustall\t0x228\t5\t0\t0\t0\t7\t0\t5\t0\t0\t0\t0\n' \
	'string\t6\tmad\neustall\t0x278\t6\t10\t0\t7\t3\t0\t5\t0\t0\t1\t2\nstring\t7\tmain;backward;zeLaunch\n' \
	'kernel\t0xfffd0000\t1\t4711\t7\t3\t4\neustall\t0x228\t5\t0\t1\t0\t0\t0\t0\t0\t0\t0\t4\nmetric\tbusy-percent\t97\nmetric\tfrequency-MHz\t1550\n' \
	'interval\t1\t1001.25\nmetric\tbusy-percent\t0\nmetric\tfrequency-MHz\t300\ninterval\t2\t1002.25\nmetric\tbusy-percent\t0\n' >"$work/iaprof.txt"
cat >"$work/iaprof.folded" <<'END'
main;backward;mm_[g];send.ugm +0x228_[g];control_[g] 1
main;backward;mm_[g];send.ugm +0x228_[g];tdr_[g] 4
main;forward;mm_[g];mad +0x278_[g];active_[g] 10
main;forward;mm_[g];mad +0x278_[g];other_[g] 1
main;forward;mm_[g];mad +0x278_[g];pipestall_[g] 7
main;forward;mm_[g];mad +0x278_[g];sbid_[g] 5
main;forward;mm_[g];mad +0x278_[g];send_[g] 3
main;forward;mm_[g];mad +0x278_[g];tdr_[g] 2
main;forward;mm_[g];send.ugm +0x228_[g];sbid_[g] 5
main;forward;mm_[g];send.ugm +0x228_[g];send_[g] 7
END
# As it was written in 2025: what changes has a line of its own, and each reason a sample.
printf '%b' 'string\t1\t[unknown file]\nstring\t2\t[failed decode]\nstring\t3\tactive\nstring\t4\tsbid\nstring\t5\tunknown\nstring\t6\tapp\n' \
	'string\t7\tmain;run;\nstring\t8\tioctl_[k];\nstring\t9\tmm\nstring\t10\tmad (16) r1\nstring\t11\tapp;7;main;run;ioctl_[k];-;x\n' \
	'interval_start\t1\t1000.25\nproc_name\t6\npid\t7\nustack\t7\nkstack\t8\nshader_type\t2\ngpu_file\t1\ngpu_symbol\t9\ninsn_text\t10\n' \
	'e\t11\t3\t1f0\t5\ne\t11\t4\t1f0\t7\ninsn_text\t2\ne\t11\t5\t200\t11\nkstack\t0\ne\t11\t4\t200\t13\ninterval_end\n' >"$work/e.txt"
cat >"$work/e.folded" <<'END'
main;run;ioctl_[k];mm_[g];+0x200_[g];other_[g] 11
main;run;ioctl_[k];mm_[g];mad (16) r1 +0x1f0_[g];active_[g] 5
main;run;ioctl_[k];mm_[g];mad (16) r1 +0x1f0_[g];sbid_[g] 7
main;run;mm_[g];+0x200_[g];sbid_[g] 13
END
check "iaprof, of 2025: text is imported" "$aiflame" import -q "$work/e.txt" -o "$work/e.data"
"$aiflame" flame --detail full --leaf stall -o "$work/out.folded" "$work/e.data"
check "iaprof, of 2025: every count comes back under its own stack" goes_round "$work/e.folded" "$work/out.folded"
check "iaprof, of 2025: no line is left out" sh -c "! '$aiflame' info '$work/e.data' | grep IMPORT_"LINE
check "iaprof: text is imported" "$aiflame" import -q "$work/iaprof.txt" -o "$work/i.data"
"$aiflame" flame --by samples --leaf stall -o "$work/out.folded" "$work/i.data"
sed -i 's/;zeLaunch//' "$work/out.folded"
check "iaprof: every count comes back under its own stack" goes_round "$work/iaprof.folded" "$work/out.folded"
check "iaprof: counts of the import add up" says "everything adds up" "$aiflame" info "$work/i.data"
check "iaprof: the summary of samples says nothing of launches" sh -c "'$aiflame' report '$work/i.data' >'$work/first' && grep -q 'stacks of 45 samples: when' '$work/first' &&
	! grep -E 'launches|idle|active from| in +[0-9]+  |which spans' '$work/first'"
check "iaprof: report --kernels has samples and no launches" sh -c "'$aiflame' report --kernels '$work/i.data' >'$work/kernels' && grep -qE ' 45 +mm ' '$work/kernels' && ! grep -E 'launches|average' '$work/kernels' &&
	'$aiflame' report --kernels --format csv '$work/i.data' | grep -E ',45,45,(0,){7}45,,*4711,mm,'"
check "iaprof: flame --by launches is refused" says "stacks of samples; leave out --by launches" sh -c "'$aiflame' flame --by launches -o '$work/no.svg' '$work/i.data'; true"
check "iaprof: report --stalls says nothing of warps or hidden stalls" sh -c "'$aiflame' report --stalls '$work/i.data' >'$work/st' && grep -q '^mm: ' '$work/st' && ! grep -E 'warp|hidden:' '$work/st'"
check "iaprof: a kernel without a stack has no gap for its caller" sh -c "
	printf 'interval\t0\t1\nkernel\t0x1000\t0\t7\t0\t0\t0\neustall\t0x8\t0\t0\t0\t0\t7\t0\t0\t0\t0\t0\t0\n' >'$work/bare.txt' &&
	'$aiflame' import -q '$work/bare.txt' -o '$work/bare.data' && '$aiflame' report '$work/bare.data' | grep -E '^kernels .* 7 samples, waits: send 100.0 %\$'"
annotated() { # FILE KERNEL LINE...: the listing has these lines, and no other instruction
	file=$1 kernel=$2
	shift 2
	"$aiflame" annotate "$kernel" --min 0 "$file" >"$work/listing" && printf '%s\n' "$@" >"$work/lines" && sed -n '/of its samples/,$p' "$work/listing" | grep . | diff "$work/lines" -
}
check "iaprof: annotate lists instructions by their texts" annotated "$work/i.data" mm "mm: 100.0 % of its samples; its code is not in the profile" \
	" 37.8 %  ##      +0x0228  send.ugm     send 41 %, sbid 29 %" " 62.2 %  ####    +0x0278  mad          pipestall 25 %"
check "iaprof: annotate says nothing of launches" sh -c "grep -q '^45 samples\$' '$work/listing'"
check "folded: annotate lists frames inside of a kernel" annotated "$work/in.data" gemm "gemm: 100.0 % of its samples; its code is not in the profile" \
	" 20.0 %  #       LDG +0x20" " 53.3 %  ###     gemm" " 26.7 %  ##      FMA +0x10"
check "iaprof: info says that its numbers of launches are of rows" says "numbers of launches and the times below are of rows" "$aiflame" info "$work/i.data"
check "iaprof: a picture says samples and no launches" sh -c "'$aiflame' flame -o '$work/l.svg' '$work/i.data' && grep -qE '[0-9] samples' '$work/l.svg' && ! grep -E '[0-9] launch(es)?\>' '$work/l.svg'"
untimed() { # FILE: there is no time of it anywhere
	for v in report "report --kernels" "report --stacks" "report --stalls" "annotate mm" "flame --format folded -o -" "flame -o -"; do
		# shellcheck disable=SC2086
		"$aiflame" $v "$1" >"$work/view" 2>&1 && [ -s "$work/view" ] && ! grep -E '[0-9] (ns|us|ms)|0 launches|wall' "$work/view" || { echo "$v"; return 1; }
	done
}
cp "$work/i.data" mm.data
check "iaprof: no view calls samples times" untimed mm.data
check "iaprof: flame --by wall of samples is refused" says "the imported file has samples without times; draw them with --by samples" sh -c "! '$aiflame' flame --by wall -o no.svg mm.data"
check "iaprof: --count gives a sample its time" sh -c "'$aiflame' import -q --count 10ms '$work/iaprof.txt' -o c.data && '$aiflame' report c.data | grep -q 'busy     450 ms (kernels 450 ms' && '$aiflame' flame --by wall -o c.svg c.data"
# Two rows of one stack here, one when it comes back: neither is a number of kernels.
printf '%b' 'string\t1\tp\nstring\t2\tmain\nstring\t3\tf\nstring\t4\tk\nstring\t5\tmad\ninterval\t0\t1\nkernel\t0x1000\t1\t7\t2\t3\t4\neustall\t0x8\t5\t0\t0\t0\t7\t0\t0\t0\t0\t0\t0\n' \
	'interval\t1\t2\nkernel\t0x1000\t1\t7\t2\t3\t4\neustall\t0x8\t5\t0\t0\t0\t7\t0\t0\t0\t0\t0\t0\n' >"$work/two.txt"
check "iaprof: import tells samples and no number of kernels" says "two.data: 14 samples of 1 process" "$aiflame" import "$work/two.txt" -o "$work/two.data"
"$aiflame" export --detail full -o "$work/one.iaprof" "$work/two.data"
check "iaprof: import of an export tells samples and no number of kernels" says "one.data: 14 samples of 1 process" "$aiflame" import "$work/one.iaprof" -o "$work/one.data"
# What the text says, however its strings are numbered: all that a profile keeps of it.
cat >"$work/said.awk" <<'END'
BEGIN { FS = "\t" }
$1 == "string" { text[$2] = $3 }
$1 == "kernel" { kernel = text[$3] "|" $4 "|" text[$5] "|" text[$6] "|" text[$7] }
$1 == "metric" { print ++metrics[$2] "|" $2 "|" $3 }
$1 == "eustall" { printf "%s|%s|%s", kernel, $2, text[$3]; for (i = 4; i <= 13; i++) printf "|%s", $i; print "" }
END
says_the_same() { # FROM TO
	awk -f "$work/said.awk" "$1" >"$work/a.said" && awk -f "$work/said.awk" "$2" >"$work/b.said" && [ -s "$work/a.said" ] &&
		goes_round "$work/a.said" "$work/b.said"
}
"$aiflame" export --detail full -o "$work/back.iaprof" "$work/i.data"
# A counter's value between samples: the export has them together, at the end.
{ sed '/^interval.1/i metric\tbusy-percent\t97' "$work/two.txt"; printf 'metric\tbusy-percent\t1\n'; } >"$work/between.txt"
check "iaprof: intervals are numbered from 0, and none ends before the last one" sh -c "
	'$aiflame' import -q --count 1s '$work/between.txt' -o '$work/s.data' && '$aiflame' export -o '$work/s.iaprof' '$work/s.data' && cut -f 1-3 '$work/s.iaprof' | grep ^interval >'$work/intervals' &&
	printf 'interval\t%s\n' '0	7.000000' '1	14.000000' '2	14.000000' | diff - '$work/intervals'"
check "iaprof: an export has all counts" sh -c "'$aiflame' import -q '$work/s.iaprof' -o '$work/n.data' && '$aiflame' export -o '$work/n.iaprof' '$work/n.data' &&
	for f in s n; do grep -v ^interval '$work/'\$f.iaprof >'$work/'\$f.rest; done && grep -q '	14	' '$work/s.rest' && cmp '$work/s.rest' '$work/n.rest'"
check "iaprof: an export says the same as the text that was imported" says_the_same "$work/iaprof.txt" "$work/back.iaprof"
"$aiflame" import -q "$work/back.iaprof" -o "$work/i2.data"
"$aiflame" export --detail full -o "$work/back2.iaprof" "$work/i2.data"
check "iaprof: a second export is the same to the byte" sh -c "
	grep -v ^interval '$work/back.iaprof' >'$work/1' && grep -v ^interval '$work/back2.iaprof' | cmp '$work/1' -"
counters() { # FILE
	"$aiflame" query --format csv "$1" 'SELECT name, value, unit FROM counters ORDER BY time_ns, rowid' | tail -n +2 | diff "$work/counters" -
}
printf '%s\n' busy-percent,97.0,% frequency-MHz,1550.0,MHz busy-percent,0.0,% frequency-MHz,300.0,MHz busy-percent,0.0,% >"$work/counters"
check "iaprof: metrics become counters" counters "$work/i.data"
check "iaprof: counters come back from an export" counters "$work/i2.data"
check "iaprof: each interval has its own time" test "$("$aiflame" query --format csv "$work/i2.data" 'SELECT count(DISTINCT time_ns) FROM counters' | tail -1)" = 3
check "iaprof: report --counters lists metrics" says 'Intel GPU  frequency-MHz  MHz        2  300     925  1550      925' "$aiflame" report --counters "$work/i.data"
check "iaprof: report --counters of a profile without metrics says so" says 'no counters in this profile' sh -c "! '$aiflame' report --counters '$work/in.data' 2>&1"
check "iaprof: a stall that is no EU reason is exported as other" sh -c "
	printf 'main;k_[g];a_[g] 5\nmain;k_[g] 2\n' >'$work/n.folded' && '$aiflame' import -q '$work/n.folded' -o '$work/n.data' &&
	'$aiflame' export --format iaprof -o - '$work/n.data' | awk -F'\t' '\$1 == \"eustall\" { n += \$12; all += \$4 + \$5 + \$6 + \$7 + \$8 + \$9 + \$10 + \$11 + \$13 }
		END { exit n != 7 || all != 0 }'"
check "iaprof: --from iaprof of another file says that none of its lines fits" says 'junk.txt: none of its lines is iaprof'"'"'s text; leave out --from' sh -c "
	printf 'hello\n\nworld 5\n' >'$work/junk.txt'; '$aiflame' import -q --from iaprof '$work/junk.txt' -o '$work/n.data'"
# Counters alone have the times of their intervals, and come back with them.
printf '%b' 'interval\t0\t1000.5\nmetric\tbusy-percent\t7\nmetric\tfrequency-MHz\t300\ninterval\t1\t1001.75\nmetric\tbusy-percent\t0\n' >"$work/alone.txt"
printf '%s\n' busy-percent,7.0,0 frequency-MHz,300.0,0 busy-percent,0.0,1250000000 >"$work/alone.rows"
alone() { "$aiflame" query --format csv "$1" 'SELECT name, value, time_ns FROM counters ORDER BY time_ns, name' | tail -n +2 | diff "$work/alone.rows" -; }
check "iaprof: metrics without samples are a profile" sh -c "'$aiflame' import '$work/alone.txt' -o '$work/alone.data' >'$work/alone.out' 2>&1 && grep -q 'Next: aiflame report --counters ' '$work/alone.out' && '$aiflame' info '$work/alone.data' >'$work/alone.info' && grep -q 'everything adds up' '$work/alone.info' && ! grep -q IMPORT_UNTIMED '$work/alone.info'"
check "iaprof: metrics without samples have the times of their intervals" alone "$work/alone.data"
check "iaprof: import and flame of metrics alone say nothing of samples" sh -c "! grep samples '$work/alone.out' && ! '$aiflame' flame -o '$work/no.svg' '$work/alone.data' 2>'$work/no.err' && ! grep 'it has samples' '$work/no.err'"
check "iaprof: report --counters lists metrics without samples" says 'Intel GPU  frequency-MHz  MHz        1  300' "$aiflame" report --counters "$work/alone.data"
check "iaprof: metrics without samples are exported as text" sh -c "'$aiflame' export -o '$work/alone.iaprof' '$work/alone.data' && '$aiflame' import -q '$work/alone.iaprof' -o '$work/alone2.data' && grep -v ^interval '$work/alone.iaprof' | diff - '$work/alone.txt' | grep -c '^[<>]' | grep -qx 2"
check "iaprof: metrics without samples come back from an export" alone "$work/alone2.data"
check "iaprof: export --kernel of metrics alone is refused" says 'the profile, or the selected part, has none' sh -c "'$aiflame' export --kernel x -o '$work/no.iaprof' '$work/alone.data'; true"
check "iaprof: text without samples and metrics is refused" says 'none.txt: it has no sample and no metric' sh -c "
	printf 'interval\t0\t1\nstring\t1\tx\n' >'$work/none.txt'; '$aiflame' import -q '$work/none.txt' -o '$work/n.data'"
check "iaprof: texts that are missing are counted" sh -c "
	sed '/^string.4/d; /^string.7/d' '$work/iaprof.txt' >'$work/missed.txt' && '$aiflame' import -q '$work/missed.txt' -o '$work/s.data' && '$aiflame' info '$work/s.data' | grep -E ' IMPORT_NAME +45 ' &&
	'$aiflame' flame --by samples --leaf kernel -o '$work/s.folded' '$work/s.data' && [ \"\$(awk '{ n += \$NF } END { print n }' '$work/s.folded')\" = 45 ]"
# A kernel line's counts for all samples below it; a line without samples for none, one that lacks two texts once.
printf '%b' 'string\t1\tk\ninterval\t0\t1\nkernel\t0x10\t1\t7\t0\t0\t9\neustall\t0x8\t0\t3\t0\t0\t0\t0\t0\t0\t0\t0\t0\neustall\t0x10\t9\t0\t0\t0\t0\t0\t0\t0\t0\t0\t4\n' \
	'kernel\t0x20\t1\t7\t0\t0\t1\neustall\t0x8\t0\t50\t0\t0\t0\t0\t0\t0\t0\t0\t0\neustall\t0x8\t9\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n' >"$work/nameless.txt"
check "iaprof: texts that are missing are counted by samples" sh -c "'$aiflame' import -q '$work/nameless.txt' -o '$work/n.data' && '$aiflame' info '$work/n.data' | grep -E ' IMPORT_NAME +7  samples '"
check "iaprof: a text numbered 0 is no missing text" sh -c "! '$aiflame' info '$work/bare.data' | grep IMPORT_NAME"
check "iaprof: a line that is not understood is counted" says "1712 IMPORT_LINE" sh -c "{ cat '$work/iaprof.txt'; echo nonsense; } >'$work/bad.txt' && '$aiflame' import -q '$work/bad.txt' -o '$work/i.data' && '$aiflame' info '$work/i.data'"
# VTune's and Advisor's CSV, by the rules of their reports: callers first, callers last, functions alone, loops.
cat >"$work/down.csv" <<'CSV'
Function Stack,CPU Time:Self,Module
Total,0s,
  _start,0s,train
    main,0.100s,train
      "gemm<float, 8>",1.500s,train
        memcpy,200ms,libc.so.6
      norm,0.25,train
  worker,50 ms,train
CSV
cat >"$work/down.folded" <<'CSV'
main 100000000
main;gemm<float, 8> 1500000000
main;gemm<float, 8>;memcpy 200000000
main;norm 250000000
worker 50000000
CSV
cat >"$work/up.csv" <<'CSV'
Function / Call Stack;CPU Time:Self;Module
gemm;1.500s;train
  main;1.500s;train
norm;0.500s;train
CSV
printf 'gemm 1500000000\nnorm 500000000\n' >"$work/up.folded"
printf 'Function\tCPU Time\tCPU Time:Effective Time\tModule\tFunction (Full)\tSource File\tStart Address\ngemm\t1.970s\t1.900s\ttrain\tgemm(float*)\tg.c\t0x1000\nnorm\t0.030s\t0.030s\ttrain\tnorm\tn.c\t0x2000\n' >"$work/flat.csv"
printf 'gemm 1970000000\nnorm 30000000\n' >"$work/flat.folded"
cat >"$work/loops.csv" <<'CSV'
Intel(R) Advisor Command Line Tool
Copyright (C) 2009-2023 Intel Corporation. All rights reserved.

"ID","Function Call Sites and Loops","Total Time","Self Time","Type","Source Location","Module"
"1","[loop in gemm at g.c:12]","2.0s","1.5s","Vectorized (Body)","g.c:12","train"
"2","gemm","1.6s","0.1s","Function","g.c:8","train"
CSV
echo 'gemm 1600000000' >"$work/loops.folded"
for t in down up flat loops; do
	csv_is() { "$aiflame" import -q "$work/$t.csv" -o "$work/c.data" && "$aiflame" flame --of cpu -o "$work/c.folded" "$work/c.data" && diff "$work/$t.folded" "$work/c.folded"; }
	check "CSV of Intel's tools: stacks of $t are read" csv_is
	check "CSV of Intel's tools: counts of $t add up" says "everything adds up" "$aiflame" info "$work/c.data"
done
check "CSV of Intel's tools: a loop has its source line" says "g.c:12" "$aiflame" query "$work/c.data" "SELECT file, line, file || ':' || line FROM frame_names"
sed 's/0.030s/soon/' "$work/flat.csv" >"$work/bad.csv"
check "CSV of Intel's tools: a time that is no number costs its row" says " 1 IMPORT_LINE" sh -c "'$aiflame' import -q '$work/bad.csv' -o '$work/c.data' && '$aiflame' info '$work/c.data' | sed 's/  */ /g; s/IMPORT_LINE 1/1 IMPORT_LINE/'"
check "CSV of Intel's tools: a file without times is refused" says "no row with a time in it" sh -c "sed 2,99d '$work/flat.csv' >'$work/none.csv'; '$aiflame' import -q '$work/none.csv' -o '$work/c.data'"
check "CSV of Intel's tools: a file without the columns is refused" says "no columns of functions and their own CPU time" sh -c "echo 'a,b' >'$work/none.csv'; '$aiflame' import -q --from intel-csv '$work/none.csv' -o '$work/c.data'"
# speedscope's frames that end in another order than they began, or never; profiles in several units.
scope() { # FILE UNIT END EVENTS: a file of one profile of events
	printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main"},{"name":"a"}]},
"profiles":[{"type":"evented","name":"t","unit":"%s","startValue":0,"endValue":%s,"events":[%s]}]}' "$2" "$3" "$4" >"$work/$1.json"
}
cpu_of() { # FILE WANTED: its folded CPU time, whole
	"$aiflame" import -q "$work/$1.json" -o "$work/s.data" && "$aiflame" flame --of cpu --detail full -o "$work/s.folded" "$work/s.data" &&
		[ "$(tr '\n' , <"$work/s.folded")" = "$2" ] || { cat "$work/s.folded"; return 1; }
}
scope crossed milliseconds 100 '{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":10},{"type":"C","frame":0,"at":60},{"type":"C","frame":1,"at":100}'
check "speedscope: a frame that ends before one that it called ends alone" cpu_of crossed "a 40000000,main 10000000,main;a 50000000,"
check "speedscope: frames that end in another order are counted" says "1704 IMPORT_OVERLAP       1" "$aiflame" info "$work/s.data"
scope open milliseconds 100 '{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":10}'
check "speedscope: frames that never end last as long as the profile" cpu_of open "main 10000000,main;a 90000000,"
check "speedscope: frames that never end are counted" says "1703 IMPORT_UNENDED       2" "$aiflame" info "$work/s.data"
printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main"},{"name":"a"}]},"profiles":[
{"type":"sampled","name":"cpu","unit":"milliseconds","startValue":0,"endValue":3,"samples":[[0],[0,1]],"weights":[1,2]},
{"type":"sampled","name":"heap","unit":"bytes","startValue":0,"endValue":9,"samples":[[0],[0,1]],"weights":[4,5]}]}' >"$work/units.json"
check "speedscope: bytes are not added to time" cpu_of units "main 1000000,main;a 2000000,"
check "speedscope: profiles in another unit than the first are counted" says "1723 IMPORT_OTHER_UNIT    2" "$aiflame" info "$work/s.data"
done_testing
