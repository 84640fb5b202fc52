/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * The socket lies in a directory that only its user may enter. Root can start programs of other users, with
 * the agent in them, which then cannot say so: here the recorder finds them by itself.
 *
 * The first process at or below `command` that carries the agent and belongs to another user than us: its
 * number, with *ret_uid; 0 = none. Takes 50 us a process; at most some tens are looked at.
 */
pid_t aif_strangers_find(pid_t command, uid_t *ret_uid);
