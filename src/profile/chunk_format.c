/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/chunk_format.h"

/* Short words for the tables below. `P` and `A` are bases, `_M` adds the mean. */
#define RAW                                                     \
	{                                                       \
		AIF_BASE_NONE, AIF_KEY_NONE, 0, 0, AIF_KEY_NONE \
	}
#define RAW_M(key)                                     \
	{                                              \
		AIF_BASE_NONE, AIF_KEY_NONE, 0, 1, key \
	}
#define P(key)                                         \
	{                                              \
		AIF_BASE_PREV, key, 0, 0, AIF_KEY_NONE \
	}
#define P_M(key, mean)                         \
	{                                      \
		AIF_BASE_PREV, key, 0, 1, mean \
	}
#define A(key, of)                                       \
	{                                                \
		AIF_BASE_AFTER, key, of, 0, AIF_KEY_NONE \
	}
#define A_M(key, of, m)                       \
	{                                     \
		AIF_BASE_AFTER, key, of, 1, m \
	}
#define P_ONE_M(m)        P_M(AIF_KEY_NONE, m)
#define AFTER_STREAM_M(m) A_M(EXEC_STREAM, EXEC_SPAN, m)
#define ONE               AIF_KEY_NONE
#define SELF              AIF_KEY_SELF
#define LAST(log, place)  AIF_KEY_LAST(place, log)
/* With an ever longer history: what repeats in few rows is learned sooner with a short one. */
#define EACH_LAST(how, place)                                                      \
	how(place), how(LAST(1, place)), how(LAST(2, place)), how(LAST(3, place)), \
		how(LAST(4, place)), how(LAST(5, place))

#define CANDIDATES(...)                                                            \
	.candidates = (const struct aif_chunk_coding[]){__VA_ARGS__},              \
	.candidates_len = sizeof((const struct aif_chunk_coding[]){__VA_ARGS__}) / \
			  sizeof(struct aif_chunk_coding)
#define COLUMN(number, type, field, how, absent, ...)                              \
	{                                                                          \
		.id = number, .form = how, .offset = offsetof(struct type, field), \
		.missing = absent, CANDIDATES(__VA_ARGS__)                         \
	}
#define LAUNCH(number, ...)  COLUMN(number, aif_launch_row, __VA_ARGS__)
#define EXEC(number, ...)    COLUMN(number, aif_exec_row, __VA_ARGS__)
#define SAMPLE(number, ...)  COLUMN(number, aif_sample_row, __VA_ARGS__)
#define WINDOW(number, ...)  COLUMN(number, aif_window_row, __VA_ARGS__)
#define CPU(number, ...)     COLUMN(number, aif_cpu_row, __VA_ARGS__)
#define OP(number, ...)      COLUMN(number, aif_op_row, __VA_ARGS__)
#define COUNTER(number, ...) COLUMN(number, aif_counter_row, __VA_ARGS__)
#define MEMORY(number, ...)  COLUMN(number, aif_memory_row, __VA_ARGS__)
#define SUM(number, ...)     COLUMN(number, aif_step_sum_row, __VA_ARGS__)
#define U64                  AIF_FORM_U64
#define U32                  AIF_FORM_U32
#define SPAN                 AIF_FORM_SPAN

/* Places in the lists below that are used as keys. */
enum { LAUNCH_THREAD = 0, LAUNCH_STACK = 1 };
enum { EXEC_KERNEL = 1, EXEC_STREAM = 2, EXEC_SPAN = 7 };
enum { SAMPLE_THREAD = 0, SAMPLE_DEVICE = 2, SAMPLE_FRAME = 4 };
enum { CPU_THREAD = 0, CPU_STACK = 1 };
enum { OP_THREAD = 0, OP_NAME = 1 };
enum { COUNTER_NAME = 1 };
enum { MEMORY_STACK = 1, MEMORY_DEVICE = 2 };

static const struct aif_chunk_column launch_columns[] = {
	LAUNCH(3, thread, U32, AIF_NONE, RAW, P(SELF)),
	LAUNCH(8, stack, U32, AIF_NONE, RAW, P(ONE), P(LAUNCH_THREAD), EACH_LAST(P, SELF)),
	LAUNCH(1, launch, U64, 0, P(ONE), P(LAUNCH_THREAD)),
	LAUNCH(2, time, U64, 0, P(ONE), P(LAUNCH_THREAD), P_M(ONE, ONE),
	       EACH_LAST(P_ONE_M, LAUNCH_STACK)),
	LAUNCH(4, kind, U32, AIF_LAUNCH_KERNEL, RAW, P(ONE), P(LAUNCH_STACK)),
	LAUNCH(5, kernel, U32, AIF_NONE, RAW, P(ONE), P(LAUNCH_STACK)),
	LAUNCH(6, device, U32, AIF_NONE, RAW, P(ONE), P(LAUNCH_STACK)),
	LAUNCH(7, stream, U32, AIF_NONE, RAW, P(ONE), P(LAUNCH_STACK), P(LAUNCH_THREAD)),
	LAUNCH(9, shape, U32, AIF_NONE, RAW, P(ONE), P(LAUNCH_STACK)),
	LAUNCH(10, bytes, U64, 0, RAW, P(ONE), P(LAUNCH_STACK)),
};

static const struct aif_chunk_column exec_columns[] = {
	EXEC(1, launch, U64, 0, P(ONE)),
	EXEC(7, kernel, U32, AIF_NONE, RAW, P(ONE), EACH_LAST(P, SELF)),
	EXEC(9, stream, U32, AIF_NONE, RAW, P(ONE), P(SELF), P(EXEC_KERNEL)),
	EXEC(4, clock, U32, 0, RAW, P(ONE), P(EXEC_STREAM)),
	EXEC(5, process, U32, AIF_NONE, RAW, P(ONE), P(EXEC_STREAM)),
	EXEC(6, kind, U32, AIF_LAUNCH_KERNEL, RAW, P(ONE), P(EXEC_KERNEL)),
	EXEC(8, device, U32, AIF_NONE, RAW, P(ONE), P(EXEC_STREAM)),
	EXEC(3, end, SPAN, 0, RAW, RAW_M(ONE), P(ONE), EACH_LAST(RAW_M, EXEC_KERNEL)),
	EXEC(2, start, U64, 0, P(ONE), P_M(ONE, ONE), EACH_LAST(P_ONE_M, EXEC_KERNEL),
	     P(EXEC_STREAM), P_M(EXEC_STREAM, EXEC_KERNEL), A(ONE, EXEC_SPAN),
	     A(EXEC_STREAM, EXEC_SPAN), A_M(EXEC_STREAM, EXEC_SPAN, ONE),
	     EACH_LAST(AFTER_STREAM_M, EXEC_KERNEL)),
	EXEC(10, bytes, U64, 0, RAW, P(ONE), P(EXEC_KERNEL)),
	/* Nodes come in the same order in each replay. */
	EXEC(11, graph, U32, 0, P(ONE), P(EXEC_STREAM)),
	EXEC(12, node, U32, 0, P(ONE), P(SELF), P(EXEC_KERNEL)),
	EXEC(13, registers, U32, 0, P(ONE), P(EXEC_KERNEL)),
	EXEC(14, shared_bytes, U32, 0, P(ONE), P(EXEC_KERNEL)),
	EXEC(15, collective, U32, 0, RAW, P(ONE), P(EXEC_KERNEL), P(LAST(1, EXEC_KERNEL))),
	EXEC(16, sequence, U32, 0, RAW, P(ONE), P_M(EXEC_KERNEL, EXEC_KERNEL)),
};

static const struct aif_chunk_column sample_columns[] = {
	SAMPLE(3, thread, U32, AIF_NONE, RAW, P(ONE), P(SELF)),
	SAMPLE(4, process, U32, AIF_NONE, RAW, P(ONE), P(SAMPLE_THREAD)),
	SAMPLE(5, device, U32, AIF_NONE, RAW, P(ONE), P(SAMPLE_THREAD)),
	SAMPLE(8, window, U32, AIF_NONE, RAW, P(ONE), P(SAMPLE_DEVICE)),
	SAMPLE(6, frame, U32, AIF_NONE, RAW, P(ONE), P(SELF), P(LAST(1, SELF))),
	SAMPLE(7, reason, U32, AIF_NONE, RAW, P(ONE), P(SAMPLE_FRAME)),
	SAMPLE(2, count, U64, 1, RAW, P(ONE), P(SAMPLE_FRAME)),
	SAMPLE(1, time, U64, 0, P(ONE), P_M(ONE, ONE), P(SAMPLE_THREAD),
	       P_M(SAMPLE_THREAD, SAMPLE_THREAD)),
};

static const struct aif_chunk_column window_columns[] = {
	WINDOW(3, window, U32, AIF_NONE, RAW, P(ONE)),
	WINDOW(4, device, U32, AIF_NONE, RAW),
	WINDOW(5, process, U32, AIF_NONE, RAW),
	WINDOW(6, held, U32, 1, RAW),
	WINDOW(2, end, SPAN, 0, RAW),
	WINDOW(1, start, U64, 0, P(ONE)),
	WINDOW(7, period_ns, U64, 0, RAW),
	WINDOW(8, lost, U64, 0, RAW),
	WINDOW(9, launches, U64, 0, RAW),
	WINDOW(10, thread, U32, AIF_NONE, RAW),
	WINDOW(11, p_ppm, U32, 0, RAW, P(ONE)),
};

static const struct aif_chunk_column cpu_columns[] = {
	CPU(3, thread, U32, AIF_NONE, RAW, P(ONE), P(SELF)),
	CPU(4, stack, U32, AIF_NONE, RAW, P(CPU_THREAD), P(SELF)),
	CPU(1, time, U64, 0, P(ONE), P(CPU_THREAD), P_M(CPU_THREAD, CPU_THREAD)),
	CPU(2, weight, U64, 0, RAW, RAW_M(CPU_THREAD)),
	CPU(5, waiting, U64, 0, RAW, RAW_M(CPU_THREAD)),
	CPU(6, is_whole, U32, 0, RAW, P(ONE)),
	CPU(7, waker_thread, U32, 0, RAW, P(ONE), P(CPU_STACK)),
	CPU(8, waker, U32, 0, RAW, P(ONE), P(CPU_STACK)),
};

/* Operators come in the same order in each step, with the same shapes; their numbers count up. */
static const struct aif_chunk_column op_columns[] = {
	OP(4, thread, U32, AIF_NONE, RAW, P(ONE), P(SELF)),
	OP(5, name, U32, AIF_NONE, RAW, P(OP_THREAD), EACH_LAST(P, SELF)),
	OP(6, kind, U32, 0, RAW, P(ONE), P(OP_NAME)),
	OP(3, clock, U32, 0, RAW, P(ONE)),
	OP(7, shapes, U32, AIF_NONE, RAW, P(ONE), EACH_LAST(P, OP_NAME)),
	OP(11, types, U32, AIF_NONE, RAW, P(ONE), EACH_LAST(P, OP_NAME)),
	OP(8, stack, U32, AIF_NONE, RAW, P(ONE), EACH_LAST(P, OP_NAME)),
	OP(2, end, SPAN, 0, RAW, RAW_M(ONE), EACH_LAST(RAW_M, OP_NAME)),
	OP(1, start, U64, 0, P(ONE), P(OP_THREAD), P_M(ONE, ONE), EACH_LAST(P_ONE_M, OP_NAME)),
	OP(9, id, U64, 0, RAW, P(ONE), P(OP_THREAD), P_M(ONE, OP_NAME)),
	OP(10, sequence, U64, UINT64_MAX, RAW, P(ONE), P(OP_NAME), P(OP_THREAD)),
};

/* All counters of a device are read at the same times; a value is like its counter's before it.
 * Values are the bits of IEEE 754's doubles. */
static const struct aif_chunk_column counter_columns[] = {
	COUNTER(3, device, U32, AIF_NONE, RAW, P(ONE), P(SELF)),
	COUNTER(4, name, U32, AIF_NONE, RAW, P(ONE), EACH_LAST(P, SELF)),
	COUNTER(5, unit, U32, AIF_NONE, RAW, P(ONE), P(COUNTER_NAME)),
	COUNTER(6, process, U32, AIF_NONE, RAW, P(ONE)),
	COUNTER(1, time, U64, 0, P(ONE), P(COUNTER_NAME), P_M(ONE, COUNTER_NAME)),
	COUNTER(2, value, U64, 0, RAW, P(ONE), P(COUNTER_NAME)),
	COUNTER(7, launch, U64, 0, RAW, P(ONE), P(COUNTER_NAME), P_M(ONE, COUNTER_NAME)),
};

/* A loop allocates the same from the same places; blocks of one size follow each other. */
static const struct aif_chunk_column memory_columns[] = {
	MEMORY(3, thread, U32, AIF_NONE, RAW, P(ONE), P(SELF)),
	MEMORY(4, stack, U32, AIF_NONE, RAW, P(ONE), EACH_LAST(P, SELF)),
	MEMORY(5, device, U32, AIF_NONE, RAW, P(ONE), P(MEMORY_STACK)),
	MEMORY(6, kind, U32, AIF_MEMORY_ALLOCATE, RAW, P(ONE), P(MEMORY_STACK)),
	MEMORY(1, time, U64, 0, P(ONE), P_M(ONE, ONE), P_M(ONE, MEMORY_STACK)),
	MEMORY(2, bytes, U64, 0, RAW, P(ONE), P(MEMORY_STACK)),
	MEMORY(7, block, U64, 0, RAW, P(ONE), P(MEMORY_STACK)),
	MEMORY(8, allocated, U64, AIF_MEMORY_UNKNOWN, RAW, P(ONE), P(MEMORY_DEVICE)),
	MEMORY(9, reserved, U64, AIF_MEMORY_UNKNOWN, RAW, P(ONE), P(MEMORY_DEVICE)),
};

/* Rows come by place, each place's in the order of time. */
static const struct aif_chunk_column step_sum_columns[] = {
	SUM(8, thread, U32, AIF_NONE, RAW, P(ONE)),
	SUM(9, sum, U32, 0, RAW, P(ONE)),
	SUM(10, device, U32, AIF_NONE, RAW, P(ONE)),
	SUM(11, stack, U32, AIF_NONE, RAW, P(ONE)),
	SUM(12, kind, U32, AIF_LAUNCH_KERNEL, RAW, P(ONE)),
	SUM(13, kernel, U32, AIF_NONE, RAW, P(ONE)),
	SUM(6, first, U32, 0, RAW, P(ONE)),
	SUM(7, steps, U32, 0, RAW, P(ONE)),
	SUM(2, end, SPAN, 0, RAW, P(ONE)),
	SUM(1, start, U64, 0, P(ONE)),
	SUM(3, ns, U64, 0, RAW, P(ONE)),
	SUM(4, deviation, U64, 0, RAW, P(ONE)),
	SUM(5, executions, U64, 0, RAW, P(ONE)),
};

static_assert(sizeof(struct aif_launch_row) == 56, "fields were added: give each a column");
static_assert(sizeof(struct aif_exec_row) == 80, "fields were added: give each a column");
static_assert(sizeof(struct aif_sample_row) == 40, "fields were added: give each a column");
static_assert(sizeof(struct aif_window_row) == 64, "fields were added: give each a column");
static_assert(sizeof(struct aif_cpu_row) == 48, "fields were added: give each a column");
static_assert(sizeof(struct aif_op_row) == 64, "fields were added: give each a column");
static_assert(sizeof(struct aif_counter_row) == 40, "fields were added: give each a column");
static_assert(sizeof(struct aif_memory_row) == 56, "fields were added: give each a column");
static_assert(sizeof(struct aif_step_sum_row) == 72, "fields were added: give each a column");

const struct aif_chunk_layout *aif_chunk_layout(enum aif_chunk_kind kind)
{
#define LAYOUT(type, at, list)                                                            \
	{                                                                                 \
		sizeof(struct type), offsetof(struct type, at), AIF_ARRAY_LEN(list), list \
	}
	static const struct aif_chunk_layout layouts[AIF_CHUNK_KIND_COUNT] = {
		[AIF_CHUNK_LAUNCHES] = LAYOUT(aif_launch_row, time, launch_columns),
		[AIF_CHUNK_EXECS] = LAYOUT(aif_exec_row, start, exec_columns),
		[AIF_CHUNK_SAMPLES] = LAYOUT(aif_sample_row, time, sample_columns),
		[AIF_CHUNK_WINDOWS] = LAYOUT(aif_window_row, start, window_columns),
		[AIF_CHUNK_CPU] = LAYOUT(aif_cpu_row, time, cpu_columns),
		[AIF_CHUNK_OPS] = LAYOUT(aif_op_row, start, op_columns),
		[AIF_CHUNK_COUNTERS] = LAYOUT(aif_counter_row, time, counter_columns),
		[AIF_CHUNK_MEMORY] = LAYOUT(aif_memory_row, time, memory_columns),
		[AIF_CHUNK_STEP_SUMS] = LAYOUT(aif_step_sum_row, start, step_sum_columns),
	};

	return (unsigned)kind < AIF_CHUNK_KIND_COUNT && layouts[kind].columns ? &layouts[kind]
									      : NULL;
}

size_t aif_chunk_row_size(enum aif_chunk_kind kind)
{
	const struct aif_chunk_layout *l = aif_chunk_layout(kind);

	return l ? l->row_size : 0;
}

static uint64_t sum_bytes(uint64_t h, const uint8_t *p, size_t n)
{
	uint64_t a = h ^ (n * UINT64_C(0x9e3779b97f4a7c15)), b = ~h;
	uint8_t tail[16] = {0};

	for (; n >= 16; n -= 16, p += 16) {
		a = aif_mix64(a ^ aif_load_le64(p)) + UINT64_C(0x9e3779b97f4a7c15);
		b = aif_mix64(b ^ aif_load_le64(p + 8)) + UINT64_C(0xd1b54a32d192ed03);
	}
	memcpy(tail, p, n);
	a = aif_mix64(a ^ aif_load_le64(tail));
	b = aif_mix64(b ^ aif_load_le64(tail + 8));
	return aif_mix64(a + (b << 32 | b >> 32));
}

uint64_t aif_chunk_checksum(const uint8_t *chunk, size_t size)
{
	uint64_t h = sum_bytes(0, chunk, 8);

	return sum_bytes(h, chunk + AIF_CHUNK_HEADER, size - AIF_CHUNK_HEADER);
}
