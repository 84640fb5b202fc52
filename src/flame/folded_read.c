/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading folded text fast. The files are large (half a gigabyte for 200,000 deep stacks) and say
 * the same things over and over: one host path comes back with each instruction below it. Looking
 * up frame by frame costs a cache miss or two for each; so a node also remembers the text that
 * followed it in the line that made it, its run:
 *
 *     line 1    main;run;step;mm;kernel_[g];FMA +0x10_[g] 7        nodes 1 2 3 4 5 6
 *                    ^ run of node 1: "run;step;mm;kernel_[g];FMA +0x10_[g]", its nodes 2 3 4 5 6
 *     line 2    main;run;step;mm;kernel_[g];LDG +0x20_[g] 5
 *                    ^----------------------^ as in the run: node 1 + four frames = node 5
 *
 * A run's nodes have consecutive numbers, as they were made together. So the way down is a
 * comparison of bytes that also counts semicolons, and one look-up at each fork.
 *
 * One read() path serves files and pipes: a prototype that mapped the file was not faster, and its
 * pages counted as memory. Measured: 586 MB in 0.35 s and 41 MB of memory; 2.5 s without runs.
 */
#include "flame/folded.h"

#include "names/frame_type.h"
#include "profile/model.h"
#include "base/glob.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)1 << 20)
/* More than any real line (20,000 bytes a name, 1,000 deep); bounds the memory for what is none. */
#define LINE_MAX_BYTES ((size_t)64 << 20)
/* Text of runs that is kept; 200,000 stacks under 4,000 host paths need 13 MB. Without, it only
 * gets slower; stacks that come once leave text that nobody follows. */
#define RUNS_MAX_BYTES ((size_t)24 << 20)
#define MAX_DECIMALS   9

/* A frame as it is spelled in the file. A device frame's kind also depends on its caller's. */
enum place { UNDER_HOST, UNDER_DEVICE, PLACES };
struct spelling {
	uint32_t name[PLACES]; /* in the tree; AIF_STR_NONE: not asked yet */
};

struct run {
	uint32_t at;    /* in reader.runs_text; ends with a newline */
	uint32_t first; /* node of its first frame; 0 = no run */
};

struct reader {
	struct aif_tree *tree;
	struct aif_folded_stats *stats;
	struct aif_strset texts;
	struct spelling *spellings;
	size_t spellings_cap;
	struct run *runs; /* by node */
	size_t runs_cap;
	struct aif_buf runs_text;
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
	if (aif_glob("[[]*]", s.p, s.len, NULL) ||
	    (place == UNDER_HOST && aif_transfer_kind(s.p, s.len) != AIF_LAUNCH_KERNEL))
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
		/* only functions are inlined */
		type = is_symbol || flag ? AIF_TREE_KERNEL : device_type(s, place);
	} else if (text_ends(s, "_[k]")) {
		s.len -= 4;
		type = AIF_TREE_OS;
	} else if (text_ends(s, "_[p]")) {
		s.len -= 4;
		type = AIF_TREE_PYTHON;
	} else {
		/* Suffixes of code that is compiled at run time say by which tier. */
		if (text_ends(s, "_[j]") || text_ends(s, "_[0]") || text_ends(s, "_[1]"))
			s.len -= 4;
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

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words16 __attribute__((vector_size(16)));

/* Returns how many bytes a and b have in common at their start, and how many semicolons are among
 * them. */
static size_t common_prefix(const char *a, const char *b, size_t max, size_t *ret_semicolons)
{
	size_t i = 0, n = 0;
	bool is_same = true;

	while (is_same && i + 32 <= max) {
		bytes16 count = {0};

		/* A lane counts to 255 at most: two semicolons a round. */
		for (unsigned round = 0; round < 127 && i + 32 <= max; round++, i += 32) {
			bytes16 x0, x1, y0, y1;
			words16 differ;

			memcpy(&x0, a + i, 16);
			memcpy(&x1, a + i + 16, 16);
			memcpy(&y0, b + i, 16);
			memcpy(&y1, b + i + 16, 16);
			differ = (words16)((x0 ^ y0) | (x1 ^ y1));
			is_same = !(differ[0] | differ[1]);
			if (!is_same)
				break;
			count -= (bytes16)(x0 == ';') + (bytes16)(x1 == ';');
		}
		for (unsigned lane = 0; lane < 16; lane++)
			n += count[lane];
	}
	for (; i < max && a[i] == b[i]; i++)
		n += a[i] == ';';
	*ret_semicolons = n;
	return i;
}

/* Follows the run of *node as far as whole frames agree with s. Returns the bytes of s that are
 * done, a semicolon behind them included; 0 if not even one frame agrees. */
static size_t run_follow(const struct reader *r, struct text s, uint32_t *node)
{
	const struct run *run = &r->runs[*node];
	const char *text, *last;
	size_t same, frames;

	if (!run->first)
		return 0;
	text = (const char *)r->runs_text.data + run->at;
	same = common_prefix(s.p, text, AIF_MIN(s.len, r->runs_text.len - run->at), &frames);
	if ((same == s.len || s.p[same] == ';') && (text[same] == ';' || text[same] == '\n')) {
		frames++;
	} else {
		last = same ? memrchr(s.p, ';', same) : NULL;
		if (!last)
			return 0;
		same = (size_t)(last - s.p);
	}
	*node = run->first + (uint32_t)frames - 1;
	return same + (same < s.len);
}

/* `node` was just made under `parent` for frame s. */
static int run_extend(struct reader *r, uint32_t parent, uint32_t node, struct text s)
{
	bool is_kept = r->runs_text.len + s.len < RUNS_MAX_BYTES;

	if (aif_grow(&r->runs, &r->runs_cap, node + 1, sizeof(*r->runs)) < 0)
		return -ENOMEM;
	r->runs[node] = (struct run){0};
	if (is_kept && !r->runs[parent].first)
		r->runs[parent] = (struct run){(uint32_t)r->runs_text.len, node};
	if (is_kept) {
		aif_buf_append(&r->runs_text, s.p, s.len);
		aif_buf_putc(&r->runs_text, ';');
	}
	return aif_buf_failed(&r->runs_text) ? -ENOMEM : 0;
}

/* Finds or makes the nodes of the stack. *ret_node is 0 if it has none but empty frames. */
static int stack_add(struct reader *r, struct text s, uint32_t *ret_node)
{
	size_t runs_before = r->runs_text.len, done;
	uint32_t node = 0, parent, name;
	int e;

	for (; s.len; s = (struct text){s.p + done, s.len - done}) {
		const char *semicolon;
		struct text frame;
		size_t len_before = r->tree->len;

		done = run_follow(r, s, &node);
		if (done)
			continue;
		semicolon = memchr(s.p, ';', s.len);
		frame = (struct text){s.p, semicolon ? (size_t)(semicolon - s.p) : s.len};
		done = AIF_MIN(frame.len + 1, s.len);
		if (!frame.len)
			continue;
		e = name_of(r, frame, is_device(r->tree, r->tree->nodes[node].name), &name);
		if (e < 0)
			return e;
		parent = node;
		node = aif_tree_child(r->tree, parent, name);
		if (!node)
			return -ENOMEM;
		if (r->tree->len > len_before) {
			e = run_extend(r, parent, node, frame);
			if (e < 0)
				return e;
		}
	}
	if (r->runs_text.len > runs_before)
		r->runs_text.data[r->runs_text.len - 1] = '\n';
	*ret_node = node;
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

static int line_add(struct reader *r, struct text line)
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
	if (r->stats->lines == 1)
		r->stats->is_utf16 = line.len >= 2 &&
				     (!memcmp(line.p, "\xff\xfe", 2) ||
				      !memcmp(line.p, "\xfe\xff", 2) || !line.p[0] || !line.p[1]);
	/* "# interval: 100": some tools say how they were run. */
	if (line.len > 1 && line.p[0] == '#' && line.p[1] == ' ')
		return 0;
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
	e = stack_add(r, line, &node);
	if (e < 0)
		return e;
	if (!node) { /* no frame but empty ones */
		r->total -= value;
		return line_bad(r);
	}
	r->tree->nodes[node].self += value;
	r->stats->stacks++;
	return 0;
}

struct block {
	char *data;
	size_t cap, start, end; /* unread part */
	bool is_skipping;       /* inside a line that is too long */
};

/* Reads behind what is unread. 1: something came; 0: end; negative errno. */
static int block_read(struct block *b, int fd)
{
	ssize_t n;

	if (b->start) {
		memmove(b->data, b->data + b->start, b->end - b->start);
		b->end -= b->start;
		b->start = 0;
	}
	if (aif_grow(&b->data, &b->cap, b->end + BLOCK_BYTES, 1) < 0)
		return -ENOMEM;
	do
		n = read(fd, b->data + b->end, BLOCK_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	b->end += (size_t)n;
	return n > 0;
}

/* A profile is an SQLite database (docs/FORMAT.md). */
static bool is_profile(const struct block *b)
{
	static const char begin[] = "SQLite format 3";

	return b->end - b->start >= sizeof(begin) &&
	       !memcmp(b->data + b->start, begin, sizeof(begin));
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
			e = line_add(r, (struct text){line, len});
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
		if (s->is_utf16)
			return aif_err_set(err, e,
					   "%s: is text in UTF-16; convert it: aiflame import -o "
					   "FILE.data %s, or iconv -f UTF-16 -t UTF-8",
					   name, name);
		if (s->first_bad)
			return aif_err_set(err, e,
					   "%s: no stack in it: line %llu is not \"frame;frame "
					   "COUNT\"; give folded text or a profile",
					   name, (unsigned long long)s->first_bad);
		return aif_err_set(err, e,
				   "%s: no stack in it: the file is empty; was anything "
				   "recorded?",
				   name);
	case EBADMSG:
		return aif_err_set(
			err, e,
			"%s: is a profile, which is read by its file's name and not from a "
			"pipe; give folded text, or the name",
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
	/* Nodes that were there before have no runs. */
	if (aif_grow(&r.runs, &r.runs_cap, t->len, sizeof(*r.runs)) < 0)
		e = -ENOMEM;
	else
		memset(r.runs, 0, t->len * sizeof(*r.runs));
	while (more > 0 && e == 0) {
		more = block_read(&b, fd);
		if (more > 0 && !ret_stats->lines && is_profile(&b))
			e = -EBADMSG;
		else
			e = more < 0 ? more : lines_add(&r, &b, more == 0);
	}
	if (e == 0 && !ret_stats->stacks)
		e = -ENODATA;
	free(b.data);
	aif_strset_finish(&r.texts);
	free(r.spellings);
	free(r.runs);
	aif_buf_finish(&r.runs_text);
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
