/* SPDX-License-Identifier: Apache-2.0 */
#include "report/summary/parts.h"
#include "report/summary/summary.h"

#include "analysis/cpu_totals.h"
#include "analysis/power/power.h"
#include "analysis/traits.h"
#include "analysis/unsampled.h"
#include "analysis/untimed.h"
#include "profile/chunk.h"
#include "profile/file.h"
#include "report/report.h"
#include "report/why/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TOP_KERNELS 5
#define TOP_DEVICES 2
/* The summary is there within half a second: of more, only `aiflame why` says what bounds them. */
#define MOST_LAUNCHES 500000

/* Begins the command of imported profiles, before the files' names. */
#define IMPORTED      "imported from "
#define COMMAND_BYTES 200u

/* The beginning of a long command, of whole characters. */
static void put_command(const char *command, struct aif_buf *out)
{
	size_t len = strnlen(command, COMMAND_BYTES + 1);
	bool is_cut = len > COMMAND_BYTES;

	len = AIF_MIN(len, COMMAND_BYTES);
	while (is_cut && len && (command[len] & 0xc0) == 0x80)
		len--;
	aif_name_sanitize(command, len, out);
	if (is_cut)
		aif_buf_puts(out, "\u2026");
}

static void put_run(const struct aif_profile *p, struct aif_buf *out)
{
	const char *status = aif_profile_meta(p, "exit_status"),
		   *command = aif_profile_meta(p, "command");

	if (p->traits.is_imported) {
		if (!strncmp(command, IMPORTED, strlen(IMPORTED)))
			command += strlen(IMPORTED);
		aif_buf_puts(out, "imported ");
	} else {
		aif_buf_puts(out, *aif_profile_meta(p, "attached") ? "recorded " : "ran      ");
	}
	put_command(command, out);
	if (*aif_profile_meta(p, "host"))
		aif_buf_puts(out, " on ");
	aif_buf_puts(out, aif_profile_meta(p, "host"));
	/* Lengths are put one after another and span nothing. */
	if (!p->traits.is_lengths) {
		aif_buf_puts(out, p->traits.is_imported ? ", which spans " : " for ");
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
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_buf_puts(out, ", cut short: what came later is missing");
	aif_buf_putc(out, '\n');
}

/* Appends a line for each device. `c`: of when it was active; NULL: not known. */
static void put_device_names(const struct aif_profile *p, const struct aif_conservation *c,
			     struct aif_buf *out)
{
	for (size_t i = 0; i < p->devices_len && i < TOP_DEVICES; i++) {
		const struct aif_device *d = &p->devices[i];

		aif_buf_printf(out, "device   %s (%s", aif_profile_str(p, d->name),
			       aif_profile_str(p, d->runtime));
		if (d->units) {
			aif_buf_puts(out, ", ");
			aif_human_counted(out, d->units, "unit");
		}
		aif_buf_putc(out, ')');
		if (c && p->devices_len == 1 && !p->traits.is_lengths) {
			aif_buf_puts(out, ", active from ");
			aif_human_ns(out, c->first_start_ns);
			aif_buf_puts(out, " to ");
			aif_human_ns(out, c->last_end_ns);
		}
		if (i + 1 == TOP_DEVICES && p->devices_len > TOP_DEVICES)
			aif_buf_printf(out, ", and %zu more", p->devices_len - TOP_DEVICES);
		aif_buf_putc(out, '\n');
	}
}

static void put_devices(const struct aif_profile *p, const struct aif_attribution *a,
			struct aif_buf *out)
{
	const struct aif_conservation *c = &a->conservation;
	bool is_untimed = aif_is_untimed(p, a);

	put_device_names(p, is_untimed ? NULL : c, out);
	aif_buf_puts(out, "busy     ");
	if (is_untimed) {
		aif_buf_puts(out,
			     "not known: it has samples and no times; shares are of samples\n");
		return;
	}
	if (p->traits.is_lengths) {
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

/* Appends what bounds the program, where that is found at once: false if it says nothing. */
static bool put_bound(const struct aif_names *names, const struct aif_attribution *a,
		      const char *path, struct aif_buf *out)
{
	struct aif_err err = {0};
	struct aif_why why;
	struct aif_buf said = {0};
	bool is_said;
	int r;

	if (a->conservation.launches > MOST_LAUNCHES)
		return false;
	r = aif_why_measure(names, NULL, &why, &err);
	if (!r)
		aif_why_say_briefly(names, &why, &said);
	aif_why_finish(&why);
	if (aif_buf_failed(&said))
		r = -ENOMEM;
	is_said = said.len || (r && r != -ENODATA);
	if (r && r != -ENODATA) {
		aif_buf_printf(out, "bound    missing: %s\n", strerror(-r));
	} else if (is_said) {
		aif_buf_printf(out, "bound    by %s: ", aif_buf_str(&said));
		aif_summary_command(out, "aiflame why", path);
		aif_buf_putc(out, '\n');
	}
	aif_buf_finish(&said);
	return is_said;
}

/* Appends which processes had how much of the time, where there are several; false for one. */
static bool put_processes(const struct aif_profile *p, const struct aif_attribution *a,
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

/* Appends what the devices took, and whether their clocks were held down. */
static bool put_power(const struct aif_profile *p, struct aif_buf *out)
{
	const struct aif_power_device *slowed;
	struct aif_power w;
	uint64_t ns;
	double j;
	bool any = aif_power_measure(p, NULL, 0, (int64_t)(p->end_ns - p->start_ns), &w) == 0 &&
		   aif_power_energy(&w, &j, &ns);

	if (any) {
		aif_buf_puts(out, "power    ");
		aif_human_energy(out, j);
		aif_buf_puts(out, " in ");
		aif_human_ns(out, ns / w.len);
		aif_buf_printf(out, ", %.0f W in the mean%s", j / ((double)ns / 1e9),
			       w.len > 1 ? " of each device" : "");
		slowed = aif_power_slowed(&w);
		if (slowed) {
			aif_buf_puts(out, "; ");
			aif_power_say_slowed(slowed, out);
		}
		aif_buf_putc(out, '\n');
	}
	aif_power_finish(&w);
	return any;
}

static void put_grades(const struct aif_attribution *a, struct aif_buf *out)
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

/* Appends a line of the kernels that got no sample. */
static void put_unsampled(const struct aif_profile *p, const struct aif_attribution *a,
			  struct aif_buf *out)
{
	struct aif_buf said = {0};

	aif_unsampled_say(p, a, &said);
	if (said.len)
		aif_buf_printf(out, "         %s\n", aif_buf_str(&said));
	out->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

static void put_quality(const struct aif_profile *p, const struct aif_attribution *a,
			struct aif_buf *out)
{
	aif_buf_puts(out, "quality  ");
	aif_summary_quality(p, a, out);
	if (!p->traits.is_lengths)
		put_grades(a, out);
	aif_buf_putc(out, '\n');
	put_unsampled(p, a, out);
}

/* Appends that threads had to wait for CPUs. */
static void put_run_delay(const struct aif_profile *p, const struct aif_selection *part,
			  struct aif_buf *out)
{
	int64_t from = part ? (int64_t)part->from_ns : 0,
		to = part && part->to_ns ? (int64_t)part->to_ns
					 : (int64_t)(p->end_ns - p->start_ns);
	struct aif_run_delay d;

	if (aif_run_delay_measure(p, part, from, to, &d) < 0 ||
	    !aif_run_delay_is_busy(&d, (uint64_t)(to - from)))
		return;
	aif_buf_puts(out, "         the machine was busy: ");
	aif_run_delay_say(&d, out);
	aif_buf_putc(out, '\n');
}

/* Time that a hypervisor took may be no measurement's: threads seem to have been on their CPUs. */
#define STOLEN_PPM 10000

/* Appends that a hypervisor gave the CPUs to other machines. */
static void put_stolen(const struct aif_profile *p, struct aif_buf *out)
{
	const char *ppm = aif_profile_meta(p, "cpus.stolen_ppm");
	unsigned long stolen = ppm ? strtoul(ppm, NULL, 10) : 0;

	if (stolen < STOLEN_PPM || stolen > 1000000)
		return;
	aif_buf_puts(out, "         the machine is a virtual one: its hypervisor gave ");
	aif_human_share(out, (uint32_t)stolen);
	aif_buf_puts(out, " of the CPUs' time to others\n");
}

/* Appends where the host's time went, if it was sampled; sets what *has of it. */
static void put_cpu(const struct aif_profile *p, const struct aif_selection *part, const char *path,
		    struct aif_summary_content *has, struct aif_buf *out)
{
	struct aif_cpu_totals t = {0};
	bool is_sampled = aif_cpu_totals(p, part, &t, NULL) == 0 && t.stacks_len;

	has->off_cpu = is_sampled && t.off_cpu_ns;
	has->cpu = is_sampled && (t.samples || t.waiting_ns);
	if (is_sampled) {
		aif_buf_puts(out, "cpu      ");
		aif_cpu_totals_say(p, &t, out);
		aif_buf_puts(out, has->cpu || has->off_cpu ? ": " : "");
		if (has->cpu)
			aif_summary_command(out, AIF_SUMMARY_OF_CPU, path);
		aif_buf_puts(out, has->cpu && has->off_cpu ? ", " : "");
		if (has->off_cpu)
			aif_summary_command(out, AIF_SUMMARY_OF_OFF_CPU, path);
		aif_buf_putc(out, '\n');
	}
	put_run_delay(p, part, out);
	put_stolen(p, out);
	if (t.damaged)
		aif_buf_puts(out,
			     "         CPU samples are missing: part of the file is damaged\n");
	aif_cpu_totals_finish(&t);
}

/* Appends how many launches have no times and why, and the command that shows them. */
static void put_untimed(const struct aif_profile *p, const struct aif_attribution *a, uint64_t n,
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

/* Appends that nothing of the part ran on a device, or that it was left out. */
static void put_no_activity(const struct aif_attribution *a, struct aif_buf *out)
{
	if (a->conservation.left_out) {
		aif_buf_puts(out, "device   not known: ");
		aif_human_counted(out, a->conservation.left_out, "launch");
		aif_buf_puts(out, a->conservation.left_out == 1 ? " was" : " were");
		aif_buf_puts(out,
			     " left out in this span (--overhead), and none was captured; record "
			     "with --all-launches\n");
	} else {
		aif_buf_puts(out, "device   no activity matching " AIF_REPORT_CHOOSES "; widen the "
				  "selection\n");
	}
}

static void put_part(const struct aif_profile *p, const struct aif_selection *part,
		     struct aif_buf *out)
{
	uint64_t length = p->end_ns - p->start_ns;

	aif_buf_puts(out, "shown    what ran from ");
	aif_human_ns(out, AIF_MIN(part->from_ns, length));
	aif_buf_puts(out, " to ");
	aif_human_ns(out, part->to_ns ? AIF_MIN(part->to_ns, length) : length);
	if (part->processes || part->threads || part->devices || part->in_ranges)
		aif_buf_puts(out, ", of what --range, --process, --tid and --device leave");
	aif_buf_putc(out, '\n');
}

void aif_summary_part(const struct aif_names *names, const struct aif_attribution *a,
		      const struct aif_selection *part, const char *path, struct aif_buf *out)
{
	const struct aif_profile *p = names->p;
	struct aif_summary_content has = {.kernels = a->rows_len,
					  .device = a->rows_len || a->unmatched_len};

	put_run(p, out);
	put_part(p, part, out);
	if (a->rows_len) {
		put_devices(p, a, out);
		(void)put_processes(p, a, out);
		aif_summary_kernels(names, a, part, TOP_KERNELS, out);
		put_quality(p, a, out);
		if (a->for_others_ns) {
			aif_buf_puts(out, "ranges   ");
			aif_selection_say_for_others(a->for_others_ns, out);
			aif_buf_putc(out, '\n');
		}
	} else {
		put_no_activity(a, out);
	}
	if (!part->devices)
		put_cpu(p, part, path, &has, out);
	aif_buf_printf(out, "file     %s\n", path);
}

static void put_file(const char *path, struct aif_buf *out)
{
	struct stat st;

	aif_buf_printf(out, "file     %s, ", path);
	if (stat(path, &st) == 0)
		aif_human_bytes(out, (uint64_t)st.st_size);
	else
		aif_buf_puts(out, "size unknown");
	aif_buf_puts(out, "; next: ");
}

/* Appends what is known of a profile without attributing anything, and why that is all. */
static void put_without_attribution(const struct aif_names *names, uint64_t need, const char *path,
				    struct aif_buf *out)
{
	static const struct aif_attribution none;
	const struct aif_profile *p = names->p;
	struct aif_summary_content has = {.kernels = true, .device = true};

	(void)aif_summary_end(p, out);
	put_run(p, out);
	put_device_names(p, NULL, out);
	aif_buf_puts(out, "launches ");
	aif_human_count(out, aif_profile_rows(p, AIF_CHUNK_LAUNCHES));
	aif_buf_puts(out, ", with ");
	aif_human_counted(out, aif_profile_rows(p, AIF_CHUNK_EXECS), "execution");
	aif_buf_puts(out,
		     "; busy time, kernels and quality are left out, as adding them up takes ");
	aif_human_bytes(out, need);
	aif_buf_puts(out, " of memory: ");
	aif_summary_command(out, "aiflame report", path);
	aif_buf_putc(out, '\n');
	(void)put_power(p, out);
	put_cpu(p, NULL, path, &has, out);
	aif_summary_others(p, out);
	aif_summary_cost(p, &none, out);
	aif_summary_trouble(p, false, path, out);
	put_file(path, out);
	aif_summary_next(names, &none, &has, path, out);
}

int aif_summary_within(const struct aif_names *names, uint64_t most, const char *path,
		       struct aif_buf *out, struct aif_err *err)
{
	uint64_t need = aif_attribution_memory(names->p);
	struct aif_attribution a = {0};
	int r;

	if (need > most) {
		put_without_attribution(names, need, path, out);
		return 0;
	}
	r = aif_attribution_compute(names->p, NULL, &a, err);
	if (!r)
		aif_summary_write(names, &a, path, out);
	aif_attribution_finish(&a);
	return r;
}

void aif_summary_write(const struct aif_names *names, const struct aif_attribution *a,
		       const char *path, struct aif_buf *out)
{
	const struct aif_profile *p = names->p;
	bool is_empty = !a->conservation.joined && !a->rows_len;
	const struct aif_conservation *c = &a->conservation;
	/* Counting reads all launches: only where some have no execution. */
	uint64_t untimed_len = c->launches > c->joined + c->uncaptured ? aif_untimed_count(p) : 0;
	struct aif_summary_content has = {.kernels = !is_empty,
					  .device = !is_empty || a->unmatched_len,
					  .untimed = untimed_len};
	struct aif_buf broken = {0};
	size_t lines = aif_summary_end(p, out);

	put_run(p, out);
	if (untimed_len)
		put_untimed(p, a, untimed_len, path, out);
	if (is_empty && !untimed_len && aif_summary_functions(names, TOP_KERNELS, out)) {
		has.functions = true;
	} else if (is_empty && !untimed_len) {
		aif_summary_empty(p, out);
	} else if (!is_empty) {
		put_devices(p, a, out);
		/* The summary has room for so many lines. */
		lines += put_bound(names, a, path, out);
		lines += put_processes(p, a, out);
		lines += put_power(p, out);
		lines += aif_summary_cupti(p, out);
		aif_summary_kernels(names, a, NULL,
				    lines + 2 < TOP_KERNELS ? TOP_KERNELS - lines : 2, out);
		put_quality(p, a, out);
	}
	put_cpu(p, NULL, path, &has, out);
	if (has.functions)
		aif_summary_cpu_cost(p, out);
	if (!has.functions)
		aif_summary_others(p, out);
	if (!is_empty && !p->traits.is_imported)
		aif_summary_cost(p, a, out);
	if (!aif_conservation_check(&a->conservation, &broken))
		aif_buf_printf(out, "BROKEN   this profile does not add up: %s\n",
			       aif_buf_str(&broken));
	aif_buf_finish(&broken);
	aif_summary_trouble(p, untimed_len, path, out);
	put_file(path, out);
	aif_summary_next(names, a, &has, path, out);
}
