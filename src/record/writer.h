/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "record/ingest/opts.h"
#include "record/ingest/store.h"
#include "record/watchers.h"

/*
 * The writer thread: once a second it copies what is new in the store's tables (under the lock, a
 * memcpy), then writes tables and queued batches to the file and commits, outside of it. The thread
 * that drains rings never touches the file.
 */
struct aif_writer_thread;

/* Creates the file and starts the thread. path "": there is no file, only watchers. These must outlive the thread. */
int aif_writer_thread_new(struct aif_store *s, const struct aif_record_opts *opts, const char *path,
			  struct aif_watchers *watchers, struct aif_writer_thread **ret,
			  struct aif_err *err);

/* The error that stopped the writing (disk full, ...): 0 while all is well. *err as it was. */
int aif_writer_thread_error(struct aif_writer_thread *w, struct aif_err *err);
uint64_t aif_writer_thread_size(struct aif_writer_thread *w);
/* True if what that many flushes of the store's batches have queued is committed. */
bool aif_writer_thread_has(struct aif_writer_thread *w, unsigned flushes);

/* Has the thread make a copy of the file as it is once all that is queued now is in it. 0; -EBUSY: one is being made. */
int aif_writer_thread_snapshot(struct aif_writer_thread *w);
/* Takes the copy: 0 and a descriptor, the caller's; -EAGAIN: it is not whole yet; -errno: it could not be made. */
int aif_writer_thread_take_snapshot(struct aif_writer_thread *w, int *ret_fd);

/* Writes everything that is left, closes the file, frees. 0 or the error that stopped the writing. */
int aif_writer_thread_finish(struct aif_writer_thread *w, uint64_t end_ns, struct aif_err *err);
