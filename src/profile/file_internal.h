/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/chunk.h"
#include "profile/file.h"
#include "profile/sqlite_error.h"

/* Shared by the files that read and write profiles; not for others. */

/* A chunk as the file's index describes it. All of it may be wrong in a hostile file: it serves to
 * skip chunks, never to size memory or to index. */
struct aif_file_chunk {
	int64_t id;
	uint32_t rows, clock, process; /* clock, process AIF_NONE: rows of several */
	uint64_t start, end;           /* least and greatest raw stamps of `clock` */
	uint64_t launch_min, launch_max;
	/* Without a database (live.h): the chunk itself, for free(). .end is then when it came. */
	uint8_t *data;
	size_t size;
	void *kept; /* its decoded rows, kept_rows of them, for free(); NULL: not kept */
	size_t kept_rows;
};

struct aif_file {
	sqlite3 *db; /* NULL: chunks are in memory */
	sqlite3_stmt *get_chunk;
	uint64_t max_rows; /* of a kind; chunks beyond are taken for damage */
	int error;         /* of aif_profile_fail() */
	size_t kept_bytes; /* of decoded rows */
	void *attached;    /* of aif_profile_attached(), for free_attached() */
	void (*free_attached)(void *attached);
	struct aif_file_chunks {
		struct aif_file_chunk *chunk;
		size_t len, cap;
		uint64_t decoded; /* times that a chunk was decoded */
	} kinds[AIF_CHUNK_KIND_COUNT];
};

void aif_file_free(struct aif_file *f); /* NULL is fine */

/* Decodes a chunk of `kind` with ids checked; rows are the decoder's. 0, -EBADMSG when damaged, or
 * another negative errno. */
int aif_file_read_chunk(const struct aif_profile *p, enum aif_chunk_kind kind, size_t index,
			struct aif_chunk_decoder *d, const void **ret_rows, size_t *ret_n);
