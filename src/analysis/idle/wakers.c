/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/wakers.h"

#include "base/sort.h"
#include "analysis/cpu_totals.h"
#include "analysis/idle/course.h"
#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sleeps and samples of a waker that are looked at for one sleep; waits with a limit that follow each other. A damaged file may
 * have any number over the same time. */
#define LOOKS 64

/* ---- reading ----------------------------------------------------------------------------------- */

static int64_t since_start(const struct aif_profile *p, uint64_t time)
{
	return aif_time_clamp((int64_t)(time - p->start_ns));
}

static bool is_sleep(const struct aif_profile *p, const struct aif_cpu_row *row)
{
	return row->waiting && row->is_whole && row->thread != AIF_NONE &&
	       aif_cpu_is_off_cpu(p, row->stack) && !aif_cpu_seen(p, row->stack) &&
	       !aif_cpu_is_runnable(p, row->stack);
}

static int take_sleeps(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct aif_idle_wakers *w = arg;

	for (size_t i = 0; i < n; i++) {
		int64_t at = since_start(w->p, rows[i].time);

		if (!is_sleep(w->p, &rows[i]))
			continue;
		if (rows[i].waker_thread &&
		    aif_map_put(&w->is_waker, rows[i].waker_thread - 1, 1) < 0)
			return -ENOMEM;
		if (aif_grow(&w->sleeps, &w->sleeps_cap, w->sleeps_len + 1, sizeof(*w->sleeps)) < 0)
			return -ENOMEM;
		w->sleeps[w->sleeps_len++] = (struct aif_idle_off_cpu){
			.from = at,
			.to = at + (int64_t)AIF_MIN(rows[i].waiting, (uint64_t)AIF_TIME_MAX),
			.thread = rows[i].thread,
			.stack = rows[i].stack,
			.waker_thread = rows[i].waker_thread,
			.waker = rows[i].waker};
	}
	return 0;
}

static int take_samples(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct aif_idle_wakers *w = arg;
	uint64_t is;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].waiting || !aif_map_get(&w->is_waker, rows[i].thread, &is))
			continue;
		if (aif_grow(&w->samples, &w->samples_cap, w->samples_len + 1,
			     sizeof(*w->samples)) < 0)
			return -ENOMEM;
		w->samples[w->samples_len++] =
			(struct aif_idle_sample){.at = since_start(w->p, rows[i].time),
						 .weight = rows[i].weight,
						 .thread = rows[i].thread,
						 .stack = rows[i].stack};
	}
	return 0;
}

static int by_thread_end(const void *a, const void *b)
{
	const struct aif_idle_off_cpu *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->to, y->to)
	       ?: AIF_ORDER(x->from, y->from);
}

static int by_thread_time(const void *a, const void *b)
{
	const struct aif_idle_sample *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->at, y->at);
}

static bool any_waker(const struct aif_idle_wakers *w)
{
	for (size_t i = 0; i < w->sleeps_len; i++)
		if (w->sleeps[i].waker)
			return true;
	return false;
}

int aif_idle_wakers_read(const struct aif_profile *p, struct aif_idle_wakers *ret,
			 uint64_t *ret_damaged)
{
	int r;

	ret->p = p;
	r = aif_profile_cpu(p, take_sleeps, ret, ret_damaged);
	if (r == 0 && !any_waker(ret))
		ret->sleeps_len = 0;
	if (r < 0 || !ret->sleeps_len)
		return r;
	if (ret->is_waker.len)
		r = aif_profile_cpu(p, take_samples, ret, ret_damaged);
	aif_sort(ret->sleeps, ret->sleeps_len, sizeof(*ret->sleeps), by_thread_end);
	if (ret->samples_len)
		aif_sort(ret->samples, ret->samples_len, sizeof(*ret->samples), by_thread_time);
	return r;
}

void aif_idle_wakers_finish(struct aif_idle_wakers *w)
{
	free(w->sleeps);
	free(w->samples);
	free(w->woken);
	aif_map_finish(&w->is_waker);
	aif_map_finish(&w->first_of);
	aif_map_finish(&w->number_of);
	aif_map_finish(&w->woken_of);
	aif_map_finish(&w->did);
}

/* ---- who woke ---------------------------------------------------------------------------------- */

static enum aif_idle_waker rule_of(const char *name)
{
	static const struct {
		enum aif_idle_waker kind;
		const char *name;
	} rules[] = {
#define AIF_IDLE_WAKER_RULE(kind, name) {AIF_IDLE_WAKER_##kind, name},
#include "analysis/idle/wakers.def"
#undef AIF_IDLE_WAKER_RULE
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (!strncmp(name, rules[i].name, strlen(rules[i].name)))
			return rules[i].kind;
	return AIF_IDLE_WAKER_UNKNOWN;
}

/* Returns the frame of the name with which the stack of a thread begins whose process was not recorded; AIF_NONE: it has none. */
static uint32_t name_of_foreign(const struct aif_profile *p, uint32_t stack)
{
	uint32_t outermost = AIF_NONE;

	for (; stack != AIF_NONE; stack = p->stacks[stack].parent)
		outermost = p->stacks[stack].frame;
	return outermost != AIF_NONE && p->frames[outermost].kind == AIF_FRAME_MARK ? outermost
										    : AIF_NONE;
}

/* Without names of the OS kernel's functions nobody knows whether an interrupt woke. */
static enum aif_idle_waker kind_of(const struct aif_profile *p, const struct aif_idle_off_cpu *n)
{
	bool is_named = false;

	for (uint32_t s = n->waker ? n->waker - 1 : AIF_NONE; s != AIF_NONE;
	     s = p->stacks[s].parent) {
		uint32_t frame = p->stacks[s].frame;
		const struct aif_frame_name *name;
		enum aif_idle_waker kind;

		if (frame == AIF_NONE || p->frames[frame].kind != AIF_FRAME_OS)
			break;
		name = aif_profile_frame_name(p, frame);
		if (!name || name->name == AIF_NONE || *aif_profile_str(p, name->name) == '[')
			continue;
		is_named = true;
		kind = rule_of(aif_profile_str(p, name->name));
		if (kind)
			return kind;
	}
	if (!is_named)
		return AIF_IDLE_WAKER_UNKNOWN;
	if (n->waker_thread)
		return AIF_IDLE_WAKER_THREAD;
	return name_of_foreign(p, n->waker - 1) == AIF_NONE ? AIF_IDLE_WAKER_UNKNOWN
							    : AIF_IDLE_WAKER_FOREIGN;
}

/* Returns the first sleep of the thread that ends at `at` or later, or a later thread's. */
static size_t first_sleep(const struct aif_idle_wakers *w, uint32_t thread, int64_t at)
{
	return AIF_BISECT(mid, 0, w->sleeps_len,
			  w->sleeps[mid].thread < thread ||
				  (w->sleeps[mid].thread == thread && w->sleeps[mid].to < at));
}

static bool goes_on(const struct aif_idle_wakers *w, size_t i)
{
	const struct aif_idle_off_cpu *n = &w->sleeps[i], *next = n + 1;

	return i + 1 < w->sleeps_len && next->thread == n->thread && next->stack == n->stack &&
	       next->from >= n->to && next->from - n->to <= AIF_IDLE_WAIT_AGAIN_NS;
}

/* Returns the sleep whose waker ended the i-th: itself, or the last of waits with a limit that follow each other. */
static const struct aif_idle_off_cpu *last_of(const struct aif_idle_wakers *w, size_t i)
{
	for (unsigned n = 0;
	     n < LOOKS && kind_of(w->p, &w->sleeps[i]) == AIF_IDLE_WAKER_TIMER && goes_on(w, i);
	     n++)
		i++;
	return &w->sleeps[i];
}

/* Returns the sleep of a thread that has half of [from, to) or more, and ends in it; NULL: there is none. */
static const struct aif_idle_off_cpu *slept_through(const struct aif_idle_wakers *w,
						    uint32_t thread, int64_t from, int64_t to)
{
	size_t i = first_sleep(w, thread, from + 1);

	for (unsigned n = 0; n < LOOKS && i < w->sleeps_len && w->sleeps[i].thread == thread &&
			     w->sleeps[i].to <= to;
	     i++, n++)
		if (2 * (w->sleeps[i].to - AIF_MAX(w->sleeps[i].from, from)) >= to - from)
			return &w->sleeps[i];
	return NULL;
}

/* Returns the sleep whose waker is who the i-th sleep waited for: that of who woke it, if that slept itself until a thread woke it,
 * and so on. */
static const struct aif_idle_off_cpu *waited_for(const struct aif_idle_wakers *w, size_t i)
{
	const struct aif_idle_off_cpu *self = &w->sleeps[i], *of = last_of(w, i), *next;

	for (unsigned hop = 1; hop < AIF_IDLE_WAKER_HOPS; hop++) {
		if (kind_of(w->p, of) != AIF_IDLE_WAKER_THREAD)
			break;
		next = slept_through(w, of->waker_thread - 1, self->from, self->to);
		if (!next || kind_of(w->p, next) != AIF_IDLE_WAKER_THREAD ||
		    next->waker_thread - 1 == self->thread)
			break;
		of = next;
	}
	return of;
}

/* ---- what it did meanwhile --------------------------------------------------------------------- */

static int did_add(struct aif_idle_wakers *w, uint64_t woken, uint32_t stack, uint64_t ns)
{
	uint64_t key = woken << 32 | stack, sum = 0;

	if (stack == AIF_NONE || !ns)
		return 0;
	(void)aif_map_get(&w->did, key, &sum);
	sum += ns;
	if (sum > w->woken[woken].most) {
		w->woken[woken].most = sum;
		w->woken[woken].meanwhile = stack;
	}
	return aif_map_put(&w->did, key, sum);
}

static size_t first_sample(const struct aif_idle_wakers *w, uint32_t thread, int64_t at)
{
	return AIF_BISECT(mid, 0, w->samples_len,
			  w->samples[mid].thread < thread ||
				  (w->samples[mid].thread == thread && w->samples[mid].at < at));
}

/* Adds what a waker did in [from, to). */
static int add_meanwhile(struct aif_idle_wakers *w, uint64_t woken, uint32_t thread, int64_t from,
			 int64_t to)
{
	size_t i = first_sleep(w, thread, from + 1), k = first_sample(w, thread, from);
	int r = 0;

	for (unsigned n = 0; r == 0 && n < LOOKS && i < w->sleeps_len &&
			     w->sleeps[i].thread == thread && w->sleeps[i].from < to;
	     i++, n++)
		r = did_add(w, woken, w->sleeps[i].stack,
			    (uint64_t)(AIF_MIN(w->sleeps[i].to, to) -
				       AIF_MAX(w->sleeps[i].from, from)));
	for (unsigned n = 0; r == 0 && n < LOOKS && k < w->samples_len &&
			     w->samples[k].thread == thread && w->samples[k].at < to;
	     k++, n++)
		r = did_add(w, woken, w->samples[k].stack, w->samples[k].weight);
	return r;
}

/* ---- sleeps of shares -------------------------------------------------------------------------- */

/* Sets *ret to the share's entry for a waker, made if there is none. */
static int woken_get(struct aif_idle_wakers *w, uint64_t share, enum aif_idle_waker kind,
		     const struct aif_idle_off_cpu *of, uint64_t *ret)
{
	uint32_t who = kind == AIF_IDLE_WAKER_THREAD    ? of->waker_thread - 1
		       : kind == AIF_IDLE_WAKER_FOREIGN ? name_of_foreign(w->p, of->waker - 1)
							: 0;
	uint64_t key = (uint64_t)kind << 32 | who, number = w->number_of.len, first = 0;

	if (!aif_map_get(&w->number_of, key, &number) &&
	    aif_map_put(&w->number_of, key, number) < 0)
		return -ENOMEM;
	key = share << 32 | number;
	if (aif_map_get(&w->woken_of, key, ret))
		return 0;
	*ret = w->woken_len;
	(void)aif_map_get(&w->first_of, share, &first);
	if (aif_grow(&w->woken, &w->woken_cap, w->woken_len + 1, sizeof(*w->woken)) < 0 ||
	    aif_map_put(&w->woken_of, key, *ret) < 0 ||
	    aif_map_put(&w->first_of, share, *ret + 1) < 0)
		return -ENOMEM;
	w->woken[w->woken_len++] =
		(struct aif_idle_woken){.kind = kind,
					.thread = kind == AIF_IDLE_WAKER_THREAD ? who : AIF_NONE,
					.stack = of->waker - 1,
					.meanwhile = AIF_NONE,
					.next = first};
	return 0;
}

int aif_idle_wakers_add(struct aif_idle_wakers *w, uint64_t share, uint32_t thread, int64_t at,
			int64_t end, double ns)
{
	size_t i = first_sleep(w, thread, end);
	const struct aif_idle_off_cpu *of;
	enum aif_idle_waker kind;
	uint64_t woken;
	int r;

	while (i < w->sleeps_len && w->sleeps[i].thread == thread && w->sleeps[i].to == end &&
	       w->sleeps[i].from < at)
		i++;
	if (i == w->sleeps_len || w->sleeps[i].thread != thread || w->sleeps[i].to != end)
		return 0;
	of = waited_for(w, i);
	kind = kind_of(w->p, of);
	if (!kind)
		return 0;
	r = woken_get(w, share, kind, of, &woken);
	if (r == 0)
		w->woken[woken].ns += ns;
	return r == 0 && kind == AIF_IDLE_WAKER_THREAD
		       ? add_meanwhile(w, woken, of->waker_thread - 1, at, end)
		       : r;
}

/* ---- wakes of rows ----------------------------------------------------------------------------- */

int aif_idle_wakers_to_row(const struct aif_idle_wakers *w, uint64_t share, uint64_t row,
			   double part, struct aif_idle_blame *to)
{
	uint64_t next = 0;

	if (!aif_map_get(&w->first_of, share, &next))
		return 0;
	for (; next; next = w->woken[next - 1].next) {
		const struct aif_idle_woken *k = &w->woken[next - 1];

		if (aif_grow(&to->wakes, &to->wakes_cap, to->wakes_len + 1, sizeof(*to->wakes)) < 0)
			return -ENOMEM;
		to->wakes[to->wakes_len++] = (struct aif_idle_wake){
			.row = row,
			.kind = k->kind,
			.thread = k->thread,
			.stack = k->meanwhile == AIF_NONE ? k->stack : k->meanwhile,
			.is_wake = k->meanwhile == AIF_NONE,
			.ns = aif_timed_rounded(part * k->ns)};
	}
	return 0;
}

static int by_who(const void *a, const void *b)
{
	const struct aif_idle_wake *x = a, *y = b;

	return AIF_ORDER(x->row, y->row) ?: AIF_ORDER(x->kind, y->kind)
	       ?: AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->stack, y->stack)
	       ?: x->is_wake - y->is_wake;
}

static int by_row_time(const void *a, const void *b)
{
	const struct aif_idle_wake *x = a, *y = b;

	return AIF_ORDER(x->row, y->row) ?: AIF_ORDER(y->ns, x->ns) ?: by_who(a, b);
}

void aif_idle_wakers_sort(struct aif_idle_blame *b)
{
	size_t n = 0;

	if (!b->wakes_len)
		return;
	qsort(b->wakes, b->wakes_len, sizeof(*b->wakes), by_who);
	for (size_t i = 0; i < b->wakes_len; i++) {
		if (n && !by_who(&b->wakes[n - 1], &b->wakes[i]))
			b->wakes[n - 1].ns += b->wakes[i].ns;
		else
			b->wakes[n++] = b->wakes[i];
	}
	b->wakes_len = n;
	qsort(b->wakes, n, sizeof(*b->wakes), by_row_time);
}

const struct aif_idle_wake *aif_idle_wakes_of(const struct aif_idle_blame *b,
					      const struct aif_idle_row *row, size_t *ret_len)
{
	uint64_t key = aif_idle_row_key(row);
	size_t lo = AIF_BISECT(mid, 0, b->wakes_len, b->wakes[mid].row < key);

	*ret_len = 0;
	while (lo + *ret_len < b->wakes_len && b->wakes[lo + *ret_len].row == key)
		++*ret_len;
	return b->wakes ? &b->wakes[lo] : NULL;
}

/* Appends the name with which the stack of a thread begins whose process was not recorded. */
static void say_foreign(const struct aif_profile *p, uint32_t stack, struct aif_buf *ret)
{
	uint32_t name = name_of_foreign(p, stack);

	if (name != AIF_NONE && p->frames[name].address < p->strings.len)
		aif_buf_puts(ret, aif_profile_str(p, (uint32_t)p->frames[name].address));
	else
		aif_buf_puts(ret, "another process");
}

void aif_idle_waker_say(const struct aif_profile *p, const struct aif_idle_wake *w,
			struct aif_buf *ret)
{
	const struct aif_thread *t = w->thread == AIF_NONE ? NULL : &p->threads[w->thread];
	const char *name = t && t->name != AIF_NONE ? aif_profile_str(p, t->name) : "";

	switch (w->kind) {
	case AIF_IDLE_WAKER_TIMER:
		aif_buf_puts(ret, "a timer");
		break;
	case AIF_IDLE_WAKER_INTERRUPT:
		aif_buf_puts(ret, "an interrupt");
		break;
	case AIF_IDLE_WAKER_FOREIGN:
		say_foreign(p, w->stack, ret);
		break;
	default:
		if (t && !*name)
			aif_buf_printf(ret, "thread %" PRIu32, t->tid);
		else
			aif_buf_puts(ret, name);
		break;
	}
}
