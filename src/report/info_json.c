/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a profile, for programs: times in ns. */
#include "report/info.h"

#include "analysis/cpu_totals.h"
#include "base/reasons.h"
#include "text/json.h"
#include "text/json_answer.h"

#include <inttypes.h>
#include <limits.h>

static void put_conservation(const struct aif_conservation *c, struct aif_buf *b)
{
	struct aif_buf broken = {0};
	bool adds_up = aif_conservation_check(c, &broken);

	aif_buf_puts(b, ",\"conservation\":{");
	aif_json_put_u64(b, "devices", c->devices);
	aif_json_put_u64(b, "elapsed_ns", c->elapsed_ns);
	aif_json_put_u64(b, "before_ns", c->before_ns);
	aif_json_put_u64(b, "busy_ns", c->busy_ns);
	aif_json_put_u64(b, "busy_error_ns", c->error_ns);
	aif_json_put_u64(b, "idle_ns", c->idle_ns);
	aif_json_put_u64(b, "after_ns", c->after_ns);
	aif_json_put_u64(b, "not_collected_ns", c->uncollected_ns);
	aif_json_put_u64(b, "durations_ns", c->durations_ns);
	aif_json_put_u64(b, "overlap_ns", c->overlap_ns);
	aif_json_put_u64(b, "launches", c->launches);
	aif_json_put_u64(b, "joined", c->joined);
	aif_json_put_u64(b, "in_progress_at_stop", c->unfinished);
	aif_json_put_u64(b, "unread_at_end", c->unread);
	aif_json_put_u64(b, "never_heard_of_again", c->unreported);
	aif_json_put_u64(b, "lost", c->lost);
	aif_json_put_u64(b, "left_out", c->uncaptured);
	aif_json_put_u64(b, "seen_from_outside", c->outside);
	aif_json_put_u64(b, "executions_without_launch", c->executions_unjoined);
	aif_json_put_u64(b, "samples", c->samples);
	aif_json_put_u64(b, "samples_attributed", c->sampled_attributed);
	aif_json_put_u64(b, "samples_unmatched", c->sampled_unmatched);
	aif_json_put_u64(b, "samples_dropped", c->samples_dropped);
	aif_json_put_u64(b, "samples_outside", c->samples_outside);
	aif_buf_printf(b, ",\"adds_up\":%s}", adds_up ? "true" : "false");
	aif_buf_finish(&broken);
}

/* Says a loss as the text does: "3 launches ... ". */
static void say_loss(const struct aif_profile *p, const struct aif_loss *l, struct aif_buf *b)
{
	const struct aif_reason_info *info = aif_reason_info((int)l->reason);

	if (info)
		aif_reason_say(info, l->count, b);
	else
		aif_buf_puts(b, "of a newer aiflame");
	if (l->detail != AIF_NONE)
		aif_buf_printf(b, " (%s)", aif_profile_str(p, l->detail));
}

static void put_losses(const struct aif_profile *p, struct aif_buf *b)
{
	struct aif_buf text = {0};

	aif_buf_puts(b, ",\"losses\":[");
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];
		const struct aif_reason_info *info = aif_reason_info((int)l->reason);

		aif_buf_puts(b, i ? ",{" : "{");
		aif_json_put_u64(b, "reason", l->reason);
		aif_buf_puts(b, ",\"name\":");
		aif_out_json_text(b, info ? info->name : "");
		aif_json_put_u64(b, "count", l->count);
		aif_buf_printf(b, ",\"is_loss\":%s", info && info->is_loss ? "true" : "false");
		if (l->process != AIF_NONE)
			aif_json_put_u64(b, "process", p->processes[l->process].pid);
		aif_buf_clear(&text);
		say_loss(p, l, &text);
		aif_buf_puts(b, ",\"text\":");
		aif_out_json_text(b, aif_buf_str(&text));
		aif_buf_puts(b, ",\"fix\":");
		aif_out_json_text(b, info ? info->fix : "");
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
	b->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

/* Says whether the profile can be relied on. */
static void put_head(const struct aif_profile *p, const struct aif_conservation *c,
		     const char *path, struct aif_buf *b)
{
	struct aif_json_answer head = {.verdict = {0}};
	struct aif_buf text = {0}, broken = {0};
	const unsigned cut = AIF_NOTE_CUT_SHORT | AIF_NOTE_NO_ROLLBACK | AIF_NOTE_DEEP_NAMES;

	if (!aif_conservation_check(c, &broken))
		aif_buf_printf(&text, "broken: %s", aif_buf_str(&broken));
	else if (!aif_lacks_say(&p->traits, UINT_MAX, &text))
		aif_buf_puts(&text, p->losses_len || p->notes & cut
					    ? "everything adds up; some was degraded, see losses"
					    : "everything adds up, nothing was lost");
	aif_json_answer_verdict(&head, aif_buf_str(&text));
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_reason_info *info = aif_reason_info((int)p->losses[i].reason);

		aif_buf_clear(&text);
		aif_buf_printf(&text, "%" PRIu64 ": ", p->losses[i].count);
		say_loss(p, &p->losses[i], &text);
		if (info && info->is_loss)
			aif_json_answer_abstain(&head, info->name, aif_buf_str(&text));
		else
			aif_json_answer_evidence(&head, aif_buf_str(&text), -1, NULL);
	}
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_json_answer_abstain(&head, "cut", "the recording was cut short");
	aif_buf_clear(&text);
	aif_buf_puts(&text, "aiflame why ");
	aif_buf_shell_path(&text, path);
	aif_json_answer_next(&head, aif_buf_str(&text));
	aif_json_answer_put(&head, "info", b);
	b->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
	aif_buf_finish(&broken);
}

void aif_info_json(const struct aif_profile *p, const struct aif_attribution *a, const char *path,
		   struct aif_buf *out)
{
	aif_buf_putc(out, '{');
	put_head(p, &a->conservation, path, out);
	aif_buf_puts(out, ",\"meta\":{");
	for (size_t i = 0; i < p->meta_len; i++) {
		if (i)
			aif_buf_putc(out, ',');
		aif_out_json_text(out, aif_profile_str(p, p->meta[i].key));
		aif_buf_putc(out, ':');
		aif_out_json_text(out, aif_profile_str(p, p->meta[i].value));
	}
	aif_buf_puts(out, "},\"contents\":{");
	aif_json_put_u64(out, "length_ns", p->end_ns - p->start_ns);
	aif_json_put_u64(out, "processes", p->processes_len);
	aif_json_put_u64(out, "threads", aif_cpu_count_threads(p));
	aif_json_put_u64(out, "devices", p->devices_len);
	aif_json_put_u64(out, "streams", p->streams_len);
	aif_json_put_u64(out, "kernels", p->kernels_len);
	aif_json_put_u64(out, "frames", p->frames_len);
	aif_json_put_u64(out, "stacks", p->stacks_len);
	aif_buf_putc(out, '}');
	put_conservation(&a->conservation, out);
	put_losses(p, out);
	aif_buf_puts(out, "}\n");
}
