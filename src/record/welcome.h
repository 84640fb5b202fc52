/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "record/attach.h"
#include "record/cupti_crashes.h"
#include "record/drain.h"
#include "wire/handshake.h"

/*
 * Where agents say hello: a socket in a 0700 directory of this recording, with a token. Keeps the
 * list of processes that were seen. Belongs to the main thread.
 */

/* Connected, and has not said hello so far. On a busy machine some 100 ms pass between the two, and meanwhile
 * others are answered. */
struct aif_welcome_guest {
	int sock;
	uint64_t since_ns;
};
#define AIF_WELCOME_GUESTS 64

struct aif_welcome_desk {
	int fd;       /* an epoll set of what follows; poll for reading */
	int listener; /* and the sockets of guests */
	struct aif_welcome_guest guests[AIF_WELCOME_GUESTS]; /* oldest first */
	unsigned guests_len;
	char dir[96], socket[108];
	bool in_standby; /* the directory is in that of attach.h */
	char token[AIF_TOKEN_LEN + 1];
	struct aif_store *store;
	struct aif_drain_thread *drain;
	const struct aif_record_opts *opts;
	struct aif_attach *attach;
	struct aif_map by_pid; /* pid -> process of the store, the last one of that number */
	struct aif_map starts; /* process of the store -> when it started, ticks since boot */
	unsigned carriers;     /* processes of the store that have no runtime, as far as we know */
	unsigned carriers_max; /* others that have none are counted, not listed */
	uint64_t swept_ns;     /* when processes were last looked for that have ended */
	struct aif_account account; /* of what processes say of themselves */
	struct aif_cupti_crash crashes[AIF_SHM_CUPTI_CRASHES];
	size_t crashes_len;
	unsigned refused;
	enum aif_control control; /* what `ctl` has asked for last; 0 = nothing */
};

int aif_welcome_open(struct aif_welcome_desk *w, struct aif_store *s,
		     const struct aif_record_opts *opts, struct aif_attach *attach,
		     struct aif_err *err);
void aif_welcome_close(struct aif_welcome_desk *w); /* removes the directory */

/* Processes that were seen. */
size_t aif_welcome_processes(struct aif_welcome_desk *w);

/* A process that carries the agent and cannot say hello (strangers.h), made known to the store. False if it has
 * got memory, before it became another user's. Takes the store's lock. */
bool aif_welcome_stranger(struct aif_welcome_desk *w, int pid);
/* The same one later: it may be another program by now. Takes the store's lock. */
void aif_welcome_renew(struct aif_welcome_desk *w, int pid);

/* Answers everybody who waits and has said hello. Call it now and then even if nobody seems to wait: who
 * stays silent is counted and forgotten. */
void aif_welcome_accept(struct aif_welcome_desk *w);

/* The command that was started, made known to the store. Takes the store's lock. */
void aif_welcome_command(struct aif_welcome_desk *w, int pid, char *const argv[]);
