/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/cache.h"

#include "profile/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

/*
 * The blob: one zstd frame (with its checksum) of u64 words, little-endian: the numbers of rows,
 * of those unmatched and of devices, the recording's length, the conservation report's fields,
 * the devices' times, then the rows column by column (a column compresses well), and the
 * unmatched ones likewise. Like the rest of a file it may be anybody's: what does not fit the
 * tables, or does not add up, is computed anew.
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
	X(graph)      \
	X(capture)    \
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
	DEVICE_WORDS = sizeof(struct aif_device_time) / sizeof(uint64_t),
	HEAD_WORDS = 4 + REPORT_WORDS,
};
/* A whole profile's rows are not apart by ranges: .range and .capture_range are 0, and behind are 4 bytes of padding. */
static_assert(sizeof(struct aif_attribution_row) == 14 * 4 + 6 * 8, "a field is not listed");
static_assert(sizeof(struct aif_conservation) % sizeof(uint64_t) == 0 &&
		      sizeof(struct aif_device_time) % sizeof(uint64_t) == 0,
	      "all fields are u64");

#define MAX_ROWS   (UINT64_C(1) << 26)
#define ZSTD_LEVEL 1
#define MAX_RATIO  1024 /* columns of real attributions shrink 10 to 50 times: more is a bomb */

static void cache_name(char name[32])
{
	snprintf(name, 32, "attribution.%d", AIF_ATTRIBUTION_VERSION);
}

/* Words go to and come from the frame by way of these: all of them together are as large again
 * as the rows. */
#define STEP (1 << 16)

struct packer {
	ZSTD_CCtx *zstd;
	struct aif_buf *to;
	uint8_t bytes[STEP];
	size_t len;
	bool failed;
};

static void pack(struct packer *k, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {k->bytes, k->len, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {aif_buf_reserve(k->to, STEP), STEP, 0};

		if (k->failed || !out.dst) {
			k->failed = true;
			return;
		}
		left = ZSTD_compressStream2(k->zstd, &out, &in, end);
		k->failed = ZSTD_isError(left);
		k->to->len += out.pos;
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	k->len = 0;
}

static void put(struct packer *k, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		k->bytes[k->len++] = (uint8_t)(v >> (8 * i));
	if (k->len == sizeof(k->bytes))
		pack(k, ZSTD_e_continue);
	k->len %= sizeof(k->bytes);
}

struct unpacker {
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer in;
	uint8_t bytes[STEP];
	size_t len, at;
	bool ended, bad;
};

static void unpack(struct unpacker *k)
{
	ZSTD_outBuffer out = {k->bytes, sizeof(k->bytes), 0};
	size_t left = 1, was;

	do {
		was = out.pos + k->in.pos;
		left = ZSTD_decompressStream(k->zstd, &out, &k->in);
	} while (!ZSTD_isError(left) && left && out.pos < out.size && out.pos + k->in.pos > was);
	k->bad |= ZSTD_isError(left) || out.pos % 8;
	k->ended = !left;
	k->len = out.pos;
	k->at = 0;
}

/* 0 where there are no more, which is bad. */
static uint64_t get(struct unpacker *k)
{
	uint64_t v = 0;

	if (k->at == k->len && !k->bad && !k->ended)
		unpack(k);
	k->bad |= k->at == k->len;
	for (size_t i = 0; i < 8 && !k->bad; i++)
		v |= (uint64_t)k->bytes[k->at++] << (8 * i);
	return v;
}

/* Returns true if all was read. Unpacks once more where needed: the checksum follows the last
 * value. */
static bool is_whole(struct unpacker *k)
{
	if (!k->bad && !k->ended && k->at == k->len)
		unpack(k);
	return !k->bad && k->ended && k->at == k->len && k->in.pos == k->in.size;
}

static uint64_t length_of(const struct aif_profile *p)
{
	return p->end_ns - p->start_ns;
}

void aif_attribution_cache_put(const struct aif_profile *p, const struct aif_attribution *a)
{
	const uint64_t *report = (const uint64_t *)(const void *)&a->conservation,
		       *devices = (const uint64_t *)(const void *)a->devices;
	struct aif_buf packed = {0};
	struct packer k = {.to = &packed};
	char name[32];

	/* A recording that was cut short is still its recorder's. */
	if (!p->file ||
	    p->notes & (AIF_NOTE_CUT_SHORT | AIF_NOTE_NO_ROLLBACK | AIF_NOTE_NO_LOCKS) ||
	    a->rows_len > MAX_ROWS || a->unmatched_len > MAX_ROWS - a->rows_len)
		return;
	k.zstd = ZSTD_createCCtx();
	if (!k.zstd)
		return;
	ZSTD_CCtx_setParameter(k.zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(k.zstd, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setPledgedSrcSize(k.zstd, (HEAD_WORDS + a->devices_len * DEVICE_WORDS +
					     (a->rows_len + a->unmatched_len) * ROW_WORDS) *
						    8);
	put(&k, a->rows_len);
	put(&k, a->unmatched_len);
	put(&k, a->devices_len);
	put(&k, length_of(p));
	for (size_t i = 0; i < REPORT_WORDS; i++)
		put(&k, report[i]);
	for (size_t i = 0; i < a->devices_len * DEVICE_WORDS; i++)
		put(&k, devices[i]);
#define COLUMN(field)                            \
	for (size_t i = 0; i < a->rows_len; i++) \
		put(&k, a->rows[i].field);
	ROW_FIELDS(COLUMN)
#define UNMATCHED_COLUMN(field)                       \
	for (size_t i = 0; i < a->unmatched_len; i++) \
		put(&k, a->unmatched[i].field);
	ROW_FIELDS(UNMATCHED_COLUMN)
	pack(&k, ZSTD_e_end);
	cache_name(name);
	if (!k.failed)
		aif_profile_cache_put(p, name, packed.data, packed.len);
	ZSTD_freeCCtx(k.zstd);
	aif_buf_finish(&packed);
}

static bool in_table(uint32_t id, size_t len)
{
	return id == AIF_NONE || id < len;
}

static bool row_fits(const struct aif_profile *p, const struct aif_attribution_row *r,
		     enum aif_grade most)
{
	return in_table(r->process, p->processes_len) && in_table(r->device, p->devices_len) &&
	       in_table(r->stream, p->streams_len) && in_table(r->kernel, p->kernels_len) &&
	       in_table(r->stack, p->stacks_len) && in_table(r->capture, p->stacks_len) &&
	       in_table(r->frame, p->frames_len) && in_table(r->reason, p->strings.len) &&
	       r->kind < AIF_LAUNCH_KIND_COUNT && r->grade <= (uint32_t)most;
}

/* `words`: how many the frame says that it has. */
static int read_all(const struct aif_profile *p, struct unpacker *k, uint64_t words,
		    struct aif_attribution *ret)
{
	struct aif_attribution a = {0};
	uint64_t *report = (uint64_t *)(void *)&a.conservation, *devices, wall = 0, busy = 0;
	bool fits;

	a.rows_len = get(k);
	a.unmatched_len = get(k);
	a.devices_len = get(k);
	if (a.rows_len > MAX_ROWS || a.unmatched_len > MAX_ROWS - a.rows_len ||
	    a.devices_len > p->devices_len ||
	    words != HEAD_WORDS + a.devices_len * DEVICE_WORDS +
			     (a.rows_len + a.unmatched_len) * ROW_WORDS ||
	    get(k) != length_of(p))
		return -EBADMSG;
	a.rows = calloc(a.rows_len + 1, sizeof(*a.rows));
	a.unmatched = calloc(a.unmatched_len + 1, sizeof(*a.unmatched));
	a.devices = calloc(a.devices_len + 1, sizeof(*a.devices));
	if (!a.rows || !a.unmatched || !a.devices) {
		aif_attribution_finish(&a);
		return -ENOMEM;
	}
	devices = (uint64_t *)(void *)a.devices;
	for (size_t i = 0; i < REPORT_WORDS; i++)
		report[i] = get(k);
	for (size_t i = 0; i < a.devices_len * DEVICE_WORDS; i++)
		devices[i] = get(k);
#define READ(field)                             \
	for (size_t i = 0; i < a.rows_len; i++) \
		a.rows[i].field = (__typeof__(a.rows[i].field))get(k);
	ROW_FIELDS(READ)
#define READ_UNMATCHED(field)                        \
	for (size_t i = 0; i < a.unmatched_len; i++) \
		a.unmatched[i].field = (__typeof__(a.unmatched[i].field))get(k);
	ROW_FIELDS(READ_UNMATCHED)
	fits = is_whole(k);
	for (size_t i = 0; i < a.rows_len && fits; i++) {
		wall += a.rows[i].wall_ns;
		fits = row_fits(p, &a.rows[i], AIF_GRADE_SAMPLED);
	}
	for (size_t i = 0; i < a.unmatched_len && fits; i++)
		fits = row_fits(p, &a.unmatched[i], AIF_GRADE_UNMATCHED) && !a.unmatched[i].wall_ns;
	for (size_t i = 0; i < a.devices_len && fits; i++) {
		busy += a.devices[i].busy_ns;
		fits = a.devices[i].device < p->devices_len;
	}
	if (!fits || wall != a.conservation.busy_ns || busy != wall) {
		aif_attribution_finish(&a);
		return -EBADMSG;
	}
	*ret = a;
	return 0;
}

int aif_attribution_cache_get(const struct aif_profile *p, struct aif_attribution *ret)
{
	struct aif_buf packed = {0};
	struct unpacker k = {0};
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
	    size > (HEAD_WORDS + p->devices_len * DEVICE_WORDS + MAX_ROWS * ROW_WORDS) * 8 ||
	    size > (packed.len + HEAD_WORDS * 8) * MAX_RATIO)
		goto out;
	k.in = (ZSTD_inBuffer){packed.data, packed.len, 0};
	k.zstd = ZSTD_createDCtx();
	r = k.zstd ? read_all(p, &k, size / 8, ret) : -ENOMEM;
out:
	ZSTD_freeDCtx(k.zstd);
	aif_buf_finish(&packed);
	return r;
}
