/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Appends a Rust name of `n` bytes as rustc's own demangler writes it, without hashes, at most `max` bytes of it: _R of
 * v0, _ZN..17h and 16 hexadecimal digits, or what a demangler of C++ made of the latter. False: it is none, and nothing
 * was appended. */
bool aif_demangle_rust(const char *name, size_t n, size_t max, struct aif_buf *ret);
/* Returns true for a legacy name as a demangler of C++ prints it: parts between "::", the last one a hash. */
bool aif_is_printed_rust(const char *name, size_t n);
