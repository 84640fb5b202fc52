/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "flame/svg.h"
#include "flame/build.h"

/* The work of `aiflame flame`, without its options: a profile or folded text -> tree -> file. */

enum aif_flame_format { AIF_FLAME_SVG, AIF_FLAME_FOLDED };

/* Chooses the format by the suffix; "-" is SVG. 0, or -EINVAL with *err. */
int aif_flame_format_of(const char *path, enum aif_flame_format *ret, struct aif_err *err);

/* True for "-" and for files that can be read and are no profile. */
bool aif_flame_is_folded(const char *path);

/* Reads folded text ("-": standard input) and keeps what focus and ignore (NULL: none) say. *ret
 * is a sealed tree, finished by the caller. Appends one sentence to *ret_warning if lines were
 * left out. 0 or -errno with *err. */
int aif_flame_read_folded(const char *path, const char *focus, const char *ignore,
			  struct aif_tree *ret, struct aif_buf *ret_warning, struct aif_err *err);

/* Writes the sealed tree, at most so many bytes (0: no end), else -EFBIG; svg is not looked at
 * for folded text. There is no partial file under the name, whatever happens. 0 or -errno with
 * *err. */
int aif_flame_write_bounded(const struct aif_tree *t, enum aif_flame_format format,
			    const struct aif_svg_opts *svg, const char *path, uint64_t max_bytes,
			    struct aif_err *err);
static inline int aif_flame_write(const struct aif_tree *t, enum aif_flame_format format,
				  const struct aif_svg_opts *svg, const char *path,
				  struct aif_err *err)
{
	return aif_flame_write_bounded(t, format, svg, path, 0, err);
}
