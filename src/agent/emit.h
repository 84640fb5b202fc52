/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit_kinds.h"
#include "agent/enter.h"
#include "base/clock.h"
#include "base/reasons.h"

/*
 * Writing records, for adapters. Every function writes one or more records to the ring of the thread `t` (of
 * aif_thread_enter()); none waits or allocates. False means that the ring was full: the loss is counted in the slot; a
 * definition is then to be made again at its next use.
 *
 * Ids of devices, streams, programs and kernels are the adapter's, unique in the process.
 */

struct aif_emit_device {
	uint32_t id, kind, units;
	uint32_t clock; /* enum aif_clock; AIF_CLOCK_DEVICE + id for one of its own */
	uint32_t pci;   /* as AIF_WIRE_DEVICE has it; 0 = not known */
	const char *name, *vendor, *driver, *runtime;
	/* Limits of how many blocks run on a unit at once (profile/model.h); 0 = not known. */
	uint32_t arch, unit_threads, unit_blocks, unit_registers, unit_shared, block_shared;
	uint32_t clock_khz, memory_khz, memory_bits; /* the highest it reports; 0 = not known */
};
bool aif_emit_device(struct aif_thread *t, const struct aif_emit_device *d);

bool aif_emit_stream(struct aif_thread *t, uint32_t id, uint32_t device, uint32_t ordinal,
		     bool out_of_order);

/* Options as the application gave them. The source's text, which need not be terminated, follows in
 * pieces, up to AIF_EMIT_SOURCE_MAX bytes of it. `il`: as struct aif_wire_program has it. */
#define AIF_EMIT_SOURCE_MAX (1u << 20)
bool aif_emit_program(struct aif_thread *t, uint32_t id, const char *options, const char *source,
		      size_t source_len, uint64_t il);

bool aif_emit_kernel(struct aif_thread *t, uint32_t id, uint32_t program, const char *name);

/* The runtime API function that the application called: a frame of the stack also where the vendor's
 * library jumped to us and left none. */
struct aif_emit_api {
	uint64_t pc;     /* its first instruction, 0 = unknown */
	uint64_t lo, hi; /* the library that it is in, 0 = unknown */
	/* The library that calls us on its behalf, whose frames are left out; 0, 0 = none. */
	uint64_t skip_lo, skip_hi;
};

/* The thread has left the budget's block that it was in, for `next` (0 = it ends). */
void aif_emit_block_ended(struct aif_thread *t, uint32_t next, uint64_t now);

/* A block whose launches the adapter has counted itself. */
struct aif_emit_block {
	bool on, counted;
	uint64_t start, end, launches;
	uint32_t block, duty_ppm;
	uint32_t
		tid; /* whose, if it was counted; 0 = of all threads that have no blocks of their own */
};
bool aif_emit_block(struct aif_thread *t, const struct aif_emit_block *b);

/* The id of a stack that is known otherwise. All but pcs[0] are return addresses. */
uint32_t aif_emit_stack(struct aif_thread *t, const uint64_t *pcs, unsigned depth,
			enum aif_unwind_stop stop);
/* For capture.c, which gives the numbers. */
bool aif_emit_stack_record(struct aif_thread *t, uint32_t id, const uint64_t *entries,
			   unsigned depth, unsigned stop);
bool aif_emit_pycode(struct aif_thread *t, uint32_t id, const struct aif_python_code *c);

struct aif_emit_shape {
	uint32_t grid[3], block[3];
};
/* After the stack of the same launch, which may make slot-scoped ids start anew. */
uint32_t aif_emit_shape(struct aif_thread *t, const struct aif_emit_shape *shape);
/* Prefetches what aif_emit_shape() reads for that shape. */
void aif_emit_shape_prefetch(const struct aif_thread *t, const struct aif_emit_shape *shape);

/* Is the launch that happens now to be captured? Asked once for each; false: it is counted, and nothing
 * more is to be done for it. */
static inline bool aif_emit_wanted(struct aif_thread *t, uint64_t now)
{
	uint32_t block = aif_budget_block(&aif_agent.budget, now);

	if (aif_unlikely(block != t->block))
		aif_emit_block_ended(t, block, now);
	atomic_store_explicit(&t->slot->block_launches, ++t->block_launches, memory_order_relaxed);
	return aif_budget_is_on(block);
}

struct aif_emit_launch {
	enum aif_emit_kind kind;
	uint64_t time; /* CLOCK_MONOTONIC, before the vendor's call */
	uint32_t stack, stream;
	uint32_t kernel, shape; /* of KERNEL */
	uint64_t bytes;         /* of the others */
};
bool aif_emit_launch(struct aif_thread *t, const struct aif_emit_launch *l, uint64_t *ret_launch);

struct aif_emit_exec {
	enum aif_emit_kind kind;
	uint64_t launch, start, end; /* the device's own stamps */
	uint32_t stream, kernel;
	uint32_t registers, shared; /* of KERNEL: of a thread; bytes of a block; 0, 0 = not known */
	uint64_t bytes;             /* of the others */
	uint32_t graph, node; /* what replayed it, and which part of that it is; 0, 0 = none */
};
bool aif_emit_exec(struct aif_thread *t, const struct aif_emit_exec *e);

/* before, after: CLOCK_MONOTONIC around the reading of the device's clock. */
bool aif_emit_clock(struct aif_thread *t, uint32_t clock, uint64_t before, uint64_t after,
		    uint64_t value);
bool aif_emit_sample(struct aif_thread *t, uint32_t tid, uint64_t time, uint64_t pc,
		     uint64_t count);
/* flags: enum aif_wire_cpu_flag. A loss is not counted here. */
bool aif_emit_cpu_sample(struct aif_thread *t, uint32_t tid, uint64_t time, uint64_t weight,
			 uint32_t stack, uint32_t flags);
/* This thread's waiting (wait.h). */
void aif_emit_wait(struct aif_thread *t, uint64_t since, uint64_t weight, uint32_t stack);
bool aif_emit_module(struct aif_thread *t, const struct aif_unwind_module *m, const char *path,
		     bool is_vdso, const char *build_id);
bool aif_emit_jit(struct aif_thread *t, uint64_t lo, uint64_t hi, const char *name);
/* Samples that a device has taken of itself (wire.h): a function and a reason before their first use, a
 * window before its samples. */
bool aif_emit_code(struct aif_thread *t, uint32_t id, uint64_t hash, uint32_t symbol,
		   const char *name);
bool aif_emit_reason(struct aif_thread *t, uint32_t id, const char *name);
struct aif_emit_window {
	uint32_t id, device;
	uint64_t start, end, period_ps, samples, lost, others;
	uint32_t flags; /* enum aif_wire_window_flag */
};
bool aif_emit_window(struct aif_thread *t, const struct aif_emit_window *w);
struct aif_emit_reason {
	uint32_t reason, samples;
};
/* At most AIF_WIRE_MAX_REASONS. */
bool aif_emit_pc(struct aif_thread *t, uint32_t window, uint32_t code, uint64_t pc,
		 const struct aif_emit_reason *reasons, unsigned n);
/* Place of a function's code in a device's memory from `time` on (wire.h); size 0: the code is
 * gone. */
struct aif_emit_place {
	uint32_t code, device;
	uint64_t time, address, size;
};
bool aif_emit_place(struct aif_thread *t, const struct aif_emit_place *p);
/* A node of a graph: made, copied, changed (wire.h). */
struct aif_emit_node {
	enum aif_wire_node_kind kind;
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t node, from;
	uint32_t stack; /* of MADE */
};
bool aif_emit_node(struct aif_thread *t, const struct aif_emit_node *n);
/* A counter before its first value (wire.h); at most AIF_WIRE_MAX_VALUES values at a time. launch: 1 + that around which
 * they were measured, or 0. */
bool aif_emit_counter(struct aif_thread *t, uint32_t id, uint32_t device, const char *name,
		      const char *unit);
bool aif_emit_values(struct aif_thread *t, uint32_t first, uint64_t time, uint64_t launch,
		     const double *values, unsigned n);
bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t count,
		   const char *detail);

/* Raises a counter in the slot of a thread that is inside an entry, which alone writes it. */
static inline void aif_emit_count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Counts a launch for which aif_thread_enter() gave NULL, unless it was within another entry or nobody
 * collects. */
void aif_emit_missed(void);

/* Own cost, measured on one launch of AIF_EMIT_COST_EACH: call begin with the time that the launch
 * took anyway, pause before the vendor's call, resume after it, end last. */
#define AIF_EMIT_COST_EACH AIF_SHM_COST_EACH
/* Writes a mark as wire.h has it. False: ring full. */
struct aif_emit_mark {
	enum aif_wire_mark_kind kind;
	uint32_t depth;
	uint64_t time, number;
	const char *text;
	size_t text_len; /* at most 1000 */
};
bool aif_emit_mark_text(struct aif_thread *t, const struct aif_emit_mark *m);
/* Writes the name of ranges, at most 2,000 bytes. False: ring full. */
bool aif_emit_name(struct aif_thread *t, uint32_t id, const char *name, size_t len);
/* Writes a mark of the program's own, inside `depth` ranges. False: ring full. */
bool aif_emit_mark(struct aif_thread *t, enum aif_wire_mark_kind kind, uint32_t depth,
		   uint64_t number, const char *name);

/* The same at another time than now, CLOCK_MONOTONIC ns. */
bool aif_emit_mark_at(struct aif_thread *t, enum aif_wire_mark_kind kind, uint32_t depth,
		      uint64_t number, uint64_t time, const char *name);

struct aif_emit_memory { /* as struct aif_wire_memory has it */
	uint64_t time, block, bytes, allocated, reserved;
	uint32_t stack, device;
	bool is_release;
};
bool aif_emit_memory(struct aif_thread *t, const struct aif_emit_memory *m);

struct aif_emit_cost {
	uint64_t since, ns;  /* since 0 = this one is not measured */
	struct aif_shm *shm; /* who is told */
};
void aif_emit_cost_begin(struct aif_thread *t, struct aif_emit_cost *c, uint64_t now);
static inline void aif_emit_cost_pause(struct aif_emit_cost *c)
{
	if (aif_unlikely(c->since))
		c->ns += aif_now_ns() - c->since;
}
static inline void aif_emit_cost_resume(struct aif_emit_cost *c)
{
	if (aif_unlikely(c->since))
		c->since = aif_now_ns();
}
void aif_emit_cost_end(struct aif_emit_cost *c);
