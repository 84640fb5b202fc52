/* SPDX-License-Identifier: Apache-2.0 */
#include "import/sqlite/tool_db.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Reads what `nsys export --type sqlite` writes. Layout: Nsight Systems' documentation of its exporter's schema, 2022.4
 * to 2025 (EXPORT_SCHEMA_VERSION 3). Times are ns since the beginning of the session. A globalTid holds the numbers of
 * a machine, a process (24 bits) and a thread (24 bits); correlation ids are those of a process.
 */
static int64_t pid_of(int64_t global)
{
	return global >> 24 & 0xffffff;
}

static int64_t tid_of(int64_t global)
{
	return global & 0xffffff;
}

/* A process's own numbers, kept apart from those of the others. */
static uint64_t of_process(int64_t pid, int64_t number)
{
	return (uint64_t)pid << 40 | ((uint64_t)number & 0xffffffffff);
}

/* ---- who and where ------------------------------------------------------------------------------- */

struct nsys {
	struct tool_db *t;
	struct aif_map devices; /* (process, CUDA's number) -> the GPU's */
	struct aif_map chains;  /* id of CUDA_CALLCHAINS -> place in .chains of the trace */
	AIF_TABLE(nsys_frame, frames);
	size_t first_wait;
};
struct nsys_frame {
	int64_t id, depth;
	uint32_t frame;
};

/* Counts a row without the numbers that say what it is. */
static int row_bad(struct nsys *x)
{
	x->t->k.counts.bad++;
	return 0;
}

static int gpu_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	int64_t id;
	size_t len;
	const char *name = aif_sqlite_row_text(row, 1, &len);

	if (!aif_sqlite_row_i64(row, 0, &id))
		return row_bad(x);
	return tool_db_device(x->t, id, name, len, aif_sqlite_row_u32(row, 2));
}

static int cuda_device_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	int64_t gpu, cuda, pid;

	if (!aif_sqlite_row_i64(row, 0, &gpu) || !aif_sqlite_row_i64(row, 1, &cuda) ||
	    !aif_sqlite_row_i64(row, 2, &pid))
		return row_bad(x);
	return aif_map_put(&x->devices, of_process(pid, cuda), (uint64_t)gpu);
}

static int process_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	int64_t global;
	size_t len;
	const char *name = aif_sqlite_row_text(row, 1, &len);

	return aif_sqlite_row_i64(row, 0, &global)
		       ? tool_db_name(x->t, pid_of(global), NULL, name, len)
		       : row_bad(x);
}

static int thread_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	int64_t global, name, tid;
	const char *text;
	size_t len;

	if (!aif_sqlite_row_i64(row, 0, &global) || !aif_sqlite_row_i64(row, 1, &name))
		return row_bad(x);
	text = tool_db_string(x->t, name, &len);
	tid = tid_of(global);
	return tool_db_name(x->t, pid_of(global), &tid, text, len);
}

static int start_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;

	x->t->k.clock.has_base = aif_sqlite_row_i64(row, 0, &x->t->k.clock.base_ns);
	return 0;
}

/* ---- call chains --------------------------------------------------------------------------------- */

static int frame_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	struct aif_builder *b = x->t->k.b;
	struct nsys_frame f;
	int64_t symbol, module, unresolved, ip, kernel_mode;
	const char *name, *path;
	size_t name_len, path_len;
	uint32_t path_id;
	bool is_os;

	if (!aif_sqlite_row_i64(row, 0, &f.id) || !aif_sqlite_row_i64(row, 1, &f.depth) ||
	    !aif_sqlite_row_i64(row, 2, &symbol))
		return row_bad(x);
	aif_sqlite_row_i64(row, 3, &module);
	aif_sqlite_row_i64(row, 4, &unresolved);
	aif_sqlite_row_i64(row, 5, &ip);
	aif_sqlite_row_i64(row, 6, &kernel_mode);
	name = tool_db_string(x->t, symbol, &name_len);
	path = tool_db_string(x->t, module, &path_len);
	is_os = kernel_mode || aif_host_is_os(path, path_len, (uint64_t)ip);
	path_id = path_len && !is_os ? aif_builder_str(b, path, path_len) : AIF_NONE;
	if (unresolved && ip)
		f.frame = aif_host_unnamed(&x->t->host, path_id, (uint64_t)ip);
	else
		f.frame = aif_host_frame(&x->t->host,
					 is_os ? AIF_FRAME_OS
					       : aif_host_kind(name, name_len, path, path_len),
					 path_id,
					 name_len ? aif_builder_str(b, name, name_len)
						  : aif_builder_puts(b, "[unknown]"),
					 AIF_NONE, 0);
	if (b->failed || aif_grow(&x->frames, &x->frames_cap, x->frames_len + 1, sizeof(f)) < 0)
		return -ENOMEM;
	x->frames[x->frames_len++] = f;
	return 0;
}

static int by_chain(const void *a, const void *b)
{
	const struct nsys_frame *x = a, *y = b;

	return AIF_ORDER(x->id, y->id) ?: AIF_ORDER(x->depth, y->depth);
}

/* 256 is nsys's own limit. */
#define CHAIN_MAX 1024

static int chains_read(struct nsys *x, const char *table)
{
	struct kineto *k = &x->t->k;
	int r = aif_sqlite_in_rows(&x->t->in, table,
				   "id,stackDepth,symbol,module,unresolved,originalIP,kernelMode",
				   frame_add, x);

	aif_map_clear(&x->chains);
	if (!r && x->frames_len)
		qsort(x->frames, x->frames_len, sizeof(*x->frames), by_chain);
	for (size_t i = 0, n; !r && i < x->frames_len; i += n) {
		struct kineto_chain c = {.first = (uint32_t)k->chains.frames_len};

		for (n = 1; i + n < x->frames_len && x->frames[i + n].id == x->frames[i].id; n++)
			;
		c.len = (uint32_t)AIF_MIN(n, (size_t)CHAIN_MAX);
		x->t->too_deep += n > CHAIN_MAX;
		if (k->chains.frames_len + c.len >= UINT32_MAX ||
		    aif_grow(&k->chains.frames, &k->chains.frames_cap, k->chains.frames_len + c.len,
			     sizeof(*k->chains.frames)) < 0 ||
		    aif_grow(&k->chains.rows, &k->chains.rows_cap, k->chains.rows_len + 1,
			     sizeof(c)) < 0)
			return -ENOMEM;
		for (size_t f = 0; f < c.len; f++)
			k->chains.frames[k->chains.frames_len++] = x->frames[i + f].frame;
		k->chains.rows[k->chains.rows_len++] = c;
		r = aif_map_put(&x->chains, (uint64_t)x->frames[i].id, k->chains.rows_len);
	}
	x->frames_len = 0;
	return r;
}

/* ---- events -------------------------------------------------------------------------------------- */

/* "cudaLaunchKernel_v7000": a name has its ABI's version behind it. */
static size_t without_version(const char *name, size_t len)
{
	size_t n = len;

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	return n < len && n > 2 && name[n - 1] == 'v' && name[n - 2] == '_' && len - n > 2 ? n - 2
											   : len;
}

static bool times(struct nsys *x, const struct aif_sqlite_row *row, int64_t *start, int64_t *end)
{
	if (aif_sqlite_row_i64(row, 0, start) && aif_sqlite_row_i64(row, 1, end))
		return true;
	x->t->k.counts.bad++;
	return false;
}

/* start,end,globalTid,nameId,correlationId,callchainId */
static int call_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	struct kineto_event *e;
	int64_t start, end, thread, name, number, chain;
	uint64_t place;
	const char *text;
	size_t len;

	if (!times(x, row, &start, &end))
		return 0;
	aif_sqlite_row_i64(row, 2, &thread);
	aif_sqlite_row_i64(row, 3, &name);
	e = tool_db_event(x->t, pid_of(thread), tid_of(thread));
	e->has_correlation = aif_sqlite_row_i64(row, 4, &number) && number;
	e->correlation = of_process(pid_of(thread), number);
	if (aif_sqlite_row_i64(row, 5, &chain) && aif_map_get(&x->chains, (uint64_t)chain, &place))
		e->chain = (uint32_t)place;
	text = tool_db_string(x->t, name, &len);
	len = without_version(text, len);
	return tool_db_put(x->t, "cuda_runtime", text, len, start, end);
}

/* Libraries' calls: start,end,globalTid,nameId,textId. They launch nothing by themselves. */
static int library_call_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	int64_t start, end, thread, name;
	const char *text;
	size_t len;

	if (!times(x, row, &start, &end))
		return 0;
	aif_sqlite_row_i64(row, 2, &thread);
	if (!aif_sqlite_row_i64(row, 3, &name))
		aif_sqlite_row_i64(row, 4, &name);
	tool_db_event(x->t, pid_of(thread), tid_of(thread));
	text = tool_db_string(x->t, name, &len);
	return tool_db_put(x->t, "cuda_runtime", text, without_version(text, len), start, end);
}

/* start,end,globalPid,deviceId,contextId,streamId,correlationId,graphNodeId: what all work of a GPU has */
static struct kineto_event *device_event(struct nsys *x, const struct aif_sqlite_row *row)
{
	struct kineto_event *e;
	int64_t global, device, context, stream, number;
	uint64_t gpu;

	aif_sqlite_row_i64(row, 2, &global);
	aif_sqlite_row_i64(row, 3, &device);
	aif_sqlite_row_i64(row, 4, &context);
	aif_sqlite_row_i64(row, 5, &stream);
	e = tool_db_event(x->t, pid_of(global), 0);
	e->has_correlation = aif_sqlite_row_i64(row, 6, &number) && number; /* 0: nobody's */
	e->correlation = of_process(pid_of(global), number);
	e->has_device = e->has_stream = true;
	e->device = aif_map_get(&x->devices, of_process(pid_of(global), device), &gpu)
			    ? (int64_t)gpu
			    : device;
	/* Streams are numbered by context. */
	x->t->k.machine.has_stream_places = true;
	e->stream = (int64_t)((uint64_t)pid_of(global) << 40 | ((uint64_t)context & 0xff) << 32 |
			      ((uint64_t)stream & 0xffffffff));
	e->node = aif_sqlite_row_u32(row, 7);
	return e;
}
#define DEVICE_COLUMNS "start,end,globalPid,deviceId,contextId,streamId,correlationId,graphNodeId,"

static int kernel_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	struct kineto_event *e;
	int64_t start, end, name;
	const char *text;
	size_t len;

	if (!times(x, row, &start, &end))
		return 0;
	e = device_event(x, row);
	for (int i = 0; i < 3; i++) {
		e->grid[i] = aif_sqlite_row_u32(row, 8 + i);
		e->block[i] = aif_sqlite_row_u32(row, 11 + i);
	}
	e->registers = aif_sqlite_row_u32(row, 14);
	e->shared_bytes = aif_sqlite_row_u32(row, 15) + aif_sqlite_row_u32(row, 16);
	aif_sqlite_row_i64(row, 17, &name);
	text = tool_db_string(x->t, name, &len);
	if (!len) {
		aif_sqlite_row_i64(row, 18, &name);
		text = tool_db_string(x->t, name, &len);
	}
	return tool_db_put(x->t, "kernel", text, len, start, end);
}

static int copy_add(void *arg, const struct aif_sqlite_row *row)
{
	/* CUpti_ActivityMemcpyKind; from 11 on nsys's own, of unified memory */
	static const char *const names[] = {
		"Memcpy",      "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA", "Memcpy AtoH",
		"Memcpy AtoA", "Memcpy AtoD", "Memcpy DtoA", "Memcpy DtoD", "Memcpy HtoH",
		"Memcpy PtoP", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD",
	};
	struct nsys *x = arg;
	struct kineto_event *e;
	int64_t start, end, bytes, kind;

	if (!times(x, row, &start, &end))
		return 0;
	e = device_event(x, row);
	aif_sqlite_row_i64(row, 8, &bytes);
	aif_sqlite_row_i64(row, 9, &kind);
	e->bytes = bytes > 0 ? (uint64_t)bytes : 0;
	kind = kind >= 0 && kind < (int64_t)AIF_ARRAY_LEN(names) ? kind : 0;
	return tool_db_put(x->t, "gpu_memcpy", names[kind], strlen(names[kind]), start, end);
}

static int fill_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	struct kineto_event *e;
	int64_t start, end, bytes;

	if (!times(x, row, &start, &end))
		return 0;
	e = device_event(x, row);
	aif_sqlite_row_i64(row, 8, &bytes);
	e->bytes = bytes > 0 ? (uint64_t)bytes : 0;
	return tool_db_put(x->t, "gpu_memset", "Memset (Device)", 15, start, end);
}

/* Adds a graph that was traced as a whole, as nsys does by default. */
static int graph_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	struct kineto_event *e;
	int64_t start, end;
	char name[64];
	int len;

	if (!times(x, row, &start, &end))
		return 0;
	e = device_event(x, row);
	e->node = 0;
	len = snprintf(name, sizeof(name), "[CUDA graph %" PRIu32 "]", aif_sqlite_row_u32(row, 8));
	return tool_db_put(x->t, "kernel", name, (size_t)len, start, end);
}

static int left_out(struct nsys *x, const char *what)
{
	x->t->k.counts.not_kept++;
	kineto_leave_out(x->t->k.counts.left_out, what, strlen(what), 1);
	return 0;
}

/* start,end,globalTid,text,textId,eventType,endGlobalTid */
static int range_add(void *arg, const struct aif_sqlite_row *row)
{
	enum {
		CATEGORY = 33,
		MARK = 34,
		THREAD = 39,
		PUSH_POP = 59,
		START_END = 60,
		DOMAIN_CREATE = 75,
		DOMAIN_DESTROY = 76
	};
	struct nsys *x = arg;
	int64_t start, end, thread, id, type, end_thread;
	const char *text;
	bool is_open;
	size_t len;

	aif_sqlite_row_i64(row, 5, &type);
	aif_sqlite_row_i64(row, 2, &thread);
	if (type == CATEGORY || type == THREAD || type == DOMAIN_CREATE || type == DOMAIN_DESTROY)
		return 0; /* names, no events */
	if (type != PUSH_POP && type != START_END)
		return left_out(x, type == MARK ? "mark" : "other NVTX events");
	/* Ranges across threads are in no stack. */
	if (aif_sqlite_row_i64(row, 6, &end_thread) && end_thread != thread)
		return left_out(x, "ranges across threads");
	is_open = aif_sqlite_row_i64(row, 0, &start) && aif_sqlite_row_is_null(row, 1);
	if (!is_open && !times(x, row, &start, &end))
		return 0;
	tool_db_event(x->t, pid_of(thread), tid_of(thread));
	text = aif_sqlite_row_text(row, 3, &len);
	if (!len && aif_sqlite_row_i64(row, 4, &id))
		text = tool_db_string(x->t, id, &len);
	if (is_open)
		return tool_db_begin(x->t, "user_annotation", text, len, start);
	return tool_db_put(x->t, "user_annotation", text, len, start, end);
}

/* severity,text. Counts warnings and errors but those that a process had none of some kind of events. */
static int diagnosis_add(void *arg, const struct aif_sqlite_row *row)
{
	enum { WARNING = 2, ERROR = 3 }; /* of ENUM_DIAGNOSTIC_SEVERITY_LEVEL */
	struct tool_db *t = ((struct nsys *)arg)->t;
	int64_t severity;
	size_t len;
	const char *text = aif_sqlite_row_text(row, 1, &len);

	if (!aif_sqlite_row_i64(row, 0, &severity) || severity < WARNING || severity > ERROR ||
	    memmem(text, len, "Does the process use", 20))
		return 0;
	if (!t->warnings++)
		snprintf(t->first_warning, sizeof(t->first_warning), "%.*s",
			 (int)AIF_MIN(len, sizeof(t->first_warning)), text);
	return 0;
}

int nsys_read(struct tool_db *t)
{
	static const struct {
		const char *table, *columns;
		int (*fn)(void *arg, const struct aif_sqlite_row *row);
	} tables[] = {
		{"TARGET_INFO_GPU", "id,name,smCount", gpu_add},
		{"TARGET_INFO_CUDA_DEVICE", "gpuId,cudaId,pid", cuda_device_add},
		{"TARGET_INFO_SESSION_START_TIME", "utcEpochNs", start_add},
		{"PROCESSES", "globalPid,name", process_add},
		{"NVTX_EVENTS", "start,end,globalTid,text,textId,eventType,endGlobalTid",
		 range_add},
		{"NVTX_EVENTS_V2", "start,end,globalTid,text,textId,eventType,endGlobalTid",
		 range_add},
		{"NVTX_EVENTS_V3", "start,end,globalTid,text,textId,eventType,endGlobalTid",
		 range_add},
		{"CUBLAS_EVENTS", "start,end,globalTid,nameId,textId", library_call_add},
		{"CUDNN_EVENTS", "start,end,globalTid,nameId,textId", library_call_add},
		{"MPI_COLLECTIVES_EVENTS", "start,end,globalTid,nameId,textId", library_call_add},
		{"MPI_P2P_EVENTS", "start,end,globalTid,nameId,textId", library_call_add},
		{"MPI_START_WAIT_EVENTS", "start,end,globalTid,nameId,textId", library_call_add},
		{"MPI_OTHER_EVENTS", "start,end,globalTid,nameId,textId", library_call_add},
		{"CUPTI_ACTIVITY_KIND_RUNTIME",
		 "start,end,globalTid,nameId,correlationId,callchainId", call_add},
		{"CUPTI_ACTIVITY_KIND_DRIVER",
		 "start,end,globalTid,nameId,correlationId,callchainId", call_add},
		{"CUPTI_ACTIVITY_KIND_KERNEL",
		 DEVICE_COLUMNS "gridX,gridY,gridZ,blockX,blockY,blockZ,registersPerThread,"
				"staticSharedMemory,dynamicSharedMemory,demangledName,shortName",
		 kernel_add},
		{"CUPTI_ACTIVITY_KIND_MEMCPY", DEVICE_COLUMNS "bytes,copyKind", copy_add},
		{"CUPTI_ACTIVITY_KIND_MEMSET", DEVICE_COLUMNS "bytes", fill_add},
		{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", DEVICE_COLUMNS "graphId", graph_add},
		{"ThreadNames", "globalTid,nameId", thread_add},
		{"DIAGNOSTIC_EVENT", "severity,text", diagnosis_add},
	};
	struct nsys x = {.t = t};
	int r = tool_db_strings(t, "StringIds", "id,value");

	if (!r)
		r = chains_read(&x, "CUDA_CALLCHAINS");
	for (size_t i = 0; !r && i < AIF_ARRAY_LEN(tables); i++)
		r = aif_sqlite_in_rows(&t->in, tables[i].table, tables[i].columns, tables[i].fn,
				       &x);
	aif_map_finish(&x.devices);
	aif_map_finish(&x.chains);
	free(x.frames);
	return r;
}

/* ---- CPU samples --------------------------------------------------------------------------------- */

/* id,start,globalTid */
static int sample_add(void *arg, const struct aif_sqlite_row *row)
{
	struct nsys *x = arg;
	struct kineto *k = &x->t->k;
	struct aif_builder *b = k->b;
	const struct kineto_chain *c;
	struct aif_cpu_row *wait;
	int64_t id, start, global, at;
	uint32_t thread, stack = AIF_NONE;
	uint64_t place;

	if (!aif_sqlite_row_i64(row, 0, &id) || !aif_sqlite_row_i64(row, 1, &start) ||
	    !aif_sqlite_row_i64(row, 2, &global) ||
	    __builtin_add_overflow(start, k->clock.base_ns, &at) || at < 0 ||
	    (uint64_t)at > INT64_MAX / 2)
		return row_bad(x);
	thread = kineto_thread(k, (struct kineto_id){.number = pid_of(global)},
			       (struct kineto_id){.number = tid_of(global)});
	if (thread == KINETO_THREADS_MAX)
		return -ENOMEM;
	c = aif_map_get(&x->chains, (uint64_t)id, &place) ? &k->chains.rows[place - 1] : NULL;
	for (uint32_t i = c ? c->len : 0; i-- > 0;)
		stack = aif_builder_stack(b, stack, k->chains.frames[c->first + i], 0);
	if (!c) {
		x->t->no_stack++;
		stack = aif_builder_stack(b, AIF_NONE,
					  aif_host_frame(&x->t->host, AIF_FRAME_MARK, AIF_NONE,
							 aif_builder_puts(b, "[no stack]"),
							 AIF_NONE, 0),
					  0);
	}
	wait = aif_builder_wait(b);
	if (!wait)
		return -ENOMEM;
	*wait = (struct aif_cpu_row){
		.time = (uint64_t)at, .thread = kineto_thread_row(k, thread), .stack = stack};
	return b->failed ? -ENOMEM : 0;
}

int nsys_samples(struct tool_db *t)
{
	struct nsys x = {.t = t, .first_wait = t->k.b->waits_len};
	struct aif_builder *b = t->k.b;
	uint64_t each = t->in.source->opts->count_ns;
	char text[400];
	int r = 0;

	if (aif_sqlite_in_has(&t->in, "COMPOSITE_EVENTS"))
		r = chains_read(&x, "SAMPLING_CALLCHAINS");
	if (!r)
		r = aif_sqlite_in_rows(&t->in, "COMPOSITE_EVENTS", "id,start,globalTid", sample_add,
				       &x);
	if (!r && b->waits_len > x.first_wait) {
		if (!each) {
			each = aif_host_usual_gap(b, x.first_wait);
			each = AIF_MIN(each ? each : 1000000, AIF_NS_PER_S);
			snprintf(text, sizeof(text), "%s: %" PRIu64 " ns each", t->k.file, each);
			aif_builder_loss(b, AIF_REASON_IMPORT_WEIGHT, AIF_NONE,
					 aif_builder_puts(b, text), 1);
		}
		for (size_t i = x.first_wait; i < b->waits_len; i++)
			b->waits[i].weight = each;
	}
	aif_map_finish(&x.devices);
	aif_map_finish(&x.chains);
	free(x.frames);
	return r;
}
