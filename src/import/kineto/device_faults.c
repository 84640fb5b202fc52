/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "import/kineto/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Times of traces before 2024 are whole microseconds: by so much neighbours may overlap. */
#define ROUNDED_NS 1000
/* From one launch without work in so many on, that is not because the trace ended. */
#define MANY 20
/* An execution may end behind all else by this, and by so many times the length of all else: kernels of some seconds are
 * what a trace was made for. */
#define LATE_NS    10000000000
#define LATE_TIMES 10

static int by_queue(const struct kineto *k, const struct kineto_exec *x,
		    const struct kineto_exec *y)
{
	const struct kineto_queue *p = &k->machine.queues[x->queue],
				  *q = &k->machine.queues[y->queue];

	if (x->queue == y->queue)
		return 0;
	return AIF_ORDER(p->device, q->device) ?: AIF_ORDER(p->stream, q->stream);
}

static int by_stream(const void *a, const void *b, void *arg)
{
	const struct kineto *k = arg;
	const struct kineto_exec *x = &k->execs[*(const uint32_t *)a],
				 *y = &k->execs[*(const uint32_t *)b];
	int c = by_queue(k, x, y);

	if (c)
		return c;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void fault_add(const struct kineto *k, struct kineto_fault *f, const struct kineto_exec *x)
{
	if (!f->count++) {
		f->stream = k->machine.queues[x->queue].stream;
		f->name = x->name;
	}
}

/* Returns the execution behind the i-th on its stream; NULL: it is the last. */
static struct kineto_exec *behind(struct kineto *k, const uint32_t *order, size_t i)
{
	struct kineto_exec *x = &k->execs[order[i]], *y;

	if (i + 1 == k->execs_len)
		return NULL;
	y = &k->execs[order[i + 1]];
	return by_queue(k, x, y) ? NULL : y;
}

static bool is_around(const struct kineto_exec *x, const struct kineto_exec *y)
{
	return y && y->start > x->start && y->end < x->end;
}

/*
 * Launches that may begin before what is before them on their stream has ended, by correlation: programmatic dependent
 * launches are made by calls with attributes (cudaLaunchKernelExC, cuLaunchKernelEx).
 */
struct early {
	struct aif_map map;
	bool is_made;
};

static int early_make(const struct kineto *k, struct early *e)
{
	uint32_t known = AIF_NONE;
	bool is_one = false;

	e->is_made = true;
	for (size_t i = 0; i < k->spans_len; i++) {
		const struct kineto_span *s = &k->spans[i];
		const char *name;
		size_t len;

		if (s->class != KINETO_CALL || !k->calls[s->ref].has_correlation)
			continue;
		if (s->name != known) {
			name = aif_strset_get(&k->names.texts, s->name, &len);
			is_one = memmem(name, len, "LaunchKernelEx", 14);
			known = s->name;
		}
		if (is_one && aif_map_put(&e->map, k->calls[s->ref].correlation, 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Returns 1 if y may begin before x has ended: branches of one graph run side by side, and so do programmatic dependent
 * launches. 0 if not, or -ENOMEM. */
static int may_overlap(const struct kineto *k, struct early *e, const struct kineto_exec *x,
		       const struct kineto_exec *y)
{
	uint64_t one;

	if (!y->has_correlation)
		return 0;
	if (x->has_correlation && x->correlation == y->correlation)
		return 1;
	if (!e->is_made && early_make(k, e) < 0)
		return -ENOMEM;
	return aif_map_get(&e->map, y->correlation, &one);
}

/* True if all times are whole microseconds: what took none was shorter. */
static bool is_rounded(const struct kineto *k)
{
	for (size_t i = 0; i < k->execs_len; i++)
		if (k->execs[i].start % ROUNDED_NS || k->execs[i].end % ROUNDED_NS)
			return false;
	for (size_t i = 0; i < k->spans_len; i++)
		if (k->spans[i].start % ROUNDED_NS || k->spans[i].end % ROUNDED_NS)
			return false;
	return true;
}

/* Returns how late an execution may end: no host waited for it, and it is the last of its stream. */
static int64_t end_bound(struct kineto *k, const uint32_t *order)
{
	int64_t first = INT64_MAX, last = INT64_MIN, late;

	for (size_t i = 0; i < k->spans_len; i++) {
		first = AIF_MIN(first, k->spans[i].start);
		last = AIF_MAX(last, k->spans[i].end);
	}
	if (!k->spans_len)
		return INT64_MAX;
	for (size_t i = 0; i < k->execs_len; i++) {
		const struct kineto_exec *x = &k->execs[order[i]];

		first = AIF_MIN(first, x->start);
		last = AIF_MAX(last, behind(k, order, i) ? x->end : x->start);
	}
	if (__builtin_sub_overflow(last, first, &late) ||
	    __builtin_mul_overflow(late, LATE_TIMES, &late) ||
	    __builtin_add_overflow(last, AIF_MAX(late, LATE_NS), &late))
		return INT64_MAX;
	return late;
}

int kineto_faults_find(struct kineto *k)
{
	struct kineto_faults *f = &k->faults;
	struct early early = {0};
	int r = 0;
	uint32_t *order = malloc((k->execs_len + 1) * sizeof(*order));
	int64_t last = INT64_MIN, bound;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < k->execs_len; i++)
		order[i] = (uint32_t)i;
	if (k->execs_len)
		aif_sort_r(order, k->execs_len, sizeof(*order), by_stream, k);
	for (size_t i = 0; i < k->spans_len; i++)
		last = AIF_MAX(last, k->spans[i].end);
	for (size_t i = 0; i < k->execs_len; i++)
		if (!is_around(&k->execs[order[i]], behind(k, order, i)))
			last = AIF_MAX(last, k->execs[order[i]].end);
	bound = end_bound(k, order);
	for (size_t i = 0; i < k->execs_len && r >= 0; i++) {
		struct kineto_exec *x = &k->execs[order[i]], *y = behind(k, order, i);

		if (is_around(x, y) && x->end > last) {
			x->end = y->start;
			fault_add(k, &f->cut, x);
		} else if (y && x->end > y->start + ROUNDED_NS && y->end > y->start) {
			r = may_overlap(k, &early, x, y);
			if (!r)
				fault_add(k, &f->overlap, y);
		}
		if (!y && x->end > bound)
			fault_add(k, &f->late, x);
		if (x->end == x->start)
			fault_add(k, &f->no_time, x);
	}
	if (f->no_time.count <= k->execs_len / 2 &&
	    is_rounded(k)) /* as short as that, by rounding */
		f->no_time.count = 0;
	aif_map_finish(&early.map);
	free(order);
	return AIF_MIN(r, 0);
}

void kineto_faults_call(struct kineto_faults *f, const char *name, size_t len)
{
	if (memmem(name, len, "GraphLaunch", 11))
		f->graphs++;
	else if (memmem(name, len, "LaunchKernel", 12) ||
		 memmem(name, len, "LaunchCooperativeKernel", 23))
		f->launches++;
}

static void fault_report(struct kineto *k, enum aif_reason reason, const struct kineto_fault *f)
{
	struct aif_buf text = {0};
	size_t len;
	const char *name;

	if (!f->count)
		return;
	name = aif_strset_get(&k->names.texts, f->name, &len);
	aif_buf_printf(&text, "%s: %sstream %" PRIu64 ": ", k->file, f->count > 1 ? "first: " : "",
		       kineto_stream_ordinal(k, f->stream));
	aif_buf_append(&text, name, len);
	aif_builder_loss(k->b, reason, AIF_NONE, aif_builder_puts(k->b, aif_buf_str(&text)),
			 f->count);
	aif_buf_finish(&text);
}

void kineto_faults_report(struct kineto *k)
{
	const struct kineto_faults *f = &k->faults;
	uint32_t file = aif_builder_puts(k->b, k->file);

	fault_report(k, AIF_REASON_IMPORT_CUT_WORK, &f->cut);
	fault_report(k, AIF_REASON_IMPORT_LATE_WORK, &f->late);
	fault_report(k, AIF_REASON_IMPORT_STREAM_OVERLAP, &f->overlap);
	fault_report(k, AIF_REASON_IMPORT_NO_TIME, &f->no_time);
	aif_builder_loss(k->b, AIF_REASON_IMPORT_NO_CALL, AIF_NONE, file,
			 f->no_call - AIF_MIN(k->counts.misjoined, f->no_call));
	aif_builder_loss(k->b, AIF_REASON_IMPORT_GRAPH_UNKNOWN, AIF_NONE, file, f->graphs);
	aif_builder_loss(k->b, AIF_REASON_IMPORT_NO_WORK, AIF_NONE, file, f->launches);
	if (f->launches * MANY > k->b->launches_len)
		aif_builder_meta(k->b, "imported.device_work", "missing");
}
