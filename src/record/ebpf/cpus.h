/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdio.h>

struct bpf_program;

/* The perf_event of one CPU: its ticks run the program, and its ring has the side-band
 * (sideband.h). */
struct aif_ebpf_cpu {
	int fd;
	struct perf_event_mmap_page *ring;
	struct bpf_link *link;
};
struct aif_ebpf_cpus {
	struct aif_ebpf_cpu *at;
	size_t len, cap, page;
	uint8_t *record; /* AIF_SIDEBAND_RECORD_MAX bytes */
};

/* A tick each period_ns; program NULL: the side-band only. 0 or -errno; *c is closed by the
 * caller in any case. */
int aif_ebpf_cpus_open(struct aif_ebpf_cpus *c, uint64_t period_ns, struct bpf_program *program);
/* No more ticks; what is in the rings stays. */
void aif_ebpf_cpus_stop(struct aif_ebpf_cpus *c);
void aif_ebpf_cpus_close(struct aif_ebpf_cpus *c);
/* Calls back with a copy of each record of the side-band that has come since. */
void aif_ebpf_cpus_read(struct aif_ebpf_cpus *c,
			void (*found)(void *arg, const void *record, size_t len), void *arg);

/* The files of code that processes have mapped now: a walk over /proc. */
struct aif_ebpf_maps {
	void *proc;          /* DIR */
	struct aif_buf text; /* of the process */
	char *rest;          /* of it */
	uint32_t pid;
	char path[4600];
};
int aif_ebpf_maps_open(struct aif_ebpf_maps *m); /* 0 or -errno */
bool aif_ebpf_maps_next(struct aif_ebpf_maps *m);
void aif_ebpf_maps_close(struct aif_ebpf_maps *m);
