/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/debugdata.h"

#include <errno.h>
#include <stdlib.h>

#ifdef AIF_HAVE_LZMA

#include <lzma.h>

enum {
	MAX_PACKED = 32 << 20, /* Fedora's largest, of browsers, have some MB */
	MAX_BYTES = 64 << 20,  /* unpacked: two million symbols */
	MAX_MEMORY = 80 << 20, /* of the decoder: xz -9 needs 65 MB */
	FIRST_BYTES = 1 << 20,
};

static int unpack(const struct aif_elf *elf, lzma_stream *z, uint8_t **ret, size_t *ret_n)
{
	size_t room = FIRST_BYTES;
	uint8_t *to = malloc(room);
	lzma_ret r = LZMA_OK;

	if (!to)
		return -ENOMEM;
	z->next_out = to;
	z->avail_out = room;
	for (;;) {
		uint64_t before = z->total_out;
		uint8_t *more;

		r = lzma_code(z, LZMA_FINISH);
		if (aif_effort_spend(elf->effort, z->total_out - before)) {
			free(to);
			return -ETIMEDOUT;
		}
		if (r != LZMA_OK || z->avail_out || room >= MAX_BYTES)
			break;
		more = realloc(to, 2 * room);
		if (!more) {
			free(to);
			return -ENOMEM;
		}
		to = more;
		z->next_out = to + room;
		z->avail_out = room;
		room *= 2;
	}
	if (r != LZMA_STREAM_END) {
		free(to);
		return r == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
	}
	*ret = to;
	*ret_n = (size_t)z->total_out;
	return 0;
}

int aif_debugdata_open(const struct aif_elf *elf, struct aif_elf *ret)
{
	lzma_stream z = LZMA_STREAM_INIT;
	uint8_t *packed, *bytes;
	size_t packed_n, n;
	int r;

	r = aif_elf_load(elf, aif_elf_section(elf, ".gnu_debugdata"), MAX_PACKED, &packed,
			 &packed_n);
	if (r < 0)
		return r == -ENODATA ? -ENOENT : r == -ENOMEM || r == -ETIMEDOUT ? r : -EINVAL;
	r = lzma_stream_decoder(&z, MAX_MEMORY, 0) == LZMA_OK ? 0 : -ENOMEM;
	if (!r) {
		z.next_in = packed;
		z.avail_in = packed_n;
		r = unpack(elf, &z, &bytes, &n);
	}
	lzma_end(&z);
	free(packed);
	if (r < 0)
		return r;
	r = aif_elf_init_bytes(ret, bytes, n);
	free(bytes);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	ret->effort = elf->effort;
	if (ret->machine == elf->machine && ret->is_big == elf->is_big)
		return 0;
	aif_elf_finish(ret);
	return -EINVAL;
}

#else

int aif_debugdata_open(const struct aif_elf *elf, struct aif_elf *ret)
{
	(void)ret;
	return aif_elf_section(elf, ".gnu_debugdata") ? -ENOSYS : -ENOENT;
}

#endif
