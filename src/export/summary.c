/* SPDX-License-Identifier: Apache-2.0 */
#include "export/summary.h"

#include "export/cpu_totals.h"
#include "export/cut.h"
#include "export/imported.h"
#include "export/names.h"
#include "export/process_names.h"
#include "export/report.h"
#include "export/stalls.h"
#include "export/stack_names.h"
#include "export/stack_owner.h"
#include "profile/file.h"
#include "profile/gaps.h"
#include "profile/timeless.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TOP_KERNELS   5
#define TOP_TROUBLE   3
#define TOP_DEVICES   2
#define TOP_PROCESSES 4
/* A line has 38 columns beside these two: callers end within 100 where that leaves kernels' names readable. */
#define BOTH_COLUMNS       62
#define KERNEL_MIN_COLUMNS 28
#define KERNEL_MAX_COLUMNS 56
#define CALLER_COLUMNS     48

static void put_share(struct aif_buf *b, uint64_t part, uint64_t whole)
{
	aif_human_share(b, aif_share_ppm(part, whole));
}

/* What import writes before the files' names. */
#define IMPORTED "imported from "

static void ran(const struct aif_profile *p, struct aif_buf *out)
{
	const char *status = aif_profile_meta(p, "exit_status"),
		   *command = aif_profile_meta(p, "command");

	if (aif_is_imported(p)) {
		if (!strncmp(command, IMPORTED, strlen(IMPORTED)))
			command += strlen(IMPORTED);
		aif_buf_puts(out, "imported ");
	} else {
		aif_buf_puts(out, *aif_profile_meta(p, "attached") ? "recorded " : "ran      ");
	}
	aif_name_sanitize(command, strnlen(command, 200), out);
	if (*aif_profile_meta(p, "host"))
		aif_buf_puts(out, " on ");
	aif_buf_puts(out, aif_profile_meta(p, "host"));
	/* One after another, lengths span nothing. */
	if (!aif_is_lengths(p)) {
		aif_buf_puts(out, aif_is_imported(p) ? ", which spans " : " for ");
		aif_human_ns(out, p->end_ns - p->start_ns);
	}
	if (p->notes & AIF_NOTE_TRIMMED && p->kept_ns >= p->end_ns) {
		aif_buf_puts(out, ", of which nothing is kept");
	} else if (p->notes & AIF_NOTE_TRIMMED) {
		aif_buf_puts(out, ", of which the last ");
		aif_human_ns(out, p->end_ns - p->kept_ns);
		aif_buf_puts(out, " are kept and shown");
	}
	if (*status && strcmp(status, "0"))
		aif_buf_printf(out, ", exit status %s", status);
	aif_buf_putc(out, '\n');
}

static void devices(const struct aif_profile *p, const struct aif_attribution *a,
		    struct aif_buf *out)
{
	const struct aif_conservation *c = &a->conservation;
	bool is_untimed = aif_is_untimed(p, a);

	for (size_t i = 0; i < p->devices_len && i < TOP_DEVICES; i++) {
		const struct aif_device *d = &p->devices[i];

		aif_buf_printf(out, "device   %s (%s", aif_profile_str(p, d->name),
			       aif_profile_str(p, d->runtime));
		if (d->units) {
			aif_buf_puts(out, ", ");
			aif_human_counted(out, d->units, "unit");
		}
		aif_buf_putc(out, ')');
		if (p->devices_len == 1 && !aif_is_lengths(p) && !is_untimed) {
			aif_buf_puts(out, ", active from ");
			aif_human_ns(out, c->first_start_ns);
			aif_buf_puts(out, " to ");
			aif_human_ns(out, c->last_end_ns);
		}
		if (i + 1 == TOP_DEVICES && p->devices_len > TOP_DEVICES)
			aif_buf_printf(out, ", and %zu more", p->devices_len - TOP_DEVICES);
		aif_buf_putc(out, '\n');
	}
	aif_buf_puts(out, "busy     ");
	if (is_untimed) {
		aif_buf_puts(out,
			     "not known: it has samples and no times; shares are of samples\n");
		return;
	}
	if (aif_is_lengths(p)) {
		aif_human_ns(out, c->busy_kernel_ns + c->busy_copy_ns);
		aif_buf_puts(out, " (kernels ");
		aif_human_ns(out, c->busy_kernel_ns);
		aif_buf_puts(out, ", copies ");
		aif_human_ns(out, c->busy_copy_ns);
		aif_buf_puts(out, ")\n");
		return;
	}
	aif_summary_busy(c, out);
	aif_buf_putc(out, '\n');
}

struct top {
	uint64_t width, time, launches,
		widest;  /* width: wall, or samples where there are no times */
	double variance; /* of time */
	uint32_t kind, kernel, stack;
};

static int by_width(const void *a, const void *b)
{
	const struct top *x = a, *y = b;

	return x->width > y->width ? -1 : x->width < y->width;
}

/* Which processes had how much of it, where there are several; false for one. */
static bool processes(const struct aif_profile *p, const struct aif_attribution *a,
		      struct aif_buf *out)
{
	struct aif_buf shares = {0};
	struct aif_process_names names;
	bool are_several, are_named;

	if (aif_process_names_init(&names, p) == 0)
		aif_report_processes(p, a, &names, &shares);
	are_several = shares.len;
	are_named = names.any || names.any_shown;
	aif_process_names_finish(&names);
	if (are_several)
		aif_buf_printf(out,
			       "process  %s of it; for one alone: report --kernels --process %s\n",
			       aif_buf_str(&shares), are_named ? "'NAME'" : "PID");
	aif_buf_finish(&shares);
	return are_several;
}

/* What the kernel waits for most, where its samples tell. */
static void put_wait(const struct aif_stalls *s, uint32_t kernel, struct aif_buf *out)
{
	struct aif_buf wait = {0};

	aif_stalls_top(s, kernel, &wait);
	if (wait.len)
		aif_buf_printf(out, ", waits: %s", aif_buf_str(&wait));
	aif_buf_finish(&wait);
}

struct tops {
	struct top *rows;
	struct aif_map ids, by_stack;
	size_t len;
	bool is_untimed;
};

static void tops_add(struct tops *t, const struct aif_profile *p,
		     const struct aif_attribution_row *r)
{
	/* Kernels of one name are one, whichever program each is of. */
	uint64_t key = r->kind == AIF_LAUNCH_KERNEL && r->kernel != AIF_NONE
			       ? p->kernels[r->kernel].name
			       : UINT64_C(1) << 32 | r->kind;
	uint64_t id, sum = 0, width = t->is_untimed ? r->samples : r->wall_ns;
	struct top *top;

	if (!aif_map_get(&t->ids, key, &id)) {
		id = t->len++;
		aif_map_put(&t->ids, key, id);
		t->rows[id] = (struct top){.kind = r->kind, .kernel = r->kernel, .stack = r->stack};
	}
	top = &t->rows[id];
	top->width += width;
	top->time += r->time_ns;
	top->variance += (double)r->error_ns * (double)r->error_ns;
	top->launches += r->launches;
	aif_map_get(&t->by_stack, id << 32 | r->stack, &sum);
	sum += width;
	aif_map_put(&t->by_stack, id << 32 | r->stack, sum);
	if (sum > top->widest) {
		top->widest = sum;
		top->stack = r->stack;
	}
}

/* "aten::mm in Block.forward (model.py)" */
static void put_who(struct aif_stack_names *names, uint32_t stack, struct aif_buf *out)
{
	const char *text = aif_stack_names_operator(names, stack);

	aif_buf_clear(out);
	aif_buf_puts(out, text ? text : "");
	text = aif_stack_names_caller(names, stack);
	if (text && *text && strcmp(text, aif_buf_str(out)) != 0)
		aif_buf_printf(out, "%s%s", out->len ? " in " : "", text);
}

/* What the lines have that is cut to fit. */
struct top_texts {
	struct aif_cuts kernels, who;
	size_t kernel_width;
};

static int top_texts_make(struct top_texts *x, const struct aif_profile *p,
			  struct aif_stack_names *names, const struct top *tops, size_t len)
{
	size_t most = KERNEL_MAX_COLUMNS, n;
	struct aif_buf who = {0};
	char space[64];
	int r = 0;

	x->kernel_width = 6;
	for (size_t i = 0; i < len && r == 0; i++) {
		const char *kernel =
			aif_report_kernel_short(p, tops[i].kind, tops[i].kernel, space);

		put_who(names, tops[i].stack, &who);
		n = AIF_MIN(aif_cut_width(who.data, who.len), (size_t)CALLER_COLUMNS);
		most = AIF_MIN(most, BOTH_COLUMNS - n);
		x->kernel_width = AIF_MAX(x->kernel_width, aif_cut_width(kernel, strlen(kernel)));
		r = aif_cuts_add(&x->who, who.data, who.len);
		if (r == 0)
			r = aif_cuts_add(&x->kernels, kernel, strlen(kernel));
	}
	x->kernel_width = AIF_MIN(x->kernel_width, AIF_MAX(most, (size_t)KERNEL_MIN_COLUMNS));
	if (r == 0)
		r = aif_cuts_make(&x->who, CALLER_COLUMNS);
	if (r == 0)
		r = aif_cuts_make(&x->kernels, x->kernel_width);
	aif_buf_finish(&who);
	return r;
}

static void top_texts_finish(struct top_texts *x)
{
	aif_cuts_finish(&x->kernels);
	aif_cuts_finish(&x->who);
}

static void put_kernel(const struct top_texts *x, const char *name, struct aif_buf *out)
{
	size_t len;
	const char *text = aif_cuts_get(&x->kernels, name, strlen(name), &len);

	aif_buf_printf(out, "%s%*s", text, (int)(x->kernel_width - aif_cut_width(text, len)), "");
}

/* The kernels with the most time, each with the stack that most of it came from. */
static void top_kernels(const struct aif_profile *p, const struct aif_attribution *a,
			const struct aif_attribution_opts *part, size_t most, struct aif_buf *out)
{
	struct aif_stack_names *names = NULL;
	struct aif_stalls stalls;
	struct tops t = {.rows = calloc(AIF_MAX(a->rows_len, 1), sizeof(*t.rows)),
			 .is_untimed = aif_is_untimed(p, a)};
	struct top *tops = t.rows;
	struct aif_err err;
	struct top_texts texts = {0};
	struct aif_buf who = {0};
	uint64_t whole = 0;
	size_t len, who_len;
	bool known, named = tops && aif_stack_names_new(p, AIF_NAME_NORMAL, &names) == 0;
	char space[64];

	if (named)
		aif_stack_names_join(names, part, &err);
	for (size_t i = 0; named && i < a->rows_len; i++) {
		size_t n;
		const struct aif_attribution_row *shares =
			aif_stack_names_shares(names, &a->rows[i], &n);

		for (size_t j = 0; shares && j < n; j++)
			tops_add(&t, p, &shares[j]);
	}
	len = t.len;
	for (size_t i = 0; i < len; i++)
		whole += tops[i].width;
	if (!t.is_untimed)
		whole = a->conservation.busy_ns;
	if (tops)
		qsort(tops, len, sizeof(*tops), by_width);
	known = aif_stalls_init(&stalls, p, a) == 0;
	len = AIF_MIN(len, most);
	if (top_texts_make(&texts, p, names, tops, len) < 0)
		len = 0;
	for (size_t i = 0; i < len; i++) {
		struct aif_buf cell = {0};

		put_share(&cell, tops[i].width, whole);
		aif_buf_printf(out, "%s %8s  ", i ? "        " : "kernels ", aif_buf_str(&cell));
		put_kernel(&texts, aif_report_kernel_short(p, tops[i].kind, tops[i].kernel, space),
			   out);
		aif_buf_clear(&cell);
		if (t.is_untimed)
			aif_human_counted(&cell, tops[i].width, "sample");
		else
			aif_human_ns(&cell, tops[i].width);
		aif_buf_printf(out, " %8s", aif_buf_str(&cell));
		aif_summary_error(tops[i].variance, tops[i].time, tops[i].width, out);
		if (!aif_is_lengths(p) && !t.is_untimed)
			aif_buf_printf(out, " in %4" PRIu64, tops[i].launches);
		put_who(names, tops[i].stack, &who);
		if (who.len)
			aif_buf_printf(out, "  %s",
				       aif_cuts_get(&texts.who, who.data, who.len, &who_len));
		if (known && tops[i].kind == AIF_LAUNCH_KERNEL)
			put_wait(&stalls, tops[i].kernel, out);
		aif_buf_putc(out, '\n');
		aif_buf_finish(&cell);
	}
	aif_buf_finish(&who);
	top_texts_finish(&texts);
	free(tops);
	if (known)
		aif_stalls_finish(&stalls);
	aif_stack_names_free(names);
	aif_map_finish(&t.ids);
	aif_map_finish(&t.by_stack);
}

static void grades(const struct aif_attribution *a, struct aif_buf *out)
{
	uint64_t by_grade[4] = {0}, whole = 0;
	const char *before = "; of the busy time ";

	for (size_t i = 0; i < a->rows_len; i++) {
		by_grade[a->rows[i].grade & 3] += a->rows[i].wall_ns;
		whole += a->rows[i].wall_ns;
	}
	for (unsigned g = 0; g < 4; g++)
		if (by_grade[g]) {
			aif_buf_puts(out, before);
			aif_human_share(out, aif_share_ppm(by_grade[g], whole));
			aif_buf_printf(out, " %s", aif_grade_name(g));
			before = ", ";
		}
}

#define OF_CPU     "aiflame flame --of cpu"
#define OF_OFF_CPU "aiflame flame --of off-cpu"

/* What there is to be looked at. */
struct there {
	bool kernels, device, timeless, cpu, off_cpu;
};

/* Where the host's time went, if it was sampled. */
static void cpu(const struct aif_profile *p, const struct aif_attribution_opts *part,
		const char *path, struct there *there, struct aif_buf *out)
{
	struct aif_cpu_totals t = {0};
	bool has = aif_cpu_totals(p, part, &t, NULL) == 0 && t.stacks_len;

	there->off_cpu = has && t.off_cpu_ns;
	there->cpu = has && (t.samples || t.waiting_ns || !t.off_cpu_ns);
	if (has) {
		aif_buf_puts(out, "cpu      ");
		aif_cpu_totals_say(p, &t, out);
		aif_buf_puts(out, ": ");
		if (there->cpu)
			aif_summary_command(out, OF_CPU, path);
		aif_buf_puts(out, there->cpu && there->off_cpu ? ", " : "");
		if (there->off_cpu)
			aif_summary_command(out, OF_OFF_CPU, path);
		aif_buf_putc(out, '\n');
	}
	aif_cpu_totals_finish(&t);
}

static uint64_t meta_number(const struct aif_profile *p, const char *key)
{
	return strtoull(aif_profile_meta(p, key), NULL, 10);
}

struct sampled {
	double on_ns, all_ns;
};

static int add_window(void *arg, const struct aif_window_row *rows, size_t n)
{
	struct sampled *s = arg;

	for (size_t i = 0; i < n; i++) {
		double ns = (double)(rows[i].end - rows[i].start);

		if (rows[i].device == AIF_NONE || rows[i].end <= rows[i].start)
			continue;
		s->on_ns += ns * AIF_MIN(rows[i].p_ppm, 1000000u) / 1e6;
		s->all_ns += ns;
	}
	return 0;
}

/* What being ready to sample cost the threads of CPU devices, and how much of it that was cut to. */
static void sampling_cost(const struct aif_profile *p, struct aif_buf *out)
{
	uint64_t ns = meta_number(p, "cost.sampling_ns");
	struct sampled s = {0};

	if (!*aif_profile_meta(p, "cost.sampling_ns"))
		return;
	aif_buf_puts(out, "; sampling the device's threads about ");
	put_share(out, ns, p->end_ns - p->start_ns);
	if (aif_profile_windows(p, add_window, &s, NULL) == 0 && s.on_ns < 0.99 * s.all_ns) {
		aif_buf_puts(out, ", on for ");
		aif_human_share(out, (uint64_t)(1e6 * s.on_ns / s.all_ns));
		aif_buf_puts(out, " of the time");
	}
}

/* What a vendor's part takes whether launches are captured or not. */
static void vendor_cost(const struct aif_profile *p, struct aif_buf *out)
{
	uint64_t ns = meta_number(p, "cost.callbacks_ns"),
		 bytes = meta_number(p, "cost.device_bytes");

	if (ns) {
		aif_buf_puts(out, "; CUPTI itself about ");
		put_share(out, ns, p->end_ns - p->start_ns);
	}
	if (bytes)
		aif_buf_printf(out, "; %.0f MiB of the GPU's memory", (double)bytes / (1 << 20));
}

static void cost(const struct aif_profile *p, const struct aif_attribution *a, struct aif_buf *out)
{
	const struct aif_conservation *c = &a->conservation;
	uint64_t agent = meta_number(p, "cost.agent_ns"),
		 median = meta_number(p, "cost.capture_median_ns"),
		 recorder = meta_number(p, "cost.recorder_cpu_ns"),
		 asked = meta_number(p, "overhead.asked_ppm"),
		 measured = meta_number(p, "overhead.cost_ppm");

	aif_buf_puts(out, "cost     ");
	/* It is written down at the end. */
	if (p->notes & AIF_NOTE_CUT_SHORT && !recorder) {
		aif_buf_puts(out, "not known: it is written down at a recording's end\n");
		return;
	}
	if (agent) {
		aif_buf_puts(out, "capture ");
		put_share(out, agent, p->end_ns - p->start_ns);
		aif_buf_puts(out, " of the time");
		if (median)
			aif_buf_printf(out, " (median %" PRIu64 " ns a launch)", median);
	} else {
		aif_buf_puts(out, "too few launches to measure capture");
	}
	if (measured && c->launches) {
		/* While capture is on, the program takes that much longer; launches that were left out
		 * tell for how much of it it was off. */
		double slow = (double)measured / 1e6,
		       captured = (double)(c->launches - c->uncaptured);

		aif_buf_printf(out, ", launches slowed by %.2g %% while it was on, for ",
			       100 * slow);
		aif_human_share(out, aif_share_ppm(c->launches - c->uncaptured, c->launches));
		aif_buf_printf(out, " of them: %.2g %% slower in all",
			       100 * slow * captured / (double)c->launches);
	}
	if (asked)
		aif_buf_printf(out, ", allowed %g %%", (double)asked / 1e4);
	if (asked && !measured &&
	    (double)agent > (double)(p->end_ns - p->start_ns) * (double)asked / 1e6)
		aif_buf_puts(out, " in longer runs");
	sampling_cost(p, out);
	vendor_cost(p, out);
	aif_buf_puts(out, "; ");
	aif_human_ns(out, recorder + meta_number(p, "cost.helper_cpu_ns"));
	aif_buf_puts(out, " of CPU beside it");
	aif_cupti_cpu_say(p, ", and ", " in threads of CUPTI", out);
	aif_buf_putc(out, '\n');
}

static bool was_paused(const struct aif_profile *p)
{
	struct aif_gaps gaps;
	bool was = aif_gaps_init(&gaps, p) == 0 && gaps.len;

	aif_gaps_finish(&gaps);
	return was;
}

/* The likely reason why nothing was executed. */
static const char *why_nothing(const struct aif_profile *p, size_t agents, size_t runtimes,
			       char text[160])
{
	const char *attached = aif_profile_meta(p, "attached"),
		   *left = aif_profile_meta(p, "left_running");

	if (aif_profile_loss(p, AIF_REASON_HANDSHAKE_FAILED) ||
	    aif_profile_loss(p, AIF_REASON_WIRE_VERSION))
		return "an agent got no memory from the recorder, see below";
	if (aif_profile_loss(p, AIF_REASON_TIME_NAMESPACE))
		return "the program ran in a time namespace of its own, see below";
	if (!agents && aif_profile_loss(p, AIF_REASON_NOT_COVERED_ASAN))
		return "the program's AddressSanitizer does not let it begin with the agent, see below";
	if (!runtimes && aif_profile_loss(p, AIF_REASON_NOT_COVERED_USER))
		return "the program ran as another user than the recorder, see below";
	if (*left) {
		snprintf(text, 160,
			 "the command has ended, but process %.12s of it runs on, unrecorded; see "
			 "aiflame help env, record -p",
			 left);
		return text;
	}
	if (aif_profile_loss(p, AIF_REASON_ZE_METRICS_SIGNAL))
		return "the command ended before it had launched anything, see below";
	if (runtimes && was_paused(p))
		return "the program launched nothing while it was collected: see --delay, aiflame ctl";
	if (aif_profile_loss(p, AIF_REASON_CUDA_CROWDED) ||
	    aif_profile_loss(p, AIF_REASON_CUDA_REFUSED))
		return "what the program launched is not known: CUPTI refused to tell, see below";
	if (aif_profile_loss(p, AIF_REASON_CUDA_NO_CUPTI))
		return "what the program launched is not known: there is no CUPTI, see below";
	if (aif_profile_loss(p, AIF_REASON_NO_MEMORY))
		return "the agent got no memory in the program for what it launched, see below";
	if (runtimes)
		return "the program opened a device but launched nothing";
	if (!strcmp(attached, "all") && *aif_profile_meta(p, "ebpf"))
		return "in no process a launch was seen, with an agent or from outside";
	if (!strcmp(attached, "all"))
		return "no process on standby has started an accelerator runtime; see aiflame ctl "
		       "status";
	if (*attached)
		return "no accelerator runtime has started in what was recorded; it was waited for";
	if (agents)
		return "the program used none of CUDA, OpenCL and Level Zero, or its OpenCL loader has "
		       "no layers; "
		       "see aiflame doctor";
	return "the agent was not loaded: a static or set-user-id program, or one that clears its "
	       "environment";
}

/* All that ran was recorded and dropped again, so that the likely reasons are none. */
static void put_dropped(const struct aif_profile *p, struct aif_buf *out)
{
	aif_human_counted(out, p->dropped_launches, "launch");
	aif_buf_puts(out, p->dropped_launches == 1 ? " was" : " were");
	aif_buf_puts(out,
		     " recorded and dropped by --max-size or --keep: record with a larger one");
}

/* Launches of which nobody knows when they ran, and what shows them. */
static void timeless(const struct aif_profile *p, const struct aif_attribution *a, uint64_t n,
		     const char *path, struct aif_buf *out)
{
	const char *use = aif_profile_meta(p, "cupti.use");

	aif_buf_puts(out, "launches ");
	aif_human_count(out, n);
	aif_buf_puts(out, ", times not known");
	if (use && !strcmp(use, "launches"))
		aif_buf_puts(out, ", as CUPTI was asked for launches only (--cupti launches)");
	else if (a->conservation.outside == n)
		aif_buf_puts(out,
			     ", as they were seen from outside: only an agent knows kernels and "
			     "times, see aiflame help env");
	else if (aif_profile_loss(p, AIF_REASON_NO_TIMES))
		aif_buf_puts(out, ", as the driver gave none");
	else if (a->conservation.unread + a->conservation.unfinished >= n)
		aif_buf_puts(out, ", as the program or the recording ended before they were read");
	aif_buf_puts(out, ": ");
	aif_summary_command(out, "aiflame flame --by launches", path);
	aif_buf_putc(out, '\n');
}

/* Nothing ran on any device, or nothing is left of it: say what there was, and the likely reason. */
static void nothing(const struct aif_profile *p, struct aif_buf *out)
{
	size_t agents = 0, runtimes = 0;
	char text[160];

	if (aif_is_imported(p)) {
		aif_buf_puts(out, "device   nothing in it ran on a device\n");
		return;
	}
	for (size_t i = 0; i < p->processes_len; i++) {
		agents += (p->processes[i].flags & AIF_PROCESS_AGENT) != 0;
		runtimes += (p->processes[i].flags & AIF_PROCESS_RUNTIME) != 0;
	}
	aif_buf_puts(out, p->dropped_launches ? "nothing is left of what was executed: of "
					      : "nothing was executed on any device: of ");
	aif_human_counted(out, p->processes_len, "process");
	aif_buf_printf(out, " seen, %zu carried the agent, %zu started a runtime\n", agents,
		       runtimes);
	for (size_t i = 0; i < p->processes_len && i < TOP_PROCESSES; i++)
		aif_buf_printf(out, "         %" PRIu32 " %.80s%s\n", p->processes[i].pid,
			       aif_profile_str(p, p->processes[i].cmdline),
			       p->processes[i].flags & AIF_PROCESS_RUNTIME ? ": runtime started"
			       : p->processes[i].flags & AIF_PROCESS_AGENT ? ": agent loaded"
									   : ": no agent");
	if (p->processes_len > TOP_PROCESSES)
		aif_buf_printf(out, "         and %zu more\n", p->processes_len - TOP_PROCESSES);
	aif_buf_puts(out, "reason   ");
	if (p->dropped_launches)
		put_dropped(p, out);
	else
		aif_buf_puts(out, why_nothing(p, agents, runtimes, text));
	aif_buf_putc(out, '\n');
}

static int find_operator(void *found, const struct aif_op_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].kind == AIF_OP_OPERATOR) {
			*(bool *)found = true;
			return -ECANCELED; /* the rest is of no interest */
		}
	return 0;
}

static bool has_operators(const struct aif_profile *p)
{
	bool found = false;

	aif_profile_ops(p, find_operator, &found, NULL);
	return found;
}

/* "aiflame annotate KERNEL", of the kernel with the most time of those that have stall reasons, by as much of its name
 * as is no expression. False: there is none. */
static bool put_annotate(const struct aif_profile *p, const struct aif_stalls *stalls,
			 struct aif_buf *out)
{
	struct aif_buf name = {0};
	const char *text;
	size_t len = 0;
	uint32_t kernel;
	char space[64];
	bool has;

	if (!stalls->kernels_len)
		return false;
	kernel = stalls->kernels[0].kernel;
	text = aif_report_kernel_short(p, AIF_LAUNCH_KERNEL, kernel, space);
	while (isalnum((unsigned char)text[len]) || (text[len] && strchr("_:", text[len])))
		len++;
	aif_buf_append(&name, text, len);
	/* Short names may be ours. */
	has = len && strstr(aif_profile_str(p, p->kernels[kernel].name), aif_buf_str(&name));
	aif_buf_printf(out, "aiflame annotate %s", aif_buf_str(&name));
	aif_buf_finish(&name);
	return has;
}

/* The commands that have something to show. */
static void put_next(const struct aif_profile *p, const struct aif_attribution *a,
		     const struct there *there, const char *path, struct aif_buf *out)
{
	struct aif_buf annotate = {0};
	struct aif_stalls stalls;
	bool known = there->kernels && aif_stalls_init(&stalls, p, a) == 0,
	     has_stalls = known && stalls.kernels_len,
	     has_listing = has_stalls && put_annotate(p, &stalls, &annotate);
	const struct {
		bool is_there;
		const char *command;
	} next[] = {
		{there->device, "aiflame flame"},
		{there->kernels, "aiflame report --kernels"},
		{has_stalls, "aiflame report --stalls"},
		{has_listing, aif_buf_str(&annotate)},
		{!there->device && there->timeless, "aiflame flame --by launches"},
		{!there->device && there->timeless, "aiflame report --launches"},
		{!there->device && there->cpu, OF_CPU},
		{!there->device && there->off_cpu, OF_OFF_CPU},
		{aif_is_imported(p) && has_operators(p), "aiflame report --ops"},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(next); i++) {
		if (!next[i].is_there)
			continue;
		aif_summary_command(out, next[i].command, path);
		aif_buf_puts(out, ", ");
	}
	aif_summary_command(out, "aiflame info", path);
	aif_buf_putc(out, '\n');
	aif_buf_finish(&annotate);
	if (known)
		aif_stalls_finish(&stalls);
}

/* Nothing of what was asked for ran on a device, or what did was left out. */
static void nothing_there(const struct aif_attribution *a, struct aif_buf *out)
{
	if (a->conservation.left_out) {
		aif_buf_puts(out, "device   not known: ");
		aif_human_counted(out, a->conservation.left_out, "launch");
		aif_buf_puts(out, a->conservation.left_out == 1 ? " was" : " were");
		aif_buf_puts(out,
			     " left out in this span (--overhead), and none was captured; record "
			     "with --all-launches\n");
	} else {
		aif_buf_puts(out,
			     "device   no activity in what " AIF_REPORT_CHOOSES " leave; loosen "
			     "them\n");
	}
}

static void shown(const struct aif_profile *p, const struct aif_attribution_opts *part,
		  struct aif_buf *out)
{
	uint64_t length = p->end_ns - p->start_ns;

	aif_buf_puts(out, "shown    what ran from ");
	aif_human_ns(out, AIF_MIN(part->from_ns, length));
	aif_buf_puts(out, " to ");
	aif_human_ns(out, part->to_ns ? AIF_MIN(part->to_ns, length) : length);
	if (part->processes || part->threads || part->devices)
		aif_buf_puts(out, ", of what --process, --tid and --device leave");
	aif_buf_putc(out, '\n');
}

void aif_summary_part(const struct aif_profile *p, const struct aif_attribution *a,
		      const struct aif_attribution_opts *part, const char *path,
		      struct aif_buf *out)
{
	struct there there = {.kernels = a->rows_len, .device = a->rows_len || a->unmatched_len};

	ran(p, out);
	shown(p, part, out);
	if (a->rows_len) {
		devices(p, a, out);
		(void)processes(p, a, out);
		top_kernels(p, a, part, TOP_KERNELS, out);
		aif_buf_puts(out, "quality  ");
		aif_summary_quality(p, a, out);
		if (!aif_is_lengths(p))
			grades(a, out);
		aif_buf_putc(out, '\n');
	} else {
		nothing_there(a, out);
	}
	if (!part->devices)
		cpu(p, part, path, &there, out);
	aif_buf_printf(out, "file     %s\n", path);
}

void aif_summary_write(const struct aif_profile *p, const struct aif_attribution *a,
		       const char *path, struct aif_buf *out)
{
	bool is_empty = !a->conservation.joined && !a->rows_len;
	const struct aif_conservation *c = &a->conservation;
	/* Of millions they are not looked for where all have times. */
	uint64_t timeless_len = c->launches > c->joined + c->uncaptured ? aif_timeless_count(p) : 0;
	struct there there = {.kernels = !is_empty,
			      .device = !is_empty || a->unmatched_len,
			      .timeless = timeless_len};
	struct aif_buf broken = {0};
	size_t lines = aif_summary_end(p, out);
	struct stat st;

	ran(p, out);
	if (timeless_len)
		timeless(p, a, timeless_len, path, out);
	if (is_empty && !timeless_len) {
		nothing(p, out);
	} else if (!is_empty) {
		devices(p, a, out);
		/* All in all it has room for so many lines. */
		lines += processes(p, a, out);
		top_kernels(p, a, NULL, lines + 2 < TOP_KERNELS ? TOP_KERNELS - lines : 2, out);
		aif_buf_puts(out, "quality  ");
		aif_summary_quality(p, a, out);
		if (!aif_is_lengths(p))
			grades(a, out);
		aif_buf_putc(out, '\n');
	}
	cpu(p, NULL, path, &there, out);
	aif_summary_others(p, out);
	if (!is_empty && !aif_is_imported(p))
		cost(p, a, out);
	if (!aif_conservation_check(&a->conservation, &broken))
		aif_buf_printf(out, "BROKEN   this profile does not add up: %s\n",
			       aif_buf_str(&broken));
	aif_buf_finish(&broken);
	aif_summary_trouble(p, timeless_len, path, out);
	aif_buf_printf(out, "file     %s, ", path);
	if (stat(path, &st) == 0)
		aif_human_bytes(out, (uint64_t)st.st_size);
	aif_buf_puts(out, "; next: ");
	put_next(p, a, &there, path, out);
}
