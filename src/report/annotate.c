/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate.h"

#include "analysis/unsampled.h"
#include "text/table.h"
#include "report/annotate_listing.h"
#include "report/source_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Columns that a GPU's instruction has at least, however narrow the terminal is. */
#define TEXT_COLUMNS  36
#define GEN_COLUMNS   44 /* the same of Intel's, whose operands have types and regions */
#define TEXT_LEAST    11 /* a name and its guard: a kernel's functions look alike */
#define TEXT_ALIGNED  64 /* longest text behind which stall reasons are aligned */
#define BAR_COLUMNS   6
#define SHARE_COLUMNS 7
#define PLACE_COLUMNS (SHARE_COLUMNS + 2 + BAR_COLUMNS + 11) /* in front of an instruction */

/* Aligned at the right. */
static void put_cell(struct aif_listing *l, int columns)
{
	aif_buf_printf(l->out, "%*s", columns, aif_buf_str(&l->cell));
	aif_buf_clear(&l->cell);
}

static void put_bar(struct aif_listing *l, uint64_t samples)
{
	uint64_t ppm = aif_share_ppm(samples, l->kernel->samples),
		 n = AIF_MIN((ppm * BAR_COLUMNS + 499999) / 1000000, (uint64_t)BAR_COLUMNS);
	char bar[BAR_COLUMNS + 1];

	memset(bar, ' ', BAR_COLUMNS);
	memset(bar, '#', n);
	bar[BAR_COLUMNS] = '\0';
	aif_buf_printf(l->out, "%s", bar);
}

/* ---- source ---------------------------------------------------------------------------------- */

/* Appends the line of source behind `used` columns. */
static void put_source(struct aif_listing *l, const struct aif_source_line *s, size_t used)
{
	aif_source_put(l->p, s, &l->cursor, l->o->columns, used, l->out);
	aif_buf_putc(l->out, '\n');
}

/* The function's lines that were sampled, in their files' order. */
static int put_lines(struct aif_listing *l)
{
	const struct aif_hit_function *f = l->function;
	struct aif_source_line *lines;
	size_t n;
	int r = aif_source_lines(l->p, l->h->hits + f->first, f->len, &lines, &n);
	bool is_first = true;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (aif_listing_is_cold(l, lines[i].weight))
			continue;
		if (is_first)
			aif_buf_putc(l->out, '\n');
		is_first = false;
		aif_listing_share(&l->cell, lines[i].weight, l->kernel->samples);
		put_cell(l, SHARE_COLUMNS);
		aif_buf_puts(l->out, "  ");
		put_bar(l, lines[i].weight);
		aif_buf_puts(l->out, "  ");
		put_source(l, &lines[i], SHARE_COLUMNS + 2 + BAR_COLUMNS + 2);
	}
	if (r == 0)
		free(lines);
	return r;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Returns the columns that the terminal leaves beside the reasons; SIZE_MAX without a terminal. */
static size_t text_max(struct aif_listing *l)
{
	size_t used = 0, least = l->waits.gen ? GEN_COLUMNS : TEXT_COLUMNS;

	for (size_t i = 0; i < l->lines_len && l->o->columns; i++) {
		struct aif_waits w;

		if (!l->lines[i].is_shown || !l->lines[i].samples)
			continue;
		aif_listing_waits(l, &l->lines[i], &w);
		aif_waits_put(&w, l->lines[i].samples, &l->cell);
		used = AIF_MAX(used, l->cell.len);
		aif_buf_clear(&l->cell);
	}
	used += PLACE_COLUMNS + (used ? 2 : 0);
	if (!l->o->columns)
		return SIZE_MAX;
	return l->o->columns > used + least ? l->o->columns - used : least;
}

static size_t text_columns(struct aif_listing *l)
{
	size_t columns = TEXT_LEAST;

	for (size_t i = 0; i < l->lines_len; i++) {
		if (!l->lines[i].is_shown)
			continue;
		aif_listing_insn_text(l, &l->lines[i], &l->cell);
		columns = AIF_MAX(columns, l->cell.len);
		aif_buf_clear(&l->cell);
	}
	return AIF_MIN(columns, AIF_MIN(l->text_max, (size_t)TEXT_ALIGNED));
}

static void put_insn(struct aif_listing *l, const struct aif_listing_line *line, size_t columns)
{
	struct aif_waits w;
	size_t begin;

	if (line->samples)
		aif_listing_share(&l->cell, line->samples, l->kernel->samples);
	put_cell(l, SHARE_COLUMNS);
	aif_buf_puts(l->out, "  ");
	put_bar(l, line->samples);
	if (line->offset == AIF_ADDRESS_UNKNOWN)
		aif_buf_puts(l->out, "  ");
	else
		aif_buf_printf(l->out, "  +0x%04" PRIx64 "  ", line->offset);
	begin = l->out->len;
	aif_listing_insn_text(l, line, l->out);
	aif_listing_waits(l, line, &w);
	if (line->samples && w.len) {
		while (l->out->len < begin + columns && !l->out->failed)
			aif_buf_putc(l->out, ' ');
		aif_buf_puts(l->out, "  ");
		aif_waits_put(&w, line->samples, l->out);
	}
	while (l->out->len > begin && l->out->data[l->out->len - 1] == ' ')
		l->out->len--;
	aif_buf_putc(l->out, '\n');
}

static void put_hidden(struct aif_listing *l, size_t from, size_t to)
{
	uint64_t samples = 0;

	for (size_t i = from; i < to; i++)
		samples += l->lines[i].samples;
	if (samples)
		aif_listing_share(&l->cell, samples, l->kernel->samples);
	put_cell(l, SHARE_COLUMNS);
	aif_buf_printf(l->out, "  %*s  ...      ", BAR_COLUMNS, "");
	aif_human_counted(l->out, to - from, "instruction");
	aif_buf_putc(l->out, '\n');
}

static void put_code(struct aif_listing *l)
{
	struct aif_source_line at = {.file = AIF_NONE}, now;
	size_t columns;

	l->text_max = text_max(l);
	columns = text_columns(l);
	for (size_t i = 0; i < l->lines_len; i++) {
		const struct aif_listing_line *line = &l->lines[i];
		size_t hidden = i;

		while (hidden < l->lines_len && !l->lines[hidden].is_shown)
			hidden++;
		if (hidden > i) {
			put_hidden(l, i, hidden);
			i = hidden - 1;
			continue;
		}
		if (line->hits_len && aif_source_of(l->p, l->h->hits[line->hit].frame, &now) &&
		    !aif_source_same(&now, &at)) {
			at = now;
			put_source(l, &at, 0);
		}
		put_insn(l, line, columns);
	}
}

static int put_function(struct aif_listing *l, size_t number)
{
	int r = aif_listing_open(l, number);

	if (r < 0)
		return r;
	aif_listing_function_head(l);
	if (aif_listing_is_cold(l, l->function->samples))
		return 0;
	r = put_lines(l);
	if (r == 0)
		r = aif_listing_lines_make(l);
	if (r < 0)
		return r;
	aif_listing_choose(l);
	aif_buf_putc(l->out, '\n');
	put_code(l);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int no_match(const struct aif_profile *p, const struct aif_attribution *a,
		    const struct aif_annotate_opts *o, struct aif_err *err)
{
	const struct aif_attribution_row *widest = NULL;

	for (size_t i = 0; i < a->rows_len; i++)
		if (a->rows[i].kind == AIF_LAUNCH_KERNEL && a->rows[i].kernel != AIF_NONE &&
		    (!widest || a->rows[i].wall_ns > widest->wall_ns))
			widest = &a->rows[i];
	if (!widest)
		return aif_err_set(err, -ENODATA,
				   "annotate: no kernel was executed in this profile; see aiflame "
				   "info");
	return aif_err_set(err, -ENODATA,
			   "annotate: no kernel that was executed matches '%s'; one is '%.200s', "
			   "for all see aiflame report --kernels",
			   o->kernel, aif_profile_str(p, p->kernels[widest->kernel].name));
}

/* Says how much of the profile has kernels of which there is nothing to list. */
static void put_unsampled(const struct aif_listing *l)
{
	struct aif_buf said = {0};

	aif_unsampled_say(l->p, l->a, &said);
	if (said.len)
		aif_buf_printf(l->out, "\nin all, %s\n", aif_buf_str(&said));
	l->out->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

int aif_annotate_write(const struct aif_names *names, const struct aif_attribution *a,
		       const struct aif_annotate_opts *o, struct aif_buf *out, struct aif_err *err)
{
	struct aif_regex kernel;
	struct aif_hits h = {0};
	struct aif_listing l = {.p = names->p, .names = names, .a = a, .o = o, .h = &h, .out = out};
	bool has_unsampled = false;
	int r = aif_regex_init(&kernel, "annotate: KERNEL", o->kernel, err);

	if (r < 0)
		return r;
	r = aif_hits_init(&h, names, a, &kernel);
	for (size_t i = 0; r == 0 && i < h.kernels_len; i++) {
		l.kernel = &h.kernels[i];
		has_unsampled |= !l.kernel->samples;
		if (i)
			aif_buf_puts(out, "\n\n");
		r = aif_listing_kernel_head(&l);
		for (size_t f = 0; r == 0 && f < l.kernel->len; f++)
			r = put_function(&l, f);
	}
	if (r == 0 && has_unsampled)
		put_unsampled(&l);
	if (r == 0 && !h.kernels_len)
		r = no_match(names->p, a, o, err);
	else if (r < 0)
		aif_err_set(err, r, "annotate: %s", strerror(-r));
	aif_regex_finish(&kernel);
	aif_hits_finish(&h);
	aif_listing_finish(&l);
	return r;
}
