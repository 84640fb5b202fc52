#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# EU-stall samples of Intel's xe driver, on any machine: fakexe answers the recorder's system calls as the driver does,
# the fake runtime says where code lies and what was launched. No hardware is in it.
. "$(dirname "$0")/tap.sh"
fake=$build/tests/mock/fake_app
fakexe=$build/tests/mock/xe/fakexe
export AIFLAME_STANDBY="$work/standby"

echo >none.card
if ! "$fakexe" none.card true 2>/dev/null; then
	skip "EU stalls" "seccomp cannot supervise a process here"
	done_testing
	exit
fi

# script BEGIN END END2 LAST: mm runs for END - BEGIN ms from one stack and END2 - END from another, then
# another kernel until LAST; ms. It stays for 100 ms, or as long as the fifth says.
script() {
	cat <<EOF
device 0 name="Fake Xe" kind=gpu units=8 clock=monotonic
stream 0 device=0
program 0
kernel 0 program=0 name=mm
kernel 1 program=0 name=rows
code 0 name=mm symbol=4294967295
code 1 name=rows symbol=4294967295
now
place code=0 device=0 address=0x8000fffd0000 size=0x400
place code=1 device=0 address=0x8000fffd0400 size=0x100
sleep time=$4000000
launch stream=0 kernel=0 time=1000 stack=0x401000,0x402000 start=$1000000 end=$2000000
launch stream=0 kernel=0 time=1100 stack=0x401010,0x402000 start=$2000000 end=$3000000
launch stream=0 kernel=1 time=1200 stack=0x401010,0x402000 start=$3000000 end=$4000000
sleep time=${5:-100}000000
EOF
}
script 60 90 100 150 >app.script
# record NAME [SCRIPT]: the application beside the card NAME.card; into NAME.data, what the card says into NAME.txt
record() {
	name=$1
	timeout 60 "$fakexe" "$name.card" "$aiflame" record -q --all-launches -o "$name.data" "$fake" "${2:-app.script}" 2>"$name.txt"
}
# are NAME SQL ROW...: exactly these rows
are() {
	name=$1 sql=$2
	shift 2
	"$aiflame" query --format csv "$name.data" "$sql" | tail -n +2 >rows.txt
	printf '%s\n' "$@" | diff - rows.txt
}
# all_read NAME: the card has told everything, and as many samples are in the profile
all_read() {
	grep -q 'nothing left$' "$1.txt" || { cat "$1.txt"; return 1; }
	are "$1" "SELECT sum(count) FROM samples" "$(sed -n 's/.* \([0-9]*\) samples read.*/\1/p' "$1.txt")"
}
aif_count() { "$aiflame" query --format csv "$1.data" "SELECT sum(count) FROM samples" | tail -1; }
adds_up() { says "everything adds up" "$aiflame" info "$1.data"; }
reason() { are "$1" "SELECT count, detail FROM losses WHERE name = '$2'" "$3"; }

cat >two.card <<EOF
gt 0 20.1
gt 1 20.1
records 0 100 0xfffd0228 sbid=3,active=1
records 1 50 0xfffd0400 send=2
records 1 5 0xfffd04f8 inst_fetch=255
records 0 10 0xfffd0228 tdr=1
records 1 7 0x100 other=1
records 0 3 0xfffd0500 control=1
EOF
# The stream begins when the first code has its place: what runs some time later is all in its window.
script 500 530 540 560 >late.script
check "two GTs are recorded" record two late.script
check "each sample that was told is there" all_read two
check "by instruction and reason, exactly" are two \
	"SELECT kernels.name, pc, reason, count FROM samples LEFT JOIN kernels ON kernels.id = kernel ORDER BY 1, 2, 3" \
	",,control,3" ",,other,7" "mm,552,active,100" "mm,552,sbid,300" "mm,552,tdr,10" "rows,0,send,100" "rows,248,inst_fetch,1275"
check "what lies in nobody's code is not matched" are two "SELECT count(*) FROM samples WHERE process IS NULL AND frame IS NULL" 2
check "two launch paths of a kernel keep their shares" are two \
	"SELECT stack, reason, count, grade FROM attributed WHERE count > 0 AND reason IN ('sbid', 'active', 'send') ORDER BY count, stack" \
	"2,active,25,mixed" "1,active,75,mixed" "2,sbid,75,mixed" "2,send,100,exact" "1,sbid,225,mixed"
check "it adds up" adds_up two
check "the slowest of the hardware's rates" grep -q "every 1757 cycles" two.txt

check "but has its towers, where samples count" sh -c "'$aiflame' flame --by samples --leaf stall -o s.folded two.data &&
	grep -q '^.unknown process.;.unknown shader._.g.;other_.g. 7$' s.folded && grep -q '^.unknown process.;.unknown shader._.g.;control_.g. 3$' s.folded"
check "all that was counted is drawn" test "$(awk '{ n += $NF } END { print n }' s.folded)" = "$(aif_count two)"
check "times are not theirs" sh -c "'$aiflame' flame -o s.folded two.data && ! grep unknown s.folded"
# ...as iaprof's text, and back: the same towers, without source lines, which the format does not have.
towers() { "$aiflame" flame --by samples --leaf stall --detail full -o towers.folded "$1" && sed 's/;[^;]*\.c[lu]*:[0-9]*_\[g\]//' towers.folded; }
goes_round() {
	"$aiflame" export --detail full --format iaprof -o "$1.iaprof" "$1.data" && "$aiflame" import -q "$1.iaprof" -o "$1.again.data" &&
		towers "$1.data" >towers.1 && towers "$1.again.data" >towers.2 && [ -s towers.1 ] && diff towers.1 towers.2
}
check "as iaprof's text and back: the same towers" goes_round two

# A driver that says no more than that something ran: what is left are samples.
script 500 500 500 500 >untimed.script
printf 'gt 0 20.1\nrecords 0 100 0xfffd0228 sbid=3,active=1\nrecords 0 50 0xfffd0400 send=2\n' >untimed.card
check "times that are all 0" record untimed untimed.script
check "the first screen goes by samples" sh -c "'$aiflame' report untimed.data >first && grep -q '^busy     not known' first && grep -qE '^kernels    80.0 %  mm +400 samples  ' first &&
	grep -q '100.0 % of stacks complete' first && ! grep -E 'active from| in +[0-9]' first || { cat first; exit 1; }"
check "so does the table of kernels" sh -c "'$aiflame' report --kernels untimed.data >table && grep -q '^samples  kernel' table && sed -n 2p table | grep -q '400  mm' || { cat table; exit 1; }"
check "and the picture, unasked" sh -c "'$aiflame' flame -o s.folded untimed.data 2>s.err && grep -q 'without times' s.err && [ \"\$(awk '{ n += \$NF } END { print n }' s.folded)\" = 500 ]"
check "but not where a time is asked for" says "all times are 0; draw samples with --by samples" "$aiflame" flame --by time -o s.folded untimed.data

cp two.card fast.card
check "a rate that is asked for" sh -c "
	'$fakexe' fast.card '$aiflame' record -q --device-rate 2500000 -o f.data '$fake' app.script 2>fast.txt"
check "is the nearest of the hardware's" grep -q "every 502 cycles" fast.txt
check "and is told" says "fake: every 334 ns a unit" "$aiflame" info f.data

for layout in "pvc 12.60" "xe3 30.0"; do
	name=${layout% *}
	printf 'gt 0 %s\nrecords 0 9 0xfffd0010 active=1,other=2,control=3,pipestall=4,send=5,dist_acc=6,sbid=7,sync=8,inst_fetch=9\n' "${layout#* }" >"$name.card"
	check "the records of $name" record "$name"
	check "all of them" all_read "$name"
	check "each reason of them" are "$name" "SELECT reason, count, pc FROM samples ORDER BY count" active,9,16 other,18,16 control,27,16 \
		pipestall,36,16 send,45,16 dist_acc,54,16 sbid,63,16 sync,72,16 inst_fetch,81,16
done
# With all 64 bits the same lowest 32 are another place.
cat >xe3p.card <<EOF
gt 0 35.0
records 0 9 0x8000fffd0010 active=1,sbid=7,tdr=9
records 0 5 0x4000fffd0010 sync=1
EOF
check "the records of Xe3p" record xe3p
check "all of them" all_read xe3p
check "and their whole addresses" are xe3p "SELECT reason, count, pc FROM samples ORDER BY count" sync,5, active,9,16 sbid,63,16 tdr,81,16

# What goes wrong: each is said, and nothing that was told is lost.
cat >faults.card <<EOF
short 3
records 0 20 0xfffd0008 send=1
error 0 EAGAIN
error 0 EINTR
error 0 EIO
records 0 5 0xfffd0008 sync=1
error 0 EIO
pause 0 50
records 0 4 0xfffd0008 sbid=1
torn 0 70
error 0 ENODEV
records 0 8 0xfffd0008 active=1
EOF
# Time for what is tried again.
script 60 90 100 150 1400 >long.script
check "short reads, drops, a reset" record faults long.script
check "what was told is there" are faults "SELECT reason, count FROM samples WHERE reason <> 'other' AND frame IS NOT NULL ORDER BY 2" \
	sbid,4 sync,5 active,8 send,20
check "drops are counted" reason faults XE_DROPPED '2,"renderD128, GT 0"'
check "a reset, too; the stream is opened again" reason faults XE_RESET '1,"renderD128, GT 0"'
check "and a torn record" reason faults RECORD_BAD "1,EU stalls"
check "two streams were opened in all" grep -q "^fakexe: 2 streams opened.* nothing left" faults.txt

# Where it is refused the recording goes on without.
printf 'open 0 EACCES 99\nrecords 0 1 0x0 send=1\n' >denied.card
check "not privileged" record denied
check "is said with the fix" says "sysctl dev.xe.observation_paranoid=0, or run with CAP_PERFMON" "$aiflame" info denied.data
check "launches are there all the same" are denied "SELECT count(*) FROM launches" 3
printf 'open 0 EBUSY 1\nrecords 0 6 0xfffd0008 send=1\n' >busy.card
check "another process has the GPU" record busy long.script
check "is said" reason busy XE_BUSY '1,"renderD128, GT 0"'
check "when it lets go the samples come" all_read busy
printf 'no-query\n' >old.card
check "a kernel that cannot" record old
check "is said" says "no EU-stall sampling: Linux 6.15 or newer" "$aiflame" info old.data
printf 'denied\n' >group.card
check "a card of another group" record group
check "is said" says "usermod -aG render" "$aiflame" info group.data
printf 'node card3\nrecords 0 6 0xfffd0008 send=1\n' >card.card
check "without a render node the card's own" record card
check "serves" all_read card

# Nobody asks the card where there is nothing to ask for.
printf 'records 0 6 0xfffd0008 send=1\n' >idle.card
check "without samples asked for no stream is opened" sh -c "
	'$fakexe' idle.card '$aiflame' record -q --device-rate 0 -o i.data '$fake' app.script 2>i.txt && grep -q '^fakexe: 0 streams' i.txt"
check "nor for programs that do not use it" sh -c "
	'$fakexe' idle.card '$aiflame' record -q -o i.data true 2>i.txt && grep -q '^fakexe: 0 streams' i.txt"
check "nor of another driver" sh -c "
	printf 'driver i915\n' >i915.card && '$fakexe' i915.card '$aiflame' record -q -o i.data '$fake' app.script 2>i.txt &&
	grep -q '^fakexe: 0 streams' i.txt"
check "without a card nothing is said" sh -c "
	'$aiflame' record -q -o i.data '$fake' app.script && ! '$aiflame' info i.data | grep -E '^ *13[3-9][0-9] '"

# With -a also what no agent tells of.
printf 'records 0 6 0xfffd0008 send=1\n' >all.card
check "all of a machine" sh -c "timeout 60 '$fakexe' all.card '$aiflame' record -q -a --duration 1 -o all.data 2>all.txt"
check "samples that nobody's code is at" all_read all
check "are an unknown shader" sh -c "
	'$aiflame' flame --by samples --leaf stall -o s.folded all.data && [ \"\$(cat s.folded)\" = '[unknown process];[unknown shader]_[g];send_[g] 6' ]"
check "without them there is no picture of time" says "draw them with --by samples" "$aiflame" flame --by wall -o s.folded all.data
check "so what is drawn unasked are samples, and it is said" sh -c "
	'$aiflame' flame --leaf stall -o s.folded all.data 2>s.err && [ \"\$(cat s.folded)\" = '[unknown process];[unknown shader]_[g];send_[g] 6' ] &&
	grep -q 'samples of a device without times' s.err"
check "and exported as folded text" sh -c "'$aiflame' export -o e.folded all.data && '$aiflame' flame -o s.folded all.data && cmp e.folded s.folded"
check "and the first screen names that command" says "next: aiflame flame all.data" "$aiflame" report all.data
check "nobody's launches are missing" adds_up all

# Two processes with code at the same addresses: mm runs three times as long in one as in the other.
script 500 529 530 560 1000 >a.script
script 500 509 510 560 1000 >b.script
# Both are there when the card begins to tell.
cat >both.card <<EOF
pause 0 800
records 0 400 0xfffd0228 sbid=1
EOF
cat >both.sh <<EOF
'$fake' a.script & '$fake' b.script; wait
EOF
check "two processes at once" sh -c "timeout 60 '$fakexe' both.card '$aiflame' record -q --all-launches -o both.data sh both.sh 2>both.txt"
check "every sample is somebody's" all_read both
check "and is told to be ambiguous" are both "SELECT count FROM losses WHERE name = 'XE_AMBIGUOUS'" 400
check "they are shared by what each ran" are both "SELECT sum(count) FROM samples GROUP BY process ORDER BY 1" 100 300
check "with the lowest grade" are both "SELECT DISTINCT grade FROM attributed WHERE count > 0" mixed
check "it adds up" adds_up both
done_testing
