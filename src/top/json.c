/* SPDX-License-Identifier: Apache-2.0 */
#include "top/text.h"

#include "text/json.h"

/* Changes when a member gets another meaning or goes; members may be added. */
#define VERSION 1

static void put_key(struct aif_buf *b, const char *key)
{
	if (b->data[b->len - 1] != '{')
		aif_buf_putc(b, ',');
	aif_buf_printf(b, "\"%s\":", key);
}

static void put_u64(struct aif_buf *b, const char *key, uint64_t v)
{
	put_key(b, key);
	aif_out_json_u64(b, v);
}

static void put_text(struct aif_buf *b, const char *key, const char *text)
{
	put_key(b, key);
	aif_out_json_text(b, text);
}

/* null where it is not known. */
static void put_real(struct aif_buf *b, const char *key, double v)
{
	put_key(b, key);
	aif_buf_printf(b, v < 0 ? "null" : "%.6g", v);
}

static void put_device(const struct aif_top_device *d, const struct aif_profile *p,
		       struct aif_buf *b)
{
	aif_buf_putc(b, '{');
	put_u64(b, "device", d->device);
	put_text(b, "name", aif_profile_str(p, p->devices[d->device].name));
	put_real(b, "busy_share", (double)d->busy_ppm / 1e6);
	put_u64(b, "busy_ns", d->busy_ns);
	put_u64(b, "kernel_ns", d->kernel_ns);
	put_u64(b, "copy_ns", d->copy_ns);
	put_u64(b, "idle_ns", d->idle_ns);
	put_u64(b, "not_collected_ns", d->uncollected_ns);
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
		put_u64(b, "time_ns", row->ns);
	if (v != AIF_TOP_STALL && v != AIF_TOP_IDLE)
		put_u64(b, "launches", row->launches);
	if (v != AIF_TOP_IDLE)
		put_u64(b, "samples", row->samples);
	if (row->process != AIF_NONE && row->process < p->processes_len)
		put_u64(b, "process", p->processes[row->process].pid);
	put_text(b, names[v], aif_top_str(m, row->name));
	put_text(b, details[v], aif_top_str(m, row->detail));
	aif_buf_putc(b, '}');
}

static void put_rows(const struct aif_top_model *m, const struct aif_profile *p,
		     enum aif_top_view v, size_t limit, struct aif_buf *b)
{
	const struct aif_top_rows *rows = &m->rows[v];
	size_t n = limit ? AIF_MIN(limit, rows->len) : rows->len;

	put_key(b, aif_top_view_rows(v));
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

	put_key(b, "quality");
	aif_buf_putc(b, '{');
	put_u64(b, "launches", m->captured + m->left_out);
	put_u64(b, "joined", c->joined);
	put_u64(b, "left_out", m->left_out);
	put_u64(b, "executions_unjoined", c->executions_unjoined);
	put_u64(b, "samples", c->samples);
	put_u64(b, "samples_attributed", c->sampled_attributed);
	put_u64(b, "lost", m->lost);
	put_u64(b, "chunks_missed", info->missed);
	aif_buf_putc(b, '}');
}

void aif_top_json(const struct aif_top_model *m, const struct aif_profile *p,
		  const struct aif_top_info *info, size_t limit, struct aif_buf *out)
{
	aif_buf_putc(out, '{');
	put_u64(out, "version", VERSION);
	put_text(out, "of", info->what);
	put_key(out, "window");
	aif_buf_putc(out, '{');
	put_u64(out, "from_ns", m->from_ns);
	put_u64(out, "to_ns", m->to_ns);
	aif_buf_putc(out, '}');
	put_key(out, "recording");
	aif_buf_putc(out, '{');
	put_u64(out, "process", info->recorder);
	put_key(out, "name");
	if (info->recording)
		aif_out_json_text(out, info->recording);
	else
		aif_buf_puts(out, "null");
	aif_buf_putc(out, '}');
	put_key(out, "devices");
	aif_buf_putc(out, '[');
	for (size_t i = 0; i < m->devices_len; i++) {
		if (i)
			aif_buf_putc(out, ',');
		put_device(&m->devices[i], p, out);
	}
	aif_buf_putc(out, ']');
	put_quality(m, info, out);
	put_key(out, "cost");
	aif_buf_putc(out, '{');
	put_real(out, "recorder_cpu", info->recorder_cpu);
	put_real(out, "top_cpu", info->own_cpu);
	aif_buf_putc(out, '}');
	for (unsigned v = 0; v < AIF_TOP_VIEWS; v++)
		if (m->rows[v].is_made)
			put_rows(m, p, (enum aif_top_view)v, limit, out);
	aif_buf_puts(out, "}\n");
}
