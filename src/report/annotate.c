/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate.h"

#include "report/annotate_hits.h"
#include "report/annotate_waits.h"
#include "isa/disasm.h"
#include "names/names.h"
#include "analysis/no_samples.h"
#include "isa/intel_eu.h"
#include "analysis/traits.h"
#include "isa/sass.h"
#include "isa/sass_text.h"
#include "report/source_lines.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Columns that a GPU's instruction has at least, however narrow the terminal is. */
#define TEXT_COLUMNS   36
#define GEN_COLUMNS    44 /* of Intel's: operands have types and regions */
#define TEXT_LEAST     11 /* a name and its guard: a kernel's functions look alike */
#define TEXT_ALIGNED   64 /* what stands behind longer ones stands behind them at once */
#define SOURCE_COLUMNS 24
#define BAR_COLUMNS    6
#define SHARE_COLUMNS  7
#define PLACE_COLUMNS  (SHARE_COLUMNS + 2 + BAR_COLUMNS + 11) /* in front of an instruction */

/* Marks functions whose lines are those of a twin that was compiled with line information. */
#define LINE_MATCHED " (line matched)"

struct line {
	uint64_t offset;
	uint32_t size;
	bool is_shown;
	size_t hit, hits_len; /* of the hits, in order */
	uint64_t samples;
};

struct listing {
	const struct aif_profile *p;
	const struct aif_names *names;
	const struct aif_attribution *a;
	const struct aif_annotate_opts *o;
	const struct aif_hits *h;
	struct aif_buf *out;
	/* of the function at hand */
	const struct aif_hit_kernel *kernel;
	const struct aif_hit_function *function;
	struct aif_waits_code waits;
	unsigned unit; /* its instructions are at multiples of so many bytes; 0: it is no GPU's */
	struct aif_disasm *disasm;
	struct line *lines;
	size_t lines_len, lines_cap;
	size_t text_max;     /* columns that an instruction's text may have */
	struct aif_buf full; /* the disassembler's text */
	struct aif_sass_line *texts;
	size_t texts_len;
	struct aif_buf cell;
};

static void put_share(struct aif_buf *b, uint64_t part, uint64_t whole)
{
	aif_human_share(b, aif_share_ppm(part, whole));
}

/* Aligned at the right. */
static void put_cell(struct listing *l, int columns)
{
	aif_buf_printf(l->out, "%*s", columns, aif_buf_str(&l->cell));
	aif_buf_clear(&l->cell);
}

static void put_bar(struct listing *l, uint64_t samples)
{
	uint64_t ppm = aif_share_ppm(samples, l->kernel->samples),
		 n = AIF_MIN((ppm * BAR_COLUMNS + 499999) / 1000000, (uint64_t)BAR_COLUMNS);
	char bar[BAR_COLUMNS + 1];

	memset(bar, ' ', BAR_COLUMNS);
	memset(bar, '#', n);
	bar[BAR_COLUMNS] = '\0';
	aif_buf_printf(l->out, "%s", bar);
}

static bool is_cold(const struct listing *l, uint64_t samples)
{
	return aif_share_ppm(samples, l->kernel->samples) < l->o->min_ppm;
}

/* ---- a kernel's head ------------------------------------------------------------------------- */

static int put_head(struct listing *l)
{
	const struct aif_hit_kernel *k = l->kernel;
	const char *name = aif_profile_str(l->p, l->p->kernels[k->kernel].name),
		   *short_name = aif_names_short(l->names, k->kernel);
	struct aif_buf *b = l->out;
	bool is_untimed = aif_is_untimed(l->p, l->a);

	if (short_name && strcmp(short_name, name) != 0)
		aif_buf_printf(b, "%s\n", short_name);
	aif_buf_printf(b, "%s\n", name);
	if (!is_untimed) {
		put_share(b, k->wall_ns, l->a->conservation.busy_ns);
		aif_buf_puts(b, " of busy time: ");
		aif_human_ns(b, k->wall_ns);
		if (!l->p->traits.is_lengths) { /* launches are not known */
			aif_buf_puts(b, " in ");
			aif_human_counted(b, k->launches, "launch");
		}
	}
	if (k->samples && l->p->traits.samples_unknown) {
		aif_buf_putc(b, '\n'); /* they are lengths */
	} else if (k->samples) {
		aif_buf_puts(b, is_untimed ? "" : "; ");
		aif_human_counted(b, k->samples, "sample");
		aif_buf_putc(b, '\n');
	} else {
		aif_buf_puts(b, is_untimed ? "" : "; ");
		aif_buf_puts(b, "no instruction samples, so there is nothing to list");
		if (l->a->conservation.samples)
			aif_buf_puts(b, "; other kernels have some");
		else
			aif_no_samples_because(l->p, b);
		aif_buf_putc(b, '\n');
	}
	return aif_waits_head(l->p, l->h, k, b);
}

/* ---- source ---------------------------------------------------------------------------------- */

/* The place and, as far as the terminal is wide, the text, behind `used` columns. */
static void put_source(struct listing *l, const struct aif_source_line *s, size_t used)
{
	size_t len, room;
	const char *text = aif_source_text(l->p, s, &len);

	aif_source_place(l->p, s, &l->cell);
	if (text) {
		size_t begin;

		aif_buf_puts(&l->cell, "  ");
		begin = l->cell.len;
		used += begin;
		room = l->o->columns > used + SOURCE_COLUMNS ? l->o->columns - used
							     : SOURCE_COLUMNS;
		for (size_t i = 0; i < len; i++) {
			if (text[i] == '\t')
				aif_buf_puts(&l->cell, "    ");
			else
				aif_buf_putc(&l->cell, text[i]);
		}
		if (l->o->columns && l->cell.len - begin > room)
			aif_name_cut(&l->cell, begin, room);
	}
	aif_buf_printf(l->out, "%s\n", aif_buf_str(&l->cell));
	aif_buf_clear(&l->cell);
}

/* The function's lines that were sampled, in their files' order. */
static int put_lines(struct listing *l)
{
	const struct aif_hit_function *f = l->function;
	struct aif_source_line *lines;
	size_t n;
	int r = aif_source_lines(l->p, l->h->hits + f->first, f->len, &lines, &n);
	bool is_first = true;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (is_cold(l, lines[i].samples))
			continue;
		if (is_first)
			aif_buf_putc(l->out, '\n');
		is_first = false;
		put_share(&l->cell, lines[i].samples, l->kernel->samples);
		put_cell(l, SHARE_COLUMNS);
		aif_buf_puts(l->out, "  ");
		put_bar(l, lines[i].samples);
		aif_buf_puts(l->out, "  ");
		put_source(l, &lines[i], SHARE_COLUMNS + 2 + BAR_COLUMNS + 2);
	}
	if (r == 0)
		free(lines);
	return r;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static int line_add(struct listing *l, uint64_t offset, uint32_t size)
{
	if (aif_grow(&l->lines, &l->lines_cap, l->lines_len + 1, sizeof(*l->lines)) < 0)
		return -ENOMEM;
	l->lines[l->lines_len++] = (struct line){.offset = offset, .size = size};
	return 0;
}

/* Makes lines of the sampled places of a function without code: an imported file may have several
 * texts for one place. */
static int sampled_lines_make(struct listing *l)
{
	const struct aif_hit_function *f = l->function;
	const struct aif_hit *hits = l->h->hits;

	for (size_t i = f->first; i < f->first + f->len; i++) {
		if (i == f->first || hits[i].offset != hits[i - 1].offset ||
		    hits[i].frame != hits[i - 1].frame) {
			if (line_add(l, hits[i].offset, 1) < 0)
				return -ENOMEM;
			l->lines[l->lines_len - 1].hit = i;
		}
		l->lines[l->lines_len - 1].hits_len++;
		l->lines[l->lines_len - 1].samples += hits[i].samples;
	}
	return 0;
}

/* Makes lines of all instructions of the function. */
static int lines_make(struct listing *l)
{
	const struct aif_hit_function *f = l->function;
	const struct aif_code *c = f->code;
	struct aif_insn insn;
	int r = 0;

	l->lines_len = 0;
	if (!l->disasm)
		return sampled_lines_make(l);
	for (uint64_t at = 0; r == 0 && at < c->size; at += insn.size) {
		aif_disasm_one(l->disasm, c->bytes + at, c->size - at, c->address + at, &insn);
		r = line_add(l, at, insn.size);
	}
	for (size_t i = 0, hit = f->first; r == 0 && i < l->lines_len; i++) {
		struct line *line = &l->lines[i];

		line->hit = hit;
		while (hit < f->first + f->len &&
		       l->h->hits[hit].offset < line->offset + line->size)
			line->samples += l->h->hits[hit++].samples;
		line->hits_len = hit - line->hit;
	}
	return r;
}

static void waits_of(const struct listing *l, const struct line *line, struct aif_waits *ret)
{
	aif_waits_find(l->p, l->h->hits + line->hit, line->hits_len, &l->waits, line->offset, ret);
}

/* The instruction at an offset, or NULL. */
static struct line *line_at(const struct listing *l, uint64_t offset)
{
	size_t from = 0, to = l->lines_len;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (l->lines[mid].offset < offset)
			from = mid + 1;
		else
			to = mid;
	}
	return from < l->lines_len && l->lines[from].offset == offset ? &l->lines[from] : NULL;
}

/* Shows hot instructions, their neighbours, and the instructions that they wait for. */
static void choose(struct listing *l)
{
	for (size_t i = 0; i < l->lines_len; i++) {
		struct aif_waits w;

		if (is_cold(l, l->lines[i].samples))
			continue;
		for (size_t k = i ? i - 1 : 0; k < l->lines_len && k <= i + 1; k++)
			l->lines[k].is_shown = true;
		if (!l->lines[i].samples || !l->disasm)
			continue;
		waits_of(l, &l->lines[i], &w);
		for (size_t k = 0; k < w.sources_len; k++) {
			struct line *source = line_at(l, w.sources[k]);

			if (source)
				source->is_shown = true;
		}
	}
	/* "..." takes a line too */
	for (size_t i = 1; i + 1 < l->lines_len; i++)
		if (l->lines[i - 1].is_shown && l->lines[i + 1].is_shown)
			l->lines[i].is_shown = true;
}

/* Returns the columns that the terminal leaves beside the reasons; SIZE_MAX without a terminal. */
static size_t text_max(struct listing *l)
{
	size_t used = 0, least = l->waits.gen ? GEN_COLUMNS : TEXT_COLUMNS;

	for (size_t i = 0; i < l->lines_len && l->o->columns; i++) {
		struct aif_waits w;

		if (!l->lines[i].is_shown || !l->lines[i].samples)
			continue;
		waits_of(l, &l->lines[i], &w);
		aif_waits_put(&w, l->lines[i].samples, &l->cell);
		used = AIF_MAX(used, l->cell.len);
		aif_buf_clear(&l->cell);
	}
	used += PLACE_COLUMNS + (used ? 2 : 0);
	if (!l->o->columns)
		return SIZE_MAX;
	return l->o->columns > used + least ? l->o->columns - used : least;
}

/* Appends what an imported file calls the place: an instruction, or names of functions, outermost
 * first. */
static void imported_text(const struct listing *l, const struct line *line, struct aif_buf *ret)
{
	uint32_t frame = l->h->hits[line->hit].frame;
	const struct aif_profile *p = l->p;
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame), *first = n;
	const char *name = aif_code_index_name(&l->h->codes, frame);

	if (name || line->offset != AIF_ADDRESS_UNKNOWN) {
		aif_buf_puts(ret, name ? name : "");
		return;
	}
	while (first && first > p->frame_names && first[-1].frame == frame)
		first--;
	for (const struct aif_frame_name *at = first; at && at <= n; at++)
		aif_buf_printf(ret, "%s%s", at == first ? "" : " > ", aif_profile_str(p, at->name));
}

static void insn_text(struct listing *l, const struct line *line, struct aif_buf *ret)
{
	const struct aif_code *c = l->function->code;
	struct aif_insn insn;
	size_t begin = ret->len;

	if (l->unit && line->offset / l->unit < l->texts_len &&
	    l->texts[line->offset / l->unit].text) {
		const struct aif_sass_line *t = &l->texts[line->offset / l->unit];

		aif_buf_append(ret, t->text, t->len);
	} else if (l->disasm) {
		aif_disasm_one(l->disasm, c->bytes + line->offset, c->size - line->offset,
			       c->address + line->offset, &insn);
		aif_buf_printf(ret, "%s%s%s%s", insn.guard, *insn.guard ? " " : "", insn.mnemonic,
			       *insn.operands ? " " : "");
		/* The target is written as its own line has it. */
		if (insn.has_target && insn.target - c->address < c->size)
			aif_buf_printf(ret, "%.*s+0x%04" PRIx64, (int)insn.target_at, insn.operands,
				       insn.target - c->address);
		else
			aif_buf_puts(ret, insn.operands);
	} else if (!l->function->code) {
		imported_text(l, line, ret);
	}
	/* A text without reasons behind it may take the rest of the line. */
	if (l->unit && ret->len - begin > l->text_max)
		aif_name_cut(ret, begin, l->text_max);
}

static size_t text_columns(struct listing *l)
{
	size_t columns = TEXT_LEAST;

	for (size_t i = 0; i < l->lines_len; i++) {
		if (!l->lines[i].is_shown)
			continue;
		insn_text(l, &l->lines[i], &l->cell);
		columns = AIF_MAX(columns, l->cell.len);
		aif_buf_clear(&l->cell);
	}
	return AIF_MIN(columns, AIF_MIN(l->text_max, (size_t)TEXT_ALIGNED));
}

static void put_insn(struct listing *l, const struct line *line, size_t columns)
{
	struct aif_waits w;
	size_t begin;

	if (line->samples)
		put_share(&l->cell, line->samples, l->kernel->samples);
	put_cell(l, SHARE_COLUMNS);
	aif_buf_puts(l->out, "  ");
	put_bar(l, line->samples);
	if (line->offset == AIF_ADDRESS_UNKNOWN)
		aif_buf_puts(l->out, "  ");
	else
		aif_buf_printf(l->out, "  +0x%04" PRIx64 "  ", line->offset);
	begin = l->out->len;
	insn_text(l, line, l->out);
	waits_of(l, line, &w);
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

static void put_hidden(struct listing *l, size_t from, size_t to)
{
	uint64_t samples = 0;

	for (size_t i = from; i < to; i++)
		samples += l->lines[i].samples;
	if (samples)
		put_share(&l->cell, samples, l->kernel->samples);
	put_cell(l, SHARE_COLUMNS);
	aif_buf_printf(l->out, "  %*s  ...      ", BAR_COLUMNS, "");
	aif_human_counted(l->out, to - from, "instruction");
	aif_buf_putc(l->out, '\n');
}

static void put_code(struct listing *l)
{
	struct aif_source_line at = {.file = AIF_NONE}, now;
	size_t columns;

	l->text_max = text_max(l);
	columns = text_columns(l);
	for (size_t i = 0; i < l->lines_len; i++) {
		const struct line *line = &l->lines[i];
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

static void function_head(struct listing *l)
{
	const struct aif_hit_function *f = l->function;
	const struct aif_code *c = f->code;
	const char *name = aif_hits_name(l->p, f);
	struct aif_buf *b = l->out;

	size_t len = strlen(name), matched = strlen(LINE_MATCHED);
	bool is_matched = len > matched && !strcmp(name + len - matched, LINE_MATCHED);

	aif_buf_puts(b, f->is_kernel ? "\n" : "\nin ");
	aif_name_short(name, is_matched ? len - matched : len, AIF_NAME_NORMAL, b);
	aif_buf_puts(b, ": ");
	put_share(b, f->samples, l->kernel->samples);
	aif_buf_puts(b, " of its samples");
	if (c) {
		aif_buf_printf(b, "; %s, ", aif_profile_str(l->p, c->arch));
		aif_human_count(b, c->size);
		aif_buf_puts(b, " bytes");
	}
	if (!c || !c->bytes)
		aif_buf_puts(b, aif_profile_loss(l->p, AIF_REASON_CODE_BEFORE)
					? "; its code is not in the profile: it was loaded before "
					  "the recording was attached"
					: "; its code is not in the profile");
	else if (!l->disasm)
		aif_buf_puts(b, "; no disassembler for it was found");
	if (is_matched)
		aif_buf_puts(b, "; its lines are matched, not read from its code");
	aif_buf_putc(b, '\n');
}

static int full_text(struct listing *l)
{
	const struct aif_code *c = l->function->code;
	size_t n = c->size / l->unit;

	aif_buf_clear(&l->full);
	l->texts_len = 0;
	if (l->o->disassemble)
		l->o->disassemble(l->o->arg, c, aif_profile_str(l->p, c->arch), &l->full);
	if (!l->full.len || aif_buf_failed(&l->full))
		return 0;
	free(l->texts);
	l->texts = malloc((n + 1) * sizeof(*l->texts));
	if (!l->texts)
		return -ENOMEM;
	aif_sass_listing((const char *)l->full.data, l->full.len, l->unit, l->texts, n);
	l->texts_len = n;
	return 0;
}

static int put_function(struct listing *l)
{
	const struct aif_code *c = l->function->code;
	int r = 0;

	aif_waits_code_finish(&l->waits);
	r = aif_waits_code_init(&l->waits, l->p, c);
	if (r < 0)
		return r;
	l->unit = l->waits.sm ? AIF_SASS_BYTES : l->waits.gen ? AIF_INTEL_EU_LEAST : 0;
	l->texts_len = 0;
	aif_disasm_free(l->disasm);
	l->disasm = NULL;
	if (c && c->bytes)
		r = aif_disasm_new(aif_profile_str(l->p, c->arch), &l->disasm);
	if (r == -ENOTSUP)
		r = 0;
	if (r == 0 && l->unit)
		r = full_text(l);
	if (r < 0)
		return r;
	function_head(l);
	if (is_cold(l, l->function->samples))
		return 0;
	r = put_lines(l);
	if (r == 0)
		r = lines_make(l);
	if (r < 0)
		return r;
	choose(l);
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

int aif_annotate_write(const struct aif_names *names, const struct aif_attribution *a,
		       const struct aif_annotate_opts *o, struct aif_buf *out, struct aif_err *err)
{
	struct aif_regex kernel;
	struct aif_hits h = {0};
	struct listing l = {.p = names->p, .names = names, .a = a, .o = o, .h = &h, .out = out};
	int r = aif_regex_init(&kernel, "annotate: KERNEL", o->kernel, err);

	if (r < 0)
		return r;
	r = aif_hits_init(&h, names, a, &kernel);
	for (size_t i = 0; r == 0 && i < h.kernels_len; i++) {
		l.kernel = &h.kernels[i];
		if (i)
			aif_buf_puts(out, "\n\n");
		r = put_head(&l);
		for (size_t f = 0; r == 0 && f < l.kernel->len; f++) {
			l.function = &h.functions[l.kernel->first + f];
			r = put_function(&l);
		}
	}
	if (r == 0 && !h.kernels_len)
		r = no_match(names->p, a, o, err);
	else if (r < 0)
		aif_err_set(err, r, "annotate: %s", strerror(-r));
	aif_regex_finish(&kernel);
	aif_hits_finish(&h);
	aif_disasm_free(l.disasm);
	aif_waits_code_finish(&l.waits);
	aif_buf_finish(&l.full);
	aif_buf_finish(&l.cell);
	free(l.lines);
	free(l.texts);
	return r;
}
