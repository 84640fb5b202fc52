/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer for a program that used no device, from CPU samples.
 *
 *   time      from the first start of a process with CPU samples to the last end of one, or --time's part
 *   used      CPU time that was sampled / time: CPUs in use on average
 *   bound     by a rank that is late, where others wait for it in calls of MPI (cpu_ranks.h); else by all CPUs, if ALL_PPM of
 *             them are in use; by others on the machine, if a thread could have run for IDLE_PPM of the time, and had no
 *             CPU for BUSY_PPM of that, or threads one after another; by one thread, if the busiest has THREAD_PPM of the
 *             time on a CPU, what it waited for one included; by what is not on a CPU, if it has less than IDLE_PPM; else
 *             by nothing alone
 *   at most   1 / (1 - share): the speed-up if a function took no time, of the CPU time
 *   lines     of Python programs: the innermost lines of the program's own, with what they called in libraries
 */
#include "report/why/cpu_answer.h"
#include "report/why/cpu_ranks.h"

#include "analysis/run_delay.h"
#include "analysis/traits.h"
#include "base/human.h"
#include "base/map.h"
#include "names/cpu_functions.h"
#include "names/process_names.h"
#include "names/spin_waits.h"
#include "names/stack_names.h"
#include "profile/file.h"
#include "text/json.h"
#include "text/json_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALL_PPM      800000
#define THREAD_PPM   800000
#define IDLE_PPM     500000
#define BUSY_PPM     250000
#define MOST         5
#define LEAST_PPM    10000
#define MOST_SPEEDUP 10
/* Functions' shares say little where so much of the CPU time is of none. */
#define UNSAMPLED_PPM 200000

enum bound { BOUND_ALL_CPUS, BOUND_MACHINE, BOUND_ONE_THREAD, BOUND_OFF_CPU, BOUND_NONE };

struct cpu_why {
	struct aif_why_cpu_answer answer;
	const struct aif_profile *p;
	struct aif_cpu_functions functions;
	struct line {
		uint32_t place; /* a string of .places */
		uint64_t ns;
	} * lines; /* most time first */
	size_t lines_len, lines_cap;
	struct aif_strset places;
	uint64_t time_ns, used_ppm, busiest_ns, busiest_ppm;
	uint32_t busiest; /* a thread; AIF_NONE */
	uint32_t awaited; /* the thread for which others spin; AIF_NONE */
	size_t threads;
	unsigned cpus; /* of the machine; 0: not known */
	struct aif_run_delay run_delay;
	enum bound bound;
	struct aif_why job; /* of a job's ranks: its verdict alone */
	const struct aif_names *names;
};

/* Returns the number of CPUs from "AMD EPYC, 2 cores". */
static unsigned cpus_of(const struct aif_profile *p)
{
	const char *text = aif_profile_meta(p, "cpu"), *comma = strrchr(text, ',');

	return comma ? (unsigned)strtoul(comma + 1, NULL, 10) : 0;
}

static void find_busiest(struct cpu_why *w, const struct aif_cpu_totals *by_thread)
{
	uint64_t ns = 0;

	w->busiest = AIF_NONE;
	for (size_t i = 0; i < by_thread->stacks_len; i++) {
		const struct aif_cpu_stack *s = &by_thread->stacks[i];

		if (!i || s->thread != s[-1].thread) {
			ns = 0;
			w->threads += s->thread != AIF_NONE && aif_cpu_is_thread(w->p, s->thread);
		}
		ns += s->waiting ? 0 : s->weight_ns;
		/* Threads that had no samples stand as one without a number. */
		if (s->thread != AIF_NONE && !w->p->threads[s->thread].tid)
			continue;
		if (ns > w->busiest_ns) {
			w->busiest_ns = ns;
			w->busiest = s->thread;
		}
	}
}

static bool has_python(const struct aif_profile *p)
{
	for (size_t i = 0; i < p->frames_len; i++)
		if (p->frames[i].kind == AIF_FRAME_PYTHON)
			return true;
	return false;
}

static int line_add(struct cpu_why *w, const char *caller, uint64_t ns)
{
	const char *end = strstr(caller, AIF_STACK_CALLED_BY);
	uint32_t place =
		aif_strset_put(&w->places, caller, end ? (size_t)(end - caller) : strlen(caller));

	if (place == AIF_STR_NONE)
		return -ENOMEM;
	if (place == w->lines_len) {
		if (aif_grow(&w->lines, &w->lines_cap, w->lines_len + 1, sizeof(*w->lines)) < 0)
			return -ENOMEM;
		w->lines[w->lines_len++] = (struct line){.place = place};
	}
	w->lines[place].ns += ns;
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return AIF_ORDER(y->ns, x->ns) ?: AIF_ORDER(x->place, y->place);
}

/* Adds up the time of the program's own lines. */
static int find_lines(struct cpu_why *w, const struct aif_names *names,
		      const struct aif_cpu_totals *totals)
{
	struct aif_stack_names *stacks = NULL;
	int r = has_python(names->p) ? aif_stack_names_new_with_lines(names, &stacks) : 0;

	for (size_t i = 0; stacks && r == 0 && i < totals->stacks_len; i++) {
		const struct aif_cpu_stack *s = &totals->stacks[i];
		const char *caller;

		if (s->waiting || !s->weight_ns || s->stack == AIF_NONE)
			continue;
		caller = aif_stack_names_caller(stacks, s->stack);
		r = caller ? line_add(w, caller, s->weight_ns) : -ENOMEM;
	}
	if (w->lines_len)
		qsort(w->lines, w->lines_len, sizeof(*w->lines), by_ns);
	if (stacks)
		aif_stack_names_free(stacks);
	return r;
}

/* Returns true if a thread could have run for much of the time, and others had the CPUs for much of that; or threads that come one after
 * another could. Threads that sleep for most of their time are held up by what they sleep for. */
static bool is_held_up(const struct cpu_why *w)
{
	const struct aif_run_delay *d = &w->run_delay;
	uint64_t most = d->most_waited_ns + d->most_ran_ns, all = d->waited_ns + d->ran_ns;

	return (aif_share_ppm(most, w->time_ns) >= IDLE_PPM &&
		aif_share_ppm(d->most_waited_ns, most) >= BUSY_PPM) ||
	       (aif_share_ppm(all, w->time_ns) >= IDLE_PPM &&
		aif_share_ppm(all, d->lived_ns) >= IDLE_PPM &&
		aif_run_delay_share_ppm(d) >= BUSY_PPM);
}

/* Returns true if a thread hardly ever sleeps: it computes, or waits for a CPU to go on with that. */
static bool computes_always(const struct cpu_why *w)
{
	const struct aif_run_delay *d = &w->run_delay;

	return w->busiest_ppm >= THREAD_PPM ||
	       aif_share_ppm(d->most_waited_ns + d->most_ran_ns, w->time_ns) >= THREAD_PPM;
}

static void find_bound(struct cpu_why *w)
{
	w->used_ppm = aif_share_ppm(w->functions.weight_ns, w->time_ns);
	w->busiest_ppm = AIF_MIN(aif_share_ppm(w->busiest_ns, w->time_ns), UINT64_C(1000000));
	w->bound = w->cpus > 1 && w->used_ppm >= (uint64_t)w->cpus * ALL_PPM ? BOUND_ALL_CPUS
		   : is_held_up(w)                                           ? BOUND_MACHINE
		   : computes_always(w)                                      ? BOUND_ONE_THREAD
		   : w->busiest_ppm < IDLE_PPM && w->used_ppm < 1000000      ? BOUND_OFF_CPU
									     : BOUND_NONE;
	/* Threads that ended before they were found may have come one after another. */
	if (w->bound == BOUND_OFF_CPU && w->used_ppm >= IDLE_PPM &&
	    aif_share_ppm(w->functions.unsampled_ns, w->functions.weight_ns) >= UNSAMPLED_PPM)
		w->bound = BOUND_NONE;
}

/* Sums up what threads waited for CPUs in the part at hand. 0 or -errno. */
static int measure_run_delay(struct cpu_why *w, const struct aif_selection *sel)
{
	int64_t from = sel ? (int64_t)sel->from_ns : 0,
		to = sel && sel->to_ns ? (int64_t)sel->to_ns
				       : (int64_t)(w->p->end_ns - w->p->start_ns);

	return aif_run_delay_measure(w->p, sel, from, to, &w->run_delay);
}

/* Threads that spin and one that computes at one time have samples in the same cell. */
#define CELL_NS 10000000

struct awaited {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	struct aif_map cells;   /* in which threads spin */
	struct aif_map threads; /* CPU time of each there that does not */
	bool seeks_threads;
	uint32_t thread;
	uint64_t most_ns;
};

static int awaited_add(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct awaited *a = arg;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct aif_cpu_row row;
		uint64_t sum = 0;
		bool spins;

		if (rows[i].waiting || rows[i].stack == AIF_NONE ||
		    !aif_cpu_part(a->p, a->sel, &rows[i], &row) ||
		    aif_cpu_is_unsampled(a->p, row.stack))
			continue;
		spins = aif_spin_wait(a->p, row.stack) != AIF_NONE;
		if (!a->seeks_threads) {
			r = spins ? aif_map_put(&a->cells, row.time / CELL_NS, 1) : 0;
			continue;
		}
		if (spins || !aif_map_get(&a->cells, row.time / CELL_NS, &sum))
			continue;
		sum = 0;
		aif_map_get(&a->threads, row.thread, &sum);
		sum += row.weight;
		r = aif_map_put(&a->threads, row.thread, sum);
		if (sum > a->most_ns) {
			a->most_ns = sum;
			a->thread = row.thread;
		}
	}
	return r;
}

/* Finds the thread that computes most while others spin. */
static int find_awaited(struct cpu_why *w, const struct aif_selection *sel)
{
	struct awaited a = {.p = w->p, .sel = sel, .thread = AIF_NONE};
	uint64_t damaged = 0;
	int r = w->functions.spinning_ns ? aif_profile_cpu(w->p, awaited_add, &a, &damaged) : 0;

	a.seeks_threads = true;
	if (!r && w->functions.spinning_ns)
		r = aif_profile_cpu(w->p, awaited_add, &a, &damaged);
	aif_map_finish(&a.cells);
	aif_map_finish(&a.threads);
	w->awaited = a.thread;
	return r;
}

static int measure(struct cpu_why *w, const struct aif_names *names,
		   const struct aif_selection *sel, struct aif_err *err)
{
	struct aif_cpu_totals by_thread = {0};
	const struct aif_traits *t = &names->p->traits;
	int r;

	if (aif_cpu_counts(names->p) && *aif_profile_meta(names->p, "cpu_period"))
		return aif_err_set(err, -ENOTSUP,
				   "why: samples count %s here (record -e), which is no time; see "
				   "aiflame report --cpu, or record without -e",
				   aif_cpu_counts(names->p));
	/* Imported files do not say how long threads could have run. */
	if (t->is_imported || t->cpu_weights != AIF_CPU_WEIGHTS_TIME)
		return -ENODATA;
	r = aif_cpu_functions_find(names, sel, AIF_NAME_NORMAL, AIF_CPU_OF_PROGRAM, &w->functions,
				   err);
	if (!r && (!w->functions.samples || !w->functions.weight_ns))
		return -ENODATA;
	if (!r)
		r = aif_cpu_totals_by_thread(names->p, sel, &by_thread, err);
	if (!r)
		r = measure_run_delay(w, sel);
	if (!r) {
		w->cpus = cpus_of(names->p);
		w->time_ns = aif_cpu_span_ns(names->p, sel, &by_thread);
		find_busiest(w, &by_thread);
		find_bound(w);
		r = find_lines(w, names, &by_thread);
		if (!r)
			r = aif_why_cpu_ranks_find(names, sel, w->time_ns, &w->run_delay, &w->job);
		if (!r)
			r = find_awaited(w, sel);
		if (r)
			aif_err_set(err, r, "why: %s", strerror(-r));
	}
	aif_cpu_totals_finish(&by_thread);
	return r;
}

static void say_spinning(const struct cpu_why *w, struct aif_buf *out)
{
	const struct aif_thread *t = w->awaited == AIF_NONE ? NULL : &w->p->threads[w->awaited];
	uint64_t ppm = aif_share_ppm(w->functions.spinning_ns, w->functions.weight_ns);

	if (ppm < LEAST_PPM)
		return;
	aif_buf_puts(out, "spinning ");
	aif_human_share(out, ppm);
	aif_buf_puts(out, " of the CPU time: threads wait for others at the end of parallel work");
	if (t) {
		aif_buf_printf(out, ", for %" PRIu32, t->tid);
		if (t->name != AIF_NONE && *aif_profile_str(w->p, t->name))
			aif_buf_printf(out, " (%s)", aif_profile_str(w->p, t->name));
		aif_buf_puts(out, " most, which computes meanwhile");
	}
	aif_buf_putc(out, '\n');
}

/* Returns the function to make faster: threads that spin are no faster by spinning less. NULL: none. */
static const struct aif_cpu_function *function_to_look_at(const struct cpu_why *w)
{
	for (size_t i = 0; i < w->functions.len; i++)
		if (!w->functions.at[i].spins)
			return &w->functions.at[i];
	return NULL;
}

static uint64_t share(const struct cpu_why *w, const struct aif_cpu_function *f)
{
	return aif_share_ppm(f->self_ns, w->functions.weight_ns);
}

static double at_most(const struct cpu_why *w, const struct aif_cpu_function *f)
{
	uint64_t ppm = share(w, f);

	return ppm >= 999000 ? 1000 : 1e6 / (double)(1000000 - ppm);
}

static void say_used(const struct cpu_why *w, struct aif_buf *out)
{
	aif_buf_printf(out, "%.2f", (double)w->used_ppm / 1e6);
	if (w->cpus)
		aif_buf_printf(out, " of %u", w->cpus);
	aif_buf_puts(out, " CPUs used in ");
	aif_human_ns(out, w->time_ns);
}

static void say_bound(const struct cpu_why *w, struct aif_buf *out)
{

	static const char *const bounds[] = {
		[BOUND_ALL_CPUS] = "all CPUs, which compute",
		[BOUND_MACHINE] = "the machine, whose CPUs others had",
		[BOUND_ONE_THREAD] = "one thread, which computes",
		[BOUND_OFF_CPU] = "what is not on a CPU: files, locks, sleep, other processes",
		[BOUND_NONE] = "nothing alone",
	};

	if (aif_why_is_rank_late(&w->job)) {
		aif_why_cpu_say_bound(w->names, &w->job, out);
		return;
	}
	aif_buf_printf(out, "%s: ", bounds[w->bound]);
	say_used(w, out);
}

static void say_threads(const struct cpu_why *w, struct aif_buf *out)
{
	const struct aif_thread *t = w->busiest == AIF_NONE ? NULL : &w->p->threads[w->busiest];

	if (w->threads)
		aif_human_count(out, w->threads);
	else
		aif_buf_puts(out, "all ended before they were found");
	if (t) {
		aif_buf_printf(out, ", the busiest %" PRIu32, t->tid);
		if (t->name != AIF_NONE && *aif_profile_str(w->p, t->name))
			aif_buf_printf(out, " (%s)", aif_profile_str(w->p, t->name));
		aif_buf_puts(out, ": on a CPU for ");
		aif_human_share(out, w->busiest_ppm);
		aif_buf_puts(out, " of the time");
	}
}

/* Says that threads had to wait for CPUs: the program's times would be others on a machine of its own. */
static void say_machine(const struct cpu_why *w, struct aif_buf *out)
{
	if (!aif_run_delay_is_busy(&w->run_delay, w->time_ns))
		return;
	aif_buf_puts(out, "machine  busy: ");
	aif_run_delay_say(&w->run_delay, out);
	aif_buf_putc(out, '\n');
}

/* Appends "f (file:12)": a function's name and the line with most of its time, the file once. */
static void say_function(const struct cpu_why *w, const struct aif_cpu_function *f,
			 struct aif_buf *out)
{
	const char *name = aif_cpu_function_name(&w->functions, f), *at, *own;
	size_t len = strlen(name), file;
	struct aif_buf place = {0};

	aif_cpu_function_place(w->p, f, &place);
	at = aif_buf_str(&place);
	file = strcspn(at, ":");
	/* The names of Python's functions have the file already. */
	own = len > file + 3 ? name + len - file - 3 : "";
	if (file && !strncmp(own, " (", 2) && !strncmp(own + 2, at, file) && own[file + 2] == ')')
		len -= file + 3;
	aif_buf_printf(out, *at ? "%.*s (%s)" : "%.*s", (int)len, name, at);
	out->failed |= aif_buf_failed(&place);
	aif_buf_finish(&place);
}

static void say_functions(const struct cpu_why *w, struct aif_buf *out)
{
	struct aif_buf cell = {0};

	for (size_t i = 0; i < w->functions.len && i < MOST; i++) {
		const struct aif_cpu_function *f = &w->functions.at[i];

		if (i && share(w, f) < LEAST_PPM)
			break;
		aif_human_share(&cell, share(w, f));
		aif_buf_printf(out, "%s%-8s ", i ? "         " : "function ", aif_buf_str(&cell));
		aif_buf_clear(&cell);
		say_function(w, f, out);
		aif_buf_putc(out, '\n');
	}
	aif_buf_finish(&cell);
}

/* Says how much of the CPU time is of no function, where that is so much that functions' shares mislead. */
static void say_unsampled(const struct cpu_why *w, struct aif_buf *out)
{
	uint64_t ppm = aif_share_ppm(w->functions.unsampled_ns, w->functions.weight_ns);

	if (ppm < UNSAMPLED_PPM)
		return;
	aif_buf_puts(out, "missing  ");
	aif_human_share(out, ppm);
	aif_buf_printf(
		out, " of the CPU time has no sample: threads or programs that ended too soon%s\n",
		*aif_profile_meta(w->p, "outside") ? ", the OS kernel's part without root" : "");
}

static void say_lines(const struct cpu_why *w, struct aif_buf *out)
{
	struct aif_buf cell = {0};

	for (size_t i = 0; i < w->lines_len && i < MOST; i++) {
		uint64_t ppm = aif_share_ppm(w->lines[i].ns, w->functions.weight_ns);
		const char *at = aif_strset_get(&w->places, w->lines[i].place, NULL);

		if (ppm < LEAST_PPM)
			break;
		aif_human_share(&cell, ppm);
		aif_buf_printf(out, "%s%-8s %s\n", i ? "         " : "lines    ",
			       aif_buf_str(&cell), *at ? at : "not known");
		aif_buf_clear(&cell);
	}
	aif_buf_finish(&cell);
}

/* Appends the i-th thing to try. Returns false where there is none. */
static bool say_advice(const struct cpu_why *w, unsigned i, struct aif_buf *out)
{
	bool is_alone = w->bound == BOUND_ONE_THREAD && w->cpus > 1 &&
			!aif_run_delay_is_busy(&w->run_delay, w->time_ns);
	const struct aif_cpu_function *f = function_to_look_at(w);

	if (w->bound == BOUND_MACHINE) {
		aif_buf_puts(out, i ? ""
				    : "give it CPUs that others leave alone (taskset, a cgroup's "
				      "quota), and record it there again");
		return !i;
	}
	if (w->bound == BOUND_OFF_CPU) {
		aif_buf_puts(out, i ? ""
				    : "find out what it waits for: record --cpu --wall, or as root "
				      "record --ebpf --off-cpu");
		return !i;
	}
	if (is_alone && !i) {
		aif_buf_puts(out, "use more threads or processes: the other CPUs are idle");
		return true;
	}
	if (i > is_alone || !f ||
	    aif_share_ppm(w->functions.unsampled_ns, w->functions.weight_ns) >= UNSAMPLED_PPM)
		return false;
	if (at_most(w, f) >= MOST_SPEEDUP)
		aif_buf_puts(out, "nearly all of the CPU time");
	else
		aif_buf_printf(out, "at most %.2fx of the CPU time", at_most(w, f));
	aif_buf_printf(out, ": make %s faster, or call it less",
		       aif_cpu_function_name(&w->functions, f));
	return true;
}

static void say(const struct cpu_why *w, struct aif_buf *out)
{
	struct aif_buf advice = {0};
	bool is_late = aif_why_is_rank_late(&w->job), has_advice;

	aif_buf_puts(out, "bound by ");
	say_bound(w, out);
	if (is_late) {
		aif_buf_puts(out, "\nCPUs     ");
		say_used(w, out);
	}
	aif_buf_puts(out, "\n");
	aif_why_cpu_say_ranks(w->names, &w->job, out);
	aif_buf_puts(out, "threads  ");
	say_threads(w, out);
	aif_buf_putc(out, '\n');
	say_machine(w, out);
	say_functions(w, out);
	say_unsampled(w, out);
	say_lines(w, out);
	say_spinning(w, out);
	has_advice = aif_why_cpu_say_advice(w->names, &w->job, out);
	for (unsigned i = 0; w->functions.len && !is_late && say_advice(w, i, &advice); i++) {
		aif_buf_printf(out, "%s%s\n", i || has_advice ? "         " : "try      ",
			       aif_buf_str(&advice));
		aif_buf_clear(&advice);
	}
	aif_buf_finish(&advice);
	aif_why_cpu_say_unknown(&w->answer, out);
	if (aif_cpu_lacks_python(w->p))
		aif_buf_puts(out,
			     "python   its functions are not in samples from outside: record with "
			     "--inject always\n");
	aif_why_cpu_say_next(&w->answer, is_late ? "report --ranks" : "report --cpu",
			     is_late ? "flame --of waits" : "flame --of cpu", out);
}

/* Appends the members of text/json_answer.h, and "try". */
static void say_json_answer(const struct cpu_why *w, struct aif_buf *out)
{
	struct aif_json_answer head = {.verdict = {0}};
	struct aif_buf text = {0}, command = {0};
	bool is_late = aif_why_is_rank_late(&w->job);

	say_bound(w, &text);
	aif_json_answer_verdict(&head, aif_buf_str(&text));
	aif_why_cpu_put_ranks(&w->answer, w->names, &w->job, &head, out);
	aif_why_cpu_command(&w->answer, "report --cpu", &command);
	for (size_t i = 0; i < w->functions.len && i < MOST; i++) {
		const struct aif_cpu_function *f = &w->functions.at[i];

		aif_buf_clear(&text);
		say_function(w, f, &text);
		aif_json_answer_evidence(&head, aif_buf_str(&text), (int64_t)share(w, f),
					 aif_buf_str(&command));
	}
	aif_why_cpu_put_head(&w->answer, &head, out);
	aif_buf_puts(out, ",\"try\":[");
	aif_buf_clear(&text);
	for (unsigned i = 0; w->functions.len && !is_late && say_advice(w, i, &text); i++) {
		if (i)
			aif_buf_putc(out, ',');
		aif_out_json_text(out, aif_buf_str(&text));
		aif_buf_clear(&text);
	}
	aif_buf_puts(out, "],");
	out->failed |= aif_buf_failed(&text) || aif_buf_failed(&command);
	aif_buf_finish(&text);
	aif_buf_finish(&command);
}

static void say_json(const struct cpu_why *w, struct aif_buf *out)
{
	static const char *const keys[] = {
		[BOUND_ALL_CPUS] = "cpus",
		[BOUND_MACHINE] = "machine",
		[BOUND_ONE_THREAD] = "thread",
		[BOUND_OFF_CPU] = "off_cpu",
		[BOUND_NONE] = "",
	};

	const char *bound =
		aif_why_is_rank_late(&w->job) ? aif_why_group_key(AIF_WHY_WAITING) : keys[w->bound];

	aif_buf_putc(out, '{');
	say_json_answer(w, out);
	aif_buf_printf(out,
		       "\"bound_by\":[%s%s%s],\"of\":\"cpu\",\"time_ns\":%" PRIu64
		       ",\"cpu_ns\":%" PRIu64 ",\"used_ppm\":%" PRIu64 ",\"cpus\":%u"
		       ",\"threads\":%zu,\"busiest_ppm\":%" PRIu64
		       ",\"run_delay\":{\"threads\":%zu,\"waited_ns\":%" PRIu64
		       ",\"ran_ns\":%" PRIu64 "},\"functions\":[",
		       *bound ? "\"" : "", bound, *bound ? "\"" : "", w->time_ns,
		       w->functions.weight_ns, w->used_ppm, w->cpus, w->threads, w->busiest_ppm,
		       w->run_delay.threads, w->run_delay.waited_ns, w->run_delay.ran_ns);
	for (size_t i = 0; i < w->functions.len && i < MOST; i++) {
		const struct aif_cpu_function *f = &w->functions.at[i];
		struct aif_buf place = {0};

		aif_cpu_function_place(w->p, f, &place);
		aif_buf_puts(out, i ? ",{\"function\":" : "{\"function\":");
		aif_out_json_text(out, aif_cpu_function_name(&w->functions, f));
		aif_buf_puts(out, ",\"place\":");
		aif_out_json_text(out, aif_buf_str(&place));
		aif_buf_printf(out,
			       ",\"self_ns\":%" PRIu64 ",\"total_ns\":%" PRIu64
			       ",\"share_ppm\":%" PRIu64 ",\"at_most_ppm\":%" PRIu64 "}",
			       f->self_ns, f->total_ns, share(w, f),
			       (uint64_t)(at_most(w, f) * 1e6));
		out->failed |= aif_buf_failed(&place);
		aif_buf_finish(&place);
	}
	aif_buf_puts(out, "],\"lines\":[");
	for (size_t i = 0; i < w->lines_len; i++) {
		aif_buf_puts(out, i ? ",{\"place\":" : "{\"place\":");
		aif_out_json_text(out, aif_strset_get(&w->places, w->lines[i].place, NULL));
		aif_buf_printf(out, ",\"ns\":%" PRIu64 "}", w->lines[i].ns);
	}
	aif_buf_putc(out, ']');
	if (w->job.waits)
		aif_why_ranks_json(w->p, &w->job, out);
	aif_buf_puts(out, "}\n");
}

int aif_why_cpu(const struct aif_names *names, const struct aif_selection *sel, const char *path,
		bool is_json, struct aif_buf *out, struct aif_err *err)
{
	struct cpu_why w = {
		.p = names->p, .names = names, .answer = AIF_WHY_CPU_ANSWER(names->p, sel, path)};
	int r;

	if (names->p->traits.cpu_weights == AIF_CPU_WEIGHTS_WALL && !names->p->traits.is_imported)
		return aif_why_wall(names, sel, path, is_json, out, err);
	r = measure(&w, names, sel, err);
	w.answer.damaged = w.functions.damaged;
	if (!r && is_json)
		say_json(&w, out);
	else if (!r)
		say(&w, out);
	aif_why_finish(&w.job);
	aif_cpu_functions_finish(&w.functions);
	aif_strset_finish(&w.places);
	free(w.lines);
	return r;
}
