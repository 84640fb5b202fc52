/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/memo.h"

#include "unwind/memo_reads.h"
#include "unwind/peek.h"
#include "unwind/row.h"

#include <string.h>

/*
 * Verify instead of unwind
 * ========================
 *
 * Launches come from loops, so their stacks repeat: a language model's decode loop in PyTorch made 57,769
 * launches from 38 different native stacks. Unwinding 80 frames is one chain of 80 dependent steps, 0.7 to
 * 1 us. To *check* that a stack is one that was seen before takes 80 loads that do not wait for each
 * other, and 80 ns.
 *
 * Why that is exact. The unwinder is a function of the registers at entry (pc, sp, bp), the unwind rows,
 * and the words of the stack that it reads. A record holds these registers and the *read set*: each
 * word that could have changed the result, with its value (memo_reads.c). If the rows are the same,
 * the registers are equal and each word still has its value, then the unwinder, run again, would go the
 * same way and say the same. Nothing is assumed about what is alive, what a compiler does, or what the
 * program did in between; longjmp, exceptions, copied stacks only change words.
 *
 * What is in the read set:
 *
 *     main -> f (alloca 256) -> g          main -> h -> f (alloca 144) -> g
 *
 *     |  ...              |                |  ...              |
 *     | ra into main      | <- f's CFA     | ra into main      |
 *     | saved rbp         |                | h's locals, not   |
 *     | alloca            |                |   initialised:    |
 *     |                   |                |   f's old ra here |
 *     |                   |                | ra into h         | <- f's CFA
 *     |                   |                | saved rbp         |
 *     | ra into f         |                | ra into f         |   at the same address
 *
 * All return addresses of the left stack are still at their places on the right, where h is missing from
 * them. f's CFA comes from rbp, which was read from g's frame or is the register itself: with
 * these words in the set the two differ. But in code without frame pointers rbp is one more data
 * register, and its saved value changes with each call: a word from which no CFA follows must be left
 * out, or nothing would ever match. One pass from the outermost frame inwards finds which matter.
 *
 * On aarch64 the upper bits of a word may be a signature, which the unwinder takes off before it looks at the
 * word. So do records and verifying (aif_peek): words that differ only there give the same stack.
 *
 * The invariants. A test fails for each when its check is taken out (tests/e2e/memo_mutations.sh).
 *
 *  I1 A record is used only if sp, pc, bp (if it matters), the generation and the whole read set are equal.
 *  I2 Rows do not change within a generation. What a later dlopen or a JIT compiler may change (a pc in no
 *     module, or a guess that depends on one) is never remembered. The generation is read before the rows
 *     are.
 *  I3 All words of a record lie in [its sp, the end of this thread's stack), so verifying reads nothing
 *     that is not mapped, and nothing that the unwinder would not read. Stacks that leave the bounds
 *     (coroutines, alternate signal stacks) are not remembered; other bounds begin a new memo.
 *  I4 Verifying goes from the innermost frame outwards and ends at the first block that differs.
 *  I5 No allocation, no lock, no libc function but memset, memcpy and memmove.
 *  I6 Nothing is guessed here: what is not in the memo is unwound, and the answer is the unwinder's. A stack
 *     that is cut (no unwind information, depth) is remembered as cut, with the word for which the
 *     unwinder refused to guess; one with guessed frames as guessed.
 *  I7 Numbers and values are this thread's. Whoever merges threads compares stacks.
 *  I8 Nothing here faults: see I3 for the stack; records are read only while they are whole (below).
 *
 * One hole remains, and is the unwinder's (unwind.c): between a dlclose and the refresh that
 * follows it another thread may run code that came to lie at the old place.
 *
 * How a record is found. The sequence of launches repeats better than anything else: a table tells which
 * record followed the last two where sp was what it is now. It is right for 99.5 to 99.9 % of
 * launches; else a hash of the innermost return addresses leads to a short list of candidates; else
 * the stack is unwound and remembered. Both tables hold hints: they may be wrong, since each
 * candidate is verified.
 *
 * Between two launches a program like PyTorch pushes all that out of the nearest caches: on an H100's host a capture
 * took 0.8 us where it takes 0.13 in a loop that does little else. So a record has notes (memo.h), in lines beside its
 * first: with them no other table need be looked at. And a note has the record that came next: when
 * one note is found, the next record is fetched into the second cache, which has some 10 us for it.
 *
 * Where records are. In a ring of LINES cache lines, one after another; the newest takes the place of the
 * oldest. A record's position counts lines since the beginning and never comes back, so a hint whose record
 * has been overwritten is known by its distance from the head. To forget all is to move the head.
 *
 * When it does not pay. A program with more stacks than fit, in an order that defeats the ring, or whose
 * stacks must not be remembered, would verify in vain and write records for nothing. Such captures are
 * counted over windows (filling an empty ring is no waste: it ends); after a window that has more than
 * half of them the memo stands aside for some windows, then tries again.
 */

#define LINE  64u
#define LINES 16384u /* 1 MB: 1,100 records of 80 frames */

/* Places for what came next. In a sequence of 1,000 stacks (PyTorch's decode has 127 pairs)
 * single hints push each other out so often that a quarter of predictions fail; with pairs it is
 * one of forty. */
#define HINTS_BITS 12
#define HINTS      (1u << HINTS_BITS)

/* Buckets of keys: as many as there are records, and more. */
#define BUCKETS 4096u

/* Addresses in the key. Too few, and what calls launches from everywhere gives many stacks one
 * key: with 3 a third of 1,000 stacks are no longer found. 4 and 6 take 170 to 180 ns, 12 take
 * 270. */
#define KEY_FRAMES 6

/* Candidates of one key that are tried: after these a stack is unwound and remembered once more. */
#define TRIES 8

/* Captures over which is counted. At 80 frames a hit saves 0.75 us and a miss costs 0.65 us in
 * addition to a plain unwind: it pays from half of each on. */
#define WINDOW 1024

/* Windows to stand aside: doubled each time up to the most. 64 are a second of a busy launcher. */
#define ASIDE_FIRST 4
#define ASIDE_MOST  64

/* Eight words are compared at a time, so that their loads run side by side: a line of the ring. */
#define BLOCK 8

/* A word of the read set, its place and its value: bits 0 to 15, in words from sp, so that a
 * stack may span 512 KB; bits 16 to 63, since what the unwinder goes on with is an address of
 * user space. */
#define CHECK_AT(check)    ((check)&0xffff)
#define CHECK_VALUE(check) ((check) >> 16)
#define AT_MOST            UINT64_C(0xffff)
#define VALUE_MOST         (UINT64_MAX >> 16)

struct block {
	uint64_t check[BLOCK];
};

/* Two sets of a line each: the key tells which. The newest first. */
#define NOTE_SETS 2
#define NOTES     4

struct note {
	uint64_t key; /* 0: none */
	uint32_t id;
	uint32_t then; /* the record that came next, the last time */
};

struct record {
	struct aif_memo_stack stack;
	uint64_t sp, pc, bp;
	uint32_t key;
	uint32_t next; /* older one of the same bucket */
	uint16_t n_blocks;
	bool needs_bp;
	_Alignas(LINE) struct note notes[NOTE_SETS][NOTES];
	struct block blocks[];
};

#define HEAD_LINES ((unsigned)(sizeof(struct record) / LINE))

struct aif_memo {
	_Alignas(64) struct aif_unwinder *unwinder;
	struct aif_stack_bounds bounds;
	uint32_t generation;
	uint32_t max_depth;
	uint32_t head; /* lines written since the beginning */
	uint32_t last; /* record that was answered */
	uint32_t number;
	uint32_t left;  /* captures until the window ends */
	uint32_t aside; /* windows to stand aside; 0: at work */
	uint32_t aside_next;
	uint32_t wasted;     /* captures of this window that cost more than a plain unwind */
	uint32_t unused_end; /* head's position when all of the ring has been written */
	uint64_t lately;     /* a hash of the last two records */
	uint32_t expected;   /* the record that comes next, by the last note; 0: not known */
	uint32_t noted_in;   /* the record that has `noted` */
	struct note *noted;  /* what was found or noted for the last capture; NULL: nothing */
	struct aif_memo_counts counts;

	/* Positions. The newer one first. */
	_Alignas(64) struct hint {
		uint32_t to[2];
	} follows[HINTS];
	uint32_t buckets[BUCKETS];
	_Alignas(64) uint8_t ring[LINES * LINE];

	/* Frames of the last unwind: one more than the depth, to know where a cut stack goes
	 * on, and the 0 that ends a stack. */
	uint64_t pcs[AIF_MEMO_MAX_DEPTH + 2];
	struct aif_unwind_frame frames[AIF_MEMO_MAX_DEPTH + 2];
	struct aif_memo_read reads[AIF_MEMO_READS_MAX];
};

static_assert(sizeof(struct aif_memo) <= 1200 * 1000, "what a thread may cost");
static_assert((LINES & (LINES - 1)) == 0, "positions are taken modulo LINES");
static_assert(sizeof(struct record) % LINE == 0, "blocks are lines");
static_assert(sizeof(struct record) + AIF_MEMO_READS_MAX / BLOCK * sizeof(struct block) <=
		      LINES * LINE / 8,
	      "any record fits");
static_assert(AIF_MEMO_MAX_DEPTH <= UINT16_MAX, "aif_memo_stack.depth");

/* ---- the ring ---- */

static struct record *record_at(struct aif_memo *m, uint32_t position)
{
	return (struct record *)(void *)&m->ring[position % LINES * LINE];
}

/* Not overwritten, even in part. The head begins beyond LINES, so that 0 is no record. */
static bool is_whole(const struct aif_memo *m, uint32_t position)
{
	return m->head - position <= LINES;
}

static void forget(struct aif_memo *m)
{
	/* Positions are about to wrap around (after 250 GB of records): old hints must not revive. */
	if (m->head == 0 || m->head > UINT32_MAX - 4 * LINES) {
		memset(m->follows, 0, sizeof(m->follows));
		memset(m->buckets, 0, sizeof(m->buckets));
		m->head = LINES;
	}
	m->head = AIF_ALIGN_UP(m->head, LINES) + LINES;
	m->unused_end = m->head + LINES;
	m->last = 0;
	m->lately = 0;
	m->expected = 0;
	m->noted = NULL;
}

/* The position of a record of n blocks, to be filled in. */
static uint32_t reserve(struct aif_memo *m, unsigned n_blocks)
{
	uint32_t position;

	if (m->head > UINT32_MAX - 4 * LINES)
		aif_memo_clear(m);
	if (m->head % LINES + HEAD_LINES + n_blocks > LINES)
		m->head = AIF_ALIGN_UP(m->head, LINES);
	position = m->head;
	m->head += HEAD_LINES + n_blocks;
	if (m->head > m->unused_end)
		m->wasted++;
	return position;
}

/* ---- verifying ---- */

AIF_READS_FRAMES static bool holds(const struct record *r, const struct aif_regs *regs)
{
	const uint64_t sp = regs->sp;
	const struct block *b = r->blocks, *end = b + r->n_blocks;

	if (r->sp != sp || r->pc != regs->pc)
		return false;
	if (r->needs_bp && r->bp != regs->bp)
		return false;
	for (; b < end; b++) {
#define DIFFERENCE(i) (aif_peek(sp + 8 * CHECK_AT(b->check[i])) ^ CHECK_VALUE(b->check[i]))
		if (DIFFERENCE(0) | DIFFERENCE(1) | DIFFERENCE(2) | DIFFERENCE(3) | DIFFERENCE(4) |
		    DIFFERENCE(5) | DIFFERENCE(6) | DIFFERENCE(7))
			return false;
#undef DIFFERENCE
	}
	return true;
}

/* ---- learning ---- */

/* May this result be given again? */
static bool can_be_remembered(const struct aif_memo_result *r)
{
	/* Code in no module may be in one tomorrow, or be other code. Out of bounds: a
	 * coroutine, or damage. Another stack's words are none of those that are verified. */
	return !r->foreign && !r->switched && r->stop != AIF_STOP_BAD_STACK;
}

/* Does it fit into checks? */
static bool fits(uint64_t sp, const struct aif_memo_read *reads, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t away = reads[i].at - sp;

		if (away % 8 || away / 8 > AT_MOST || reads[i].value > VALUE_MOST)
			return false;
	}
	return true;
}

static void fill(struct record *r, uint64_t sp, const struct aif_memo_read *reads, unsigned n)
{
	for (unsigned i = 0; i < r->n_blocks * (unsigned)BLOCK; i++) {
		/* The last block is filled up with a word that it has. */
		const struct aif_memo_read *read = &reads[AIF_MIN(i, n - 1)];

		r->blocks[i / BLOCK].check[i % BLOCK] = read->value << 16 | (read->at - sp) / 8;
	}
}

/* Records the unwind of `steps` steps that lies in m->pcs and m->frames. Returns its position, or
 * 0: it cannot be recorded. */
static uint32_t remember(struct aif_memo *m, const struct aif_regs *regs, uint32_t key,
			 unsigned steps, const struct aif_memo_result *result)
{
	bool needs_bp;
	int n = aif_memo_reads(m->pcs, m->frames, steps, m->reads, &needs_bp);
	const struct aif_memo_read *reads = m->reads + AIF_MEMO_READS_MAX - AIF_MAX(n, 0);
	uint32_t position, *bucket = &m->buckets[key % BUCKETS];
	struct record *r;

	if (n < 0 || !fits(regs->sp, reads, (unsigned)n))
		return 0;
	position = reserve(m, ((unsigned)n + BLOCK - 1) / BLOCK);
	r = record_at(m, position);
	r->n_blocks = (uint16_t)(((unsigned)n + BLOCK - 1) / BLOCK);
	fill(r, regs->sp, reads, (unsigned)n);
	r->stack = (struct aif_memo_stack){
		.number = ++m->number,
		.depth = (uint16_t)result->depth,
		.stop = (uint8_t)result->stop,
		.guessed = result->guessed,
	};
	r->sp = regs->sp;
	r->pc = regs->pc;
	r->bp = regs->bp;
	r->needs_bp = needs_bp;
	memset(r->notes, 0, sizeof(r->notes));
	r->key = key;
	r->next = *bucket;
	*bucket = position;
	return position;
}

/* ---- capturing ---- */

/* Returns the hint that says which record came next, the last time. */
static struct hint *successor(struct aif_memo *m, uint64_t sp)
{
	return &m->follows[((sp ^ m->lately) * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - HINTS_BITS)];
}

static void point(struct hint *hint, uint32_t position)
{
	hint->to[1] = hint->to[0];
	hint->to[0] = position;
}

static struct aif_memo_result answer(struct aif_memo *m, uint32_t position)
{
	struct record *r = record_at(m, position);

	if (m->noted && is_whole(m, m->noted_in))
		m->noted->then = position;
	m->noted = NULL;
	m->expected = 0;
	m->lately =
		(position + m->last * UINT64_C(0xC2B2AE3D27D4EB4F)) * UINT64_C(0x9FB21C651E98DF25);
	m->last = position;
	return (struct aif_memo_result){
		.stack = &r->stack,
		.hit = true,
		.depth = r->stack.depth,
		.stop = (enum aif_unwind_stop)r->stack.stop,
		.guessed = r->stack.guessed,
	};
}

static uint32_t key_of(struct aif_memo *m, const struct aif_regs *regs)
{
	struct aif_unwind_result r =
		aif_unwind(m->unwinder, regs, false, m->bounds, m->pcs, KEY_FRAMES);
	uint64_t h = regs->sp;

	for (unsigned i = 0; i < r.depth; i++) {
		h = (h ^ m->pcs[i]) * UINT64_C(0x9E3779B97F4A7C15);
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

struct aif_memo_result aif_memo_unwind(struct aif_memo *m, const struct aif_regs *regs)
{
	struct aif_unwind_result r = aif_unwind_frames(m->unwinder, regs, false, m->bounds, m->pcs,
						       m->max_depth + 1, m->frames);

	if (r.depth > m->max_depth) {
		r.guessed -= AIF_MIN(r.guessed, 1);
		r.foreign -= AIF_MIN(r.foreign, 1);
		r.depth = m->max_depth;
		r.stop = AIF_STOP_DEPTH;
	}
	return (struct aif_memo_result){
		.depth = r.depth,
		.stop = r.stop,
		.guessed = r.guessed,
		.foreign = r.foreign,
		.switched = r.switched,
		.pcs = m->pcs,
		.frames = m->frames,
	};
}

/* Was not predicted: is it there all the same? Else it is unwound, and kept if that is allowed. */
static AIF_NOINLINE struct aif_memo_result
find_or_learn(struct aif_memo *m, const struct aif_regs *regs, struct hint *hint)
{
	const uint32_t key = key_of(m, regs);
	uint32_t position = m->buckets[key % BUCKETS];
	struct aif_memo_result result;
	unsigned steps;

	for (unsigned i = 0; i < TRIES && is_whole(m, position); i++) {
		struct record *r = record_at(m, position);

		if (r->key == key && holds(r, regs)) {
			m->counts.found++;
			point(hint, position);
			return answer(m, position);
		}
		position = r->next;
	}

	result = aif_memo_unwind(m, regs);
	steps = result.depth - 1;
	if (result.stop == AIF_STOP_DEPTH)
		steps = result.depth;
	else if (result.stop == AIF_STOP_END &&
		 aif_row_kind(m->frames[result.depth - 1].row) != AIF_ROW_END)
		m->pcs[++steps] = 0; /* the return address that ended the stack */
	position = 0;
	if (can_be_remembered(&result))
		position = remember(m, regs, key, steps, &result);
	if (!position) {
		m->counts.refused++;
		m->wasted++;
		return result;
	}
	m->counts.missed++;
	point(hint, position);
	result.stack = answer(m, position).stack;
	return result;
}

static AIF_NOINLINE void end_window(struct aif_memo *m)
{
	if (m->aside) {
		m->aside--;
	} else if (m->wasted > WINDOW / 2) {
		m->aside = m->aside_next;
		m->aside_next = AIF_MIN(2 * m->aside_next, ASIDE_MOST);
	} else {
		m->aside_next = ASIDE_FIRST;
	}
	m->wasted = 0;
	m->left = WINDOW;
}

static AIF_NOINLINE struct aif_memo_result unwind_plainly(struct aif_memo *m,
							  const struct aif_regs *regs)
{
	struct aif_unwind_result r =
		aif_unwind(m->unwinder, regs, false, m->bounds, m->pcs, m->max_depth);

	m->counts.passed++;
	return (struct aif_memo_result){.depth = r.depth,
					.stop = r.stop,
					.guessed = r.guessed,
					.foreign = r.foreign,
					.pcs = m->pcs};
}

struct aif_memo_result aif_memo_capture(struct aif_memo *m, const struct aif_regs *regs)
{
	const uint32_t generation = aif_unwinder_generation(m->unwinder);
	struct hint *hint;

	if (aif_unlikely(generation != m->generation)) {
		aif_memo_clear(m);
		m->generation = generation;
	}
	if (aif_unlikely(m->left == 0))
		end_window(m);
	m->left--;
	if (aif_unlikely(m->aside))
		return unwind_plainly(m, regs);

	if (aif_likely(is_whole(m, m->expected) && holds(record_at(m, m->expected), regs))) {
		m->counts.predicted++;
		return answer(m, m->expected);
	}
	hint = successor(m, regs->sp);
	for (unsigned i = 0; i < 2; i++) {
		if (aif_likely(is_whole(m, hint->to[i]) &&
			       holds(record_at(m, hint->to[i]), regs))) {
			m->counts.predicted++;
			return answer(m, hint->to[i]);
		}
	}
	return find_or_learn(m, regs, hint);
}

/* The hardware fetches the lines after these by itself. */
#define LINES_SOON (HEAD_LINES + 7)

void aif_memo_prefetch(const struct aif_memo *m, const struct aif_regs *regs)
{
	uint32_t position = m->expected;

	if (!position)
		position = successor((struct aif_memo *)(uintptr_t)m, regs->sp)->to[0];
	for (unsigned i = 0; i < LINES_SOON; i++)
		__builtin_prefetch(&m->ring[(position + i) % LINES * LINE]);
}

/* ---- notes ---- */

static struct record *record_of(struct aif_memo_stack *stack)
{
	return (struct record *)(void *)((char *)stack - offsetof(struct record, stack));
}

static struct note *notes_for(struct record *r, uint64_t key)
{
	return r->notes[key >> 63];
}

/* Records of one program are about as long as each other. */
static void fetch(const struct aif_memo *m, uint32_t position, unsigned n_blocks)
{
	for (unsigned i = 0; i < HEAD_LINES + n_blocks; i++)
		__builtin_prefetch(&m->ring[(position + i) % LINES * LINE], 0, 2);
}

static void expect(struct aif_memo *m, struct note *note)
{
	m->noted = note;
	m->noted_in = m->last;
	m->expected = note->then;
}

uint32_t aif_memo_noted(struct aif_memo *m, struct aif_memo_stack *stack, uint64_t key)
{
	struct record *r = record_of(stack);
	struct note *notes = notes_for(r, key);

	for (unsigned i = 0; i < NOTES; i++) {
		if (notes[i].key != key)
			continue;
		expect(m, &notes[i]);
		if (aif_likely(m->expected))
			fetch(m, m->expected, r->n_blocks);
		return notes[i].id;
	}
	return AIF_MEMO_NOT_NOTED;
}

void aif_memo_note(struct aif_memo *m, struct aif_memo_stack *stack, uint64_t key, uint32_t id)
{
	struct note *notes = notes_for(record_of(stack), key);

	memmove(notes + 1, notes, (NOTES - 1) * sizeof(*notes));
	notes[0] = (struct note){.key = key, .id = id};
	expect(m, &notes[0]);
}

/* ---- the memo ---- */

size_t aif_memo_size(void)
{
	return sizeof(struct aif_memo);
}

void aif_memo_init(struct aif_memo *m, struct aif_unwinder *u, struct aif_stack_bounds bounds,
		   unsigned max_depth)
{
	m->unwinder = u;
	m->generation = aif_unwinder_generation(u);
	m->bounds = bounds;
	m->max_depth = AIF_MIN(AIF_MAX(max_depth, 1), AIF_MEMO_MAX_DEPTH);
	m->left = WINDOW;
	m->aside = 0;
	m->aside_next = ASIDE_FIRST;
	m->wasted = 0;
	forget(m);
}

void aif_memo_clear(struct aif_memo *m)
{
	forget(m);
	m->counts.cleared++;
}

void aif_memo_counts(const struct aif_memo *m, struct aif_memo_counts *ret)
{
	*ret = m->counts;
}
