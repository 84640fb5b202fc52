/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/aiu.h"
#include "import/builder.h"
#include "import/host.h"
#include "import/import.h"
#include "import/json_reader.h"

/*
 * torch.profiler's traces (Kineto's Chrome JSON), and AIU's own dialect of it. Layout: pytorch/kineto
 * libkineto/src/output_json.cpp; IBM/aiu-trace-analyzer for AIU's.
 *
 * One pass over the text makes what is below: 32 bytes for each event of the host (kineto_events.c reads one,
 * kineto_take.c keeps it). When a file is over, the spans of each thread are put in order, which gives the stacks
 * (kineto_stacks.c); device events find the call that launched them, and become rows (kineto_device.c). Ranks of
 * one job are files whose clocks are compared at last (kineto_ranks.c).
 *
 * Chrome traces of other programs come this way, too: spans of categories that nobody here knows (KINETO_OTHER), which
 * are dropped where one is known. So do unitrace's, whose arrows become numbers first (kineto_flows.c), and rows of other tools'
 * tables (tool_db.h).
 *
 * Times are ns, whole: `ts` and `dur` are decimal microseconds, and would lose ns as doubles.
 */

enum kineto_class {
	KINETO_NOT_KEPT,
	KINETO_OP,
	KINETO_PYTHON,
	KINETO_RANGE,
	KINETO_CALL,
	KINETO_KERNEL,
	KINETO_COPY,
	KINETO_FILL,
	KINETO_COMMUNICATION,
	KINETO_OVERHEAD,
	KINETO_BLANK, /* what an export of ours draws where nothing was captured: kineto_blocks() knows it */
	KINETO_OTHER, /* a span of a category that nobody here knows: of another program's trace */
};

/* A pid or tid: a number, or a name ("Spans"). */
struct kineto_id {
	int64_t number;
	bool is_name;
};

/* One event as it was read; buffers are kept from one to the next. */
struct kineto_event {
	char ph;
	uint8_t class; /* enum kineto_class */
	bool has_ts, has_dur, has_correlation, has_external, has_device, has_stream;
	bool is_bad; /* something of it has the wrong type, or no number has room for it */
	struct kineto_id pid, tid;
	int64_t ts, dur;
	uint64_t correlation, external, bytes;
	uint64_t forward_thread; /* of a node of a backward; 0 */
	uint64_t id, flow;       /* id: of args, unitrace's number of a kernel; flow: of an arrow */
	bool is_recorded; /* .text is a name as it was before aiflame's export put a number behind it */
	uint64_t
		recorded_id; /* the number that its process or thread had before, if it was changed */
	bool has_recorded_id;
	bool has_id, has_flow,
		is_sum; /* is_sum: clang's, of what else is there: no span of its own */
	int64_t device, stream, sequence;
	uint32_t python; /* 0 = none */
	uint32_t told;   /* `sf`: its stack among stackFrames; 0: none */
	uint32_t full;   /* `asf`: among aiflameStackFrames, which have more */
	uint32_t graph, node, registers, shared_bytes;
	uint32_t chain; /* as kineto_call has it */
	uint32_t
		launched; /* of a call that launched something without times, in our own export: its kind */
	bool has_launched;
	uint32_t grid[3], block[3];
	struct aif_buf name, cat, shapes,
		text; /* text: of metadata: "name" or "labels" of its args */
};

struct kineto_span { /* something that a host thread was in */
	int64_t start, end;
	uint32_t name; /* in .names */
	uint32_t thread : 24, class : 8;
	uint32_t ref;  /* PYTHON: its id; OP, RANGE: index of .ops; CALL: of .calls; AIF_NONE */
	uint32_t told; /* as kineto_event has it */
};
#define KINETO_THREADS_MAX (1u << 24)

struct kineto_op {
	uint64_t external;
	int64_t sequence;
	uint32_t shapes; /* string of the profile, AIF_NONE */
	bool is_backward;
};

struct kineto_call {
	uint64_t correlation;
	uint32_t
		chain; /* where in the program it was called: a place in .chains + 1, 0: not known */
	bool has_correlation;
};
struct kineto_chain {
	uint32_t first, len; /* in .chain_frames, the innermost first */
};

struct kineto_told {          /* a place of a stack that the file has in full */
	uint32_t stack, name; /* of the profile; the string of the innermost frame */
};

struct kineto_untimed { /* what a call launched, by our own export, without times */
	int64_t device, stream;
	uint32_t call; /* of .calls: in their order */
	uint32_t name; /* in .names */
	uint8_t kind;  /* enum aif_launch_kind */
};

struct kineto_block { /* when an export of ours says that launches were captured, or not */
	uint64_t start, dur, launches;
	int64_t pid, tid;
	uint32_t ppm;
	bool has_tid, is_held;
};

struct kineto_exec { /* something that a device did */
	int64_t start, end;
	uint64_t correlation, external, bytes;
	int64_t device, stream;
	uint64_t launch; /* 0: not yet known */
	uint32_t name;   /* in .names */
	uint32_t graph, node, registers, shared_bytes;
	uint32_t shape; /* of the profile, AIF_NONE */
	uint32_t next;  /* with the same correlation, or AIF_NONE */
	uint32_t next_external;
	uint8_t kind; /* enum aif_launch_kind */
	bool has_correlation, has_external, has_call;
};

struct kineto_thread {
	struct kineto_id pid, tid;
	uint32_t number; /* what it is called: .tid's, or what aiflame's export says that it was */
	uint32_t process, thread; /* of the profile */
	uint32_t name;            /* of the profile, AIF_NONE */
};

struct kineto_device {
	int64_t number;
	uint32_t device; /* of the profile */
	int64_t shift;   /* ns that its times are moved by */
	uint64_t early;  /* executions that would start before their launch */
};

struct kineto_stream {
	int64_t device, stream;
	uint32_t id; /* of the profile */
	uint64_t last_end;
	bool has_last;
};

struct kineto_property { /* of deviceProperties */
	int64_t number;
	uint32_t name, units; /* string of the profile */
};

struct kineto_flow { /* unitrace: this call, at this time, has launched that */
	int64_t at;
	uint64_t id;
	uint32_t thread;
};

struct kineto_arrow { /* an end of what joins a node of a backward to its operator */
	int64_t at;
	uint64_t id; /* in the file, then of the pair */
	uint32_t thread : 24, is_end : 8;
};
struct kineto_join {
	uint32_t at; /* where the node is in .order */
	uint32_t pair, name, stack;
};
enum kineto_backward {
	KINETO_BACKWARD_JOINED,
	KINETO_BACKWARD_ADDED, /* adds to gradients, behind one that is joined */
	KINETO_BACKWARD_ALONE,
	KINETO_BACKWARD_COUNT
};

struct kineto_pid {
	struct kineto_id pid;
	uint32_t number;       /* as of threads */
	uint32_t name, labels; /* of the profile, AIF_NONE */
	uint32_t process;
};

enum kineto_family {
	KINETO_UNKNOWN,
	KINETO_CUDA,
	KINETO_HIP,
	KINETO_XPU,
	KINETO_MTIA,
	KINETO_HPU,
	KINETO_PRIVATE,
	KINETO_AIU,
	KINETO_ZE, /* unitrace: Level Zero and OpenCL on Intel's GPUs */
};

/* Events of one category that are not kept. */
struct kineto_left_out {
	char what[32];
	uint64_t count;
};
#define KINETO_LEFT_OUT_MAX 12 /* the last one is for all others */

struct kineto {
	struct aif_builder *b;
	const char *file;
	struct aif_json json;
	struct kineto_event event;

	struct aif_strset names; /* of events as they stand in the file */
	struct kineto_name {
		uint32_t frame;  /* of the profile, AIF_NONE: not made yet */
		uint32_t str;    /* of the profile, of an operator or call */
		uint32_t kernel; /* of the profile */
		uint8_t of;      /* the class that it was made for */
	} * name_frames;
	size_t name_frames_cap;

	/* Names that were seen last, by a few of their bytes: most events have one of these, and hashing all of it
	 * costs more than comparing. AIF_STR_NONE: none yet. */
	uint32_t *recent;

	AIF_TABLE(kineto_span, spans);
	AIF_TABLE(kineto_op, ops);
	AIF_TABLE(kineto_call, calls);
	AIF_TABLE(kineto_exec, execs);
	AIF_TABLE(kineto_thread, threads);
	AIF_TABLE(kineto_device, devices);
	AIF_TABLE(kineto_stream, streams);
	AIF_TABLE(kineto_property, properties);
	AIF_TABLE(kineto_pid, pids);
	AIF_TABLE(kineto_flow, flows);
	AIF_TABLE(kineto_arrow, arrows);
	AIF_TABLE(kineto_join, joins);
	AIF_TABLE(kineto_chain, chains);
	uint32_t *chain_frames; /* frames of the profile */
	size_t chain_frames_len, chain_frames_cap;
	AIF_TABLE(kineto_told, told); /* by number, from 1 on */
	bool has_full, is_full_read;  /* spans have numbers of aiflameStackFrames; .told is those */
	AIF_TABLE(kineto_block, blocks);
	AIF_TABLE(kineto_untimed, untimed);
	struct aif_host told_frames;
	AIF_TABLE(kineto_open, open); /* "B" without an "E" yet, and places that are free */
	struct aif_map open_tops;     /* of a thread: place of its innermost + 1; 0: it has none */
	uint32_t open_free;           /* the first free place + 1 */
	struct aif_map thread_ids, stream_ids, by_correlation, by_external;
	uint32_t
		main_process; /* of the profile: what work of a device is of, if nothing says whose */

	struct kineto_id last_pid, last_tid; /* of the thread that was asked for last */
	uint32_t last_thread;

	int64_t base_ns, first_ts;
	bool has_first, has_base, is_flex, is_failed;
	bool has_backward; /* operators that say so */
	bool demangles; /* kernels' names may be the linker's, and nobody prints them so: not torch's traces */
	bool is_known; /* it has a category that is known: others are not kept */
	bool is_spent; /* nothing ran on a device: threads' time is of the spans that they were in */
	enum kineto_family family;
	uint32_t host;       /* string, AIF_NONE */
	int64_t rank, world; /* of how many it is one */
	bool has_rank, has_world;
	char driver[64];
	int64_t overhead_ns;

	struct kineto_group { /* calls of AIU's runtime */
		uint64_t calls, ns;
	} aiu[AIF_AIU_GROUP_COUNT];

	/* What is told at the end. */
	uint64_t events, errors, bad, unended, not_kept, not_kept_flows;
	uint64_t backward[KINETO_BACKWARD_COUNT]; /* nodes */
	uint64_t partial, too_deep, guessed_threads, duplicates, misjoined, repeated;
	struct kineto_left_out left_out[KINETO_LEFT_OUT_MAX];
	char first_error[160], end_error[160];
	bool is_torn;
	uint32_t *order; /* of spans, by thread and time */
};

struct kineto_open {
	uint32_t
		below; /* place of the next outer one of its thread, or of the next free one; + 1, 0: none */
	uint32_t name;
	struct kineto_exec exec; /* what it began with: times and numbers, whatever it is */
	uint8_t class;
};

/* Is this a first key of an event? To find one after an error. */
bool kineto_is_first(const uint8_t *key, size_t len);
/* Reads what is left of the event whose OBJECT was the last token. False: the text is wrong there (json.why). */
bool kineto_event_read(struct aif_json *j, struct kineto_event *e);
/* Makes it one of which nothing is known yet; its buffers stay. */
void kineto_event_clear(struct kineto_event *e);
/* What it is: .class is set. */
void kineto_classify(struct kineto_event *e);
/* Keeps it. 0 or -ENOMEM; what is wrong with it is counted. */
int kineto_take(struct kineto *k);
/* Counts n events of a category, of which KINETO_LEFT_OUT_MAX are told apart. */
void kineto_leave_out(struct kineto_left_out *l, const char *what, size_t len, uint64_t n);
/* The number of a thread's spans: KINETO_THREADS_MAX when there are too many. */
uint32_t kineto_thread(struct kineto *k, struct kineto_id pid, struct kineto_id tid);

/* The value of stackFrames, or of aiflameStackFrames, which comes next: .told. 0 or -ENOMEM; what is no table of ours is
 * passed. */
int kineto_told_read(struct kineto *k, bool is_full);
/* The value of aiflameBlocks, which comes next, and its rows. 0 or -ENOMEM; what is wrong there is passed. */
int kineto_blocks_read(struct kineto *k);
int kineto_blocks(struct kineto *k);
/* What the file says of the span's stack, AIF_NONE: that there is none; false: nothing. An operator's is that of its callers,
 * as a call's that launched nothing; one that launched something (it has a correlation) is in its own. */
bool kineto_told(const struct kineto *k, const struct kineto_span *s, struct kineto_told *ret);

/* A name's number in .names; AIF_STR_NONE when memory runs out. */
uint32_t kineto_name(struct kineto *k, const char *name, size_t len);
/* Its string in the profile. */
uint32_t kineto_name_str(struct kineto *k, uint32_t name);
/* The frame of a span's name, made at first use. */
uint32_t kineto_frame(struct kineto *k, uint32_t name, enum kineto_class class);
enum aif_launch_kind kineto_copy_kind(const char *name, size_t len);
/* Is this call one in which its thread does nothing but wait for a device? */
bool kineto_waits(const char *name, size_t len);

/* Rows of the profile, made at first use; thread: of .threads. */
uint32_t kineto_thread_row(struct kineto *k, uint32_t thread);
uint32_t kineto_process(struct kineto *k, struct kineto_id pid);
/* What is known of it, made at the first time; NULL: out of memory (.is_failed). */
struct kineto_pid *kineto_pid_of(struct kineto *k, struct kineto_id pid);
uint32_t kineto_device(struct kineto *k, int64_t number);
uint32_t kineto_stream(struct kineto *k, int64_t device, int64_t number);
uint32_t kineto_kernel(struct kineto *k, uint32_t name);

/* After the last event: all rows. 0 or -errno with *err. Then kineto_free(), in any case. */
int kineto_build(struct kineto *k, void **state, struct aif_err *err);
void kineto_free(struct kineto *k);

/* When the file is over: which executions there are of a number, then who launched them, then their rows. */
/* unitrace: calls get the numbers of what they launched, by its flows. Before the others. */
int kineto_flows(struct kineto *k);
/* Counts what the file has twice, or more often: .repeated. 0 or -ENOMEM. */
int kineto_repeats(struct kineto *k);
int kineto_join(struct kineto *k);
int kineto_stacks(struct kineto *k);
int kineto_execs(struct kineto *k);
