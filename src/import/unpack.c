/* SPDX-License-Identifier: Apache-2.0 */
#include "import/unpack.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>
#ifdef AIF_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

/* ---- gzip: ISA-L unpacks 2.5 GB/s, zlib 0.28 ------------------------------------------------------ */

struct gzip {
#ifdef AIF_HAVE_ISAL
	struct inflate_state z;
#else
	z_stream z;
#endif
	bool between; /* behind a member: another one may follow */
	bool began;
};

static void gzip_free(void *state)
{
#ifndef AIF_HAVE_ISAL
	inflateEnd(&((struct gzip *)state)->z);
#endif
	free(state);
}

static void *gzip_new(void)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
#ifdef AIF_HAVE_ISAL
	isal_inflate_init(&g->z);
	g->z.crc_flag = ISAL_GZIP;
#else
	if (inflateInit2(&g->z, 15 + 16) != Z_OK) {
		free(g);
		return NULL;
	}
#endif
	return g;
}

static int gzip_member(struct gzip *g, const uint8_t *from, size_t *in, uint8_t *to, size_t *out,
		       bool *ret_ended)
{
	int r;

	g->z.next_in = (uint8_t *)(uintptr_t)from;
	g->z.avail_in = (uint32_t)AIF_MIN(*in, UINT32_MAX);
	g->z.next_out = to;
	g->z.avail_out = (uint32_t)AIF_MIN(*out, UINT32_MAX);
#ifdef AIF_HAVE_ISAL
	r = isal_inflate(&g->z);
	*ret_ended = g->z.block_state == ISAL_BLOCK_FINISH;
	r = r < 0 ? -EBADMSG : 0;
#else
	r = inflate(&g->z, Z_NO_FLUSH);
	*ret_ended = r == Z_STREAM_END;
	r = r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ? 0
	    : r == Z_MEM_ERROR                                 ? -ENOMEM
							       : -EBADMSG;
#endif
	*in -= g->z.avail_in;
	*out -= g->z.avail_out;
	return r;
}

static int gzip_run(void *state, const uint8_t *from, size_t *in, uint8_t *to, size_t *out)
{
	struct gzip *g = state;
	bool ended = false;
	int r;

	if (g->between) {
		if (*from != 0x1f) { /* tapes are filled up with zero bytes */
			*in = *out = 0;
			return -ENODATA;
		}
		g->between = false;
	}
	g->began = true;
	r = gzip_member(g, from, in, to, out, &ended);
	if (r < 0 || !ended)
		return r;
	g->between = true;
#ifdef AIF_HAVE_ISAL
	isal_inflate_reset(&g->z);
	g->z.crc_flag = ISAL_GZIP;
#else
	inflateReset(&g->z);
#endif
	return 0;
}

static bool gzip_is_whole(const void *state)
{
	return ((const struct gzip *)state)->between;
}

/* ---- zstd ---------------------------------------------------------------------------------------- */

struct zstd {
	ZSTD_DStream *d;
	bool between;
};

/* Memory for one frame's window: what zstd itself takes without being asked to. */
#define ZSTD_WINDOW_LOG 27

static void zstd_free(void *state)
{
	ZSTD_freeDStream(((struct zstd *)state)->d);
	free(state);
}

static void *zstd_new(void)
{
	struct zstd *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->d = ZSTD_createDStream();
	if (!z->d) {
		free(z);
		return NULL;
	}
	ZSTD_DCtx_setParameter(z->d, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	return z;
}

static int zstd_run(void *state, const uint8_t *from, size_t *in, uint8_t *to, size_t *out)
{
	struct zstd *z = state;
	ZSTD_inBuffer i = {.src = from, .size = *in};
	ZSTD_outBuffer o = {.dst = to, .size = *out};
	size_t r = ZSTD_decompressStream(z->d, &o, &i);

	*in = i.pos;
	*out = o.pos;
	if (ZSTD_isError(r))
		return -EBADMSG;
	z->between = r == 0;
	return 0;
}

static bool zstd_is_whole(const void *state)
{
	return ((const struct zstd *)state)->between;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static const struct aif_unpacker unpackers[] = {
	{"gzip", {0x1f, 0x8b}, 2, gzip_new, gzip_free, gzip_run, gzip_is_whole},
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_new, zstd_free, zstd_run, zstd_is_whole},
};

const struct aif_unpacker *aif_unpacker_of(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(unpackers); i++)
		if (len >= unpackers[i].magic_len &&
		    !memcmp(head, unpackers[i].magic, unpackers[i].magic_len))
			return &unpackers[i];
	return aif_utf16_unpacker_of(head, len);
}
