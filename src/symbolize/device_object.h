/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/device_elf.h"

/* A file with device code, of whichever vendor: its functions, their code and their lines. */
struct aif_device_object;

/* Takes the bytes, of malloc(), in all cases. -ENOTSUP for a kind of file that is known but not
 * read (Intel's before zebin), -ENOEXEC for any other, -ENOMEM. */
int aif_device_object_new(uint8_t *bytes, size_t n, struct aif_device_object **ret);
void aif_device_object_free(struct aif_device_object *o);

const struct aif_device_elf *aif_device_object_elf(const struct aif_device_object *o);
const char *aif_device_object_arch(const struct aif_device_object *o); /* "sm_90", "xe_hpc" */
bool aif_device_object_is_intel(const struct aif_device_object *o);    /* else NVIDIA's */
size_t aif_device_object_size(const struct aif_device_object *o);      /* bytes it holds */

/* Whether the source lines of its code are known. Only Intel's modules carry what the latter two
 * tell from. */
enum aif_device_lines {
	AIF_DEVICE_LINES_KNOWN,
	AIF_DEVICE_LINES_NONE,    /* its compiler was not asked for them, as far as it tells */
	AIF_DEVICE_LINES_DROPPED, /* it was, but they are not there */
};
enum aif_device_lines aif_device_object_lines(const struct aif_device_object *o);

/* The SPIR-V that is in it, or NULL. */
const uint8_t *aif_device_object_spirv(const struct aif_device_object *o, size_t *ret_size);

/* Returns the offset of a function's code in the file. */
uint64_t aif_device_object_offset(const struct aif_device_object *o,
				  const struct aif_device_function *f);

/* Copies the object without what functions have for themselves (device_cut.h); *ret is of malloc(). 0 or -ENOMEM. */
int aif_device_object_cut(const struct aif_device_object *o, uint8_t **ret, size_t *ret_size);

/* Finds the next piece of the file with lines of that function alone, which a cut object lacks; *at: 0 at first. */
struct aif_device_piece {
	const uint8_t *bytes;
	uint64_t offset, size;
};
bool aif_device_object_lines_next(const struct aif_device_object *o,
				  const struct aif_device_function *f, size_t *at,
				  struct aif_device_piece *ret);

/* Resolves an address to lines, as aif_cubin_lines_resolve(); 0 where nothing is known. */
int aif_device_object_resolve(struct aif_device_object *o, uint32_t symbol, uint64_t pc,
			      struct aif_device_level *ret, unsigned max);
