/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <sys/types.h>

/*
 * The bytes of a file, unpacked: plain, gzip or zstd, known by their first bytes, in one pass and with bounded memory.
 *
 * Few bytes can be packed to unpack to any number of them. So there is a limit on what comes out: `limit`, and where
 * the user has not set it also AIF_INPUT_RATIO times of what went in. (Traces: 10 to 40 times; gzip reaches 1,032.)
 */
#define AIF_INPUT_LIMIT     (UINT64_C(64) << 30)
#define AIF_INPUT_RATIO     250
#define AIF_INPUT_RATIO_MIN (UINT64_C(256) << 20) /* below this any ratio is harmless */

struct aif_input;

/* path "-": standard input. limit 0: as above. 0 or -errno with *err. */
int aif_input_open(const char *path, uint64_t limit, struct aif_input **ret, struct aif_err *err);
/* The same of an open descriptor, which it takes over, also on failure; name: the caller's, for messages. */
int aif_input_open_fd(int fd, const char *name, uint64_t limit, struct aif_input **ret,
		      struct aif_err *err);
void aif_input_close(struct aif_input *in);

/* Up to n unpacked bytes; 0 at the end; -errno with *err. A file that ends within its packing gives what could be
 * unpacked, then 0: aif_input_is_torn(). */
ssize_t aif_input_read(struct aif_input *in, void *buf, size_t n, struct aif_err *err);
bool aif_input_is_torn(const struct aif_input *in);

const char *aif_input_name(const struct aif_input *in); /* for messages */
/* Returns the path of a plain file, for libraries that open files themselves; NULL: it is
 * packed, or no file. Valid as long as the caller's. */
const char *aif_input_path(const struct aif_input *in);
/* Bytes of the file that were read, and its size: 0, not known. */
void aif_input_progress(const struct aif_input *in, uint64_t *ret_done, uint64_t *ret_size);
