/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

#include <sys/types.h>

/*
 * The socket lies in a directory that only its user may enter. Root can start programs of other users, with
 * the agent in them, which then cannot say so: here root's recorder finds them by itself.
 *
 * A process is of this recording if its environment names our socket, or if it carries the agent and its
 * parent is of this recording (who writes a title over its arguments may have no environment left). That stays so
 * for its life, so each is judged once. Not by way of the tree: of a daemon's that has lost its parent it
 * says nothing. Nor is the owner of /proc/PID asked for the user: it is root's after setuid(), until the next exec.
 */
struct aif_foreign_uid {
	const char *socket; /* of the recording */
	pid_t command;
	struct aif_map judged; /* pid -> when its directory in /proc was made, and the verdict */
	struct aif_map told;   /* pid and start -> 1 */
	uint64_t next_ns;
};
void aif_foreign_uid_finish(struct aif_foreign_uid *s);

/* Looks again if it is time to: found() for each process of another user, `again` if it was found before; then it may have
 * become another program, and `uid` is 0. */
typedef void (*aif_foreign_uid_fn)(void *arg, pid_t pid, uid_t uid, bool again);
void aif_foreign_uid_poll(struct aif_foreign_uid *s, uint64_t now, aif_foreign_uid_fn found,
			  void *arg);

/* A process of the recording of this socket that lives, 0: none. Looks at all of the machine's once. */
pid_t aif_foreign_uid_count(const char *socket);
