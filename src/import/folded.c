/* SPDX-License-Identifier: Apache-2.0 */
#include "import/laid.h"
#include "import/lines.h"

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

/* "12", "12.5", in units of `unit` ns. False: it is no count, or too large. */
static bool parse_count(struct text s, uint64_t unit, uint64_t *ret)
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
	if (i < s.len || __builtin_mul_overflow(whole, unit, &whole) || whole > AIF_LAID_MAX)
		return false;
	*ret = whole + (uint64_t)(part * (double)unit + 0.5);
	return true;
}

static bool split(struct text line, struct text *ret_stack, struct text *ret_count)
{
	const char *blank;

	while (line.len && (line.p[line.len - 1] == ' ' || line.p[line.len - 1] == '\r'))
		line.len--;
	blank = line.len ? memrchr(line.p, ' ', line.len) : NULL;
	if (!blank || blank == line.p)
		return false;
	*ret_stack = (struct text){line.p, (size_t)(blank - line.p)};
	*ret_count = (struct text){blank + 1, line.len - ret_stack->len - 1};
	return true;
}

/* All lines that are whole there have the form, and some have more than one frame. */
static int probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	unsigned lines = 0;
	bool has_stack = false;

	while (at < end && lines < 1000) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct text line = {at, (size_t)((nl ? nl : end) - at)}, stack, count;
		uint64_t n;

		if (!nl && len == AIF_IMPORT_HEAD)
			break;
		at += line.len + 1;
		if (memchr(line.p, '\0', line.len))
			return 0;
		if (!line.len || (line.len == 1 && *line.p == '\r'))
			continue;
		if (!split(line, &stack, &count) || !parse_count(count, 1, &n))
			return 0;
		has_stack |= memchr(stack.p, ';', stack.len) != NULL;
		lines++;
	}
	return has_stack;
}

struct folded {
	struct aif_laid laid;
	const struct aif_import_opts *opts;
	struct aif_buf inside; /* names of the kernel's inside */
};

static enum aif_launch_kind kind_of(struct text s)
{
	if (s.len < 3 || s.p[0] != '[' || s.p[s.len - 1] != ']')
		return AIF_LAUNCH_KERNEL;
	for (unsigned k = AIF_LAUNCH_KERNEL + 1; k < AIF_LAUNCH_KIND_COUNT; k++) {
		const char *name = aif_launch_kind_name(k);

		if (strlen(name) == s.len - 2 && !memcmp(name, s.p + 1, s.len - 2))
			return k;
	}
	return AIF_LAUNCH_KERNEL;
}

static int put_device(struct folded *f, uint32_t stack, struct text kernel, uint64_t ns)
{
	struct aif_laid *l = &f->laid;
	enum aif_launch_kind kind = kind_of(kernel);
	uint32_t name = kind == AIF_LAUNCH_KERNEL ? aif_builder_str(l->b, kernel.p, kernel.len)
						  : AIF_NONE,
		 place;
	int r = aif_laid_device(l, stack, kind, name, ns);

	if (r < 0 || kind != AIF_LAUNCH_KERNEL || !ns)
		return r;
	place = aif_laid_inside(l, name, aif_buf_str(&f->inside), f->inside.len);
	return aif_laid_sample(l, place, AIF_NONE, ns);
}

/* 0: it is taken or bad; -errno. */
static int take(struct folded *f, struct aif_lines *lines, struct text line)
{
	struct text stack, count, kernel = {0};
	bool as_device = f->opts->folded == AIF_IMPORT_AS_DEVICE,
	     as_cpu = f->opts->folded == AIF_IMPORT_AS_CPU, is_device;
	uint32_t at = AIF_NONE, frames = 0;
	uint64_t ns;
	int r;

	if (!split(line, &stack, &count) ||
	    !parse_count(count, f->opts->count_ns ? f->opts->count_ns : 1, &ns)) {
		aif_lines_bad(lines);
		return 0;
	}
	aif_buf_clear(&f->inside);
	while (stack.len) {
		const char *semicolon = memchr(stack.p, ';', stack.len);
		struct text s = {stack.p, semicolon ? (size_t)(semicolon - stack.p) : stack.len},
			    plain;
		bool is_last = s.len == stack.len;

		stack.p += s.len + !is_last;
		stack.len -= s.len + !is_last;
		if (!s.len)
			continue;
		frames++;
		plain = s;
		aif_laid_cut_suffix(plain.p, &plain.len, 'i');
		is_device = aif_laid_cut_suffix(plain.p, &plain.len, 'g') ||
			    aif_laid_cut_suffix(plain.p, &plain.len, 'G');
		if (kernel.len && !as_cpu) {
			if (f->inside.len)
				aif_buf_puts(&f->inside, ";");
			aif_buf_append(&f->inside, plain.p, plain.len);
		} else if (!as_cpu && (is_device || (as_device && !stack.len))) {
			kernel = plain;
		} else {
			if (is_device)
				s = plain;
			at = aif_builder_stack(f->laid.b, at,
					       aif_laid_host_frame(&f->laid, s.p, s.len), 0);
		}
	}
	if (!frames) {
		aif_lines_bad(lines);
		return 0;
	}
	lines->source->events++;
	r = kernel.len ? put_device(f, at, kernel, ns) : aif_laid_cpu(&f->laid, at, ns);
	if (r == -ERANGE) {
		aif_lines_bad(lines);
		r = 0;
	}
	return aif_buf_failed(&f->inside) || f->laid.b->failed ? -ENOMEM : r;
}

/* A count of samples has 32 bits where it is shared out: shares are what matters here. */
static void scale_samples(struct aif_builder *b)
{
	uint64_t most = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < b->samples_len; i++)
		most = AIF_MAX(most, b->samples[i].count);
	while (most >> shift > UINT32_MAX)
		shift++;
	for (size_t i = 0; shift && i < b->samples_len; i++)
		b->samples[i].count = AIF_MAX(b->samples[i].count >> shift, UINT64_C(1));
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct aif_lines lines = {.source = s};
	struct folded f = {.laid = {.b = b}, .opts = s->opts};
	struct text line;
	char *p;
	int r;

	(void)state;
	for (size_t i = 0; i < b->execs_len; i++) /* of the files before it */
		f.laid.at = AIF_MAX(f.laid.at, b->execs[i].end);
	for (size_t i = 0; i < b->waits_len; i++)
		f.laid.at = AIF_MAX(f.laid.at, b->waits[i].time + b->waits[i].weight);
	aif_laid_begin(&f.laid, aif_input_name(s->input));
	while ((r = aif_lines_next(&lines, &p, &line.len, err)) > 0) {
		line.p = p;
		if (lines.number == 1 && line.len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) {
			line.p += 3;
			line.len -= 3;
		}
		r = line.len ? take(&f, &lines, line) : 0;
		if (r < 0) {
			aif_err_set(err, r, "%s: %s", aif_input_name(s->input), strerror(-r));
			break;
		}
	}
	aif_builder_loss(b, AIF_REASON_IMPORT_UNTIMED, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(s->input)), 1);
	aif_lines_finish(&lines, b);
	aif_laid_finish(&f.laid);
	aif_buf_finish(&f.inside);
	return r;
}

static int finish(struct aif_builder *b, void *state, int r, struct aif_err *err)
{
	(void)state;
	(void)err;
	scale_samples(b);
	return r;
}

const struct aif_importer aif_importer_folded = {
	.name = "folded",
	.summary = "folded stacks with counts, of this and other tools",
	.probe = probe,
	.read = read_file,
	.finish = finish,
};
