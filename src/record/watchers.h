/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/live.h"

/*
 * Watchers of a recording as it goes on (profile/live.h): `aiflame top` in another process, by a socket each. Nothing waits
 * for a watcher: for one that does not read, chunks are left out and counted.
 */
struct aif_watchers;

/* 0 or -ENOMEM. */
int aif_watchers_new(struct aif_watchers **ret);
void aif_watchers_free(struct aif_watchers *w); /* closes the sockets; NULL is fine */

/* Takes a socket, from any thread. is_own: of this process; it is waited for at the end. 0, or -EUSERS: there are too many; it
 * is closed then. */
int aif_watchers_add(struct aif_watchers *w, int fd, bool is_own);

/* ---- the writer thread ---- */

/* An observer of struct aif_writer. */
void aif_watchers_chunk(void *watchers, enum aif_chunk_kind kind, size_t rows, const void *data,
			size_t size);
/* Ends a second: sends what is new in the tables, and a commit. */
void aif_watchers_commit(struct aif_watchers *w, const struct aif_profile *p, uint64_t file_bytes);
/* Sends what could not be sent before. */
void aif_watchers_flush(struct aif_watchers *w);
