/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/modfiles.h"
#include "symbolize/device_object.h"
#include "symbolize/symbolize.h"

/*
 * Names and code of a device's own functions, from the objects (cubins, zebins) that agents left beside the recorder's
 * socket (wire/handshake.h), which may say anything. Belongs to the naming thread.
 */
struct aif_device_names;

/* dir: where the objects are, -1 = nowhere; stays the caller's. `others`: NULL, or where they may be, too; of these, objects are
 * taken whose bytes have the hash by which they are called. is_attached: programs ran before anybody looked. */
struct aif_object_dirs;
int aif_device_names_new(int dir, const struct aif_object_dirs *others, bool is_attached,
			 struct aif_device_names **ret);
void aif_device_names_free(struct aif_device_names *d);
/* Returns how often an object was dropped for another, to be read anew when it is asked for. */
uint64_t aif_device_names_drops(const struct aif_device_names *d);

/* Makes a function known, one that a module is; takes file->function. */
void aif_device_names_add(struct aif_device_names *d, struct aif_modfile *file);

/*
 * Resolves the place `address` bytes into the function, as aif_symbols_resolve() does. Without an object that can be
 * read there is the function's name alone: *ret_loss then says why (enum aif_reason), for the first time of each
 * function, or why there are no lines, for the first time of each of Intel's objects; else it is AIF_NONE. -ENOENT for
 * a module that was not made known.
 */
int aif_device_names_resolve(struct aif_device_names *d, uint32_t module, uint64_t address,
			     struct aif_symbol *ret, unsigned max, uint32_t *ret_loss);

/* A function's whole code. Valid until the next call. -ENOENT if it is not known. */
struct aif_device_code {
	const char *name, *arch;
	const uint8_t *bytes;
	size_t size;
	uint64_t offset; /* in its object */
};
int aif_device_names_code(struct aif_device_names *d, uint32_t module, struct aif_device_code *ret);

/* The function's object, once for each object: without what functions have for themselves (symbolize/device_cut.h), or
 * whole as its agent left it; *ret is the caller's. -ENOENT: it is no device code, or was given before. */
int aif_device_names_binary(struct aif_device_names *d, uint32_t module, bool is_whole,
			    uint8_t **ret, size_t *ret_size);
/* The next part of the object with lines of the function that the former left out; *at: 0 at first. Valid until the next
 * call. False: there is none. */
bool aif_device_names_lines(struct aif_device_names *d, uint32_t module, size_t *at,
			    struct aif_device_piece *ret);

/* The SPIR-V that the function's object was compiled from, once for each object: *ret is the caller's, *ret_hash the
 * object's. -ENOENT: there is none, or it was given before; -ENOMEM. */
int aif_device_names_spirv(struct aif_device_names *d, uint32_t module, uint8_t **ret,
			   size_t *ret_size, uint64_t *ret_hash);
/* The same of a program that is no object here: by its own hash. */
int aif_device_names_program(struct aif_device_names *d, uint64_t hash, uint8_t **ret,
			     size_t *ret_size);
