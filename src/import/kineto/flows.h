/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct kineto;

struct kineto_flow { /* unitrace: this call, at this time, has launched that */
	int64_t at;
	uint64_t id;
	uint32_t thread;
};

/* Gives calls the numbers of what they launched, by unitrace's flows. Before kineto_correlate(). 0 or -ENOMEM. */
int kineto_flows(struct kineto *k);
