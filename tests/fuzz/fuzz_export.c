/* SPDX-License-Identifier: Apache-2.0 */
#include "text/iaprof_text.h"
#include "flame/folded.h"
#include "text/json.h"
#include "names/names.h"
#include "text/proto.h"

#include <stdlib.h>
#include <string.h>

/* Names of any bytes in the formats that export writes: a string of JSON must end where it should and hold nothing that
 * has to be escaped; messages in messages must be read back as what was written, and stacks of such names in iaprof's text,
 * too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void json_check(const uint8_t *data, size_t size)
{
	struct aif_buf b = {0}, clean = {0}, back = {0};

	aif_out_json_string(&b, (const char *)data, size);
	aif_name_sanitize(data, size, &clean);
	if (aif_buf_failed(&b) || b.len < 2 || b.data[0] != '"' || b.data[b.len - 1] != '"')
		abort();
	for (size_t i = 1; i + 1 < b.len; i++) {
		if (b.data[i] < ' ' || b.data[i] == '"')
			abort();
		if (b.data[i] == '\\' &&
		    (++i + 1 >= b.len || (b.data[i] != '"' && b.data[i] != '\\')))
			abort();
		aif_buf_putc(&back, (char)b.data[i]);
	}
	if (back.len != clean.len || (back.len && memcmp(back.data, clean.data, back.len) != 0))
		abort();
	aif_buf_finish(&b);
	aif_buf_finish(&clean);
	aif_buf_finish(&back);
}

static uint64_t varint(const struct aif_buf *b, size_t *at, size_t end)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (*at >= end)
			abort();
		v |= (uint64_t)(b->data[*at] & 0x7f) << shift;
		if (!(b->data[(*at)++] & 0x80))
			return v;
	}
	abort();
}

/* Each byte is an order: fields of all kinds, messages begun and ended. What is written is counted on the way. */
enum { DEPTH_MAX = 20 };

static size_t fields_read(const struct aif_buf *b, size_t at, size_t end, unsigned depth)
{
	size_t n = 0;

	while (at < end) {
		uint64_t tag = varint(b, &at, end);

		n++;
		if ((tag & 7) == AIF_PROTO_VARINT) {
			if (varint(b, &at, end) != (tag >> 3) * 3)
				abort();
		} else if ((tag & 7) == AIF_PROTO_FIXED64) {
			at += 8;
		} else if ((tag & 7) == AIF_PROTO_BYTES) {
			uint64_t len = varint(b, &at, end);

			if (len > end - at || depth > DEPTH_MAX)
				abort();
			/* Odd fields are messages here, even ones are strings. */
			if (tag >> 3 & 1)
				n += fields_read(b, at, at + len, depth + 1);
			at += len;
		} else {
			abort();
		}
		if (at > end)
			abort();
	}
	return n;
}

static void proto_check(const uint8_t *data, size_t size)
{
	struct aif_buf b = {0};
	size_t begins[DEPTH_MAX], depth = 0, n = 0;
	bool small[DEPTH_MAX];

	for (size_t i = 0; i < size && i < 300; i++) {
		uint32_t field = data[i] >> 3;

		switch (data[i] & 7) {
		case 0:
			aif_proto_u64(&b, field, field * 3);
			break;
		case 1:
			aif_proto_fixed64(&b, field, data[i]);
			break;
		case 2:
			aif_proto_string(&b, field & ~1u, (const char *)data + i,
					 AIF_MIN(size - i, 20));
			break;
		case 3:
		case 4:
			if (depth == DEPTH_MAX)
				continue;
			small[depth] = (data[i] & 7) == 3;
			begins[depth] = small[depth] ? aif_proto_begin_small(&b, field | 1)
						     : aif_proto_begin(&b, field | 1);
			depth++;
			break;
		default:
			if (!depth)
				continue;
			depth--;
			(small[depth] ? aif_proto_end_small : aif_proto_end)(&b, begins[depth]);
			continue;
		}
		n++;
	}
	while (depth--)
		(small[depth] ? aif_proto_end_small : aif_proto_end)(&b, begins[depth]);
	if (!aif_buf_failed(&b) && fields_read(&b, 0, b.len, 0) != n)
		abort();
	aif_buf_finish(&b);
}

/* Pieces between zeros are frames. */
static void stack_put(struct aif_buf *stack, struct aif_tree *t, const uint8_t *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		const uint8_t *zero = memchr(data + at, 0, size - at);
		size_t len = zero ? (size_t)(zero - data) - at : size - at;
		uint32_t name = aif_tree_name(t, len & 1 ? AIF_TREE_PYTHON : AIF_TREE_C,
					      (const char *)data + at, len);

		if (name == AIF_STR_NONE)
			abort();
		if (stack->len)
			aif_buf_putc(stack, ';');
		aif_folded_frame(stack, t, name);
		at += len + 1;
	}
}

struct came_back {
	const char *stack;
	unsigned n;
};

static int on_sample(void *arg, const struct aif_iaprof_sample *s)
{
	struct came_back *x = arg;

	if (strcmp(s->stack, x->stack) != 0 || s->counts[3] != 7 || s->counts[9] != 1)
		abort();
	x->n++;
	return 0;
}

static void iaprof_check(const uint8_t *data, size_t size)
{
	struct aif_buf stack = {0};
	struct aif_tree t;
	struct aif_iaprof_writer w = {.written = 0};
	struct aif_iaprof_sample s = {.comm = "", .file = "", .symbol = "", .instruction = ""};
	struct came_back back = {0};
	struct aif_iaprof_reader r = {.sink = {.sample = on_sample, .arg = &back}};

	if (aif_tree_init(&t, false) < 0)
		abort();
	stack_put(&stack, &t, data, size);
	s.stack = back.stack = aif_buf_str(&stack);
	s.counts[3] = 7;
	s.counts[9] = 1;
	aif_iaprof_write_interval(&w, 0, 1);
	aif_iaprof_write_sample(&w, &s);
	if (aif_iaprof_read(&r, w.out.data, w.out.len) < 0 || aif_iaprof_read_end(&r) < 0 ||
	    r.bad || back.n != 1)
		abort();
	aif_iaprof_writer_finish(&w);
	aif_buf_finish(&stack);
	aif_tree_finish(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	iaprof_check(data, size);
	json_check(data, size);
	proto_check(data, size);
	return 0;
}
