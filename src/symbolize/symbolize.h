/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdatomic.h>

/*
 * Addresses of machine code -> names. One instance serves one thread. Files are read lazily and
 * piecewise; what is kept is the sorted symbols of each module that was asked for (about 40 bytes a
 * function) and a bounded cache of debug information. Names are any bytes but 0, of at most 64 KiB.
 */
struct aif_symbols;

struct aif_symbol {
	const char *name; /* demangled, in full; "[file+0xSTART]" where no name is known */
	const char *file; /* NULL = unknown */
	uint32_t line;    /* 0 = unknown */
	bool named;       /* false: the name was made up from the address */
};

int aif_symbols_new(struct aif_symbols **ret);
void aif_symbols_free(struct aif_symbols *s);
/* Sets the directory of separate debug files, instead of /usr/lib/debug. */
int aif_symbols_debug_dir(struct aif_symbols *s, const char *dir);

/* From when *cancel is true on nothing is read any more: what is asked then is answered by
 * addresses. */
void aif_symbols_cancel_by(struct aif_symbols *s, const atomic_bool *cancel);

/*
 * Makes module number `module` known: the file behind `fd`, which is taken in all cases (small
 * files are read and closed at once, others stay open). path, as the target names it, is for
 * labels, separate debug files and PoCL's kernels. build_id (hexadecimal, may be NULL) must match
 * the file's. Returns -EEXIST, -ENOMEM, or the reason why the file is of no use (-ENOEXEC, -ESTALE:
 * another build-id, ...): the module is known then all the same, by its path only. fd -1: by path
 * only.
 */
int aif_symbols_module(struct aif_symbols *s, uint32_t module, int fd, const char *path,
		       const char *build_id);
/* The same for an image in memory (the vdso); the bytes are copied. */
int aif_symbols_image(struct aif_symbols *s, uint32_t module, const void *bytes, size_t n,
		      const char *path);

/* The same for the vdso of this process: it is the kernel's, and so that of all others. -ENOENT if there is none, -ESTALE:
 * another build-id than `build_id` (hexadecimal, may be NULL). */
int aif_symbols_vdso(struct aif_symbols *s, uint32_t module, const char *build_id);

/*
 * The functions at an address of the file's own numbering, a point inside an instruction: [0] the
 * one that really stands there, then those inlined into it, inwards; `line` is the place inside
 * that function: of all but the last, where it calls the next. With more than `max` (> 0) of them
 * the innermost takes the last place. Returns their number, at least 1, or -ENOENT for an unknown
 * module, -ENOMEM. Strings are valid until the next call.
 */
int aif_symbols_resolve(struct aif_symbols *s, uint32_t module, uint64_t address,
			struct aif_symbol *ret, unsigned max);

/* Returns how often debug information was dropped to make room for another module's, to be read
 * again when needed. */
uint64_t aif_symbols_drops(const struct aif_symbols *s);

/* True if the module's file took too long, or was cancelled: its functions are addresses from
 * then on. */
bool aif_symbols_is_slow(const struct aif_symbols *s, uint32_t module);

/* The extent of the function at an address, and its name as aif_symbols_resolve gives it.
 * -ENOENT if nothing tells where it begins. */
int aif_symbols_function(struct aif_symbols *s, uint32_t module, uint64_t address,
			 uint64_t *ret_start, uint64_t *ret_size, const char **ret_name);

/* Appends the machine code at [start, start + size) of the file. 0 or -errno, with *ret untouched;
 * -E2BIG above 16 MiB. */
int aif_symbols_code(struct aif_symbols *s, uint32_t module, uint64_t start, uint64_t size,
		     struct aif_buf *ret);

/* Appends the module's whole file, whose size is *ret_size; one of more than `max` bytes is not read. 0 or -errno, with
 * *ret untouched; -ENOENT without a file. */
int aif_symbols_file(struct aif_symbols *s, uint32_t module, size_t max, struct aif_buf *ret,
		     uint64_t *ret_size);

/* "x86_64", "aarch64", ...; "" if unknown. */
const char *aif_symbols_arch(const struct aif_symbols *s, uint32_t module);
