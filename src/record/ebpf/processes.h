/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ebpf/sideband.h"
#include "record/ingest/target.h"

/*
 * The processes of the machine, as far as the side-band tells of them and samples ask for them.
 * Which code is where comes from the side-band for those that it has seen start, so that one which
 * lives for a millisecond has names too; from /proc/PID/maps for those that ran before.
 */
struct aif_ebpf_mapping {
	uint64_t lo, hi, offset, inode;
	uint32_t path; /* in struct aif_ebpf_processes */
};

struct aif_ebpf_process {
	uint32_t pid, parent;
	bool wanted;                   /* its samples are kept */
	bool has_execed;               /* since it was forked: it shares no code with its parent */
	bool refused;                  /* there were too many */
	uint64_t exit_ns;              /* of its first thread; 0: lives */
	uint64_t seen_ns;              /* last event */
	struct aif_target *t;          /* ours: ranges and threads. NULL before its first sample */
	struct aif_ebpf_mapping *maps; /* not looked at yet */
	size_t maps_len, maps_cap;
};

struct aif_ebpf_processes {
	struct aif_map by_pid; /* -> index of `at`, AIF_NONE: ended */
	struct aif_ebpf_process **at;
	size_t len, cap; /* NULLs are free places */
	uint32_t *free;
	size_t free_len, free_cap;
	struct aif_strset paths;
	bool all;         /* everybody is wanted */
	uint32_t own_pid; /* whose children are */
	uint32_t rows;    /* processes of the store that we have made */
	const char *host; /* name of the machine */
};

/* The limit of processes; more are ignored. A machine has at most 4 million; of 65,536 that live
 * none is idle. */
#define AIF_EBPF_PROCESSES 65536
/* Rows of the store: half of what its launches can name. */
#define AIF_EBPF_ROWS  16384
#define AIF_EBPF_MAPS  4096
#define AIF_EBPF_PATHS (16 << 20) /* bytes */

/* Returns a process; NULL: it is not known, and `make` is false or there is no memory. */
struct aif_ebpf_process *aif_ebpf_process(struct aif_ebpf_processes *ps, uint32_t pid, bool make);
/* A process that the user has named, and its children of now. */
void aif_ebpf_processes_want(struct aif_ebpf_processes *ps, uint32_t pid);
/* All below need the store's lock. */
void aif_ebpf_processes_report(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			       const struct aif_sideband *s);
/* The process's target: its agent's if it has one, else ours, made if need be. NULL: there is
 * none to be had. comm: what the kernel calls it now. */
struct aif_target *aif_ebpf_process_target(struct aif_drainer *d, struct aif_ebpf_processes *ps,
					   struct aif_ebpf_process *p, const char *comm,
					   uint64_t time);
const struct aif_address_range *
aif_ebpf_process_range(struct aif_drainer *d, struct aif_ebpf_processes *ps,
		       struct aif_ebpf_process *p, struct aif_target *t, uint64_t pc, uint64_t now);
/* Forgets who ended before `before` (CLOCK_MONOTONIC ns). */
void aif_ebpf_processes_tidy(struct aif_drainer *d, struct aif_ebpf_processes *ps, uint64_t before);
void aif_ebpf_processes_finish(struct aif_drainer *d, struct aif_ebpf_processes *ps);
