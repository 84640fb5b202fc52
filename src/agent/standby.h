/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/standby.h"

#include <sys/types.h>

/*
 * Waiting for a recorder in a process that none started (wire/standby.h): the process shows a page
 * in the standby directory and its helper thread sleeps on a word of it. No descriptor, no file
 * lock, no socket; of timers only the helper's look, once a second, whether the process has ended
 * around it.
 *
 * Belongs to the thread that starts the session, then to the helper.
 */
struct aif_standby {
	bool shown;
	int owner; /* the process that made the page: a forked child has none */
	char name[AIF_STANDBY_NAME_MAX];
	ino_t inode;
	const uint32_t *bell; /* mapped; the kernel reads it, we do not */
	uint32_t answered;    /* the last ring */
	uint64_t checked_ns;
	char runtime[16]; /* as the page says */
};

/* A recorder, as this process reaches it. */
struct aif_call {
	char path[108];
	char token[AIF_TOKEN_LEN];
	char name[64];
};

/* Shows the page in `dir`. 0 or -errno: nobody will find us. */
int aif_standby_show(struct aif_standby *s, const char *dir, enum aif_standby_level level,
		     const char *runtime);
/* Takes it away, unless it is another process's. */
void aif_standby_hide(struct aif_standby *s, const char *dir);

/* The i-th recording in `dir` that asks for processes which start now. False: there are no more. */
bool aif_standby_asked(const char *dir, unsigned i, struct aif_call *ret);

/* Waits until the bell rings or the time is over. True: it has rung. */
bool aif_standby_wait(struct aif_standby *s, uint64_t ns);
/* The same without waiting. */
bool aif_standby_has_rung(struct aif_standby *s);
/* Waits until the time is over, by the same system call, whether the bell rings or not. */
void aif_standby_sleep(uint64_t ns);
/* Gets the call of the recorder that has rung; aif_standby_wait() then waits for the next. False:
 * the recorder is gone. */
bool aif_standby_answer(struct aif_standby *s, const char *dir, struct aif_call *ret);

/* Makes a page anew that somebody has cleaned away, and names the runtime there once one has started. Does nothing most of the time. */
void aif_standby_check(struct aif_standby *s, const char *dir, enum aif_standby_level level,
		       const char *runtime, uint64_t now);
