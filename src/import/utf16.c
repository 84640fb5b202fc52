/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "import/unpack.h"

#include <errno.h>
#include <string.h>

/* Text in UTF-16, as PowerShell's > writes it, becomes UTF-8: with a mark of its byte order, or without one where it
 * begins with characters of ASCII. Half of a pair of surrogates becomes U+FFFD. */

struct utf16 {
	bool is_big;
	bool has_byte; /* the first one of a unit */
	uint8_t byte;
	uint32_t high;      /* the first unit of a pair; 0: none */
	struct aif_buf out; /* characters that had no room yet */
	size_t out_at;
};

static void *new_of(bool is_big)
{
	struct utf16 *u = calloc(1, sizeof(*u));

	if (u)
		u->is_big = is_big;
	return u;
}

static void *little_new(void)
{
	return new_of(false);
}

static void *big_new(void)
{
	return new_of(true);
}

static void utf16_free(void *state)
{
	aif_buf_finish(&((struct utf16 *)state)->out);
	free(state);
}

static void unit_put(struct utf16 *u, uint32_t unit)
{
	bool is_low = unit >= 0xdc00 && unit < 0xe000;

	if (u->high && is_low) {
		aif_utf8_put_char(&u->out, 0x10000 + ((u->high - 0xd800) << 10) + (unit - 0xdc00));
		u->high = 0;
		return;
	}
	if (u->high)
		aif_utf8_put_char(&u->out, 0xfffd);
	u->high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
	if (!u->high)
		aif_utf8_put_char(&u->out, unit);
}

static void byte_take(struct utf16 *u, uint8_t byte)
{
	if (!u->has_byte)
		u->byte = byte;
	else
		unit_put(u,
			 u->is_big ? (uint32_t)u->byte << 8 | byte : (uint32_t)byte << 8 | u->byte);
	u->has_byte = !u->has_byte;
}

static int utf16_run(void *state, const uint8_t *from, size_t *in, uint8_t *to, size_t *out)
{
	struct utf16 *u = state;
	size_t taken = 0, given = 0;

	while (given < *out) {
		size_t n = AIF_MIN(u->out.len - u->out_at, *out - given);

		if (n)
			memcpy(to + given, u->out.data + u->out_at, n);
		given += n;
		u->out_at += n;
		if (given == *out || taken == *in)
			break;
		aif_buf_clear(&u->out);
		u->out_at = 0;
		byte_take(u, from[taken++]);
		if (aif_buf_failed(&u->out))
			return -ENOMEM;
	}
	*in = taken;
	*out = given;
	return 0;
}

static bool utf16_is_whole(const void *state)
{
	const struct utf16 *u = state;

	return !u->has_byte && !u->high;
}

static const struct aif_unpacker little = {
	.name = "UTF-16",
	.new = little_new,
	.free = utf16_free,
	.run = utf16_run,
	.is_whole = utf16_is_whole,
};

static const struct aif_unpacker big = {
	.name = "UTF-16",
	.new = big_new,
	.free = utf16_free,
	.run = utf16_run,
	.is_whole = utf16_is_whole,
};

static bool is_printed(uint8_t c)
{
	return c >= ' ' && c < 0x7f;
}

const struct aif_unpacker *aif_utf16_unpacker_of(const uint8_t *head, size_t len)
{
	if (len >= 2 && !memcmp(head, "\xfe\xff", 2))
		return &big;
	/* With two zeros behind it the mark is UTF-32's. */
	if (len >= 2 && !memcmp(head, "\xff\xfe", 2) && (len < 4 || head[2] || head[3]))
		return &little;
	if (len < 4)
		return NULL;
	if (is_printed(head[0]) && !head[1] && is_printed(head[2]) && !head[3])
		return &little;
	return !head[0] && is_printed(head[1]) && !head[2] && is_printed(head[3]) ? &big : NULL;
}
