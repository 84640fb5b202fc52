/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * Describes what is mapped in another process, read from outside: its modules, their exported functions, and the rows by which its
 * stacks are unwound. All of it is the process's own word, and hostile: reads are bounded, and what cannot be read is not
 * there. Nothing is opened that the process names.
 */

struct aif_image_module {
	uint64_t lo, hi;
	uint64_t code_lo,
		code_hi; /* what of it can be executed; none of a file that is mapped to be read */
	char path[256];
	bool is_loader;
	bool is_read; /* the tables that a walk needs are there, as far as the module has them */
	/* Made when first needed. */
	int headers; /* 0 = not read, 1 = read, -1 = cannot be */
	bool is_go;  /* the file has the note that Go's linker writes */
	uint64_t bias, hdr, hdr_len, dynamic, dynamic_len;
	uint8_t *copy; /* of [lo, hi), with holes where nothing was needed */
	uint64_t symtab, strtab, strsz, symbols;
	/* Functions inside which nothing may be called: sorted by start. */
	bool has_unsafe;
	bool has_malloc; /* the module exports malloc(), whose inner functions need not be exported */
	struct aif_image_range {
		uint64_t lo, hi;
	} * unsafe;
	size_t unsafe_len, unsafe_cap;
};

/* Is a part of a stack that was copied. */
struct aif_image_stack {
	uint64_t at;
	size_t len;
	const uint8_t *bytes;
};

struct aif_image {
	pid_t pid;
	struct aif_image_stack stack;
	struct aif_image_module *module;
	size_t modules, cap;
	int pagemap; /* which of its pages are there; -1: not known */
	bool has_musl, has_loader;
	uint64_t stack_hi; /* where the first thread's stack ends; 0: not known */
};

/* Reads /proc/PID/maps. 0 or -errno. */
int aif_image_init(struct aif_image *im, pid_t pid);
void aif_image_finish(struct aif_image *im);

/* Reads memory of the process. True if all of it could be. */
bool aif_image_read(const struct aif_image *im, uint64_t at, void *to, size_t len);
/* Reads a stack from `at` on, up to the first page that is not there, or cannot be read: who waits for a page that nobody brings
 * (userfaultfd) would keep the thread stopped for ever. Returns the bytes that were read, or those that are there. What im->stack has is read from it. */
size_t aif_image_stack_there(const struct aif_image *im, uint64_t at, size_t len);
size_t aif_image_read_stack(const struct aif_image *im, uint64_t at, void *to, size_t len);
bool aif_image_write(const struct aif_image *im, uint64_t at, const void *from, size_t len);

/* The module that has `at` in it, or NULL. */
struct aif_image_module *aif_image_find(struct aif_image *im, uint64_t at);

/* The address of a function that a module whose file's name begins with `file` exports, 0: there is none. */
uint64_t aif_image_function(struct aif_image *im, const char *file, const char *name);

/* True if the tables for pc are read: big modules have 300,000 functions, for which no thread is to stand still. */
bool aif_image_is_read(struct aif_image *im, uint64_t pc);
/* Reads the tables of all modules into which the stack at `sp` may return, and of the one that has `pc`. Returns the number of
 * modules that were read. */
unsigned aif_image_read_tables(struct aif_image *im, uint64_t pc, uint64_t sp);

/* True if pc is in a function during which the process's allocator, loader or end is under way, or in the loader. */
bool aif_image_is_unsafe(struct aif_image *im, uint64_t pc);

/* True if pc is in a module that has functions of Go, which have no rows. */
bool aif_image_is_go(struct aif_image *im, uint64_t pc);

/* The row for pc (unwind/row.h). */
uint64_t aif_image_row(struct aif_image *im, uint64_t pc);
