/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/inject.h"
#include "record/ingest/opts.h"
#include "wire/standby.h"

#include <sys/types.h>

/*
 * Named processes that become another program (exec()) after the agent was put into them, as the child of a shell does that was named
 * the moment it was started: the agent is gone with the program before, and is put into the one that follows. A process that was started
 * with the variables of `aiflame env` hands these on, and needs none of this.
 */

struct aif_attach;
struct aif_attach_request;

/* State of one named process. */
struct aif_became {
	int program; /* that has the agent, or had it (base/program_held.h); -1: none is watched */
	uid_t uid;
	const char *agent, *runtime; /* as of the recording's options */
	/* an injection under way, into another program than `program` */
	struct aif_injection in;
	char standby[AIF_STANDBY_DIR_MAX];
	bool has_left; /* it has become another program, without the agent so far */
	unsigned times, tries;
	uint64_t left_ns, next_ns;
};

/* Another program, as people are told of it. */
struct aif_became_news {
	int pid;
	bool has_left; /* the program before is gone; all else is empty */
	char name[16];
	struct aif_inject_times times; /* the agent was put into it */
	char why[512];                 /* why it was not; "": it was */
};

/* Begins to watch a program, whose descriptor it takes; -1: nothing is watched. Keeps the options' pointers. */
void aif_became_watch(struct aif_became *b, int program, uid_t uid,
		      const struct aif_record_opts *opts);
void aif_became_finish(struct aif_became *b);
/* Looks at one process that is named. Waits for nothing. */
void aif_became_look(struct aif_attach *a, struct aif_attach_request *w, uint64_t now);
/* Returns true of a named process whose program with the agent is gone. */
bool aif_became_is_gone(const struct aif_attach *a, int pid);
/* The next news of a process that is named. False: none. */
bool aif_became_next(struct aif_attach *a, struct aif_became_news *ret);
