/* SPDX-License-Identifier: Apache-2.0 */
#include "import/sqlite/tool_db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Reads what rocprofv3 writes with --output-format rocpd. Layout: rocprofiler-sdk, source/share/rocprofiler-sdk-rocpd/
 * rocpd_tables.sql: schema 3 has times in the rows, the next one has them and where it was in tables of their own
 * (rocpd_timestamp, rocpd_track). Tables' names end with the identifier of the process that wrote them; a file may have
 * those of several. The views over them are not used. A call and what it launched have the same stack_id of their
 * events.
 */
/* A file that was merged has those of all ranks of a job. What there is more of is counted. */
#define SUFFIXES_MAX 4096

struct rocpd_event {
	int64_t category, stack;
};
struct rocpd_track {
	int64_t pid, tid, agent, queue, stream;
};
struct rocpd_symbol {
	uint32_t name; /* in .names */
	uint32_t registers, shared_bytes;
};
struct rocpd {
	struct tool_db *t;
	char (*suffixes)[160];
	size_t suffixes_len;
	uint64_t suffixes_left;
	int64_t part; /* which of the suffixes */
	AIF_TABLE(rocpd_event, events);
	AIF_TABLE(rocpd_track, tracks);
	AIF_TABLE(rocpd_symbol, symbols);
	struct aif_strset names;
	struct aif_map event_ids, track_ids, symbol_ids, times, pids, tids, gpus;
};

#define PUSH(x, map, number, table, ...)                                                         \
	(aif_grow(&(x)->table, &(x)->table##_cap, (x)->table##_len + 1, sizeof(*(x)->table)) < 0 \
		 ? -ENOMEM                                                                       \
		 : ((x)->table[(x)->table##_len] = __VA_ARGS__,                                  \
		    aif_map_put(&(x)->map, (uint64_t)(number), (x)->table##_len++)))

static int64_t known(const struct aif_map *m, int64_t number)
{
	uint64_t v;

	return aif_map_get(m, (uint64_t)number, &v) ? (int64_t)v : number;
}

/* ---- what rows refer to -------------------------------------------------------------------------- */

/* Counts a row without the numbers that say what it is. */
static int row_bad(struct rocpd *x)
{
	x->t->k.counts.bad++;
	return 0;
}

static int process_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	int64_t id, pid;
	size_t len;
	const char *name = aif_sqlite_row_text(row, 2, &len);

	if (!aif_sqlite_row_i64(row, 0, &id) || !aif_sqlite_row_i64(row, 1, &pid))
		return row_bad(x);
	if (aif_map_put(&x->pids, (uint64_t)id, (uint64_t)pid) < 0)
		return -ENOMEM;
	if (!len)
		name = aif_sqlite_row_text(row, 3, &len);
	return tool_db_name(x->t, pid, NULL, name, len);
}

static int thread_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	int64_t id, pid, tid;
	size_t len;
	const char *name = aif_sqlite_row_text(row, 3, &len);

	if (!aif_sqlite_row_i64(row, 0, &id) || !aif_sqlite_row_i64(row, 1, &pid) ||
	    !aif_sqlite_row_i64(row, 2, &tid))
		return row_bad(x);
	if (aif_map_put(&x->tids, (uint64_t)id, (uint64_t)tid) < 0)
		return -ENOMEM;
	return tool_db_name(x->t, known(&x->pids, pid), &tid, name, len);
}

/* id,type,product_name,model_name,name */
static int agent_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	int64_t id;
	size_t len, type_len;
	const char *type = aif_sqlite_row_text(row, 1, &type_len), *name = "";
	bool is_gpu = type_len == 3 && !memcmp(type, "GPU", 3);

	if (!aif_sqlite_row_i64(row, 0, &id))
		return row_bad(x);
	for (int i = 2; i < 5 && !*name; i++)
		name = aif_sqlite_row_text(row, i, &len);
	if (is_gpu && aif_map_put(&x->gpus, (uint64_t)id, 1) < 0)
		return -ENOMEM;
	return is_gpu ? tool_db_device(x->t, id, name, strlen(name), 0) : 0;
}

/* id,display_name,kernel_name,arch_vgpr_count,group_segment_size */
static int symbol_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	struct rocpd_symbol s = {.registers = aif_sqlite_row_u32(row, 3),
				 .shared_bytes = aif_sqlite_row_u32(row, 4)};
	int64_t id;
	size_t len;
	const char *name = aif_sqlite_row_text(row, 1, &len);

	if (!aif_sqlite_row_i64(row, 0, &id))
		return row_bad(x);
	if (!len)
		name = aif_sqlite_row_text(row, 2, &len);
	s.name = aif_strset_put(&x->names, name, len);
	return s.name == AIF_STR_NONE ? -ENOMEM : PUSH(x, symbol_ids, id, symbols, s);
}

static int event_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	struct rocpd_event e = {0};
	int64_t id;

	aif_sqlite_row_i64(row, 1, &e.category);
	aif_sqlite_row_i64(row, 2, &e.stack);
	return aif_sqlite_row_i64(row, 0, &id) ? PUSH(x, event_ids, id, events, e) : row_bad(x);
}

static int track_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	struct rocpd_track t;
	int64_t id;

	aif_sqlite_row_i64(row, 1, &t.pid);
	aif_sqlite_row_i64(row, 2, &t.tid);
	aif_sqlite_row_i64(row, 3, &t.agent);
	aif_sqlite_row_i64(row, 4, &t.queue);
	aif_sqlite_row_i64(row, 5, &t.stream);
	return aif_sqlite_row_i64(row, 0, &id) ? PUSH(x, track_ids, id, tracks, t) : row_bad(x);
}

static int time_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	int64_t id, value;

	return aif_sqlite_row_i64(row, 0, &id) && aif_sqlite_row_i64(row, 1, &value)
		       ? aif_map_put(&x->times, (uint64_t)id, (uint64_t)value)
		       : row_bad(x);
}

/* ---- events -------------------------------------------------------------------------------------- */

/* First columns of regions, dispatches and copies: times, places, and the event's number. */
#define COMMON         "start,end,pid,tid,agent_id,queue_id,stream_id,start_id,end_id,track_id,event_id,"
#define COMMON_COLUMNS 11

struct common {
	int64_t start, end;
	struct rocpd_track at;
	const struct rocpd_event *event; /* NULL: none */
};

static bool common_of(struct rocpd *x, const struct aif_sqlite_row *row, struct common *ret)
{
	struct common c = {0};
	int64_t v;
	uint64_t i;
	bool has_times = aif_sqlite_row_i64(row, 0, &c.start) & aif_sqlite_row_i64(row, 1, &c.end);

	aif_sqlite_row_i64(row, 2, &c.at.pid);
	aif_sqlite_row_i64(row, 3, &c.at.tid);
	aif_sqlite_row_i64(row, 4, &c.at.agent);
	aif_sqlite_row_i64(row, 5, &c.at.queue);
	aif_sqlite_row_i64(row, 6, &c.at.stream);
	if (!has_times && aif_sqlite_row_i64(row, 7, &v) &&
	    aif_map_get(&x->times, (uint64_t)v, &i)) {
		c.start = (int64_t)i;
		has_times =
			aif_sqlite_row_i64(row, 8, &v) && aif_map_get(&x->times, (uint64_t)v, &i);
		c.end = has_times ? (int64_t)i : 0;
	}
	if (aif_sqlite_row_i64(row, 9, &v) && aif_map_get(&x->track_ids, (uint64_t)v, &i))
		c.at = x->tracks[i];
	if (aif_sqlite_row_i64(row, 10, &v) && aif_map_get(&x->event_ids, (uint64_t)v, &i))
		c.event = &x->events[i];
	*ret = c;
	if (!has_times)
		x->t->k.counts.bad++;
	return has_times;
}

static struct kineto_event *event_of(struct rocpd *x, const struct common *c)
{
	int64_t pid = known(&x->pids, c->at.pid), tid = known(&x->tids, c->at.tid);
	struct kineto_event *e = tool_db_event(x->t, pid, tid);

	if (c->event && c->event->stack) {
		e->has_correlation = true;
		e->correlation = aif_mix64((uint64_t)e->pid.number) + (uint64_t)c->event->stack;
	}
	return e;
}

static struct kineto_event *device_event(struct rocpd *x, const struct common *c, int64_t agent)
{
	struct kineto_event *e = event_of(x, c);

	e->has_device = e->has_stream = true;
	e->device = (int64_t)((uint64_t)agent + (uint64_t)x->t->shift);
	x->t->k.machine.has_stream_places = true;
	e->stream = (int64_t)((uint64_t)c->at.queue << 32 | ((uint64_t)c->at.stream & 0xffffffff));
	return e;
}

/* roctx's ranges are regions named after the call; what the program said is in their extra data. */
static size_t message_of(const char *extra, const char **ret)
{
	const char *at = strstr(extra, "\"message\"");

	at = at ? strchr(at + 9, '"') : NULL;
	*ret = at ? at + 1 : "";
	return at ? strcspn(at + 1, "\"") : 0;
}

/* name_id,extdata */
static int region_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	struct common c;
	int64_t name;
	const char *text, *category = "", *message;
	size_t len, category_len = 0, message_len;
	bool is_marker;

	if (!common_of(x, row, &c))
		return 0;
	aif_sqlite_row_i64(row, COMMON_COLUMNS, &name);
	if (c.event)
		category = tool_db_string(x->t, c.event->category, &category_len);
	is_marker = strncmp(category, "MARKER", 6) == 0;
	event_of(x, &c);
	message_len = message_of(aif_sqlite_row_text(row, COMMON_COLUMNS + 1, &len), &message);
	text = tool_db_string(x->t, name, &len);
	if (is_marker && message_len && len > 5 && !memcmp(text, "roctx", 5)) {
		text = message;
		len = message_len;
	}
	if (is_marker)
		x->t->k.event.has_correlation = false;
	return tool_db_put(x->t, is_marker ? "user_annotation" : "hip_runtime", text, len, c.start,
			   c.end);
}

/* kernel_id, grid in work items, groups */
static int dispatch_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	struct kineto_event *e;
	struct common c;
	int64_t kernel;
	uint64_t i;
	const char *name = "";
	size_t len = 0;

	if (!common_of(x, row, &c))
		return 0;
	e = device_event(x, &c, c.at.agent);
	aif_sqlite_row_i64(row, COMMON_COLUMNS, &kernel);
	for (int d = 0; d < 3; d++) {
		uint32_t items = aif_sqlite_row_u32(row, COMMON_COLUMNS + 1 + d),
			 group = aif_sqlite_row_u32(row, COMMON_COLUMNS + 4 + d);

		e->block[d] = group;
		e->grid[d] = group ? items / group + (items % group != 0) : items;
	}
	if (aif_map_get(&x->symbol_ids, (uint64_t)kernel, &i)) {
		name = aif_strset_get(&x->names, x->symbols[i].name, &len);
		e->registers = x->symbols[i].registers;
		e->shared_bytes = x->symbols[i].shared_bytes;
	}
	return tool_db_put(x->t, "kernel", name, len, c.start, c.end);
}

/* name_id,size,dst_agent_id,src_agent_id */
static int copy_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rocpd *x = arg;
	struct common c;
	int64_t name, size, to, from;
	uint64_t is_gpu;
	const char *text;
	size_t len;

	if (!common_of(x, row, &c))
		return 0;
	aif_sqlite_row_i64(row, COMMON_COLUMNS, &name);
	aif_sqlite_row_i64(row, COMMON_COLUMNS + 1, &size);
	aif_sqlite_row_i64(row, COMMON_COLUMNS + 2, &to);
	aif_sqlite_row_i64(row, COMMON_COLUMNS + 3, &from);
	device_event(x, &c, aif_map_get(&x->gpus, (uint64_t)to, &is_gpu) ? to : from)->bytes =
		size > 0 ? (uint64_t)size : 0;
	text = tool_db_string(x->t, name, &len);
	return tool_db_put(x->t, "gpu_memcpy", text, len, c.start, c.end);
}

/* ---- the file ------------------------------------------------------------------------------------ */

static int suffix_add(void *arg, const char *table)
{
	struct rocpd *x = arg;
	const char *suffix = table + strlen("rocpd_string");

	if (x->suffixes_len < SUFFIXES_MAX && strlen(suffix) < sizeof(x->suffixes[0]))
		strcpy(x->suffixes[x->suffixes_len++], suffix);
	else
		x->suffixes_left++;
	return 0;
}

static void part_clear(struct rocpd *x)
{
	aif_map_clear(&x->event_ids);
	aif_map_clear(&x->track_ids);
	aif_map_clear(&x->symbol_ids);
	aif_map_clear(&x->times);
	aif_map_clear(&x->pids);
	aif_map_clear(&x->tids);
	aif_map_clear(&x->gpus);
	aif_map_clear(&x->t->text_ids);
	x->events_len = x->tracks_len = x->symbols_len = 0;
}

static int part_read(struct rocpd *x, const char *suffix)
{
	static const struct {
		const char *table, *columns;
		int (*fn)(void *arg, const struct aif_sqlite_row *row);
	} tables[] = {
		{"rocpd_info_process", "id,pid,name,command", process_add},
		{"rocpd_info_thread", "id,pid,tid,name", thread_add},
		{"rocpd_info_agent", "id,type,product_name,model_name,name", agent_add},
		{"rocpd_info_kernel_symbol",
		 "id,display_name,kernel_name,arch_vgpr_count,group_segment_size", symbol_add},
		{"rocpd_event", "id,category_id,stack_id", event_add},
		{"rocpd_track", "id,pid,tid,agent_id,queue_id,stream_id", track_add},
		{"rocpd_timestamp", "id,value", time_add},
		{"rocpd_region", COMMON "name_id,extdata", region_add},
		{"rocpd_kernel_dispatch",
		 COMMON "kernel_id,grid_size_x,grid_size_y,grid_size_z,workgroup_size_x,"
			"workgroup_size_y,workgroup_size_z",
		 dispatch_add},
		{"rocpd_memory_copy", COMMON "name_id,size,dst_agent_id,src_agent_id", copy_add},
	};
	char name[256];
	int r;

	part_clear(x);
	snprintf(name, sizeof(name), "rocpd_string%s", suffix);
	r = tool_db_strings(x->t, name, "id,string");
	for (size_t i = 0; !r && i < AIF_ARRAY_LEN(tables); i++) {
		snprintf(name, sizeof(name), "%s%s", tables[i].table, suffix);
		r = aif_sqlite_in_rows(&x->t->in, name, tables[i].columns, tables[i].fn, x);
	}
	return r;
}

int rocpd_read(struct tool_db *t)
{
	struct rocpd x = {.t = t, .suffixes = calloc(SUFFIXES_MAX, sizeof(*x.suffixes))};
	int r = x.suffixes ? 0 : -ENOMEM;

	if (!r)
		r = aif_sqlite_in_tables(&t->in, "rocpd_string", suffix_add, &x);
	for (size_t i = 0; !r && i < x.suffixes_len; i++) {
		/* Each has its own numbers, from 1 on. */
		t->shift = (int64_t)(i << 40);
		r = part_read(&x, x.suffixes[i]);
	}
	aif_builder_loss(t->k.b, AIF_REASON_IMPORT_PROCESSES, AIF_NONE,
			 aif_builder_puts(t->k.b, t->k.file), x.suffixes_left);
	part_clear(&x);
	aif_map_finish(&x.event_ids);
	aif_map_finish(&x.track_ids);
	aif_map_finish(&x.symbol_ids);
	aif_map_finish(&x.times);
	aif_map_finish(&x.pids);
	aif_map_finish(&x.tids);
	aif_map_finish(&x.gpus);
	aif_strset_finish(&x.names);
	free(x.events);
	free(x.tracks);
	free(x.symbols);
	free(x.suffixes);
	return r;
}

/* ---- of before ----------------------------------------------------------------------------------- */

/*
 * RocmProfileData's files ("rpd", ROCm 4 to 6; github.com/ROCm/rocmProfileData, rpd_tracer): rocpd_api has calls, rocpd_op
 * what ran on devices, rocpd_api_ops which launched which.
 */
struct rpd {
	struct tool_db *t;
	struct aif_map calls; /* op -> call */
};

static int pair_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rpd *x = arg;
	int64_t call, op;

	return aif_sqlite_row_i64(row, 0, &call) && aif_sqlite_row_i64(row, 1, &op)
		       ? aif_map_put(&x->calls, (uint64_t)op, (uint64_t)call)
		       : (x->t->k.counts.bad++, 0);
}

/* id,pid,tid,start,end,apiName_id,args_id */
static int api_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rpd *x = arg;
	struct kineto_event *e;
	int64_t id, pid, tid, start, end, name, args;
	const char *text;
	size_t len;
	bool is_marker;

	if (!aif_sqlite_row_i64(row, 0, &id) || !aif_sqlite_row_i64(row, 3, &start) ||
	    !aif_sqlite_row_i64(row, 4, &end)) {
		x->t->k.counts.bad++;
		return 0;
	}
	aif_sqlite_row_i64(row, 1, &pid);
	aif_sqlite_row_i64(row, 2, &tid);
	aif_sqlite_row_i64(row, 5, &name);
	e = tool_db_event(x->t, pid, tid);
	text = tool_db_string(x->t, name, &len);
	is_marker = len == 10 && !memcmp(text, "UserMarker", 10);
	if (is_marker && aif_sqlite_row_i64(row, 6, &args))
		text = tool_db_string(x->t, args, &len);
	e->has_correlation = !is_marker;
	e->correlation = (uint64_t)id;
	return tool_db_put(x->t, is_marker ? "user_annotation" : "hip_runtime", text, len, start,
			   end);
}

/* id,gpuId,queueId,start,end,description_id,opType_id */
static int op_add(void *arg, const struct aif_sqlite_row *row)
{
	struct rpd *x = arg;
	struct kineto_event *e;
	int64_t id, start, end, description, type;
	const char *text, *type_text;
	size_t len, type_len;
	uint64_t call;

	if (!aif_sqlite_row_i64(row, 0, &id) || !aif_sqlite_row_i64(row, 3, &start) ||
	    !aif_sqlite_row_i64(row, 4, &end)) {
		x->t->k.counts.bad++;
		return 0;
	}
	aif_sqlite_row_i64(row, 5, &description);
	aif_sqlite_row_i64(row, 6, &type);
	e = tool_db_event(x->t, 0, 0);
	e->has_device = e->has_stream = true;
	aif_sqlite_row_i64(row, 1, &e->device);
	aif_sqlite_row_i64(row, 2, &e->stream);
	e->has_correlation = aif_map_get(&x->calls, (uint64_t)id, &call);
	e->correlation = e->has_correlation ? call : 0;
	text = tool_db_string(x->t, description, &len);
	type_text = tool_db_string(x->t, type, &type_len);
	if (memmem(type_text, type_len, "Copy", 4))
		return tool_db_put(x->t, "gpu_memcpy", type_text, type_len, start, end);
	if (memmem(type_text, type_len, "Fill", 4))
		return tool_db_put(x->t, "gpu_memset", type_text, type_len, start, end);
	if (!len) {
		text = type_text;
		len = type_len;
	}
	return tool_db_put(x->t, "kernel", text, len, start, end);
}

int rpd_read(struct tool_db *t)
{
	struct rpd x = {.t = t};
	int r = tool_db_strings(t, "rocpd_string", "id,string");

	if (!r)
		r = aif_sqlite_in_rows(&t->in, "rocpd_api_ops", "api_id,op_id", pair_add, &x);
	if (!r)
		r = aif_sqlite_in_rows(&t->in, "rocpd_api",
				       "id,pid,tid,start,end,apiName_id,args_id", api_add, &x);
	if (!r)
		r = aif_sqlite_in_rows(&t->in, "rocpd_op",
				       "id,gpuId,queueId,start,end,description_id,opType_id",
				       op_add, &x);
	aif_map_finish(&x.calls);
	return r;
}
