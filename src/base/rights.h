/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * The rights to files of another process, which a thread of root's takes on while it opens what that process names: it
 * could name what it may not read. Of this thread alone: the C library's own functions change all of them.
 */

#define AIF_RIGHTS_GROUPS 256

struct aif_rights {
	uid_t uid;
	gid_t gid, groups[AIF_RIGHTS_GROUPS];
	size_t groups_len;
	bool overrides; /* it may read what its user and groups may not */
};

/* Gets those of a process: of its real user if that one is not root, since a program that has another's rights (set-user-id)
 * is not who named the file. 0 or -errno. */
int aif_rights_of(int pid, struct aif_rights *ret);

/* Gives the calling thread these rights, if it is root's; and takes them away again. 0; -errno with nothing changed. */
struct aif_rights_before {
	bool changed;
	uint64_t effective; /* capabilities */
	gid_t groups[AIF_RIGHTS_GROUPS];
	int groups_len;
};
int aif_rights_take(const struct aif_rights *r, struct aif_rights_before *ret);
void aif_rights_give_back(const struct aif_rights_before *b);
