/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include "import/kineto/aiu.h"
#include "import/kineto/classify.h"
#include "import/kineto/nesting.h"

#include <errno.h>
#include <string.h>

/*
 * Spans -> stacks
 *
 * A trace has no stacks: it has spans, and who called whom is what time it was. Of each thread the spans are put in
 * order of their beginnings, the longer one first; then a span's callers are those that have begun and not ended:
 *
 *     train.py(7): step    |------------------------------|
 *       aten::mm              |-----------|  |--| aten::add
 *         cudaLaunchKernel       |--|
 *
 * Spans that overlap in part are no tree: torch.compile's end in an order of their own, and clocks are read at
 * different moments. Then the one that began first is the caller for as long as it runs; what has ended is taken out
 * from under the others. All that are running are there, in the order in which they began; how often it was so is counted.
 *
 * Python's spans have their callers' numbers, too. These decide only where time does not, which is between two with the
 * same beginning and end; else time says more, as it knows of operators between the two.
 */

/* ---- order --------------------------------------------------------------------------------------- */

static unsigned rank_of(uint32_t class)
{
	return class == KINETO_RANGE ? 0 : class == KINETO_PYTHON ? 1 : class == KINETO_OP ? 2 : 3;
}

/* Does x come behind y? Equal ones stay as they are in the file. */
static inline bool is_behind(const struct kineto_span *x, const struct kineto_span *y)
{
	if (x->thread != y->thread)
		return x->thread > y->thread;
	if (x->start != y->start)
		return x->start > y->start;
	if (x->end != y->end)
		return x->end < y->end;
	if (x->class != y->class)
		return rank_of(x->class) > rank_of(y->class);
	return x->class == KINETO_PYTHON && x->ref > y->ref; /* numbered as they began */
}

/* Merges runs that are in order already: a file has a few long ones. */
static int sort(struct kineto *k)
{
	const struct kineto_span *s = k->spans;
	size_t n = k->spans_len;
	uint32_t *from = malloc((n + 1) * sizeof(*from)), *to = malloc((n + 1) * sizeof(*to));
	bool more = true;

	if (!from || !to) {
		free(from);
		free(to);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		from[i] = (uint32_t)i;
	while (more) {
		size_t at = 0;
		uint32_t *swap;

		more = false;
		while (at < n) {
			size_t a = at, mid = at + 1, b, end;

			while (mid < n && !is_behind(&s[from[mid - 1]], &s[from[mid]]))
				mid++;
			end = mid < n ? mid + 1 : mid;
			while (end < n && !is_behind(&s[from[end - 1]], &s[from[end]]))
				end++;
			b = mid;
			more |= a > 0 || end < n;
			for (size_t i = at; i < end; i++)
				to[i] = b == end || (a < mid &&
						     !is_behind(&s[from[a]], &s[from[b]]))
						? from[a++]
						: from[b++];
			at = end;
		}
		swap = from;
		from = to;
		to = swap;
	}
	free(to);
	k->order = from;
	return 0;
}

/* ---- calls that a buffer's reader has put on its own thread --------------------------------------- */

struct cover { /* where a thread has something else than calls; outermost, in order */
	int64_t start, end;
	uint32_t thread;
};

static const struct cover *cover_at(const struct cover *c, size_t n, int64_t at)
{
	size_t lo = AIF_BISECT(mid, 0, n, c[mid].start <= at);

	return lo && c[lo - 1].end > at ? &c[lo - 1] : NULL;
}

/*
 * AIU's calls come with the number of the thread that emptied the buffer they were in. A thread with calls and nothing
 * else is such a one: a call is then of the thread that was in an operator at that time, if only one was. *ret_moved:
 * the order is no longer right.
 */
static int find_threads(struct kineto *k, bool *ret_moved)
{
	bool *has_other = calloc(k->threads.rows_len + 1, sizeof(*has_other)), any = false;
	struct cover *covers = NULL;
	size_t *first = calloc(k->threads.rows_len + 2, sizeof(*first)), n = 0, cap = 0;
	int r = has_other && first ? 0 : -ENOMEM;

	*ret_moved = false;
	for (size_t i = 0; !r && i < k->spans_len; i++)
		has_other[k->spans[i].thread] |= k->spans[i].class != KINETO_CALL;
	for (size_t i = 0; !r && i < k->spans_len; i++)
		any |= !has_other[k->spans[i].thread];
	for (size_t i = 0; !r && any && i < k->spans_len; i++) {
		const struct kineto_span *s = &k->spans[k->order[i]];

		if (s->class == KINETO_CALL)
			continue;
		if (n && covers[n - 1].thread == s->thread && s->start < covers[n - 1].end) {
			covers[n - 1].end = AIF_MAX(covers[n - 1].end, s->end);
			continue;
		}
		r = aif_grow(&covers, &cap, n + 1, sizeof(*covers));
		if (!r)
			covers[n++] = (struct cover){s->start, s->end, s->thread};
	}
	for (size_t i = 0, at = 0; !r && i <= k->threads.rows_len; i++) {
		while (at < n && covers[at].thread < i)
			at++;
		first[i] = at;
	}
	for (size_t i = 0; !r && any && i < k->spans_len; i++) {
		struct kineto_span *s = &k->spans[i];
		const struct cover *found = NULL;
		unsigned hits = 0;

		if (s->class != KINETO_CALL || has_other[s->thread])
			continue;
		/* With hundreds of threads the answer would not be sure anyway. */
		for (size_t t = 0; t < k->threads.rows_len && k->threads.rows_len <= 256; t++) {
			const struct cover *c =
				has_other[t] ? cover_at(covers + first[t], first[t + 1] - first[t],
							s->start)
					     : NULL;

			if (c && c->end >= s->end &&
			    k->threads.rows[t].pid.number ==
				    k->threads.rows[s->thread].pid.number) {
				found = c;
				hits++;
			}
		}
		if (hits != 1)
			continue;
		s->thread = found->thread;
		k->counts.guessed_threads++;
		*ret_moved = true;
	}
	free(covers);
	free(first);
	free(has_other);
	return r;
}

/* ---- stacks -------------------------------------------------------------------------------------- */

/* The executions that this call, or operator, has launched. */
static int launched(struct kineto *k, const struct kineto_span *s, uint32_t first, uint32_t stack,
		    bool by_external)
{
	struct aif_launch_row *l = aif_builder_launch(k->b);
	const struct kineto_exec *x = &k->execs[first];
	bool is_one = (by_external ? x->next_external : x->next) == AIF_NONE;
	uint64_t number = k->b->launches_len;
	const struct kineto_stream *q;

	if (!l)
		return -ENOMEM;
	l->thread = kineto_thread_row(k, s->thread);
	q = kineto_stream_of(k, x->queue);
	if (!q || number >= UINT32_MAX)
		return -ENOMEM;
	*l = (struct aif_launch_row){.launch = number,
				     .time = (uint64_t)s->start,
				     .thread = l->thread,
				     .kind = x->kind,
				     .kernel = AIF_NONE,
				     .device = q->of_device,
				     .stream = q->id,
				     .stack = stack,
				     .shape = is_one ? x->shape : AIF_NONE,
				     .bytes = is_one ? kineto_exec_detail(k, x)->bytes : 0};
	if (is_one && x->kind == AIF_LAUNCH_KERNEL)
		l->kernel = kineto_kernel(k, x->name);
	for (uint32_t i = first; i != AIF_NONE;
	     i = by_external ? k->execs[i].next_external : k->execs[i].next)
		k->execs[i].launch = (uint32_t)number;
	return 0;
}

/* Finds what aiflame's own export says that the call launched, where no execution does; NULL: nothing. */
static const struct kineto_untimed *untimed_of(const struct kineto *k, uint32_t call)
{
	size_t lo = AIF_BISECT(mid, 0, k->untimed_len, k->untimed[mid].call < call);

	return lo < k->untimed_len && k->untimed[lo].call == call ? &k->untimed[lo] : NULL;
}

static int launched_untimed(struct kineto *k, const struct kineto_span *s,
			    const struct kineto_untimed *u, uint32_t stack)
{
	struct aif_launch_row *l = aif_builder_launch(k->b);
	uint64_t number = k->b->launches_len;

	if (!l)
		return -ENOMEM;
	*l = (struct aif_launch_row){.launch = number,
				     .time = (uint64_t)s->start,
				     .thread = kineto_thread_row(k, s->thread),
				     .kind = u->kind,
				     .kernel = AIF_NONE,
				     .device = kineto_device(k, u->device),
				     .stream = kineto_stream(k, u->device, u->stream),
				     .stack = stack,
				     .shape = AIF_NONE};
	if (u->kind == AIF_LAUNCH_KERNEL)
		l->kernel = kineto_kernel(k, u->name);
	return 0;
}

/* The span itself, on the stack of its callers. */
static uint32_t stack_with(struct kineto *k, const struct kineto_span *s, uint32_t callers)
{
	uint32_t frame = kineto_frame(k, s->name, s->class);

	return frame == AIF_NONE ? callers : aif_builder_stack(k->b, callers, frame, 0);
}

/* Returns the stack of the callers of an operator or call whose stack the file has. */
static uint32_t callers_of(struct kineto *k, const struct kineto_span *s,
			   const struct kineto_stackframe *place)
{
	/* With what was called innermost, as that may not be known by another name. */
	if (s->class == KINETO_CALL && k->calls[s->ref].has_correlation &&
	    place->stack != AIF_NONE && place->name == kineto_name_str(k, s->name))
		return k->b->p.stacks[place->stack].parent;
	return place->stack;
}

/* The call that was pushed last, under the callers that the file has for it: they stand between the ranges it was in
 * and itself. */
static uint32_t stack_of_call(struct kineto_nesting *w, uint32_t span, size_t callers)
{
	struct kineto *k = w->k;
	const struct kineto_span *s = &k->spans[span];
	const struct kineto_chain *c;
	uint32_t number = k->calls[s->ref].chain, stack;
	struct kineto_stackframe place;

	if (kineto_stackframe_of(k, s, &place))
		return k->calls[s->ref].has_correlation ? place.stack
							: stack_with(k, s, place.stack);
	if (!number || number > k->chains.rows_len || w->len == callers)
		return kineto_nesting_stack(w, KINETO_STACK_AS_IT_WAS, w->len);
	c = &k->chains.rows[number - 1];
	stack = kineto_nesting_stack(w, KINETO_STACK_AS_IT_WAS, w->len - 1);
	for (uint32_t i = c->len; i-- > 0;)
		stack = aif_builder_stack(k->b, stack, k->chains.frames[c->first + i], 0);
	stack = stack_with(k, s, stack);
	w->levels[w->len - 1].stacks[KINETO_STACK_AS_IT_WAS] = stack;
	return stack;
}

static int call_add(struct kineto_nesting *w, const struct kineto_span *s, uint32_t stack)
{
	struct kineto *k = w->k;
	const struct kineto_call *c = &k->calls[s->ref];
	struct aif_cpu_row *wait;
	uint64_t first;
	size_t len;
	const char *name = aif_strset_get(&k->names.texts, s->name, &len);
	enum aif_aiu_group group = aif_aiu_group_of(name, len);

	k->counts.aiu[group].calls++;
	k->counts.aiu[group].ns += (uint64_t)(s->end - s->start);
	if (!k->is_spent && kineto_waits(name, len) && s->end > s->start) {
		wait = aif_builder_wait(k->b);
		if (!wait)
			return -ENOMEM;
		*wait = (struct aif_cpu_row){.time = (uint64_t)s->start,
					     .waiting = (uint64_t)(s->end - s->start),
					     .thread = kineto_thread_row(k, s->thread),
					     .stack = stack};
	}
	if (!c->has_correlation)
		return 0;
	if (!kineto_numbers_get(&k->execs_by.correlation,
				kineto_number_key(k, s->thread, c->correlation), &first)) {
		const struct kineto_untimed *u = untimed_of(k, s->ref);

		if (!u)
			kineto_faults_call(&k->faults, name, len);
		return u ? launched_untimed(k, s, u, stack) : 0;
	}
	if (k->execs[first].launch) {
		k->counts.duplicates++;
		return 0;
	}
	if (k->backward.joins_len)
		stack = kineto_nesting_stack(w, KINETO_STACK_JOINED, w->len);
	return launched(k, s, (uint32_t)first, stack, false);
}

/* callers: how many levels are outside of it. */
static int op_add(struct kineto_nesting *w, const struct kineto_span *s, size_t callers)
{
	struct kineto *k = w->k;
	const struct kineto_op *o =
		s->ref == AIF_NONE || s->class == KINETO_CALL ? NULL : &k->ops[s->ref];
	struct aif_op_row *row = aif_builder_op(k->b);
	struct kineto_stackframe place;
	bool has_place = kineto_stackframe_of(k, s, &place);
	size_t len;
	const char *name = aif_strset_get(&k->names.texts, s->name, &len);
	uint64_t first;

	if (!row)
		return -ENOMEM;
	*row = (struct aif_op_row){
		.start = (uint64_t)s->start,
		.end = (uint64_t)s->end,
		.clock = AIF_CLOCK_MONOTONIC,
		.thread = kineto_thread_row(k, s->thread),
		.name = kineto_name_str(k, s->name),
		.kind = s->class == KINETO_CALL                          ? AIF_OP_RUNTIME
			: s->class == KINETO_OP                          ? AIF_OP_OPERATOR
			: len > 13 && !memcmp(name, "ProfilerStep#", 13) ? AIF_OP_STEP
									 : AIF_OP_RANGE,
		.shapes = o ? o->shapes : AIF_NONE,
		.types = o ? o->types : AIF_NONE,
		.stack = has_place ? callers_of(k, s, &place)
				   : kineto_nesting_stack(w, KINETO_STACK_AS_IT_WAS, callers),
		.id = o ? o->external : 0,
		.sequence = o ? o->sequence : -1,
	};
	if (s->class != KINETO_OP || !row->id ||
	    !aif_map_get(&k->execs_by.external, kineto_number_key(k, s->thread, row->id), &first) ||
	    k->execs[first].launch)
		return 0;
	return launched(k, s, (uint32_t)first,
			has_place ? stack_with(k, s, place.stack)
				  : kineto_nesting_stack(w,
							 k->backward.joins_len
								 ? KINETO_STACK_JOINED
								 : KINETO_STACK_AS_IT_WAS,
							 w->len),
			true);
}

/* Adds a thread's time until now to the spans that it was in, where nothing else is known of it. */
static int spend(struct kineto_nesting *w, int64_t now)
{
	while (w->len) {
		int64_t until = w->levels[w->len - 1].end;
		struct aif_cpu_row *row;

		for (size_t i = 0; w->crossed && i < w->len; i++)
			until = AIF_MIN(until, w->levels[i].end);
		until = AIF_MIN(until, now);
		if (until > w->spent) {
			uint32_t stack = kineto_nesting_stack(w, KINETO_STACK_AS_IT_WAS, w->len),
				 span = w->levels[w->len - 1].span;

			row = aif_builder_wait(w->k->b);
			if (!row)
				return -ENOMEM;
			*row = (struct aif_cpu_row){
				.time = (uint64_t)w->spent,
				.weight = (uint64_t)(until - w->spent),
				.thread = kineto_thread_row(w->k, w->k->spans[span].thread),
				.stack = stack};
			w->spent = until;
		}
		if (until == now)
			break;
		kineto_nesting_drop(w, until);
	}
	w->spent = AIF_MAX(w->spent, now);
	return 0;
}

/* Adds the thread's allocations before `until`. */
static int memory_add(struct kineto_nesting *w, uint32_t thread, int64_t until)
{
	const struct kineto_memory *m = &w->k->memory;

	while (m->next < m->rows_len && m->rows[m->next].thread <= thread) {
		const struct kineto_allocation *a = &m->rows[m->next];

		if (a->thread == thread && a->at >= until)
			break;
		if ((a->thread == thread && w->k->is_spent && spend(w, a->at) < 0) ||
		    kineto_memory_row(w, a->thread == thread) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int span_add(struct kineto_nesting *w, struct kineto_engine *e, uint32_t at)
{
	uint32_t span = w->k->order[at];
	const struct kineto_span *s = &w->k->spans[span];
	size_t callers;
	int r = 0;

	if (memory_add(w, s->thread, s->start) < 0 || (w->k->is_spent && spend(w, s->start) < 0))
		return -ENOMEM;
	kineto_nesting_drop(w, s->start);
	callers = w->len;
	if (kineto_nesting_push(w, at) && s->class == KINETO_OP)
		kineto_backward_enter(w, e);
	if (s->class == KINETO_PYTHON)
		return 0;
	if (s->class == KINETO_CALL)
		r = call_add(w, s, stack_of_call(w, span, callers));
	return r < 0 ? r : op_add(w, s, callers);
}

static int order(struct kineto *k)
{
	bool moved = false;
	int r = sort(k);

	if (!r && k->machine.family == KINETO_AIU)
		r = find_threads(k, &moved);
	if (!r && moved) {
		free(k->order);
		k->order = NULL;
		r = sort(k);
	}
	return r;
}

/* Makes room for the rows: each span but Python's becomes one; no more launches come than have executions, or none that
 * ran. 0 or -ENOMEM. */
static int rows_reserve(struct kineto *k)
{
	size_t ops = 0;

	for (size_t i = 0; i < k->spans_len; i++)
		ops += k->spans[i].class != KINETO_PYTHON;
	return aif_builder_reserve(k->b, AIF_MIN(ops, k->execs_len + k->untimed_len), ops);
}

int kineto_stacks(struct kineto *k)
{
	struct kineto_engine engine = KINETO_ENGINE_INIT;
	struct kineto_nesting w;
	uint32_t thread = AIF_NONE;
	int r = kineto_nesting_init(&w, k);

	if (!r)
		r = order(k);
	if (!r)
		r = kineto_backward_find(k);
	kineto_memory_sort(k);
	if (!r)
		r = rows_reserve(k);
	for (uint32_t i = 0; !r && i < k->spans_len; i++) {
		const struct kineto_span *s = &k->spans[k->order[i]];

		if (s->thread != thread) {
			if (i)
				r = memory_add(&w, thread, INT64_MAX);
			if (!r && k->is_spent)
				r = spend(&w, INT64_MAX);
			kineto_nesting_clear(&w);
			w.spent = s->start;
		}
		if (r < 0)
			break;
		thread = s->thread;
		r = span_add(&w, &engine, i);
		if (k->is_failed || k->b->failed)
			r = -ENOMEM;
	}
	if (!r && thread != AIF_NONE)
		r = memory_add(&w, thread, INT64_MAX);
	if (!r && k->is_spent)
		r = spend(&w, INT64_MAX);
	kineto_nesting_clear(&w);
	while (!r && k->memory.next < k->memory.rows_len)
		r = kineto_memory_row(&w, false);
	kineto_nesting_finish(&w);
	free(k->order);
	k->order = NULL;
	return r;
}
