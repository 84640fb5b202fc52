/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/run_file.h"

#include <errno.h>
#include <string.h>

struct reading {
	struct aif_run *run;
	struct aif_buf text; /* of a line, without escapes */
	uint32_t *frames;    /* by number: node; 0: the root */
	size_t frames_len, frames_cap;
	struct {
		size_t at, len; /* in .bytes */
	} * names;
	size_t names_len, names_cap;
	struct aif_buf bytes;
	struct {
		uint32_t *nodes; /* by number */
		size_t len, cap;
	} by[AIF_RUN_BYS];
	bool has_end;
};

/* Takes a decimal number and the blank behind it. */
static bool take_number(const char **s, const char *end, uint64_t *ret)
{
	const char *from = *s;
	uint64_t v = 0;

	for (; *s < end && **s >= '0' && **s <= '9'; ++*s)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **s - '0', &v))
			return false;
	if (*s == from)
		return false;
	*ret = v;
	if (*s < end && **s == ' ')
		++*s;
	return true;
}

/* Takes the letter of a frame's type and the blank behind it. */
static bool take_type(const char **s, const char *end, uint64_t *ret)
{
	static const char types[] = AIF_RUN_TYPES;
	const char *at = end - *s > 1 && (*s)[1] == ' ' && **s ? strchr(types, **s) : NULL;

	if (!at || at == types)
		return false;
	*ret = (uint64_t)(at - types);
	*s += 2;
	return true;
}

/* True, and behind it, if *s begins with a word that ends at a blank or at the end. */
static bool take_word(const char **s, const char *end, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(end - *s) < len || memcmp(*s, word, len) != 0 ||
	    ((size_t)(end - *s) > len && (*s)[len] != ' '))
		return false;
	*s += len + ((size_t)(end - *s) > len);
	return true;
}

/* Sets .text to the text up to a tab or the end, and *s behind it. */
static void take_text(struct reading *r, const char **s, const char *end)
{
	aif_buf_clear(&r->text);
	for (; *s < end && **s != '\t'; ++*s) {
		char c = **s;

		if (c == '\\' && *s + 1 < end) {
			++*s;
			c = (char)(**s == 't' ? '\t' : **s == 'n' ? '\n' : **s);
		}
		aif_buf_putc(&r->text, c ? c : '?');
	}
	*s += *s < end;
}

/* Sets *len. Returns what a transfer is called today: older files say "[write]", its kind. Other names stay. */
static const char *transfer_name(const char *name, size_t *len)
{
	unsigned kind = *len && *name == '[' ? aif_transfer_kind(name, *len) : AIF_LAUNCH_KERNEL;

	if (kind == AIF_LAUNCH_KERNEL)
		return name;
	name = aif_transfer_name(kind);
	*len = strlen(name);
	return name;
}

static uint32_t put_kernel_name(struct reading *r, bool is_copy, const char **s, const char *end)
{
	take_text(r, s, end);
	if (is_copy) {
		size_t len = r->text.len;
		const char *name = transfer_name(aif_buf_str(&r->text), &len);

		return aif_strset_put(&r->run->kernel_names, name, len);
	}
	return aif_strset_put(&r->run->kernel_names, r->text.data, r->text.len);
}

static int read_kernel(struct reading *r, const char *s, const char *end)
{
	struct aif_run *run = r->run;
	struct aif_run_kernel k = {0};
	uint64_t is_copy;

	if (!take_number(&s, end, &is_copy) || !take_number(&s, end, &k.ns) ||
	    !take_number(&s, end, &k.launches))
		return -EINVAL;
	k.is_copy = is_copy;
	k.name = put_kernel_name(r, is_copy, &s, end);
	k.full = put_kernel_name(r, is_copy, &s, end);
	if (k.name == AIF_STR_NONE || k.full == AIF_STR_NONE ||
	    aif_grow(&run->kernels, &run->kernels_cap, run->kernels_len + 1,
		     sizeof(*run->kernels)) < 0)
		return -ENOMEM;
	run->kernels[run->kernels_len++] = k;
	return 0;
}

static int read_name(struct reading *r, const char *s, const char *end)
{
	take_text(r, &s, end);
	if (aif_grow(&r->names, &r->names_cap, r->names_len + 1, sizeof(*r->names)) < 0)
		return -ENOMEM;
	r->names[r->names_len].at = r->bytes.len;
	r->names[r->names_len++].len = r->text.len;
	aif_buf_append(&r->bytes, r->text.data, r->text.len);
	return aif_buf_failed(&r->bytes) || aif_buf_failed(&r->text) ? -ENOMEM : 0;
}

static int read_frame(struct reading *r, const char *s, const char *end)
{
	struct aif_tree *t = &r->run->tree;
	uint64_t parent, type, self, launches, name;
	const char *text;
	uint32_t node;
	size_t len;

	if (!take_number(&s, end, &parent) || !take_type(&s, end, &type) ||
	    !take_number(&s, end, &self) || !take_number(&s, end, &launches) ||
	    !take_number(&s, end, &name) || parent > r->frames_len || name >= r->names_len)
		return -EINVAL;
	text = (char *)r->bytes.data + r->names[name].at;
	len = r->names[name].len;
	if (type == AIF_TREE_COPY)
		text = transfer_name(text, &len);
	node = aif_tree_name(t, (unsigned)type, text, len);
	if (node != AIF_STR_NONE)
		node = aif_tree_child(t, parent ? r->frames[parent - 1] : 0, node);
	if (!node || node == AIF_STR_NONE ||
	    aif_grow(&r->frames, &r->frames_cap, r->frames_len + 1, sizeof(*r->frames)) < 0)
		return -ENOMEM;
	r->frames[r->frames_len++] = node;
	if (__builtin_add_overflow(t->nodes[node].self, self, &t->nodes[node].self) ||
	    __builtin_add_overflow(t->details[node].launches, launches, &t->details[node].launches))
		return -EINVAL;
	return 0;
}

static int read_by(struct reading *r, enum aif_run_by which, const char *s, const char *end)
{
	struct aif_tree *t = &r->run->by[which];
	uint64_t parent, ns;
	uint32_t node;

	if (!take_number(&s, end, &parent) || !take_number(&s, end, &ns) ||
	    parent > r->by[which].len)
		return -EINVAL;
	take_text(r, &s, end);
	node = aif_tree_name(t, which == AIF_RUN_BY_OPERATOR ? AIF_TREE_CXX : AIF_TREE_RANGE,
			     aif_buf_str(&r->text), r->text.len);
	if (node != AIF_STR_NONE)
		node = aif_tree_child(t, parent ? r->by[which].nodes[parent - 1] : 0, node);
	if (!node || node == AIF_STR_NONE ||
	    aif_grow(&r->by[which].nodes, &r->by[which].cap, r->by[which].len + 1,
		     sizeof(*r->by[which].nodes)) < 0)
		return -ENOMEM;
	r->by[which].nodes[r->by[which].len++] = node;
	return __builtin_add_overflow(t->nodes[node].self, ns, &t->nodes[node].self) ? -EINVAL : 0;
}

/* No program goes through ranges of one name more often. */
#define MOST_COUNT (UINT64_C(1) << 40)

static int read_count(struct reading *r, const char *s, const char *end)
{
	struct aif_run *run = r->run;
	uint64_t n;

	/* Sums of as many as a file has lines do not overflow. */
	if (!take_number(&s, end, &n) || n > MOST_COUNT)
		return -EINVAL;
	take_text(r, &s, end);
	return aif_run_add_ranges(run, aif_buf_str(&r->text), r->text.len, n) == AIF_STR_NONE
		       ? -ENOMEM
		       : 0;
}

static int read_steps(struct aif_run *run, const char *s, const char *end)
{
	if (!take_number(&s, end, &run->steps))
		return -EINVAL;
	for (unsigned i = 0; i <= AIF_PHASES_TURNS; i++) {
		if (!take_word(&s, end, aif_run_steps_key((enum aif_phases_from)i)))
			continue;
		run->steps_from = (enum aif_phases_from)i;
		return 0;
	}
	return -EINVAL;
}

/* Amounts of a later version are skipped. */
static int read_amount(struct aif_run *run, const char *s, const char *end)
{
	for (unsigned i = 0; i < AIF_RUN_AMOUNTS; i++)
		if (take_word(&s, end, aif_run_amount_key((enum aif_run_amount)i)))
			return take_number(&s, end, &run->amount[i]) ? 0 : -EINVAL;
	return 0;
}

static int read_line(struct reading *r, const char *s, const char *end)
{
	struct aif_run *run = r->run;

	if (take_word(&s, end, "frame"))
		return read_frame(r, s, end);
	if (take_word(&s, end, "name"))
		return read_name(r, s, end);
	if (take_word(&s, end, "kernel"))
		return read_kernel(r, s, end);
	if (take_word(&s, end, "amount"))
		return read_amount(run, s, end);
	if (take_word(&s, end, "count"))
		return read_count(r, s, end);
	if (take_word(&s, end, "steps"))
		return read_steps(run, s, end);
	if (take_word(&s, end, "recording"))
		return take_number(&s, end, &run->recording) ? 0 : -EINVAL;
	if (take_word(&s, end, "start"))
		return take_number(&s, end, &run->start_s) ? 0 : -EINVAL;
	if (take_word(&s, end, "is")) {
		run->is_part |= take_word(&s, end, "part");
		run->is_cut |= take_word(&s, end, "cut");
		run->is_loop |= take_word(&s, end, "loop");
		run->is_whole |= take_word(&s, end, "whole");
		run->is_open |= take_word(&s, end, "open");
		run->is_cpu |= take_word(&s, end, "cpu");
		run->is_counts |= take_word(&s, end, "counts");
		return 0;
	}
	for (unsigned i = 0; i < AIF_RUN_BYS; i++)
		if (take_word(&s, end, aif_run_by_key((enum aif_run_by)i)))
			return read_by(r, (enum aif_run_by)i, s, end);
	r->has_end |= take_word(&s, end, "end");
	for (unsigned i = 0; i < AIF_RUN_TEXTS; i++) {
		if (!take_word(&s, end, aif_run_text_key((enum aif_run_text)i)))
			continue;
		take_text(r, &s, end);
		return aif_run_set(run, (enum aif_run_text)i, aif_buf_str(&r->text));
	}
	return 0;
}

static int read_lines(struct reading *r, const char *bytes, size_t n, const char *path,
		      struct aif_err *err)
{
	const char *s = bytes, *stop = bytes + n;
	size_t number = 0;
	int e = 0;

	while (s < stop && !e && !r->has_end) {
		const char *end = memchr(s, '\n', (size_t)(stop - s));

		number++;
		if (!end)
			return aif_err_set(err, -EINVAL, "%s: cut off in line %zu", path, number);
		e = number == 1 ? 0 : read_line(r, s, end);
		s = end + 1;
	}
	if (e == -EINVAL)
		return aif_err_set(err, e, "%s: line %zu is damaged", path, number);
	if (!e && !r->has_end)
		return aif_err_set(err, -EINVAL, "%s: cut off behind line %zu", path, number);
	return e;
}

int aif_run_read(const char *bytes, size_t n, const char *path, struct aif_run *ret,
		 struct aif_err *err)
{
	static const char begin[] = AIF_RUN_FILE_BEGIN "1\n";
	struct reading r = {.run = ret};
	int e;

	*ret = (struct aif_run){.path = strdup(path)};
	if (n < sizeof(begin) - 1 || memcmp(bytes, begin, sizeof(begin) - 1) != 0)
		return aif_err_set(err, -EINVAL,
				   "%s: a reduced run of another version than 1, or none", path);
	/* Names may all be empty. */
	e = ret->path && aif_buf_reserve(&r.bytes, 1) ? aif_tree_init(&ret->tree, true) : -ENOMEM;
	for (unsigned i = 0; i < AIF_RUN_BYS && !e; i++)
		e = aif_tree_init(&ret->by[i], false);
	if (!e)
		e = read_lines(&r, bytes, n, path, err);
	if (!e)
		e = aif_tree_seal(&ret->tree);
	for (unsigned i = 0; i < AIF_RUN_BYS && !e; i++)
		e = aif_tree_seal(&ret->by[i]);
	if (!e && !ret->tree.nodes[0].total)
		e = aif_err_set(err, -ENODATA, "%s: no time in it", path);
	aif_buf_finish(&r.text);
	aif_buf_finish(&r.bytes);
	for (unsigned i = 0; i < AIF_RUN_BYS; i++)
		free(r.by[i].nodes);
	free(r.frames);
	free(r.names);
	return e && err && !err->code ? aif_err_set(err, e, "%s: %s", path, strerror(-e)) : e;
}
