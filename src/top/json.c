/* SPDX-License-Identifier: Apache-2.0 */
#include "top/text.h"

#include "base/human.h"
#include "text/json.h"
#include "text/json_answer.h"

#include <inttypes.h>
#include <stdio.h>

/* Rows of a view that are evidence; all of them are in the view's own member. */
#define MOST_ROWS 3

/* null where it is not known. */
static void put_real(struct aif_buf *b, const char *key, double v)
{
	aif_out_json_key(b, key);
	aif_buf_printf(b, v < 0 ? "null" : "%.6g", v);
}

static void put_device(const struct aif_top_device *d, const struct aif_profile *p,
		       struct aif_buf *b)
{
	aif_buf_putc(b, '{');
	aif_json_put_u64(b, "device", d->device);
	aif_json_put_text(b, "name", aif_profile_str(p, p->devices[d->device].name));
	put_real(b, "busy_share", (double)d->busy_ppm / 1e6);
	aif_json_put_u64(b, "busy_ns", d->busy_ns);
	aif_json_put_u64(b, "kernel_ns", d->kernel_ns);
	aif_json_put_u64(b, "copy_ns", d->copy_ns);
	aif_json_put_u64(b, "idle_ns", d->idle_ns);
	aif_json_put_u64(b, "not_collected_ns", d->uncollected_ns);
	put_real(b, "clock_mhz", d->clock_mhz);
	put_real(b, "power_w", d->power_w);
	put_real(b, "temperature_c", d->temperature_c);
	put_real(b, "memory_mib", d->memory_mib);
	aif_buf_putc(b, '}');
}

static void put_row(const struct aif_top_model *m, const struct aif_profile *p,
		    const struct aif_top_row *row, enum aif_top_view v, struct aif_buf *b)
{
	static const char *const names[] = {"kernel", "stack", "command", "reason", "cause"};
	static const char *const details[] = {"caller", "kernel", "kernel", "kernel", "caller"};

	aif_buf_putc(b, '{');
	put_real(b, "share", (double)row->share_ppm / 1e6);
	if (v != AIF_TOP_STALL)
		aif_json_put_u64(b, "time_ns", row->ns);
	if (v != AIF_TOP_STALL && v != AIF_TOP_IDLE)
		aif_json_put_u64(b, "launches", row->launches);
	if (v != AIF_TOP_IDLE)
		aif_json_put_u64(b, "samples", row->samples);
	if (row->process != AIF_NONE && row->process < p->processes_len)
		aif_json_put_u64(b, "process", p->processes[row->process].pid);
	aif_json_put_text(b, names[v], aif_top_str(m, row->name));
	aif_json_put_text(b, details[v], aif_top_str(m, row->detail));
	aif_buf_putc(b, '}');
}

static void put_rows(const struct aif_top_model *m, const struct aif_profile *p,
		     enum aif_top_view v, size_t limit, struct aif_buf *b)
{
	const struct aif_top_rows *rows = &m->rows[v];
	size_t n = limit ? AIF_MIN(limit, rows->len) : rows->len;

	aif_out_json_key(b, aif_top_view_rows(v));
	aif_buf_putc(b, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			aif_buf_putc(b, ',');
		put_row(m, p, &rows->at[i], v, b);
	}
	aif_buf_putc(b, ']');
}

static void put_quality(const struct aif_top_model *m, const struct aif_top_info *info,
			struct aif_buf *b)
{
	const struct aif_conservation *c = &m->conservation;

	aif_out_json_key(b, "quality");
	aif_buf_putc(b, '{');
	aif_json_put_u64(b, "launches", m->captured + m->left_out);
	aif_json_put_u64(b, "joined", c->joined);
	aif_json_put_u64(b, "left_out", m->left_out);
	aif_json_put_u64(b, "executions_unjoined", c->executions_unjoined);
	aif_json_put_u64(b, "samples", c->samples);
	aif_json_put_u64(b, "samples_attributed", c->sampled_attributed);
	aif_json_put_u64(b, "lost", m->lost);
	aif_json_put_u64(b, "chunks_missed", info->missed);
	aif_buf_putc(b, '}');
}

static void put_evidence(const struct aif_top_model *m, enum aif_top_view v, const char *before,
			 struct aif_json_answer *head)
{
	struct aif_buf text = {0};

	for (size_t i = 0; m->rows[v].is_made && i < m->rows[v].len && i < MOST_ROWS; i++) {
		const struct aif_top_row *row = &m->rows[v].at[i];

		aif_buf_clear(&text);
		aif_buf_printf(&text, "%s: %s [%s]", before, aif_top_str(m, row->name),
			       aif_top_str(m, row->detail));
		aif_json_answer_evidence(head, aif_buf_str(&text), (int64_t)row->share_ppm, NULL);
	}
	aif_buf_finish(&text);
}

/* Says how busy the devices were, and what they waited for. */
static void put_verdict(const struct aif_top_model *m, struct aif_json_answer *head)
{
	const struct aif_top_rows *idle = &m->rows[AIF_TOP_IDLE];
	struct aif_buf text = {0};

	for (size_t i = 0; i < m->devices_len; i++) {
		aif_buf_printf(&text, "%sdevice %" PRIu32 " busy ", i ? ", " : "",
			       m->devices[i].device);
		aif_human_share(&text, m->devices[i].busy_ppm);
	}
	if (text.len && idle->is_made && idle->len)
		aif_buf_printf(&text, "; idle most for %s [%s]", aif_top_str(m, idle->at[0].name),
			       aif_top_str(m, idle->at[0].detail));
	aif_json_answer_verdict(head, text.len ? aif_buf_str(&text) : "nothing ran on a device");
	aif_buf_finish(&text);
}

static void put_head(const struct aif_top_model *m, const struct aif_profile *p,
		     const struct aif_top_info *info, struct aif_buf *out)
{
	const struct aif_top_rows *processes = &m->rows[AIF_TOP_PROCESS];
	struct aif_json_answer head = {.verdict = {0}};
	char command[64];

	put_verdict(m, &head);
	put_evidence(m, AIF_TOP_KERNEL, "device time", &head);
	put_evidence(m, AIF_TOP_IDLE, "idle time", &head);
	if (info->missed)
		aif_json_answer_abstain(&head, "chunks",
					"part of the window did not arrive, or found no memory");
	if (processes->is_made && processes->len && processes->at[0].process < p->processes_len) {
		snprintf(command, sizeof(command), "aiflame record -p %" PRIu32 " -o run.data",
			 p->processes[processes->at[0].process].pid);
		aif_json_answer_next(&head, command);
	}
	aif_json_answer_put(&head, "top", out);
}

void aif_top_json(const struct aif_top_model *m, const struct aif_profile *p,
		  const struct aif_top_info *info, size_t limit, struct aif_buf *out)
{
	aif_buf_putc(out, '{');
	put_head(m, p, info, out);
	aif_json_put_text(out, "of", info->what);
	aif_out_json_key(out, "window");
	aif_buf_putc(out, '{');
	aif_json_put_u64(out, "from_ns", m->from_ns);
	aif_json_put_u64(out, "to_ns", m->to_ns);
	aif_buf_putc(out, '}');
	aif_out_json_key(out, "recording");
	aif_buf_putc(out, '{');
	aif_json_put_u64(out, "process", info->recorder);
	aif_out_json_key(out, "name");
	if (info->recording)
		aif_out_json_text(out, info->recording);
	else
		aif_buf_puts(out, "null");
	aif_buf_putc(out, '}');
	aif_out_json_key(out, "devices");
	aif_buf_putc(out, '[');
	for (size_t i = 0; i < m->devices_len; i++) {
		if (i)
			aif_buf_putc(out, ',');
		put_device(&m->devices[i], p, out);
	}
	aif_buf_putc(out, ']');
	put_quality(m, info, out);
	aif_out_json_key(out, "cost");
	aif_buf_putc(out, '{');
	put_real(out, "recorder_cpu", info->recorder_cpu);
	put_real(out, "top_cpu", info->own_cpu);
	aif_buf_putc(out, '}');
	for (unsigned v = 0; v < AIF_TOP_VIEWS; v++)
		if (m->rows[v].is_made)
			put_rows(m, p, (enum aif_top_view)v, limit, out);
	aif_buf_puts(out, "}\n");
}
