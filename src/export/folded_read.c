/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading folded text fast. The files are large (half a gigabyte for 200,000 deep stacks) and say the
 * same things over and over, so that the work is to not look at bytes twice:
 *
 *   - blocks are read into one buffer, which also keeps the line before: what a line has in common
 *     with it, compared eight bytes at a time, is a path in the tree that is known already;
 *   - a frame that stands where it stood in the line before the last fork is often the first thing
 *     tried: each frame's text is looked up once in a set of texts as they are in the file, whose
 *     entries carry the number of the frame's name in the tree.
 *
 * One read() path serves files and pipes: mapping the file is no faster, as its page faults cost as
 * much as the copying, and its pages count as memory.
 */
#include "export/folded.h"

#include "export/frame_type.h"
#include "export/glob.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)1 << 20)
/* More than any real line (20,000 bytes a name, 1,000 deep); bounds the memory for what is none. */
#define LINE_MAX_BYTES ((size_t)64 << 20)
#define MAX_DECIMALS   9

/* A frame as it is spelled in the file. A device frame's kind also depends on its caller's. */
enum place { UNDER_HOST, UNDER_DEVICE, PLACES };
struct spelling {
	uint32_t name[PLACES]; /* in the tree; AIF_STR_NONE: not asked yet */
};

struct step {
	size_t end; /* offset behind the frame in its line */
	uint32_t node;
	bool is_device;
};

struct reader {
	struct aif_tree *tree;
	struct aif_folded_stats *stats;
	struct aif_strset texts;
	struct spelling *spellings;
	size_t spellings_cap;
	struct step *path; /* of the line before */
	size_t path_len, path_cap;
	uint64_t total;
};

struct text {
	const char *p;
	size_t len;
};

static bool text_ends(struct text s, const char *with)
{
	size_t n = strlen(with);

	return s.len > n && !memcmp(s.p + s.len - n, with, n);
}

/* The kind of a frame marked as the device's, from its form and its place. */
static unsigned device_type(struct text s, enum place place)
{
	if (aif_glob("[[]*]", s.p, s.len, NULL))
		return AIF_TREE_COPY;
	if (place == UNDER_HOST)
		return AIF_TREE_KERNEL;
	if (aif_glob("*+0x*", s.p, s.len, NULL) || aif_glob("0x*", s.p, s.len, NULL))
		return AIF_TREE_INSTRUCTION;
	return aif_glob("*:[0-9]*", s.p, s.len, NULL) ? AIF_TREE_LINE : AIF_TREE_STALL;
}

static uint32_t tree_name(struct reader *r, struct text s, enum place place)
{
	unsigned type, flag = 0;

	if (text_ends(s, "_[i]")) {
		s.len -= 4;
		flag = AIF_TREE_INLINED;
	}
	if (text_ends(s, "_[g]") || text_ends(s, "_[G]")) {
		bool is_symbol = s.p[s.len - 2] == 'G';

		s.len -= 4;
		type = is_symbol ? AIF_TREE_KERNEL : device_type(s, place);
	} else if (text_ends(s, "_[k]")) {
		s.len -= 4;
		type = AIF_TREE_OS;
	} else if (text_ends(s, "_[p]")) {
		s.len -= 4;
		type = AIF_TREE_PYTHON;
	} else {
		type = aif_frame_type_guess(s.p, s.len);
	}
	return aif_tree_name(r->tree, type | flag, s.p, s.len);
}

static bool is_device(const struct aif_tree *t, uint32_t name)
{
	unsigned type = aif_tree_base_type(aif_tree_type_of(t, name));

	return type == AIF_TREE_KERNEL || type == AIF_TREE_COPY || type == AIF_TREE_LINE ||
	       type == AIF_TREE_INSTRUCTION || type == AIF_TREE_STALL;
}

static int name_of(struct reader *r, struct text s, enum place place, uint32_t *ret)
{
	size_t before = r->texts.len;
	uint32_t id = aif_strset_put(&r->texts, s.p, s.len), *name;

	if (id == AIF_STR_NONE)
		return -ENOMEM;
	if (r->texts.len > before) {
		if (aif_grow(&r->spellings, &r->spellings_cap, id + 1, sizeof(*r->spellings)) < 0)
			return -ENOMEM;
		for (int i = 0; i < PLACES; i++)
			r->spellings[id].name[i] = AIF_STR_NONE;
	}
	name = &r->spellings[id].name[place];
	if (*name == AIF_STR_NONE)
		*name = tree_name(r, s, place);
	*ret = *name;
	return *name == AIF_STR_NONE ? -ENOMEM : 0;
}

/* ---- counts ---------------------------------------------------------------------------------- */

struct decimal {
	uint64_t digits;
	unsigned decimals; /* digits / 10^decimals */
	bool is_rounded;
};

static bool digit_add(struct decimal *d, char c)
{
	return !__builtin_mul_overflow(d->digits, 10, &d->digits) &&
	       !__builtin_add_overflow(d->digits, (uint64_t)(c - '0'), &d->digits);
}

/* "12", "12.5", ".5", "1e3", "1.5e-3". */
static bool decimal_parse(struct text s, struct decimal *ret)
{
	struct decimal d = {0};
	size_t i = 0, seen = 0;
	int exponent = 0;

	for (; i < s.len && s.p[i] >= '0' && s.p[i] <= '9'; i++, seen++)
		if (!digit_add(&d, s.p[i]))
			return false;
	if (i < s.len && s.p[i] == '.') {
		for (i++; i < s.len && s.p[i] >= '0' && s.p[i] <= '9'; i++, seen++) {
			struct decimal more = d;

			if (d.decimals >= MAX_DECIMALS || !digit_add(&more, s.p[i])) {
				d.is_rounded |= s.p[i] != '0';
				continue;
			}
			d.digits = more.digits;
			d.decimals++;
		}
	}
	if (!seen)
		return false;
	if (i < s.len && (s.p[i] == 'e' || s.p[i] == 'E')) {
		bool negative = ++i < s.len && s.p[i] == '-';

		i += i < s.len && (s.p[i] == '-' || s.p[i] == '+');
		for (seen = 0; i < s.len && s.p[i] >= '0' && s.p[i] <= '9' && seen < 4; i++, seen++)
			exponent = exponent * 10 + s.p[i] - '0';
		if (!seen)
			return false;
		exponent = negative ? -exponent : exponent;
	}
	if (i < s.len)
		return false;
	for (; exponent > 0 && d.digits; exponent--) {
		if (d.decimals)
			d.decimals--;
		else if (!digit_add(&d, '0'))
			return false;
	}
	for (; exponent < 0 && d.digits; exponent++) {
		if (d.decimals < MAX_DECIMALS) {
			d.decimals++;
		} else {
			d.is_rounded |= d.digits % 10 != 0;
			d.digits /= 10;
		}
	}
	while (d.decimals && d.digits % 10 == 0) {
		d.digits /= 10;
		d.decimals--;
	}
	*ret = d;
	return true;
}

/* The count in units of the tree, whose scale is refined if the count needs it. */
static bool count_scaled(struct reader *r, struct decimal d, uint64_t *ret)
{
	unsigned have = 0;

	for (uint32_t s = r->tree->scale; s > 1; s /= 10)
		have++;
	/* The sum bounds each value: where it has room for another digit, all have. */
	while (have < d.decimals && r->total <= UINT64_MAX / 10 && aif_tree_rescale(r->tree)) {
		r->total *= 10;
		have++;
	}
	for (; d.decimals > have; d.decimals--) {
		d.is_rounded |= d.digits % 10 != 0;
		d.digits /= 10;
	}
	for (; d.decimals < have; d.decimals++)
		if (!digit_add(&d, '0'))
			return false;
	r->stats->is_rounded |= d.is_rounded;
	*ret = d.digits;
	return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* How many bytes a and b have in common at their start. */
static size_t common_prefix(const char *a, const char *b, size_t max)
{
	size_t i = 0;
	uint64_t x, y;

	for (; i + 8 <= max; i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			break;
	}
	while (i < max && a[i] == b[i])
		i++;
	return i;
}

/* Finds or makes the nodes of the stack; `before` is the stack of the line before. */
static int stack_add(struct reader *r, struct text s, struct text before, uint32_t *ret_node)
{
	size_t same = common_prefix(s.p, before.p, AIF_MIN(s.len, before.len)), at, depth = 0;
	struct step up = {0};

	/* The part that is the same counts frame by frame, up to the last that ends in both. */
	while (depth < r->path_len && r->path[depth].end <= same &&
	       (r->path[depth].end == s.len || s.p[r->path[depth].end] == ';'))
		up = r->path[depth++];
	r->path_len = depth;
	for (at = depth ? up.end + 1 : 0; at < s.len;) {
		const char *semicolon = memchr(s.p + at, ';', s.len - at);
		struct text frame = {s.p + at,
				     semicolon ? (size_t)(semicolon - s.p) - at : s.len - at};
		uint32_t name;
		int e;

		at += frame.len + 1;
		if (!frame.len)
			continue;
		e = name_of(r, frame, up.is_device ? UNDER_DEVICE : UNDER_HOST, &name);
		if (e < 0)
			return e;
		up = (struct step){.end = at - 1,
				   .node = aif_tree_child(r->tree, up.node, name),
				   .is_device = is_device(r->tree, name)};
		if (!up.node ||
		    aif_grow(&r->path, &r->path_cap, r->path_len + 1, sizeof(*r->path)) < 0)
			return -ENOMEM;
		r->path[r->path_len++] = up;
	}
	*ret_node = up.node;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int line_bad(struct reader *r)
{
	if (!r->stats->bad++)
		r->stats->first_bad = r->stats->lines;
	return 0;
}

/* *before is what the next line may share; it stays as it is when this line is none. */
static int line_add(struct reader *r, struct text line, struct text *before)
{
	struct text count = {0};
	struct decimal d;
	uint64_t value;
	uint32_t node;
	int e;

	r->stats->lines++;
	if (r->stats->lines == 1 && line.len >= 3 && !memcmp(line.p, "\xef\xbb\xbf", 3)) {
		line.p += 3; /* a byte order mark is no part of the first name */
		line.len -= 3;
	}
	while (line.len && is_blank(line.p[line.len - 1]))
		line.len--;
	if (!line.len)
		return 0;
	while (line.len && line.p[line.len - 1] != ' ') {
		line.len--;
		count.len++;
	}
	count.p = line.p + line.len;
	while (line.len && is_blank(line.p[line.len - 1]))
		line.len--;
	if (!line.len || !decimal_parse(count, &d) || !count_scaled(r, d, &value))
		return line_bad(r);
	if (__builtin_add_overflow(r->total, value, &r->total))
		return -EOVERFLOW;
	e = stack_add(r, line, *before, &node);
	if (e < 0)
		return e;
	*before = line;
	if (!node) { /* no frame but empty ones */
		r->total -= value;
		return line_bad(r);
	}
	r->tree->nodes[node].self += value;
	r->stats->stacks++;
	return 0;
}

/* The buffer: [line before, kept][what is read]. */
struct block {
	char *data;
	size_t cap, start, end; /* unread part */
	struct text before;
	bool is_skipping; /* inside a line that is too long */
};

/* Makes room behind what must stay, and reads. 1: something came; 0: end; negative errno. */
static int block_read(struct block *b, int fd)
{
	size_t keep = b->before.len, rest = b->end - b->start;
	ssize_t n;

	if (b->before.p && b->before.p != b->data)
		memmove(b->data, b->before.p, keep);
	if (b->start != keep)
		memmove(b->data + keep, b->data + b->start, rest);
	b->before.p = b->data;
	b->start = keep;
	b->end = keep + rest;
	if (b->cap - b->end < BLOCK_BYTES) {
		char *old = b->data;

		if (aif_grow(&b->data, &b->cap, b->end + BLOCK_BYTES, 1) < 0)
			return -ENOMEM;
		if (b->data != old)
			b->before.p = b->data;
	}
	do
		n = read(fd, b->data + b->end, BLOCK_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	b->end += (size_t)n;
	return n > 0;
}

static int lines_add(struct reader *r, struct block *b, bool at_end)
{
	while (b->start < b->end) {
		char *line = b->data + b->start, *nl = memchr(line, '\n', b->end - b->start);
		size_t len = nl ? (size_t)(nl - line) : b->end - b->start;
		int e = 0;

		if (!nl && !at_end) {
			if (len <= LINE_MAX_BYTES && !b->is_skipping)
				return 0;
			b->is_skipping = true;
			b->start = b->end;
			return 0;
		}
		if (b->is_skipping) {
			r->stats->lines++;
			line_bad(r);
		} else {
			e = line_add(r, (struct text){line, len}, &b->before);
		}
		b->is_skipping = false;
		b->start += len + (nl != NULL);
		if (e < 0)
			return e;
	}
	return 0;
}

static int read_failed(int e, const char *name, const struct aif_folded_stats *s,
		       struct aif_err *err)
{
	switch (-e) {
	case ENODATA:
		if (s->first_bad)
			return aif_err_set(err, e,
					   "%s: no stack in it: line %llu is not \"frame;frame "
					   "COUNT\"; give folded text or a profile",
					   name, (unsigned long long)s->first_bad);
		return aif_err_set(err, e,
				   "%s: no stack in it: the file is empty; was anything "
				   "recorded?",
				   name);
	case EOVERFLOW:
		return aif_err_set(err, e, "%s: line %llu: the counts sum to more than 2^64", name,
				   (unsigned long long)s->lines);
	default:
		return aif_err_set(err, e, "%s: cannot be read: %s", name, strerror(-e));
	}
}

int aif_folded_read(int fd, const char *name, struct aif_tree *t,
		    struct aif_folded_stats *ret_stats, struct aif_err *err)
{
	struct reader r = {.tree = t, .stats = ret_stats};
	struct block b = {0};
	int more = 1, e = 0;

	*ret_stats = (struct aif_folded_stats){0};
	while (more > 0 && e == 0) {
		more = block_read(&b, fd);
		e = more < 0 ? more : lines_add(&r, &b, more == 0);
	}
	if (e == 0 && !ret_stats->stacks)
		e = -ENODATA;
	free(b.data);
	aif_strset_finish(&r.texts);
	free(r.spellings);
	free(r.path);
	return e < 0 ? read_failed(e, name, ret_stats, err) : 0;
}

bool aif_folded_warning(const struct aif_folded_stats *s, const char *name, struct aif_buf *ret)
{
	if (s->bad)
		aif_buf_printf(ret,
			       "%s: %llu of %llu lines left out: not \"frame;frame COUNT\" (the "
			       "first is line %llu)",
			       name, (unsigned long long)s->bad, (unsigned long long)s->lines,
			       (unsigned long long)s->first_bad);
	else if (s->is_rounded)
		aif_buf_printf(ret, "%s: counts were rounded to %d decimals", name, MAX_DECIMALS);
	return s->bad || s->is_rounded;
}
