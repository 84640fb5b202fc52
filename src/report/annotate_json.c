/* SPDX-License-Identifier: Apache-2.0 */
/* Listings as JSON: what the page puts side by side. */
#include "report/annotate_json.h"

#include "base/human.h"
#include "names/filter.h"
#include "report/annotate_listing.h"
#include "report/source_json.h"
#include "text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Instructions of a function that is listed whole; of a longer one, hot ones and their neighbours are. */
#define INSNS_MAX 4000

struct writer {
	struct aif_listing l;
	struct aif_buf *json;
	struct aif_source_line *sources; /* of the function at hand, by file and line */
	size_t sources_len;
	uint32_t *row; /* of each source: its number in "lines" */
	struct aif_buf text;
};

void aif_annotate_json_name(struct aif_buf *functions, struct aif_strset *used, const char *name,
			    const char *more)
{
	struct aif_buf text = {0};

	aif_buf_puts(&text, name);
	for (unsigned n = 1;
	     aif_strset_find(used, aif_buf_str(&text), text.len) != AIF_STR_NONE && !text.failed;
	     n++) {
		aif_buf_clear(&text);
		aif_buf_printf(&text, "%s, %s", name, more);
		if (n > 1)
			aif_buf_printf(&text, ", %u", n);
	}
	aif_strset_put(used, aif_buf_str(&text), text.len);
	aif_buf_puts(functions, functions->data[functions->len - 1] == '[' ? "" : ",");
	aif_out_json_text(functions, aif_buf_str(&text));
	functions->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

/* Appends ",TEXT" as JSON and empties the text; no comma behind a bracket. */
static void put_text(struct aif_buf *json, struct aif_buf *text)
{
	if (json->len && json->data[json->len - 1] != '[')
		aif_buf_putc(json, ',');
	json->failed |= aif_buf_failed(text);
	aif_out_json_string(json, (const char *)text->data, text->len);
	aif_buf_clear(text);
}

void aif_annotate_json_lines(struct aif_buf *json, const struct aif_buf *text)
{
	const char *at = (const char *)text->data, *end = at + text->len, *stop;

	aif_buf_putc(json, '[');
	json->failed |= aif_buf_failed(text);
	for (bool is_first = true; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		if (stop == at)
			continue;
		aif_buf_puts(json, is_first ? "" : ",");
		is_first = false;
		aif_out_json_string(json, at, (size_t)(stop - at));
	}
	aif_buf_putc(json, ']');
}

/* The lines that were sampled, with those around them. */
static int put_sources(struct writer *w)
{
	const struct aif_hit_function *f = w->l.function;
	int r;

	free(w->sources);
	w->sources = NULL;
	r = aif_source_lines(w->l.p, w->l.h->hits + f->first, f->len, &w->sources, &w->sources_len);
	if (r < 0)
		return r;
	free(w->row);
	w->row = malloc((w->sources_len + 1) * sizeof(*w->row));
	if (!w->row)
		return -ENOMEM;
	aif_buf_putc(w->json, ',');
	aif_source_json(w->l.p, w->sources, w->sources_len, w->row, w->json);
	return 0;
}

/* Returns the row of an instruction's line, or `otherwise`. */
static int64_t row_of(const struct writer *w, const struct aif_listing_line *line,
		      int64_t otherwise)
{
	struct aif_source_line at;

	if (!line->hits_len || !aif_source_of(w->l.p, w->l.h->hits[line->hit].frame, &at))
		return otherwise;
	for (size_t i = 0; i < w->sources_len; i++)
		if (aif_source_same(&w->sources[i], &at))
			return w->row[i];
	return otherwise;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void put_insn(struct writer *w, const struct aif_listing_line *line, int64_t row)
{
	struct aif_waits waits;

	if (line->offset == AIF_ADDRESS_UNKNOWN)
		aif_buf_puts(w->json, "[\"\"");
	else
		aif_buf_printf(w->json, "[\"+0x%04" PRIx64 "\"", line->offset);
	aif_listing_insn_text(&w->l, line, &w->text);
	put_text(w->json, &w->text);
	aif_buf_printf(w->json, ",%" PRIu64 ",%" PRId64, line->samples, row);
	aif_listing_waits(&w->l, line, &waits);
	if (line->samples && waits.len) {
		aif_waits_put(&waits, line->samples, &w->text);
		put_text(w->json, &w->text);
		if (waits.sources_len)
			aif_buf_printf(w->json, ",\"+0x%04" PRIx64 "\"", waits.sources[0]);
	}
	aif_buf_putc(w->json, ']');
}

static void put_insns(struct writer *w)
{
	struct aif_listing *l = &w->l;
	int64_t row = -1;
	bool is_first = true;

	aif_buf_puts(w->json, ",\"code\":[");
	for (size_t i = 0, hidden; i < l->lines_len; i++) {
		uint64_t samples = 0;

		for (hidden = i; hidden < l->lines_len && !l->lines[hidden].is_shown; hidden++)
			samples += l->lines[hidden].samples;
		aif_buf_puts(w->json, is_first ? "" : ",");
		is_first = false;
		if (hidden > i) {
			aif_buf_puts(w->json, "[\"\"");
			aif_buf_puts(&w->text, "\xe2\x80\xa6 ");
			aif_human_counted(&w->text, hidden - i, "instruction");
			put_text(w->json, &w->text);
			aif_buf_printf(w->json, ",%" PRIu64 ",-1]", samples);
			i = hidden - 1;
			continue;
		}
		row = row_of(w, &l->lines[i], row);
		put_insn(w, &l->lines[i], row);
	}
	aif_buf_putc(w->json, ']');
}

static int put_function(struct writer *w, size_t number)
{
	struct aif_listing *l = &w->l;
	int r = aif_listing_open(l, number);

	if (r < 0)
		return r;
	aif_buf_puts(w->json, number ? ",{\"head\":" : "{\"head\":");
	l->out = &w->text;
	aif_listing_function_head(l);
	aif_annotate_json_lines(w->json, &w->text);
	aif_buf_clear(&w->text);
	r = put_sources(w);
	if (r == 0)
		r = aif_listing_lines_make(l);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l->lines_len && l->lines_len <= INSNS_MAX; i++)
		l->lines[i].is_shown = true;
	if (l->lines_len > INSNS_MAX)
		aif_listing_choose(l);
	put_insns(w);
	aif_buf_putc(w->json, '}');
	return 0;
}

static int put_kernel(struct writer *w)
{
	const struct aif_hit_kernel *k = w->l.kernel;
	int r;

	aif_buf_puts(w->json, "{\"head\":");
	w->l.out = &w->text;
	r = aif_listing_kernel_head(&w->l);
	aif_annotate_json_lines(w->json, &w->text);
	aif_buf_clear(&w->text);
	aif_buf_printf(w->json, ",\"all\":%" PRIu64 ",\"unit\":\"samples\",\"functions\":[",
		       k->samples);
	for (size_t f = 0; r == 0 && f < k->len; f++)
		r = put_function(w, f);
	aif_buf_puts(w->json, "]}");
	return r;
}

int aif_annotate_json(const struct aif_names *names, const struct aif_attribution *a,
		      const struct aif_annotate_opts *o, size_t most, struct aif_strset *used,
		      struct aif_buf *kernels, struct aif_buf *json)
{
	struct aif_annotate_opts all = {
		.min_ppm = 5000, .disassemble = o->disassemble, .arg = o->arg};
	struct aif_regex any;
	struct aif_err err = {0};
	struct aif_hits h = {0};
	struct writer w = {.l = {.p = names->p, .names = names, .a = a, .o = &all, .h = &h},
			   .json = json};
	int r = aif_regex_init(&any, "annotate", "^", &err);

	if (r < 0) /* it is an expression, so that memory ran out */
		return -ENOMEM;
	r = aif_hits_init(&h, names, a, &any);
	for (size_t i = 0, n = 0; r == 0 && i < h.kernels_len && n < most; i++) {

		w.l.kernel = &h.kernels[i];
		if (!w.l.kernel->samples)
			continue;
		aif_annotate_json_name(kernels, used,
				       aif_names_work(names, AIF_LAUNCH_KERNEL, w.l.kernel->kernel),
				       "a kernel");
		aif_buf_puts(json, n++ ? "," : "");
		r = put_kernel(&w);
	}
	if (aif_buf_failed(&w.text) || aif_buf_failed(kernels) || aif_buf_failed(json))
		r = -ENOMEM;
	aif_listing_finish(&w.l);
	aif_regex_finish(&any);
	aif_hits_finish(&h);
	aif_buf_finish(&w.text);
	free(w.sources);
	free(w.row);
	return r;
}
