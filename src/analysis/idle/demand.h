/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/sleep.h"
#include "base/map.h"

/* Waits of threads for work from outside, in the making: who waited, and which processes are servers. */
struct aif_idle_demand {
	const struct aif_profile *p;
	bool is_wall; /* samples are of threads that sleep, too */
	struct aif_idle_sleeping sleeping;
	uint8_t *sleep_of_stack; /* 0: not looked at, else 1 + enum aif_idle_sleep */
	bool *is_server;         /* by process: a thread of it has waited for clients or events */
	uint32_t *askers;        /* threads that waited for work from outside, each once */
	size_t askers_len, askers_cap;
	struct aif_map asker_of; /* thread -> its place in .askers */
};

/* More threads than that which launch and wait for work are none: what others did meanwhile is not looked for. */
#define AIF_IDLE_ASKERS 64

/* *ret is finished by the caller, also after a failure. 0 or -ENOMEM. */
int aif_idle_demand_init(struct aif_idle_demand *ret, const struct aif_profile *p);
void aif_idle_demand_finish(struct aif_idle_demand *d);
/* The same as aif_idle_sleep_of(), looked up once a stack; AIF_NONE: NONE. */
enum aif_idle_sleep aif_idle_demand_sleep(struct aif_idle_demand *d, uint32_t stack);
/* Takes a sleep of a thread. True if it waited for work from outside, if its process is a server in case of HANDED. */
bool aif_idle_demand_is_for(struct aif_idle_demand *d, uint32_t thread, uint32_t stack);
/* Notes a thread that waited for work from outside. 0 or -ENOMEM. */
int aif_idle_demand_asked(struct aif_idle_demand *d, uint32_t thread);
/* Returns the ns between two CPU samples of a thread, 0: not known. */
double aif_idle_sampling_period(const struct aif_profile *p);
/* Sets, by process: threads without CPU samples were on no CPU, as these were to be sampled, and nothing says that they were not. */
void aif_idle_trust_samplers(const struct aif_profile *p, bool *is_sampled);
/* Takes back, by process: its samples ended before the recording did, and from then on that there are none says nothing. */
void aif_idle_distrust_samplers(const struct aif_profile *p, bool *is_sampled);
