/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators' table as torch.profiler prints it, to the blank: key_averages().table() of
 * torch/autograd/profiler_util.py, whose columns are 12 wide, with two blanks behind each. IBM's AIU guide prints the
 * same with "CUDA" replaced in the titles, which puts them left of their columns, and without the blanks at the ends.
 */
#include "report/ops.h"

#include "text/elide.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 12, GAP = 2, NAME_SLACK = 4, NAME_MAX_WIDTH = 55, SHAPES_MAX_WIDTH = 80 };

/* Returns how far left of its column's right edge the guide has a title. */
static size_t guide_shift(const char *column)
{
	static const struct {
		const char *column;
		uint8_t shift;
	} shifts[] = {
		{"name", 1},
		{"self_cpu_share", 1},
		{"self_cpu", 1},
		{"cpu_total_share", 1},
		{"cpu_total", 1},
		{"self_device", 1},
		{"self_device_share", 2},
		{"device_total", 3},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(shifts); i++)
		if (!strcmp(shifts[i].column, column))
			return shifts[i].shift;
	return 0;
}

static bool is_shown(const struct aif_table *t, size_t column)
{
	return !(t->hidden >> column & 1);
}

static bool is_guide(const struct aif_report *r)
{
	return r->o->style == AIF_REPORT_STYLE_AIU;
}

/* Returns a name as torch cuts it, in *ret_len bytes: it is followed by "..." if that is less than len. */
static const char *name_of(const struct aif_table *t, size_t cell, size_t *ret_len)
{
	size_t len, width = 0, end = 0;
	const char *name = aif_strset_get(&t->text, (uint32_t)t->cells[cell], &len);

	*ret_len = len;
	if (aif_elide_width(name, len) < NAME_MAX_WIDTH - 3)
		return name;
	while (end < len && width < NAME_MAX_WIDTH - 3) {
		end++;
		while (end < len && ((uint8_t)name[end] & 0xc0) == 0x80)
			end++;
		width++;
	}
	*ret_len = end;
	return name;
}

static size_t widest(const struct aif_table *t, size_t column)
{
	size_t most = 0;

	for (size_t i = column; i < t->cells_len; i += t->width) {
		size_t len;
		const char *text = aif_strset_get(&t->text, (uint32_t)t->cells[i], &len);

		most = AIF_MAX(most, aif_elide_width(text, len));
	}
	return most;
}

/* Returns the column's width; looks at all rows. */
static size_t width_of(const struct aif_report *r, size_t column)
{
	const struct aif_table *t = &r->t;
	size_t slack = is_guide(r) ? 0 : NAME_SLACK;

	if (column && t->columns[column].type != AIF_TABLE_TEXT)
		return WIDTH;
	return AIF_MIN(widest(t, column) + slack,
		       (size_t)(column ? SHAPES_MAX_WIDTH : NAME_MAX_WIDTH));
}

static void put(struct aif_buf *out, const struct aif_buf *text, size_t width)
{
	size_t len = aif_elide_width(text->data, text->len);

	for (size_t i = len; i < width; i++)
		aif_buf_putc(out, ' ');
	aif_buf_append(out, text->data, text->len);
	aif_buf_puts(out, "  ");
}

/* Ends a line: the guide's have no blanks there. */
static void end_line(const struct aif_report *r)
{
	while (is_guide(r) && r->out->len && r->out->data[r->out->len - 1] == ' ')
		r->out->len--;
	aif_buf_putc(r->out, '\n');
}

static void put_rule(const struct aif_report *r, const size_t *widths)
{
	for (size_t c = 0; c < r->t.width; c++) {
		for (size_t i = 0; is_shown(&r->t, c) && i < widths[c]; i++)
			aif_buf_putc(r->out, '-');
		aif_buf_puts(r->out, is_shown(&r->t, c) ? "  " : "");
	}
	end_line(r);
}

static void put_titles(const struct aif_report *r, const size_t *widths)
{
	struct aif_buf title = {0};
	size_t shift, before = 0;

	for (size_t c = 0; c < r->t.width; c++) {
		if (!is_shown(&r->t, c))
			continue;
		shift = is_guide(r) ? guide_shift(r->t.columns[c].name) : 0;
		aif_buf_clear(&title);
		aif_buf_puts(&title, r->t.titles[c]);
		put(r->out, &title, widths[c] + before - shift);
		before = shift;
	}
	r->out->failed |= aif_buf_failed(&title);
	aif_buf_finish(&title);
	end_line(r);
}

static void share(const struct aif_report *r, size_t cell, struct aif_buf *ret)
{
	size_t c = cell % r->t.width;
	/* The share of a device column stands behind its time, that of a CPU column before it. */
	bool is_device = strstr(r->t.columns[c].name, "device") != NULL;
	uint64_t all = is_device ? r->device_ns : r->cpu_ns,
		 ns = r->t.cells[is_device ? cell - 1 : cell + 1];

	if (!all)
		aif_buf_puts(ret, "NaN");
	else
		aif_buf_printf(ret, "%.2f%%", (double)ns * 100.0 / (double)all);
}

/* Averages are not rounded to whole ns first: they stand behind their totals. */
static double time_of(const struct aif_table *t, size_t cell)
{
	size_t c = cell % t->width;
	int calls = aif_table_column(t, "calls");

	if (!strstr(t->columns[c].name, "_average") || calls < 0 ||
	    !t->cells[cell - c + (size_t)calls])
		return (double)t->cells[cell];
	return (double)t->cells[cell - 1] / (double)t->cells[cell - c + (size_t)calls];
}

static void cell_text(const struct aif_report *r, size_t cell, struct aif_buf *ret)
{
	const struct aif_table *t = &r->t;
	size_t c = cell % t->width, len, whole;
	const char *text;

	if (t->columns[c].type == AIF_TABLE_COUNT && t->cells[cell] == AIF_TABLE_NO_VALUE) {
		aif_buf_putc(ret, '-');
		return;
	}
	switch (t->columns[c].type) {
	case AIF_TABLE_SHARE:
		share(r, cell, ret);
		break;
	case AIF_TABLE_CHANGE:
		aif_human_torch_bytes(ret, (int64_t)t->cells[cell]);
		break;
	case AIF_TABLE_NS:
		aif_human_torch_ns(ret, time_of(t, cell));
		break;
	case AIF_TABLE_TEXT:
		text = aif_strset_get(&t->text, (uint32_t)t->cells[cell], &whole);
		len = whole;
		if (!c)
			text = name_of(t, cell, &len);
		else
			len = AIF_MIN(whole, (size_t)SHAPES_MAX_WIDTH);
		aif_name_sanitize(text, len, ret);
		aif_buf_puts(ret, !c && len < whole ? "..." : "");
		break;
	default:
		aif_buf_printf(ret, "%llu", (unsigned long long)t->cells[cell]);
	}
}

void aif_ops_print_torch(struct aif_report *r)
{
	const struct aif_table *t = &r->t;
	size_t rows = t->cells_len / t->width, widths[AIF_TITLES_MAX];
	struct aif_buf cell = {0};
	char word[16];

	for (size_t c = 0; c < t->width; c++)
		widths[c] = width_of(r, c);
	put_rule(r, widths);
	put_titles(r, widths);
	put_rule(r, widths);
	for (size_t i = 0; i < rows * t->width && (!r->limit || i / t->width < r->limit); i++) {
		size_t c = i % t->width;

		aif_buf_clear(&cell);
		if (is_shown(t, c)) {
			cell_text(r, i, &cell);
			put(r->out, &cell, widths[c]);
		}
		if (c + 1 == t->width)
			end_line(r);
	}
	put_rule(r, widths);
	aif_buf_puts(r->out, "Self CPU time total: ");
	aif_human_torch_ns(r->out, (double)r->cpu_ns);
	if (r->device_ns) {
		aif_device_word(r->p, word);
		aif_buf_printf(r->out, "\nSelf %s time total: ", word);
		aif_human_torch_ns(r->out, (double)r->device_ns);
	}
	aif_buf_putc(r->out, '\n');
	r->out->failed |= aif_buf_failed(&cell);
	aif_buf_finish(&cell);
}

/* ---- --sort ----------------------------------------------------------------------------------- */

/* Returns what follows the name of a kind of device, with which torch's attributes of it begin: "cuda_time_total". */
static const char *behind_device(const char *word)
{
	static const char *const devices[] = {"cuda_", "device_", "xpu_",  "privateuse1_",
					      "aiu_",  "hip_",    "mtia_", "hpu_"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(devices); i++)
		if (!strncmp(word, devices[i], strlen(devices[i])))
			return word + strlen(devices[i]);
	return NULL;
}

const char *aif_ops_sort_column(const struct aif_table *t, const char *word)
{
	static const char *const host[][2] = {
		{"self_cpu_time_total", "self_cpu"},
		{"cpu_time_total", "cpu_total"},
		{"cpu_time", "cpu_average"},
		{"key", "name"},
	};
	bool is_self = !strncmp(word, "self_", 5);
	const char *rest = behind_device(is_self ? word + 5 : word);

	if (!strcmp(word, "count")) /* launches, where calls are not known */
		return aif_table_column(t, "calls") < 0 ? "launches" : "calls";
	for (size_t i = 0; i < AIF_ARRAY_LEN(host); i++)
		if (!strcmp(word, host[i][0]))
			return host[i][1];
	if (!strcmp(word, "cpu_memory_usage") || !strcmp(word, "self_cpu_memory_usage"))
		return is_self ? "self_cpu_memory" : "cpu_memory";
	if (rest && !strcmp(rest, "memory_usage"))
		return is_self ? "self_device_memory" : "device_memory";
	if (rest && !strcmp(rest, "time_total"))
		return is_self ? "self_device" : "device_total";
	return rest && !strcmp(rest, "time") && !is_self ? "device_average" : word;
}
