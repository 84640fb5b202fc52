/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/drain.h"
#include "record/naming.h"
#include "record/writer.h"

/*
 * Requests of `aiflame ctl sync`: a barrier. Each is answered once all processes of the recording do what it was last told
 * (start, pause), and all that they had written by then is committed to the file. Those of `ctl snapshot` wait for names,
 * too, and are answered with a copy of the file. Belongs to the main thread.
 */
#define AIF_SYNCS 16

struct aif_syncs {
	struct aif_sync {
		int sock;
		enum aif_sync_stage {
			AIF_SYNC_JOIN,   /* until processes that were woken have joined */
			AIF_SYNC_DRAIN,  /* until the drain thread has read what they had written */
			AIF_SYNC_NAME,   /* snapshots: until its frames have names */
			AIF_SYNC_COMMIT, /* until the writer thread has committed it */
			AIF_SYNC_COPY,   /* snapshots: until the writer thread has copied it */
		} stage;
		bool is_snapshot, is_asked; /* asked: the writer thread, for the copy */
		size_t frames;              /* that want names */
		uint64_t names_until_ns;    /* CLOCK_MONOTONIC */
		uint64_t ticket;            /* of the drain thread */
		unsigned flushes;           /* of the store's batches */
	} at[AIF_SYNCS];
	unsigned len;
};

/* Takes a request; the socket stays the caller's. 0, -EUSERS or -errno. */
int aif_syncs_add(struct aif_syncs *s, int sock, bool is_snapshot);

/* The threads that requests wait for. */
struct aif_sync_threads {
	struct aif_store *store;
	struct aif_drain_thread *drain;
	struct aif_naming *naming;
	struct aif_writer_thread *writer;
};
/* Answers what can be answered. is_joined: no process that was woken has yet to join. */
void aif_syncs_look(struct aif_syncs *s, bool is_joined, const struct aif_sync_threads *t);

/* Answers the rest: the file is complete, or (error < 0) cannot be written. */
void aif_syncs_finish(struct aif_syncs *s, int error);
