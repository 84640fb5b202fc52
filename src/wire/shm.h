/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/schedule.h"
#include "wire/wire.h"

#include <stdalign.h>
#include <stdatomic.h>

/*
 * The memory that recorder and target share: one memfd per target process, made by the recorder,
 * sealed against resizing, so that neither side can take pages away from the other.
 *
 *     +----------------+----------------------+--------+--------+-----
 *     | struct aif_shm | struct aif_slot [n]  | ring 0 | ring 1 | ...
 *     +----------------+----------------------+--------+--------+-----
 *
 * The layout is a function of (slots, ring_size) alone, which the recorder keeps for itself: it
 * never reads a size or an offset back from here. A thread of the target claims a slot, writes its
 * ring as the only producer, and gives the slot back when it ends; the recorder is the only
 * consumer. Words that one side writes lie on other cache lines than those of the other side.
 *
 * The target maps the two tables, and a ring when a thread first needs it: a program may limit its
 * address space, or keep all that it maps in memory (mlockall). It has no descriptor any more by
 * then, so it keeps an anchor for each ring, its first page mapped without access, which takes no
 * memory; mremap() makes the whole ring from that.
 */

#define AIF_SHM_VERSION AIF_WIRE_VERSION
/* 96 threads may launch at the same time; 4 MiB hold 40 ms of 1.2 M launches and executions a
 * second (88 bytes together), and cost no memory until they are used. */
#define AIF_SHM_SLOTS     96
#define AIF_SHM_RING_SIZE (UINT64_C(4) << 20)
#define AIF_SHM_ALIGN     4096
/* Threads of one process whose CPU time is sampled. */
#define AIF_SHM_CPU_THREADS 512

/* Names of counters, terminated. */
#define AIF_SHM_COUNTERS 512

/* Ranges of aif_shm_time(): up to 2 ms. */
#define AIF_SHM_TIMES 64

/* An agent that sees no new heartbeat for so long stops collecting. */
#define AIF_SHM_SILENT_NS (2 * AIF_NS_PER_S)

enum aif_shm_command {
	AIF_COMMAND_STOP = 0, /* collect nothing */
	AIF_COMMAND_RUN = 1,
	AIF_COMMAND_END = 2, /* collect nothing, and give this memory back: the recorder has done */
};
enum aif_shm_sampling { /* who samples the threads of a CPU device */
			AIF_SAMPLING_NONE = 0,
			AIF_SAMPLING_RECORDER = 1, /* perf_event: the target does nothing */
			AIF_SAMPLING_TIMERS = 2, /* perf_event was refused: the agent arms timers */
};
enum aif_shm_cpu { /* whose signals sample the threads that the agent lists in cpu_tids */
		   AIF_CPU_NONE = 0,
		   AIF_CPU_RECORDER = 1, /* perf_event, from outside (record/sources/cpu.h) */
		   AIF_CPU_WALL = 2,     /* --wall: the agent's wall-clock timers */
		   AIF_CPU_TICK = 3,     /* the agent's timers of the threads' CPU time */
		   AIF_CPU_BOTH =
			   4, /* perf_event in user code, the agent's timers in the OS kernel */
		   AIF_CPU_NEVER =
			   5, /* nobody's: the program may install a filter of system calls unseen */
};
enum aif_shm_filter { /* has the target installed a seccomp filter since this memory was given? */
		      AIF_FILTER_NONE = 0,
		      AIF_FILTER_ON = 1,   /* the agent makes no system calls but futex and clock */
		      AIF_FILTER_LAST = 2, /* and the helper is its last thread, which shall end */
};
enum aif_shm_option {
	AIF_OPTION_DEVICE_LINES = 1,     /* ask the device compiler for line information */
	AIF_OPTION_NO_SOURCE = 2,        /* do not send source text */
	AIF_OPTION_NO_PYTHON = 4,        /* no Python frames */
	AIF_OPTION_CHILDREN = 8,         /* forked children are recorded without a device, too */
	AIF_OPTION_CALLS = 16,           /* calls that can hold a thread up (base/host_calls.def) */
	AIF_OPTION_CUDA_CALLS = 32,      /* those of CUDA, too */
	AIF_OPTION_CUDA_LONG_CALLS = 64, /* those of CUDA that last */
	AIF_OPTION_CPU_TICKS =
		128, /* threads that switch often need no perf_event (--cpu-clock auto) */
	AIF_OPTION_CPU_ALL = 256, /* CPU time before sampling began is of the recording, too */
};

/*
 * The uses of CUPTI, from most to least. What is known of a libcupti's build limits them: a later
 * entry uses less that could end the program.
 */
enum aif_cupti_use {
	AIF_CUPTI_USE_AUTO, /* not chosen: the agent takes what is proven for its CUPTI */
	AIF_CUPTI_USE_BLOCKS, /* kernel records are switched by the overhead budget's blocks, samples in turn */
	AIF_CUPTI_USE_THROUGHOUT, /* records and samples are switched on once, and off at the end */
	AIF_CUPTI_USE_RECORDS,    /* records throughout, no instruction samples */
	AIF_CUPTI_USE_LAUNCHES,   /* callbacks only: launches and stacks without times */
	AIF_CUPTI_USE_COUNT
};
/* Returns the word of --cupti, such as "blocks". NULL: no such use. */
const char *aif_cupti_use_name(uint32_t use);

/* The time inside our hooks is measured in one of so many. */
#define AIF_SHM_COST_EACH     64
#define AIF_SHM_CUPTI_ID      20 /* bytes of a build id; shorter ones are padded with zeros */
#define AIF_SHM_CUPTI_CRASHES 8

struct aif_shm {
	/* set before the target sees it, constant afterwards */
	uint32_t magic, version;
	uint32_t slots, options; /* options: enum aif_shm_option */
	uint64_t ring_size;
	uint32_t device_rate;  /* Hz, for the timer fallback */
	uint32_t overhead_ppm; /* the slowdown that is allowed; 0: capture everything */
	/* The job that the process is a rank of, as a hash, 0: of none; and CLOCK_REALTIME less CLOCK_MONOTONIC (agent/job_blocks.h). */
	uint64_t job, realtime;
	uint32_t cpu_rate;            /* CPU samples a second and thread, 0 = none */
	struct aif_schedule schedule; /* which of the program's steps are collected */
	uint32_t
		stall_rate; /* samples a second and unit of devices that sample themselves in their own steps; 0 = none */
	uint32_t filters; /* of its hello */
	uint32_t cupti;   /* enum aif_cupti_use */
	/* Builds of CUPTI in which recordings of this user have ended, and of the times when one
	 * ended the least that was asked of it: less is to be asked. */
	struct {
		uint8_t id[AIF_SHM_CUPTI_ID];
		uint32_t use; /* enum aif_cupti_use; 0 = free entry */
	} cupti_crashes[AIF_SHM_CUPTI_CRASHES];
	/* The counters of devices that are asked for, names with commas between; terminated. "":
	 * none. */
	char counters[AIF_SHM_COUNTERS];
	uint64_t counters_period_ns; /* between two of their values */

	/* written by the recorder */
	alignas(64) _Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC, at least each 500 ms */
	_Atomic uint32_t command;                  /* enum aif_shm_command */
	_Atomic uint32_t sampling;                 /* enum aif_shm_sampling */
	_Atomic uint32_t cpu;                      /* enum aif_shm_cpu */
	_Atomic uint64_t
		streamers; /* bit i: the agent may sample its device i itself, the recorder cannot */
	_Atomic uint64_t counting; /* bit i: it may read the counters of its device i */
	_Atomic uint32_t filter;   /* enum aif_shm_filter */
	_Atomic uint32_t answered; /* `asked`, as it was when `filter` was last found out */
	_Atomic uint32_t
		main_status; /* AIF_FILTER_LAST: what the main thread ended with, as of wait() */

	/* written by the target */
	alignas(64) _Atomic uint64_t no_slot; /* launches of threads that found no free slot */
	_Atomic uint64_t no_memory;     /* launches of threads that got no memory for a ring */
	_Atomic uint64_t no_calls;      /* of threads that were new under a filter */
	_Atomic uint64_t before_attach; /* launches made before this memory was had */
	_Atomic uint64_t helper_cpu_ns; /* CPU time of the agent's helper thread */
	/* Offset from each thread's pointer of the number of the launch that it is in
	 * (agent/thread.h); 0 = not known. */
	_Atomic int64_t launching_at;
	_Atomic uint64_t capture_ns,
		captures; /* time inside our hooks, measured on a sample of them */
	_Atomic uint32_t capture_times[AIF_SHM_TIMES]; /* how many took so long: aif_shm_time() */
	/* The last begin and the last stop of collecting, CLOCK_MONOTONIC; 0 = never. Before the
	 * first begin: the time since when launches may have been missed. */
	_Atomic uint64_t began_ns, stopped_ns;
	_Atomic uint32_t asked; /* how often the helper wanted to know `filter` */
	/* Filters of the first thread that forbid nothing of the agent's; 1 = a thread has one that does; 1 = the agent's
	 * threads made way for a call of the program's and could not be made again; 1 = CPU samples got no memory. */
	_Atomic uint32_t harmless_filters, filtered, helper_gone, no_cpu_memory;
	_Atomic uint32_t helper_tid; /* as the target sees it */
	/* The overhead budget's state: the share of time that is on; how much longer launch
	 * intervals are then, with its standard error (0 = unknown). */
	_Atomic uint32_t duty_ppm, cost_ppm, cost_error_ppm;
	/* Time that a vendor's library costs launching threads, whether capture is on or off, by what is known of a
	 * call's cost (agent/cuda/duty.c), and which parts of it are for records and for samples that are on
	 * throughout; and the most device memory that was taken at a time. */
	_Atomic uint64_t spent_ns, records_ns, samples_ns, device_bytes;
	/* Time that records cost which are on only where launches are captured; and that CPU samples take in threads that
	 * have launched. Neither is in spent_ns. */
	_Atomic uint64_t block_records_ns, cpu_samples_ns;
	/* Time in which the program has worked (agent/budget.h), of that in which it was recorded. */
	_Atomic uint64_t worked_ns;
	/* CUPTI, once it is in use: its build id, what cuptiGetVersion() said, and, written last,
	 * what it is asked (enum aif_cupti_use); 0 = not in use, or not any more. */
	uint8_t cupti_id[AIF_SHM_CUPTI_ID];
	_Atomic uint32_t cupti_version, cupti_use;
	/* Threads that are ready for AIF_SHM_CPU_SIGNAL, as the target sees them; 0 = free place. */
	alignas(64) _Atomic uint32_t cpu_tids[AIF_SHM_CPU_THREADS];
	/* Bits of those threads that are sampled by the agent's timers alone: they need no perf_event. */
	_Atomic uint32_t cpu_alone[AIF_SHM_CPU_THREADS / 32];
};

/* The signal that starts a sample of a thread's CPU time. SIGURG can do no harm in a process
 * that no longer expects it: by default it is ignored, so one that comes after exec() or a reset
 * of its handler is nothing; it does not queue, so a thread that blocks it collects one at most
 * (a queue of real-time signals that is full makes the kernel send SIGIO instead, which ends the
 * process); and what it was made for, urgent data on sockets, hardly anybody uses. */
#define AIF_SHM_CPU_SIGNAL SIGURG

/* Returns the range of a histogram of times (AIF_SHM_TIMES ranges, four an octave) that `ns` is
 * in; the next function, where range i begins. The first begins at 0 and the last has no end. */
static inline unsigned aif_shm_time(uint64_t ns)
{
	unsigned octave = ns < 32 ? 5 : 63 - (unsigned)__builtin_clzll(ns);
	unsigned i = ns < 32 ? 0 : (octave - 5) * 4 + (unsigned)(ns >> (octave - 2) & 3);

	return AIF_MIN(i, AIF_SHM_TIMES - 1u);
}
static inline uint64_t aif_shm_time_from(unsigned i)
{
	return i ? (uint64_t)(4 + i % 4) << (i / 4 + 3) : 0;
}

struct aif_slot {
	/* written by the target */
	alignas(64) _Atomic uint64_t head; /* bytes ever committed */
	_Atomic uint32_t owner;            /* tid, 0 = free */
	_Atomic uint32_t claims;           /* times the slot was claimed */
	_Atomic uint64_t launches;         /* sequence numbers given out, never reset */
	_Atomic uint64_t lost_launches, lost_execs, lost_samples, lost_others; /* ring was full */
	/* The BLOCK record of the block that the owner is in, as far as it is known now. */
	_Atomic uint64_t block_start, block_launches;
	_Atomic uint32_t block;
	/* The owner's call that can hold it up and has not returned (base/host_calls.h); since 0 = none. */
	_Atomic uint32_t call_id, call_stack; /* enum aif_host_call_id; stack id (slot) */
	_Atomic uint64_t call_since;          /* CLOCK_MONOTONIC ns */
	/* Number and time, ns, of such calls that were too short to be written, never reset; and number of those that
	 * were left by longjmp() or an exception. */
	_Atomic uint64_t short_calls, short_calls_ns, left_calls;
	/* Number of records of ranges for which the ring was full; of ranges that go as [other names]; of those that
	 * were too deep; of ends without a begin. Counted here, since a program can make millions. */
	_Atomic uint64_t lost_ranges, unnamed_ranges, deep_ranges, unbegun_ranges;
	/* written by the recorder */
	alignas(64) _Atomic uint64_t tail; /* bytes ever consumed */
};

static inline uint64_t aif_shm_rings_at(uint32_t slots)
{
	return AIF_ALIGN_UP(sizeof(struct aif_shm) + (uint64_t)slots * sizeof(struct aif_slot),
			    AIF_SHM_ALIGN);
}
static inline uint64_t aif_shm_size(uint32_t slots, uint64_t ring_size)
{
	return aif_shm_rings_at(slots) + slots * ring_size;
}
static inline struct aif_slot *aif_shm_slot(struct aif_shm *shm, uint32_t i)
{
	return (struct aif_slot *)(shm + 1) + i;
}
static inline uint8_t *aif_shm_ring(struct aif_shm *shm, uint32_t slots, uint64_t ring_size,
				    uint32_t i)
{
	return (uint8_t *)shm + aif_shm_rings_at(slots) + i * ring_size;
}

/* Recorder: a new sealed memfd, mapped; *ret_fd is the caller's. 0 or -errno. */
int aif_shm_create(uint32_t slots, uint64_t ring_size, struct aif_shm **ret, int *ret_fd);
/* Agent: maps the tables and the anchors of a received memfd after checking that it is what the
 * wire version promises: size, seals, magic, version. *ret_size: of what is mapped, for
 * munmap(). The fd stays the caller's to close. 0, -EPROTO or -errno. */
int aif_shm_map(int fd, struct aif_shm **ret, uint64_t *ret_size);
/* Agent: maps ring i, `ring_size` bytes that are the caller's to unmap; slots, ring_size as they
 * were when `shm` was mapped. A child of a fork does not have it. NULL: no address space. */
uint8_t *aif_shm_map_ring(struct aif_shm *shm, uint32_t slots, uint64_t ring_size, uint32_t i);

/* Recorder: what the target is to do; its helper learns of it at once. */
void aif_shm_order(struct aif_shm *shm, enum aif_shm_command command);
/* Agent: asks for the filter as it is now. Returns the question's number. */
uint32_t aif_shm_ask(struct aif_shm *shm);
/* Agent: waits for the answer to that question, `ns` at most. False: there was none. */
bool aif_shm_await_answer(struct aif_shm *shm, uint32_t asked, uint64_t ns);
/* Recorder: is the helper waiting for an answer? What it is; a new filter wakes it in any case. */
bool aif_shm_is_asked(const struct aif_shm *shm);
void aif_shm_answer(struct aif_shm *shm, enum aif_shm_filter filter);
/* Agent: waits until the command is another than `seen`, or until the time is over. May return
 * early. */
void aif_shm_await_order(struct aif_shm *shm, uint32_t seen, uint64_t ns);
