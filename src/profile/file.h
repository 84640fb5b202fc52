/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/chunk.h"
#include "profile/model.h"

/*
 * The profile file (docs/FORMAT.md): an SQLite database; bulk rows are chunks, columnar and
 * compressed (chunk.h). Written by one thread, one transaction a second, so that what is older than
 * that survives kill -9; read as hostile input.
 */

/* ---- writing: all calls from one thread ------------------------------------------------------ */

struct aif_writer;

/* May a profile be written here? Not over what is no profile, nor with such a one as path.old;
 * "-" is no place. An empty file is nobody's. 0 or -errno with *err. */
int aif_profile_check_place(const char *path, struct aif_err *err);

/* Renames the profile at `path` to path.old, with its journal; succeeds if there is none.
 * Refuses other files, and a profile that is being recorded. 0 or -errno with *err. */
int aif_profile_move_away(const char *path, struct aif_err *err);

/* Creates `path` (mode 0600). An existing file becomes path.old. 0 or -errno with *err. */
int aif_writer_new(const char *path, uint64_t start_ns, struct aif_writer **ret,
		   struct aif_err *err);

/* Creates a writer without a file: chunks go to the observer alone. 0 or -ENOMEM. */
int aif_writer_new_without_file(uint64_t start_ns, struct aif_writer **ret);

/* Calls fn with each chunk that is closed from now on, its bytes valid during the call. */
void aif_writer_observe(struct aif_writer *w,
			void (*fn)(void *arg, enum aif_chunk_kind kind, size_t rows,
				   const void *data, size_t size),
			void *arg);

/* Appends the rows of *p's tables that were not written yet. The tables only grow at their ends,
 * but for these whose rows may change, which are rewritten then: processes, devices, modules,
 * losses, meta. Cheap when nothing is new. Not part of a commit of its own. */
int aif_writer_tables(struct aif_writer *w, const struct aif_profile *p, struct aif_err *err);

/* Adds a row of meta behind those of *p, after the last call of aif_writer_tables. */
int aif_writer_note(struct aif_writer *w, const struct aif_profile *p, const char *key,
		    const char *value, struct aif_err *err);

/* Bulk rows, aif_writer_launches() and so on for each kind, about a second's worth each; any order, any number of rows (0: nothing
 * is done). They are sorted and compressed here; operators of one thread and start keep their order, as do memory's rows of one
 * thread and time, and sums of steps of a thread. */
#define AIF_BULK(kind, name, row, number)                                             \
	int aif_writer_##name(struct aif_writer *w, const struct row *rows, size_t n, \
			      struct aif_err *err);
#include "profile/bulk.def"

/* Notes rows that this file does not get: they are counted as if aif_writer_trim had dropped them. until: CLOCK_MONOTONIC, from
 * when on the file has all. */
int aif_writer_dropped(struct aif_writer *w, enum aif_chunk_kind kind, uint64_t rows,
		       uint64_t total, uint64_t until, struct aif_err *err);

int aif_writer_commit(struct aif_writer *w, struct aif_err *err);

/* Drops the oldest chunks until the bulk data is at most max_bytes and no older than keep_ns before
 * now_ns (0 = no limit); totals of what was dropped are kept in the file and counted as
 * AIF_REASON_MAX_SIZE. */
int aif_writer_trim(struct aif_writer *w, uint64_t max_bytes, uint64_t keep_ns, uint64_t now_ns,
		    struct aif_err *err);

/*
 * Rows are left out again of what was written: a chunk is read back until all of its rows are settled, which are looked at no more.
 * aif_writer_look() calls fn with the rows of each chunk of a kind that is not settled. aif_writer_rewrite() calls judge with the same,
 * which says of each row whether it stays and is settled, goes, or is to be looked at again.
 * Part of the transaction of the next commit; observers see nothing of it. Not together with aif_writer_trim().
 */
enum aif_rewrite {
	AIF_REWRITE_KEEP,
	AIF_REWRITE_DROP,
	AIF_REWRITE_LATER,
};
typedef int aif_rewrite_look(void *arg, const void *rows, size_t n);
typedef void aif_rewrite_judge(void *arg, const void *rows, size_t n, uint8_t *ret);
int aif_writer_look(struct aif_writer *w, enum aif_chunk_kind kind, aif_rewrite_look *fn, void *arg,
		    struct aif_err *err);
int aif_writer_rewrite(struct aif_writer *w, enum aif_chunk_kind kind, aif_rewrite_judge *judge,
		       void *arg, struct aif_err *err);
/* Gives the room of what was left out back to the file system, by writing the file anew; at the end. */
int aif_writer_compact(struct aif_writer *w, struct aif_err *err);

/* False: its file system has no locks, so that nothing keeps others from using the file meanwhile. */
bool aif_writer_has_locks(const struct aif_writer *w);
uint64_t aif_writer_size(const struct aif_writer *w); /* bytes of the file so far */

/* A copy of a file that is being written, made in parts: after a commit, before the next row. What is committed between two
 * parts is in it, too. It lies beside the file, as FILE.snapshotPID, until it is whole. */
struct aif_snapshot;
/* 0; -ENOENT: there is no file; -errno: all with *err, and the recording goes on. */
int aif_writer_snapshot(struct aif_writer *w, struct aif_snapshot **ret, struct aif_err *err);
/* Copies for some `ns` of time. 1: the copy is whole; 0: not yet; -errno with *err. */
int aif_snapshot_step(struct aif_snapshot *s, uint64_t ns, struct aif_err *err);
/* Frees; returns a descriptor of the whole copy, which has no name any more. */
int aif_snapshot_finish(struct aif_snapshot *s);
/* Gives a copy up, before its writer is finished. NULL is fine. */
void aif_snapshot_free(struct aif_snapshot *s);

/* Last commit, then closed and freed, whatever the result. A recording cut short before this is a
 * valid, shorter profile. */
int aif_writer_finish(struct aif_writer *w, uint64_t end_ns, struct aif_err *err);

/* ---- reading --------------------------------------------------------------------------------- */

/* The default profile of every command. */
#define AIF_DEFAULT_FILE "aiflame.data"

/* Opens and checks `path`, loads all tables into *ret, which is finished by aif_profile_finish. */
int aif_profile_open(const char *path, struct aif_profile *ret, struct aif_err *err);

/* Notes a failure (-errno) behind which what a view found is less than the profile has, where it
 * cannot be handed on: the first counts. Reading rows notes its own. */
void aif_profile_fail(const struct aif_profile *p, int error);
/* 0, or the failure that was noted, with *err: nothing that was made of the profile may be shown
 * then. */
int aif_profile_check(const struct aif_profile *p, const char *path, struct aif_err *err);

/* For each kind, aif_profile_launches() and so on: calls fn for each chunk's rows, chunks in order of time. fn returns 0, or nonzero
 * to stop, which is then the result. A damaged chunk is skipped and counted in *ret_bad (may be NULL). Rows are valid during the
 * call. Ids in rows have been checked against the tables: each is in range or AIF_NONE. */
#define AIF_BULK(kind, name, row, number)                                                         \
	int aif_profile_##name(const struct aif_profile *p,                                       \
			       int (*fn)(void *arg, const struct row *rows, size_t n), void *arg, \
			       uint64_t *ret_bad);
#include "profile/bulk.def"

/* Returns how many rows of a kind the file's index says that there are, without reading them. */
uint64_t aif_profile_rows(const struct aif_profile *p, enum aif_chunk_kind kind);

/* Returns how many times a chunk of a kind was decoded since the profile was opened; *ret_chunks: how many there are. */
uint64_t aif_profile_decoded(const struct aif_profile *p, enum aif_chunk_kind kind,
			     uint64_t *ret_chunks);

/* Returns the place for what a reader keeps as long as the profile is open (analysis/facts.h): NULL at first, and given
 * to free_it() when the profile is finished, before anything of the profile goes. There is no place, NULL, where rows may
 * still change: of a profile without a file, and of a recording that goes on. */
void **aif_profile_attached(const struct aif_profile *p, void (*free_it)(void *attached));

/* Opaque results kept beside the data (the attribution): a named blob. Reading gives -ENOENT when
 * there is none; writing may fail (a read-only file), which nobody minds. */
int aif_profile_cache_get(const struct aif_profile *p, const char *name, struct aif_buf *ret);
int aif_profile_cache_put(const struct aif_profile *p, const char *name, const void *data,
			  size_t n);
