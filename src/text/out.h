/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <signal.h>

/*
 * An output file that is there whole or not at all: bytes go to a temporary name in the same
 * directory, which takes the final name at the end. "-" is standard output; what is not a regular
 * file (a pipe, /dev/null) is written in place. Errors are sticky, reported by the commit.
 */
struct z_stream_s;
struct aif_scratch;
struct aif_out {
	int fd; /* -1: not open */
	int error;
	bool is_stdout, is_terminal;
	char *path;                   /* as given, for messages */
	char *final_path, *temp_path; /* NULL: written in place */
	struct aif_buf buf;
	uint64_t written;
	uint64_t made, max;      /* bytes before compression; beyond `max` -EFBIG, 0: no end */
	bool is_over;            /* of `max`, which the commit says */
	struct z_stream_s *gzip; /* NULL: bytes are written as they are */
	const volatile sig_atomic_t
		*stopped;            /* nonzero: -EINTR instead of more bytes; NULL: never */
	struct aif_scratch *scratch; /* has temp_path while it is there; NULL: none */
};

/* 0 or -errno with *err; nothing to abort then. */
int aif_out_open(struct aif_out *o, const char *path, struct aif_err *err);
/* The same in a directory that somebody else may have filled: replaces a file, and no link is followed; -EINVAL where a link or
 * something else has the name. */
int aif_out_open_here(struct aif_out *o, const char *path, struct aif_err *err);
/* The same with what ends it early, .stopped and .scratch, either of which may be NULL. */
int aif_out_open_stoppable(struct aif_out *o, const char *path,
			   const volatile sig_atomic_t *stopped, struct aif_scratch *scratch,
			   struct aif_err *err);

/* From here on what is written goes through gzip (RFC 1952), of zlib's fastest level: the others
 * take three to five times as long for a tenth less. Before the first byte. 0 or -ENOMEM. */
int aif_out_gzip(struct aif_out *o);

/* For small pieces: append to &o->buf, then call this, which writes when enough has come together. */
static inline struct aif_buf *aif_out_buf(struct aif_out *o)
{
	return &o->buf;
}
void aif_out_flush_if_full(struct aif_out *o);

/* Ends and frees o in any case. On failure there is no file under the final name but what was there
 * before. 0 or -errno with *err. */
int aif_out_commit(struct aif_out *o, struct aif_err *err);
void aif_out_abort(struct aif_out *o); /* no output; a finished o is allowed */
/* -EFBIG with *err: `path` was stopped at `max` bytes. */
int aif_out_say_over(const char *path, uint64_t max, struct aif_err *err);
