/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

#include <pthread.h>
#include <sys/types.h>

/*
 * Shares a number of places among users of whom nobody knows how many come: a user gets one more while having fewer than are free.
 * One alone gets half of them, a second one a quarter, and whoever comes later finds some, however many processes the others
 * have. Places of the user `own` are not shared: this process's, who could take them anyway. May be called by several
 * threads.
 */
struct aif_fair_shares {
	pthread_mutex_t lock;
	unsigned most, taken;
	uid_t own;
	struct aif_map of; /* user -> places */
};

void aif_fair_shares_init(struct aif_fair_shares *s, unsigned most, uid_t own);
void aif_fair_shares_finish(struct aif_fair_shares *s);

/* True if the user would get a place. */
bool aif_fair_shares_has(struct aif_fair_shares *s, uid_t user);
/* Takes a place for the user. False: there is none. */
bool aif_fair_shares_take(struct aif_fair_shares *s, uid_t user);
void aif_fair_shares_give(struct aif_fair_shares *s, uid_t user);
unsigned aif_fair_shares_taken(struct aif_fair_shares *s);
