/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/file_internal.h"
#include "profile/schema.h"

/* The writer's inside: file_create.c makes it, file_write.c writes tables and commits,
 * file_write_chunks.c writes rows and trims, file_rewrite.c leaves rows out again. */

struct aif_written_chunk {
	int64_t id;
	uint64_t bytes, rows, total;
	uint64_t until; /* CLOCK_MONOTONIC: its rows are not younger */
	uint32_t kind;
	bool is_settled; /* is looked at no more (file_rewrite.c) */
	/* Launches: how many have no execution in the file yet, and the last chunk with one. */
	uint64_t launch_min, launch_max, open;
	int64_t last_exec;
};

struct aif_writer {
	sqlite3 *db; /* NULL: there is no file */
	void (*observe)(void *arg, enum aif_chunk_kind kind, size_t rows, const void *data,
			size_t size);
	void *observe_arg;
	char *path;
	bool in_transaction;
	bool has_locks;       /* the file system has: another recording cannot use the file */
	bool is_there;        /* the file was made: it is no other's */
	bool is_made;         /* the file has its tables: what is committed is a profile */
	struct aif_err error; /* what stopped the writing: all later calls say the same */
	sqlite3_stmt *insert[AIF_TABLE_COUNT], *insert_string, *insert_chunk, *delete_chunk, *drop,
		*set_end, *read_chunk;
	size_t written[AIF_TABLE_COUNT], strings_written;
	void *shadow[AIF_TABLE_COUNT]; /* rows of `rewritten` tables as they are in the file */
	size_t shadow_cap[AIF_TABLE_COUNT];
	uint64_t start_ns, end_ns, end_in_file; /* end: the latest host stamp so far */
	uint64_t size;

	struct aif_chunk_encoder *encoder;
	struct aif_chunk_decoder *decoder; /* made when a chunk is first read back */
	struct aif_buf chunk;
	struct aif_sort_key {
		uint64_t group, at;
		uint32_t row;
	} * keys;
	uint32_t *order;
	size_t keys_cap, order_cap;
	struct aif_written_chunk *chunks; /* those in the file, from chunks_first on */
	size_t chunks_first, chunks_timed, chunks_len,
		chunks_cap; /* timed: before it .until is set */
	uint64_t chunks_bytes;
	int64_t next_chunk;
};

/* Keep what SQLite said as the writer's error and copy it to *err; roll back. Returns its code. */
int aif_writer_fail(struct aif_writer *w, struct aif_err *err);
int aif_writer_fail_with(struct aif_writer *w, int code, struct aif_err *err);

/* Starts a transaction if none is open; returns the error that stopped the writing, if one did. */
int aif_writer_begin(struct aif_writer *w, struct aif_err *err);

/* Prepares at first use, kept for the writer's life. */
int aif_writer_prepare(struct aif_writer *w, sqlite3_stmt **stmt, const char *sql,
		       struct aif_err *err);
/* Runs a statement that gives no rows, and makes it ready for its next use. */
int aif_writer_step(struct aif_writer *w, sqlite3_stmt *stmt, struct aif_err *err);

/* Writes rows of a kind as chunks. */
int aif_writer_rows(struct aif_writer *w, enum aif_chunk_kind kind, const void *rows, size_t n,
		    struct aif_err *err);

void aif_writer_free(struct aif_writer *w);
