/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer for a program that used no device, from samples by the wall clock (record --wall).
 *
 *   main      threads that their processes began with, but those that wait for child processes for WAITER_PPM of their time, and, where
 *             others compute, those that compute for less than LEAST_PPM of theirs: idle processes beside the one that is asked about;
 *             the one that has ONE_PPM of the time of these, if there is one; all threads where none of these has samples
 *   waiting   samples in a call of the C library that sleeps (analysis/idle/sleeps.def), in syscall(), or in a runtime's call that waits. What else
 *             is seen counts as computing: threads that have no CPU, and system calls that no function of the C library makes,
 *             are in it
 *   bound     of a job of MPI by its late rank, where that is named; else by computing, if main threads compute for THREAD_PPM of their time; by waiting, if for less than IDLE_PPM; else by
 *             nothing alone
 */
#include "report/why/cpu_answer.h"
#include "report/why/cpu_ranks.h"

#include "analysis/cpu_totals.h"
#include "analysis/idle/sleep.h"
#include "base/human.h"
#include "base/map.h"
#include "names/process_names.h"
#include "names/stack_names.h"
#include "text/json.h"
#include "text/json_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_PPM 800000
#define IDLE_PPM   500000
#define WAITER_PPM 900000
#define ONE_PPM    900000
#define LEAST_PPM  10000
#define MOST       5

enum list { MAIN_WAITS, MAIN_COMPUTES, OTHERS_COMPUTE, LISTS };

struct place {
	uint32_t call, at; /* strings of .texts; call AIF_STR_NONE: none, it computes */
	uint64_t ns;
};

struct wall_thread {
	uint64_t ns, waits_ns, for_children_ns;
	bool is_main, is_idle;
};

struct wall_why {
	struct aif_why_cpu_answer answer;
	const struct aif_profile *p;
	const struct aif_names *names;
	struct aif_why job; /* which rank of a job is late */
	struct aif_strset texts;
	struct aif_map of[LISTS]; /* call | at << 32 -> index */
	struct place *at[LISTS];  /* most time first */
	size_t len[LISTS], cap[LISTS];
	struct wall_thread *threads; /* by thread */
	size_t threads_len, mains;   /* with samples; of these, main ones */
	size_t idles;  /* main ones that are left out, since all that they do is to wait */
	uint32_t idle; /* one of them */
	uint32_t main; /* the main thread with most time; AIF_NONE: all threads are asked */
	uint64_t time_ns, main_ns, main_waits_ns, others_ns, others_waits_ns;
};

static int place_add(struct wall_why *w, enum list to, uint32_t call, uint32_t at, uint64_t ns)
{
	uint64_t i, key = call | (uint64_t)at << 32;

	if (at == AIF_STR_NONE)
		return -ENOMEM;
	if (!aif_map_get(&w->of[to], key, &i)) {
		i = w->len[to];
		if (aif_grow(&w->at[to], &w->cap[to], w->len[to] + 1, sizeof(*w->at[to])) < 0 ||
		    aif_map_put(&w->of[to], key, i) < 0)
			return -ENOMEM;
		w->at[to][w->len[to]++] = (struct place){.call = call, .at = at};
	}
	w->at[to][i].ns += ns;
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return AIF_ORDER(y->ns, x->ns) ?: AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x->call, y->call);
}

/* Returns the call in which a stack waits; NULL: it computes. */
static const char *call_of(const struct wall_why *w, const struct aif_idle_sleeping *sleeping,
			   struct aif_stack_names *stacks, const struct aif_cpu_stack *s)
{
	const char *call;

	if (s->waiting)
		return s->stack == AIF_NONE ? "" : aif_stack_names_inlined(stacks, s->stack, 0);
	if (s->stack == AIF_NONE)
		return NULL;
	call = aif_idle_sleep_call(w->p, s->stack);
	/* Standard libraries other than C's wait for futexes by that. */
	return aif_idle_sleep_of(w->p, sleeping, s->stack) || !strcmp(call, "syscall") ? call
										       : NULL;
}

static bool is_for_children(const char *call)
{
	return !strncmp(call, "wait4", 5) || !strncmp(call, "waitpid", 7) ||
	       !strncmp(call, "waitid", 6);
}

static void sum_threads(struct wall_why *w, const struct aif_idle_sleeping *sleeping,
			struct aif_stack_names *stacks, const struct aif_cpu_totals *by_thread)
{
	for (size_t i = 0; i < by_thread->stacks_len; i++) {
		const struct aif_cpu_stack *s = &by_thread->stacks[i];
		struct wall_thread *t = s->thread == AIF_NONE ? NULL : &w->threads[s->thread];
		const char *call = call_of(w, sleeping, stacks, s);

		if (!t)
			continue;
		w->threads_len += !t->ns && s->weight_ns && aif_cpu_is_thread(w->p, s->thread);
		t->ns += s->weight_ns;
		t->waits_ns += call ? s->weight_ns : 0;
		t->for_children_ns += call && is_for_children(call) ? s->weight_ns : 0;
	}
}

/* Selects main threads. */
enum asked { THAT_COMPUTE, THAT_WAIT_FOR_NO_CHILD, ALL_MAINS };

static bool is_asked(const struct wall_thread *t, enum asked asked)
{
	if (asked == ALL_MAINS)
		return true;
	if (aif_share_ppm(t->for_children_ns, t->ns) >= WAITER_PPM)
		return false;
	return asked == THAT_WAIT_FOR_NO_CHILD ||
	       aif_share_ppm(t->ns - t->waits_ns, t->ns) >= LEAST_PPM;
}

/* Marks the main threads. */
static void find_mains(struct wall_why *w, enum asked asked)
{
	uint64_t all = 0;

	w->idles = 0;

	for (size_t i = 0; i < w->p->threads_len; i++) {
		struct wall_thread *t = &w->threads[i];
		uint32_t process = w->p->threads[i].process;

		t->is_idle = false;
		t->is_main = t->ns && process != AIF_NONE &&
			     w->p->processes[process].pid == w->p->threads[i].tid;
		if (t->is_main && !is_asked(t, asked)) {
			t->is_main = false;
			t->is_idle = is_asked(t, THAT_WAIT_FOR_NO_CHILD);
			w->idles += t->is_idle;
			w->idle = t->is_idle ? (uint32_t)i : w->idle;
		}
		if (!t->is_main)
			continue;
		w->mains++;
		all += t->ns;
		if (w->main == AIF_NONE || t->ns > w->threads[w->main].ns)
			w->main = (uint32_t)i;
	}
	if (w->mains < 2 || aif_share_ppm(w->threads[w->main].ns, all) < ONE_PPM)
		return;
	for (size_t i = 0; i < w->p->threads_len; i++)
		w->threads[i].is_main = i == w->main;
	w->mains = 1;
}

static int sum_places(struct wall_why *w, const struct aif_idle_sleeping *sleeping,
		      struct aif_stack_names *stacks, const struct aif_cpu_totals *by_thread)
{
	int r = 0;

	for (size_t i = 0; i < by_thread->stacks_len && !r; i++) {
		const struct aif_cpu_stack *s = &by_thread->stacks[i];
		bool is_main = w->main == AIF_NONE ||
			       (s->thread != AIF_NONE && w->threads[s->thread].is_main);
		const char *call = call_of(w, sleeping, stacks, s), *caller, *end;
		uint32_t of = AIF_STR_NONE, at;

		if (!is_main && s->thread != AIF_NONE && w->threads[s->thread].is_idle)
			continue;
		*(is_main ? &w->main_ns : &w->others_ns) += s->weight_ns;
		if (call) {
			*(is_main ? &w->main_waits_ns : &w->others_waits_ns) += s->weight_ns;
			of = aif_strset_put(&w->texts, call, strlen(call));
			if (of == AIF_STR_NONE)
				return -ENOMEM;
		}
		if (!s->weight_ns || (call && !is_main))
			continue;
		caller = s->stack == AIF_NONE ? "" : aif_stack_names_caller(stacks, s->stack);
		if (!caller)
			return -ENOMEM;
		end = strstr(caller, AIF_STACK_CALLED_BY);
		at = aif_strset_put(&w->texts, caller,
				    end ? (size_t)(end - caller) : strlen(caller));
		r = place_add(w,
			      !is_main ? OTHERS_COMPUTE
			      : call   ? MAIN_WAITS
				       : MAIN_COMPUTES,
			      of, at, s->weight_ns);
	}
	for (unsigned i = 0; i < LISTS; i++)
		if (w->len[i])
			qsort(w->at[i], w->len[i], sizeof(*w->at[i]), by_ns);
	return r;
}

static int measure_job(struct wall_why *w, const struct aif_selection *sel)
{
	struct aif_run_delay delay;
	int64_t from = sel ? (int64_t)sel->from_ns : 0,
		to = sel && sel->to_ns ? (int64_t)sel->to_ns
				       : (int64_t)(w->p->end_ns - w->p->start_ns);
	int r = aif_run_delay_measure(w->p, sel, from, to, &delay);

	return r ? r : aif_why_cpu_ranks_find(w->names, sel, w->time_ns, &delay, &w->job);
}

static int measure(struct wall_why *w, const struct aif_names *names,
		   const struct aif_selection *sel, struct aif_err *err)
{
	struct aif_cpu_totals by_thread = {0};
	struct aif_idle_sleeping sleeping = {0};
	struct aif_stack_names *stacks = NULL;
	int r;

	w->main = AIF_NONE;
	w->threads = calloc(w->p->threads_len + 1, sizeof(*w->threads));
	r = w->threads ? aif_cpu_totals_by_thread(w->p, sel, &by_thread, err)
		       : aif_err_set(err, -ENOMEM, "why: %s", strerror(ENOMEM));
	if (!r && !by_thread.weight_ns)
		r = -ENODATA;
	if (!r) {
		w->answer.damaged = by_thread.damaged;
		w->time_ns = aif_cpu_span_ns(w->p, sel, &by_thread);
		r = aif_idle_sleeping_init(&sleeping, w->p);
		if (!r)
			r = aif_stack_names_new_with_lines(names, &stacks);
		if (!r)
			sum_threads(w, &sleeping, stacks, &by_thread);
		for (unsigned asked = THAT_COMPUTE; !r && asked <= ALL_MAINS && !w->mains; asked++)
			find_mains(w, (enum asked)asked);
		if (!r)
			r = sum_places(w, &sleeping, stacks, &by_thread);
		if (!r)
			r = measure_job(w, sel);
		if (r)
			aif_err_set(err, r, "why: %s", strerror(-r));
	}
	if (stacks)
		aif_stack_names_free(stacks);
	aif_idle_sleeping_finish(&sleeping);
	aif_cpu_totals_finish(&by_thread);
	return r;
}

static uint64_t computes_ppm(const struct wall_why *w)
{
	return aif_share_ppm(w->main_ns - w->main_waits_ns, w->main_ns);
}

static bool is_waiting(const struct wall_why *w)
{
	return computes_ppm(w) < IDLE_PPM;
}

static void say_thread(const struct wall_why *w, uint32_t thread, struct aif_buf *out)
{
	const struct aif_thread *t = &w->p->threads[thread];

	aif_buf_printf(out, "%" PRIu32, t->tid);
	if (t->name != AIF_NONE && *aif_profile_str(w->p, t->name))
		aif_buf_printf(out, " (%s)", aif_profile_str(w->p, t->name));
}

static void say_whose(const struct wall_why *w, struct aif_buf *out)
{
	if (w->main == AIF_NONE) {
		aif_buf_puts(out, "all threads");
	} else if (w->mains > 1) {
		aif_human_counted(out, w->mains, "main thread");
	} else {
		aif_buf_puts(out, "the main thread, ");
		say_thread(w, w->main, out);
		aif_buf_putc(out, ',');
	}
}

static void say_used(const struct wall_why *w, struct aif_buf *out)
{
	uint64_t ppm = computes_ppm(w);
	bool is_one = w->main != AIF_NONE && w->mains == 1;

	aif_buf_puts(out, is_waiting(w)       ? "waiting: "
			  : ppm >= THREAD_PPM ? "computing: "
					      : "nothing alone: ");
	say_whose(w, out);
	aif_buf_puts(out, is_one ? " computes for " : " compute for ");
	aif_human_share(out, ppm);
	aif_buf_puts(out, is_one ? " and waits for " : " and wait for ");
	aif_human_share(out, aif_share_ppm(w->main_waits_ns, w->main_ns));
	aif_buf_puts(out, is_one ? " of its " : " of their ");
	aif_human_ns(out, w->main_ns);
}

static void say_bound(const struct wall_why *w, struct aif_buf *out)
{
	if (aif_why_is_rank_late(&w->job))
		aif_why_cpu_say_bound(w->names, &w->job, out);
	else
		say_used(w, out);
}

/* Appends "clock_nanosleep in main (serve.py:12)", or where it computes. */
static void say_place(const struct wall_why *w, const struct place *l, struct aif_buf *out)
{
	const char *at = aif_strset_get(&w->texts, l->at, NULL);
	const char *call = l->call == AIF_STR_NONE ? "" : aif_strset_get(&w->texts, l->call, NULL);

	if (*call)
		aif_buf_printf(out, *at ? "%s in %s" : "%s", call, at);
	else
		aif_buf_puts(out, *at ? at : "not known");
}

static void say_list(const struct wall_why *w, enum list of, uint64_t all_ns, struct aif_buf *out)
{
	static const char *const titles[LISTS] = {"waits    ", "computes ", "others   "};
	struct aif_buf cell = {0};

	for (size_t i = 0; i < w->len[of] && i < MOST; i++) {
		uint64_t ppm = aif_share_ppm(w->at[of][i].ns, all_ns);

		if (i && ppm < LEAST_PPM)
			break;
		aif_human_share(&cell, ppm);
		aif_buf_printf(out, "%s%-8s ", i ? "         " : titles[of], aif_buf_str(&cell));
		say_place(w, &w->at[of][i], out);
		aif_buf_putc(out, '\n');
		aif_buf_clear(&cell);
	}
	aif_buf_finish(&cell);
}

static void say_threads(const struct wall_why *w, struct aif_buf *out)
{
	aif_human_count(out, w->threads_len);
	aif_buf_puts(out, " in ");
	aif_human_ns(out, w->time_ns);
	if (w->idles) {
		aif_buf_puts(out, ", without ");
		aif_human_counted(out, w->idles, "main thread");
		aif_buf_puts(out, w->idles == 1 ? " that only waits" : " that only wait");
	}
	if (w->idles == 1) {
		aif_buf_puts(out, ": ");
		say_thread(w, w->idle, out);
	}
	if (!w->others_ns)
		return;
	aif_buf_puts(out, "; those that are not main compute for ");
	aif_human_share(out, aif_share_ppm(w->others_ns - w->others_waits_ns, w->others_ns));
	aif_buf_puts(out, " of their time");
}

/* Appends the thing to try. Returns false where there is none. */
static bool say_advice(const struct wall_why *w, struct aif_buf *out)
{
	enum list of = is_waiting(w) ? MAIN_WAITS : MAIN_COMPUTES;

	if (!w->len[of])
		return false;
	aif_buf_puts(out, is_waiting(w) ? "wait less, or do other work meanwhile: "
					: "make it faster, or call it less: ");
	say_place(w, w->at[of], out);
	return true;
}

static void say(const struct wall_why *w, struct aif_buf *out)
{
	struct aif_buf text = {0};
	bool is_late = aif_why_is_rank_late(&w->job), has_advice;

	aif_buf_puts(out, "bound by ");
	say_bound(w, out);
	if (is_late) {
		aif_buf_puts(out, "\ntime     ");
		say_used(w, out);
	}
	aif_buf_putc(out, '\n');
	aif_why_cpu_say_ranks(w->names, &w->job, out);
	aif_buf_puts(out, "threads  ");
	say_threads(w, out);
	aif_buf_putc(out, '\n');
	say_list(w, is_waiting(w) ? MAIN_WAITS : MAIN_COMPUTES, w->main_ns, out);
	say_list(w, is_waiting(w) ? MAIN_COMPUTES : MAIN_WAITS, w->main_ns, out);
	say_list(w, OTHERS_COMPUTE, w->others_ns, out);
	has_advice = aif_why_cpu_say_advice(w->names, &w->job, out);
	if (!is_late && say_advice(w, &text))
		aif_buf_printf(out, "%s%s\n", has_advice ? "         " : "try      ",
			       aif_buf_str(&text));
	aif_buf_finish(&text);
	aif_why_cpu_say_unknown(&w->answer, out);
	aif_why_cpu_say_next(&w->answer, is_late ? "report --ranks" : "report --cpu",
			     is_late ? "flame --of waits" : "flame --of cpu", out);
}

/* Appends the members of text/json_answer.h, and "try". */
static void say_json_answer(const struct wall_why *w, struct aif_buf *out)
{
	struct aif_json_answer head = {.verdict = {0}};
	struct aif_buf text = {0}, command = {0};
	enum list of = is_waiting(w) ? MAIN_WAITS : MAIN_COMPUTES;
	bool is_late = aif_why_is_rank_late(&w->job);

	say_bound(w, &text);
	aif_json_answer_verdict(&head, aif_buf_str(&text));
	aif_why_cpu_put_ranks(&w->answer, w->names, &w->job, &head, out);
	aif_why_cpu_command(&w->answer, "report --cpu", &command);
	for (size_t i = 0; i < w->len[of] && i < MOST; i++) {
		aif_buf_clear(&text);
		say_place(w, &w->at[of][i], &text);
		aif_json_answer_evidence(&head, aif_buf_str(&text),
					 (int64_t)aif_share_ppm(w->at[of][i].ns, w->main_ns),
					 aif_buf_str(&command));
	}
	aif_why_cpu_put_head(&w->answer, &head, out);
	aif_buf_clear(&text);
	aif_buf_puts(out, ",\"try\":[");
	if (!is_late && say_advice(w, &text))
		aif_out_json_text(out, aif_buf_str(&text));
	aif_buf_puts(out, "],");
	out->failed |= aif_buf_failed(&text) || aif_buf_failed(&command);
	aif_buf_finish(&text);
	aif_buf_finish(&command);
}

static void say_json(const struct wall_why *w, struct aif_buf *out)
{
	static const char *const keys[LISTS] = {"waits", "computes", "others"};

	const char *bound = aif_why_is_rank_late(&w->job)   ? aif_why_group_key(AIF_WHY_WAITING)
			    : is_waiting(w)                 ? "waiting"
			    : computes_ppm(w) >= THREAD_PPM ? "computing"
							    : "";

	aif_buf_putc(out, '{');
	say_json_answer(w, out);
	aif_buf_printf(out,
		       "\"bound_by\":[%s%s%s],\"of\":\"wall\",\"time_ns\":%" PRIu64
		       ",\"threads\":%zu,\"main_threads\":%zu,\"idle_main_threads\":%zu"
		       ",\"main_ns\":%" PRIu64 ",\"main_waits_ns\":%" PRIu64
		       ",\"others_ns\":%" PRIu64 ",\"others_waits_ns\":%" PRIu64,
		       *bound ? "\"" : "", bound, *bound ? "\"" : "", w->time_ns, w->threads_len,
		       w->mains, w->idles, w->main_ns, w->main_waits_ns, w->others_ns,
		       w->others_waits_ns);
	for (unsigned of = 0; of < LISTS; of++) {
		aif_buf_printf(out, ",\"%s\":[", keys[of]);
		for (size_t i = 0; i < w->len[of]; i++) {
			const struct place *l = &w->at[of][i];

			aif_buf_puts(out, i ? ",{\"call\":" : "{\"call\":");
			if (l->call == AIF_STR_NONE)
				aif_buf_puts(out, "null");
			else
				aif_out_json_text(out, aif_strset_get(&w->texts, l->call, NULL));
			aif_buf_puts(out, ",\"place\":");
			aif_out_json_text(out, aif_strset_get(&w->texts, l->at, NULL));
			aif_buf_printf(out, ",\"ns\":%" PRIu64 "}", l->ns);
		}
		aif_buf_putc(out, ']');
	}
	if (w->job.waits)
		aif_why_ranks_json(w->p, &w->job, out);
	aif_buf_puts(out, "}\n");
}

int aif_why_wall(const struct aif_names *names, const struct aif_selection *sel, const char *path,
		 bool is_json, struct aif_buf *out, struct aif_err *err)
{
	struct wall_why w = {
		.p = names->p, .names = names, .answer = AIF_WHY_CPU_ANSWER(names->p, sel, path)};
	int r = measure(&w, names, sel, err);

	if (!r && is_json)
		say_json(&w, out);
	else if (!r)
		say(&w, out);
	for (unsigned i = 0; i < LISTS; i++) {
		aif_map_finish(&w.of[i]);
		free(w.at[i]);
	}
	aif_why_finish(&w.job);
	aif_strset_finish(&w.texts);
	free(w.threads);
	return r;
}
