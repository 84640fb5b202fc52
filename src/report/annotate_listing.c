/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate_listing.h"

#include "analysis/no_samples.h"
#include "analysis/traits.h"
#include "isa/intel_eu.h"
#include "isa/sass.h"
#include "names/names.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Marks functions whose lines are those of a twin that was compiled with line information. */
#define LINE_MATCHED " (line matched)"

void aif_listing_share(struct aif_buf *b, uint64_t part, uint64_t whole)
{
	aif_human_share(b, aif_share_ppm(part, whole));
}

bool aif_listing_is_cold(const struct aif_listing *l, uint64_t samples)
{
	return aif_share_ppm(samples, l->kernel->samples) < l->o->min_ppm;
}

/* Says of a kernel without samples that others have some, and how long its launches are. */
static void put_unsampled(const struct aif_listing *l, const struct aif_hit_kernel *k)
{
	aif_buf_puts(l->out, "; other kernels have some");
	if (!k->launches || !k->wall_ns || l->p->traits.is_lengths)
		return;
	aif_buf_puts(l->out, ": a launch of this one takes ");
	aif_human_ns(l->out, k->wall_ns / k->launches);
}

int aif_listing_kernel_head(struct aif_listing *l)
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
		aif_listing_share(b, k->wall_ns, l->a->conservation.busy_ns);
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
			put_unsampled(l, k);
		else
			aif_no_samples_because(l->p, b);
		aif_buf_putc(b, '\n');
	}
	return aif_waits_head(l->p, l->h, k, b);
}

/* ---- instructions ---- */

static int line_add(struct aif_listing *l, uint64_t offset, uint32_t size)
{
	if (aif_grow(&l->lines, &l->lines_cap, l->lines_len + 1, sizeof(*l->lines)) < 0)
		return -ENOMEM;
	l->lines[l->lines_len++] = (struct aif_listing_line){.offset = offset, .size = size};
	return 0;
}

/* Makes lines of the sampled places of a function without code: an imported file may have several
 * texts for one place. */
static int sampled_lines_make(struct aif_listing *l)
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
int aif_listing_lines_make(struct aif_listing *l)
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
		struct aif_listing_line *line = &l->lines[i];

		line->hit = hit;
		while (hit < f->first + f->len &&
		       l->h->hits[hit].offset < line->offset + line->size)
			line->samples += l->h->hits[hit++].samples;
		line->hits_len = hit - line->hit;
	}
	return r;
}

void aif_listing_waits(const struct aif_listing *l, const struct aif_listing_line *line,
		       struct aif_waits *ret)
{
	aif_waits_find(l->p, l->h->hits + line->hit, line->hits_len, &l->waits, line->offset, ret);
}

/* The instruction at an offset, or NULL. */
static struct aif_listing_line *line_at(const struct aif_listing *l, uint64_t offset)
{
	size_t from = AIF_BISECT(mid, 0, l->lines_len, l->lines[mid].offset < offset);

	return from < l->lines_len && l->lines[from].offset == offset ? &l->lines[from] : NULL;
}

/* Shows hot instructions, their neighbours, and the instructions that they wait for. */
void aif_listing_choose(struct aif_listing *l)
{
	for (size_t i = 0; i < l->lines_len; i++) {
		struct aif_waits w;

		if (aif_listing_is_cold(l, l->lines[i].samples))
			continue;
		for (size_t k = i ? i - 1 : 0; k < l->lines_len && k <= i + 1; k++)
			l->lines[k].is_shown = true;
		if (!l->lines[i].samples || !l->disasm)
			continue;
		aif_listing_waits(l, &l->lines[i], &w);
		for (size_t k = 0; k < w.sources_len; k++) {
			struct aif_listing_line *source = line_at(l, w.sources[k]);

			if (source)
				source->is_shown = true;
		}
	}
	/* "..." takes a line too */
	for (size_t i = 1; i + 1 < l->lines_len; i++)
		if (l->lines[i - 1].is_shown && l->lines[i + 1].is_shown)
			l->lines[i].is_shown = true;
}

/* Appends what an imported file calls the place: an instruction, or names of functions, outermost
 * first. */
static void imported_text(const struct aif_listing *l, const struct aif_listing_line *line,
			  struct aif_buf *ret)
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

void aif_listing_insn_text(struct aif_listing *l, const struct aif_listing_line *line,
			   struct aif_buf *ret)
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

/* Returns why a function has no code, for a head of a listing. */
static const char *why_no_code(const struct aif_profile *p, const struct aif_hit_function *f)
{
	uint32_t module = p->frames[f->frame].module;
	const char *path =
		module < p->modules_len ? aif_profile_str(p, p->modules[module].path) : "";

	if (aif_profile_loss(p, AIF_REASON_CODE_BEFORE))
		return ": it was loaded before the recording was attached";
	if (aif_profile_loss(p, AIF_REASON_CODE_FORMAT) && !strncmp(path, "zebin ", 6))
		return ": it is in Intel's older format (patchtokens), which is not read; set "
		       "IGC_EnableZEBinary=1 and record again";
	return "";
}

void aif_listing_function_head(struct aif_listing *l)
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
	aif_listing_share(b, f->samples, l->kernel->samples);
	aif_buf_puts(b, " of its samples");
	if (c) {
		aif_buf_printf(b, "; %s, ", aif_profile_str(l->p, c->arch));
		aif_human_count(b, c->size);
		aif_buf_puts(b, " bytes");
	}
	if (!c || !c->bytes)
		aif_buf_printf(b, "; its code is not in the profile%s", why_no_code(l->p, f));
	else if (!l->disasm)
		aif_buf_puts(b, "; no disassembler for it was found");
	if (is_matched)
		aif_buf_puts(b, "; its lines are matched, not read from its code");
	aif_buf_putc(b, '\n');
}

static int full_text(struct aif_listing *l)
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

int aif_listing_open(struct aif_listing *l, size_t number)
{
	const struct aif_code *c;
	int r;

	l->function = &l->h->functions[l->kernel->first + number];
	c = l->function->code;
	aif_waits_code_finish(&l->waits);
	r = aif_waits_code_init(&l->waits, l->p, c);
	if (r < 0)
		return r;
	l->unit = l->waits.sm ? AIF_SASS_BYTES : l->waits.gen ? AIF_INTEL_EU_LEAST : 0;
	l->text_max = SIZE_MAX;
	l->texts_len = 0;
	aif_disasm_free(l->disasm);
	l->disasm = NULL;
	if (c && c->bytes)
		r = aif_disasm_new(aif_profile_str(l->p, c->arch), &l->disasm);
	if (r == -ENOTSUP)
		r = 0;
	return r == 0 && l->unit ? full_text(l) : r;
}

void aif_listing_finish(struct aif_listing *l)
{
	aif_disasm_free(l->disasm);
	aif_waits_code_finish(&l->waits);
	aif_buf_finish(&l->full);
	aif_buf_finish(&l->cell);
	free(l->lines);
	free(l->texts);
}
