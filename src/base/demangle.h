/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* No name is longer than this, mangled or not; longer ones are cut. Far above any real one. */
#define AIF_NAME_MAX (64 * 1024)

/*
 * Appends the name as the programmer wrote it: C++ and Rust names demangled, the former with their
 * parameters; all else, and what cannot be demangled, as it is. Compilers' suffixes of split-off
 * copies (".cold", ".part.0", ".isra.1", ".llvm.123") are dropped: they are parts of that function.
 */
void aif_demangle(const char *name, struct aif_buf *ret);
/* The same, at most `max` bytes of it: a short name may stand for a text without end, of which
 * that much is taken. */
void aif_demangle_part(const char *name, size_t max, struct aif_buf *ret);

/* Returns true if a name looks like one that the above write in another way: as linkers have those of C++ and Rust, or
 * as binutils write an older Rust compiler's, with $LT$ for < and a hash at the end. */
bool aif_is_mangled(const char *name, size_t n);
