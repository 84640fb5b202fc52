/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * The columns of a page: arrays of numbers behind one another, and a JSON object that says where each is:
 * {"NAME":["u32",OFFSET,COUNT],...}. Numbers are little-endian, offsets are multiples of a number's size, so that the page
 * uses them where they lie. What is repetitive is left to gzip. Types:
 *
 *   u8 u16 u32 f64   as they are
 *   d32              u32, each less the one before: ascending numbers pack better so
 *   v                seven bits a byte, the lowest first, the eighth set where more follow: ["v",OFFSET,COUNT,BYTES]
 */
struct aif_page_columns {
	struct aif_buf bytes;
	struct aif_buf index; /* JSON without the last brace */
};

void aif_page_columns_init(struct aif_page_columns *c);
void aif_page_columns_finish(struct aif_page_columns *c);
/* Failures of memory are kept in the buffers. Names need no quoting. */
void aif_page_u8(struct aif_page_columns *c, const char *name, const uint8_t *v, size_t n);
void aif_page_u16(struct aif_page_columns *c, const char *name, const uint16_t *v, size_t n);
void aif_page_u32(struct aif_page_columns *c, const char *name, const uint32_t *v, size_t n);
/* Writes u16 if each number fits, else u32. */
void aif_page_small(struct aif_page_columns *c, const char *name, const uint32_t *v, size_t n);
void aif_page_d32(struct aif_page_columns *c, const char *name, const uint32_t *v, size_t n);
/* Writes u32 if each number fits, else f64, which is exact up to 2^53. */
void aif_page_u64(struct aif_page_columns *c, const char *name, const uint64_t *v, size_t n);
void aif_page_varint(struct aif_page_columns *c, const char *name, const uint64_t *v, size_t n);
bool aif_page_columns_failed(const struct aif_page_columns *c);
