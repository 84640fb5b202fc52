/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/live.h"
#include "profile/schema.h"

#include <errno.h>
#include <string.h>

/* Strings of one message. */
#define STRINGS_MAX 4096

static_assert(AIF_TABLE_COUNT <= 32, "struct aif_live_begin has room");

static int put(struct aif_live_writer *w, const struct aif_live_head *h, const void *bytes)
{
	aif_buf_append(&w->out, h, sizeof(*h));
	aif_buf_append(&w->out, bytes, h->size);
	return aif_buf_failed(&w->out) ? -ENOMEM : 0;
}

static int put_begin(struct aif_live_writer *w, const struct aif_profile *p)
{
	struct aif_live_begin b = {.magic = AIF_LIVE_MAGIC, .start_ns = p->start_ns};

	for (size_t i = 0; i < AIF_TABLE_COUNT; i++)
		b.row_sizes[i] = aif_schema_tables[i].row_size;
	w->has_begun = true;
	return put(w, &(struct aif_live_head){.type = AIF_LIVE_BEGIN, .size = sizeof(b)}, &b);
}

static int put_strings(struct aif_live_writer *w, const struct aif_profile *p)
{
	while (w->strings < p->strings.len) {
		size_t n = AIF_MIN(p->strings.len - w->strings, STRINGS_MAX);
		struct aif_live_head h = {.type = AIF_LIVE_STRINGS,
					  .at = w->strings,
					  .count = n,
					  .size = n * sizeof(uint32_t)};

		for (size_t i = 0; i < n; i++)
			h.size += p->strings.str[w->strings + i].len;
		aif_buf_append(&w->out, &h, sizeof(h));
		for (size_t i = 0; i < n; i++)
			aif_buf_append(&w->out, &p->strings.str[w->strings + i].len,
				       sizeof(uint32_t));
		for (size_t i = 0; i < n; i++) {
			size_t len;
			const char *s =
				aif_strset_get(&p->strings, (uint32_t)(w->strings + i), &len);

			aif_buf_append(&w->out, s, len);
		}
		w->strings += n;
	}
	return aif_buf_failed(&w->out) ? -ENOMEM : 0;
}

static int put_table(struct aif_live_writer *w, const struct aif_profile *p, uint32_t id)
{
	const struct aif_schema_table *t = &aif_schema_tables[id];
	const uint8_t *rows = aif_schema_rows(p, t);
	size_t n = *aif_schema_len(p, t);
	struct aif_live_head h = {.type = AIF_LIVE_ROWS, .id = id, .at = w->written[id]};

	if (t->rewritten) {
		uint64_t hash = aif_hash_bytes(rows, n * t->row_size);

		if (hash == w->hash[id] && n == w->written[id])
			return 0;
		w->hash[id] = hash;
		h.at = 0;
	}
	if (n == h.at && !t->rewritten)
		return 0;
	h.count = n - h.at;
	h.size = h.count * t->row_size;
	w->written[id] = n;
	return put(w, &h, rows + h.at * t->row_size);
}

static int put_codes(struct aif_live_writer *w, const struct aif_profile *p)
{
	int r = 0;

	for (; w->codes < p->codes_len && !r; w->codes++) {
		const struct aif_code *c = &p->codes[w->codes];
		const uint8_t *bytes = c->packed ? c->packed : c->bytes;
		struct aif_live_head h = {.type = AIF_LIVE_CODE,
					  .at = w->codes,
					  .count = c->packed != NULL,
					  .size = c->packed ? c->packed_size : c->size};

		if (bytes && h.size < AIF_LIVE_MESSAGE_MAX)
			r = put(w, &h, bytes);
	}
	return r;
}

int aif_live_tables(struct aif_live_writer *w, const struct aif_profile *p)
{
	int r = w->has_begun ? 0 : put_begin(w, p);

	if (!r)
		r = put_strings(w, p);
	for (uint32_t id = 0; id < AIF_TABLE_COUNT && !r; id++)
		r = put_table(w, p, id);
	return r ? r : put_codes(w, p);
}

int aif_live_chunk(struct aif_live_writer *w, enum aif_chunk_kind kind, size_t rows,
		   const void *data, size_t size)
{
	return put(w,
		   &(struct aif_live_head){
			   .type = AIF_LIVE_CHUNK, .id = kind, .count = rows, .size = size},
		   data);
}

int aif_live_commit(struct aif_live_writer *w, const struct aif_live_commit *c)
{
	return put(w, &(struct aif_live_head){.type = AIF_LIVE_COMMIT, .size = sizeof(*c)}, c);
}

void aif_live_writer_finish(struct aif_live_writer *w)
{
	aif_buf_finish(&w->out);
	*w = (struct aif_live_writer){0};
}
