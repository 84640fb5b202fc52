/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/utilization.h"
#include "base/buf.h"

/*
 * Devices in processes that behave alike. Where there are more of them than AIF_PAGE_ALIKE_MAX, as in a job of many ranks, the page draws
 * one for all that are like it, over time: they computed, communicated, copied and were idle for the same part of each of
 * AIF_PAGE_ALIKE_PARTS parts of the run, but for a difference that is as small as it can be for so many groups.
 */
#define AIF_PAGE_ALIKE_MAX   16
#define AIF_PAGE_ALIKE_PARTS 16
#define AIF_PAGE_ALIKE_LEAST 0.01 /* the difference of which at least nothing is made */

struct aif_page_alike {
	/* Names the device that is drawn for each, by index of the utilization; its own: it is drawn itself. NULL: all are. */
	uint32_t *as;
	size_t len, drawn;
	double within; /* the difference */
};

/* 0 or -ENOMEM; finished by the caller in any case. */
int aif_page_alike_make(const struct aif_utilization *u, struct aif_page_alike *ret);
void aif_page_alike_finish(struct aif_page_alike *a);

static inline bool aif_page_is_drawn(const struct aif_page_alike *a, size_t device)
{
	return !a->as || a->as[device] == device;
}
/* Sets ret[i] for each of the first `n` processes: it has a device that is drawn, or none at all. */
void aif_page_processes_drawn(const struct aif_page_alike *a, const struct aif_utilization *u,
			      bool *ret, size_t n);
/* Returns for how many devices one is drawn, itself included. */
size_t aif_page_alike_many(const struct aif_page_alike *a, size_t device);
/* Appends whose they are: "0-4, 6-1023", the ranks, or their pids where these are not known. */
void aif_page_alike_say(const struct aif_page_alike *a, const struct aif_profile *p,
			const struct aif_utilization *u, size_t device, struct aif_buf *out);
