/* SPDX-License-Identifier: Apache-2.0 */
#include "page/page.h"

#include "analysis/time.h"
#include "page/file.h"
#include "page/strips.h"
#include "page/tables.h"
#include "page/trees.h"
#include "page/whole_steps.h"
#include "profile/file.h"
#include "report/summary/summary.h"
#include "report/why/why.h"
#include "text/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct page {
	const struct aif_names *names;
	const struct aif_page_opts *o;
	struct aif_attribution a;
	struct aif_why why;
	struct aif_err why_none; /* why there is no .why */
	int why_result;          /* -errno: there is none */
	const struct aif_idle_part *idle;
	struct aif_page_alike alike;
	struct aif_page_grid grid;
	struct aif_page_names texts;
	struct aif_page_columns columns;
	struct aif_buf json, lacks, trees, roots, owners;
	/* The time line's. */
	struct aif_page_event_groups events;
	struct aif_page_span *whole;
	size_t whole_len;
	struct aif_buf timeline_json;
	struct aif_page_columns timeline_columns;
};

/* ---- what is read -------------------------------------------------------------------------------- */

static int cpu_end_take(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	uint64_t *end = arg, at;

	for (size_t i = 0; i < n; i++) {
		if (__builtin_add_overflow(rows[i].time,
					   rows[i].waiting ? rows[i].waiting : rows[i].weight, &at))
			at = rows[i].time;
		*end = AIF_MAX(*end, at);
	}
	return 0;
}

/* The end of the last row. */
static int end_find(const struct page *g, uint64_t *ret)
{
	const struct aif_profile *p = g->names->p;
	uint64_t cpu = p->start_ns;
	int r = aif_profile_cpu(p, cpu_end_take, &cpu, NULL);

	*ret = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
	*ret = AIF_MAX(*ret, cpu - p->start_ns);
	for (size_t i = 0; i < g->idle->t->execs_len; i++)
		*ret = AIF_MAX(*ret, (uint64_t)AIF_MAX(g->idle->t->execs[i].end, 0));
	*ret = AIF_MIN(*ret, (uint64_t)AIF_TIME_MAX);
	return r;
}

/* Reads the idle time, after what `why` says: of a long recording both at a time would take half as much memory again. What
 * they are made from is kept from the one for the other. */
static int idle_read(struct page *g)
{
	const struct aif_profile *p = g->names->p;
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	int r = aif_exec_timeline_get(p, NULL, &t);

	if (r == 0)
		r = aif_utilization_get(p, t, &u);
	if (r == 0 && !g->o->is_scope)
		g->why_result = aif_why_measure(g->names, NULL, &g->why, &g->why_none);
	if (r == 0)
		r = aif_idle_part_get_course(p, NULL, &g->idle);
	aif_facts_put(u);
	aif_facts_put(t);
	return r;
}

static int page_read(struct page *g, struct aif_err *err)
{
	const struct aif_profile *p = g->names->p;
	uint64_t end = 0;
	int r = aif_attribution_compute(p, NULL, &g->a, err);

	if (r < 0)
		return r;
	r = idle_read(g);
	if (r == 0)
		r = end_find(g, &end);
	if (r < 0)
		return aif_err_set(err, r, "view: %s", strerror(-r));
	g->grid = aif_page_grid_of(end);
	r = aif_page_alike_make(g->idle->u, &g->alike);
	return r < 0 ? aif_err_set(err, r, "view: %s", strerror(-r)) : 0;
}

/* ---- the object ---------------------------------------------------------------------------------- */

static void text_put(struct page *g, const char *key, const char *text)
{
	aif_buf_printf(&g->json, "\"%s\":", key);
	aif_out_json_text(&g->json, text);
	aif_buf_putc(&g->json, ',');
}

/* Appends what `why` calls idle time, by its cause, and the names of its groups. */
static void causes_put(struct page *g)
{
	aif_buf_puts(&g->json, "\"causes\":{");
	for (unsigned c = 0; c < AIF_IDLE_CAUSES; c++)
		aif_buf_printf(&g->json, "%s\"%s\":\"%s\"", c ? "," : "", aif_idle_cause_name(c),
			       aif_why_group_key(aif_why_group_of(c)));
	aif_buf_puts(&g->json, "},\"groups\":{");
	for (unsigned c = 0; c < AIF_WHY_GROUPS; c++)
		aif_buf_printf(&g->json, "%s\"%s\":\"%s\"", c ? "," : "",
			       aif_why_group_key((enum aif_why_group)c),
			       aif_why_group_name((enum aif_why_group)c));
	aif_buf_puts(&g->json, "},");
}

static void head_put(struct page *g)
{
	const struct aif_profile *p = g->names->p;
	time_t start = (time_t)(strtoull(aif_profile_meta(p, "start_realtime_ns"), NULL, 10) /
				AIF_NS_PER_S);
	struct aif_buf quality = {0}, title = {0};
	struct tm tm;
	char date[32] = "";

	if (start && gmtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	aif_buf_puts(&title, g->o->title ? g->o->title : aif_profile_meta(p, "command"));
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_buf_puts(&title, " (cut short)");
	text_put(g, "title", aif_buf_str(&title));
	g->json.failed |= aif_buf_failed(&title);
	aif_buf_finish(&title);
	text_put(g, "file", g->o->path);
	text_put(g, "host", aif_profile_meta(p, "host"));
	text_put(g, "date", date);
	text_put(g, "version", AIF_VERSION);
	text_put(g, "first", g->o->first ? g->o->first : "overview");
	aif_summary_quality(p, &g->a, &quality);
	text_put(g, "quality", aif_buf_str(&quality));
	if (aif_buf_failed(&quality))
		g->json.failed = true;
	aif_buf_finish(&quality);
	aif_buf_printf(
		&g->json,
		"\"scope\":%s,\"imported\":%s,\"cell_ns\":%llu,\"cells\":%u,\"end_ns\":%llu,",
		g->o->is_scope ? "true" : "false", p->traits.is_imported ? "true" : "false",
		(unsigned long long)g->grid.cell_ns, g->grid.cells,
		(unsigned long long)g->grid.end_ns);
	if (g->alike.as) {
		char text[160];

		snprintf(
			text, sizeof(text),
			"over time %zu of %zu devices in processes are drawn, each for those that did the "
			"same to %.3g %% of each sixteenth of the run; aiflame view --rank draws others",
			g->alike.drawn, g->alike.len, 100 * g->alike.within);
		aif_page_lack(&g->lacks, text);
	}
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_page_lack(&g->lacks,
			      "the recording was cut short: what came after its last commit");
	if (!aif_conservation_check(&g->a.conservation, NULL))
		aif_page_lack(&g->lacks, "this profile does not add up: aiflame info says where");
	if (g->idle->t->damaged || g->idle->blame.damaged)
		aif_page_lack(&g->lacks, "part of the file is damaged: what it held is missing");
}

/* Losses that a page has in words. */
#define LOSSES_MAX 100

static void loss_put(void *arg, const char *text)
{
	aif_page_lack(arg, text);
}

/* Appends what was lost, and what that leaves incomplete. */
static void losses_put(struct page *g)
{
	const struct aif_profile *p = g->names->p;
	struct aif_buf losses = {0}, incomplete = {0};

	aif_summary_losses(p, LOSSES_MAX, loss_put, &losses);
	aif_lacks_say(&p->traits, UINT_MAX, &incomplete);
	text_put(g, "incomplete", aif_buf_str(&incomplete));
	aif_buf_puts(&g->json, "\"losses\":[");
	aif_buf_append(&g->json, losses.data, losses.len);
	aif_buf_puts(&g->json, "],");
	g->json.failed |= aif_buf_failed(&losses) || aif_buf_failed(&incomplete);
	aif_buf_finish(&losses);
	aif_buf_finish(&incomplete);
}

/* Operators of a trace have the colour of C++. */
static bool has_operators(const struct aif_profile *p)
{
	for (size_t i = 0; i < p->frames_len; i++)
		if (p->frames[i].kind == AIF_FRAME_OP)
			return true;
	return false;
}

static int steps_put(struct page *g, const struct aif_phases *f)
{
	uint64_t *at = malloc((f->len + 1) * sizeof(*at));

	for (size_t i = 0; at && i < f->len; i++)
		at[i] = (uint64_t)AIF_MAX(f->steps[i].start, 0);
	if (at)
		aif_page_u64(&g->columns, "step_start", at, f->len);
	for (size_t i = 0; at && i < f->len; i++)
		at[i] = (uint64_t)AIF_MAX(f->steps[i].end, 0);
	if (at)
		aif_page_u64(&g->columns, "step_end", at, f->len);
	free(at);
	return at ? 0 : -ENOMEM;
}

/* Appends what `why` says of a program that used no device: its lines. */
static int why_cpu_put(struct page *g)
{
	struct aif_buf said = {0};
	struct aif_err err = {0};
	char *line, *rest = NULL;
	int r = aif_why_cpu(g->names, NULL, "", false, &said, &err);

	aif_buf_putc(&said, '\0');
	if (aif_buf_failed(&said))
		r = -ENOMEM;
	if (r < 0) {
		text_put(g, "why_none", g->why_none.text);
	} else {
		aif_buf_puts(&g->json, "\"why_cpu\":[");
		for (line = strtok_r((char *)said.data, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest)) {
			if (line != (char *)said.data)
				aif_buf_putc(&g->json, ',');
			aif_out_json_text(&g->json, line);
		}
		aif_buf_puts(&g->json, "],");
	}
	aif_buf_finish(&said);
	return r == -ENOMEM ? r : 0;
}

/* Appends what `why` says. */
static int why_put(struct page *g, struct aif_err *err)
{
	int r = g->o->is_scope ? -ENODATA : g->why_result;

	if (r == 0) {
		struct aif_buf brief = {0};

		aif_buf_puts(&g->json, "\"why\":");
		aif_why_json(g->names, &g->why, NULL, &g->json);
		aif_buf_putc(&g->json, ',');
		aif_why_say_briefly(g->names, &g->why, &brief);
		text_put(g, "why_brief", aif_buf_str(&brief));
		aif_buf_clear(&brief);
		aif_why_say_job(g->names, &g->why, &brief);
		text_put(g, "why_job", aif_buf_str(&brief));
		aif_buf_finish(&brief);
		r = steps_put(g, &g->why.phases);
		if (r == 0 && g->idle->t->execs_len > AIF_PAGE_EXECS_MAX)
			r = aif_page_whole_steps(&g->why.phases, g->idle->t, AIF_PAGE_WHOLE_MAX,
						 &g->whole, &g->whole_len);
	}
	if (!g->o->is_scope && (r == 0 ? !g->why.time_ns : r != -ENOMEM))
		r = why_cpu_put(g);
	else if (r != -ENOMEM)
		r = AIF_MAX(r, 0);
	aif_why_finish(&g->why);
	return r < 0 ? aif_err_set(err, r, "view: %s", strerror(-r)) : 0;
}

static int trees_put(struct page *g, struct aif_err *err)
{
	struct aif_page_trees t = {.names = g->names,
				   .a = &g->a,
				   .idle = g->idle,
				   .grid = &g->grid,
				   .frames_max = g->o->frames_max,
				   .texts = &g->texts,
				   .columns = &g->columns,
				   .json = &g->trees,
				   .roots = &g->roots,
				   .owners = g->o->is_scope ? NULL : &g->owners,
				   .lacks = &g->lacks,
				   .events = g->o->is_scope ? NULL : &g->events};
	struct aif_err why = {0}, device = {0};
	int r = aif_page_device_tree(&t, &device);

	if (r < 0 && r != -ENODATA)
		return aif_err_set(err, r, "%s", device.text);
	r = aif_page_cpu_trees(&t, &why);
	if (r < 0 && r != -ENODATA)
		return aif_err_set(err, r, "%s", why.text);
	/* A program that uses no device lacks none. */
	if (r < 0 && *device.text)
		aif_page_lack(&g->lacks, device.text);
	if (r < 0)
		aif_page_lack(&g->lacks, why.text);
	why = (struct aif_err){0};
	r = aif_page_memory_tree(&t, &why);
	if (r < 0 && r != -ENODATA)
		return aif_err_set(err, r, "%s", why.text);
	return 0;
}

static int object_make(struct page *g, struct aif_err *err)
{
	int r;

	aif_buf_putc(&g->json, '{');
	head_put(g);
	losses_put(g);
	causes_put(g);
	aif_page_palette_write(&g->json, has_operators(g->names->p));
	aif_buf_putc(&g->json, ',');
	r = trees_put(g, err);
	if (r == 0)
		r = why_put(g, err);
	if (r == 0 && aif_page_strips_write(g->names->p, g->idle, &g->alike, &g->grid, &g->columns,
					    &g->json) < 0)
		r = aif_err_set(err, -ENOMEM, "view: out of memory");
	aif_buf_putc(&g->json, ',');
	if (r == 0) {
		r = aif_page_counters_write(g->names->p, &g->grid, &g->columns, &g->json);
		if (r < 0)
			aif_err_set(err, r, "view: %s", strerror(-r));
		aif_buf_putc(&g->json, ',');
	}
	if (r == 0 && !g->o->is_scope)
		r = aif_page_tables_write(g->names, &g->a, &g->columns, &g->json, err);
	if (r == 0 && !g->o->is_scope)
		aif_buf_putc(&g->json, ',');
	if (r == 0 && !g->o->is_scope)
		r = aif_page_listings_write(g->names, &g->a, &g->o->annotate, &g->columns, &g->json,
					    err);
	if (r < 0)
		return r;
	if (!g->o->is_scope)
		aif_buf_putc(&g->json, ',');
	aif_page_names_write(&g->texts, &g->columns, &g->json);
	aif_buf_puts(&g->json, ",\"trees\":[");
	aif_buf_append(&g->json, g->trees.data, g->trees.len);
	aif_buf_puts(&g->json, "],\"roots\":[");
	aif_buf_append(&g->json, g->roots.data, g->roots.len);
	aif_buf_puts(&g->json, "],\"owners\":[");
	aif_buf_append(&g->json, g->owners.data, g->owners.len);
	aif_buf_puts(&g->json, "],\"lacks\":[");
	aif_buf_append(&g->json, g->lacks.data, g->lacks.len);
	aif_buf_puts(&g->json, "],\"columns\":");
	aif_buf_append(&g->json, g->columns.index.data, g->columns.index.len);
	aif_buf_puts(&g->json, "}}");
	return aif_buf_failed(&g->json) || aif_buf_failed(&g->trees) || aif_buf_failed(&g->lacks) ||
			       aif_buf_failed(&g->roots) || aif_buf_failed(&g->owners) ||
			       aif_page_columns_failed(&g->columns)
		       ? aif_err_set(err, -ENOMEM, "view: out of memory")
		       : 0;
}

static int timeline_make(struct page *g, struct aif_err *err)
{
	struct aif_page_timeline t = {.names = g->names,
				      .idle = g->idle,
				      .alike = &g->alike,
				      .groups = &g->events,
				      .whole = g->whole,
				      .whole_len = g->whole_len,
				      .columns = &g->timeline_columns,
				      .json = &g->timeline_json};
	int r;

	g->idle = aif_facts_none();
	r = aif_page_timeline_write(&t);
	aif_page_timeline_finish(&t);
	return r < 0 ? aif_err_set(err, r, "view: %s", strerror(-r)) : 0;
}

int aif_page_write(const struct aif_names *names, const struct aif_page_opts *o,
		   struct aif_out *out, struct aif_err *err)
{
	struct page g = {.names = names, .o = o, .idle = aif_facts_none()};
	int r;

	aif_page_columns_init(&g.columns);
	aif_page_columns_init(&g.timeline_columns);
	r = page_read(&g, err);
	if (r == 0)
		r = object_make(&g, err);
	if (r == 0 && !o->is_scope)
		r = timeline_make(&g, err);
	if (r == 0) {
		struct aif_page_data data = {&g.json, &g.columns},
				     later = {&g.timeline_json, &g.timeline_columns};

		r = aif_page_file_write(AIF_PAGE_OF_PROFILE,
					o->title ? o->title : aif_profile_meta(names->p, "command"),
					&data, o->is_scope ? NULL : &later, out);
		if (r < 0)
			aif_err_set(err, r, "view: %s", strerror(-r));
	}
	aif_why_finish(&g.why);
	aif_attribution_finish(&g.a);
	aif_facts_put(g.idle);
	aif_page_alike_finish(&g.alike);
	aif_page_names_finish(&g.texts);
	aif_page_columns_finish(&g.columns);
	aif_buf_finish(&g.json);
	aif_buf_finish(&g.lacks);
	aif_buf_finish(&g.trees);
	aif_buf_finish(&g.roots);
	aif_buf_finish(&g.owners);
	aif_page_event_groups_finish(&g.events);
	free(g.whole);
	aif_buf_finish(&g.timeline_json);
	aif_page_columns_finish(&g.timeline_columns);
	return r;
}
