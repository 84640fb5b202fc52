/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The records of perf_event about all processes beside samples: who was started, which code was
 * mapped where, who runs another program, who ended. Layouts: perf_event_open(2), of events with
 * sample_id_all and a sample type of TID and TIME.
 *
 * Chosen over BPF programs for this: it is a documented interface that names the file by path and
 * inode at the moment of mapping; a program would need one of the kernel's inner functions.
 */
enum aif_sideband_kind {
	AIF_SIDEBAND_NONE = 0, /* of no interest */
	AIF_SIDEBAND_FORK,     /* a process, not a thread */
	AIF_SIDEBAND_EXEC,
	AIF_SIDEBAND_MAP,  /* of code */
	AIF_SIDEBAND_EXIT, /* of a process's first thread */
	AIF_SIDEBAND_LOST, /* `count` records: what was known of mappings may be wrong */
};

struct aif_sideband {
	enum aif_sideband_kind kind;
	uint32_t pid, parent; /* parent: of AIF_SIDEBAND_FORK */
	uint64_t time;        /* CLOCK_MONOTONIC ns; 0 of AIF_SIDEBAND_LOST */
	uint64_t count;
	uint64_t lo, hi, offset,
		inode;    /* of a mapping; inode 0: its file is known by its build id */
	const char *path; /* in the record; always terminated */
};

#define AIF_SIDEBAND_RECORD_MAX 8192

/* One record of `len` bytes, header included: hostile or not, nothing outside of it is read. */
void aif_sideband_read(const void *record, size_t len, struct aif_sideband *ret);
