/* SPDX-License-Identifier: Apache-2.0 */
#include "record/binaries.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void aif_binaries_finish(struct aif_binaries *b)
{
	aif_map_finish(&b->by_path);
}

/* Counts what is kept of the code; drops its bytes if that is too much. */
static void limit(struct aif_binaries *b, struct aif_code *code)
{
	uint64_t kept;

	aif_code_pack(code);
	kept = code->packed ? code->packed_size : code->size;
	if (code->size <= AIF_BINARY_MAX && kept <= AIF_BINARY_ALL_MAX - b->bytes) {
		b->bytes += kept;
		return;
	}
	free((void *)(uintptr_t)code->bytes);
	free((void *)(uintptr_t)code->packed);
	code->bytes = code->packed = NULL;
	code->packed_size = 0;
}

static void put(struct aif_store *s, struct aif_code *code, const char *name, const char *arch)
{
	code->name = aif_store_puts(s, name);
	code->arch = aif_store_puts(s, arch);
	if (code->module != AIF_NONE && code->name != AIF_NONE && code->arch != AIF_NONE) {
		aif_store_code(s, code);
		return;
	}
	free((void *)(uintptr_t)code->bytes);
	free((void *)(uintptr_t)code->packed);
}

void aif_binaries_put(struct aif_binaries *b, struct aif_store *s, struct aif_quota *payer,
		      uint32_t of, uint8_t *bytes, uint64_t size)
{
	struct aif_code code = {.size = size, .bytes = bytes};
	struct aif_buf path = {0};
	char id[32];

	limit(b, &code);
	/* Numbers tell modules of one path apart: a file may be built anew while programs run. */
	snprintf(id, sizeof(id), "%" PRIu32 ".elf", of);
	aif_store_lock_as(s, payer);
	aif_buf_puts(&path, AIF_BINARY_PREFIX);
	aif_buf_puts(&path, aif_profile_str(&s->p, s->p.modules[of].path));
	code.module = aif_buf_failed(&path)
			      ? AIF_NONE
			      : aif_store_module(s, AIF_MODULE_DEVICE, (const char *)path.data,
						 path.len, id, strlen(id));
	if (code.module != AIF_NONE)
		aif_map_put(&b->by_path, s->p.modules[of].path, code.module);
	put(s, &code, "device binary", AIF_BINARY_ARCH);
	aif_store_unlock_as(s);
	aif_buf_finish(&path);
}

void aif_binaries_lines(struct aif_binaries *b, struct aif_store *s, struct aif_quota *payer,
			uint32_t of, const uint8_t *bytes, uint64_t offset, uint64_t size)
{
	struct aif_code code = {.size = size, .file_offset = offset};
	uint8_t *copy = malloc(size);
	uint64_t module;

	if (!copy)
		return;
	memcpy(copy, bytes, size);
	code.bytes = copy;
	limit(b, &code);
	aif_store_lock_as(s, payer);
	code.module = aif_map_get(&b->by_path, s->p.modules[of].path, &module) ? (uint32_t)module
									       : AIF_NONE;
	put(s, &code, "line table", AIF_BINARY_LINES);
	aif_store_unlock_as(s);
}
