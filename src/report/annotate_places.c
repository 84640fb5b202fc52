/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate_places.h"

#include "base/human.h"
#include "names/cpu_functions.h"
#include "report/source_json.h"
#include "text/json.h"
#include "text/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHARE_COLUMNS 7
#define BAR_COLUMNS   6

int aif_places_add(struct aif_places *l, uint32_t frame, uint32_t depth, uint64_t ns)
{
	const struct aif_frame_name *n = aif_cpu_frame_name(l->p, frame, depth);

	if (aif_grow(&l->at, &l->cap, l->len + 1, sizeof(*l->at)) < 0)
		return -ENOMEM;
	l->at[l->len++] = (struct aif_place){
		.file = n && n->line ? n->file : AIF_NONE,
		.line = n ? n->line : 0,
		.frame = frame,
		.address = l->p->frames[frame].address,
		.ns = ns,
		.row = -1,
	};
	return 0;
}

bool aif_annotate_matches(const struct aif_regex *wanted, const char *name)
{
	const char *file = strrchr(name, '(');
	struct aif_buf alone = {0};
	bool matches = aif_regex_matches_function(wanted, name);

	if (!matches && file && file > name && file[-1] == ' ') {
		aif_buf_append(&alone, name, (size_t)(file - 1 - name));
		matches = aif_regex_matches_function(wanted, aif_buf_str(&alone));
	}
	aif_buf_finish(&alone);
	return matches;
}

void aif_place_put_share(uint64_t ns, uint64_t all_ns, struct aif_buf *out)
{
	uint64_t ppm = aif_share_ppm(ns, all_ns);
	int n = (int)AIF_MIN((ppm * BAR_COLUMNS + 499999) / 1000000, (uint64_t)BAR_COLUMNS);
	struct aif_buf share = {0};

	if (ns)
		aif_human_share(&share, ppm);
	aif_buf_printf(out, "%*s  %.*s%*s", SHARE_COLUMNS, aif_buf_str(&share), n, "######",
		       BAR_COLUMNS - n, "");
	out->failed |= aif_buf_failed(&share);
	aif_buf_finish(&share);
}

static int by_line(const void *pa, const void *pb)
{
	const struct aif_place *a = pa, *b = pb;

	return AIF_ORDER(a->file, b->file) ?: AIF_ORDER(a->line, b->line);
}

/* Sorts the places and returns their lines, each once, for free(). *ret_unknown_ns: time at places
 * whose line is not known. NULL when memory runs out. */
static struct aif_source_line *lines_of(struct aif_places *l, size_t *ret_len,
					uint64_t *ret_unknown_ns)
{
	struct aif_source_line *lines = malloc((l->len + 1) * sizeof(*lines));

	*ret_len = *ret_unknown_ns = 0;
	if (l->len)
		qsort(l->at, l->len, sizeof(*l->at), by_line);
	for (size_t i = 0; lines && i < l->len; i++)
		if (l->at[i].file == AIF_NONE)
			*ret_unknown_ns += l->at[i].ns;
		else
			lines[(*ret_len)++] = (struct aif_source_line){.file = l->at[i].file,
								       .line = l->at[i].line,
								       .function = AIF_NONE,
								       .frame = l->at[i].frame,
								       .weight = l->at[i].ns};
	if (lines)
		*ret_len = aif_source_lines_sum(lines, *ret_len);
	return lines;
}

int aif_places_put_lines(struct aif_places *l, const struct aif_annotate_opts *o, uint64_t all_ns,
			 struct aif_buf *out)
{
	struct aif_source_cursor cursor = {0};
	uint64_t unknown_ns;
	size_t n;
	struct aif_source_line *lines = lines_of(l, &n, &unknown_ns);

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (aif_share_ppm(lines[i].weight, all_ns) < o->min_ppm)
			continue;
		aif_place_put_share(lines[i].weight, all_ns, out);
		aif_buf_puts(out, "  ");
		aif_source_put(l->p, &lines[i], &cursor, o->columns, AIF_PLACE_SHARE_COLUMNS + 2,
			       out);
		aif_buf_putc(out, '\n');
	}
	if (unknown_ns && aif_share_ppm(unknown_ns, all_ns) >= o->min_ppm) {
		aif_place_put_share(unknown_ns, all_ns, out);
		aif_buf_puts(out, "  line not known\n");
	}
	free(lines);
	return 0;
}

int aif_places_json(struct aif_places *l, uint64_t all_ns, struct aif_buf *json)
{
	uint64_t unknown_ns;
	size_t n;
	struct aif_source_line *lines = lines_of(l, &n, &unknown_ns);
	uint32_t *rows = malloc((n + 1) * sizeof(*rows));
	int r = lines && rows ? 0 : -ENOMEM;

	aif_buf_puts(json, "\"head\":[");
	if (unknown_ns && n) {
		struct aif_buf text = {0};

		aif_human_share(&text, aif_share_ppm(unknown_ns, all_ns));
		aif_buf_puts(&text, " at lines that are not known");
		aif_out_json_text(json, aif_buf_str(&text));
		aif_buf_finish(&text);
	}
	aif_buf_puts(json, "],");
	if (!r)
		aif_source_json(l->p, lines, n, rows, json);
	for (size_t i = 0, line = 0; !r && i < l->len && l->at[i].file != AIF_NONE; i++) {
		while (lines[line].file != l->at[i].file || lines[line].line != l->at[i].line)
			line++;
		l->at[i].row = rows[line];
	}
	free(lines);
	free(rows);
	return r;
}
