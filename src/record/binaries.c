/* SPDX-License-Identifier: Apache-2.0 */
#include "record/binaries.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void aif_binaries_put(struct aif_binaries *b, struct aif_store *s, struct aif_quota *payer,
		      uint32_t of, uint8_t *bytes, uint64_t size)
{
	struct aif_code code = {.size = size};
	struct aif_buf path = {0};
	char id[32];

	if (size <= AIF_BINARY_MAX && size <= AIF_BINARY_ALL_MAX - b->bytes) {
		b->bytes += size;
		code.bytes = bytes;
	} else {
		free(bytes);
	}
	/* Numbers tell modules of one path apart: a file may be built anew while programs run. */
	snprintf(id, sizeof(id), "%" PRIu32 ".elf", of);
	aif_store_lock_as(s, payer);
	aif_buf_puts(&path, AIF_BINARY_PREFIX);
	aif_buf_puts(&path, aif_profile_str(&s->p, s->p.modules[of].path));
	code.module = aif_buf_failed(&path)
			      ? AIF_NONE
			      : aif_store_module(s, AIF_MODULE_DEVICE, (const char *)path.data,
						 path.len, id, strlen(id));
	code.name = aif_store_puts(s, "device binary");
	code.arch = aif_store_puts(s, AIF_BINARY_ARCH);
	if (code.module == AIF_NONE || code.name == AIF_NONE || code.arch == AIF_NONE)
		free((void *)(uintptr_t)code.bytes);
	else
		aif_store_code(s, &code);
	aif_store_unlock_as(s);
	aif_buf_finish(&path);
}
