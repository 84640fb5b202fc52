/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Waits for a CPU, by what was seen in the gap in which they were. A gap with a long computation has the most of such waits,
 * while another of the same bracket (blame.h) may have none: to share them over all of the bracket's samples would take them from the
 * one and give them to the other.
 *
 *   a gap with samples             where it was sampled
 *   with sleeps alone              where it slept: it had no CPU when it was woken
 *   with neither                   as the samples of short gaps, since such are these: where samples of a gap are n, gaps of its
 *                                  kind without any are e^-n of them
 */

/* Time that was seen of a thread in a gap, or that it waited for a CPU. */
struct aif_idle_delay {
	uint32_t segment, share;
	bool is_asleep; /* a sleep that was seen, else a sample on a CPU */
	double ns;
};

struct aif_idle_delays {
	struct aif_idle_delay *waits, *seen; /* .waits: of no share */
	size_t waits_len, waits_cap, seen_len, seen_cap;
};
struct aif_idle_blaming;

/* 0 or -ENOMEM. */
int aif_idle_delays_wait(struct aif_idle_delays *d, size_t segment, double ns);
int aif_idle_delays_seen(struct aif_idle_delays *d, size_t segment, size_t share, double ns,
			 bool is_asleep);
/* Gives the waits of each gap to the shares that were seen in it: adds them to .delayed of these and to .placed of their
 * brackets; and to .unseen of both the weights of samples for gaps in which nothing was seen. */
void aif_idle_delays_place(struct aif_idle_blaming *b);
void aif_idle_delays_finish(struct aif_idle_delays *d);
