/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/* Reads from a file, arg: int *, for struct aif_json. */
ssize_t aif_json_read_fd(void *arg, void *buf, size_t n, struct aif_err *err);
/* Appends the path of such a file, each {} in which stands for `is`. */
void aif_json_path(const char *file, size_t len, const char *is, size_t is_len,
		   struct aif_buf *out);
/* Reads one number of a JSON file, ".a.b[2]" being the way to it. 0; -ENOENT without a file or such a value; -EINVAL where the file
 * as a whole is no JSON, or a key of the way stands twice; another -errno; *err is set. */
int aif_json_value(const char *file, const char *way, double *ret, struct aif_err *err);
/* Appends such a value as text: a string's, a number as it stands, true, false or null. As above. */
int aif_json_scalar(const char *file, const char *way, struct aif_buf *ret, bool *ret_is_number,
		    struct aif_err *err);
/* Appends such a value of a text. False: it is no JSON, or has no such value. */
bool aif_json_text_scalar(const char *text, size_t len, const char *way, struct aif_buf *ret);
