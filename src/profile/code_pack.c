/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* SASS of libraries shrinks to 29 % at level 1, 26 % at 3, 24 % at 9, which takes six times as long. */
#define ZSTD_LEVEL 3

void aif_code_pack(struct aif_code *c)
{
	size_t bound = ZSTD_compressBound(c->size), n;
	uint8_t *packed, *fitting;

	if (!c->bytes || c->packed || !c->size || c->size > AIF_CODE_MAX)
		return;
	packed = malloc(bound);
	if (!packed)
		return;
	n = ZSTD_compress(packed, bound, c->bytes, c->size, ZSTD_LEVEL);
	if (ZSTD_isError(n) || n >= c->size) {
		free(packed);
		return;
	}
	fitting = realloc(packed, n);
	c->packed = fitting ? fitting : packed;
	c->packed_size = n;
	free((void *)(uintptr_t)c->bytes);
	c->bytes = NULL;
}

/* True if c->packed is one whole frame of c->size bytes, at most AIF_CODE_MAX; it may be damaged. */
static bool is_packed(const struct aif_code *c)
{
	return c->packed && c->size && c->size <= AIF_CODE_MAX &&
	       ZSTD_getFrameContentSize(c->packed, c->packed_size) == c->size;
}

int aif_code_unpack(const struct aif_code *c, uint8_t **ret)
{
	uint8_t *bytes;

	if (!c->bytes && !c->packed)
		return -ENODATA;
	if (!c->bytes && !is_packed(c))
		return -EBADMSG;
	bytes = malloc(c->size ? c->size : 1);
	if (!bytes)
		return -ENOMEM;
	if (c->bytes) {
		memcpy(bytes, c->bytes, c->size);
	} else if (ZSTD_decompress(bytes, c->size, c->packed, c->packed_size) != c->size) {
		free(bytes);
		return -EBADMSG;
	}
	*ret = bytes;
	return 0;
}

int aif_code_load(struct aif_code *c, const char *arch, uint64_t *left)
{
	uint8_t *bytes = NULL;
	int r;

	if (!is_packed(c))
		return -EBADMSG;
	if (c->size > *left || !strcmp(arch, AIF_BINARY_ARCH))
		return 0;
	r = aif_code_unpack(c, &bytes);
	if (r < 0)
		return r;
	*left -= c->size;
	c->bytes = bytes;
	return 0;
}
