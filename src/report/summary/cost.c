/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's line of what recording cost. */
#include "report/summary/parts.h"

#include "base/u64_of.h"
#include "names/stack_owner.h"
#include "profile/file.h"
#include "text/table.h"

#include <inttypes.h>

static void put_share(struct aif_buf *b, uint64_t part, uint64_t whole)
{
	aif_human_share(b, aif_share_ppm(part, whole));
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

/* Appends what sampling cost the threads of CPU devices, and for which share of the time it was
 * on. */
static void sampling_cost(const struct aif_profile *p, struct aif_buf *out)
{
	uint64_t ns = meta_number(p, "cost.sampling_ns");
	struct sampled s = {0};

	/* With --all-launches it is not measured. */
	if (!ns)
		return;
	aif_buf_puts(out, "; sampling the device's threads about ");
	put_share(out, ns, p->end_ns - p->start_ns);
	if (aif_profile_windows(p, add_window, &s, NULL) == 0 && s.on_ns < 0.99 * s.all_ns) {
		aif_buf_puts(out, ", on for ");
		aif_human_share(out, aif_u64_of(1e6 * s.on_ns / s.all_ns));
		aif_buf_puts(out, " of the time");
	}
}

/* The program's slowdown while it worked, part by part, in ns of the time in which it did. */
struct slowdown {
	double worked, capture, callbacks, records, samples, cpu_samples;
	bool is_measured; /* capture: by comparing blocks */
};

static double in_all(const struct slowdown *s)
{
	return s->capture + s->callbacks + s->records + s->samples + s->cpu_samples;
}

/* Returns the share of what launching threads lose that the program loses: where they wait for their device anyway it is
 * little. As capture shows, of which both are known: what it takes, and by how much longer launches take while it is on. */
static double seen_of_threads(const struct aif_profile *p, const struct aif_conservation *c,
			      double worked)
{
	double slow = (double)(meta_number(p, "overhead.cost_ppm") +
			       2 * meta_number(p, "overhead.cost_error_ppm")) /
		      1e6,
	       takes = (double)meta_number(p, "cost.agent_ns") +
		       (double)meta_number(p, "cost.block_records_ns"),
	       captured = (double)(c->launches - c->uncaptured);

	if (!meta_number(p, "overhead.cost_error_ppm") || takes <= 0 || !c->launches)
		return 1;
	return AIF_MIN(1.0, slow * worked / (double)c->launches * captured / takes);
}

static struct slowdown slowdown(const struct aif_profile *p, const struct aif_conservation *c)
{
	uint64_t all = meta_number(p, "cost.callbacks_ns"),
		 records = meta_number(p, "cost.records_ns"),
		 samples = meta_number(p, "cost.samples_ns"),
		 worked = meta_number(p, "cost.worked_ns");
	double seen, measured, cpu = (double)meta_number(p, "cost.target_cpu_ns");
	struct slowdown s = {.worked = (double)(worked ? worked : p->end_ns - p->start_ns),
			     .capture = (double)meta_number(p, "cost.agent_ns") +
					(double)meta_number(p, "cost.block_records_ns"),
			     .is_measured = meta_number(p, "overhead.cost_ppm") && c->launches};

	seen = seen_of_threads(p, c, s.worked);
	s.records = seen * (double)AIF_MIN(records, all);
	s.samples = seen * (double)AIF_MIN(samples, all - AIF_MIN(records, all));
	s.callbacks = seen * (double)all - s.records - s.samples;
	/* Threads that compute beside each other pay for their samples beside each other, too. */
	s.cpu_samples = seen * (double)meta_number(p, "cost.cpu_samples_ns") *
			AIF_MIN(1.0, s.worked / AIF_MAX(cpu, 1.0));
	s.capture *= seen;
	if (s.is_measured) {
		/* Compares blocks: launches that were left out tell for how much of it it was off. */
		double slow = (double)meta_number(p, "overhead.cost_ppm") / 1e6,
		       share = (double)(c->launches - c->uncaptured) / (double)c->launches;

		measured = slow * share / (1 + slow * share) * s.worked;
		s.capture = AIF_MAX(s.capture, measured);
	}
	return s;
}

static void put_part(const char *what, double ns, double of, unsigned *n, struct aif_buf *out)
{
	double percent = 100 * ns / of;

	if (percent < 0.05)
		return;
	aif_buf_printf(out, "%s%s %.2g", (*n)++ ? ", " : ": ", what, percent);
}

/* Appends what to do about the greatest part. */
static void put_advice(const struct slowdown *s, struct aif_buf *out)
{
	if (s->records >= s->callbacks && s->records >= s->samples && s->records >= s->capture)
		aif_buf_puts(out, "; --cupti launches for less");
	else if (s->samples >= s->callbacks && s->samples >= s->capture)
		aif_buf_puts(out, "; --device-rate 0 for less");
	else if (s->callbacks >= s->capture)
		aif_buf_puts(out, "; for less record a part of it: --duration, aiflame ctl");
	else if (!s->is_measured)
		aif_buf_puts(out, " in longer runs");
}

static void put_slowdown(const struct aif_profile *p, const struct slowdown *s, struct aif_buf *out)
{
	uint64_t asked = meta_number(p, "overhead.asked_ppm");
	double without = AIF_MAX(s->worked - in_all(s), s->worked / 100),
	       percent = 100 * in_all(s) / without;
	unsigned parts = 0;

	aif_buf_printf(out, "about %.2g %% slower while it worked", percent);
	put_part("CUPTI in each launch", s->callbacks, without, &parts, out);
	put_part("its records", s->records, without, &parts, out);
	put_part("its samples", s->samples, without, &parts, out);
	put_part("capture", s->capture, without, &parts, out);
	put_part("CPU samples", s->cpu_samples, without, &parts, out);
	if (asked)
		aif_buf_printf(out, "; allowed %g %%", (double)asked / 1e4);
	if (asked && percent > (double)asked / 1e4)
		put_advice(s, out);
}

void aif_summary_cost(const struct aif_profile *p, const struct aif_attribution *a,
		      struct aif_buf *out)
{
	const struct aif_conservation *c = &a->conservation;
	uint64_t median = meta_number(p, "cost.capture_median_ns"),
		 recorder = meta_number(p, "cost.recorder_cpu_ns"),
		 measured = meta_number(p, "overhead.cost_ppm"),
		 bytes = meta_number(p, "cost.device_bytes");
	struct slowdown s = slowdown(p, c);

	aif_buf_puts(out, "cost     ");
	/* The recorder's cost is written at the end. */
	if (p->notes & AIF_NOTE_CUT_SHORT && !recorder) {
		aif_buf_puts(out, "not known: it is written down at a recording's end\n");
		return;
	}
	if (in_all(&s) > 0)
		put_slowdown(p, &s, out);
	else
		aif_buf_puts(out, "too few launches to measure capture");
	if (measured && c->launches) {
		aif_buf_printf(out, "; launches %.2g %% slower while captured, ",
			       100 * (double)measured / 1e6);
		aif_human_share(out, aif_share_ppm(c->launches - c->uncaptured, c->launches));
		aif_buf_puts(out, " of them");
	}
	if (median)
		aif_buf_printf(out, "; capture's median %" PRIu64 " ns", median);
	sampling_cost(p, out);
	if (bytes)
		aif_buf_printf(out, "; %.0f MiB of the GPU's memory", (double)bytes / (1 << 20));
	aif_buf_puts(out, "; ");
	aif_human_ns(out, recorder + meta_number(p, "cost.helper_cpu_ns"));
	aif_buf_puts(out, " of CPU beside it");
	aif_cupti_cpu_describe(p, ", and ", " in threads of CUPTI", out);
	aif_buf_putc(out, '\n');
}
