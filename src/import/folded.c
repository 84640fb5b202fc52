/* SPDX-License-Identifier: Apache-2.0 */
#include "import/lines.h"
#include "import/weighted_stacks.h"

#include <errno.h>
#include <string.h>

/*
 * Folded stacks: "frame;frame;frame COUNT", root first, the count behind the last blank. Kinds are suffixes of names:
 * _[p] Python, _[k] the OS kernel, _[i] inlined, _[g] the device. The first frame of the device is the kernel, or a copy
 * or fill ("[read]_[g]"); those below it are places in its code, of which the last is kept with its callers' names before it.
 */

struct text {
	const char *p;
	size_t len;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "12", "12.5", in units of `unit` ns. False: it is no count, or too large. *ret_rounded (may be NULL): it was rounded to a
 * whole unit. */
static bool parse_count(struct text s, uint64_t unit, uint64_t *ret, bool *ret_rounded)
{
	uint64_t whole = 0;
	double part = 0, digit = 0.1;
	size_t i = 0;

	for (; i < s.len && is_digit(s.p[i]); i++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(s.p[i] - '0'), &whole))
			return false;
	if (!i)
		return false;
	if (i < s.len && s.p[i] == '.')
		for (i++; i < s.len && is_digit(s.p[i]); i++, digit /= 10)
			part += (s.p[i] - '0') * digit;
	if (i < s.len || __builtin_mul_overflow(whole, unit, &whole) ||
	    whole > AIF_SYNTHETIC_TIMELINE_MAX)
		return false;
	*ret = whole + (uint64_t)(part * (double)unit + 0.5);
	if (ret_rounded)
		*ret_rounded = part > 0 && unit == 1;
	return true;
}

static bool split(struct text line, struct text *ret_stack, struct text *ret_count)
{
	const char *blank;

	const char *tab;

	while (line.len && (line.p[line.len - 1] == ' ' || line.p[line.len - 1] == '\t' ||
			    line.p[line.len - 1] == '\r'))
		line.len--;
	blank = line.len ? memrchr(line.p, ' ', line.len) : NULL;
	tab = line.len ? memrchr(line.p, '\t', line.len) : NULL;
	if (tab && (!blank || tab > blank))
		blank = tab;
	if (!blank || blank == line.p)
		return false;
	*ret_stack = (struct text){line.p, (size_t)(blank - line.p)};
	*ret_count = (struct text){blank + 1, line.len - ret_stack->len - 1};
	return true;
}

/* "# interval: 100": some tools say how they were run. */
static bool is_comment(struct text line)
{
	return line.len > 1 && line.p[0] == '#' && line.p[1] == ' ';
}

/* Counts of the lines at a file's beginning, by what they are. */
struct seen {
	unsigned good, bad;
	unsigned stacks, pairs; /* of the good: with more than one frame, with two counts */
	unsigned
		damaged; /* stacks with something like a number behind them: neither good nor bad */
};

static bool is_damaged(struct text line)
{
	struct text stack, count;

	return split(line, &stack, &count) && memchr(stack.p, ';', stack.len) && count.len &&
	       (is_digit(*count.p) || *count.p == '-' || *count.p == '.');
}

/* "3 5" behind a stack: is there a second number? */
static bool is_pair(struct text stack)
{
	struct text first, count;
	uint64_t n;

	return split(stack, &first, &count) && parse_count(count, 1, &n, NULL);
}

static void lines_count(const uint8_t *head, size_t len, struct seen *ret)
{
	const char *at = (const char *)head, *end = at + len;

	while (at < end && ret->good + ret->bad + ret->damaged < 1000) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct text line = {at, (size_t)((nl ? nl : end) - at)}, stack, count;
		bool is_good;
		uint64_t n;

		at += line.len + 1;
		if (!line.len || (line.len == 1 && *line.p == '\r') || is_comment(line))
			continue;
		is_good = !memchr(line.p, '\0', line.len) && split(line, &stack, &count) &&
			  parse_count(count, 1, &n, NULL);
		if (!nl && (len == AIF_IMPORT_HEAD || !is_good))
			break; /* torn */
		ret->good += is_good;
		if (!is_good && is_damaged(line))
			ret->damaged++;
		else
			ret->bad += !is_good;
		if (is_good) {
			ret->stacks += memchr(stack.p, ';', stack.len) != NULL;
			ret->pairs += is_pair(stack);
		}
	}
}

/* Damage costs its line. Where no line has a stack of frames, nothing but their form says what they are. */
static int probe(const uint8_t *head, size_t len)
{
	struct seen seen = {0};

	lines_count(head, len, &seen);
	return seen.stacks || seen.damaged ? seen.good + seen.damaged > seen.bad
					   : seen.good && !seen.bad;
}

/* Returns true for a difference of two profiles: each line has both counts. A single line may be a name
 * that ends so. */
static bool has_pairs(const struct aif_import_source *s)
{
	struct seen seen = {0};

	lines_count(s->head, s->head_len, &seen);
	return seen.good > 1 && seen.pairs == seen.good;
}

struct folded {
	struct aif_synthetic_timeline timeline;
	struct aif_host host;
	const struct aif_import_opts *opts;
	bool has_pairs; /* the first of two counts is not the stack's */
	uint64_t added, rounded;
	AIF_TABLE(aif_weighted_frame, frames); /* of the line at hand */
};

/* A name and what its suffix says of it. */
static struct aif_weighted_frame frame_of(struct text s, bool as_cpu)
{
	struct aif_weighted_frame f = {
		.kind = AIF_FRAME_NATIVE, .module = AIF_NONE, .file = AIF_NONE};

	f.is_inlined = aif_synthetic_timeline_cut_suffix(s.p, &s.len, 'i');
	if (aif_synthetic_timeline_cut_suffix(s.p, &s.len, 'g') ||
	    aif_synthetic_timeline_cut_suffix(s.p, &s.len, 'G'))
		f.kind = as_cpu ? AIF_FRAME_NATIVE : AIF_FRAME_DEVICE;
	else if (aif_synthetic_timeline_cut_suffix(s.p, &s.len, 'p'))
		f.kind = AIF_FRAME_PYTHON;
	else if (aif_synthetic_timeline_cut_suffix(s.p, &s.len, 'k'))
		f.kind = AIF_FRAME_OS;
	else if (!aif_synthetic_timeline_cut_compiled(s.p, &s.len) && s.p[0] == '[' &&
		 s.p[s.len - 1] == ']')
		f.kind = AIF_FRAME_MARK;
	else
		f.kind = aif_host_kind(s.p, s.len, NULL, 0);
	f.name = s.p;
	f.len = s.len;
	return f;
}

/* Adds a line; a bad one is counted. 0 or -errno. */
static int line_add(struct folded *f, struct aif_lines *lines, struct text line)
{
	struct text stack, count;
	struct aif_weighted_stack weighted;
	bool is_rounded;
	size_t frames = 0;
	uint64_t ns;
	int r;

	if (!split(line, &stack, &count) ||
	    !parse_count(count, f->opts->count_ns ? f->opts->count_ns : 1, &ns, &is_rounded)) {
		aif_lines_bad(lines);
		return 0;
	}
	if (f->has_pairs && is_pair(stack))
		split(stack, &stack, &count);
	while (stack.len) {
		const char *semicolon = memchr(stack.p, ';', stack.len);
		struct text s = {stack.p, semicolon ? (size_t)(semicolon - stack.p) : stack.len};
		bool is_last = s.len == stack.len;

		stack.p += s.len + !is_last;
		stack.len -= s.len + !is_last;
		if (!s.len)
			continue;
		if (aif_grow(&f->frames, &f->frames_cap, frames + 1, sizeof(*f->frames)) < 0)
			return -ENOMEM;
		f->frames[frames++] = frame_of(s, f->opts->folded == AIF_IMPORT_AS_CPU);
	}
	if (!frames) {
		aif_lines_bad(lines);
		return 0;
	}
	lines->source->events++;
	f->rounded += is_rounded;
	r = aif_weighted_stack_split(&f->timeline, &f->host, f->frames, frames, f->opts->folded,
				     &weighted);
	if (!r)
		r = aif_weighted_stack_put(&f->timeline, &weighted, ns);
	f->added += r == 0;
	if (r == -ERANGE) {
		aif_lines_bad(lines);
		r = 0;
	}
	return f->timeline.b->failed ? -ENOMEM : r;
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct aif_lines lines = {.source = s, .is_hand_made = true};
	struct folded f = {.timeline = {.b = b}, .host = {.b = b}, .opts = s->opts};
	size_t rows = b->waits_len;
	struct text line;
	char *p;
	int r;

	(void)state;
	for (size_t i = 0; i < b->execs_len; i++) /* of the files before it */
		f.timeline.at = AIF_MAX(f.timeline.at, b->execs[i].end);
	for (size_t i = 0; i < b->waits_len; i++)
		f.timeline.at = AIF_MAX(f.timeline.at, b->waits[i].time + b->waits[i].weight);
	aif_synthetic_timeline_begin(&f.timeline, aif_input_name(s->input));
	f.has_pairs = has_pairs(s);
	if (f.has_pairs)
		aif_builder_loss(b, AIF_REASON_IMPORT_PAIRS, AIF_NONE,
				 aif_builder_puts(b, aif_input_name(s->input)), 1);
	while ((r = aif_lines_next(&lines, &p, &line.len, err)) > 0) {
		line.p = p;
		r = line.len && !is_comment(line) ? line_add(&f, &lines, line) : 0;
		if (r < 0) {
			aif_err_set(err, r, "%s: %s", aif_input_name(s->input), strerror(-r));
			break;
		}
	}
	if (!r && !f.added)
		r = aif_err_set(err, -ENODATA, "%s: no line \"frame;frame COUNT\" in it",
				aif_input_name(s->input));
	aif_builder_loss(b, AIF_REASON_IMPORT_UNTIMED, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(s->input)), 1);
	aif_builder_loss(b, AIF_REASON_IMPORT_ROUNDED, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(s->input)), f.rounded);
	/* Counts stand for nothing that is known. A file with device time is aiflame's own, which is in ns. */
	if (!r && !f.opts->count_ns && b->waits_len > rows && !b->execs_len)
		aif_weighted_stacks_count(b, "counts");
	aif_lines_finish(&lines, b);
	aif_synthetic_timeline_finish(&f.timeline);
	aif_host_finish(&f.host);
	free(f.frames);
	return r;
}

const struct aif_importer aif_importer_folded = {
	.name = "folded",
	.summary = "folded stacks with counts, of this and other tools",
	.uses = AIF_IMPORT_USES_AS | AIF_IMPORT_USES_COUNT,
	.probe = probe,
	.read = read_file,
	.finish = aif_weighted_stacks_finish,
};
