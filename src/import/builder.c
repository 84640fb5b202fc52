/* SPDX-License-Identifier: Apache-2.0 */
#include "import/builder.h"

#include "base/memory.h"
#include "profile/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void aif_builder_finish(struct aif_builder *b)
{
	struct aif_map *maps[] = {&b->frame_ids, &b->stack_ids, &b->module_ids,    &b->kernel_ids,
				  &b->shape_ids, &b->loss_ids,  &b->collective_ids};

	for (size_t i = 0; i < AIF_ARRAY_LEN(maps); i++)
		aif_map_finish(maps[i]);
	free(b->launches);
	free(b->execs);
	free(b->waits);
	free(b->ops);
	free(b->samples);
	free(b->windows);
	free(b->counters);
	free(b->memory);
	aif_profile_finish(&b->p);
	*b = (struct aif_builder){0};
}

/* Adds a string with U+FFFD for each zero byte, at which readers of strings would end it. */
static uint32_t put_without_zeros(struct aif_builder *b, const uint8_t *p, size_t n)
{
	struct aif_buf text = {0};
	uint32_t id;

	for (size_t i = 0; i < n; i++) {
		if (p[i])
			aif_buf_putc(&text, (char)p[i]);
		else
			aif_buf_puts(&text, "\xef\xbf\xbd");
	}
	id = aif_buf_failed(&text) ? AIF_STR_NONE
				   : aif_strset_put(&b->p.strings, text.data, text.len);
	aif_buf_finish(&text);
	return id;
}

uint32_t aif_builder_str(struct aif_builder *b, const void *p, size_t n)
{
	uint32_t id = n && memchr(p, 0, n) ? put_without_zeros(b, p, n)
					   : aif_strset_put(&b->p.strings, p, n);

	b->failed |= id == AIF_STR_NONE;
	return id;
}

uint32_t aif_builder_puts(struct aif_builder *b, const char *str)
{
	return aif_builder_str(b, str, strlen(str));
}

/* Appends *row to a table; its id, or AIF_NONE. */
#define PUSH(b, table, row)                                                   \
	(aif_grow(&(b)->p.table, &(b)->p.table##_cap, (b)->p.table##_len + 1, \
		  sizeof(*(b)->p.table)) < 0 ||                               \
			 (b)->p.table##_len >= AIF_NONE                       \
		 ? ((b)->failed = true, AIF_NONE)                             \
		 : ((b)->p.table[(b)->p.table##_len] = *(row), (uint32_t)(b)->p.table##_len++))

/* The id that `map` holds for a row equal to *row: hashes that clash are tried one after another. */
#define INTERN(b, map, table, row)                                                    \
	({                                                                            \
		uint64_t key_ = aif_hash_bytes((row), sizeof(*(row))), id_;           \
		bool is_known_;                                                       \
		while ((is_known_ = aif_map_get(&(b)->map, key_, &id_)) &&            \
		       memcmp(&(b)->p.table[id_], (row), sizeof(*(row))))             \
			key_++;                                                       \
		if (!is_known_) {                                                     \
			id_ = PUSH(b, table, row);                                    \
			if (id_ != AIF_NONE && aif_map_put(&(b)->map, key_, id_) < 0) \
				(b)->failed = true;                                   \
		}                                                                     \
		(uint32_t) id_;                                                       \
	})

void aif_builder_meta(struct aif_builder *b, const char *key, const char *fmt, ...)
{
	struct aif_meta m;
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Not before: what is written may be strings of the profile, which move when there are more. */
	m.key = aif_builder_puts(b, key);
	m.value = aif_builder_puts(b, text);
	for (size_t i = 0; i < b->p.meta_len; i++)
		if (b->p.meta[i].key == m.key) {
			b->p.meta[i].value = m.value;
			return;
		}
	if (m.key != AIF_NONE && m.value != AIF_NONE)
		PUSH(b, meta, &m);
}

uint32_t aif_builder_module(struct aif_builder *b, enum aif_module_kind kind, uint32_t path)
{
	return aif_builder_module_build(b, kind, path, AIF_NONE);
}

uint32_t aif_builder_module_build(struct aif_builder *b, enum aif_module_kind kind, uint32_t path,
				  uint32_t build_id)
{
	struct aif_module m = {.kind = kind,
			       .path = path,
			       .build_id = build_id,
			       .kernel = AIF_NONE,
			       .program = AIF_NONE};

	return INTERN(b, module_ids, modules, &m);
}

uint32_t aif_builder_device_module(struct aif_builder *b, uint32_t kernel)
{
	struct aif_module m = {.kind = AIF_MODULE_DEVICE,
			       .path = kernel == AIF_NONE ? AIF_NONE : b->p.kernels[kernel].name,
			       .build_id = AIF_NONE,
			       .kernel = kernel,
			       .program = AIF_NONE};

	return INTERN(b, module_ids, modules, &m);
}

uint32_t aif_builder_frame(struct aif_builder *b, const struct aif_frame *frame)
{
	return INTERN(b, frame_ids, frames, frame);
}

uint32_t aif_builder_named_frame(struct aif_builder *b, const struct aif_frame *frame,
				 uint32_t name, uint32_t file, uint32_t line)
{
	struct aif_frame_name n = {.name = name, .file = file, .line = line};

	n.frame = PUSH(b, frames, frame);
	if (n.frame != AIF_NONE)
		PUSH(b, frame_names, &n);
	return n.frame;
}

void aif_builder_name(struct aif_builder *b, uint32_t frame, uint32_t name, uint32_t file,
		      uint32_t line)
{
	struct aif_frame_name n = {.frame = frame, .name = name, .file = file, .line = line};

	if (b->p.frame_names_len && b->p.frame_names[b->p.frame_names_len - 1].frame == frame)
		n.inline_depth = b->p.frame_names[b->p.frame_names_len - 1].inline_depth + 1;
	PUSH(b, frame_names, &n);
}

/* Asked for more often than anything else: its two numbers are their own hash. */
uint32_t aif_builder_stack(struct aif_builder *b, uint32_t parent, uint32_t frame, uint32_t flags)
{
	uint64_t key = aif_mix64((uint64_t)parent << 32 | frame) + flags, id;
	struct aif_stack k = {.parent = parent, .frame = frame, .depth = 1, .flags = flags};

	for (; aif_map_get(&b->stack_ids, key, &id); key++)
		if (b->p.stacks[id].parent == parent && b->p.stacks[id].frame == frame &&
		    b->p.stacks[id].flags == flags)
			return (uint32_t)id;
	if (parent != AIF_NONE)
		k.depth += b->p.stacks[parent].depth;
	id = PUSH(b, stacks, &k);
	if ((uint32_t)id != AIF_NONE && aif_map_put(&b->stack_ids, key, id) < 0)
		b->failed = true;
	return (uint32_t)id;
}

uint32_t aif_builder_kernel(struct aif_builder *b, uint32_t name)
{
	struct aif_kernel k = {.name = name, .short_name = AIF_NONE, .program = AIF_NONE};

	return INTERN(b, kernel_ids, kernels, &k);
}

uint32_t aif_builder_shape(struct aif_builder *b, const struct aif_shape *shape)
{
	return INTERN(b, shape_ids, shapes, shape);
}

uint32_t aif_builder_process(struct aif_builder *b, const struct aif_process *process)
{
	return PUSH(b, processes, process);
}

uint32_t aif_builder_thread(struct aif_builder *b, const struct aif_thread *thread)
{
	return PUSH(b, threads, thread);
}

uint32_t aif_builder_device(struct aif_builder *b, const struct aif_device *device)
{
	return PUSH(b, devices, device);
}

uint32_t aif_builder_stream(struct aif_builder *b, const struct aif_stream *stream)
{
	return PUSH(b, streams, stream);
}

uint32_t aif_builder_collective(struct aif_builder *b, const struct aif_collective *collective)
{
	struct aif_collective row;

	memset(&row, 0, sizeof(row)); /* padding counts */
	row.communicator = collective->communicator;
	row.operation = collective->operation;
	row.ranks = collective->ranks;
	row.bytes = collective->bytes;
	return INTERN(b, collective_ids, collectives, &row);
}

void aif_builder_loss(struct aif_builder *b, enum aif_reason reason, uint32_t process,
		      uint32_t detail, uint64_t count)
{
	struct aif_loss l = {.reason = (uint32_t)reason,
			     .process = process,
			     .thread = AIF_NONE,
			     .detail = detail,
			     .count = count};

	if (!count)
		return;
	for (size_t i = 0; i < b->p.losses_len; i++) {
		struct aif_loss *known = &b->p.losses[i];

		if (known->reason == l.reason && known->process == process &&
		    known->detail == detail) {
			known->count += count;
			return;
		}
	}
	PUSH(b, losses, &l);
}

#define ROW(b, table)                                                                            \
	(aif_grow(&(b)->table, &(b)->table##_cap, (b)->table##_len + 1, sizeof(*(b)->table)) < 0 \
		 ? ((b)->failed = true, NULL)                                                    \
		 : memset(&(b)->table[(b)->table##_len++], 0, sizeof(*(b)->table)))

struct aif_launch_row *aif_builder_launch(struct aif_builder *b)
{
	return ROW(b, launches);
}

struct aif_exec_row *aif_builder_exec(struct aif_builder *b)
{
	return ROW(b, execs);
}

bool aif_builder_execs_in(struct aif_builder *b, void *memory, size_t rows)
{
	if (b->execs_len)
		return false;
	free(b->execs);
	b->execs = memory;
	b->execs_cap = rows;
	return true;
}

struct aif_cpu_row *aif_builder_wait(struct aif_builder *b)
{
	return ROW(b, waits);
}

struct aif_op_row *aif_builder_op(struct aif_builder *b)
{
	return ROW(b, ops);
}

int aif_builder_reserve(struct aif_builder *b, size_t launches, size_t ops)
{
	int r = aif_reserve(&b->launches, &b->launches_cap, b->launches_len + launches,
			    sizeof(*b->launches));

	return r ? r : aif_reserve(&b->ops, &b->ops_cap, b->ops_len + ops, sizeof(*b->ops));
}

struct aif_sample_row *aif_builder_sample(struct aif_builder *b)
{
	return ROW(b, samples);
}

struct aif_window_row *aif_builder_window(struct aif_builder *b)
{
	return ROW(b, windows);
}

struct aif_counter_row *aif_builder_counter(struct aif_builder *b)
{
	return ROW(b, counters);
}

struct aif_memory_row *aif_builder_memory(struct aif_builder *b)
{
	return ROW(b, memory);
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* True if weights of samples are counts (cycles, page faults) beside times, and no part of the time from the first to the last. */
static bool weighs_apart(const struct aif_builder *b)
{
	return !strcmp(aif_profile_meta(&b->p, "cpu_sampling"), "counts") &&
	       !*aif_profile_meta(&b->p, "imported.rows");
}

void aif_builder_bound(struct aif_builder *b)
{
	uint64_t from = UINT64_MAX, to = 0;
	bool has_counts = weighs_apart(b);

#define WITHIN(start, end)                   \
	do {                                 \
		from = AIF_MIN(from, start); \
		to = AIF_MAX(to, end);       \
	} while (0)
	for (size_t i = 0; i < b->launches_len; i++)
		WITHIN(b->launches[i].time, b->launches[i].time);
	for (size_t i = 0; i < b->execs_len; i++)
		WITHIN(b->execs[i].start, b->execs[i].end);
	for (size_t i = 0; i < b->waits_len; i++)
		WITHIN(b->waits[i].time, b->waits[i].time + b->waits[i].waiting +
						 (has_counts ? 0 : b->waits[i].weight));
	for (size_t i = 0; i < b->ops_len; i++)
		WITHIN(b->ops[i].start, b->ops[i].end);
	for (size_t i = 0; i < b->counters_len; i++)
		WITHIN(b->counters[i].time, b->counters[i].time);
	for (size_t i = 0; i < b->memory_len; i++)
		WITHIN(b->memory[i].time, b->memory[i].time);
	for (size_t i = 0; i < b->windows_len; i++)
		WITHIN(b->windows[i].start, b->windows[i].end);
#undef WITHIN
	b->p.start_ns = from == UINT64_MAX ? 0 : from;
	b->p.kept_ns = b->p.start_ns;
	b->p.end_ns = to;
	for (size_t i = 0; i < b->p.processes_len; i++)
		b->p.processes[i].start_ns = b->p.start_ns;
}

/* Rows in parts that are a chunk each. */
#define WRITE(fn, rows, len)                                        \
	for (size_t i_ = 0; !r && i_ < (len); i_ += AIF_CHUNK_ROWS) \
	r = fn(w, (rows) + i_, AIF_MIN((len)-i_, AIF_CHUNK_ROWS), err)
#define AIF_CHUNK_ROWS 32768

static int write_all(void *arg, struct aif_writer *w, struct aif_err *err)
{
	const struct aif_builder *b = arg;
	int r = aif_writer_tables(w, &b->p, err);

	WRITE(aif_writer_launches, b->launches, b->launches_len);
	WRITE(aif_writer_execs, b->execs, b->execs_len);
	WRITE(aif_writer_cpu, b->waits, b->waits_len);
	WRITE(aif_writer_windows, b->windows, b->windows_len);
	WRITE(aif_writer_samples, b->samples, b->samples_len);
	WRITE(aif_writer_ops, b->ops, b->ops_len);
	WRITE(aif_writer_counters, b->counters, b->counters_len);
	WRITE(aif_writer_memory, b->memory, b->memory_len);
	return r;
}

int aif_builder_write(struct aif_builder *b, const char *path, struct aif_err *err)
{
	aif_builder_bound(b);
	if (b->failed || aif_memory_failed())
		return aif_err_set(err, -ENOMEM, "%s: out of memory", path);
	return aif_profile_output(path, &b->p, b->scratch, write_all, b, err);
}
