/* SPDX-License-Identifier: Apache-2.0 */
#include "top/text.h"

#include "base/human.h"
#include "base/name_sanitize.h"

#include <string.h>

const char *aif_top_name_head(enum aif_top_view v)
{
	static const char *const heads[] = {"kernel", "stack", "process", "stall", "cause"};

	return heads[v];
}

const char *aif_top_detail_head(enum aif_top_view v)
{
	static const char *const heads[] = {"launched by", "kernel", "most in", "kernel",
					    "who held it up"};

	return heads[v];
}

const char *aif_top_none(const struct aif_top_model *m, enum aif_top_view v)
{
	if (v == AIF_TOP_IDLE)
		return "no idle time between executions";
	if (v != AIF_TOP_STALL)
		return "nothing ran on a device";
	/* Sampling is on for some seconds of each minute where it would cost too much all the time. */
	return m->left_out
		       ? "no samples with a reason for waiting: the program launches too often for "
			 "them; give a larger --overhead, or wait for another window"
		       : "no samples with a reason for waiting";
}

void aif_top_quality(const struct aif_top_model *m, const struct aif_top_info *info,
		     struct aif_buf *out)
{
	uint64_t all = m->captured + m->left_out;

	aif_human_counted(out, all, "launch");
	aif_buf_puts(out, ", joined ");
	if (m->captured)
		aif_human_share(out, (uint64_t)((double)m->conservation.joined /
						(double)m->captured * 1e6));
	else
		aif_buf_puts(out, "-");
	if (m->left_out) {
		aif_buf_puts(out, ", left out ");
		aif_human_share(out, (uint64_t)((double)m->left_out / (double)all * 1e6));
	}
	aif_buf_puts(out, ", lost ");
	aif_human_count(out, m->lost + info->missed);
}

static void put_cpu(const char *who, double cpu, struct aif_buf *out)
{
	aif_buf_printf(out, cpu < 0 ? "%s -" : "%s %.1f %%", who, cpu * 100);
}

void aif_top_cost(const struct aif_top_info *info, struct aif_buf *out)
{
	put_cpu("recorder", info->recorder_cpu, out);
	put_cpu(", top", info->own_cpu, out);
	aif_buf_puts(out, " of a CPU");
}

void aif_top_counters(const struct aif_top_device *d, struct aif_buf *out)
{
	const char *comma = "";

	if (d->clock_mhz >= 0)
		aif_buf_printf(out, "%.0f MHz", d->clock_mhz);
	comma = d->clock_mhz >= 0 ? ", " : "";
	if (d->power_w >= 0)
		aif_buf_printf(out, "%s%.0f W", comma, d->power_w);
	comma = d->power_w >= 0 ? ", " : comma;
	if (d->temperature_c >= 0)
		aif_buf_printf(out, "%s%.0f C", comma, d->temperature_c);
	comma = d->temperature_c >= 0 ? ", " : comma;
	if (d->memory_mib >= 0)
		aif_buf_printf(out, "%s%.1f GiB", comma, d->memory_mib / 1024);
}

static void put_name(const char *text, struct aif_buf *out)
{
	aif_name_sanitize(text, strlen(text), out);
}

static void put_device(const struct aif_top_model *m, const struct aif_profile *p,
		       const struct aif_top_device *d, struct aif_buf *out)
{
	aif_buf_printf(out, "device %u: ", d->device);
	put_name(aif_profile_str(p, p->devices[d->device].name), out);
	aif_buf_puts(out, ": busy ");
	aif_human_share(out, d->busy_ppm);
	aif_buf_puts(out, " (kernels ");
	aif_human_ns(out, d->kernel_ns);
	aif_buf_puts(out, ", copies alone ");
	aif_human_ns(out, d->copy_ns);
	aif_buf_puts(out, "), idle ");
	aif_human_ns(out, d->idle_ns);
	if (d->uncollected_ns > (m->to_ns - m->from_ns) / 100) {
		aif_buf_puts(out, ", not collected ");
		aif_human_ns(out, d->uncollected_ns);
	}
	if (d->clock_mhz >= 0 || d->power_w >= 0 || d->temperature_c >= 0 || d->memory_mib >= 0) {
		aif_buf_puts(out, "; ");
		aif_top_counters(d, out);
	}
	aif_buf_putc(out, '\n');
}

static void put_padded(struct aif_buf *cell, int width, struct aif_buf *out)
{
	aif_buf_printf(out, "%*s", width, aif_buf_str(cell));
	aif_buf_clear(cell);
}

static void put_row(const struct aif_top_model *m, const struct aif_top_row *row,
		    enum aif_top_view v, struct aif_buf *cell, struct aif_buf *out)
{
	aif_human_share(cell, row->share_ppm);
	put_padded(cell, 8, out);
	if (v == AIF_TOP_STALL)
		aif_human_count(cell, row->samples);
	else
		aif_human_ns(cell, row->ns);
	put_padded(cell, 12, out);
	if (v != AIF_TOP_STALL && v != AIF_TOP_IDLE) {
		aif_human_count(cell, row->launches);
		put_padded(cell, 11, out);
		aif_human_ns(cell, row->launches ? row->ns / row->launches : 0);
		put_padded(cell, 11, out);
	}
	aif_buf_puts(out, "  ");
	put_name(aif_top_str(m, row->name), out);
	if (row->detail != AIF_STR_NONE && *aif_top_str(m, row->detail)) {
		aif_buf_puts(out, "  [");
		put_name(aif_top_str(m, row->detail), out);
		aif_buf_puts(out, "]");
	}
	aif_buf_putc(out, '\n');
}

static void put_rows(const struct aif_top_model *m, enum aif_top_view v, size_t limit,
		     struct aif_buf *out)
{
	const struct aif_top_rows *rows = &m->rows[v];
	size_t n = limit ? AIF_MIN(limit, rows->len) : rows->len;
	struct aif_buf cell = {0};

	aif_buf_printf(out, "\n%8s%12s", "share", v == AIF_TOP_STALL ? "samples" : "time");
	if (v != AIF_TOP_STALL && v != AIF_TOP_IDLE)
		aif_buf_printf(out, "%11s%11s", "launches", "average");
	aif_buf_printf(out, "  %s  [%s]\n", aif_top_name_head(v), aif_top_detail_head(v));
	for (size_t i = 0; i < n; i++)
		put_row(m, &rows->at[i], v, &cell, out);
	if (!rows->len)
		aif_buf_printf(out, "%8s%12s  %s\n", "-", "-", aif_top_none(m, v));
	if (n < rows->len)
		aif_buf_printf(out, "%8s%12s  (%zu more)\n", "", "", rows->len - n);
	aif_buf_finish(&cell);
}

void aif_top_text(const struct aif_top_model *m, const struct aif_profile *p,
		  const struct aif_top_info *info, size_t limit, struct aif_buf *out)
{
	aif_buf_printf(out, "window: %.1f s of ", (double)(m->to_ns - m->from_ns) / 1e9);
	put_name(info->what, out);
	aif_buf_putc(out, '\n');
	for (size_t i = 0; i < m->devices_len; i++)
		put_device(m, p, &m->devices[i], out);
	if (!m->devices_len)
		aif_buf_puts(out, "device: none was used\n");
	aif_buf_puts(out, "quality: ");
	aif_top_quality(m, info, out);
	aif_buf_puts(out, "\ncost: ");
	aif_top_cost(info, out);
	aif_buf_putc(out, '\n');
	if (!m->devices_len) {
		aif_buf_puts(out, "\nNothing ran on a device in this window.\n");
		return;
	}
	for (unsigned v = 0; v < AIF_TOP_VIEWS; v++)
		if (m->rows[v].is_made)
			put_rows(m, (enum aif_top_view)v, limit, out);
}
