/* SPDX-License-Identifier: Apache-2.0 */
#include "report/info.h"

#include "names/stack_owner.h"
#include "analysis/cpu_totals.h"
#include "analysis/idle/part.h"
#include "analysis/traits.h"
#include "text/table.h"
#include "analysis/backward.h"
#include "base/cupti_faults.h"
#include "base/name_sanitize.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void line_ns(struct aif_buf *b, const char *name, uint64_t ns)
{
	aif_buf_printf(b, "  %-32s", name);
	aif_human_ns(b, ns);
	aif_buf_putc(b, '\n');
}

static void line_count(struct aif_buf *b, const char *name, uint64_t n)
{
	aif_buf_printf(b, "  %-32s", name);
	aif_human_count(b, n);
	aif_buf_putc(b, '\n');
}

/* Lines of what only recordings can have: of an imported file they are printed where they are not
 * empty. */
static void line_recorded(struct aif_buf *b, bool is_imported, const char *name, uint64_t n)
{
	if (n || !is_imported)
		line_count(b, name, n);
}

static int count_rows(void *sum, const struct aif_exec_row *rows, size_t n)
{
	(void)rows;
	*(uint64_t *)sum += n;
	return 0;
}

/* A graph, or a list of commands, is launched once and executes many things, and may do so
 * again. */
static uint64_t executions(const struct aif_profile *p)
{
	uint64_t n = 0;

	aif_profile_execs(p, count_rows, &n, NULL);
	return n;
}

static void conservation(const struct aif_profile *p, const struct aif_conservation *c,
			 bool is_imported, struct aif_buf *out)
{
	struct aif_buf broken = {0};

	aif_buf_puts(out, "\nconservation\n");
	line_ns(out, "elapsed x devices", c->elapsed_ns * c->devices);
	line_ns(out, "  = before the first work", c->before_ns);
	line_ns(out, "  + busy", c->busy_ns);
	line_ns(out, "  + idle", c->idle_ns);
	line_ns(out, "  + after the last work", c->after_ns);
	if (c->uncollected_ns || !is_imported)
		line_ns(out, "  + not collected", c->uncollected_ns);
	line_ns(out, "sum of durations", c->durations_ns);
	line_ns(out, "  = busy", c->busy_ns);
	line_ns(out, "  + overlap", c->overlap_ns);
	if (c->samples || !is_imported) {
		line_count(out, "device samples", c->samples);
		line_count(out, "  = attributed", c->sampled_attributed);
		line_count(out, "  + unmatched", c->sampled_unmatched);
		line_count(out, "  + dropped", c->samples_dropped);
		line_count(out, "  + outside of executions", c->samples_outside);
		line_recorded(out, is_imported, "  + in what was not captured", c->samples_off);
		line_recorded(out, is_imported, "  + in progress at start/stop",
			      c->samples_in_flight);
	}
	line_count(out, "launches", c->launches);
	line_count(out, "  = joined", c->joined);
	line_recorded(out, is_imported, "  + in progress at the stop", c->unfinished);
	line_recorded(out, is_imported, "  + unread at its process's end", c->unread);
	line_recorded(out, is_imported, "  + never heard of again", c->unreported);
	line_recorded(out, is_imported, "  + lost", c->lost);
	line_recorded(out, is_imported,
		      *aif_profile_meta(p, "reduced") ? "  + left out (reduce)"
						      : "  + left out (--overhead)",
		      c->uncaptured);
	line_recorded(out, is_imported, "  + seen from outside (--ebpf)", c->outside);
	line_count(out, "executions", executions(p));
	line_count(out, "  without launch", c->executions_unjoined);
	line_count(out, "started before their launch", c->started_before_launch);
	if (aif_conservation_check(c, &broken))
		aif_buf_puts(out, "  everything adds up\n");
	else
		aif_buf_printf(out, "  BROKEN: %s\n", aif_buf_str(&broken));
	aif_buf_finish(&broken);
}

/* Devices whose idle time is printed by cause; that of all is checked. */
#define MOST_DEVICES 16

static void idle_device(const struct aif_profile *p, const struct aif_idle_device *d,
			struct aif_buf *out)
{
	const char *name = d->device == AIF_NONE ? ""
						 : aif_profile_str(p, p->devices[d->device].name),
		   *sign = "=";
	char label[64];

	aif_buf_printf(out, "  %-32s", "idle");
	aif_human_ns(out, d->idle_ns);
	if (d->process != AIF_NONE)
		aif_buf_printf(out, ", process %" PRIu32, p->processes[d->process].pid);
	aif_buf_puts(out, ", ");
	aif_name_sanitize(name, strlen(name), out);
	aif_buf_putc(out, '\n');
	for (unsigned c = 0; c < AIF_IDLE_CAUSES; c++) {
		if (!d->of_cause[c])
			continue;
		snprintf(label, sizeof(label), "  %s %s", sign,
			 aif_idle_cause_name((enum aif_idle_cause)c));
		line_ns(out, label, d->of_cause[c]);
		sign = "+";
	}
}

/* Prints the idle time between a process's first and last work on each device as the sum of its causes. */
static void idle(const struct aif_profile *p, struct aif_buf *out)
{
	const struct aif_idle_part *part;
	struct aif_buf broken = {0};
	size_t n = 0;
	int e;

	if (p->traits.is_lengths)
		return;
	e = aif_idle_part_get(p, NULL, &part);
	if (e < 0)
		aif_profile_fail(p, e);
	if (!e && part->blame.idle_ns) {
		aif_buf_puts(out, "\nidle time by cause\n");
		for (size_t i = 0; i < part->blame.devices_len; i++)
			if (part->blame.devices[i].idle_ns && n++ < MOST_DEVICES)
				idle_device(p, &part->blame.devices[i], out);
		if (n > MOST_DEVICES) {
			aif_buf_puts(out, "  ");
			aif_human_counted(out, n - MOST_DEVICES, "more device");
			aif_buf_putc(out, '\n');
		}
		if (aif_idle_blame_check(&part->blame, &broken))
			aif_buf_puts(out, "  the causes add up on each device\n");
		else
			aif_buf_printf(out, "  BROKEN: %s\n", aif_buf_str(&broken));
	}
	aif_buf_finish(&broken);
	aif_facts_put(part);
}

static void losses(const struct aif_profile *p, struct aif_buf *out)
{
	const unsigned lost = AIF_NOTE_CUT_SHORT | AIF_NOTE_NO_ROLLBACK | AIF_NOTE_DEEP_NAMES;

	aif_buf_puts(out, "\nlosses and degradations\n");
	if (!p->losses_len)
		aif_buf_puts(out,
			     p->notes & lost ? "  none that was counted: see above\n" : "  none\n");
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];
		const struct aif_reason_info *info = aif_reason_info((int)l->reason);

		aif_buf_printf(out, "  %" PRIu32 " %-20s ", l->reason, info ? info->name : "?");
		aif_human_count(out, l->count);
		aif_buf_puts(out, "  ");
		if (info)
			aif_reason_say(info, l->count, out);
		else
			aif_buf_puts(out, "of a newer aiflame");
		if (l->process != AIF_NONE)
			aif_buf_printf(out, ", process %" PRIu32, p->processes[l->process].pid);
		if (l->detail != AIF_NONE)
			aif_buf_printf(out, " (%s)", aif_profile_str(p, l->detail));
		if (info && *info->fix)
			aif_buf_printf(out, "; %s", info->fix);
		aif_buf_putc(out, '\n');
	}
	aif_buf_puts(out, p->traits.lacks ? "  " : "");
	aif_buf_puts(out, aif_lacks_say(&p->traits, UINT_MAX, out) ? "\n" : "");
}

static void notes(const struct aif_profile *p, struct aif_buf *out)
{
	struct aif_cycle c;

	aif_profile_cycle(p, &c);
	if (p->traits.is_lengths && !p->traits.samples_unknown)
		aif_buf_puts(out,
			     "\nstacks of samples: the numbers of launches and the times below are "
			     "of rows that were made of them, and mean nothing else\n");
	else if (p->traits.is_lengths)
		aif_buf_puts(out,
			     "\nstacks with lengths: the numbers of launches and samples below are "
			     "of rows that were made of them, and mean nothing else\n");
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_buf_puts(out, "\nthe recording was cut short: it ends at the last commit\n");
	if (p->notes & AIF_NOTE_NO_ROLLBACK)
		aif_buf_puts(
			out,
			"\nthe recorder was killed in a commit that could not be undone here\n");
	if (p->notes & AIF_NOTE_NO_LOCKS)
		aif_buf_puts(out, "\nits file system has no locks: whether it is being recorded "
				  "could not be asked\n");
	if (p->notes & AIF_NOTE_DEEP_NAMES)
		aif_buf_printf(
			out,
			"\nmore than %d functions are inlined at one place: the innermost are "
			"left out\n",
			AIF_FRAME_NAMES_MAX);
	if (p->notes & AIF_NOTE_TRIMMED) {
		aif_buf_puts(out, c.cycle && !c.is_slow
					  ? "\nrows before the cycle were left out: "
					  : "\nold rows were dropped (--keep, --max-size): ");
		if (p->kept_ns < p->end_ns) {
			aif_buf_puts(out, "only the last ");
			aif_human_ns(out, p->end_ns - p->kept_ns);
			aif_buf_puts(out, " are shown\n");
		} else {
			aif_buf_puts(out, "all of them, nothing is left\n");
		}
	}
}

static void cycle(const struct aif_profile *p, struct aif_buf *out)
{
	struct aif_cycle c;

	aif_profile_cycle(p, &c);
	if (!c.cycle)
		return;
	if (c.is_slow) {
		aif_buf_printf(out, "\nslow step %" PRIu64 ", ", c.first);
		aif_human_ns(out, c.to_ns - c.from_ns);
		if (c.usual_ns) {
			aif_buf_puts(out, " where ");
			aif_human_ns(out, c.usual_ns);
			aif_buf_puts(out, " are usual");
		}
		aif_buf_puts(out, ", from ");
	} else {
		aif_buf_printf(out, "\ncycle %" PRIu64 ", steps %" PRIu64 " to %" PRIu64 ", from ",
			       c.cycle, c.first, c.last);
	}
	aif_human_ns(out, c.from_ns);
	aif_buf_puts(out, " to ");
	aif_human_ns(out, c.to_ns);
	aif_buf_puts(out, ": what views show unless --time says otherwise; --time all shows all\n");
}

/* Prints how many launches of PyTorch's backward were joined to their forward. */
static void backward(const struct aif_profile *p, const struct aif_attribution *a,
		     struct aif_buf *out)
{
	uint64_t ns[AIF_BACKWARD_HOWS];
	const struct aif_backward *b;
	struct aif_err err;
	int r = aif_backward_get(p, NULL, &b, &err);

	if (r < 0) {
		aif_profile_fail(p, r);
		return;
	}
	if (b->parts_len) {
		aif_backward_sums(b, a, ns);
		aif_buf_puts(out, "\nbackward (PyTorch): busy time\n");
		line_ns(out, "joined to its operator", ns[AIF_BACKWARD_MATCHED]);
		line_ns(out, "joined by its neighbours", ns[AIF_BACKWARD_BETWEEN]);
		line_ns(out, "not joined", ns[AIF_BACKWARD_UNJOINED]);
	}
	aif_facts_put(b);
}

struct rates {
	uint64_t least, most; /* ns between two samples of a unit; most 0: not sampled */
};

static int add_rate(void *arg, const struct aif_window_row *rows, size_t n)
{
	struct rates *rates = arg;

	for (size_t i = 0; i < n; i++) {
		struct rates *r = &rates[rows[i].device == AIF_NONE ? 0 : rows[i].device];

		if (rows[i].device == AIF_NONE || !rows[i].held || !rows[i].period_ns)
			continue;
		r->least = r->most ? AIF_MIN(r->least, rows[i].period_ns) : rows[i].period_ns;
		r->most = AIF_MAX(r->most, rows[i].period_ns);
	}
	return 0;
}

/* Prints what sampled the devices, and how often: GPUs sample themselves, others are sampled by the
 * recorder. */
static void sampling(const struct aif_profile *p, const char *recorder, struct aif_buf *out)
{
	struct rates *rates = calloc(p->devices_len + 1, sizeof(*rates));
	bool by_recorder = strcmp(recorder, "none") != 0, any = false;

	if (!rates)
		aif_profile_fail(p, -ENOMEM);
	if (!rates || aif_profile_windows(p, add_rate, rates, NULL) < 0) {
		free(rates);
		aif_buf_puts(out, recorder);
		return;
	}
	for (uint32_t d = 0; d < p->devices_len; d++) {
		const char *runtime = aif_profile_str(p, p->devices[d].runtime);

		if (!rates[d].most)
			continue;
		aif_buf_printf(out, "%s%s", any ? "; " : "", runtime);
		if (by_recorder && strcmp(runtime, "cuda"))
			aif_buf_printf(out, " by %s", recorder);
		aif_buf_puts(out, ": every ");
		aif_human_ns(out, rates[d].least);
		if (rates[d].most != rates[d].least) {
			aif_buf_puts(out, " to ");
			aif_human_ns(out, rates[d].most);
		}
		aif_buf_puts(out, !strcmp(runtime, "cuda") ? " an SM"
				  : by_recorder            ? " a thread"
							   : " a unit");
		any = true;
	}
	if (!any)
		aif_buf_puts(out, recorder);
	free(rates);
}

/* Prints the version of libcupti, how it was used, and which faults are known of it. */
static void cupti(const struct aif_profile *p, struct aif_buf *out)
{
	const char *use = aif_profile_meta(p, "cupti.use"), *id = aif_profile_meta(p, "cupti.id");
	uint32_t version = (uint32_t)strtoul(aif_profile_meta(p, "cupti.version"), NULL, 10);
	const struct aif_cupti_fault *fault = NULL;

	if (!*use)
		return;
	aif_buf_printf(out, "  %-32s", "CUPTI");
	aif_cupti_version_text(version, out);
	if (*id)
		aif_buf_printf(out, " (build %s)", id);
	aif_buf_printf(out, ", used: %s\n", use);
	while ((fault = aif_cupti_fault_next(version, fault)) != NULL)
		aif_buf_printf(out, "  %-32s%s (fixed in CUPTI %s)\n", "CUPTI's known fault",
			       fault->what, fault->fixed_in);
}

static bool is_of_cupti(const struct aif_profile *p, const struct aif_meta *m)
{
	return !strncmp(aif_profile_str(p, m->key), "cupti.", 6);
}

static void meta(const struct aif_profile *p, struct aif_buf *out)
{
	for (size_t i = 0; i < p->meta_len; i++) {
		const char *key = aif_profile_str(p, p->meta[i].key),
			   *value = aif_profile_str(p, p->meta[i].value);

		if (is_of_cupti(p, &p->meta[i]))
			continue; /* a line for all of them, below */
		if (!strcmp(key, AIF_CYCLE))
			continue; /* in words below */
		aif_buf_printf(out, "  %-32s", key);
		if (!strcmp(key, "sampling"))
			sampling(p, value, out);
		else if (!strcmp(key, "device_rate"))
			aif_buf_printf(out, "%s asked for, see sampling", value);
		else
			aif_buf_puts(out, value);
		aif_buf_putc(out, '\n');
	}
	cupti(p, out);
	aif_cupti_cpu_describe(p, "  CPU of CUPTI's threads          ", ", by CPU samples\n", out);
}

/* Returns the number of functions whose code is kept; the SPIR-V that kernels were compiled from, and whole binaries, are
 * none. */
static size_t functions(const struct aif_profile *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->codes_len; i++) {
		const char *arch = aif_profile_str(p, p->codes[i].arch);

		n += strcmp(arch, "spirv") != 0 && strcmp(arch, AIF_BINARY_ARCH) != 0 &&
		     strcmp(arch, AIF_BINARY_LINES) != 0;
	}
	return n;
}

/* Returns the number of kernels without the names that a trace gives to transfers, which are rows of that table, too. */
static size_t kernels(const struct aif_profile *p, const struct aif_attribution *a)
{
	bool *is_transfer = calloc(p->kernels_len + 1, sizeof(*is_transfer));
	size_t n = p->kernels_len;

	for (size_t i = 0; is_transfer && i < a->rows_len; i++)
		if (a->rows[i].kind != AIF_LAUNCH_KERNEL && a->rows[i].kernel != AIF_NONE)
			is_transfer[a->rows[i].kernel] = true;
	for (size_t i = 0; is_transfer && i < p->kernels_len; i++)
		n -= is_transfer[i];
	free(is_transfer);
	return n;
}

/* Prints how long it is; a file without times is as long as the sum of what it counts. */
static void length(const struct aif_profile *p, const struct aif_attribution *a,
		   struct aif_buf *out)
{
	uint64_t length = p->end_ns - p->start_ns;

	if (!p->traits.is_lengths || a->rows_len || !aif_cpu_counts(p)) {
		line_ns(out, "length", length);
		return;
	}
	aif_buf_printf(out, "  %-32s", "length");
	aif_cpu_weight_say(p, length, out);
	aif_buf_putc(out, '\n');
}

void aif_info_write(const struct aif_profile *p, const struct aif_attribution *a, const char *path,
		    struct aif_buf *out)
{
	bool is_imported = p->traits.is_imported;

	aif_buf_printf(out, "%s\n", path);
	meta(p, out);
	cycle(p, out);
	notes(p, out);
	aif_buf_puts(out, "\ncontents\n");
	length(p, a, out);
	line_count(out, "processes", p->processes_len);
	line_count(out, "threads", aif_cpu_count_threads(p));
	line_count(out, "devices", p->devices_len);
	line_count(out, "streams", p->streams_len);
	line_count(out, "kernels", kernels(p, a));
	line_recorded(out, is_imported, "modules", p->modules_len);
	line_count(out, "frames", p->frames_len);
	line_count(out, "stacks", p->stacks_len);
	line_recorded(out, is_imported, "functions with code", functions(p));
	line_recorded(out, is_imported, "clock pairs", p->clock_pairs_len);
	conservation(p, &a->conservation, is_imported, out);
	idle(p, out);
	backward(p, a, out);
	losses(p, out);
}
