/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/reasons.h"
#include "profile/traits.h"

/*
 * The model: what a profile remembers. Small facts are the tables below, held in memory whole; bulk
 * facts (launches, executions, samples) are rows in chunks, read chunk by chunk (chunk.h, file.h).
 *
 * All ids are dense u32 indexes from 0 into their table, the same in memory and in the file; the
 * value AIF_NONE means "none". Strings are ids in aif_profile.strings. Times in the tables and rows
 * are RAW stamps of the clock that their comment names; analysis/time.h maps them to ns since the
 * recording started.
 */

#define AIF_NONE UINT32_MAX

enum aif_frame_kind {
	AIF_FRAME_NATIVE = 1, /* user-space machine code: module + address */
	AIF_FRAME_OS = 2,     /* the OS kernel */
	AIF_FRAME_PYTHON =
		3, /* module = source file's string module, address = code id << 32 | instr */
	AIF_FRAME_DEVICE = 4, /* an instruction of a device kernel: device module + address */
	AIF_FRAME_MARK =
		5, /* a word of ours in the stack, e.g. "[truncated]": address = string id */
	/* Frames of traces (src/import): known by name, not by address. address = string id of
	 * it; module: which part of a runtime a call is of, or none. */
	AIF_FRAME_OP = 6,    /* a framework's operator */
	AIF_FRAME_RANGE = 7, /* a range that the program marked */
	AIF_FRAME_CALL = 8,  /* a call of a runtime or a driver */
};

enum aif_launch_kind {
	AIF_LAUNCH_KERNEL = 0,
	AIF_LAUNCH_READ = 1,  /* device to host */
	AIF_LAUNCH_WRITE = 2, /* host to device */
	AIF_LAUNCH_COPY = 3,  /* within a device, or to which one is not known */
	AIF_LAUNCH_FILL = 4,  /* memset */
	AIF_LAUNCH_MAP = 5,
	AIF_LAUNCH_UNMAP = 6,
	AIF_LAUNCH_MIGRATE = 7,
	/* allocation of device memory, where the device takes part in it (AIU) */
	AIF_LAUNCH_ALLOCATE = 8,
	AIF_LAUNCH_RELEASE = 9,
	AIF_LAUNCH_PEER = 10, /* a copy from one device to another */
	AIF_LAUNCH_KIND_COUNT
};
/* "kernel", "read", "write", "copy", "fill", "map", "unmap", "migrate", "allocate", "release",
 * "peer"; "?" for others. */
const char *aif_launch_kind_name(unsigned kind);
/* True for what allocates and releases memory: it moves nothing. */
static inline bool aif_launch_is_memory(unsigned kind)
{
	return kind == AIF_LAUNCH_ALLOCATE || kind == AIF_LAUNCH_RELEASE;
}
/* Returns torch.profiler's name of a transfer of that kind, "Memcpy HtoD"; "[map]" where torch has none. */
const char *aif_transfer_name(unsigned kind);
/* Returns the kind of a transfer that is called so, "Memcpy HtoD (Pageable -> Device)" or "[write]"; AIF_LAUNCH_KERNEL:
 * it is none's name. */
enum aif_launch_kind aif_transfer_kind(const char *name, size_t len);

enum aif_process_flag {
	AIF_PROCESS_AGENT = 1,   /* carried the agent */
	AIF_PROCESS_RUNTIME = 2, /* an accelerator runtime was initialised in it */
	AIF_PROCESS_JOINED =
		4, /* the agent in it met the recorder: because of that, or with --children */
	/* The process's times are of a clock that could not be put on that of the profile's first rank: they cannot be compared. */
	AIF_PROCESS_CLOCK_APART = 8,
};
struct aif_process {
	uint32_t pid, ppid;          /* process ids in the pid namespace of the recorder */
	uint32_t exe, cmdline, host; /* strings */
	uint64_t start_ns, end_ns;   /* CLOCK_MONOTONIC; end 0 = still alive at the end */
	uint32_t flags;
	int32_t exit_status; /* wait status if known, else -1 */
	uint64_t cpu_ns;     /* CPU time of all threads since the recording began; 0 = not known */
	/* 1 + its rank in a job of several processes, 1 + that among those of its host; 0 = not known. */
	uint32_t rank, local_rank;
	uint32_t world; /* number of ranks in the job; 0 = not known */
	/* The error of its times against those of other hosts, once they were put on one clock; 0: of one clock, or not known. */
	uint32_t clock_error_ns;
};
struct aif_thread {
	uint32_t process, tid, name;
};
enum aif_device_kind {
	AIF_DEVICE_OTHER = 0,
	AIF_DEVICE_CPU = 1,
	AIF_DEVICE_GPU = 2,
	AIF_DEVICE_ACCELERATOR = 3
};
struct aif_device {
	uint32_t name, vendor, driver, runtime; /* strings; runtime: "opencl", "fake", ... */
	uint32_t kind, units;                   /* enum aif_device_kind; compute units, 0 unknown */
	uint32_t clock; /* enum aif_clock of this device's execution times */
	/* Limits on how many blocks run on a unit at once (occupancy.h); 0 = not known. */
	uint32_t arch; /* NVIDIA's compute capability, 10 * major + minor */
	uint32_t unit_threads, unit_blocks, unit_registers, unit_shared; /* shared: bytes */
	uint32_t block_shared; /* bytes that each block takes beside its own */
	/* domain << 16 | bus << 8 | device << 3 | function; 0 = not known, or on no bus */
	uint32_t pci;
	/* The highest clocks that it reports, of its units and of its memory, and the width of the way to that; 0 = not known. */
	uint32_t clock_khz, memory_khz, memory_bits;
};
struct aif_stream { /* a queue of a device, in one process */
	uint32_t process, device;
	uint32_t out_of_order; /* 0, 1 */
	uint64_t ordinal;      /* the runtime's number or handle of the stream */
};
enum aif_module_kind {
	AIF_MODULE_ELF = 1, /* host program or library */
	AIF_MODULE_VDSO = 2,
	AIF_MODULE_ANON = 3,       /* executable memory without a file: JIT */
	AIF_MODULE_DEVICE_ELF = 4, /* device code in an ELF file that runs on a CPU (PoCL) */
	AIF_MODULE_DEVICE = 5,     /* device code of a device's own instruction set */
	AIF_MODULE_SOURCE = 6,     /* a source file (Python) */
	AIF_MODULE_OS =
		7, /* the OS kernel: addresses are the low 48 bits of its own (AIF_OS_KERNEL) */
	AIF_MODULE_RUNTIME =
		8, /* a part of a runtime, of calls that are known by name: path says which */
};
struct aif_module {
	uint32_t kind, path, build_id; /* strings; build_id in hex, AIF_NONE if none */
	uint32_t kernel;  /* DEVICE modules that hold one kernel: that kernel, else AIF_NONE */
	uint32_t program; /* the program it was built from, or AIF_NONE */
};
/* Address: in ELF modules the address in the file's own numbering (run-time address - load
 * bias). For callers it is a point INSIDE the call instruction (return address - 1), ready to be
 * looked up. */
/* The address of a place in a kernel that is known by name only. */
#define AIF_ADDRESS_UNKNOWN UINT64_MAX
struct aif_frame {
	uint32_t kind, module;
	uint64_t address;
};
/* One row per inlined function at a frame, inline_depth 0 = the function that really stands there
 * (the outermost), growing inwards. Strings; line 0 = unknown. A frame without rows has no name
 * yet: it is drawn as [module+0xADDRESS]. */
struct aif_frame_name {
	uint32_t frame, inline_depth, name, file, line;
};
/* A reader keeps so many of a frame, from the outermost on: four times what the recorder writes.
 * Each stands in every stack that the frame is in, so that a small file could have views write
 * gigabytes of them. */
#define AIF_FRAME_NAMES_MAX 128
/* A stack is its innermost frame plus its caller's stack. */
struct aif_stack {
	uint32_t parent, frame, depth; /* parent AIF_NONE at the root; depth 1 at the root */
	uint32_t flags;                /* enum aif_stack_flag, of a whole stack that ends here */
};
enum aif_stack_flag {
	AIF_STACK_TRUNCATED = 1,
	AIF_STACK_GUESSED = 2,
	/* Taken by the OS kernel along frame pointers: callers may be missing where code has none. */
	AIF_STACK_FRAME_POINTERS = 4,
};
/* The beginning of the mark of a backward's node that stands on a forward; a blank and the
 * node's name follow. */
#define AIF_BACKWARD_MARK "[backward]"
/* The path of the module AIF_MODULE_OS. */
#define AIF_OS_KERNEL "kernel"
/* The only frame, a mark, of CPU time that is known by clocks alone: before a thread's first sample, after its last, and of
 * the command and what it started beyond all that their processes have. */
#define AIF_CPU_BEFORE_MARK "[before sampling]"
#define AIF_CPU_AFTER_MARK  "[after sampling]"
#define AIF_CPU_NOT_MARK    "[not sampled]"
/* The name of the row of table threads, with number 0, that stands for a process's threads which ended before they were
 * found. */
#define AIF_ENDED_THREADS "[ended threads]"
/* The address in it of a frame whose function in the kernel is not known. */
#define AIF_OS_ANYWHERE 0
/* The beginning of the innermost frame, a mark, of CPU rows whose `waiting` is time off CPU:
 * blocked, or waiting for a CPU. */
#define AIF_OFF_CPU          "[off CPU"
#define AIF_OFF_CPU_BLOCKED  AIF_OFF_CPU "]"
#define AIF_OFF_CPU_RUNNABLE AIF_OFF_CPU ", runnable]"
/* The beginning of the only frame of such rows that the recorder saw from outside, without a stack; the
 * C library's function in which the thread slept follows, and "]": "[off CPU, seen in epoll_wait]". */
#define AIF_OFF_CPU_SEEN    AIF_OFF_CPU ", seen "
#define AIF_OFF_CPU_SEEN_IN AIF_OFF_CPU_SEEN "in "
/* The same of time that the thread could have run and had no CPU. */
#define AIF_OFF_CPU_SEEN_RUNNABLE AIF_OFF_CPU_SEEN "runnable]"
struct aif_program {              /* the program that kernels were built from */
	uint32_t process, source; /* source: string with the text, AIF_NONE if not kept */
	uint32_t options;         /* build options as the application gave them; string */
	uint32_t source_name;     /* the file name that line tables use for it, or AIF_NONE */
};
struct aif_kernel {
	/* Strings. short_name: as the file has it; ours have none, and views make their own (names/profile_names.h). */
	uint32_t name, short_name, program;
};
struct aif_shape {
	uint32_t grid[3], block[3]; /* work items in all / per group; 0 = not given */
};
struct aif_code {                    /* one device (or sampled) function's machine code */
	uint32_t module, name, arch; /* strings: "x86_64", "sm_90", ... */
	uint64_t address, size;
	const uint8_t *bytes;  /* NULL = not kept, or see `packed` */
	const uint8_t *packed; /* the bytes, compressed (code_pack.h), or NULL */
	uint64_t packed_size;
	uint64_t file_offset; /* offset of the bytes in the device binary; 0 = not known */
};
/*
 * A code of this architecture is a device binary; its module's path is the prefix and that of the modules that its functions
 * are in. Readers leave it packed. What is zero in it may be kept by functions: rows with a file_offset whose module has that
 * path, or is the binary's own (their architecture: AIF_BINARY_LINES).
 */
#define AIF_BINARY_ARCH   "elf"
#define AIF_BINARY_LINES  "line table"
#define AIF_BINARY_PREFIX "elf "
/* A bracketed pair: between `before` and `after` of the base clock, `clock` showed `value`. */
struct aif_clock_pair {
	uint32_t clock, process;       /* process AIF_NONE for host clocks */
	uint64_t before, after, value; /* before, after: CLOCK_MONOTONIC ns */
};
/* The making of a node of a device graph that can be replayed. Several rows of one node: it was updated. */
struct aif_graph_node {
	uint32_t process, graph, node; /* same numbers as in struct aif_exec_row */
	uint32_t thread, stack;        /* thread and stack that made the node */
	uint64_t since,
		made; /* CLOCK_MONOTONIC ns: replays from then on are of it; when it was made */
};
/* A kind of operation between ranks: NCCL's collectives. Which one an execution is: .collective and .sequence of its row. */
struct aif_collective {
	uint32_t communicator; /* string, the same on all of its ranks; AIF_NONE: not known */
	uint32_t operation;    /* string: "allreduce" */
	uint32_t ranks;        /* size of the communicator; 0 = not known */
	uint64_t bytes;        /* payload of this rank; 0 = not known */
};
/* Count of executions that took so long, of all that a reduced profile had before launches were left out. */
struct aif_duration {
	uint32_t process, device, kind, kernel; /* as executions have them */
	uint32_t bucket;                        /* base/duration_bucket.h */
	uint64_t count, ns;                     /* executions; how long they took in all */
};
struct aif_loss {
	uint32_t reason, process, thread, detail; /* AIF_NONE where unknown; detail: string */
	uint64_t count;
};

/* Bulk rows. `launch` is an opaque number, unique in the profile. */
struct aif_launch_row {
	uint64_t launch, time; /* CLOCK_MONOTONIC: the call began */
	uint32_t thread, kind, kernel, device, stream, stack, shape;
	uint64_t bytes; /* copied bytes, 0 for kernels */
};
struct aif_exec_row {
	uint64_t launch, start, end; /* raw stamps of `clock` */
	/* kernel: of a transfer, what its trace calls it, or AIF_NONE. */
	uint32_t clock, process, kind, kernel, device, stream;
	uint64_t bytes;
	/* The device graph whose replay it was part of, a number of its process, and which node
	 * of it; 0 = none. */
	uint32_t graph, node;
	/* registers of a thread, shared bytes of a block; registers 0 = neither is known */
	uint32_t registers, shared_bytes;
	/* 1 + which operation between ranks it is; 0 = none, or not known. And 1 + its number among those of its communicator, which
	 * all ranks count alike; 0 = not known. */
	uint32_t collective, sequence;
};
/* A device sample with its own time (CPU devices), or a count of samples of one window. */
struct aif_sample_row {
	uint64_t time;  /* CLOCK_MONOTONIC ns; for counted samples the window's start */
	uint64_t count; /* samples, 1 where each has its own time */
	uint32_t thread, process, device, frame, reason, window; /* reason: string or AIF_NONE */
};
/* A span of time in which something was observed. With a device: its sampling in a process, one
 * row a second. With a thread or, without, with p_ppm: a block of the overhead budget
 * (analysis/weights.h), in which all of the thread's or process's launches were captured (held
 * 1) or none (held 0). */
enum aif_held {
	AIF_NOT_HELD = 0,
	AIF_HELD = 1,
	/* Sampled, but another process may have caused the samples: they were shared with it.
	 * There is a row of the same times for those that are certain. */
	AIF_HELD_AMBIGUOUS = 2,
};
struct aif_window_row {
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
	uint32_t window, device, process,
		held;           /* held: enum aif_held; 0: sampling was refused, capture was off */
	uint64_t period_ns;     /* between two samples of one thread or unit */
	uint64_t lost;          /* samples dropped in this window */
	uint64_t launches;      /* launches that the thread made in the window */
	uint32_t thread, p_ppm; /* share of time that is held on average */
};
/* A stack of a thread on a CPU or, with `waiting`, of one that waited for a device from `time`
 * on. */
struct aif_cpu_row {
	uint64_t time;    /* CLOCK_MONOTONIC ns */
	uint64_t weight;  /* ns of CPU time that it stands for */
	uint64_t waiting; /* ns of waiting that it stands for: without CPU time used meanwhile */
	uint32_t thread, stack;
	uint32_t is_whole; /* 1: one wait, from .time to .time + .waiting; 0: a sum of waits */
	/* The thread that ended the wait (record --ebpf --off-cpu): 1 + its number, 1 + its stack then; 0: not known. One of a process that
	 * was not recorded has a stack alone, which begins with a mark, its name. */
	uint32_t waker_thread, waker;
	uint32_t zero;
};

/* Operators, ranges and calls that a host thread was in, as the program or its framework reports
 * them: from traces (src/import) and ranges. */
enum aif_op_kind {
	AIF_OP_OPERATOR = 1, /* a framework's operator: cpu_op */
	AIF_OP_RANGE = 2,    /* a range that the program marked: record_function, NVTX */
	AIF_OP_STEP = 3,     /* a step of the program's loop: ProfilerStep#N */
	AIF_OP_RUNTIME = 4,  /* a call of the runtime or the driver */
	AIF_OP_PYTHON = 5,   /* a Python function */
	AIF_OP_KIND_COUNT
};
/* "operator", "range", "step", "runtime", "python"; "?" for others. */
const char *aif_op_kind_name(unsigned kind);
/* Nesting is not stored: of one thread's rows, one whose time lies in another's is inside of it.
 * Of rows with the same time the outer one comes first. */
struct aif_op_row {
	uint64_t start, end; /* raw stamps of `clock` */
	uint32_t clock, thread, name, kind;
	/* string: shapes of its inputs as its source has them, AIF_NONE if not known */
	uint32_t shapes;
	/* string: types of its inputs, a JSON list of strings; AIF_NONE if not known */
	uint32_t types;
	uint32_t stack;   /* stack of the caller, AIF_NONE if not known */
	uint64_t id;      /* number in the source of the row (External id), 0 = none */
	int64_t sequence; /* autograd's: a forward and its backward have the same; -1 = none */
};

/* A value of a device that was measured at times: a performance counter, a frequency, how busy
 * it was. */
struct aif_counter_row {
	uint64_t time; /* CLOCK_MONOTONIC ns: the end of what it was measured over */
	double value;
	uint32_t device, name, unit; /* strings; unit AIF_NONE: a number, or not known */
	/* process to which this part of the value belongs; AIF_NONE: value of the whole device */
	uint32_t process;
	uint64_t launch; /* 1 + the number of that around which it was measured; 0: none */
};

/* An allocation or a release of memory, by a framework's allocator (traces) or by a runtime (recordings). */
enum aif_memory_kind { AIF_MEMORY_ALLOCATE = 1, AIF_MEMORY_RELEASE = 2 };
#define AIF_MEMORY_UNKNOWN UINT64_MAX
struct aif_memory_row {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	/* address or number of the block, unique while the block exists; 0 = not known */
	uint64_t block;
	uint64_t bytes; /* size of the block; 0 = not known, for a release */
	/* totals of the allocator after the event; AIF_MEMORY_UNKNOWN */
	uint64_t allocated, reserved;
	uint32_t thread, stack;
	uint32_t device; /* AIF_NONE: the host's memory */
	uint32_t kind;   /* enum aif_memory_kind */
};

/* Time of one kind of work of one place, in all steps of a process, of which a reduced profile has few whole: a row for steps one
 * behind the other in which it took about as long each (analysis/step_sums.h). */
enum aif_step_sum_kind {
	AIF_STEP_SUM_WORK =
		1, /* durations of executions of .kind and .kernel, launched at .stack */
	AIF_STEP_SUM_IDLE =
		2, /* time of the device without work, each up to an execution launched at .stack */
	AIF_STEP_SUM_COMPUTE = 3, /* durations of all kernels that compute, together */
	AIF_STEP_SUM_KIND_COUNT
};
/* "work", "idle", "compute"; "?" for others. */
const char *aif_step_sum_name(unsigned sum);
struct aif_step_sum_row {
	uint64_t start, end; /* CLOCK_MONOTONIC ns: of its first step, and of its last */
	uint64_t ns;         /* in all of its steps */
	uint64_t deviation;  /* ns: standard deviation of a step's */
	uint64_t executions; /* in all of its steps: of IDLE, those that it ended with */
	/* number of the first step in its process, from 1, and how many there are: one that took much longer or shorter may lie
	 * between, with a row of its own */
	uint32_t first, steps;
	uint32_t thread; /* whose steps they are */
	uint32_t sum;    /* enum aif_step_sum_kind */
	uint32_t device, stack;
	uint32_t kind; /* of WORK: enum aif_launch_kind */
	uint32_t kernel;
};

struct aif_meta {
	uint32_t key, value; /* strings */
};

enum aif_profile_note {
	AIF_NOTE_CUT_SHORT = 1, /* the recorder did not finish it: it ends at the last commit */
	/* the recorder was killed in a commit, which could not be undone here */
	AIF_NOTE_NO_ROLLBACK = 2,
	AIF_NOTE_TRIMMED = 4,     /* old rows were dropped (--keep, --max-size): see losses */
	AIF_NOTE_NO_LOCKS = 8,    /* the file system has no locks: others may be writing the file */
	AIF_NOTE_DEEP_NAMES = 16, /* a frame had more names than AIF_FRAME_NAMES_MAX */
};

#define AIF_TABLE(type, name) \
	struct type *name;    \
	size_t name##_len, name##_cap

struct aif_profile {
	struct aif_strset strings;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC of the recording's start and end */
	/* bulk rows are complete from here on: start_ns unless AIF_NOTE_TRIMMED */
	uint64_t kept_ns;
	uint64_t dropped_launches; /* launches in the rows that AIF_NOTE_TRIMMED is about */
	AIF_TABLE(aif_meta, meta);
	AIF_TABLE(aif_process, processes);
	AIF_TABLE(aif_thread, threads);
	AIF_TABLE(aif_device, devices);
	AIF_TABLE(aif_stream, streams);
	AIF_TABLE(aif_module, modules);
	AIF_TABLE(aif_frame, frames);
	AIF_TABLE(aif_frame_name, frame_names); /* sorted by frame, inline_depth */
	AIF_TABLE(aif_stack, stacks);
	AIF_TABLE(aif_program, programs);
	AIF_TABLE(aif_kernel, kernels);
	AIF_TABLE(aif_shape, shapes);
	AIF_TABLE(aif_code, codes);
	AIF_TABLE(aif_clock_pair, clock_pairs);
	AIF_TABLE(aif_graph_node, graph_nodes);
	AIF_TABLE(aif_collective, collectives);
	AIF_TABLE(aif_duration, durations);
	AIF_TABLE(aif_loss, losses);
	struct aif_traits traits;
	unsigned notes; /* enum aif_profile_note: what a view should say about the file */
	/* The file, for bulk rows; NULL for a profile that lives in memory only (profile/file.h). */
	struct aif_file *file;
};

/* "" if there is none; the value is a string that stays valid as long as no string is added. */
const char *aif_profile_meta(const struct aif_profile *p, const char *key);

/* The cycle of `record --schedule` that a profile is of, or the slow step of `record --snapshot-slow`: what views show unless
 * they are asked for other times. */
struct aif_cycle {
	uint64_t cycle;          /* from 1; 0: it is of none */
	uint64_t first, last;    /* steps, from 0 */
	uint64_t from_ns, to_ns; /* since the recording's start */
	bool is_slow;            /* a step that took longer than others */
	uint64_t usual_ns;       /* median length of the other steps, 0 if there was none */
};
/* Key in meta; the value is the members of struct aif_cycle with spaces between. */
#define AIF_CYCLE "cycle"
void aif_profile_cycle(const struct aif_profile *p, struct aif_cycle *ret);
/* The first one with this number (base/reasons.def), or NULL. */
const struct aif_loss *aif_profile_loss(const struct aif_profile *p, uint32_t reason);
const char *aif_profile_str(const struct aif_profile *p, uint32_t id);
/* The innermost of a frame's names, or NULL when it has none. */
const struct aif_frame_name *aif_profile_frame_name(const struct aif_profile *p, uint32_t frame);
/* Puts in order what readers expect of tables that were read: names of frames sorted and bounded, marks that are strings,
 * traits. */
void aif_profile_settle(struct aif_profile *p);
/* Makes one line of each string, but of programs' sources, so that a terminal may be sent any name. Part of opening a
 * profile: views take it const. 0 or -ENOMEM. */
int aif_profile_sanitize(struct aif_profile *p);
void aif_profile_finish(struct aif_profile *p); /* frees all tables; closes p->file */
