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
	skip "EU stalls of two GTs are recorded" "seccomp cannot supervise a process here"
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
check "EU stalls of two GTs are recorded" record two late.script
check "each EU stall that the driver gave is in the profile" all_read two
check "EU stalls have their instructions and reasons, exactly" are two \
	"SELECT kernels.name, pc, reason, count FROM samples LEFT JOIN kernels ON kernels.id = kernel ORDER BY 1, 2, 3" \
	",,control,3" ",,other,7" "mm,552,active,100" "mm,552,sbid,300" "mm,552,tdr,10" "rows,0,send,100" "rows,248,inst_fetch,1275"
check "EU stalls of unknown code have no process and frame" are two "SELECT count(*) FROM samples WHERE process IS NULL AND frame IS NULL" 2
check "two launch paths of a kernel keep their shares of EU stalls" are two \
	"SELECT stack, reason, count, grade FROM attributed WHERE count > 0 AND reason IN ('sbid', 'active', 'send') ORDER BY count, stack" \
	"2,active,25,mixed" "1,active,75,mixed" "2,sbid,75,mixed" "2,send,100,exact" "1,sbid,225,mixed"
check "counts of EU stalls of two GTs add up" adds_up two
check "EU stalls are sampled at the slowest of the hardware's rates by default" grep -q "every 1757 cycles" two.txt

check "flame --by samples --leaf stall has the stacks of EU stalls" sh -c "'$aiflame' flame --by samples --leaf stall -o s.folded two.data &&
	grep -q '^.unknown process.;.unknown shader._.g.;other_.g. 7$' s.folded && grep -q '^.unknown process.;.unknown shader._.g.;control_.g. 3$' s.folded"
check "a picture of samples has all EU stalls" test "$(awk '{ n += $NF } END { print n }' s.folded)" = "$(aif_count two)"
check "a picture of time has no EU stalls of unknown code" sh -c "'$aiflame' flame -o s.folded two.data && ! grep unknown s.folded"
# ...as iaprof's text, and back: the same towers, without source lines, which the format does not have.
towers() { "$aiflame" flame --by samples --leaf stall --detail full -o towers.folded "$1" && sed 's/;[^;]*\.c[lu]*:[0-9]*_\[g\]//' towers.folded; }
goes_round() {
	"$aiflame" export --detail full --format iaprof -o "$1.iaprof" "$1.data" && "$aiflame" import -q "$1.iaprof" -o "$1.again.data" &&
		towers "$1.data" >towers.1 && towers "$1.again.data" >towers.2 && [ -s towers.1 ] && diff towers.1 towers.2
}
check "EU stalls come back from iaprof's text with the same stacks" goes_round two

# A driver that says no more than that something ran: what is left are samples.
script 500 500 500 500 >untimed.script
printf 'gt 0 20.1\nrecords 0 100 0xfffd0228 sbid=3,active=1\nrecords 0 50 0xfffd0400 send=2\n' >untimed.card
check "a driver whose times are all 0 is recorded" record untimed untimed.script
check "the summary of times that are all 0 goes by samples" sh -c "'$aiflame' report untimed.data >first && grep -q '^busy     not known' first && grep -qE '^kernels    80.0 %  mm +400 samples  ' first &&
	grep -q '100.0 % of stacks complete' first && ! grep -E 'active from|^(kernels)? .* in +[0-9]' first || { cat first; exit 1; }"
check "report --kernels of times that are all 0 goes by samples" sh -c "'$aiflame' report --kernels untimed.data >table && grep -q '^samples  kernel' table && sed -n 2p table | grep -q '400  mm' || { cat table; exit 1; }"
check "flame of times that are all 0 draws samples, and says so" sh -c "'$aiflame' flame -o s.folded untimed.data 2>s.err && grep -q 'without times' s.err && [ \"\$(awk '{ n += \$NF } END { print n }' s.folded)\" = 500 ]"
check "flame --by time of times that are all 0 is refused" says "all times are 0; draw samples with --by samples" "$aiflame" flame --by time -o s.folded untimed.data

cp two.card fast.card
check "a recording with --device-rate is made" sh -c "
	'$fakexe' fast.card '$aiflame' record -q --device-rate 2500000 -o f.data '$fake' app.script 2>fast.txt"
check "--device-rate takes the nearest of the hardware's rates" grep -q "every 502 cycles" fast.txt
check "info tells the rate of --device-rate" says "fake: every 334 ns a unit" "$aiflame" info f.data

for layout in "pvc 12.60" "xe3 30.0"; do
	name=${layout% *}
	printf 'gt 0 %s\nrecords 0 9 0xfffd0010 active=1,other=2,control=3,pipestall=4,send=5,dist_acc=6,sbid=7,sync=8,inst_fetch=9\n' "${layout#* }" >"$name.card"
	check "EU stalls of $name are recorded" record "$name"
	check "each EU stall of $name is in the profile" all_read "$name"
	check "EU stalls of $name have each of its reasons" are "$name" "SELECT reason, count, pc FROM samples ORDER BY count" active,9,16 other,18,16 control,27,16 \
		pipestall,36,16 send,45,16 dist_acc,54,16 sbid,63,16 sync,72,16 inst_fetch,81,16
done
# With all 64 bits the same lowest 32 are another place.
cat >xe3p.card <<EOF
gt 0 35.0
records 0 9 0x8000fffd0010 active=1,sbid=7,tdr=9
records 0 5 0x4000fffd0010 sync=1
EOF
check "EU stalls of Xe3p are recorded" record xe3p
check "each EU stall of Xe3p is in the profile" all_read xe3p
check "EU stalls of Xe3p have their whole addresses" are xe3p "SELECT reason, count, pc FROM samples ORDER BY count" sync,5, active,9,16 sbid,63,16 tdr,81,16

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
check "a stream with short reads, drops and a reset is recorded" record faults long.script
check "a stream with short reads, drops and a reset has what the driver gave" are faults "SELECT reason, count FROM samples WHERE reason <> 'other' AND frame IS NOT NULL ORDER BY 2" \
	sbid,4 sync,5 active,8 send,20
check "drops of EU stalls are counted" reason faults XE_DROPPED '2,"renderD128, GT 0"'
check "a reset is counted, and the stream opened again" reason faults XE_RESET '1,"renderD128, GT 0"'
check "a torn record of EU stalls is counted" reason faults RECORD_BAD "1,EU stalls"
check "after a reset the driver's stream was opened a second time, and no more" grep -q "^fakexe: 2 streams opened.* nothing left" faults.txt

# Where it is refused the recording goes on without.
printf 'open 0 EACCES 99\nrecords 0 1 0x0 send=1\n' >denied.card
check "a program is recorded where EU stalls need privileges" record denied
check "info says how to permit EU stalls" says "sysctl dev.xe.observation_paranoid=0, or run with CAP_PERFMON" "$aiflame" info denied.data
check "launches are recorded where EU stalls need privileges" are denied "SELECT count(*) FROM launches" 3
printf 'open 0 EBUSY 1\nrecords 0 6 0xfffd0008 send=1\n' >busy.card
check "a program is recorded where another process has the GPU" record busy long.script
check "the profile says that another process has the GPU" reason busy XE_BUSY '1,"renderD128, GT 0"'
check "EU stalls come once another process lets go of the GPU" all_read busy
printf 'no-query\n' >old.card
check "a program is recorded on an OS kernel without EU stalls" record old
check "info says which OS kernel has EU stalls" says "no EU-stall sampling: Linux 6.15 or newer" "$aiflame" info old.data
printf 'denied\n' >group.card
check "a program is recorded where the card belongs to another group" record group
check "info says how to join the group of the card" says "usermod -aG render" "$aiflame" info group.data
printf 'node card3\nrecords 0 6 0xfffd0008 send=1\n' >card.card
check "a program is recorded on a card without a render node" record card
check "each EU stall of a card without a render node is in the profile" all_read card

# Nobody asks the card where there is nothing to ask for.
printf 'records 0 6 0xfffd0008 send=1\n' >idle.card
check "--device-rate 0 opens no stream" sh -c "
	'$fakexe' idle.card '$aiflame' record -q --device-rate 0 -o i.data '$fake' app.script 2>i.txt && grep -q '^fakexe: 0 streams' i.txt"
check "a program that does not use the card opens no stream" sh -c "
	'$fakexe' idle.card '$aiflame' record -q -o i.data true 2>i.txt && grep -q '^fakexe: 0 streams' i.txt"
check "a card of another driver opens no stream" sh -c "
	printf 'driver i915\n' >i915.card && '$fakexe' i915.card '$aiflame' record -q -o i.data '$fake' app.script 2>i.txt &&
	grep -q '^fakexe: 0 streams' i.txt"
check "a machine without a card has nothing said of EU stalls" sh -c "
	'$aiflame' record -q -o i.data '$fake' app.script && ! '$aiflame' info i.data | grep -E '^ *13[3-9][0-9] '"

# With -a also what no agent tells of.
printf 'records 0 6 0xfffd0008 send=1\n' >all.card
check "record -a records EU stalls of the whole machine" sh -c "timeout 60 '$fakexe' all.card '$aiflame' record -q -a --inject never --duration 1 -o all.data 2>all.txt"
check "record -a has each EU stall, though no program's code is known" all_read all
check "record -a draws EU stalls as of an unknown shader" sh -c "
	'$aiflame' flame --by samples --leaf stall -o s.folded all.data && [ \"\$(cat s.folded)\" = '[unknown process];[unknown shader]_[g];send_[g] 6' ]"
check "flame --by wall of EU stalls without times is refused" says "draw them with --by samples" "$aiflame" flame --by wall -o s.folded all.data
check "flame of EU stalls without times draws samples, and says so" sh -c "
	'$aiflame' flame --leaf stall -o s.folded all.data 2>s.err && [ \"\$(cat s.folded)\" = '[unknown process];[unknown shader]_[g];send_[g] 6' ] &&
	grep -q 'samples of a device without times' s.err"
check "export of EU stalls without times is the folded text of samples" sh -c "'$aiflame' export -o e.folded all.data && '$aiflame' flame -o s.folded all.data && cmp e.folded s.folded"
check "the summary of EU stalls without times names the command that draws them" says "next: aiflame flame all.data" "$aiflame" report all.data
check "counts of record -a add up" adds_up all

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
check "two processes are recorded at once" sh -c "timeout 60 '$fakexe' both.card '$aiflame' record -q --all-launches -o both.data sh both.sh 2>both.txt"
check "each EU stall of two processes is in the profile" all_read both
check "EU stalls of two processes are told to be ambiguous" are both "SELECT count FROM losses WHERE name = 'XE_AMBIGUOUS'" 400
check "EU stalls of two processes are shared by what each ran" are both "SELECT sum(count) FROM samples GROUP BY process ORDER BY 1" 100 300
check "EU stalls of two processes have the lowest grade" are both "SELECT DISTINCT grade FROM attributed WHERE count > 0" mixed
check "counts of EU stalls of two processes add up" adds_up both
done_testing
