/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/chunk.h"
#include "profile/model.h"

/*
 * A recording as it goes on: a stream of messages from the recorder to a program of the same machine that watches it
 * (aiflame top). Each second the new rows of the tables and the chunks that were closed, then a commit. The watcher keeps
 * all tables, and of chunks those of the last seconds, and has a profile of them at each commit.
 *
 * A message is a header and .size bytes. Rows go as they lie in memory: both sides compare the sizes of all rows first.
 */
#define AIF_LIVE_MAGIC UINT32_C(0x4c666961) /* "aifL" */
/* The longest message: sources and device code are megabytes at most. */
#define AIF_LIVE_MESSAGE_MAX (256 << 20)

enum aif_live_type {
	AIF_LIVE_BEGIN = 1, /* struct aif_live_begin */
	AIF_LIVE_STRINGS,   /* .at: id of the first; .count lengths (u32), then the bytes of all */
	AIF_LIVE_ROWS, /* .id: table; .at: the first; .count rows. Of a table whose rows change, all */
	AIF_LIVE_CODE,  /* .at: row of the table of code; its bytes; .count: 1 if they are packed */
	AIF_LIVE_CHUNK, /* .id: kind; .count: rows; the chunk */
	AIF_LIVE_COMMIT, /* struct aif_live_commit */
};

struct aif_live_head {
	uint32_t type, id;
	uint64_t at, count, size;
};

struct aif_live_begin {
	uint32_t magic;
	uint16_t row_sizes[32]; /* of the tables, in the order of the schema; 0: there is none */
	uint64_t start_ns;      /* CLOCK_MONOTONIC of the recording's start */
};

/* State of the recording when the messages before were complete. */
struct aif_live_commit {
	uint64_t now_ns;          /* CLOCK_MONOTONIC */
	uint64_t recorder_cpu_ns; /* CPU time of the recorder so far */
	uint64_t recorder_rss;    /* bytes */
	uint64_t missed;     /* chunks that were left out as the watcher did not read in time */
	uint64_t file_bytes; /* of the profile; 0: none is written */
	uint32_t pid;        /* the recorder */
	uint32_t zero;
};

/* ---- the recorder's side --------------------------------------------------------------------- */

/* A zeroed struct is a watcher that has got nothing. */
struct aif_live_writer {
	struct aif_buf out; /* messages to send; the caller takes them away */
	size_t strings, written[32], codes;
	uint64_t hash[32]; /* of tables whose rows change, as they were sent */
	bool has_begun;
};

/* Appends the rows of *p that were not sent yet. 0 or -ENOMEM, after which the stream is of no use. */
int aif_live_tables(struct aif_live_writer *w, const struct aif_profile *p);
int aif_live_chunk(struct aif_live_writer *w, enum aif_chunk_kind kind, size_t rows,
		   const void *data, size_t size);
int aif_live_commit(struct aif_live_writer *w, const struct aif_live_commit *c);
void aif_live_writer_finish(struct aif_live_writer *w);

/* ---- the watcher's side ---------------------------------------------------------------------- */

struct aif_live_reader;

/* Bounds of what is kept: chunks that came in the last keep_ns, and max_bytes of them. 0 or -ENOMEM. */
int aif_live_reader_new(uint64_t keep_ns, uint64_t max_bytes, struct aif_live_reader **ret);
void aif_live_reader_free(struct aif_live_reader *r);

/* Takes the next bytes of the stream, which may end anywhere; *ret_commits: commits among them. 0; -EPROTO: another
 * version's; -EBADMSG: damaged; -ENOMEM: all with *err, and then the reader is of no use any more. */
int aif_live_feed(struct aif_live_reader *r, const void *bytes, size_t n, unsigned *ret_commits,
		  struct aif_err *err);

/* Whether chunks are kept that come from now on (at first: yes), and those that are there stay. */
void aif_live_freeze(struct aif_live_reader *r, bool is_frozen);

/* The profile as of the last commit, valid until the next call that feeds; .kept_ns is the time from which on it has all
 * rows. NULL before the first commit. */
const struct aif_profile *aif_live_profile(const struct aif_live_reader *r);
const struct aif_live_commit *aif_live_last(const struct aif_live_reader *r);
/* Chunks that were dropped before their time, as they were more than max_bytes. */
uint64_t aif_live_dropped(const struct aif_live_reader *r);
/* Bytes of the chunks that are kept. */
uint64_t aif_live_bytes(const struct aif_live_reader *r);

/* Calls fn(arg, rows, n) for the ops that were committed since the last call, of those that are kept. The first error of fn's or
 * of reading, or 0; chunks that are damaged are left out. */
int aif_live_new_ops(struct aif_live_reader *r,
		     int (*fn)(void *arg, const struct aif_op_row *rows, size_t n), void *arg);

/* Has the next commit drop the chunks that came before `at` (CLOCK_MONOTONIC), whatever keep_ns says. */
void aif_live_drop(struct aif_live_reader *r, uint64_t at);

/* Writes a profile of what is kept at `path`; one that is there becomes path.old. cycle: what it shows of that; .cycle 0 or
 * NULL: all. 0 or -errno with *err. */
int aif_live_save(const struct aif_live_reader *r, const char *path, const struct aif_cycle *cycle,
		  struct aif_err *err);
