/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/utilization.h"

/*
 * Blame for idle time: who could have ended each gap of a device, and what that thread did meanwhile.
 *
 *   device     ##### |................... gap ....................| ##### X #####
 *                    from                                         start of X
 *   thread T         | computes, waits, sleeps, ... |  call of X  |
 *                    |                              l             |
 *                    |<--------- before l --------->|<- after l ->|
 *
 * A gap is between two executions of a process on a device. X, which ended it, was launched by a call of thread T that began
 * at l. Only T could have ended the gap earlier, so each part of it has a cause:
 *
 *   after l    LAUNCH: X waited for the call and for the device. LATE if X did not start soon: within AIF_IDLE_KERNEL_NS of
 *              `from` where l lies before the gap, else within AIF_IDLE_LAUNCH_NS of l. In traces that have the end of the
 *              call (torch.profiler), LAUNCH until then
 *   before l   what T did. The calls that it was in, where they are recorded (calls/host_calls.h), to the ns; elsewhere
 *              estimated waits for the device. Then times off CPU, and operators and ranges that have a rule (rules.def),
 *              where they overlap the gap. Then CPU samples of T in the gap.
 *
 * Most gaps are shorter than the time between two samples, so samples are added up by *bracket*: the stacks of T's launch
 * before and of X's. A bracket's idle time is shared as its samples' weights are, each of which is the CPU time since the
 * sample before; what they leave over is OFF_CPU where samples should have been seen (OFF_CPU_SAMPLES of them), else HOST.
 * Before T's first sample none can be: such time is shared as that of the bracket's samples is.
 * A thread whose times off CPU are known one by one (record --ebpf --off-cpu) was on a CPU in the rest, if the recorder lost
 * none; such times are where they were, to the ns, and what samples and sums say shares the room that they leave.
 * All are blamed on the function in which T went on from one launch to the next. Where T went round a loop, which function
 * loops is not known: the row has X's stack and .is_before.
 *
 * Times off CPU, and samples of --wall, say where T slept. What it does there by rules.def goes first (a data loader's pipe, the
 * GIL); else a wait for work from outside is DEMAND (sleep.h, sleeps.def), less the time that other threads, of any process, were
 * sampled on a CPU in the same bracket's gaps: then T may wait for these. Waits until another thread hands it something count in
 * processes of which some thread was seen waiting for clients or events. Any other sleep is OFF_CPU. A wait until another thread lets T
 * go on, by handing it something or the interpreter lock, is owned by the stacks on which other threads of the process computed
 * meanwhile (holders.h).
 *
 * Where wake-ups were recorded, .wakes say who ended such sleeps (wakers.h).
 *
 * Waits for a CPU are NO_CPU. Those that record --ebpf --off-cpu has are where they were; those that the recorder counts from
 * outside (record/asleep/sleeps.c) are somewhere between two looks: they are of what samples and sleeps leave over. A thread loses
 * its CPU where it computes, so these are blamed on the stacks of the gap's samples, as each has of them; of a gap without
 * samples on those of the bracket's (delays.h).
 *
 * Stacks along frame pointers (record --ebpf) that lack the function in which T was are not blamed: what they say of the cause goes
 * to the place between T's launches.
 *
 * Sums: the rows' times add up to .idle_ns exactly, on each device to its idle time (utilization.h). Where launches were left out, a
 * gap that was captured whole stands for others as its execution does, and .captured_ns is the time of such gaps alone.
 */
#define AIF_IDLE_CAUSE(id, name, meaning) AIF_IDLE_CAUSE_##id,
/* A launch for a free device begins within this time, or something holds it up (that of report --launches). */
#define AIF_IDLE_LAUNCH_NS 100000

enum aif_idle_cause {
#include "analysis/idle/causes.def"
	AIF_IDLE_CAUSES
};
#undef AIF_IDLE_CAUSE
const char *aif_idle_cause_name(enum aif_idle_cause c);

/* The owner of rows that are the machine's. */
#define AIF_IDLE_MACHINE "the machine, of whose CPUs the device is made"

/* Samples that are expected of a bracket and were not seen: from so many on its thread is taken to have been on no CPU. */
#define AIF_IDLE_OFF_CPU_SAMPLES 3

struct aif_idle_row {
	enum aif_idle_cause cause;
	uint32_t process; /* process that used the device */
	uint32_t device;  /* index of the blame's devices */
	uint32_t stack;   /* the blamed stack; AIF_NONE: none is known */
	/* the stack is of the launch that ended the gaps, and the thread was elsewhere before */
	bool is_before;
	/* The stack is of another thread, which computed there while T waited to be let go on. */
	bool is_other;
	bool is_machine; /* late starts of which no stack is to blame (aif_idle_part.is_crowded) */
	uint32_t thread; /* T; AIF_NONE: not known, or several */
	uint64_t ns;
	uint64_t gap_ns; /* the length of the part of a gap in which a ns of it lies, on average */
	/* Part of .ns that lies behind a wait of T's for the device since its launch before; and the stack of the longest
	 * such wait, or AIF_NONE. */
	uint64_t drained_ns;
	uint32_t drain;
	/* The stack of aif_cpu_seen() with most of the time that the recorder saw T sleep; AIF_NONE: it saw none. */
	uint32_t seen;
};
/* Kinds of wakers (wakers.h). */
enum aif_idle_waker {
	AIF_IDLE_WAKER_UNKNOWN,
	AIF_IDLE_WAKER_THREAD, /* a recorded thread */
	/* a thread of a process that was not recorded, or of the OS kernel */
	AIF_IDLE_WAKER_FOREIGN,
	AIF_IDLE_WAKER_TIMER,     /* a time had passed */
	AIF_IDLE_WAKER_INTERRUPT, /* a device, or another CPU */
};
/* A part of a row's time: its sleeps that one waker ended. */
struct aif_idle_wake {
	uint64_t row; /* aif_idle_row_key() */
	enum aif_idle_waker kind;
	uint32_t thread; /* the waker where kind is THREAD, else AIF_NONE */
	/* Stack of what the waker did meanwhile, most of the time that was seen; else from where it woke (is_wake). Of FOREIGN its name
	 * is the outermost frame, a mark. AIF_NONE: not known. */
	uint32_t stack;
	bool is_wake;
	uint64_t ns;
};
/* A process's idle time on a device, by cause: these sum to .idle_ns. */
struct aif_idle_device {
	uint32_t process, device;
	uint64_t idle_ns, of_cause[AIF_IDLE_CAUSES];
};
struct aif_idle_blame {
	struct aif_idle_row *rows; /* sorted by time, longest first */
	size_t len, cap;
	struct aif_idle_device *devices; /* same order as in struct aif_utilization */
	size_t devices_len, devices_cap;
	struct aif_idle_wake *wakes;
	size_t wakes_len, wakes_cap;
	uint64_t idle_ns, captured_ns, gaps;
	uint64_t of_cause[AIF_IDLE_CAUSES];
	uint64_t damaged; /* chunks that could not be read */
};

struct aif_idle_course; /* course.h */

/* Blames the idle time of the devices of `u`, made from `t`. *ret is finished by the caller, also after a failure. 0 or
 * -errno. */
int aif_idle_blame(const struct aif_profile *p, const struct aif_exec_timeline *t,
		   const struct aif_utilization *u, struct aif_idle_blame *ret);
/* The same of [from, to), ns since the recording's start, where `t` and `u` have all and nothing was left out: gaps are cut
 * there. A device counts from the launch of its first execution to the end of its last. *course (NULL: not asked for), zeroed, is
 * filled with when the time was; finished by the caller, also after a failure. */
int aif_idle_blame_within(const struct aif_profile *p, const struct aif_exec_timeline *t,
			  const struct aif_utilization *u, int64_t from, int64_t to,
			  struct aif_idle_course *course, struct aif_idle_blame *ret);
struct aif_idle_window {
	int64_t from, to;
};
/* Returns the part of [from, to) in which a device counts. */
struct aif_idle_window aif_idle_window(const struct aif_exec_timeline *t,
				       const struct aif_utilization *u,
				       const struct aif_device_utilization *d, int64_t from,
				       int64_t to);
/* Returns the wakes of a row, most time first. */
const struct aif_idle_wake *aif_idle_wakes_of(const struct aif_idle_blame *b,
					      const struct aif_idle_row *row, size_t *ret_len);
/* Appends who ended a sleep: a thread's name, "a timer", "an interrupt", "kworker/0:1". */
void aif_idle_waker_say(const struct aif_profile *p, const struct aif_idle_wake *w,
			struct aif_buf *out);
/* "12.3 s idle in 41,000 gaps: 60.1 % on CPU, 22.4 % wait, ..." */
void aif_idle_blame_say(const struct aif_idle_blame *b, struct aif_buf *out);
/* True if the rows of each device add up to its idle time, by cause, and all to .idle_ns; else appends what does not to *ret_text. */
bool aif_idle_blame_check(const struct aif_idle_blame *b, struct aif_buf *ret_text);
void aif_idle_blame_finish(struct aif_idle_blame *b);
