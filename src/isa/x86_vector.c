/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/x86_vector.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26: /* segments */
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x67: /* addresses of 32 bits */
		return true;
	}
	return false;
}

/* ModRM, SIB and displacement (volume 2, 2.1.5). 0: cut off. */
static size_t address_size(const uint8_t *bytes, size_t n)
{
	size_t size = 1;
	uint8_t mod, rm;

	if (!n)
		return 0;
	mod = bytes[0] >> 6;
	rm = bytes[0] & 7;
	if (mod == 3)
		return size;
	if (rm == 4) {
		if (n < 2)
			return 0;
		size++;
		if (!mod && (bytes[1] & 7) == 5)
			size += 4;
	}
	if (mod == 1)
		size += 1;
	else if (mod == 2 || (!mod && rm == 5))
		size += 4;
	return size;
}

static bool has_immediate(const struct aif_x86_vector *v)
{
	if (v->map == 3)
		return true;
	if (v->map != 1)
		return false;
	return (v->opcode >= 0x70 && v->opcode <= 0x73) || v->opcode == 0xc2 ||
	       (v->opcode >= 0xc4 && v->opcode <= 0xc6);
}

static uint8_t variant_of(const struct aif_x86_vector *v, uint8_t modrm)
{
	if (v->map != 1)
		return 0;
	if (v->opcode >= 0x71 && v->opcode <= 0x73)
		return modrm >> 3 & 7;
	return !v->prefix && (v->opcode == 0x12 || v->opcode == 0x16) && modrm >= 0xc0;
}

/* The bytes before the opcode. 0: it is not one. */
static size_t head(const uint8_t *b, size_t n, struct aif_x86_vector *v)
{
	static const uint16_t bits[] = {128, 256, 512, 512};

	if (n >= 4 && b[0] == 0x62 && !(b[1] & 8) && (b[2] & 4)) {
		v->is_evex = 1;
		v->map = b[1] & 7;
		v->prefix = b[2] & 3;
		v->w = b[2] >> 7;
		v->bits = bits[b[3] >> 5 & 3];
		return v->map && v->map != 4 && v->map != 7 ? 4 : 0;
	}
	if (n >= 3 && b[0] == 0xc4) {
		v->map = b[1] & 0x1f;
		v->prefix = b[2] & 3;
		v->w = b[2] >> 7;
		v->bits = bits[b[2] >> 2 & 1];
		return v->map >= 1 && v->map <= 3 ? 3 : 0;
	}
	if (n >= 2 && b[0] == 0xc5) {
		v->map = 1;
		v->prefix = b[1] & 3;
		v->bits = bits[b[1] >> 2 & 1];
		return 2;
	}
	return 0;
}

int aif_x86_vector(const uint8_t *bytes, size_t n, struct aif_x86_vector *ret)
{
	size_t at = 0, size;

	*ret = (struct aif_x86_vector){0};
	while (at < n && at < 4 && is_prefix(bytes[at]))
		at++;
	size = head(bytes + at, n - at, ret);
	at += size;
	if (!size || at >= n)
		return -ENOENT;
	ret->opcode = bytes[at++];
	if (ret->map == 1 && ret->opcode == 0x77 && !ret->is_evex) { /* vzeroupper */
		ret->size = (uint32_t)at;
		return 0;
	}
	size = address_size(bytes + at, n - at);
	if (size)
		ret->variant = variant_of(ret, bytes[at]);
	at += size + has_immediate(ret);
	if (!size || at > n || at > 15)
		return -ENOENT;
	ret->size = (uint32_t)at;
	return 0;
}

#define ID(is_evex, map, prefix, w, opcode, variant)                                               \
	(1u << 24 | (uint32_t)(is_evex) << 20 | (uint32_t)(map) << 16 | (uint32_t)(prefix) << 14 | \
	 (uint32_t)(w) << 13 | (uint32_t)(opcode) << 4 | (variant))

uint32_t aif_x86_vector_id(const struct aif_x86_vector *v)
{
	return ID(v->is_evex, v->map, v->prefix, v->w, v->opcode, v->variant);
}

static const struct name {
	uint32_t id;
	char name[20];
} names[] = {
#define V(is_evex, map, prefix, w, opcode, variant, name) \
	{ID(is_evex, map, prefix, w, opcode, variant), name},
#include "isa/x86_vector_names.def"
#undef V
};

static int by_id(const void *id, const void *name)
{
	uint32_t a = *(const uint32_t *)id, b = ((const struct name *)name)->id;

	return AIF_ORDER(a, b);
}

const char *aif_x86_vector_name(const struct aif_x86_vector *v)
{
	uint32_t id = aif_x86_vector_id(v);
	const struct name *n = bsearch(&id, names, AIF_ARRAY_LEN(names), sizeof(*names), by_id);

	return n ? n->name : NULL;
}

void aif_x86_vector_text(const struct aif_x86_vector *v, char ret[AIF_X86_VECTOR_TEXT])
{
	static const char *const prefixes[] = {"", ".66", ".F3", ".F2"}, *const maps[] = {
										 "",     "0F",
										 "0F38", "0F3A",
										 "",     "MAP5",
										 "MAP6", ""};

	snprintf(ret, AIF_X86_VECTOR_TEXT, "%sVEX.%u%s.%s.W%u %02X", v->is_evex ? "E" : "", v->bits,
		 prefixes[v->prefix & 3], maps[v->map & 7], v->w, v->opcode);
}
