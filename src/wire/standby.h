/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/handshake.h"

/*
 * The directory through which a recorder finds a process that it did not start. `aiflame env`
 * prints the name of a directory, 0700 and its user's own, in which lie
 *
 *     PID-STARTED-NAMESPACE.agent   a page per process in which a runtime has started (below)
 *     r-XXXXXX/agent                the socket of a recording, where agents say hello
 *     r-XXXXXX/about                struct aif_standby_recording: for agents that start later, and ctl
 *
 * The agent maps its page, closes it, and sleeps on `bell` (FUTEX_WAIT): no descriptor. A recorder
 * takes the file's lock (flock) as long as it records the process, so that there is one at a time and a
 * dead one holds nothing; writes where it can be reached, rings, and is then greeted as the recorder that
 * starts a command is. Both read and write these files by pread and pwrite and never touch their mapping
 * themselves: who truncates a page causes errors, not signals.
 *
 * A socket's name is told below the directory, because a container may see that at another place.
 *
 * The layout of the parts up to `bell` may not change: versions of aiflame meet here.
 */
#define AIF_ENV_STANDBY "AIFLAME_STANDBY"
#define AIF_ENV_LEVEL   "AIFLAME_LEVEL" /* off, graphs */

#define AIF_STANDBY_MAGIC     UINT32_C(0x53666961) /* "aifS" */
#define AIF_STANDBY_SIZE      4096
#define AIF_STANDBY_SUFFIX    ".agent"
#define AIF_STANDBY_RECORDING "r-"
/* With a recording's name behind it a socket's path has at most 107 characters. */
#define AIF_STANDBY_DIR_MAX 90

enum aif_standby_level {
	AIF_LEVEL_OFF = 0,    /* nothing is done before somebody records */
	AIF_LEVEL_GRAPHS = 1, /* what cannot be made up for later: queues with times, graph nodes */
};

struct aif_standby_call {
	char socket[32]; /* below the directory, terminated */
	char token[AIF_TOKEN_LEN];
	char name[64]; /* of the recording, terminated */
};

struct aif_standby_page {
	/* the agent's, constant */
	uint32_t magic, wire_version;
	uint32_t pid; /* in the namespace below */
	uint32_t level;
	uint64_t started; /* clock ticks since boot, as the process sees it in /proc/PID/stat */
	uint64_t pid_namespace;
	char runtime[16], version[16];
	uint8_t zero[64];
	/* the recorder's that holds the lock */
	uint32_t bell;
	uint32_t recorder; /* its pid as it sees itself; 0: nobody records */
	struct aif_standby_call call;
};
static_assert(offsetof(struct aif_standby_page, bell) == 128, "versions meet here");

enum aif_standby_wants {
	AIF_WANTS_NONE = 0, /* it has a command of its own */
	AIF_WANTS_SOME = 1, /* those that it is told: ask */
	AIF_WANTS_ALL = 2,
};
enum aif_standby_state { AIF_STATE_RUN = 0, AIF_STATE_HELD = 1 };

/* A recording as its file describes it. The token is in it, so a reader may attach and control.
 * Locked while the recorder lives. */
struct aif_standby_recording {
	uint32_t magic, wire_version;
	uint32_t pid, wants;
	uint32_t state, zero;
	uint64_t started_realtime_ns;
	struct aif_standby_call call;
	char command[256], output[256]; /* terminated */
};

/* Opens a directory of that sort; `make` makes it. -EPERM: it is a link, somebody else's, or
 * open to others. The descriptor or -errno. */
int aif_standby_open(const char *path, uid_t owner, bool make);

/* Returns the descriptor of a directory that is one of that sort. Else closes it and returns -EPERM; of -errno that. */
int aif_standby_accept(int fd, uid_t owner);

/* The field `started` of a process: "self" or its number in `pid`. 0 or -errno. */
int aif_standby_started(const char *pid, uint64_t *ret);

/* Name of the file of that page. */
#define AIF_STANDBY_NAME_MAX 80
void aif_standby_name(const struct aif_standby_page *page, char name[AIF_STANDBY_NAME_MAX]);
