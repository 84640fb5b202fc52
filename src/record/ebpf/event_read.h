/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <linux/types.h>

#include "record/ebpf/event.h"

static_assert(sizeof(struct aif_ebpf_event) == 72, "a record of the ring");
static_assert(sizeof(struct aif_ebpf_off_key) == 24, "a key of a map");
static_assert(sizeof(struct aif_ebpf_off_value) == 32, "a value of a map");
static_assert(sizeof(struct aif_ebpf_left) == 96, "a value of a map");
static_assert(sizeof(struct aif_ebpf_wait) == 104, "a record of the ring of waits");

/* An event of the ring, taken apart. Frames are innermost first, and lie behind the copy of the
 * event. */
struct aif_ebpf_read {
	struct aif_ebpf_event e; /* its comm is terminated */
	const uint64_t *user, *kernel;
};

/* bytes: aligned to 8. False: not an event, nothing of it may be used. */
bool aif_ebpf_event_read(const void *bytes, size_t len, struct aif_ebpf_read *ret);

/* Waits in a second from which on only longer ones are sent. */
#define AIF_EBPF_WAITS UINT64_C(8000)
/* Returns how long a wait must be to be sent, where `waits` of `least` or more came in `ns`. */
uint64_t aif_ebpf_least_wait(uint64_t least, uint64_t waits, uint64_t ns);
