/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/jit_names.h"
#include "record/opts.h"
#include "record/places.h"
#include "record/pycode.h"
#include "record/store.h"
#include "wire/ring.h"

/*
 * One process that has the memory: its rings, and what its ids mean in the store. Belongs to the
 * drain thread. Everything that comes out of a ring is hostile: ids are looked up, never trusted;
 * tables per process are bounded.
 */

/* A piece of the target's address space that holds code. */
struct aif_range {
	uint64_t lo, hi, base; /* address in the module = pc - base */
	uint32_t module;
	bool is_kernel; /* device code that runs on a CPU */
	uint32_t name;  /* has_name: string of a JIT compiler's function */
	bool has_name;
};

/* What is mapped where, sorted. */
struct aif_ranges {
	struct aif_range *at;
	size_t len, cap;
};

struct aif_target_slot {
	struct aif_drain drain;
	struct aif_ranges ranges; /* as its ring tells it, in the order of its stacks */
	uint32_t thread;          /* of the store, AIF_NONE before the first THREAD record */
	struct aif_map pycodes;   /* agent's id -> number of pycode.h */
	struct aif_map stacks, shapes;
	struct aif_marks *marks; /* marks.h; NULL = its thread has told of none */
	uint64_t lost_launches, lost_execs, lost_samples, lost_others; /* already counted */
	uint64_t bad;
	/* device_samples.c: the window that PC records of this ring belong to; device AIF_NONE: none. */
	struct aif_target_window {
		uint64_t start;
		uint32_t id, window, device; /* id: the agent's */
		bool is_streamed;            /* streamed.h has it */
	} window;
};

/* A function of a device's own code that was sampled. */
struct aif_target_code {
	uint32_t module, name; /* of the store; name: a string, demangled */
};

struct aif_target_counter {
	uint32_t device, name, unit; /* of the store; strings */
};

struct aif_target_program {
	uint32_t id; /* of the store once whole, else AIF_NONE */
	struct aif_buf source;
	uint32_t source_len, options, source_name;
};

/* What a process has said of its CUPTI. Hostile: a use is one of the enum, all else may be
 * anything. */
struct aif_target_cupti {
	uint8_t id[AIF_SHM_CUPTI_ID];
	uint32_t version, use; /* use: when it was last in use; AIF_CUPTI_USE_AUTO: never */
	bool in_use;           /* now, or at the end of the process */
};

struct aif_target {
	struct aif_target *next;
	uint32_t process; /* of the store */
	int pid;
	int pidfd; /* -1: death is seen by kill(pid, 0) */
	bool ended;
	uint64_t ended_ns; /* when that was seen; 0: another program took its place (exec) */

	/* Hostile memory: sizes are those below. NULL: a process without the agent (ebpf/processes.h). */
	struct aif_shm *shm;
	uint32_t slots_len;
	uint64_t ring_size;
	struct aif_target_slot *slots;
	uint32_t first_slot; /* whose ring is read first, the next time */
	bool is_cut;         /* there may be more in its rings than its turn allowed to read */

	struct aif_account account;   /* of what it has made us remember */
	struct aif_map threads;       /* tid -> thread of the store */
	struct aif_map timer_threads; /* tid -> 1: sampled in device code by its timer */
	struct aif_map device_pci;    /* agent's id -> address on the bus, where it is known */
	struct aif_map devices, streams, programs,
		kernels; /* agent's id -> store's; programs -> index */
	struct aif_target_program *program;
	size_t program_len, program_cap;
	struct aif_map codes, stalls; /* agent's id -> index of `code`; -> string of the store */
	struct aif_target_code *code;
	size_t code_len, code_cap;
	bool was_sampled,
		samples_refused;     /* its GPU, by itself; its agent has said why it was not */
	uint32_t cpu_device;         /* store id of the process's CPU device, AIF_NONE = none */
	struct aif_map kernel_named; /* name string -> kernel, to find a kernel by its module */

	struct aif_ranges ranges; /* as told last, or found in its maps */
	uint64_t maps_read_ns;    /* when /proc/PID/maps was last read */
	bool maps_stale;
	struct aif_jit_names jit; /* code that is in no file */

	struct aif_deferred *deferred; /* records that name a definition still under way */
	size_t deferred_len, deferred_cap;

	uint64_t before_attach, no_slot, no_memory, no_calls; /* already counted */
	uint64_t launches, execs;
	uint64_t uncaptured;        /* launches that the overhead budget left out */
	struct aif_perf *perf;      /* perf_source.h; NULL = not sampled by the recorder */
	bool perf_lacks;            /* that threads had no descriptors for it has been said */
	struct aif_cpu_events *cpu; /* cpu.h; NULL = its threads get no signals from the recorder */
	bool cpu_decided;           /* whether they shall */
	uint32_t window;            /* id of the window under way */
	uint64_t window_start, window_lost;
	/* gaps.c: since when it does not collect, 0 = it does; what it said last. */
	uint64_t gap_since, began, stopped;
	uint64_t beat_ns;                /* our last heartbeat */
	uint64_t silent_from, silent_to; /* when we last gave none for too long */
	bool sampling_decided;           /* a CPU device was seen, and who samples it is settled */
	/* streamed.h: its devices, by the agent's ids, that have code; those that it may sample itself. */
	uint64_t streamers_wanted, streamers;
	bool stalls_refused; /* its agent has said why it has none */
	/* counters.h: agent's id -> index; its devices that have counters, those whose it may read. */
	struct aif_map counters;
	struct aif_target_counter *counter;
	size_t counter_len, counter_cap;
	uint64_t counting_wanted, counting;
	uint64_t counted,
		counted_by_others; /* that have told some; that another process has read */
	bool counters_refused;     /* its agent has said why there are none */
	struct aif_target_cupti cupti;
	uint64_t filters; /* filter.c: that it had at first */
	bool is_filtered; /* it has installed one since */
};

/* A GPU (cards.h). */
struct aif_card {
	uint32_t pci, device; /* wire.h, 0 = not known; of the store */
	bool is_named;        /* by an agent */
};
#define AIF_CARDS 64

struct aif_modfiles;
struct aif_xe;
struct aif_streamed;

/* What the drain thread works with. */
struct aif_drainer {
	struct aif_store *store;
	struct aif_modfiles *files;
	const struct aif_record_opts *opts;
	struct aif_target *targets;
	void *scratch; /* AIF_DRAIN_SCRATCH bytes */
	struct aif_pycodes pycodes;
	uint32_t windows;
	uint64_t samples, sampled_by_timer, sampled_by_perf;
	bool perf_refused;
	uint64_t gpu_users_ns;    /* when they were last looked for */
	struct aif_places places; /* of all targets' device code */
	struct aif_card cards[AIF_CARDS];
	unsigned cards_len;
	struct aif_xe *xe;   /* xe_stream.h; NULL = not wanted */
	bool xe_tried;       /* with -a: once, while we collect */
	bool xe_rests;       /* it was stopped for want of code, and starts again with the next */
	uint64_t xe_used_ns; /* when there was last code that it can sample */
	uint64_t turned_ns;  /* when what ran was last forgotten (places.h) */
	struct aif_streamed *streamed; /* streamed.h: what is to be joined; samples in all of it */
	size_t streamed_len;
	bool any_streamer;
	struct aif_map read_cards; /* of which somebody has read samples, by pci */
	struct aif_over_soon {     /* processes that were over before, by device */
		uint32_t pci, device;
		uint64_t processes;
	} over_soon[AIF_CARDS];
	unsigned over_soon_len;
	bool any_counting;     /* counters.h: a process had a device that may have some */
	struct aif_ebpf *ebpf; /* ebpf/ebpf.h; NULL: was not asked for */
};
#define AIF_DRAIN_SCRATCH 65536

/* A process has connected: maps go to `shm`, which the target owns from here. NULL = no memory. */
struct aif_target *aif_target_new(struct aif_drainer *d, int pid, uint32_t process,
				  struct aif_shm *shm, uint32_t slots, uint64_t ring_size);
/* Needs the store's lock. */
void aif_target_free(struct aif_drainer *d, struct aif_target *t);

/* Drains the rings, as far as the target's turn goes; needs the store's lock. Returns bytes drained. */
size_t aif_target_drain(struct aif_drainer *d, struct aif_target *t);

/* Bytes that wait in a ring; nonsense if the target is hostile. */
uint64_t aif_target_unread(const struct aif_target *t, uint32_t slot);

/* gaps.c: tells the target that we are there. */
void aif_target_beat(struct aif_target *t, uint64_t now);
/* gaps.c, needs the store's lock: writes down when the target did not collect, as far as it is known;
 * each_second: and of a gap that still lasts what has passed of it. */
void aif_target_gaps(struct aif_drainer *d, struct aif_target *t, bool each_second);
/* Its last: one that lives was told to stop at `told`, and the recording ends at `end`. */
void aif_target_last_gap(struct aif_drainer *d, struct aif_target *t, uint64_t told, uint64_t end);

/* filter.c: the seccomp filters that a new target has are no news. */
void aif_filter_begin(struct aif_target *t);
/* Tells the target whether it has installed one since, if its agent asks or it is due. Needs the store's
 * lock. */
void aif_filter_look(struct aif_drainer *d, struct aif_target *t, bool is_due);

/* Counts what the target says it lost, since the last call. Holds the store's lock. */
void aif_target_losses(struct aif_drainer *d, struct aif_target *t);

/* Reads what the target says of its CUPTI. */
void aif_target_cupti(struct aif_target *t);

/* ranges.c: the module and address of a pc; reads /proc/PID/maps when it is unknown. */
const struct aif_range *aif_target_range(struct aif_drainer *d, struct aif_target *t, uint64_t pc,
					 uint64_t now_ns);
/* A module of its code that is in no file; layers: see jit_names.h. */
uint32_t aif_target_jit(struct aif_drainer *d, struct aif_target *t, unsigned layer);
/* A file that is mapped executable at [lo, hi) of *range, from `offset` on: fills in the module that it makes,
 * whose file is kept for names. False: no memory. Needs the store's lock. */
bool aif_target_range_of_file(struct aif_drainer *d, struct aif_target *t, struct aif_range *range,
			      uint64_t offset, const char *path);
/* Counts a module of the target whose file could not be opened; error: -errno. Needs the store's lock. */
void aif_target_no_file(struct aif_drainer *d, const struct aif_target *t, const char *path,
			int error);
void aif_ranges_remove(struct aif_ranges *r, uint64_t lo, uint64_t hi);
/* What was mapped there before is gone. */
void aif_ranges_add(struct aif_ranges *r, const struct aif_range *range);
const struct aif_range *aif_ranges_find(const struct aif_ranges *r, uint64_t pc);

/* samples.c: one device sample of thread `tid` at `pc`. Needs the store's lock. *is_kernel_thread is
 * the thread's own memory: it becomes true at its first sample in device code; samples before that
 * are not of a device and are not kept. */
void aif_target_sample(struct aif_drainer *d, struct aif_target *t, uint32_t tid, uint64_t time,
		       uint64_t pc, uint64_t count, bool *is_kernel_thread);
uint32_t aif_target_thread(struct aif_drainer *d, struct aif_target *t, uint32_t tid,
			   const char *name);
