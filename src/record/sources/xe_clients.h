/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

/*
 * Finds the processes that work on cards of the xe driver: the OS kernel counts the cycles of each open file's engines
 * and tells them in /proc/PID/fdinfo (Documentation/gpu/drm-usage-stats.rst), to the same user and to root. Of the
 * engines those count that have EUs: render (rcs) and compute (ccs).
 *
 * All processes are gone through now and then only, some at a time; those that were found each time.
 */
#define AIF_XE_CLIENTS_PIDS  64
#define AIF_XE_CLIENTS_FILES 512 /* the most files of a process to look at */
/* Processes that are new, or have nothing of a card, in one look: 7 ms where each has ten files. All 2,000 would be 58. */
#define AIF_XE_CLIENTS_AT_ONCE 256

/* Content of a card's file: the card as xe_card.h has it, the number by which copies of it are known, cycles of its
 * work. */
struct aif_xe_client {
	uint32_t pci;
	uint64_t id, cycles;
	uint64_t total; /* cycles that passed meanwhile; 0: not in the text */
};
/* Parses a text of /proc/PID/fdinfo/N. False: it is no file of the driver, or it does not say all of that. */
bool aif_xe_client_parse(const char *text, struct aif_xe_client *ret);

struct aif_xe_use { /* use of a card by a process since the last look */
	uint32_t pci;
	int pid;
	char name[16]; /* the process's comm */
	uint64_t cycles;
	uint64_t total; /* cycles that passed; 0 = not known */
};

/* Zeroed: nobody is known. */
struct aif_xe_clients {
	struct aif_map cycles; /* card and id (hashed) -> as they were */
	struct aif_map totals;
	int pids[AIF_XE_CLIENTS_PIDS];
	unsigned pids_len;
	bool has_looked; /* at all processes, once */
	int next;        /* pid at which the round goes on; 0: the round is over */
	uint64_t all_at; /* begin of the round */
};
void aif_xe_clients_finish(struct aif_xe_clients *c);
/* Returns the processes that did anything since the last call, at most `max`; work from before the first look does not
 * count. proc: "/proc". */
unsigned aif_xe_clients_look(struct aif_xe_clients *c, const char *proc, uint64_t now,
			     struct aif_xe_use *ret, unsigned max);
