/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/fair_shares.h"
#include "base/map.h"
#include "record/attach/became.h"
#include "record/attach/joins.h"
#include "record/attach/recording_dir.h"
#include "record/ingest/opts.h"
#include "wire/standby.h"

#include <sys/types.h>

/*
 * Recording processes that we did not start: finds their pages, takes their locks, rings. Also where a
 * recording makes itself known to agents that start later and to `ctl`. Belongs to the main thread.
 */

/* A process that the user has named. */
struct aif_attach_request {
	int pid, pidfd;
	bool was_announced; /* a line said that the process is waited for, or none need to */
	/* the process has no agent: nothing is waited for (record --ebpf) */
	bool no_agent;
	struct aif_inject_times
		times; /* the agent was put into it, or woken; no stops: it was awake */
	bool ended;
	/* a runtime that lets no tool in later was in it before the agent: its launches are not seen */
	bool is_late;
	struct aif_became became;
};

/* A page whose lock is ours. */
struct aif_attach_page {
	int fd, pid; /* 0: of another namespace */
	ino_t inode;
	char name[AIF_STANDBY_NAME_MAX];
	uint64_t found_ns, rung_ns;
	bool joined;
};

struct aif_attach {
	int dir;                         /* -1: there is none; then nobody can find us */
	char path[128];                  /* path of the directory */
	char shown[AIF_STANDBY_DIR_MAX]; /* the same for people */
	uid_t owner;
	gid_t group; /* group of the directory */
	enum aif_standby_wants wants;
	struct aif_attach_request request[AIF_RECORD_PIDS];
	int pids[AIF_RECORD_PIDS + 1]; /* process ids asked for, ends with 0 */
	unsigned requests;
	struct aif_attach_page *page;
	size_t pages, cap;
	struct aif_joins *joins;      /* processes that joined, for -a; else NULL */
	struct aif_became_news *news; /* from news_at on to be told */
	size_t news_at, news_len, news_cap;
	struct aif_map joined;  /* pid -> 1: has our memory; 0: it has become another program */
	struct aif_map refused; /* inode -> 1: cannot be recorded, and that was said */
	struct aif_standby_call call;
	int about;                   /* -1: not announced yet, nobody is rung */
	uint64_t looked_ns, look_ns; /* begin of the last look, and its CPU time */
	/* number of other users' directories that share the time for looks with this one */
	unsigned sharers;
	struct aif_fair_shares
		*held;  /* pages of other users; NULL: of this directory all are held */
	char busy[256]; /* reason for which a process asked for cannot be recorded */
	unsigned old_agents;
};

/* Finds the processes that are to be recorded; refuses those that cannot be. 0 or -errno with
 * *err. */
int aif_attach_open(struct aif_attach *a, const struct aif_record_opts *opts, struct aif_err *err);
/* Takes the processes that are named, and puts the agent into those that lack it: wishes.c. 0 or -errno with *err. */
int aif_attach_wishes(struct aif_attach *a, const struct aif_record_opts *o, struct aif_err *err);
/* Opens the standby directory of a process of user `uid`, as the process names it, which must be that of the other processes that are
 * named. 0 or -errno with *err. */
int aif_attach_use_standby(struct aif_attach *a, int pid, uid_t uid, const char *standby,
			   struct aif_err *err);
/* Lets go of a process that has become another program, which has not joined. */
void aif_attach_left(struct aif_attach *a, int pid);
/* Uses a standby directory: takes the descriptor. `shown`: what people call it. */
void aif_attach_use_dir(struct aif_attach *a, int dir, uid_t owner, const char *shown);
/* Takes the rights of the directory's owner, for this thread, until aif_attach_as_ourselves():
 * files there are made and removed with these, not root's, since the owner may plant links. 0 or
 * -EPERM. */
int aif_attach_as_owner(const struct aif_attach *a);
void aif_attach_as_ourselves(void);
/* Recording begins: whoever is found from now on is rung. `dir`: the recording's own, in that of standby processes; `token`:
 * what agents show there, AIF_TOKEN_LEN bytes and a zero. 0 or -errno. */
int aif_attach_announce(struct aif_attach *a, const struct aif_recording_dir *dir,
			const char *token, const struct aif_record_opts *opts, const char *output);
/* Lets everybody go. */
void aif_attach_close(struct aif_attach *a);

/* Often: looks for processes, when it is time. */
void aif_attach_look(struct aif_attach *a, uint64_t now);
/* A process asks for our memory: shall it get it? */
bool aif_attach_accepts(const struct aif_attach *a, int pid, bool after_fork);
/* Is it one that the user has named? */
bool aif_attach_is_requested(const struct aif_attach *a, int pid);
/* Notes that a process has joined this recording. */
void aif_attach_joined(struct aif_attach *a, int pid);
/* True if all processes that were found have joined; those of another namespace cannot be told from each other. One of another user's
 * in `record -a` is waited for some seconds only: by it that user could keep the others' recording waiting. */
bool aif_attach_all_joined(const struct aif_attach *a);
/* Tells the others whether we collect. */
void aif_attach_state(struct aif_attach *a, enum aif_standby_state state);

/* Returns whether the process that was asked for has ended, even if another one has its number. */
bool aif_attach_has_ended(struct aif_attach_request *w);
/* All processes that were named have ended. */
bool aif_attach_all_ended(struct aif_attach *a);
/* The next process into which the agent was put, and how long a thread was stopped; 0: none. Each once. */
int aif_attach_injected(struct aif_attach *a, struct aif_inject_times *ret_times);
/* The next process whose launches are not seen, since the agent was put into it behind its runtime; 0: none. Each once. */
int aif_attach_late(struct aif_attach *a);
/* The next process that is waited for because no runtime has started in it; 0: none. Each once. */
int aif_attach_awaited(struct aif_attach *a);
