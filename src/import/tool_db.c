/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tool_db.h"

#include "import/kineto_ranks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int string_add(void *arg, const struct aif_sqlite_row *row)
{
	struct tool_db *t = arg;
	const char *text;
	size_t len;
	int64_t number;
	uint32_t id;

	if (!aif_sqlite_row_i64(row, 0, &number))
		return 0;
	text = aif_sqlite_row_text(row, 1, &len);
	id = aif_strset_put(&t->texts, text, len);
	return id == AIF_STR_NONE ? -ENOMEM : aif_map_put(&t->text_ids, (uint64_t)number, id);
}

int tool_db_strings(struct tool_db *t, const char *table, const char *columns)
{
	return aif_sqlite_in_rows(&t->in, table, columns, string_add, t);
}

const char *tool_db_string(const struct tool_db *t, int64_t number, size_t *ret_len)
{
	uint64_t id;

	*ret_len = 0;
	return aif_map_get(&t->text_ids, (uint64_t)number, &id)
		       ? aif_strset_get(&t->texts, (uint32_t)id, ret_len)
		       : "";
}

struct kineto_event *tool_db_event(struct tool_db *t, int64_t pid, int64_t tid)
{
	struct kineto_event *e = &t->k.event;

	kineto_event_clear(e);
	e->ph = 'X';
	e->pid.number = (int64_t)((uint64_t)pid + (uint64_t)t->shift);
	e->tid.number = tid;
	return e;
}

int tool_db_put(struct tool_db *t, const char *category, const char *name, size_t len,
		int64_t start, int64_t end)
{
	struct kineto_event *e = &t->k.event;

	aif_buf_puts(&e->cat, category);
	aif_buf_append(&e->name, len ? name : "[unknown]", len ? len : 9);
	e->ts = start;
	e->has_ts = true;
	e->is_bad |= __builtin_sub_overflow(end, start, &e->dur);
	t->in.source->events++;
	return kineto_take(&t->k);
}

int tool_db_name(struct tool_db *t, int64_t pid, const int64_t *tid, const char *name, size_t len)
{
	struct kineto_event *e = tool_db_event(t, pid, tid ? *tid : 0);

	if (!len)
		return 0;
	e->ph = 'M';
	aif_buf_puts(&e->name, tid ? "thread_name" : "process_name");
	aif_buf_append(&e->text, name, len);
	return kineto_take(&t->k);
}

int tool_db_device(struct tool_db *t, int64_t number, const char *name, size_t len, uint32_t units)
{
	struct kineto *k = &t->k;
	struct kineto_property p = {.number = (int64_t)((uint64_t)number + (uint64_t)t->shift),
				    .units = units};

	if (k->properties_len >= 4096)
		return 0;
	p.name = len ? aif_builder_str(k->b, name, len) : AIF_NONE;
	if (aif_grow(&k->properties, &k->properties_cap, k->properties_len + 1, sizeof(p)) < 0)
		return -ENOMEM;
	k->properties[k->properties_len++] = p;
	return 0;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static const struct tool {
	const char *name, *table; /* begins with; that there is one says whose file it is */
	enum kineto_family family;
	int (*read)(struct tool_db *t);
	int (*read_late)(struct tool_db *t);
} tools[] = {
	{"nsys", "CUPTI_ACTIVITY_KIND_", KINETO_CUDA, nsys_read, nsys_samples},
	{"nsys", "NVTX_EVENTS", KINETO_CUDA, nsys_read, nsys_samples},
	{"nsys", "COMPOSITE_EVENTS", KINETO_CUDA, nsys_read, nsys_samples},
	{"rocpd", "rocpd_kernel_dispatch", KINETO_HIP, rocpd_read, NULL},
	{"rocpd", "rocpd_region", KINETO_HIP, rocpd_read, NULL},
	{"rocpd of before ROCm 7", "rocpd_op", KINETO_HIP, rpd_read, NULL},
};

static int any(void *arg, const char *table)
{
	(void)arg;
	(void)table;
	return -EEXIST;
}

static const struct tool *tool_of(struct aif_sqlite_in *in)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(tools); i++)
		if (aif_sqlite_in_tables(in, tools[i].table, any, NULL) == -EEXIST)
			return &tools[i];
	return NULL;
}

static int probe(const uint8_t *head, size_t len)
{
	return aif_sqlite_in_probe(head, len) ? 10 : 0;
}

static int read_all(struct tool_db *t, const struct tool *tool, void **state, struct aif_err *err)
{
	struct aif_builder *b = t->k.b;
	char text[512];
	size_t rows = b->waits_len;
	bool is_cpu_only = false; /* nothing of a GPU is in it */
	int r;

	t->k.family = tool->family;
	t->k.demangles = true;
	t->k.is_known = true; /* what a table is of is known */
	r = tool->read(t);
	if (!r && tool->read_late && !t->k.spans_len && !t->k.execs_len) {
		r = tool->read_late(t);
		is_cpu_only = b->waits_len > rows;
	}
	if (!r && !is_cpu_only) {
		uint64_t not_kept;

		r = kineto_build(&t->k, state, err);
		if (r < 0)
			return r;
		not_kept = t->k.not_kept;
		if (tool->read_late)
			r = tool->read_late(t);
		kineto_ranks_add(*state, b, t->k.not_kept - not_kept);
	}
	if (!r && b->failed)
		r = -ENOMEM;
	if (r == -EINTR)
		return aif_err_set(err, r, "%s: stopped", t->k.file);
	if (r < 0)
		return aif_err_set(err, r, "%s: %s", t->k.file, strerror(-r));
	if (is_cpu_only && t->k.not_kept)
		aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE,
				 aif_builder_puts(b, t->k.file), t->k.not_kept);
	if (t->in.damaged) {
		snprintf(text, sizeof(text), "%s: %s", t->k.file, t->in.damage);
		aif_builder_loss(b, AIF_REASON_IMPORT_TEXT, AIF_NONE, aif_builder_puts(b, text),
				 t->in.damaged);
	}
	aif_builder_meta(b, "imported.tool", "%s", tool->name);
	return 0;
}

static int read_file(struct aif_import_source *source, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct tool_db *t = calloc(1, sizeof(*t));
	const struct tool *tool;
	int r;

	if (!t)
		return aif_err_set(err, -ENOMEM, "out of memory");
	t->k.b = t->host.b = b;
	t->k.file = aif_input_name(source->input);
	t->k.host = t->k.main_process = AIF_NONE;
	r = aif_sqlite_in_open(&t->in, source, err);
	if (!r) {
		tool = tool_of(&t->in);
		r = tool ? read_all(t, tool, state, err)
			 : aif_err_set(err, -EBADMSG,
				       "%s: an SQLite file that is not of nsys (nsys export --type "
				       "sqlite) or rocprofv3 (rocpd); aiflame's own need no import",
				       t->k.file);
	}
	aif_sqlite_in_close(&t->in);
	kineto_free(&t->k);
	aif_host_finish(&t->host);
	aif_strset_finish(&t->texts);
	aif_map_finish(&t->text_ids);
	free(t);
	return r;
}

const struct aif_importer aif_importer_tool_db = {
	.name = "nsys or rocpd",
	.summary = "nsys's export to SQLite, rocprofv3's rocpd",
	.uses = AIF_IMPORT_USES_COUNT,
	.probe = probe,
	.read = read_file,
	.finish = kineto_ranks_finish,
};
