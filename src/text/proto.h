/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * Protocol Buffers' wire format, written (protobuf.dev, "Encoding"). A message is its fields one
 * after another; a field is a tag (number << 3 | wire type) and a varint, 8 bytes, or a length and
 * bytes.
 *
 * A message inside another has its length before it, which is known only afterwards:
 * aif_proto_begin() leaves room for it, aif_proto_end() fills that in. The length is padded to as
 * many bytes as were left, which readers have to accept (a varint's last groups may be 0). Zero is
 * every scalar's default and may be left out; these functions write it, where it means something
 * the caller asks.
 */
enum aif_proto_wire { AIF_PROTO_VARINT = 0, AIF_PROTO_FIXED64 = 1, AIF_PROTO_BYTES = 2 };

void aif_proto_varint(struct aif_buf *b, uint64_t v); /* without a tag: of a packed field */
void aif_proto_u64(struct aif_buf *b, uint32_t field, uint64_t v); /* also int64, bool, enum */
void aif_proto_fixed64(struct aif_buf *b, uint32_t field, uint64_t v);
void aif_proto_double(struct aif_buf *b, uint32_t field, double v);
void aif_proto_bytes(struct aif_buf *b, uint32_t field, const void *p, size_t n);
/* A string, which has to be valid UTF-8: sanitized as aif_name_sanitize() does it. */
void aif_proto_string(struct aif_buf *b, uint32_t field, const char *bytes, size_t n);
void aif_proto_text(struct aif_buf *b, uint32_t field, const char *text);

/* A message, or a packed field. The result goes to aif_proto_end(), innermost first. `small`: it
 * is surely shorter than 16 KiB, which saves bytes; one that is not after all marks the buffer
 * as failed. */
size_t aif_proto_begin(struct aif_buf *b, uint32_t field);
void aif_proto_end(struct aif_buf *b, size_t begin);
size_t aif_proto_begin_small(struct aif_buf *b, uint32_t field);
void aif_proto_end_small(struct aif_buf *b, size_t begin);
