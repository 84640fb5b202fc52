/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/hash.h"

/* A hash map u64 -> u64, open addressing, grows at 3/4 full. Any key and any value are allowed.
 * A zeroed struct is an empty map. */
struct aif_map {
	struct aif_map_slot *slots;
	size_t len, cap; /* entries; slots, a power of two or 0 */
	/* A slot's key 0 says that it is free: so four are in a cache line. */
	bool has_zero;
	uint64_t of_zero;
};

void aif_map_finish(struct aif_map *m);
void aif_map_clear(struct aif_map *m);
bool aif_map_get(const struct aif_map *m, uint64_t key, uint64_t *ret_value);
/* The key will be asked for soon: of many at a time, so that their cache misses are waited for
 * once. */
void aif_map_prefetch(const struct aif_map *m, uint64_t key);
int aif_map_put(struct aif_map *m, uint64_t key, uint64_t value); /* 0 or -ENOMEM; replaces */

/* A set of byte strings, each with a dense u32 id from 0 in order of first insertion. All strings
 * lie in one buffer and are hashed by offset, so that the buffer can move. */
struct aif_strset {
	uint8_t *bytes;
	size_t bytes_len, bytes_cap;
	struct aif_str_at {
		uint32_t at, len;
	} * str;
	size_t len, str_cap;
	uint32_t *slots; /* id + 1, 0 = free */
	size_t slots_cap;
};

#define AIF_STR_NONE UINT32_MAX

void aif_strset_finish(struct aif_strset *s);
/* The id of the n bytes at p, inserted if new. AIF_STR_NONE when memory or 4 GiB run out. */
uint32_t aif_strset_put(struct aif_strset *s, const void *p, size_t n);
uint32_t aif_strset_puts(struct aif_strset *s, const char *str);
uint32_t aif_strset_find(const struct aif_strset *s, const void *p, size_t n);
/* Replaces the bytes of an existing id; aif_strset_put() does not find it by the new ones. 0 or
 * -ENOMEM. */
int aif_strset_set(struct aif_strset *s, uint32_t id, const void *p, size_t n);
/* The bytes of id, terminated by a zero byte that is not part of *ret_len. Valid until the next
 * put. */
const char *aif_strset_get(const struct aif_strset *s, uint32_t id, size_t *ret_len);
