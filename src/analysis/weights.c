/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/weights.h"

#include "profile/file.h"
#include "analysis/gaps.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Returns the key of a block: the thread whose launches it counts or, where the runtime counts those of several threads
 * together, the process. */
static uint64_t key_of(uint32_t thread, uint32_t process)
{
	return thread != AIF_NONE ? thread : UINT64_C(1) << 32 | process;
}

struct block {
	uint64_t start, end, launches, key;
	uint64_t told; /* where it began by what was told, if `start` is before that; else 0 */
	uint32_t process, cycle;
	bool on, certain;
};

struct aif_weights {
	const struct aif_profile *p;
	struct block *blocks; /* by key and start */
	size_t blocks_len, blocks_cap;
	struct aif_weights_cycle *cycles;
	size_t cycles_len, cycles_cap;
	/* Times when any thread of a process was without capture; in CLOCK_MONOTONIC, as blocks
	 * are. */
	struct aif_gaps off;
	/* Times when any thread of a process launched something in a block without capture, and in one
	 * with. */
	struct aif_gaps worked_off, worked_on;
	uint64_t *off_launches;   /* of each in worked_off */
	uint64_t *off_end_errors; /* and how well its end is known */
	uint64_t *sampled;        /* by process: when a window of a device's samples last ended */
	bool *goes_on;            /* by process: it launched something after .to */
	uint64_t uncaptured, from, to;
	uint64_t part;  /* blocks of before are not there; 0: none is missing */
	bool has_grown; /* a block has */
};

/* CUPTI's windows are written only where they have samples: the device worked in each. */
static bool is_of_work(const struct aif_profile *p, const struct aif_window_row *r)
{
	return r->device != AIF_NONE && r->process != AIF_NONE && r->held &&
	       !strcmp(aif_profile_str(p, p->devices[r->device].runtime), "cuda");
}

/* Returns how many of the launches, evenly spread over [start, end), lie in [from, to). */
static uint64_t in_part(uint64_t launches, uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
	return from == start && to == end
		       ? launches
		       : (uint64_t)((double)launches * (double)(to - from) / (double)(end - start));
}

static int load(void *arg, const struct aif_window_row *rows, size_t n)
{
	struct aif_weights *w = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_window_row *r = &rows[i];
		uint64_t start = AIF_MAX(r->start, w->part), end = AIF_MIN(r->end, w->to);

		if (r->end <= w->from)
			continue; /* its launches were dropped */
		if (is_of_work(w->p, r))
			w->sampled[r->process] = AIF_MAX(w->sampled[r->process], r->end);

		/* More launches than ns are not a count, but would make sums wrap. */
		if (r->device != AIF_NONE || r->end <= r->start || r->process == AIF_NONE ||
		    (r->thread == AIF_NONE && !r->p_ppm) /* gaps.h */ ||
		    r->launches > r->end - r->start)
			continue;
		w->goes_on[r->process] |= r->end > w->to && r->launches;
		if (start >= end)
			continue;
		if (aif_grow(&w->blocks, &w->blocks_cap, w->blocks_len + 1, sizeof(*w->blocks)) < 0)
			return -ENOMEM;
		w->blocks[w->blocks_len++] = (struct block){
			.start = start,
			.end = end,
			.launches = in_part(r->launches, r->start, r->end, start, end),
			.key = key_of(r->thread, r->process),
			.process = r->process,
			.cycle = AIF_NONE,
			.on = r->held,
			.certain = r->held && r->p_ppm >= 1000000};
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return AIF_ORDER(x->key, y->key) ?: AIF_ORDER(x->start, y->start);
}

static int cycle_new(struct aif_weights *w, uint64_t key)
{
	if (aif_grow(&w->cycles, &w->cycles_cap, w->cycles_len + 1, sizeof(*w->cycles)) < 0)
		return -ENOMEM;
	w->cycles[w->cycles_len++] = (struct aif_weights_cycle){.key = key};
	return 0;
}

/* The off-launches between two cycles belong half to each; to `after` if there is no other. */
static void share_out(struct aif_weights *w, uint32_t before, uint32_t after, double launches)
{
	double part = before != AIF_NONE ? launches / 2 : launches;

	if (before != AIF_NONE)
		w->cycles[before].launches += part;
	w->cycles[after].launches += part;
}

/* Extends a block that was certain to be on back to the end of the block before it: of several such
 * on-blocks in a row only the last is recorded. Launches in the extension are counted later
 * (count_grown). */
static void grow_certain(struct aif_weights *w, struct block *b)
{
	const struct block *before = b > w->blocks && b[-1].key == b->key ? b - 1 : NULL;
	uint64_t from = AIF_MAX(before ? before->end : 0, w->from);

	if (from < b->start) {
		b->told = b->start;
		b->start = from;
		w->has_grown = true;
	}
}

/* A block that was certain to be on stands for off-launches beside it where nothing else can. */
static int stand_in(struct aif_weights *w, struct block *certain, double launches)
{
	int r;

	if (!certain || launches <= 0)
		return 0;
	if (certain->cycle == AIF_NONE) {
		grow_certain(w, certain);
		r = cycle_new(w, certain->key);
		if (r < 0)
			return r;
		certain->cycle = (uint32_t)(w->cycles_len - 1);
		w->cycles[certain->cycle].captured = (double)certain->launches;
		w->cycles[certain->cycle].launches = (double)certain->launches;
	}
	w->cycles[certain->cycle].launches += launches;
	return 0;
}

/* Blocks first..end have one key. */
static int make_cycles(struct aif_weights *w, size_t first, size_t end)
{
	uint32_t last = AIF_NONE, now = AIF_NONE; /* the cycle before, the one that still grows */
	struct block *certain = NULL;             /* the block before, if it was certain */
	double off = 0;                           /* launches since `last`, or within `now` */

	for (size_t i = first; i <= end; i++) {
		struct block *b = i < end ? &w->blocks[i] : NULL;

		if (!b || b->certain) {
			struct block *beside = certain ? certain : b;

			/* Too few for a ratio stand for themselves only. */
			if (now != AIF_NONE && last == AIF_NONE && beside &&
			    w->cycles[now].captured < AIF_WEIGHTS_MIN) {
				off += w->cycles[now].launches - w->cycles[now].captured;
				w->cycles[now].launches = w->cycles[now].captured;
				now = AIF_NONE;
			}
			if (now != AIF_NONE)
				w->cycles[now].launches += off;
			else if (last != AIF_NONE)
				w->cycles[last].launches += off;
			else if (stand_in(w, beside, off) < 0)
				return -ENOMEM;
			last = now = AIF_NONE;
			certain = b;
			off = 0;
			continue;
		}
		if (!b->on) {
			off += (double)b->launches;
			if (now != AIF_NONE && w->cycles[now].captured >= AIF_WEIGHTS_MIN) {
				last = now;
				now = AIF_NONE;
			}
			continue;
		}
		if (now == AIF_NONE) {
			if (cycle_new(w, b->key) < 0)
				return -ENOMEM;
			now = (uint32_t)(w->cycles_len - 1);
			share_out(w, last, now, off);
		} else {
			w->cycles[now].launches += off;
		}
		off = 0;
		b->cycle = now;
		w->cycles[now].captured += (double)b->launches;
		w->cycles[now].launches += (double)b->launches;
	}
	return 0;
}

static int add_times(struct aif_gaps *to, const struct block *b)
{
	if (aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0)
		return -ENOMEM;
	to->at[to->len++] = (struct aif_gap){b->start, b->end, b->process};
	return 0;
}

static int find_times(struct aif_weights *w)
{
	int r = 0;

	for (size_t i = 0; i < w->blocks_len && !r; i++) {
		const struct block *b = &w->blocks[i];

		if (!b->on)
			r = add_times(&w->off, b);
		if (b->launches && !r)
			r = add_times(b->on ? &w->worked_on : &w->worked_off, b);
	}
	aif_gaps_unite(&w->off);
	aif_gaps_unite(&w->worked_on);
	aif_gaps_unite(&w->worked_off);
	return r;
}

/* The index of the first of the process's that begins after `at`, or is of a later process. */
static size_t first_after(const struct aif_gaps *g, uint32_t process, uint64_t at)
{
	return AIF_BISECT(mid, 0, g->len,
			  g->at[mid].process < process ||
				  (g->at[mid].process == process && g->at[mid].start <= at));
}

/* Launches of the last few blocks without capture, and the time they took. */
struct pace {
	double launches[AIF_WEIGHTS_POOL], ns[AIF_WEIGHTS_POOL];
	size_t n;
};

static void pace_add(struct pace *p, uint64_t launches, uint64_t ns)
{
	p->launches[p->n] = (double)launches;
	p->ns[p->n++] = (double)ns;
}

/* Estimates how long so many more launches took, ns; and its standard error. */
static double expected_ns(const struct pace *p, double more, double *ret_error)
{
	double launches = 0, ns = 0, squares = 0, each;

	if (p->n < 2)
		return INFINITY;
	for (size_t i = 0; i < p->n; i++) {
		launches += p->launches[i];
		ns += p->ns[i];
	}
	each = ns / launches;
	for (size_t i = 0; i < p->n; i++) {
		double off = p->ns[i] / p->launches[i] - each;

		squares += off * off;
	}
	*ret_error = more * sqrt(squares / (double)(p->n - 1));
	return more * each;
}

/* Returns the pace of the process as a whole, in the times without capture before the i-th. */
static struct pace pace_of_process(const struct aif_weights *w, size_t i)
{
	const struct aif_gap *at = w->worked_off.at;
	struct pace p = {0};

	for (size_t j = i; j-- > 0 && p.n < AIF_WEIGHTS_POOL && at[j].process == at[i].process;)
		pace_add(&p, w->off_launches[j], at[j].end - at[j].start);
	return p;
}

/* Returns the block of the process that has the most launches of those in the i-th time without capture. */
static const struct block *busiest(const struct aif_weights *w, size_t i)
{
	const struct aif_gap *gap = &w->worked_off.at[i];
	const struct block *most = NULL;

	for (const struct block *b = w->blocks; b < w->blocks + w->blocks_len; b++)
		if (!b->on && b->process == gap->process && b->start >= gap->start &&
		    b->start < gap->end && (!most || b->launches > most->launches))
			most = b;
	return most;
}

/* Returns the pace of the thread that a block counts, in its blocks without capture before this one. */
static struct pace pace_of_thread(const struct aif_weights *w, const struct block *block)
{
	struct pace p = {0};

	for (const struct block *b = block;
	     b-- > w->blocks && b->key == block->key && p.n < AIF_WEIGHTS_POOL;)
		if (!b->on && b->launches)
			pace_add(&p, b->launches, b->end - b->start);
	return p;
}

/*
 * The last block of a process goes on after its last launch: finds its end, by the pace at which the process launched before,
 * or the thread that launched most in it. Where the other threads have ended, it alone tells how long this went on. A device
 * that was sampled in it worked until then, at least: sampling may have ended before the process.
 */
static void end_last_block(struct aif_weights *w, size_t i)
{
	struct aif_gap *gap = &w->worked_off.at[i];
	uint64_t sampled = AIF_MIN(gap->end, w->sampled[gap->process]);
	double length = (double)(gap->end - gap->start), error = 0, of_thread = 0, ns, alone;
	const struct block *b;
	struct pace p;

	p = pace_of_process(w, i);
	ns = expected_ns(&p, (double)w->off_launches[i], &error);
	b = busiest(w, i);
	if (b) {
		p = pace_of_thread(w, b);
		alone = expected_ns(&p, (double)b->launches, &of_thread);
		if (alone < INFINITY && alone > ns) {
			ns = alone;
			error = of_thread;
		}
	}
	if (ns < length)
		gap->end = gap->start + (uint64_t)ns;
	if (sampled >= gap->end)
		gap->end = sampled;
	else
		w->off_end_errors[i] = (uint64_t)AIF_MIN(error, length);
}

static int end_last_blocks(struct aif_weights *w)
{
	const struct aif_gaps *off = &w->worked_off;

	w->off_launches = calloc(off->len + 1, sizeof(*w->off_launches));
	w->off_end_errors = calloc(off->len + 1, sizeof(*w->off_end_errors));
	if (!w->off_launches || !w->off_end_errors)
		return -ENOMEM;
	for (size_t i = 0; i < w->blocks_len; i++) {
		const struct block *b = &w->blocks[i];

		if (!b->on && b->launches)
			w->off_launches[first_after(off, b->process, b->start) - 1] += b->launches;
	}
	for (size_t i = 0; i < off->len; i++)
		if (!w->goes_on[off->at[i].process] &&
		    (i + 1 == off->len || off->at[i + 1].process != off->at[i].process))
			end_last_block(w, i);
	return 0;
}

/* Cycles first..end are a pool. What each stands for is by the pool's ratio from here on. */
static void pool(struct aif_weights *w, size_t first, size_t end)
{
	double captured = 0, launches = 0, weight;

	for (size_t i = first; i < end; i++) {
		captured += w->cycles[i].captured;
		launches += w->cycles[i].launches;
	}
	weight = captured > 0 ? launches / captured : 1;
	for (size_t i = first; i < end; i++) {
		struct aif_weights_cycle *c = &w->cycles[i];

		c->launches = c->captured * weight;
		c->weight = (uint64_t)(AIF_MIN(weight, (double)AIF_WEIGHT_MAX / AIF_WEIGHT_ONE) *
				       AIF_WEIGHT_ONE);
		c->pool = first;
		c->pool_len = end - first;
	}
}

static void make_pools(struct aif_weights *w)
{
	for (size_t i = 0, j, end; i < w->cycles_len; i = end) {
		for (end = i; end < w->cycles_len && w->cycles[end].key == w->cycles[i].key;)
			end++;
		/* The last pool takes what would be too little for one of its own. */
		for (j = i; end - j >= 2 * AIF_WEIGHTS_POOL; j += AIF_WEIGHTS_POOL)
			pool(w, j, j + AIF_WEIGHTS_POOL);
		pool(w, j, end);
	}
}

/* The block with this key that began last, or NULL. */
static const struct block *block_at(const struct aif_weights *w, uint64_t key, uint64_t time)
{
	size_t lo = AIF_BISECT(mid, 0, w->blocks_len,
			       w->blocks[mid].key < key ||
				       (w->blocks[mid].key == key && w->blocks[mid].start <= time));

	return lo && w->blocks[lo - 1].key == key ? &w->blocks[lo - 1] : NULL;
}

/* The one that counts the thread's launches then. */
static const struct block *block_of(const struct aif_weights *w, uint32_t thread, uint64_t time)
{
	const struct block *b = block_at(w, thread, time);

	return b || thread >= w->p->threads_len
		       ? b
		       : block_at(w, key_of(AIF_NONE, w->p->threads[thread].process), time);
}

static int count_grown(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct aif_weights *w = arg;

	for (size_t i = 0; i < n; i++) {
		const struct block *b = block_of(w, rows[i].thread, rows[i].time);

		if (b && b->cycle != AIF_NONE && rows[i].time < b->told) {
			w->cycles[b->cycle].captured++;
			w->cycles[b->cycle].launches++;
		}
	}
	return 0;
}

static int new_part(const struct aif_profile *p, struct aif_weights_span part,
		    struct aif_weights **ret)
{
	struct aif_weights *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->p = p;
	w->part = part.from;
	w->from = AIF_MAX(p->kept_ns, part.from);
	w->to = part.to;
	w->goes_on = calloc(p->processes_len + 1, sizeof(*w->goes_on));
	w->sampled = calloc(p->processes_len + 1, sizeof(*w->sampled));
	r = w->sampled && w->goes_on ? aif_profile_windows(p, load, w, NULL) : -ENOMEM;
	if (!r && !w->blocks_len) {
		aif_weights_free(w);
		*ret = NULL;
		return 0;
	}
	if (!r)
		qsort(w->blocks, w->blocks_len, sizeof(*w->blocks), by_key);
	for (size_t i = 0, j; i < w->blocks_len && !r; i = j) {
		for (j = i; j < w->blocks_len && w->blocks[j].key == w->blocks[i].key; j++)
			w->uncaptured += w->blocks[j].on ? 0 : w->blocks[j].launches;
		r = make_cycles(w, i, j);
	}
	if (!r && w->has_grown)
		r = aif_profile_launches(p, count_grown, w, NULL);
	if (!r)
		r = find_times(w);
	if (!r)
		r = end_last_blocks(w);
	if (r < 0) {
		aif_weights_free(w);
		return r;
	}
	make_pools(w);
	*ret = w;
	return 0;
}

int aif_weights_new(const struct aif_profile *p, struct aif_weights **ret)
{
	return new_part(p, (struct aif_weights_span){0, UINT64_MAX, 0}, ret);
}

int aif_weights_new_selected(const struct aif_profile *p, const struct aif_selection *sel,
			     struct aif_weights_span part, struct aif_weights **ret)
{
	return sel && (sel->from_ns || sel->to_ns) ? new_part(p, part, ret)
						   : aif_weights_new(p, ret);
}

void aif_weights_free(struct aif_weights *w)
{
	if (!w)
		return;
	free(w->blocks);
	free(w->cycles);
	aif_gaps_finish(&w->off);
	aif_gaps_finish(&w->worked_on);
	aif_gaps_finish(&w->worked_off);
	free(w->off_launches);
	free(w->off_end_errors);
	free(w->sampled);
	free(w->goes_on);
	free(w);
}

static const struct aif_weights_cycle *first_cycle(const struct aif_weights *w, uint32_t thread)
{
	uint64_t keys[2] = {thread, UINT64_MAX};

	if (thread < w->p->threads_len)
		keys[1] = key_of(AIF_NONE, w->p->threads[thread].process);
	for (size_t k = 0; k < AIF_ARRAY_LEN(keys); k++) {
		size_t lo = AIF_BISECT(mid, 0, w->cycles_len, w->cycles[mid].key < keys[k]);

		if (lo < w->cycles_len && w->cycles[lo].key == keys[k])
			return &w->cycles[lo];
	}
	return NULL;
}

const struct aif_weights_cycle *aif_weights_at(const struct aif_weights *w, uint32_t thread,
					       uint64_t time)
{
	const struct block *b = w ? block_of(w, thread, time) : NULL;

	/* Launches from before the part that run in it count like the first that was launched in it. */
	if (!b && w && time < w->part)
		return first_cycle(w, thread);
	return b && time < b->end && b->on && b->cycle != AIF_NONE ? &w->cycles[b->cycle] : NULL;
}

uint32_t aif_weights_cycle_at(const struct aif_weights *w, uint32_t thread, uint64_t time)
{
	const struct aif_weights_cycle *c = aif_weights_at(w, thread, time);

	return c ? (uint32_t)(c - w->cycles) : AIF_NONE;
}

double aif_weights_factor(const struct aif_weights *w, uint32_t cycle)
{
	return cycle == AIF_NONE ? 1 : (double)w->cycles[cycle].weight / AIF_WEIGHT_ONE;
}

/* The index behind the last of the process's that ends before `at`, or is of an earlier process. */
static size_t behind_before(const struct aif_gaps *g, uint32_t process, uint64_t at)
{
	size_t i = first_after(g, process, at);

	return i && g->at[i - 1].process == process && g->at[i - 1].end >= at ? i - 1 : i;
}

/* Returns the start of the process's first span that begins at `at` or later, or UINT64_MAX. */
static uint64_t next_start(const struct aif_gaps *g, uint32_t process, uint64_t at)
{
	size_t i = at ? first_after(g, process, at - 1) : first_after(g, process, 0);

	return i < g->len && g->at[i].process == process ? g->at[i].start : UINT64_MAX;
}

/* Returns the end of the process's last span that ends at `at` or earlier, or 0. */
static uint64_t last_end(const struct aif_gaps *g, uint32_t process, uint64_t at)
{
	size_t i = behind_before(g, process, at + 1);

	return i && g->at[i - 1].process == process ? g->at[i - 1].end : 0;
}

void aif_weights_reach(const struct aif_weights *w, uint32_t process, struct aif_weights_span most,
		       struct aif_weights_span *span)
{
	const struct aif_gaps *off = w ? &w->worked_off : NULL;

	if (!off || !off->len || process == AIF_NONE)
		return;
	/* From a time in one of them to its end, and to those that follow before anything is captured again. */
	for (size_t i = behind_before(off, process, span->to);
	     i < off->len && off->at[i].process == process && off->at[i].start < most.to &&
	     off->at[i].start <= next_start(&w->worked_on, process, span->to);
	     i++) {
		if (off->at[i].end > span->to)
			span->error = w->off_end_errors[i];
		span->to = AIF_MAX(span->to, AIF_MIN(off->at[i].end, most.to));
	}
	for (size_t i = first_after(off, process, span->from);
	     i && off->at[i - 1].process == process && off->at[i - 1].end > most.from &&
	     off->at[i - 1].end >= last_end(&w->worked_on, process, span->from);
	     i--)
		span->from = AIF_MIN(span->from, AIF_MAX(off->at[i - 1].start, most.from));
}

bool aif_weights_off(const struct aif_weights *w, uint32_t process, uint64_t time)
{
	return w && aif_gaps_at(&w->off, process, time).is_gap;
}

uint32_t aif_weights_process(const struct aif_weights *w, const struct aif_weights_cycle *c)
{
	return c->key >> 32 ? (uint32_t)c->key : w->p->threads[c->key].process;
}

const struct aif_weights_cycle *aif_weights_cycles(const struct aif_weights *w, size_t *ret_len)
{
	*ret_len = w ? w->cycles_len : 0;
	return w ? w->cycles : NULL;
}

uint64_t aif_weights_uncaptured(const struct aif_weights *w)
{
	return w ? w->uncaptured : 0;
}

static double overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
	start = AIF_MAX(start, from);
	end = AIF_MIN(end, to);
	return end > start ? (double)(end - start) : 0;
}

static bool is_kept(const struct aif_weights *w, const struct block *b, const bool *processes,
		    const bool *threads)
{
	if (processes && !processes[b->process])
		return false;
	if (!threads)
		return true;
	if (b->key < w->p->threads_len)
		return threads[b->key];
	for (size_t i = 0; i < w->p->threads_len; i++)
		if (threads[i] && w->p->threads[i].process == b->process)
			return true;
	return false;
}

bool aif_weights_blank(const struct aif_weights *w, uint64_t from, uint64_t to,
		       const bool *processes, const bool *threads, struct aif_weights_blank *ret)
{
	struct aif_weights_blank blank = {.from = UINT64_MAX};

	for (size_t i = 0; w && i < w->blocks_len; i++) {
		const struct block *b = &w->blocks[i];
		double ns = overlap(b->start, b->end, from, to);

		if (b->on || !b->launches || ns <= 0 || !is_kept(w, b, processes, threads))
			continue;
		blank.from = AIF_MIN(blank.from, AIF_MAX(b->start, from));
		blank.to = AIF_MAX(blank.to, AIF_MIN(b->end, to));
		blank.launches += (double)b->launches * ns / (double)(b->end - b->start);
	}
	if (!blank.to)
		return false;
	*ret = blank;
	return true;
}

void aif_weights_left_out(const struct aif_weights *w, uint64_t from, uint64_t to,
			  double *ret_launches, double *ret_ns)
{
	for (size_t i = 0; w && i < w->blocks_len; i++) {
		const struct block *b = &w->blocks[i];

		if (!b->on)
			ret_launches[b->process] += (double)b->launches *
						    overlap(b->start, b->end, from, to) /
						    (double)(b->end - b->start);
	}
	for (size_t i = 0; w && i < w->off.len; i++)
		ret_ns[w->off.at[i].process] +=
			overlap(w->off.at[i].start, w->off.at[i].end, from, to);
}
