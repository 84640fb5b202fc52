/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "remote/walk.h"

/*
 * CPU samples of one thread of another process, by perf_event: registers and a copy of the stack's inner end, which the recorder unwinds.
 * The process is not touched.
 */
struct aif_outside_ring {
	int fd;
	void *pages; /* the header, then `bytes` of records */
	size_t bytes;
	bool sees_kernel; /* time in the OS kernel is sampled, too */
	uint64_t samples; /* since its period was changed last */
	uint64_t cpu_ns;  /* the thread's CPU time at its last sample, since sampling began */
	bool has_lost;    /* samples, since that one */
};

struct aif_outside_sample {
	uint32_t pid, tid;
	uint64_t time, period; /* CLOCK_MONOTONIC ns; ns of CPU time that it stands for */
	uint64_t cpu_ns;       /* of the thread since sampling began */
	uint64_t ip;
	bool in_kernel, has_user; /* has_user: .regs and .stack are those of the program */
	struct aif_remote_regs regs;
	struct aif_remote_stack stack;
};

/* Parses the `n` bytes of a sample's record, behind its header, whose misc is `misc`. False: malformed. ret->stack points into them. */
bool aif_outside_sample_parse(const uint8_t *record, size_t n, uint16_t misc,
			      struct aif_outside_sample *ret);

/* Starts sampling. 0; -EACCES or -EPERM: perf_event is refused, or no more memory for rings is allowed; -ESRCH: no such thread; or
 * -errno. */
int aif_outside_ring_open(struct aif_outside_ring *r, uint32_t tid, uint32_t rate);
void aif_outside_ring_close(struct aif_outside_ring *r);

/* Callbacks of reading: each sample; samples that were lost; the process has mapped code. */
struct aif_outside_reader {
	void *arg;
	void (*sample)(void *arg, const struct aif_outside_sample *s);
	void (*lost)(void *arg, uint64_t n);
	void (*mapped)(void *arg);
	uint8_t *scratch; /* AIF_OUTSIDE_RECORD bytes */
};
#define AIF_OUTSIDE_RECORD 65536u
void aif_outside_ring_read(struct aif_outside_ring *r, const struct aif_outside_reader *reader);
/* Changes the period at random after each hundred samples. */
void aif_outside_ring_vary(struct aif_outside_ring *r, uint32_t rate, uint64_t *random);
