/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as an interactive page: both sides' stacks in one flame graph, and tables of what differs. */
#include "compare/json.h"
#include "base/u64_of.h"
#include "compare/words.h"

#include "flame/palette.h"
#include "page/file.h"
#include "page/tree.h"
#include "text/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Values are whole numbers of a unit: of ps, where a unit of the comparison is short. */
#define FINE       1000
#define FINE_BELOW 9e12

struct page {
	const struct aif_comparison *c;
	double scale;
	struct aif_page_names names;
	struct aif_page_columns columns;
	struct aif_buf json;
};

/* Adds a member whose text `b` has, which is emptied. */
static void put_words(struct page *g, const char *key, struct aif_buf *b)
{
	aif_compare_json_text(&g->json, key, aif_buf_str(b));
	g->json.failed |= aif_buf_failed(b);
	aif_buf_clear(b);
}

static void put_item(struct page *g)
{
	aif_buf_puts(&g->json, g->json.data[g->json.len - 1] == '[' ? "{" : ",{");
}

static void put_compared(struct page *g, enum aif_metric m, struct aif_buf *b)
{
	aif_words_change(&g->c->metric[m].change, b);
	put_words(g, "change", b);
	aif_words_verdict(g->c, m, b);
	put_words(g, "verdict", b);
}

static void begin_table(struct page *g, const char *key, const char *title, const char *none)
{
	aif_out_json_key(&g->json, key);
	aif_buf_putc(&g->json, '{');
	aif_compare_json_text(&g->json, "title", title);
	aif_compare_json_text(&g->json, "none", none);
	aif_buf_puts(&g->json,
		     ",\"types\":{\"difference\":\"signed\",\"A\":\"value\",\"B\":\"value\"},"
		     "\"rows\":[");
}

static void put_stacks(struct page *g, struct aif_buf *b)
{
	const struct aif_comparison *c = g->c;

	begin_table(g, "stacks", "Stacks that changed", aif_words_no_stacks(c));
	for (size_t i = 0; i < c->findings_len; i++) {
		const struct aif_finding *f = &c->findings[i];

		put_item(g);
		aif_compare_stack(c, f->node, 0, b);
		put_words(g, "stack", b);
		aif_compare_json_number(&g->json, "difference", f->delta);
		aif_compare_json_number(&g->json, "A", f->time.change.a);
		aif_compare_json_number(&g->json, "B", f->time.change.b);
		aif_words_change(&f->time.change, b);
		put_words(g, "change", b);
		if (!f->is_change)
			aif_buf_puts(b, "moved");
		else if (c->decides)
			aif_buf_puts(b, aif_words_part(c, f->time.answer));
		put_words(g, "verdict", b);
		aif_words_how(c, f, b);
		put_words(g, "how", b);
		aif_compare_json_number(&g->json, "launches_in_A", f->a_launches);
		aif_compare_json_number(&g->json, "launches_in_B", f->b_launches);
		aif_buf_putc(&g->json, '}');
	}
	aif_buf_puts(&g->json, "]}");
}

static void put_kernels(struct page *g, struct aif_buf *b)
{
	static const char *const partners[] = {"", "renamed: ", "in its place: ", ""};
	const struct aif_comparison *c = g->c;

	begin_table(g, "kernels", "Kernels", "Neither side has kernels.");
	for (size_t i = 0; i < c->kernels_len; i++) {
		const struct aif_compared_kernel *k = &c->kernels[i];

		put_item(g);
		/* The picture has the name of A. */
		aif_compare_json_text(&g->json, "kernel", k->a ? k->a : k->b);
		aif_compare_json_number(&g->json, "difference",
					k->time.change.b - k->time.change.a);
		aif_compare_json_number(&g->json, "A", k->a ? k->time.change.a : NAN);
		aif_compare_json_number(&g->json, "B", k->b ? k->time.change.b : NAN);
		aif_words_change(&k->time.change, b);
		put_words(g, "change", b);
		aif_buf_puts(b, c->decides ? aif_words_kernel(c, k) : "");
		put_words(g, "verdict", b);
		aif_compare_json_number(&g->json, "launches_in_A", k->a_launches);
		aif_compare_json_number(&g->json, "launches_in_B", k->b_launches);
		if (k->a && k->b && *partners[k->matched_by])
			aif_buf_printf(b, "%s%s", partners[k->matched_by], k->b);
		put_words(g, "in_B", b);
		aif_buf_putc(&g->json, '}');
	}
	aif_buf_puts(&g->json, "]}");
}

static void put_metrics(struct page *g, struct aif_buf *b)
{
	const struct aif_comparison *c = g->c;

	aif_buf_puts(&g->json, ",\"metrics\":{\"title\":\"Metrics\",\"types\":{},\"rows\":[");
	for (unsigned m = 0; m < AIF_METRICS; m++) {
		if (!c->has_metric[m])
			continue;
		put_item(g);
		aif_compare_json_text(&g->json, "metric", aif_metric_name(m));
		aif_words_value(c, m, c->metric[m].change.a, b);
		put_words(g, "A", b);
		aif_words_value(c, m, c->metric[m].change.b, b);
		put_words(g, "B", b);
		put_compared(g, m, b);
		aif_buf_putc(&g->json, '}');
	}
	aif_buf_puts(&g->json, "]}");
}

/* The frames of a finding, from the root on. */
static void put_path(struct page *g, uint32_t node)
{
	const struct aif_tree *t = &g->c->tree;
	const char *text;
	size_t len;

	if (!node)
		return;
	put_path(g, t->nodes[node].parent);
	if (g->json.data[g->json.len - 1] != '[')
		aif_buf_putc(&g->json, ',');
	text = aif_tree_text(t, t->nodes[node].name, &len);
	aif_out_json_string(&g->json, text, len);
}

static void put_looks(struct page *g, const char *key, bool decides, const char *more)
{
	const struct aif_palette_colour *of = aif_compare_colours(decides);

	aif_out_json_key(&g->json, key);
	for (unsigned i = 0; i < AIF_LOOKS; i++)
		aif_buf_printf(&g->json, "%s[%u,\"%s%s\",\"rgb(%u,%u,%u)\"]", i ? "," : "[",
			       i + (*more ? AIF_LOOKS : 0), of[i].name, more, of[i].low[0],
			       of[i].low[1], of[i].low[2]);
	aif_buf_putc(&g->json, ']');
}

static int put_tree(struct page *g)
{
	const struct aif_comparison *c = g->c;
	struct aif_page_entries entries = {0};
	struct aif_page_tree tree = {.tree = &c->tree, .entries = &entries, .marks = c->looks};
	double(*own)[2] = calloc(c->tree.len + 1, sizeof(*own));
	int r = own ? 0 : -ENOMEM;

	/* Callees have larger numbers than their callers. */
	for (size_t n = c->tree.len; !r && n-- > 0;)
		for (unsigned side = 0; !r && side < 2; side++) {
			own[n][side] += c->means[n][side];
			if (n)
				own[c->tree.nodes[n].parent][side] -= c->means[n][side];
			if (own[n][side] > 0)
				r = aif_page_entry_add(&entries, (uint32_t)n, AIF_NONE,
						       side ? AIF_PAGE_B : AIF_PAGE_A,
						       aif_u64_of(own[n][side] * g->scale + 0.5));
		}
	if (!r)
		r = aif_page_tree_write(&tree, "diff_", &g->names, &g->columns);
	aif_buf_puts(&g->json, ",\"trees\":[{\"key\":\"diff\",\"join\":1}],\"lacks\":[");
	if (tree.joined) {
		struct aif_buf text = {0};

		aif_buf_printf(&text, "%zu frames are joined in the picture: it has at most %d",
			       tree.joined, AIF_PAGE_FRAMES_MAX);
		aif_out_json_text(&g->json, aif_buf_str(&text));
		aif_buf_finish(&text);
	}
	if (c->a->len > 1 || c->b->len > 1) {
		aif_buf_puts(&g->json, tree.joined ? "," : "");
		aif_out_json_text(&g->json,
				  "the picture has arithmetic means, which add up; tables "
				  "have geometric ones");
	}
	aif_buf_putc(&g->json, ']');
	free(own);
	free(entries.at);
	return r;
}

static int put_all(struct page *g, const char *title)
{
	const struct aif_comparison *c = g->c;
	const struct aif_run *run = aif_compare_run(c, 0);
	struct aif_buf b = {0};
	int r;

	aif_buf_putc(&g->json, '{');
	aif_compare_json_text(&g->json, "title", title);
	aif_compare_json_text(&g->json, "version", AIF_VERSION);
	aif_compare_json_text(&g->json, "first", "overview");
	aif_compare_json_text(&g->json, "unit",
			      run->is_counts || c->by_share ? "counts"
			      : run->in_cycles              ? "cycles"
							    : "ns");
	aif_compare_json_number(&g->json, "scale", g->scale);
	aif_buf_puts(&g->json, ",\"end_ns\":0,\"cell_ns\":1,\"diff\":{");
	aif_compare_json_side(&g->json, "a", c->a);
	aif_compare_json_side(&g->json, "b", c->b);
	aif_words_summary(c, &b);
	put_words(g, "summary", &b);
	aif_words_unit(c, &b);
	put_words(g, "per", &b);
	aif_compare_json_text(&g->json, "unit", aif_compare_unit_name(c));
	aif_compare_json_number(&g->json, "margin", c->margin);
	aif_compare_json_lines(&g->json, "no_verdict", &c->problems);
	aif_compare_json_lines(&g->json, "notes", &c->notes);
	aif_buf_puts(&g->json, "},\"rows_max\":1e9,\"tables\":{");
	put_stacks(g, &b);
	put_kernels(g, &b);
	put_metrics(g, &b);
	aif_buf_puts(&g->json, "},\"paths\":[");
	for (size_t i = 0; i < c->findings_len; i++) {
		aif_buf_puts(&g->json, i ? ",[" : "[");
		put_path(g, c->findings[i].node);
		aif_buf_putc(&g->json, ']');
	}
	aif_buf_putc(&g->json, ']');
	put_looks(g, "looks", c->decides, "");
	put_looks(g, "pale", false, c->decides ? ", not tested" : "");
	aif_buf_putc(&g->json, ',');
	aif_page_palette_write(&g->json, false);
	r = put_tree(g);
	aif_buf_putc(&g->json, ',');
	aif_page_names_write(&g->names, &g->columns, &g->json);
	aif_buf_puts(&g->json, ",\"columns\":");
	aif_buf_append(&g->json, g->columns.index.data, g->columns.index.len);
	aif_buf_puts(&g->json, "}}");
	g->json.failed |= aif_buf_failed(&b);
	aif_buf_finish(&b);
	return r;
}

int aif_comparison_page(const struct aif_comparison *c, const char *title, struct aif_out *out)
{
	double most = AIF_MAX(c->means[0][0], c->means[0][1]);
	struct page g = {.c = c, .scale = most < FINE_BELOW ? FINE : 1};
	struct aif_buf sides = {0};
	int r;

	aif_buf_printf(&sides, "%s, %s", c->a->name, c->b->name);
	if (!title)
		title = aif_buf_str(&sides);
	aif_page_columns_init(&g.columns);
	r = put_all(&g, title);
	if (!r && (aif_buf_failed(&g.json) || aif_buf_failed(&sides) ||
		   aif_page_columns_failed(&g.columns)))
		r = -ENOMEM;
	if (!r) {
		struct aif_page_data data = {&g.json, &g.columns};

		r = aif_page_file_write(AIF_PAGE_OF_SIDES, title, &data, NULL, out);
	}
	aif_page_names_finish(&g.names);
	aif_page_columns_finish(&g.columns);
	aif_buf_finish(&g.json);
	aif_buf_finish(&sides);
	return r;
}
