/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/process_open.h"

/*
 * In which root directory and mount namespace the paths of modules were meant. A process of a container has another file
 * than its recorder under the same path: where that file's text is wanted later, it is the process that can tell.
 */

#define AIF_HOMES     256
#define AIF_HOME_PIDS 8
/* A module's home: a number of these, or an index of `at` and AIF_HOME_FIRST. */
enum { AIF_HOME_UNKNOWN, AIF_HOME_HERE, AIF_HOME_SEVERAL, AIF_HOME_FIRST };

struct aif_homes {
	struct aif_home {
		struct aif_process_home id;
		int pids[AIF_HOME_PIDS]; /* the last processes that were seen there; 0 = none */
		unsigned next;
	} at[AIF_HOMES];
	unsigned len;
	uint16_t *of; /* by module */
	size_t cap;
};

void aif_homes_finish(struct aif_homes *h);

/* Notes that a process has this module. */
void aif_homes_note(struct aif_homes *h, uint32_t module, const struct aif_process_files *of);

unsigned aif_homes_get(const struct aif_homes *h, uint32_t module);
