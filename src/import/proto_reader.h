/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Protobuf's encoding (protobuf.dev/programming-guides/encoding), field by field, in memory. Hostile bytes are reported, nothing
 * is read past the end. Groups, which nobody has written for 15 years, are damage. */
struct aif_proto_in {
	const uint8_t *at, *end;
	bool is_bad;
	/* The field that aif_proto_next() found. */
	uint32_t field, wire;
	uint64_t value;       /* wire 0, 1, 5 */
	const uint8_t *bytes; /* wire 2 */
	size_t len;
};
enum { AIF_PROTO_VARINT = 0, AIF_PROTO_64 = 1, AIF_PROTO_BYTES = 2, AIF_PROTO_32 = 5 };

static inline struct aif_proto_in aif_proto_of(const uint8_t *bytes, size_t len)
{
	return (struct aif_proto_in){.at = bytes, .end = len ? bytes + len : bytes};
}

static inline bool aif_proto_in_varint(struct aif_proto_in *p, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && p->at < p->end; shift += 7) {
		uint8_t c = *p->at++;

		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret = v;
			return true;
		}
	}
	p->is_bad = true;
	return false;
}

/* False at the end, or at damage (is_bad). */
static inline bool aif_proto_next(struct aif_proto_in *p)
{
	uint64_t key, n;
	size_t left;

	if (p->is_bad || p->at == p->end || !aif_proto_in_varint(p, &key))
		return false;
	p->field = (uint32_t)(key >> 3);
	p->wire = key & 7;
	if (key >> 32 || !p->field) {
		p->is_bad = true;
		return false;
	}
	left = (size_t)(p->end - p->at);
	p->value = 0;
	p->bytes = NULL;
	p->len = 0;
	switch (p->wire) {
	case AIF_PROTO_VARINT:
		return aif_proto_in_varint(p, &p->value);
	case AIF_PROTO_BYTES:
		if (!aif_proto_in_varint(p, &n) || n > (size_t)(p->end - p->at))
			break;
		p->bytes = p->at;
		p->len = (size_t)n;
		p->at += n;
		return true;
	case AIF_PROTO_64:
	case AIF_PROTO_32:
		n = p->wire == AIF_PROTO_64 ? 8 : 4;
		if (left < n)
			break;
		for (unsigned i = 0; i < n; i++)
			p->value |= (uint64_t)p->at[i] << 8 * i;
		p->at += n;
		return true;
	default:
		break;
	}
	p->is_bad = true;
	return false;
}

/* The numbers of a repeated field, packed or each by itself: *at is NULL at first. */
static inline bool aif_proto_number(const struct aif_proto_in *p, struct aif_proto_in *state,
				    uint64_t *ret)
{
	if (p->wire == AIF_PROTO_VARINT) {
		bool is_first = !state->at;

		state->at = state->end = (const uint8_t *)"";
		*ret = p->value;
		return is_first;
	}
	if (p->wire != AIF_PROTO_BYTES)
		return false;
	if (!state->at)
		*state = aif_proto_of(p->bytes, p->len);
	return state->at < state->end && aif_proto_in_varint(state, ret);
}
