/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/buf.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>

struct aif_map_slot {
	uint64_t key, value; /* key 0: free */
};

void aif_map_finish(struct aif_map *m)
{
	free(m->slots);
	*m = (struct aif_map){0};
}

void aif_map_clear(struct aif_map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->len = 0;
	m->has_zero = false;
}

/* Not of key 0. */
static struct aif_map_slot *map_slot(const struct aif_map *m, uint64_t key)
{
	size_t i = aif_mix64(key) & (m->cap - 1);

	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

bool aif_map_get(const struct aif_map *m, uint64_t key, uint64_t *ret_value)
{
	const struct aif_map_slot *s;

	if (!key) {
		if (m->has_zero && ret_value)
			*ret_value = m->of_zero;
		return m->has_zero;
	}
	if (!m->cap)
		return false;
	s = map_slot(m, key);
	if (s->key && ret_value)
		*ret_value = s->value;
	return s->key;
}

void aif_map_prefetch(const struct aif_map *m, uint64_t key)
{
	if (m->cap)
		__builtin_prefetch(&m->slots[aif_mix64(key) & (m->cap - 1)]);
}

static int map_grow(struct aif_map *m)
{
	struct aif_map bigger = *m;

	bigger.cap = m->cap ? m->cap * 2 : 16;

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots) {
		aif_memory_fail();
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			*map_slot(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int aif_map_put(struct aif_map *m, uint64_t key, uint64_t value)
{
	struct aif_map_slot *s;

	if (!key) {
		m->len += !m->has_zero;
		m->has_zero = true;
		m->of_zero = value;
		return 0;
	}
	if (m->len >= m->cap - m->cap / 4 && map_grow(m) < 0)
		return -ENOMEM;
	s = map_slot(m, key);
	m->len += !s->key;
	*s = (struct aif_map_slot){.key = key, .value = value};
	return 0;
}

void aif_strset_finish(struct aif_strset *s)
{
	free(s->bytes);
	free(s->str);
	free(s->slots);
	*s = (struct aif_strset){0};
}

/* Sixteen bytes at a time: nothing outside sees this hash. */
static size_t strset_hash(const void *p, size_t n)
{
	const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15);
	const uint8_t *b = p;
	uint64_t h = n * mix, w[2];

	for (; n >= sizeof(w); n -= sizeof(w), b += sizeof(w)) {
		unsigned __int128 product;

		memcpy(w, b, sizeof(w));
		product = (unsigned __int128)(w[0] ^ h) * (w[1] ^ mix);
		h = (uint64_t)product ^ (uint64_t)(product >> 64) ^ w[1];
	}
	w[0] = w[1] = 0;
	if (n) /* an empty string may be a null pointer */
		memcpy(w, b, n);
	return aif_mix64(aif_mix64(h ^ w[0]) ^ w[1]);
}

static uint32_t *strset_slot(const struct aif_strset *s, const void *p, size_t n)
{
	size_t i = strset_hash(p, n) & (s->slots_cap - 1);

	for (; s->slots[i]; i = (i + 1) & (s->slots_cap - 1)) {
		const struct aif_str_at *at = &s->str[s->slots[i] - 1];

		if (at->len == n && (!n || !memcmp(s->bytes + at->at, p, n)))
			break;
	}
	return &s->slots[i];
}

static int strset_grow(struct aif_strset *s)
{
	size_t cap = s->slots_cap ? s->slots_cap * 2 : 64;
	uint32_t *slots = calloc(cap, sizeof(*slots)), *old = s->slots;

	if (!slots) {
		aif_memory_fail();
		return -ENOMEM;
	}
	s->slots = slots;
	s->slots_cap = cap;
	for (uint32_t id = 0; id < s->len; id++)
		*strset_slot(s, s->bytes + s->str[id].at, s->str[id].len) = id + 1;
	free(old);
	return 0;
}

uint32_t aif_strset_find(const struct aif_strset *s, const void *p, size_t n)
{
	return s->slots_cap ? *strset_slot(s, p, n) - 1 : AIF_STR_NONE;
}

/* Room for n more bytes and the zero behind them. */
static bool has_room(struct aif_strset *s, size_t n)
{
	return n < UINT32_MAX - s->bytes_len - 1 &&
	       aif_grow(&s->bytes, &s->bytes_cap, s->bytes_len + n + 1, 1) == 0;
}

static struct aif_str_at append(struct aif_strset *s, const void *p, size_t n)
{
	struct aif_str_at at = {.at = (uint32_t)s->bytes_len, .len = (uint32_t)n};

	if (n)
		memcpy(s->bytes + s->bytes_len, p, n);
	s->bytes[s->bytes_len + n] = 0;
	s->bytes_len += n + 1;
	return at;
}

int aif_strset_set(struct aif_strset *s, uint32_t id, const void *p, size_t n)
{
	if (!has_room(s, n))
		return -ENOMEM;
	s->str[id] = append(s, p, n);
	return 0;
}

uint32_t aif_strset_put(struct aif_strset *s, const void *p, size_t n)
{
	uint32_t *slot;

	if (s->len >= s->slots_cap - s->slots_cap / 4 && strset_grow(s) < 0)
		return AIF_STR_NONE;
	slot = strset_slot(s, p, n);
	if (*slot)
		return *slot - 1;
	if (s->len >= UINT32_MAX - 1 || !has_room(s, n) ||
	    aif_grow(&s->str, &s->str_cap, s->len + 1, sizeof(*s->str)) < 0)
		return AIF_STR_NONE;
	s->str[s->len] = append(s, p, n);
	*slot = (uint32_t)++s->len;
	return *slot - 1;
}

uint32_t aif_strset_puts(struct aif_strset *s, const char *str)
{
	return aif_strset_put(s, str, strlen(str));
}

const char *aif_strset_get(const struct aif_strset *s, uint32_t id, size_t *ret_len)
{
	if (id >= s->len) {
		if (ret_len)
			*ret_len = 0;
		return "";
	}
	if (ret_len)
		*ret_len = s->str[id].len;
	return (const char *)s->bytes + s->str[id].at;
}
