/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The records that the agent sends to the recorder. Every record that a ring may hold is listed
 * once, in AIF_WIRE_RECORDS; enum, sizes, names, validation and dump follow from the list. Records
 * are multiples of 8 bytes, host byte order (both sides run on one machine), and carry no pointer.
 *
 * Ids. Scope "process": unique in the target process for its life (devices, streams, programs,
 * kernels). Scope "slot": unique in one ring slot since its last THREAD record (stacks, shapes); no
 * lock is needed to make them. A definition precedes its uses in the same ring; a process-wide
 * definition may come in another ring, and later, than its first use.
 *
 * Strings are the bytes after the fixed part, in the order of their length fields, not terminated.
 */

#define AIF_WIRE_VERSION    31
#define AIF_WIRE_MAGIC      UINT32_C(0x31464941) /* "AIF1" */
#define AIF_WIRE_MAX_RECORD 32768                /* bytes, header included */
#define AIF_WIRE_MAX_DEPTH  2048                 /* frames of one stack, Python's too */
#define AIF_WIRE_NONE       UINT32_MAX

/* name, fixed size, variable part: 0 = none, 1 = strings or bytes, 2 = u64 array */
#define AIF_WIRE_RECORDS(X)              \
	X(PAD, pad, 8, 1)                \
	X(THREAD, thread, 40, 0)         \
	X(MODULE, module, 40, 1)         \
	X(DEVICE, device, 72, 1)         \
	X(STREAM, stream, 24, 0)         \
	X(PROGRAM, program, 24, 1)       \
	X(TEXT, text, 24, 1)             \
	X(KERNEL, kernel, 24, 1)         \
	X(SHAPE, shape, 40, 0)           \
	X(PYCODE, pycode, 24, 1)         \
	X(STACK, stack, 16, 2)           \
	X(LAUNCH, launch, 40, 0)         \
	X(EXEC, exec, 56, 0)             \
	X(CLOCK, clock, 32, 0)           \
	X(SAMPLE, sample, 32, 0)         \
	X(CPU_SAMPLE, cpu_sample, 32, 0) \
	X(BLOCK, block, 48, 0)           \
	X(NOTE, note, 24, 1)             \
	X(JIT, jit, 32, 1)               \
	X(CODE, code, 24, 1)             \
	X(REASON, reason, 16, 1)         \
	X(WINDOW, window, 64, 0)         \
	X(PC, pc, 24, 2)                 \
	X(PLACE, place, 48, 0)           \
	X(MARK, mark, 32, 1)             \
	X(NAME, name, 24, 1)             \
	X(COUNTER, counter, 24, 1)       \
	X(VALUES, values, 32, 2)         \
	X(NODE, node, 40, 0)             \
	X(MEMORY, memory, 64, 0)

enum aif_wire_type {
#define X(NAME, name, size, variable) AIF_WIRE_##NAME,
	AIF_WIRE_RECORDS(X)
#undef X
		AIF_WIRE_COUNT
};

struct aif_wire_head {
	uint16_t type;  /* enum aif_wire_type */
	uint16_t words; /* size of the whole record in 8-byte words, header included */
	uint32_t aux;   /* as each record says; else 0 */
};

struct aif_wire_pad { /* filler at the ring's end, shorter than the record that did not fit */
	struct aif_wire_head head;
};

/* A thread took the slot: slot-scoped ids start anew. */
struct aif_wire_thread {
	struct aif_wire_head head; /* aux: tid, as the target sees it */
	uint64_t time;             /* CLOCK_MONOTONIC ns */
	uint64_t zero;
	char name[16]; /* terminated */
};

/* A module that a stack runs through, before the first such stack. Strings: path, build id. */
struct aif_wire_module {
	struct aif_wire_head head; /* aux: 1 for the vdso */
	uint64_t base, lo, hi;     /* load bias; executable range */
	uint16_t path_len, build_id_len;
	uint32_t zero;
};

/* Strings: name, vendor, driver version, runtime. */
struct aif_wire_device {
	struct aif_wire_head head; /* aux: device id (process) */
	uint32_t kind, units;      /* enum aif_device_kind of profile/model.h; compute units */
	uint32_t clock;            /* enum aif_clock of the times of its executions */
	uint16_t name_len, vendor_len, driver_len, runtime_len;
	/* Same meaning as in struct aif_device of profile/model.h; 0 = not known. */
	uint32_t arch, unit_threads, unit_blocks, unit_registers, unit_shared, block_shared;
	/* domain << 16 | bus << 8 | device << 3 | function; 0 = not known, or on no bus */
	uint32_t pci;
	uint32_t clock_khz, memory_khz, memory_bits; /* as struct aif_device has them */
	uint32_t zero;
};

struct aif_wire_stream {
	struct aif_wire_head head; /* aux: stream id (process) */
	uint32_t device, ordinal, out_of_order, zero;
};

/* Strings: build options as the application gave them. */
struct aif_wire_program {
	struct aif_wire_head head; /* aux: program id (process) */
	uint32_t source_len;       /* bytes of source text that TEXT records bring, 0 = none */
	uint32_t options_len;
	uint64_t
		il; /* what it was made of instead (SPIR-V): aif_object_source() of this was left, 0 = none */
};

/* A piece of a program's source text. */
struct aif_wire_text {
	struct aif_wire_head head; /* aux: program id */
	uint32_t offset, len;
	uint64_t zero;
};

/* Strings: name. */
struct aif_wire_kernel {
	struct aif_wire_head head; /* aux: kernel id (process) */
	uint32_t program, name_len;
	uint64_t zero;
};

/* The geometry of launches. */
struct aif_wire_shape {
	struct aif_wire_head head;  /* aux: shape id (slot) */
	uint32_t grid[3], block[3]; /* work items in all, per group; 0 = not given */
	uint64_t zero;
};

/* A Python function, before the first stack with it. Strings: name (qualified since 3.11), file,
 * line table as the interpreter has it (symbolize/pylines.h), perhaps cut. */
struct aif_wire_pycode {
	struct aif_wire_head head; /* aux: code id (slot), less than AIF_WIRE_PYCODES */
	int32_t first_line;
	uint16_t name_len, file_len, lines_len;
	uint16_t minor; /* of its version 3.minor */
	uint32_t zero;
};
#define AIF_WIRE_PYCODES (UINT32_C(1) << 31)

/* A stack, innermost first. An entry is an address of native code, and all but the first are
 * return addresses; or, with bit 63, a Python frame: code id << 32 | instruction (bytes into the
 * bytecode, as int32_t); or AIF_WIRE_OS: the OS kernel, the thread is inside of a call of it, or of a fault. `stop` is enum aif_unwind_stop (anything but 0, AIF_STOP_END, means
 * truncated) with enum aif_wire_stack_flag. */
struct aif_wire_stack {
	struct aif_wire_head head; /* aux: stack id (slot) */
	uint32_t depth, stop;
	uint64_t pcs[]; /* depth */
};
#define AIF_WIRE_PYTHON (UINT64_C(1) << 63)
#define AIF_WIRE_OS     (UINT64_C(1) << 62)
/* enum aif_unwind_stop. */
#define AIF_WIRE_STACK_STOP(stop) ((stop)&0xff)
#define AIF_WIRE_STOP_DEPTH       5 /* AIF_STOP_DEPTH */
enum aif_wire_stack_flag {
	AIF_WIRE_STACK_CUT = 256,      /* outer Python frames are missing, or all of them */
	AIF_WIRE_STACK_GUESSED = 2048, /* some native frames follow from a guess (unwind.h) */
	AIF_WIRE_STACK_BLOCK =
		512, /* where its Python frames stand among the native ones is not known */
};

/* A launch call began. `launch` = slot << 40 | sequence number in the slot. */
struct aif_wire_launch {
	struct aif_wire_head head; /* aux: enum aif_launch_kind of profile/model.h */
	uint64_t time;             /* CLOCK_MONOTONIC ns, before the vendor's call */
	uint64_t launch;
	uint32_t stack, stream; /* slot, process; AIF_WIRE_NONE = unknown */
	union {
		struct {
			uint32_t kernel, shape; /* process, slot */
		};
		uint64_t bytes; /* of copies and fills */
	};
};

/* An execution ended. Times are raw stamps of the stream's device's clock. */
struct aif_wire_exec {
	struct aif_wire_head head; /* aux: enum aif_launch_kind */
	uint64_t launch, start, end;
	uint32_t stream, kernel;
	union {
		struct {
			uint32_t registers,
				shared; /* of a thread; bytes of a block; 0, 0 = not known */
		};
		uint64_t bytes; /* of copies and fills */
	};
	uint32_t graph, node; /* that launched it: process, its node; 0, 0 = none */
};

/* A bracketed pair of a device's clock. */
struct aif_wire_clock {
	struct aif_wire_head head;     /* aux: enum aif_clock */
	uint64_t before, after, value; /* before, after: CLOCK_MONOTONIC ns */
};

/* Timer fallback: where a thread of a CPU device was. */
struct aif_wire_sample {
	struct aif_wire_head head; /* aux: tid */
	uint64_t time, pc;         /* CLOCK_MONOTONIC ns */
	uint64_t count;            /* samples that this one stands for (timer overruns) */
};

/* The stack of a thread on a CPU (agent/cpu.h), or, WAITING, of a thread that waited for
 * a device from `time` on (agent/wait.h). The agent's helper writes it, so tid is not that of
 * the ring. */
enum aif_wire_cpu_flag {
	AIF_WIRE_CPU_WAITING = 1,
	AIF_WIRE_CPU_OS =
		2, /* the thread was in the OS kernel until `time` for all of its weight */
	/* Without a stack: CPU time of the thread before its first sample, or after its last. */
	AIF_WIRE_CPU_BEFORE = 4,
	AIF_WIRE_CPU_AFTER = 8,
	/* With BEFORE: all that the process had used when sampling began, the programs that it was before included. */
	AIF_WIRE_CPU_PROCESS = 16,
};
struct aif_wire_cpu_sample {
	struct aif_wire_head head; /* aux: tid; or: */
#define AIF_WIRE_ENDED_THREADS 0   /* of threads that ended before they were found: no stack */
	uint64_t time, weight;     /* CLOCK_MONOTONIC ns; ns that it stands for */
	uint32_t stack, flags;     /* slot; enum aif_wire_cpu_flag */
};

/* A block of the overhead budget, as this thread met it (agent/budget.h): between its first
 * launch in it and its first in another it made `launches`, all of them captured (ON) or none.
 * Or, as a runtime has COUNTED it that counts them itself, the thread `tid` did or, 0, all threads of
 * the process that have no such block of their own. aux: */
enum aif_wire_block_flag { AIF_WIRE_BLOCK_ON = 1, AIF_WIRE_BLOCK_COUNTED = 2 };
struct aif_wire_block {
	struct aif_wire_head head;
	uint64_t start, end, launches; /* CLOCK_MONOTONIC ns, end exclusive */
	uint32_t block, duty_ppm;      /* its number in the process; the share of time that is on */
	uint32_t tid, zero;
};

/* Something did not work (enum aif_reason), or was lost `count` times. Strings: detail. */
struct aif_wire_note {
	struct aif_wire_head head; /* aux: enum aif_reason */
	uint64_t count;
	uint32_t detail_len, zero;
};

/* A function that a JIT compiler has made, before the first stack with it. Strings: name. */
struct aif_wire_jit {
	struct aif_wire_head head;
	uint64_t lo, hi; /* its code */
	uint32_t name_len, zero;
};

/* A device function, before its first sample. Strings: name, mangled. */
struct aif_wire_code {
	struct aif_wire_head head; /* aux: code id (process) */
	uint64_t hash; /* of the object that it is in: names its file (handshake.h); 0 = not kept */
	uint32_t symbol,
		name_len; /* its number in the object's symbol table, or AIF_WIRE_SYMBOL_BY_NAME */
};
#define AIF_WIRE_SYMBOL_BY_NAME UINT32_MAX /* the runtime (Level Zero) tells names only */

/* A stall reason of a device's threads, defined before the first sample that has it. Strings:
 * name. */
struct aif_wire_reason {
	struct aif_wire_head head; /* aux: reason id (process) */
	uint32_t name_len, zero;
};

/* A stretch of time in which a device itself took samples; its PC records follow in the same ring. */
struct aif_wire_window {
	struct aif_wire_head head; /* aux: window id (process), grows */
	uint64_t start, end;       /* CLOCK_MONOTONIC ns */
	uint64_t period_ps;        /* between two samples of one of the device's units */
	uint64_t samples;          /* all that it took: with lost and others */
	uint64_t lost;             /* dropped by the device */
	uint64_t others;           /* in code that is not the application's */
	uint32_t device, flags;    /* flags: */
};
enum aif_wire_window_flag {
	AIF_WIRE_WINDOW_ADDRESSES =
		1, /* of the whole device: its PC records are of whatever process's code */
	AIF_WIRE_WINDOW_TILES = 2, /* and of all devices that are parts of that one */
};

/* The number of samples at the instruction `pc` bytes into a function, by reason: reason id <<
 * 32 | samples. In a window of ADDRESSES code is AIF_WIRE_NONE and pc an address in the device's
 * memory: 64 bits, or the lowest 32 of them. */
struct aif_wire_pc {
	struct aif_wire_head head; /* aux: window id */
	uint32_t code, count;      /* count: of entries */
	uint64_t pc;
	uint64_t samples[];
};
#define AIF_WIRE_MAX_REASONS 256

/* The program says where it is (include/aiflame.h); or what it called. Strings: the range's or
 * the call's name. */
enum aif_wire_mark_kind {
	AIF_MARK_BEGIN = 1,
	AIF_MARK_END = 2,
	AIF_MARK_STEP = 3,      /* begins; the one before is over */
	AIF_MARK_STEPS_END = 4, /* the last is over */
	AIF_MARK_CALL = 5,      /* a call of the runtime that launches nothing is over */
	/* Ranges that libraries mark, too (agent/nvtx): those of one domain nest, those of several
	 * need not. Strings: what comes with them (a payload), or nothing. */
	/* number: name (process), and << 32 the name that has the payload's text, or 0; depth: its place
	 * among the thread's */
	AIF_MARK_OPEN = 6,
	AIF_MARK_CLOSE = 7,   /* number: the time of its OPEN; depth: as there */
	AIF_MARK_INSTANT = 8, /* a moment; number: as of OPEN */
	AIF_MARK_START = 9,   /* of a range that any thread may end; depth: name */
	AIF_MARK_FINISH = 10, /* of such a range, perhaps in another ring; number: as there */
	/* Operators of a framework, which nest. depth: operators that the thread is in. Strings: its name and, behind a
	 * zero, its inputs' shapes */
	AIF_MARK_OPERATOR = 11,
	AIF_MARK_OPERATOR_END = 12,
	/* A call in which ranks of a job take part together is over. As CALL; strings: its name and, behind a zero, two
	 * uint64_t: its communicator, the same number on all ranks, and which of its calls it is, from 1 */
	AIF_MARK_JOINT_CALL = 13,
};
struct aif_wire_mark {
	struct aif_wire_head head; /* aux: enum aif_wire_mark_kind */
	uint64_t time, number;     /* CLOCK_MONOTONIC ns; of a step; of a call: when it began */
	/* Ranges that the thread is in, this one not counted; of a call its stack (slot),
	 * AIF_WIRE_NONE = unknown. */
	uint32_t depth, name_len;
};

/* The name of ranges, in each ring before its first use since the ring's last THREAD record.
 * Strings: name. */
struct aif_wire_name {
	struct aif_wire_head head; /* aux: name id (process) */
	uint32_t name_len, zero;
	uint64_t zero2;
};

/* A node of a device graph: made, copied, changed. Nodes are numbers of the process: their graph's << 32 | which of it. */
enum aif_wire_node_kind {
	AIF_NODE_MADE = 1,    /* by a call of the program */
	AIF_NODE_CLONED = 2,  /* is a copy of .from */
	AIF_NODE_UPDATED = 3, /* does from now on what .from does */
	AIF_GRAPH_INSTANTIATING =
		4, /* .node: the graph. The thread turns a copy of it into what can be replayed */
	AIF_GRAPH_INSTANTIATED = 5, /* .node: the graph. The thread is done with that */
	AIF_GRAPH_GONE = 6,         /* .node: the graph */
};
struct aif_wire_node {
	struct aif_wire_head head; /* aux: enum aif_wire_node_kind */
	uint64_t time;             /* CLOCK_MONOTONIC ns */
	uint64_t node, from;       /* 0 where the kind does not say */
	uint32_t stack, zero;      /* of MADE (slot), AIF_WIRE_NONE = unknown */
};

/* A block of memory was allocated, or is about to be released. */
struct aif_wire_memory {
	struct aif_wire_head head;    /* aux: enum aif_memory_kind of profile/model.h */
	uint64_t time;                /* CLOCK_MONOTONIC ns */
	uint64_t block;               /* a number of the process, unique while the block is there */
	uint64_t bytes;               /* 0 of a release: those of the block */
	uint64_t allocated, reserved; /* by an allocator that says so; AIF_MEMORY_UNKNOWN */
	uint32_t stack;               /* slot; AIF_WIRE_NONE = unknown */
	uint32_t device;              /* process; AIF_WIRE_NONE: the host's memory */
	uint64_t zero;
};

/* The address of a device function's code in a device's memory, from `time` on. */
struct aif_wire_place {
	struct aif_wire_head head; /* aux: code id (process) */
	uint64_t time;             /* CLOCK_MONOTONIC ns */
	uint64_t address;          /* as the device's samples tell it, 64 bits */
	uint64_t size;             /* bytes; 0 = it is gone */
	uint32_t device, zero;
	uint64_t zero2;
};

/* A counter of a device, before its first value: those that are told together have consecutive
 * ids. Strings: name, unit ("" for a number). */
struct aif_wire_counter {
	struct aif_wire_head head; /* aux: counter id (process) */
	uint32_t device;
	uint16_t name_len, unit_len;
	uint64_t zero;
};

/* Values of counters, measured over the time that ended then; one that is not finite is missing. */
struct aif_wire_values {
	struct aif_wire_head head; /* aux: the first one's id */
	uint64_t time;             /* CLOCK_MONOTONIC ns */
	uint32_t count, zero;
	uint64_t launch; /* 1 + that around which they were measured; 0: none */
	double values[]; /* of it and those that follow it */
};
#define AIF_WIRE_MAX_VALUES 256

#define X(NAME, name, size, variable) \
	static_assert(sizeof(struct aif_wire_##name) == (size), #name);
AIF_WIRE_RECORDS(X)
#undef X

#define AIF_WIRE_SLOT_SHIFT 40

static inline size_t aif_wire_size(const struct aif_wire_head *h)
{
	return (size_t)h->words * 8;
}

const char *aif_wire_name(unsigned type); /* "launch"; "?" when unknown */

/* True if the `len` bytes at `record` are one whole well-formed record: known type, the size that
 * its type and length fields ask for. Ids and times are not judged. `record` is 8-byte aligned and
 * must be the caller's own copy, not shared memory. */
bool aif_wire_valid(const void *record, size_t len);

/* Adds `ns` to each CLOCK_MONOTONIC stamp of a valid record. An execution's are of its device's
 * clock and stay. */
void aif_wire_shift(void *record, uint64_t ns);

/* One line of text about a valid record, for debugging and golden tests; returns snprintf's count. */
int aif_wire_dump(const void *record, char *text, size_t size);
