/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/generated.h"
#include "record/ingest/jit_names.h"
#include "record/ingest/opts.h"
#include "base/proc.h"
#include "base/process.h"
#include "base/process_open.h"
#include "record/ingest/pycode.h"
#include "record/ingest/store.h"
#include "wire/ring.h"

/* Sources that there can be (source.h). */
#define AIF_SOURCES_MAX 16

/*
 * An attached process: its rings, and the map from its ids to the store's. Belongs to the drain
 * thread. Everything that comes out of a ring is hostile: ids are looked up, never trusted; tables
 * per process are bounded.
 */

/* A piece of the target's address space that holds code. */
struct aif_address_range {
	uint64_t lo, hi, base; /* address in the module = pc - base */
	uint32_t module;
	bool is_kernel; /* device code that runs on a CPU */
	uint32_t name;  /* has_name: string of a JIT compiler's function */
	bool has_name;
};

/* Sorted ranges of a process's address space. */
struct aif_address_map {
	struct aif_address_range *at;
	size_t len, cap;
};

struct aif_target_slot {
	struct aif_drain drain;
	uint64_t sync_head; /* ring position of the writer when `ctl sync` was asked */
	/* modules as the ring defines them, in the order of its stacks */
	struct aif_address_map ranges;
	/* thread of the store, AIF_NONE before the first THREAD record */
	uint32_t thread;
	bool has_launched; /* the thread has launched work, or made a call of its job's ranks */
	struct aif_map pycodes;                    /* agent's id -> number of pycode.h */
	struct aif_map stacks, shapes, names;      /* names: of ranges */
	struct aif_program_ranges *program_ranges; /* program_ranges.h; NULL: none */
	uint64_t lost_launches, lost_execs, lost_samples, lost_others; /* already counted */
	uint64_t short_calls, short_calls_ns, left_calls;
	uint64_t lost_ranges, unnamed_ranges, deep_ranges, unbegun_ranges;
	uint64_t bad;
};

struct aif_target_program {
	uint32_t id; /* id in the store once the definition is whole, else AIF_NONE */
	struct aif_buf source;
	uint32_t source_len, options, source_name;
};

/* State of a process's CUPTI, as its agent reports it. Hostile: a use is one of the enum, all else
 * may be anything. */
struct aif_target_cupti {
	uint8_t id[AIF_SHM_CUPTI_ID];
	uint32_t version, use; /* use: when it was last in use; AIF_CUPTI_USE_AUTO: never */
	bool in_use;           /* now, or at the end of the process */
};

struct aif_target {
	struct aif_target *next;
	uint32_t process; /* process of the store */
	int pid;
	uid_t user; /* user in whose share of recorded processes this one counts */
	int pidfd;  /* -1: death is seen by kill(pid, 0) */
	bool ended;
	/* time at which the end was seen; 0: another program took the place (exec) */
	uint64_t ended_ns;
	struct aif_proc_clocks clocks; /* offsets of the process's clocks, added to its stamps */
	struct aif_process_files files;

	/* Hostile memory: sizes are those below. NULL: a process without the agent (ebpf/processes.h). */
	struct aif_shm *shm;
	uint32_t slots_len;
	uint64_t ring_size;
	struct aif_target_slot *slots;
	uint32_t first_slot; /* slot whose ring is read first, the next time */
	bool is_cut;         /* the last drain stopped before the rings were empty */
	enum aif_target_sync {
		AIF_TARGET_SYNCED,     /* no sync is waited for */
		AIF_TARGET_SYNC_ORDER, /* until it does what it was told */
		AIF_TARGET_SYNC_RINGS, /* until its rings are read as far as sync_head */
		AIF_TARGET_SYNC_DEFERRED /* until records that wait for definitions had them, or not */
	} sync;

	struct aif_quota quota;    /* bounds what the process makes the store remember */
	struct aif_map threads;    /* tid -> thread of the store */
	struct aif_map device_pci; /* agent's id -> address on the bus, where it is known */
	struct aif_map devices, streams, programs,
		kernels; /* agent's id -> store's; programs -> index */
	struct aif_target_program *program;
	size_t program_len, program_cap;
	struct aif_map kernel_named; /* name string -> kernel, to find a kernel by its module */
	struct aif_range_spans *range_spans; /* range_spans.h; NULL: none */

	struct aif_address_map ranges; /* modules as defined last, or found in /proc/PID/maps */
	uint64_t maps_read_ns;         /* time of the last read of /proc/PID/maps */
	bool maps_stale;
	struct aif_jit_names jit; /* code that is in no file */

	struct aif_deferred *deferred; /* records that name a definition still under way */
	size_t deferred_len, deferred_cap;

	uint64_t before_attach, no_slot, no_memory, no_calls; /* already counted */
	uint64_t launches, execs;
	uint64_t launching;    /* times that a slot's thread has become one that launches */
	uint64_t lost_samples; /* samples for which the rings had no room */
	uint64_t uncaptured;   /* launches that the overhead budget left out */
	/* gaps.c: since when it does not collect, 0 = it does; what it reported last. */
	uint64_t gap_since, began, stopped;
	uint64_t beat_ns; /* the recorder's last heartbeat */
	/* span in which the recorder sent no heartbeat for too long */
	uint64_t silent_from, silent_to;
	struct aif_target_cupti cupti;
	struct aif_proc_filters filters; /* seccomp.c: that it had at first */
	/* the process has installed another seccomp filter since, which is not harmless */
	bool is_filtered;
	bool is_helper_gone, lacks_cpu_memory;
	void *source_state[AIF_SOURCES_MAX]; /* source.h */
};

/* A GPU (record/ingest/gpus.h). */
struct aif_gpu {
	uint32_t pci, device; /* wire.h, 0 = not known; of the store */
	bool is_named;        /* an agent named the process */
};
#define AIF_GPUS 64

struct aif_modfiles;
struct aif_source;

/* State of the drain thread, and of its sources. */
struct aif_drainer {
	struct aif_store *store;
	struct aif_modfiles *files;
	const struct aif_record_opts *opts;
	struct aif_target *targets;
	void *scratch; /* AIF_DRAIN_SCRATCH bytes */
	struct aif_pycodes pycodes;
	struct aif_generated generated;
	uint32_t windows;
	/* Counts of sources for the live line and the end: samples kept, what sampling CPU devices has cost the
	 * targets, and by which means they were sampled. */
	uint64_t samples, sampling_ns;
	uint64_t cpu_sampled_ns;              /* CPU time of programs that rows stand for */
	uint64_t cpu_without_ns;              /* the part of it before and after samples */
	uint64_t short_calls, short_calls_ns; /* calls that agents only counted, and their time */
	/* launches of processes without the agent: on the live line only */
	uint64_t agentless_launches;
	bool sampled_by_perf, sampled_by_timer;
	uint64_t gpu_users_ns; /* time of the last look for users of GPUs */
	struct aif_gpu gpus[AIF_GPUS];
	unsigned gpus_len;
	const struct aif_source *const *sources; /* source.h */
	unsigned sources_len;
	/* A source reads rings that the OS kernel fills, also for processes without the agent. */
	bool has_kernel_rings;
	bool has_small_rings;    /* rings hold a few hundredths of a second */
	uint32_t source_records; /* types that any source asks for: 1 << type */
	void *source_state[AIF_SOURCES_MAX];
};
#define AIF_DRAIN_SCRATCH 65536

/* Makes a target of a process, which owns `shm` from here; shm NULL: it has no agent. NULL: no memory. */
struct aif_target *aif_target_new(struct aif_drainer *d, int pid, uint32_t process,
				  struct aif_shm *shm, uint32_t slots, uint64_t ring_size);
/* Frees a target and its shared memory. Needs the store's lock. */
void aif_target_free(struct aif_drainer *d, struct aif_target *t);

/* Drains the rings, as far as the target's turn goes; needs the store's lock. Returns bytes drained. */
size_t aif_target_drain(struct aif_drainer *d, struct aif_target *t);

/* Says how far its clocks are from ours, before anything of it is read. */
void aif_target_set_clocks(struct aif_target *t, const struct aif_proc_clocks *clocks);
/* Returns the profile's number of a launch that has this one, of 48 bits, in its process. */
static inline uint64_t aif_target_launch(const struct aif_target *t, uint64_t launch)
{
	return (uint64_t)t->process << 48 | (launch & ((UINT64_C(1) << 48) - 1));
}
/* A CLOCK_MONOTONIC stamp of the target's shared page in our time; 0, none, stays 0. */
static inline uint64_t aif_target_time(const struct aif_target *t, uint64_t stamp)
{
	return stamp ? stamp + t->clocks.monotonic : 0;
}

/* Returns the bytes that wait in a ring; any number if the target is hostile. */
uint64_t aif_target_unread(const struct aif_target *t, uint32_t slot);

/* gaps.c: renews the recorder's heartbeat in the target. */
void aif_target_beat(struct aif_target *t, uint64_t now);
/* gaps.c: makes rows of the times in which the target did not collect; each_second: also of what has
 * passed of a gap that still lasts. Needs the store's lock. */
void aif_target_gaps(struct aif_drainer *d, struct aif_target *t, bool each_second);
/* Makes the row of the last gap: a target that lives was told to stop at `told`; the recording ends at `end`. */
void aif_target_last_gap(struct aif_drainer *d, struct aif_target *t, uint64_t told, uint64_t end);

/* seccomp.c: remembers the seccomp filters that a new target has. */
void aif_filter_begin(struct aif_target *t);
/* Tells the target whether it has installed another since, if its agent asks or a look is due. Needs the
 * store's lock. */
void aif_filter_look(struct aif_drainer *d, struct aif_target *t, bool is_due);
/* Reports what a target that has ended, maybe soon after, had said of filters and of its agent's thread. */
void aif_filter_last(struct aif_drainer *d, struct aif_target *t);

/* Counts what the target reports as lost since the last call. Needs the store's lock. */
void aif_target_losses(struct aif_drainer *d, struct aif_target *t);

/* Reads what the target reports of its CUPTI. */
void aif_target_cupti(struct aif_target *t);

/* address_map.c: returns the module and address of a pc, or NULL; reads /proc/PID/maps for an unknown one. */
const struct aif_address_range *aif_target_range(struct aif_drainer *d, struct aif_target *t,
						 uint64_t pc, uint64_t now_ns);
/* A module of its code that is in no file; layers: see jit_names.h. */
uint32_t aif_target_jit(struct aif_drainer *d, struct aif_target *t, unsigned layer);
/* A file that is mapped executable at [lo, hi) of *range, from `offset` on: fills in the module that it makes,
 * whose file is kept for names. False: no memory. Needs the store's lock. */
bool aif_target_range_of_file(struct aif_drainer *d, struct aif_target *t,
			      struct aif_address_range *range, uint64_t offset, const char *path);
/* Counts a module of the target whose file could not be opened; error: -errno. Needs the store's lock. */
void aif_target_no_file(struct aif_drainer *d, const struct aif_target *t, const char *path,
			int error);
void aif_address_map_remove(struct aif_address_map *r, uint64_t lo, uint64_t hi);
/* Adds a range; earlier ranges at the same addresses are removed. */
void aif_address_map_add(struct aif_address_map *r, const struct aif_address_range *range);
const struct aif_address_range *aif_address_map_find(const struct aif_address_map *r, uint64_t pc);
