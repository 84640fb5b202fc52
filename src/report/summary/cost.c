/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's line of what recording cost. */
#include "report/summary/parts.h"

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
		aif_human_share(out, (uint64_t)(1e6 * s.on_ns / s.all_ns));
		aif_buf_puts(out, " of the time");
	}
}

/* Appends what a vendor's library costs whether launches are captured or not. */
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

void aif_summary_cost(const struct aif_profile *p, const struct aif_attribution *a,
		      struct aif_buf *out)
{
	const struct aif_conservation *c = &a->conservation;
	uint64_t agent = meta_number(p, "cost.agent_ns"),
		 median = meta_number(p, "cost.capture_median_ns"),
		 recorder = meta_number(p, "cost.recorder_cpu_ns"),
		 asked = meta_number(p, "overhead.asked_ppm"),
		 measured = meta_number(p, "overhead.cost_ppm");

	aif_buf_puts(out, "cost     ");
	/* The recorder's cost is written at the end. */
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
		/* While capture is on, the program takes that much longer; launches that were left
		 * out tell for how much of it it was off. */
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
	aif_cupti_cpu_describe(p, ", and ", " in threads of CUPTI", out);
	aif_buf_putc(out, '\n');
}
