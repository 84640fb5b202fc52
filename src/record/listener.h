/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/fair_shares.h"
#include "record/attach/owners.h"
#include "record/cupti_crashes.h"
#include "record/drain.h"
#include "record/source_texts.h"
#include "record/sync.h"
#include "wire/handshake.h"

/*
 * Listens for agents' hellos on a socket in a 0700 directory of this recording, with a token. Keeps
 * the list of processes that were seen. Belongs to the main thread.
 */

/* Connected, and has not said hello so far. On a busy machine some 100 ms pass between the two, and meanwhile
 * others are answered. */
struct aif_pending_connection {
	int sock;
	struct aif_attach *attach; /* through whose directory it came */
	uint64_t since_ns;
};
#define AIF_PENDING_CONNECTIONS 64

struct aif_listener {
	int fd;   /* an epoll set of what follows; poll for reading */
	int sock; /* and the sockets of guests */
	struct aif_pending_connection pending[AIF_PENDING_CONNECTIONS]; /* oldest first */
	unsigned pending_len;
	char dir[96], socket[108];
	bool in_standby;                 /* the directory is in that of attach.h: */
	struct aif_recording_dir in_dir; /* then */
	char token[AIF_TOKEN_LEN + 1];
	struct aif_store *store;
	struct aif_drain_thread *drain;
	struct aif_watchers *watchers; /* NULL: nobody can watch */
	struct aif_syncs syncs;
	const struct aif_record_opts *opts;
	struct aif_attach *attach;
	struct aif_owners *owners; /* other directories; NULL: none */
	unsigned turn;             /* of the sockets */
	struct aif_map by_pid;     /* pid -> process of the store, the last one of that number */
	struct aif_map starts;     /* process of the store -> when it started, ticks since boot */
	struct aif_map late;       /* by pid: 1, it has stopped waiting for an answer */
	struct aif_fair_shares numbers; /* of the store's processes, which are not used again */
	unsigned carriers;      /* processes of the store that have no runtime, as far as we know */
	unsigned carriers_max;  /* others that have none are counted, not listed */
	uint64_t swept_ns;      /* when processes were last looked for that have ended */
	struct aif_quota quota; /* of what processes say of themselves */
	struct aif_cupti_crash crashes[AIF_SHM_CUPTI_CRASHES];
	size_t crashes_len;
	unsigned refused;
	enum aif_control control;        /* last request of `aiflame ctl`; 0 = none */
	struct aif_source_reader reader; /* user of the processes that have connected */
};

int aif_listener_open(struct aif_listener *w, struct aif_store *s,
		      const struct aif_record_opts *opts, struct aif_attach *attach,
		      struct aif_err *err);
void aif_listener_close(struct aif_listener *w); /* removes the directory */

/* Processes that were seen. */
size_t aif_listener_processes(struct aif_listener *w);

/* A process that carries the agent and cannot say hello (record/attach/foreign_uid.h), made known to the store. False if it has
 * got memory, before it became another user's. Takes the store's lock. */
bool aif_listener_add_process(struct aif_listener *w, int pid);
/* The same one later: it may be another program by now. Takes the store's lock. */
void aif_listener_update_process(struct aif_listener *w, int pid);

/* Answers everybody who waits and has said hello. Call it now and then even if nobody seems to wait: who
 * stays silent is counted and forgotten. */
void aif_listener_accept(struct aif_listener *w);

/* The command that was started, made known to the store. Takes the store's lock. */
void aif_listener_add_command(struct aif_listener *w, int pid, char *const argv[]);
