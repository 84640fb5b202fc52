/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Machine code in a profile is compressed: a zstd frame, which says how long the code is. */

/* The largest code of one row, and of all rows that a reader unpacks as it opens a file. */
#define AIF_CODE_MAX     (UINT64_C(64) << 20)
#define AIF_CODE_ALL_MAX (UINT64_C(256) << 20)

/* Sets c->packed and c->packed_size from c->bytes and c->size, and frees the bytes; leaves *c as it
 * is where packing saves nothing or memory runs out. */
void aif_code_pack(struct aif_code *c);

/* Sets c->bytes of code that was read packed, unless its architecture is that of a binary, or it is longer than *left, from
 * which it is taken. 0, -EBADMSG: it is damaged, -ENOMEM. */
int aif_code_load(struct aif_code *c, const char *arch, uint64_t *left);

/* Copies the code into *ret, of malloc(), whether it is packed or not. 0, -ENODATA: it was not kept,
 * -EBADMSG: it is damaged, -ENOMEM. */
int aif_code_unpack(const struct aif_code *c, uint8_t **ret);
