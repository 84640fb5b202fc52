/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/schema.h"

#include <string.h>

#define U32(type, field)                                                     \
	{                                                                    \
#field, offsetof(struct type, field), AIF_TYPE_U32, 0, false \
	}
#define I32(type, field)                                                     \
	{                                                                    \
#field, offsetof(struct type, field), AIF_TYPE_I32, 0, false \
	}
#define U64(type, field)                                                     \
	{                                                                    \
#field, offsetof(struct type, field), AIF_TYPE_U64, 0, false \
	}
#define BYTES(type, field)                                                     \
	{                                                                      \
#field, offsetof(struct type, field), AIF_TYPE_BYTES, 0, false \
	}
#define PACKED(type, field)                                                     \
	{                                                                       \
#field, offsetof(struct type, field), AIF_TYPE_PACKED, 0, false \
	}
#define STR(type, field) REF(type, field, STRING)
#define REF(type, field, table)                                                              \
	{                                                                                    \
#field, offsetof(struct type, field), AIF_TYPE_REF, AIF_TABLE_##table, false \
	}
#define MUST(type, field, table)                                                            \
	{                                                                                   \
#field, offsetof(struct type, field), AIF_TYPE_REF, AIF_TABLE_##table, true \
	}
/* An element of an array field has its own name. */
#define ELEMENT(type, field, as)                                         \
	{                                                                \
		as, offsetof(struct type, field), AIF_TYPE_U32, 0, false \
	}

static const struct aif_schema_column meta_columns[] = {STR(aif_meta, key), STR(aif_meta, value)};
static const struct aif_schema_column process_columns[] = {
	U32(aif_process, pid),     U32(aif_process, ppid),           STR(aif_process, exe),
	STR(aif_process, cmdline), STR(aif_process, host),           U64(aif_process, start_ns),
	U64(aif_process, end_ns),  U32(aif_process, flags),          I32(aif_process, exit_status),
	U64(aif_process, cpu_ns),  U32(aif_process, rank),           U32(aif_process, local_rank),
	U32(aif_process, world),   U32(aif_process, clock_error_ns),
};
static const struct aif_schema_column thread_columns[] = {
	REF(aif_thread, process, PROCESS),
	U32(aif_thread, tid),
	STR(aif_thread, name),
};
static const struct aif_schema_column device_columns[] = {
	STR(aif_device, name),           STR(aif_device, vendor),
	STR(aif_device, driver),         STR(aif_device, runtime),
	U32(aif_device, kind),           U32(aif_device, units),
	U32(aif_device, clock),          U32(aif_device, arch),
	U32(aif_device, unit_threads),   U32(aif_device, unit_blocks),
	U32(aif_device, unit_registers), U32(aif_device, unit_shared),
	U32(aif_device, block_shared),   U32(aif_device, pci),
	U32(aif_device, clock_khz),      U32(aif_device, memory_khz),
	U32(aif_device, memory_bits),
};
static const struct aif_schema_column stream_columns[] = {
	REF(aif_stream, process, PROCESS),
	REF(aif_stream, device, DEVICE),
	U64(aif_stream, ordinal),
	U32(aif_stream, out_of_order),
};
static const struct aif_schema_column program_columns[] = {
	REF(aif_program, process, PROCESS),
	STR(aif_program, source),
	STR(aif_program, options),
	STR(aif_program, source_name),
};
static const struct aif_schema_column kernel_columns[] = {
	STR(aif_kernel, name),
	STR(aif_kernel, short_name),
	REF(aif_kernel, program, PROGRAM),
};
static const struct aif_schema_column module_columns[] = {
	U32(aif_module, kind),
	STR(aif_module, path),
	STR(aif_module, build_id),
	REF(aif_module, kernel, KERNEL),
	REF(aif_module, program, PROGRAM),
};
static const struct aif_schema_column frame_columns[] = {
	U32(aif_frame, kind),
	REF(aif_frame, module, MODULE),
	U64(aif_frame, address),
};
static const struct aif_schema_column frame_name_columns[] = {
	MUST(aif_frame_name, frame, FRAME), U32(aif_frame_name, inline_depth),
	STR(aif_frame_name, name),          STR(aif_frame_name, file),
	U32(aif_frame_name, line),
};
/* depth follows from parent. */
static const struct aif_schema_column stack_columns[] = {
	REF(aif_stack, parent, STACK),
	MUST(aif_stack, frame, FRAME),
	U32(aif_stack, flags),
};
static const struct aif_schema_column shape_columns[] = {
	ELEMENT(aif_shape, grid[0], "grid_x"),   ELEMENT(aif_shape, grid[1], "grid_y"),
	ELEMENT(aif_shape, grid[2], "grid_z"),   ELEMENT(aif_shape, block[0], "block_x"),
	ELEMENT(aif_shape, block[1], "block_y"), ELEMENT(aif_shape, block[2], "block_z"),
};
static const struct aif_schema_column code_columns[] = {
	REF(aif_code, module, MODULE), STR(aif_code, name),        STR(aif_code, arch),
	U64(aif_code, address),        U64(aif_code, size),        BYTES(aif_code, bytes),
	PACKED(aif_code, packed),      U64(aif_code, file_offset),
};
static const struct aif_schema_column clock_pair_columns[] = {
	U32(aif_clock_pair, clock),  REF(aif_clock_pair, process, PROCESS),
	U64(aif_clock_pair, before), U64(aif_clock_pair, after),
	U64(aif_clock_pair, value),
};
static const struct aif_schema_column graph_node_columns[] = {
	REF(aif_graph_node, process, PROCESS),
	U32(aif_graph_node, graph),
	U32(aif_graph_node, node),
	U64(aif_graph_node, since),
	REF(aif_graph_node, thread, THREAD),
	U64(aif_graph_node, made),
	REF(aif_graph_node, stack, STACK),
};
static const struct aif_schema_column collective_columns[] = {
	STR(aif_collective, communicator),
	STR(aif_collective, operation),
	U32(aif_collective, ranks),
	U64(aif_collective, bytes),
};
static const struct aif_schema_column duration_columns[] = {
	REF(aif_duration, process, PROCESS),
	REF(aif_duration, device, DEVICE),
	U32(aif_duration, kind),
	REF(aif_duration, kernel, KERNEL),
	U32(aif_duration, bucket),
	U64(aif_duration, count),
	U64(aif_duration, ns),
};
static const struct aif_schema_column loss_columns[] = {
	U32(aif_loss, reason),         REF(aif_loss, process, PROCESS),
	REF(aif_loss, thread, THREAD), STR(aif_loss, detail),
	U64(aif_loss, count),
};

#define TABLE(id, type, field, sql, changes) ROWS(id, type, field, sql, changes, false)
#define ADDED(id, type, field, sql)          ROWS(id, type, field, sql, false, true)
#define ROWS(id, type, field, sql, changes, later)                               \
	[AIF_TABLE_##id] = {.name = #sql,                                        \
			    .added = later,                                      \
			    .row_size = sizeof(struct type),                     \
			    .rows_at = offsetof(struct aif_profile, field),      \
			    .len_at = offsetof(struct aif_profile, field##_len), \
			    .cap_at = offsetof(struct aif_profile, field##_cap), \
			    .rewritten = changes,                                \
			    .columns_len = AIF_ARRAY_LEN(sql##_columns),         \
			    .columns = sql##_columns}

const struct aif_schema_table aif_schema_tables[AIF_TABLE_COUNT] = {
	TABLE(META, aif_meta, meta, meta, true),
	TABLE(PROCESS, aif_process, processes, process, true),
	TABLE(THREAD, aif_thread, threads, thread, false),
	TABLE(DEVICE, aif_device, devices, device, true),
	TABLE(STREAM, aif_stream, streams, stream, false),
	TABLE(PROGRAM, aif_program, programs, program, false),
	TABLE(KERNEL, aif_kernel, kernels, kernel, false),
	TABLE(MODULE, aif_module, modules, module, true),
	TABLE(FRAME, aif_frame, frames, frame, false),
	TABLE(FRAME_NAME, aif_frame_name, frame_names, frame_name, false),
	TABLE(STACK, aif_stack, stacks, stack, false),
	TABLE(SHAPE, aif_shape, shapes, shape, false),
	TABLE(CODE, aif_code, codes, code, false),
	TABLE(CLOCK_PAIR, aif_clock_pair, clock_pairs, clock_pair, false),
	ADDED(GRAPH_NODE, aif_graph_node, graph_nodes, graph_node),
	ADDED(COLLECTIVE, aif_collective, collectives, collective),
	ADDED(DURATION, aif_duration, durations, duration),
	TABLE(LOSS, aif_loss, losses, loss, true),
};

/* The tables that are not rows of the model. In chunk, data comes last: it lies on pages of its
 * own, which reading the other columns does not touch. */
static const char other_sql[] =
	"CREATE TABLE recording(id INTEGER PRIMARY KEY, start_ns, end_ns, complete);\n"
	"CREATE TABLE string(id INTEGER PRIMARY KEY, value);\n"
	"CREATE TABLE chunk(id INTEGER PRIMARY KEY, kind, rows, clock, process, start, end, "
	"launch_min, launch_max, total, data);\n"
	"CREATE TABLE dropped(id INTEGER PRIMARY KEY, chunks, rows, total, until);\n"
	"CREATE TABLE cache(name TEXT PRIMARY KEY, data);\n";

void aif_schema_sql(struct aif_buf *ret)
{
	aif_buf_puts(ret, other_sql);
	for (size_t i = 0; i < AIF_TABLE_COUNT; i++) {
		const struct aif_schema_table *t = &aif_schema_tables[i];

		aif_buf_printf(ret, "CREATE TABLE %s(id INTEGER PRIMARY KEY", t->name);
		for (size_t c = 0; c < t->columns_len; c++)
			aif_buf_printf(ret, ", \"%s\"", t->columns[c].name);
		aif_buf_puts(ret, ");\n");
	}
}

const char *aif_schema_bad_ref(const struct aif_profile *p, const struct aif_schema_table *t)
{
	const uint8_t *rows = aif_schema_rows(p, t);
	size_t n = *aif_schema_len(p, t);

	for (size_t c = 0; c < t->columns_len; c++) {
		const struct aif_schema_column *col = &t->columns[c];
		size_t limit;

		if (col->type != AIF_TYPE_REF)
			continue;
		limit = col->ref == AIF_TABLE_STRING
				? p->strings.len
				: *aif_schema_len(p, &aif_schema_tables[col->ref]);
		for (size_t i = 0; i < n; i++) {
			uint32_t id;

			memcpy(&id, rows + i * t->row_size + col->offset, sizeof(id));
			if (id >= limit && (id != AIF_NONE || col->must))
				return col->name;
		}
	}
	return NULL;
}

bool aif_schema_check_stacks(struct aif_profile *p)
{
	for (uint32_t i = 0; i < p->stacks_len; i++) {
		struct aif_stack *s = &p->stacks[i];

		/* Callers come first: so there are no cycles. */
		if (s->parent != AIF_NONE && s->parent >= i)
			return false;
		s->depth = s->parent == AIF_NONE ? 1 : p->stacks[s->parent].depth + 1;
	}
	return true;
}
