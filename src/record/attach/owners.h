/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/attach/attach.h"

/*
 * Standby directories beside the recording's own, of `record -a`: of other users, if it is root's, and of containers. A process
 * that uses a device names one (joins.h); it is opened as soon as it is there, since an agent that was put into a process makes its own
 * when a runtime has started. From then on the recording has a socket in it, looks for the pages in it, and rings.
 *
 * All of it is its owner's, and hostile: what is made there is made with the owner's rights and through no link; what is
 * looked at is bounded, in names, in pages and in time; and what is met there costs other directories nothing. Users share the
 * directories and the pages that are held (base/fair_shares.h): one who fills theirs leaves others some. A connection
 * belongs to the directory through whose socket it has come: a user may have several. Belongs to the main thread.
 */
#define AIF_OWNERS_MAX 256

struct aif_owner {
	struct aif_attach attach;
	struct aif_recording_dir recording;
};

/* A process whose directory is to be opened. */
struct aif_owner_request {
	int pid;
	uid_t uid;
	uint64_t since_ns, next_ns;
	char standby[AIF_STANDBY_DIR_MAX]; /* as the process names it */
};

struct aif_owners {
	const struct aif_attach *own;
	const struct aif_record_opts *opts;
	const char *token, *output;
	int epoll; /* to which sockets are added */
	enum aif_standby_state state;
	struct aif_owner *owner[AIF_OWNERS_MAX];
	unsigned len;
	struct aif_owner_request *request;
	size_t requests, cap;
	struct aif_fair_shares dirs, pages;
};

/* Keeps the pointers. */
void aif_owners_init(struct aif_owners *o, const struct aif_attach *own, int epoll,
		     const char *token, const struct aif_record_opts *opts, const char *output);
void aif_owners_close(struct aif_owners *o);

/* Asks for the directory of a process of user `uid`. 0, -EUSERS (too many processes of that user's wait for one) or -ENOMEM. */
int aif_owners_want(struct aif_owners *o, int pid, uid_t uid, const char *standby, uint64_t now);
/* Opens the directories that are asked for and are there, and looks for processes in those that are open. Calls `failed` for each process
 * whose directory cannot be used: why. */
void aif_owners_look(struct aif_owners *o, uint64_t now,
		     void (*failed)(void *arg, int pid, uid_t uid, const char *why), void *arg);

/* True if all processes that were found have joined. */
bool aif_owners_all_joined(const struct aif_owners *o);
/* Tells all others whether we collect. */
void aif_owners_state(struct aif_owners *o, enum aif_standby_state state);
/* Returns how many agents of another version were met since the last call. */
unsigned aif_owners_old_agents(struct aif_owners *o);
