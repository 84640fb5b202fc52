/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/names.h"

#include "base/hash.h"

#include <string.h>
#include <wchar.h>

/* Places in the index that are looked at for a name: names with one hash, made on purpose, end the search. */
#define PROBES 64

/* Handles: number * 16 + one of these, so that neither is taken for the other, nor for a small number. */
enum { DOMAIN_TAG = 4, STRING_TAG = 8, HANDLE_STEP = 16 };

static const char other[] = "[other names]", none[] = "[unnamed]";

size_t aif_nvtx_length_within(const char *text, size_t most)
{
	size_t len = strnlen(text, most + 1);

	if (len <= most)
		return len;
	/* Before the first byte of a character. */
	for (len = most; len > most - 4 && ((uint8_t)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

size_t aif_nvtx_length(const char *text)
{
	return aif_nvtx_length_within(text, AIF_NVTX_NAME_MAX);
}

size_t aif_nvtx_narrow(const void *wide, char *to, size_t cap)
{
	const wchar_t *from = wide;
	size_t len = 0;

	for (; *from; from++) {
		uint32_t c = (uint32_t)*from;
		char bytes[4];
		size_t n;

		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = 0xfffd;
		if (c < 0x80) {
			bytes[0] = (char)c;
			n = 1;
		} else if (c < 0x800) {
			bytes[0] = (char)(0xc0 | c >> 6);
			n = 2;
		} else if (c < 0x10000) {
			bytes[0] = (char)(0xe0 | c >> 12);
			n = 3;
		} else {
			bytes[0] = (char)(0xf0 | c >> 18);
			n = 4;
		}
		for (size_t i = 1; i < n; i++)
			bytes[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
		if (len + n > cap)
			break;
		memcpy(to + len, bytes, n);
		len += n;
	}
	return len;
}

/* ---- domains --------------------------------------------------------------------------------- */

uint32_t aif_nvtx_domain(struct aif_nvtx_tables *t, const char *name)
{
	size_t len = name ? strnlen(name, AIF_NVTX_DOMAIN_MAX - 1) : 0;
	uint32_t n, i;

	if (!len)
		return 0;
	n = AIF_MIN(atomic_load_explicit(&t->domains_len, memory_order_acquire),
		    (uint32_t)AIF_NVTX_DOMAINS);
	for (i = 1; i < n; i++)
		if (atomic_load_explicit(&t->domain_ready[i], memory_order_acquire) &&
		    strlen(t->domains[i]) == len && !memcmp(t->domains[i], name, len))
			return i;
	if (n >= AIF_NVTX_DOMAINS - 1)
		return AIF_NVTX_DOMAINS - 1;
	i = atomic_fetch_add(&t->domains_len, 1);
	if (i >= AIF_NVTX_DOMAINS - 1)
		return AIF_NVTX_DOMAINS - 1;
	memcpy(t->domains[i], name, len);
	atomic_store_explicit(&t->domain_ready[i], 1, memory_order_release);
	return i;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_name(const struct aif_nvtx_tables *t, const struct aif_nvtx_name *n, uint64_t hash,
		    uint32_t domain, const char *text, size_t len)
{
	return n->hash == hash && n->domain == domain && n->len == n->prefix + len &&
	       !memcmp(t->texts + n->text + n->prefix, text, len);
}

/* Writes an entry that nobody knows of yet. AIF_NVTX_NAME_OTHER: there is no room. */
static uint32_t name_make(struct aif_nvtx_tables *t, uint64_t hash, uint32_t domain,
			  const char *text, size_t len)
{
	size_t prefix = domain ? strlen(t->domains[domain]) + 1 : 0;
	uint32_t id, at, size = (uint32_t)(prefix + len + 1);
	char *to;

	/* Looked at first, so that what is full does not count on. */
	if (atomic_load_explicit(&t->names_len, memory_order_relaxed) >= AIF_NVTX_NAMES ||
	    atomic_load_explicit(&t->texts_len, memory_order_relaxed) > AIF_NVTX_TEXTS - size)
		return AIF_NVTX_NAME_OTHER;
	at = atomic_fetch_add(&t->texts_len, size);
	if (at > AIF_NVTX_TEXTS - size)
		return AIF_NVTX_NAME_OTHER;
	id = atomic_fetch_add(&t->names_len, 1);
	if (id >= AIF_NVTX_NAMES)
		return AIF_NVTX_NAME_OTHER;
	to = t->texts + at;
	if (prefix) {
		memcpy(to, t->domains[domain], prefix - 1);
		to[prefix - 1] = ':';
	}
	memcpy(to + prefix, text, len);
	to[prefix + len] = '\0';
	t->names[id] = (struct aif_nvtx_name){.hash = hash,
					      .text = at,
					      .domain = (uint16_t)domain,
					      .prefix = (uint16_t)prefix,
					      .len = (uint16_t)(prefix + len)};
	return id;
}

uint32_t aif_nvtx_name(struct aif_nvtx_tables *t, uint32_t domain, const char *text, size_t len)
{
	uint64_t hash = aif_mix64(aif_hash_bytes(text, len) ^ domain);
	uint32_t made = UINT32_MAX;

	for (uint64_t i = 0; i < PROBES; i++) {
		_Atomic uint32_t *place = &t->index[(hash + i) % AIF_ARRAY_LEN(t->index)];
		uint32_t id = atomic_load_explicit(place, memory_order_acquire);

		if (!id) {
			/* Makes an entry, which stays unused if another thread adds that name first. */
			if (made == UINT32_MAX)
				made = name_make(t, hash, domain, text, len);
			if (made == AIF_NVTX_NAME_OTHER ||
			    atomic_compare_exchange_strong_explicit(place, &id, made + 1,
								    memory_order_acq_rel,
								    memory_order_acquire))
				return made;
		}
		if (is_name(t, &t->names[id - 1], hash, domain, text, len))
			return id - 1;
	}
	return AIF_NVTX_NAME_OTHER;
}

const char *aif_nvtx_name_text(const struct aif_nvtx_tables *t, uint32_t name, size_t *ret_len)
{
	const struct aif_nvtx_name *n = &t->names[name];

	*ret_len = n->len;
	return t->texts + n->text;
}

void aif_nvtx_tables_init(struct aif_nvtx_tables *t)
{
	static const char domains[] = "[other domains]";

	memcpy(t->domains[AIF_NVTX_DOMAINS - 1], domains, sizeof(domains));
	atomic_store(&t->domain_ready[AIF_NVTX_DOMAINS - 1], 1);
	atomic_store(&t->domains_len, 1); /* 0 is the default domain */
	/* In the order of enum aif_nvtx_name_id. */
	aif_nvtx_name(t, 0, other, sizeof(other) - 1);
	aif_nvtx_name(t, 0, none, sizeof(none) - 1);
	atomic_store(&t->next_schema, 1);
}

/* ---- categories and schemas ------------------------------------------------------------------ */

void aif_nvtx_category_add(struct aif_nvtx_tables *t, uint32_t domain, uint32_t id,
			   const char *name)
{
	uint32_t i;
	struct aif_nvtx_category *c;

	if (!name || aif_nvtx_category_name(t, domain, id) ||
	    atomic_load_explicit(&t->categories_len, memory_order_relaxed) >= AIF_NVTX_CATEGORIES)
		return;
	i = atomic_fetch_add(&t->categories_len, 1);
	if (i >= AIF_NVTX_CATEGORIES)
		return;
	c = &t->categories[i];
	c->domain = domain;
	c->id = id;
	memcpy(c->name, name, strnlen(name, sizeof(c->name) - 1));
	atomic_store_explicit(&c->is_ready, 1, memory_order_release);
}

const char *aif_nvtx_category_name(const struct aif_nvtx_tables *t, uint32_t domain, uint32_t id)
{
	uint32_t n = AIF_MIN(atomic_load_explicit(&t->categories_len, memory_order_acquire),
			     (uint32_t)AIF_NVTX_CATEGORIES);

	for (uint32_t i = 0; i < n; i++) {
		const struct aif_nvtx_category *c = &t->categories[i];

		if (atomic_load_explicit(&c->is_ready, memory_order_acquire) && c->id == id &&
		    c->domain == domain)
			return c->name;
	}
	return NULL;
}

uint64_t aif_nvtx_schema_add(struct aif_nvtx_tables *t, const struct aif_nvtx_schema *schema)
{
	uint32_t i;

	if (schema->id && aif_nvtx_schema_find(t, schema->domain, schema->id))
		return schema->id;
	if (atomic_load_explicit(&t->schemas_len, memory_order_relaxed) >= AIF_NVTX_SCHEMAS)
		return schema->id;
	i = atomic_fetch_add(&t->schemas_len, 1);
	if (i >= AIF_NVTX_SCHEMAS)
		return schema->id;
	t->schemas[i] = *schema;
	if (!schema->id)
		t->schemas[i].id = AIF_NVTX_FIRST_DYNAMIC + atomic_fetch_add(&t->next_schema, 1);
	atomic_store_explicit(&t->schema_ready[i], 1, memory_order_release);
	return t->schemas[i].id;
}

const struct aif_nvtx_schema *aif_nvtx_schema_find(const struct aif_nvtx_tables *t, uint32_t domain,
						   uint64_t id)
{
	uint32_t n = AIF_MIN(atomic_load_explicit(&t->schemas_len, memory_order_acquire),
			     (uint32_t)AIF_NVTX_SCHEMAS);

	for (uint32_t i = 0; i < n; i++)
		if (atomic_load_explicit(&t->schema_ready[i], memory_order_acquire) &&
		    t->schemas[i].id == id && t->schemas[i].domain == domain)
			return &t->schemas[i];
	return NULL;
}

/* ---- handles --------------------------------------------------------------------------------- */

static void *handle(uint32_t number, unsigned tag)
{
	return (void *)((uintptr_t)number * HANDLE_STEP + tag);
}

void *aif_nvtx_domain_handle(uint32_t domain)
{
	return handle(domain, DOMAIN_TAG);
}

uint32_t aif_nvtx_domain_of(const struct aif_nvtx_tables *t, const void *handle)
{
	uintptr_t h = (uintptr_t)handle, i = h / HANDLE_STEP;

	return h % HANDLE_STEP == DOMAIN_TAG && i < AIF_NVTX_DOMAINS &&
			       atomic_load_explicit(&t->domain_ready[i], memory_order_acquire)
		       ? (uint32_t)i
		       : 0;
}

void *aif_nvtx_string_handle(uint32_t name)
{
	return handle(name, STRING_TAG);
}

uint32_t aif_nvtx_string_of(const struct aif_nvtx_tables *t, const void *handle)
{
	uintptr_t h = (uintptr_t)handle, i = h / HANDLE_STEP;

	return h % HANDLE_STEP == STRING_TAG && i < AIF_NVTX_NAMES &&
			       i < atomic_load_explicit(&t->names_len, memory_order_acquire)
		       ? (uint32_t)i
		       : AIF_NVTX_NAME_NONE;
}
