/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/fair_shares.h"
#include "record/ingest/modfiles.h"
#include "record/ingest/target.h"

/*
 * The drain thread: empties rings and perf buffers into the store, keeps the targets' heartbeat
 * going, decides who samples, stamps the clocks each second, and sees processes end. It never
 * touches the file and never waits for the writer.
 */
struct aif_drain_thread;

/* A process that has used CUPTI. */
struct aif_drain_cupti {
	struct aif_target_cupti its;
	int pid;
	uint32_t process; /* of the store */
	bool ended;       /* before the recording */
};
#define AIF_DRAIN_CUPTIS 16

/* Progress of a recording. */
struct aif_drain_progress {
	uint64_t launches, samples;
	unsigned targets; /* processes that are recorded now */
};

/* Totals for the end of a recording. */
struct aif_drain_stats {
	uint64_t launches, execs;
	bool sampled_by_perf, sampled_by_timer;
	uint64_t agent_cpu_ns, capture_ns, captures;
	uint64_t capture_times[AIF_SHM_TIMES]; /* of those that have ended */
	/* Sums of what struct aif_shm has under these names. */
	uint64_t spent_ns, records_ns, samples_ns, block_records_ns, cpu_samples_ns;
	uint64_t worked_ns;      /* the same, of those that launched anything */
	uint64_t device_bytes;   /* of all processes together, the most at a time */
	uint64_t cpu_sampled_ns; /* CPU time of programs that rows stand for */
	uint64_t cpu_without_ns; /* the part of it before and after samples */
	uint64_t sampling_ns;    /* about what sampling the threads of CPU devices cost them */
	uint64_t short_calls, short_calls_ns; /* that were only counted, and their time */
	uint64_t uncaptured;                  /* launches that the overhead budget left out */
	/* Launches of the process that launched most, what capture cost it while it was on, and the
	 * standard error of that, in 1/1,000,000; 0 = not measured. */
	uint64_t most_launches;
	uint32_t cost_ppm, cost_error_ppm;
	uint64_t drain_cpu_ns; /* CPU time of the drain thread itself */
	uint64_t end_ns;       /* of the recording; 0 while it lasts */
	/* The last processes that had CUPTI in use, in the order in which they ended. */
	struct aif_drain_cupti cupti[AIF_DRAIN_CUPTIS];
	unsigned cupti_len;
};

/* Starts the sources and the thread. */
int aif_drain_thread_new(struct aif_store *s, struct aif_modfiles *files,
			 const struct aif_record_opts *opts, struct aif_drain_thread **ret,
			 struct aif_err *err);
/* Processes that are recorded at the same time: descriptors, memory. Users share them (base/fair_shares.h). */
#define AIF_DRAIN_TARGETS_MAX 1024

/* True if one more process of that user can be recorded now. */
bool aif_drain_thread_has_place(struct aif_drain_thread *d, uid_t user);
/* Hands over a process of a user who has a place, which was given `shm`. Takes shm and pidfd (may be -1), also on failure. */
int aif_drain_thread_add(struct aif_drain_thread *d, int pid, uid_t user, int pidfd,
			 uint32_t process, const struct aif_proc_clocks *clocks,
			 struct aif_shm *shm, uint32_t slots, uint64_t ring_size);

/* Processes that were handed over and have not ended. */
unsigned aif_drain_thread_targets(struct aif_drain_thread *d);

/* The process `pid` runs another program now (exec): what it had before has ended. */
void aif_drain_thread_forget(struct aif_drain_thread *d, int pid);

/* Whether targets collect, those of now and those to come: AIF_COMMAND_RUN (at first) or STOP. */
void aif_drain_thread_command(struct aif_drain_thread *d, enum aif_shm_command command);

/* Asks the thread to read what all processes have written once they follow the last command, and to flush. Returns a
 * number; aif_drain_thread_is_synced() is true once that is done. */
uint64_t aif_drain_thread_sync(struct aif_drain_thread *d);
bool aif_drain_thread_is_synced(struct aif_drain_thread *d, uint64_t ticket);

void aif_drain_thread_progress(struct aif_drain_thread *d, struct aif_drain_progress *ret);

/* Tells all targets to stop, drains what is there, ends the thread and frees. */
void aif_drain_thread_finish(struct aif_drain_thread *d, struct aif_drain_stats *ret_stats);
