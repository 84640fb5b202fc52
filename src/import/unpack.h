/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* A packing that files come in, or an encoding of text. One static struct each, in the table of unpack.c. */
struct aif_unpacker {
	const char *name;
	uint8_t magic[4];
	uint8_t magic_len;
	void *(*new)(void); /* NULL: out of memory */
	void (*free)(void *state);
	/* *in, *out: bytes there are, then bytes that were used. Packings that follow one another are one. 0;
	 * -ENODATA: it is whole, and what follows is none; -EBADMSG: damaged; -ENOMEM. */
	int (*run)(void *state, const uint8_t *from, size_t *in, uint8_t *to, size_t *out);
	bool (*is_whole)(const void *state); /* does it end here? */
};

#define AIF_UNPACK_MAGIC 4

/* NULL: it is plain. */
const struct aif_unpacker *aif_unpacker_of(const uint8_t *head, size_t len);
/* utf16.c: NULL: it is no text in UTF-16. */
const struct aif_unpacker *aif_utf16_unpacker_of(const uint8_t *head, size_t len);
