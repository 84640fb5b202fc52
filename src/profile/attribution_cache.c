/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_cache.h"

#include "profile/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

/*
 * The blob: one zstd frame (with its checksum) of u64 words, little-endian: the number of rows, the recording's length,
 * the conservation report's fields, then the rows column by column (a column compresses well). Like
 * the rest of a file it may be anybody's: what does not fit the tables, or does not add up, is
 * computed anew.
 */

#define ROW_FIELDS(X) \
	X(process)    \
	X(device)     \
	X(stream)     \
	X(kind)       \
	X(kernel)     \
	X(stack)      \
	X(frame)      \
	X(reason)     \
	X(grade)      \
	X(wall_ns)    \
	X(time_ns)    \
	X(samples)    \
	X(launches)   \
	X(bytes)      \
	X(error_ns)

#define COUNT(field) +1
enum {
	ROW_WORDS = 0 ROW_FIELDS(COUNT),
	REPORT_WORDS = sizeof(struct aif_conservation) / sizeof(uint64_t),
	HEAD_WORDS = 2 + REPORT_WORDS,
};
static_assert(sizeof(struct aif_attribution_row) == 9 * 4 + 4 + 6 * 8, "a field is not listed");
static_assert(sizeof(struct aif_conservation) % sizeof(uint64_t) == 0, "all fields are u64");

#define MAX_ROWS   (UINT64_C(1) << 26)
#define ZSTD_LEVEL 1
#define MAX_RATIO  1024 /* columns of real attributions shrink 10 to 50 times: more is a bomb */

static void cache_name(char name[32])
{
	snprintf(name, 32, "attribution.%d", AIF_ATTRIBUTION_VERSION);
}

static void put(struct aif_buf *b, uint64_t v)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	aif_buf_append(b, bytes, sizeof(bytes));
}

static uint64_t get(const uint8_t *words, size_t i)
{
	uint64_t v = 0;

	for (size_t k = 0; k < 8; k++)
		v |= (uint64_t)words[8 * i + k] << (8 * k);
	return v;
}

static uint64_t length_of(const struct aif_profile *p)
{
	return p->end_ns - p->start_ns;
}

void aif_attribution_cache_put(const struct aif_profile *p, const struct aif_attribution *a)
{
	const uint64_t *report = (const uint64_t *)(const void *)&a->conservation;
	struct aif_buf plain = {0}, packed = {0};
	ZSTD_CCtx *zstd = NULL;
	char name[32];
	size_t n;

	/* A recording that was cut short is still its recorder's. */
	if (!p->file || p->notes & (AIF_NOTE_CUT_SHORT | AIF_NOTE_NO_ROLLBACK) ||
	    a->rows_len > MAX_ROWS)
		return;
	put(&plain, a->rows_len);
	put(&plain, length_of(p));
	for (size_t i = 0; i < REPORT_WORDS; i++)
		put(&plain, report[i]);
#define COLUMN(field)                            \
	for (size_t i = 0; i < a->rows_len; i++) \
		put(&plain, a->rows[i].field);
	ROW_FIELDS(COLUMN)
	zstd = ZSTD_createCCtx();
	if (!zstd || aif_buf_failed(&plain) ||
	    !aif_buf_reserve(&packed, ZSTD_compressBound(plain.len)))
		goto out;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(zstd, packed.data, packed.cap, plain.data, plain.len);
	cache_name(name);
	if (!ZSTD_isError(n))
		aif_profile_cache_put(p, name, packed.data, n);
out:
	ZSTD_freeCCtx(zstd);
	aif_buf_finish(&plain);
	aif_buf_finish(&packed);
}

static bool in_table(uint32_t id, size_t len)
{
	return id == AIF_NONE || id < len;
}

static bool row_fits(const struct aif_profile *p, const struct aif_attribution_row *r)
{
	return in_table(r->process, p->processes_len) && in_table(r->device, p->devices_len) &&
	       in_table(r->stream, p->streams_len) && in_table(r->kernel, p->kernels_len) &&
	       in_table(r->stack, p->stacks_len) && in_table(r->frame, p->frames_len) &&
	       in_table(r->reason, p->strings.len) && r->kind < AIF_LAUNCH_KIND_COUNT &&
	       r->grade <= AIF_GRADE_SAMPLED;
}

static int unpack(const struct aif_profile *p, const uint8_t *words, size_t len,
		  struct aif_attribution *ret)
{
	struct aif_attribution a = {0};
	uint64_t *report = (uint64_t *)(void *)&a.conservation, wall = 0;
	size_t at = HEAD_WORDS;

	if (len < HEAD_WORDS || get(words, 0) > MAX_ROWS ||
	    len != HEAD_WORDS + get(words, 0) * ROW_WORDS || get(words, 1) != length_of(p))
		return -EBADMSG;
	a.rows_len = get(words, 0);
	a.rows = calloc(a.rows_len + 1, sizeof(*a.rows));
	if (!a.rows)
		return -ENOMEM;
	for (size_t i = 0; i < REPORT_WORDS; i++)
		report[i] = get(words, 2 + i);
#define UNPACK(field)                                                              \
	for (size_t i = 0; i < a.rows_len; i++)                                    \
		a.rows[i].field = (__typeof__(a.rows[i].field))get(words, at + i); \
	at += a.rows_len;
	ROW_FIELDS(UNPACK)
	for (size_t i = 0; i < a.rows_len; i++) {
		wall += a.rows[i].wall_ns;
		if (!row_fits(p, &a.rows[i])) {
			free(a.rows);
			return -EBADMSG;
		}
	}
	if (wall != a.conservation.busy_ns) {
		free(a.rows);
		return -EBADMSG;
	}
	*ret = a;
	return 0;
}

int aif_attribution_cache_get(const struct aif_profile *p, struct aif_attribution *ret)
{
	struct aif_buf packed = {0}, plain = {0};
	unsigned long long size;
	char name[32];
	int r;

	cache_name(name);
	r = aif_profile_cache_get(p, name, &packed);
	if (r < 0)
		return r;
	size = ZSTD_getFrameContentSize(packed.data, packed.len);
	r = -EBADMSG;
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size % 8 ||
	    size > (HEAD_WORDS + MAX_ROWS * ROW_WORDS) * 8 ||
	    size > (packed.len + HEAD_WORDS * 8) * MAX_RATIO)
		goto out;
	if (!aif_buf_reserve(&plain, size)) {
		r = -ENOMEM;
		goto out;
	}
	if (ZSTD_decompress(plain.data, size, packed.data, packed.len) == size)
		r = unpack(p, plain.data, size / 8, ret);
out:
	aif_buf_finish(&packed);
	aif_buf_finish(&plain);
	return r;
}
