/* SPDX-License-Identifier: Apache-2.0 */
#include "export/info.h"

#include "export/table.h"

#include <inttypes.h>

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

static void conservation(const struct aif_conservation *c, struct aif_buf *out)
{
	struct aif_buf broken = {0};

	aif_buf_puts(out, "\nconservation\n");
	line_ns(out, "elapsed x devices", c->elapsed_ns * c->devices);
	line_ns(out, "  = busy", c->busy_ns);
	line_ns(out, "  + idle", c->idle_ns);
	line_ns(out, "  + not collected", c->uncollected_ns);
	line_ns(out, "sum of durations", c->durations_ns);
	line_ns(out, "  = busy", c->busy_ns);
	line_ns(out, "  + overlap", c->overlap_ns);
	line_count(out, "device samples", c->samples);
	line_count(out, "  = attributed", c->sampled_attributed);
	line_count(out, "  + unmatched", c->sampled_unmatched);
	line_count(out, "  + dropped", c->samples_dropped);
	line_count(out, "  + outside of executions", c->samples_outside);
	line_count(out, "  + in what was not captured", c->samples_off);
	line_count(out, "  + in flight at begin or stop", c->samples_in_flight);
	line_count(out, "launches", c->launches);
	line_count(out, "  = joined", c->joined);
	line_count(out, "  + in flight at the stop", c->unfinished);
	line_count(out, "  + never heard of again", c->untold);
	line_count(out, "  + lost", c->lost);
	line_count(out, "  + left out (--overhead)", c->uncaptured);
	line_count(out, "executions without launch", c->executions_unjoined);
	line_count(out, "started before their launch", c->started_before_launch);
	if (aif_conservation_check(c, &broken))
		aif_buf_puts(out, "  everything adds up\n");
	else
		aif_buf_printf(out, "  BROKEN: %s\n", aif_buf_str(&broken));
	aif_buf_finish(&broken);
}

static void losses(const struct aif_profile *p, struct aif_buf *out)
{
	aif_buf_puts(out, "\nlosses and degradations\n");
	if (!p->losses_len)
		aif_buf_puts(out, "  none\n");
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];
		const struct aif_reason_info *info = aif_reason_info((int)l->reason);

		aif_buf_printf(out, "  %" PRIu32 " %-20s ", l->reason, info ? info->name : "?");
		aif_human_count(out, l->count);
		aif_buf_printf(out, "  %s", info ? info->sentence : "of a newer aiflame");
		if (l->process != AIF_NONE)
			aif_buf_printf(out, ", process %" PRIu32, p->processes[l->process].pid);
		if (l->detail != AIF_NONE)
			aif_buf_printf(out, " (%s)", aif_profile_str(p, l->detail));
		if (info && *info->fix)
			aif_buf_printf(out, "; %s", info->fix);
		aif_buf_putc(out, '\n');
	}
}

static void notes(const struct aif_profile *p, struct aif_buf *out)
{
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_buf_puts(out, "\nthe recording was cut short: it ends at the last commit\n");
	if (p->notes & AIF_NOTE_NO_ROLLBACK)
		aif_buf_puts(
			out,
			"\nthe recorder was killed in a commit that could not be undone here\n");
	if (p->notes & AIF_NOTE_TRIMMED) {
		aif_buf_puts(out, "\nold rows were dropped (--keep, --max-size): only the last ");
		aif_human_ns(out, p->end_ns - p->kept_ns);
		aif_buf_puts(out, " are shown\n");
	}
}

void aif_info_write(const struct aif_profile *p, const struct aif_attribution *a, const char *path,
		    struct aif_buf *out)
{
	aif_buf_printf(out, "%s\n", path);
	for (size_t i = 0; i < p->meta_len; i++)
		aif_buf_printf(out, "  %-32s%s\n", aif_profile_str(p, p->meta[i].key),
			       aif_profile_str(p, p->meta[i].value));
	notes(p, out);
	aif_buf_puts(out, "\ncontents\n");
	line_ns(out, "length", p->end_ns - p->start_ns);
	line_count(out, "processes", p->processes_len);
	line_count(out, "threads", p->threads_len);
	line_count(out, "devices", p->devices_len);
	line_count(out, "streams", p->streams_len);
	line_count(out, "kernels", p->kernels_len);
	line_count(out, "modules", p->modules_len);
	line_count(out, "frames", p->frames_len);
	line_count(out, "stacks", p->stacks_len);
	line_count(out, "functions with code", p->codes_len);
	line_count(out, "clock pairs", p->clock_pairs_len);
	conservation(&a->conservation, out);
	losses(p, out);
}
