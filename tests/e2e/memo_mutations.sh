#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each check that makes the memo of stacks exact (src/unwind/memo.c) is taken out in turn; a test must
# then fail. So no test of the memo is there for show, and no check either.
. "$(dirname "$0")/tap.sh"
flags="-O1 -g -std=gnu17 -D_GNU_SOURCE= -I. -I$root/src -I$root/tests"
objects= # all that the programs are linked with but memo.o
libs="-lcmocka -ldl -pthread"
mkdir unwind # before src/unwind
for f in "$root"/src/unwind/*.c "$root/src/base/auxv.c"; do
	name=$(basename "$f" .c)
	case $name in
	python* | interleave) continue ;; # stacks of Python
	memo) ;;
	*) objects="$objects $name.o" ;;
	esac
	${CC:-cc} $flags -c "$f" || exit 1
done
for t in test_memo test_memo_stacks test_memo_random; do
	${CC:-cc} $flags -c "$root/tests/unit/$t.c" || exit 1
done

# passes: all programs, from the objects that are there and ./unwind
passes() {
	for t in test_memo_random test_memo test_memo_stacks; do
		${CC:-cc} -o $t $t.o memo.o $objects $libs || exit 2
		timeout 60 ./$t || return 1
	done
	${CC:-cc} $flags -w -o test_memo_wrap "$root/tests/unit/test_memo_wrap.c" $objects $libs || exit 2
	timeout 60 ./test_memo_wrap
}
fails() {
	! passes
}
# without WHAT FILE SED: a case
without() {
	sed "$3" "$root/src/unwind/$2.c" >"unwind/$2.c"
	if cmp -s "unwind/$2.c" "$root/src/unwind/$2.c"; then
		check "nothing is left to take out: $1" false
	elif ! ${CC:-cc} $flags -w -c "unwind/$2.c"; then
		check "the memo compiles without: $1" false
	else
		check "unit tests of the memo fail where its code lacks: $1" fails
	fi
	rm "unwind/$2.c"
	${CC:-cc} $flags -c "$root/src/unwind/$2.c"
}

check "all tests of the memo pass as it is" passes
# I1, I4: what is compared
without "sp is not compared" memo 's/r->sp != sp || //'
without "pc is not compared" memo 's/ || r->pc != regs->pc//'
without "rbp is not compared" memo 's/r->needs_bp && r->bp != regs->bp/0/'
without "no word is compared" memo 's/if (DIFFERENCE(0)/if (0 \&\& DIFFERENCE(0)/'
without "the eighth word is not compared" memo 's/ | DIFFERENCE(7)/ | 0/; s/DIFFERENCE(7)/0/'
without "only the first block is compared" memo 's/for (; b < end; b++)/for (; b < end; b = end)/'
without "bits 48 to 63 of words are not compared" memo \
	's/(aif_peek(\(.*\)) ^ CHECK_VALUE(b->check\[i\]))/((aif_peek(\1) ^ CHECK_VALUE(b->check[i])) << 16)/'
without "a value that does not fit is cut" memo 's/ || reads\[i\].value > VALUE_MOST//'
# the read set
without "return addresses" memo_reads 's/put(s, aif_row_ra_at(.*;/;/'
without "the words of rbp" memo_reads 's/put(s, aif_row_bp_at(.*;/;/'
without "the word at rbp" memo_reads 's/put(s, f->bp, caller->bp);/;/'
without "the word of rbp, if it only must be readable" memo_reads 's/^\t\tbp_matters = true;/;/'
without "the CFA in memory, by rbp" memo_reads 's/put(s, f->bp + aux, caller->sp);/;/'
without "the CFA in memory, by rsp" memo_reads 's/put(s, f->sp + aux, caller->sp);/;/'
without "a signal's rip" memo_reads 's/put(s, f->sp + aux, caller_pc);/;/'
without "a signal's rsp" memo_reads 's/put(s, f->sp + (uint64_t)aif_row_off.*;/;/'
without "a signal's rbp" memo_reads 's/put(s, f->sp + 8 .*;/;/'
without "that a CFA by rbp needs rbp" memo_reads 's/ || kind == AIF_ROW_RBP || / || /'
without "that a CFA in memory by rbp needs rbp" memo_reads 's/ || kind == AIF_ROW_RBP_DEREF;/;/'
without "that rbp is data mostly" memo_reads 's/bool bp_matters = false;/bool bp_matters = true;/'
without "the zero that ends a stack" memo 's/m->pcs\[++steps\] = 0;/;/'
without "that a read set may be too long" memo_reads 's/if (s.full)/if (0)/'
without "the word where a stack is cut" memo 's/^\t\tsteps = result.depth;/;/'
# I2: rows
without "generations" memo 's/generation != m->generation/0/'
without "that unknown code may become known" memo 's/!r->foreign && //'
# I6: guesses
without "the word that was no return address" memo_reads 's/put(s, frames\[steps + 1\].bp, .*;/;/; s/put(&s, frames\[steps + 1\].bp, .*;/;/'
without "that a refused guess needs rbp" memo_reads 's/^\t\tbp_matters = true;$/;/'
without "that frames are guessed" memo 's/\.guessed = result->guessed,//'
# I3, I8: memory
without "that the stack is this thread's" memo 's/ && r->stop != AIF_STOP_BAD_STACK//'
without "that words may be far" memo 's/away % 8 || away \/ 8 > AT_MOST || //'
without "that a new thread's memo is empty" memo '/^void aif_memo_init/,/^}/s/forget(m);//'
without "that a record may be overwritten" memo 's/m->head - position <= LINES/position/'
without "that positions wrap around" memo 's/m->head == 0 || m->head > UINT32_MAX - 4 \* LINES/m->head == 0/'
without "that hints are older than positions that wrap around" memo 's/memset(m->follows.*;/;/'
without "that buckets are, too" memo 's/memset(m->buckets.*;/;/'
# notes
without "that a note is for its key" memo 's/if (notes\[i\].key != key)/if (!notes[i].key)/'
without "that a new record has no notes" memo 's/memset(r->notes.*;/;/'
without "that what has the last note may be overwritten" memo 's/m->noted \&\& is_whole(m, m->noted_in)/m->noted/'
without "that what is expected may be overwritten" memo 's/is_whole(m, m->expected) \&\& //'
without "what came after a note" memo 's/m->noted->then = position;/;/'
# what makes it fast
without "the record before the last" memo 's/(position + m->last \*/(position + 0 */'
without "standing aside" memo 's/m->wasted > WINDOW \/ 2/0/'
without "coming back" memo 's/m->aside--;/;/'
without "that filling the ring is no waste" memo 's/m->head > m->unused_end/1/'
done_testing
