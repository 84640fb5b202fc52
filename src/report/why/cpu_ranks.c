/* SPDX-License-Identifier: Apache-2.0 */
#include "report/why/cpu_ranks.h"

#include "analysis/ranks/call_steps.h"
#include "names/stack_names.h"
#include "report/why/saying.h"

/* Finds the steps by the calls of the rank that makes most of them. */
static int find_steps(const struct aif_names *names, const struct aif_selection *sel,
		      struct aif_why *w)
{
	const struct aif_rank_waits *waits;
	int r = aif_rank_waits_get(names->p, sel, &waits);
	size_t rank = r ? 0 : aif_rank_with_most_calls(&waits->ranks, sel);

	if (!r && rank < waits->ranks.ranks_len)
		r = aif_rank_call_phases(names->p, sel, &waits->ranks, rank, &w->phases);
	aif_facts_put(waits);
	return r;
}

int aif_why_cpu_ranks_find(const struct aif_names *names, const struct aif_selection *sel,
			   uint64_t time_ns, const struct aif_run_delay *run_delay,
			   struct aif_why *ret)
{
	const struct aif_profile *p = names->p;
	struct aif_selection all = sel ? *sel : (struct aif_selection){0};
	struct aif_stack_names *stacks = NULL;
	int r;

	ret->from = (int64_t)all.from_ns;
	ret->to = all.to_ns ? (int64_t)all.to_ns : (int64_t)(p->end_ns - p->start_ns);
	ret->is_some_work = all.threads || all.in_ranges;
	ret->run_delay = *run_delay;
	ret->is_busy_machine = aif_run_delay_is_busy(run_delay, time_ns);
	r = find_steps(names, &all, ret);
	if (!r)
		r = aif_stack_names_new_with_lines(names, &stacks);
	if (!r)
		r = aif_why_ranks_add(p, stacks, &all, ret);
	if (!r)
		ret->time_ns = time_ns * ret->waits->ranks.ranks_len;
	aif_stack_names_free(stacks);
	return r;
}

static void finish(struct saying *s, struct aif_buf *out)
{
	out->failed |= aif_buf_failed(&s->line);
	aif_buf_finish(&s->line);
}

void aif_why_cpu_say_bound(const struct aif_names *names, const struct aif_why *w,
			   struct aif_buf *out)
{
	struct saying s = {.names = names, .w = w};

	aif_why_say_late_rank(&s);
	aif_buf_append(out, s.line.data, s.line.len);
	finish(&s, out);
}

void aif_why_cpu_say_ranks(const struct aif_names *names, const struct aif_why *w,
			   struct aif_buf *out)
{
	struct saying s = {.names = names, .w = w, .out = out};

	aif_why_say_ranks(&s);
	finish(&s, out);
}

bool aif_why_cpu_say_advice(const struct aif_names *names, const struct aif_why *w,
			    struct aif_buf *out)
{
	struct saying s = {.names = names, .w = w, .out = out};
	bool says = aif_why_say_late_rank_advice(&s);

	finish(&s, out);
	return says;
}

void aif_why_cpu_put_ranks(const struct aif_why_cpu_answer *a, const struct aif_names *names,
			   const struct aif_why *w, struct aif_json_answer *head,
			   struct aif_buf *out)
{
	struct aif_buf text = {0}, command = {0};

	aif_why_say_job(names, w, &text);
	if (text.len) {
		aif_why_cpu_command(a, "report --ranks", &command);
		aif_json_answer_evidence(head, aif_buf_str(&text), -1, aif_buf_str(&command));
		if (aif_why_is_rank_late(w))
			aif_json_answer_next(head, aif_buf_str(&command));
	}
	out->failed |= aif_buf_failed(&text) || aif_buf_failed(&command);
	aif_buf_finish(&text);
	aif_buf_finish(&command);
}
