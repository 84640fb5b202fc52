/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/repeated.h"

#include "base/hash.h"

#include <string.h>

/* Bytes of the text, which are on the stack once for each payload. */
static AIF_NOINLINE uint32_t name_make(struct aif_nvtx_tables *t, const struct aif_nvtx_world *w,
				       uint32_t domain, const struct aif_nvtx_data *d)
{
	char text[AIF_NVTX_STRING_MAX + 1];
	size_t len = aif_nvtx_payload_text(w, domain, d, text, 0, sizeof(text));

	return len ? aif_nvtx_name(t, 0, text, len) : AIF_NVTX_NAME_OTHER;
}

/* Hashes a payload. Equal hashes are no proof: the bytes are compared, too. */
static uint64_t hash_of(uint32_t domain, const struct aif_nvtx_data *d)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t h = (d->schema ^ (uint64_t)domain << 32 ^ d->size) * odd, word;
	const uint8_t *at = d->data;
	size_t rest = d->size;

	for (; rest >= sizeof(word); rest -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = (h ^ word ^ h >> 32) * odd;
	}
	for (word = 0; rest; rest--)
		word = word << 8 | at[rest - 1];
	return aif_mix64(h ^ word);
}

uint32_t aif_nvtx_repeated(struct aif_nvtx_tables *t, struct aif_nvtx_repeated *seen,
			   const struct aif_nvtx_world *w, uint32_t domain,
			   const struct aif_nvtx_data *d)
{
	struct aif_nvtx_repeated *set, *at;
	uint64_t hash;
	uint32_t name;

	if (!d->data || !d->size || d->size > AIF_NVTX_REPEATED_BYTES ||
	    !aif_nvtx_is_readable(w, d->data, d->size))
		return AIF_NVTX_NAME_OTHER;
	hash = hash_of(domain, d);
	set = &seen[hash % (AIF_NVTX_REPEATED / AIF_NVTX_REPEATED_WAYS) * AIF_NVTX_REPEATED_WAYS];
	for (at = set; at < set + AIF_NVTX_REPEATED_WAYS && at->size; at++)
		if (at->size == d->size && at->schema == d->schema && at->domain == domain &&
		    !memcmp(at->bytes, d->data, d->size))
			return at->name;
	if (!aif_nvtx_is_repeated(w->schema(w->arg, domain, d->schema)))
		return AIF_NVTX_NAME_OTHER;
	name = name_make(t, w, domain, d);
	if (name == AIF_NVTX_NAME_OTHER)
		return name;
	if (at == set + AIF_NVTX_REPEATED_WAYS)
		at = &set[(hash >> 32) % AIF_NVTX_REPEATED_WAYS]; /* in the place of another */
	*at = (struct aif_nvtx_repeated){
		.schema = d->schema, .domain = domain, .size = (uint32_t)d->size, .name = name};
	memcpy(at->bytes, d->data, d->size);
	return name;
}
