/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stacks/stacks.h"

/* Parts of the text, for who writes the stacks of several processes. */
void aif_stacks_put_activity(const struct aif_stacks_thread *t, struct aif_buf *out);
void aif_stacks_put_frames(const struct aif_stacks_thread *t, bool full, struct aif_buf *out);
/* Writes the thread's number and name. */
void aif_stacks_put_thread(const struct aif_stacks_thread *t, struct aif_buf *out);
/* Compares activities and frames, not what is waited for, which differs between processes. */
uint64_t aif_stacks_hash_frames(const struct aif_stacks_thread *t);
bool aif_stacks_is_same_frames(const struct aif_stacks_thread *a,
			       const struct aif_stacks_thread *b);
