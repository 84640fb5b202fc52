/* SPDX-License-Identifier: Apache-2.0 */
#include "import/sqlite/tool_db.h"

#include <errno.h>

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
	return kineto_collect(&t->k);
}

int tool_db_begin(struct tool_db *t, const char *category, const char *name, size_t len,
		  int64_t start)
{
	struct kineto_event *e = &t->k.event;

	aif_buf_puts(&e->cat, category);
	aif_buf_append(&e->name, len ? name : "[unknown]", len ? len : 9);
	e->ph = 'B';
	e->ts = start;
	e->has_ts = true;
	t->in.source->events++;
	return kineto_collect(&t->k);
}

int tool_db_name(struct tool_db *t, int64_t pid, const int64_t *tid, const char *name, size_t len)
{
	struct kineto_event *e = tool_db_event(t, pid, tid ? *tid : 0);

	if (!len)
		return 0;
	e->ph = 'M';
	aif_buf_puts(&e->name, tid ? "thread_name" : "process_name");
	aif_buf_append(&e->text, name, len);
	return kineto_collect(&t->k);
}

int tool_db_device(struct tool_db *t, int64_t number, const char *name, size_t len, uint32_t units)
{
	struct kineto *k = &t->k;
	struct kineto_property p = {.number = (int64_t)((uint64_t)number + (uint64_t)t->shift),
				    .units = units};

	p.name = len ? aif_builder_str(k->b, name, len) : AIF_NONE;
	return kineto_property_add(&k->machine, &p);
}
