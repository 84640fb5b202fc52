/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranges/xla.h"

#include <errno.h>
#include <string.h>

struct piece {
	const char *text;
	size_t len;
};

static bool is_piece(const struct piece *a, const struct piece *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->text, b->text, a->len));
}

static void frame_begin(struct aif_xla_range *r, enum aif_range_kind kind)
{
	/* The outermost and the innermost frames say most. */
	if (r->len == AIF_XLA_FRAMES) {
		memmove(&r->frames[AIF_XLA_FRAMES / 2], &r->frames[AIF_XLA_FRAMES / 2 + 1],
			(AIF_XLA_FRAMES / 2 - 1) * sizeof(r->frames[0]));
		r->len--;
	}
	r->frames[r->len++] = (struct aif_xla_frame){kind, (uint32_t)r->text.len};
}

static void frame_add(struct aif_xla_range *r, enum aif_range_kind kind, struct piece text)
{
	if (!text.len)
		return;
	frame_begin(r, kind);
	aif_buf_append(&r->text, text.text, text.len);
	aif_buf_putc(&r->text, '\0');
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *const keys[] = {"prefix",           "name",       "hlo_op", "hlo_module",
				   "unique_hlo_op_id", "program_id", "module"};
enum { PREFIX, NAME, HLO_OP, HLO_MODULE, MODULE = 6, KEYS = 7 };

/* Returns the key that the text begins with, "key=", or KEYS. */
static size_t key_at(const char *text, size_t len)
{
	for (size_t i = 0; i < KEYS; i++) {
		size_t n = strlen(keys[i]);

		if (len > n && !memcmp(text, keys[i], n) && text[n] == '=')
			return i;
	}
	return KEYS;
}

/* Values end before a comma and one of the keys: names of operators may have commas. */
static void read_attributes(const char *text, size_t len, struct piece values[KEYS])
{
	size_t key = key_at(text, len);

	while (key < KEYS) {
		size_t begin = strlen(keys[key]) + 1, end = begin, next = KEYS;

		for (; end < len; end++)
			if (text[end] == ',') {
				next = key_at(text + end + 1, len - end - 1);
				if (next < KEYS)
					break;
			}
		values[key] = (struct piece){text + begin, end - begin};
		if (next == KEYS)
			return;
		text += end + 1;
		len -= end + 1;
		key = next;
	}
}

/* ---- op_names -------------------------------------------------------------------------------- */

/* JAX names the module of jit(f) "jit_f". */
static void put_module(struct aif_xla_range *r, struct piece module)
{
	bool is_jit = module.len > 4 && !memcmp(module.text, "jit_", 4);

	if (!module.len)
		return;
	if (is_jit) {
		aif_buf_puts(&r->text, "jit(");
		module.text += 4;
		module.len -= 4;
	}
	aif_buf_append(&r->text, module.text, module.len);
	aif_buf_puts(&r->text, is_jit ? ")" : "");
}

struct paths {
	struct {
		struct piece base, more; /* base/more */
	} at[AIF_XLA_PATHS];
	size_t len;
	bool are_more; /* than there was room for */
};

static void path_add(struct paths *p, struct piece base, struct piece more)
{
	for (size_t i = 0; i < p->len; i++)
		if (is_piece(&p->at[i].base, &base) && is_piece(&p->at[i].more, &more))
			return;
	if (!base.len && !more.len)
		return;
	if (p->len == AIF_XLA_PATHS) {
		p->are_more = true;
		return;
	}
	p->at[p->len].base = base;
	p->at[p->len++].more = more;
}

/* Takes the next part of a path, up to a '/' outside of brackets: "transpose(jvp(a/b))" is one. */
static bool next_part(struct piece *path, struct piece *ret)
{
	size_t n = 0, depth = 0;

	if (!path->len)
		return false;
	for (; n < path->len && (path->text[n] != '/' || depth); n++) {
		depth += path->text[n] == '(';
		depth -= path->text[n] == ')' && depth;
	}
	*ret = (struct piece){path->text, n};
	n += n < path->len;
	path->text += n;
	path->len -= n;
	return true;
}

/* The part of a path at a depth. False: it ends before. */
static bool part_at(const struct paths *p, size_t path, size_t depth, struct piece *ret)
{
	struct piece base = p->at[path].base, more = p->at[path].more;

	for (size_t i = 0; i <= depth; i++)
		if (!next_part(&base, ret) && !next_part(&more, ret))
			return false;
	return true;
}

/* Parts that all paths begin with, but the last of each. */
static size_t shared_parts(const struct paths *p)
{
	struct piece first, other;

	for (size_t depth = 0; depth < AIF_XLA_FRAMES; depth++) {
		if (!p->len || !part_at(p, 0, depth + 1, &other) || !part_at(p, 0, depth, &first))
			return depth;
		for (size_t i = 1; i < p->len; i++)
			if (!part_at(p, i, depth + 1, &other) || !part_at(p, i, depth, &other) ||
			    !is_piece(&first, &other))
				return depth;
	}
	return AIF_XLA_FRAMES;
}

static void add_scopes(struct aif_xla_range *r, const struct paths *p, size_t shared)
{
	struct piece part;

	for (size_t i = 0; i < shared && part_at(p, 0, i, &part); i++)
		frame_add(r, AIF_RANGE_SCOPE, part);
}

/* Adds what paths have behind the shared parts: "dot_general", "mul, broadcast_in_dim". */
static void add_op(struct aif_xla_range *r, const struct paths *p, size_t shared)
{
	struct piece part;

	if (!p->len || (p->len == 1 && !part_at(p, 0, shared, &part)))
		return;
	frame_begin(r, AIF_RANGE_OP);
	for (size_t i = 0; i < p->len; i++) {
		aif_buf_puts(&r->text, i ? ", " : "");
		for (size_t depth = shared; part_at(p, i, depth, &part); depth++) {
			aif_buf_puts(&r->text, depth > shared ? "/" : "");
			aif_buf_append(&r->text, part.text, part.len);
		}
	}
	aif_buf_puts(&r->text, p->are_more ? ", ..." : "");
	aif_buf_putc(&r->text, '\0');
}

/* ---- source locations ------------------------------------------------------------------------ */

struct line {
	size_t depth;
	struct piece file, function, op;
	uint32_t number;
};

/* Reads "-- /work/train.py:23:21[loss] mul". */
static bool read_line(const char *text, size_t len, struct line *ret)
{
	const char *end = text + len, *open, *close, *column, *number;

	*ret = (struct line){0};
	for (; text < end && *text == '-'; text++)
		ret->depth++;
	if (!ret->depth || text == end || *text++ != ' ')
		return false;
	for (open = text; open < end; open++)
		if (*open == '[' && open > text && open[-1] >= '0' && open[-1] <= '9')
			break;
	close = open < end ? memchr(open, ']', (size_t)(end - open)) : NULL;
	column = open < end ? memrchr(text, ':', (size_t)(open - text)) : NULL;
	number = column ? memrchr(text, ':', (size_t)(column - text)) : NULL;
	if (!close || !number)
		return false;
	for (const char *c = number + 1; c < column; c++) {
		if (*c < '0' || *c > '9' || ret->number > UINT32_MAX / 10 - 9)
			return false;
		ret->number = ret->number * 10 + (uint32_t)(*c - '0');
	}
	ret->file = (struct piece){text, (size_t)(number - text)};
	ret->function = (struct piece){open + 1, (size_t)(close - open - 1)};
	if (close + 1 < end && close[1] == ' ')
		ret->op = (struct piece){close + 2, (size_t)(end - close - 2)};
	return true;
}

struct tree {
	struct line lines[AIF_XLA_LINES];
	size_t len;
	bool is_cut; /* more lines are not known */
};

static void read_tree(const char *payload, struct tree *t)
{
	static const char field[] = "Source locations=", behind[] = ", HLO=";
	const char *text = strstr(payload, field), *end, *next;

	t->len = 0;
	t->is_cut = false;
	if (!text)
		return;
	text += sizeof(field) - 1;
	next = strstr(text, behind);
	end = next ? next : text + strnlen(text, AIF_XLA_TEXT);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		t->is_cut = !newline || t->len == AIF_XLA_LINES;
		if (t->is_cut)
			break;
		t->len += read_line(text, (size_t)(newline - text), &t->lines[t->len]);
		text = newline + 1;
	}
}

/* Numbers of one function's lines that a frame has. */
#define NUMBERS 4

/* Appends "loss (train.py:23)", with the other lines of that depth. */
static void put_source(struct aif_xla_range *r, const struct line *lines, size_t n,
		       const struct line *first, bool has_more)
{
	const char *slash = memrchr(first->file.text, '/', first->file.len);
	size_t skip = slash ? (size_t)(slash + 1 - first->file.text) : 0;
	uint32_t named[NUMBERS] = {first->number};
	size_t named_len = 1;

	frame_begin(r, AIF_RANGE_SOURCE);
	aif_buf_append(&r->text, first->function.text, first->function.len);
	aif_buf_puts(&r->text, " (");
	aif_buf_append(&r->text, first->file.text + skip, first->file.len - skip);
	aif_buf_printf(&r->text, ":%u", first->number);
	for (size_t i = 0; i < n; i++) {
		bool is_known = lines[i].depth != first->depth;

		for (size_t j = 0; j < named_len; j++)
			is_known |= named[j] == lines[i].number;
		if (is_known)
			continue;
		if (named_len == NUMBERS) {
			has_more = true;
			break;
		}
		named[named_len++] = lines[i].number;
		aif_buf_printf(&r->text, ", %u", lines[i].number);
	}
	aif_buf_puts(&r->text, has_more ? ", ...)" : ")");
	aif_buf_putc(&r->text, '\0');
}

/* Adds the stack that all lines share: as far as one function calls one other. Where it calls from several lines, the
 * numbers of all are named, and the stack ends. */
static void add_sources(struct aif_xla_range *r, const struct tree *t)
{
	bool is_last = false;

	for (size_t depth = 1; depth <= t->len && !is_last; depth++) {
		const struct line *first = NULL;
		bool is_forked = false, has_callee = false;

		for (size_t i = 0; i < t->len; i++) {
			const struct line *l = &t->lines[i];

			has_callee |= l->depth == depth + 1;
			if (l->depth != depth)
				continue;
			if (!first)
				first = l;
			else if (!is_piece(&first->function, &l->function) ||
				 !is_piece(&first->file, &l->file))
				return;
			is_forked |= first->number != l->number;
		}
		if (!first)
			return;
		is_last = is_forked || !has_callee;
		put_source(r, t->lines, t->len, first, is_last && t->is_cut);
	}
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void add_thunk(struct aif_xla_range *r, const struct piece *values, const char *payload)
{
	struct paths paths = {0};
	struct piece name = values[NAME], none = {0};
	struct tree tree;
	size_t shared;

	r->is_thunk = true;
	read_tree(payload, &tree);
	for (size_t i = 0; i < tree.len; i++)
		if (tree.lines[i].op.len)
			path_add(&paths, name, tree.lines[i].op);
	paths.are_more |= paths.len && tree.is_cut;
	/* An instruction made of several has the name of each. */
	for (bool is_named = paths.len; !is_named && name.len;) {
		const char *semicolon = memchr(name.text, ';', name.len);
		size_t len = semicolon ? (size_t)(semicolon - name.text) : name.len;

		path_add(&paths, (struct piece){name.text, len}, none);
		len += semicolon != NULL;
		name.text += len;
		name.len -= len;
	}
	shared = shared_parts(&paths);
	/* A path of one part is that of the module. */
	shared += paths.len == 1 && !shared;
	add_scopes(r, &paths, shared);
	add_sources(r, &tree);
	add_op(r, &paths, shared);
	frame_add(r, AIF_RANGE_HLO, values[HLO_OP]);
}

static void add_work(struct aif_xla_range *r, struct piece kind, const struct piece *values)
{
	frame_begin(r, AIF_RANGE_WORK);
	aif_buf_append(&r->text, kind.text, kind.len);
	for (size_t i = 0; i < KEYS; i++)
		if (values[i].len && (i == NAME || i == HLO_OP || i == HLO_MODULE || i == MODULE)) {
			aif_buf_putc(&r->text, ' ');
			put_module(r, values[i]);
			break;
		}
	aif_buf_putc(&r->text, '\0');
}

static bool is_kind(struct piece kind, const char *name)
{
	return kind.len == strlen(name) && !memcmp(kind.text, name, kind.len);
}

int aif_xla_read(const char *name, const char *payload, struct aif_xla_range *ret)
{
	static const char domain[] = "TSL:";
	struct piece values[KEYS] = {0}, kind = {0};
	size_t len;

	*ret = (struct aif_xla_range){0};
	if (strncmp(name, domain, sizeof(domain) - 1) != 0)
		return -ENOENT;
	kind.text = name + sizeof(domain) - 1;
	while (kind.text[kind.len] && kind.text[kind.len] != ':')
		kind.len++;
	if (!kind.len || strncmp(kind.text + kind.len, ":#", 2) != 0) {
		/* A name alone, "Thunk" or "run": the domain says whose it is. */
		if (kind.text[kind.len] || !kind.len)
			return -ENOENT;
		add_work(ret, kind, values);
		return aif_buf_failed(&ret->text) ? -ENOMEM : 0;
	}
	name = kind.text + kind.len + 2;
	len = strnlen(name, AIF_XLA_TEXT);
	len -= len && name[len - 1] == '#';
	read_attributes(name, len, values);
	if (is_kind(kind, "Thunk") && (values[HLO_OP].len || values[NAME].len)) {
		add_thunk(ret, values, payload);
	} else if (is_kind(kind, "XlaModule") && values[HLO_MODULE].len) {
		frame_begin(ret, AIF_RANGE_MODULE);
		put_module(ret, values[HLO_MODULE]);
		aif_buf_putc(&ret->text, '\0');
	} else {
		add_work(ret, kind, values);
	}
	return aif_buf_failed(&ret->text) ? -ENOMEM : 0;
}

void aif_xla_finish(struct aif_xla_range *r)
{
	aif_buf_finish(&r->text);
	*r = (struct aif_xla_range){0};
}

void aif_xla_label(const char *name, const char *payload, struct aif_buf *to)
{
	struct aif_xla_range r;
	bool is_first = true;

	if (aif_xla_read(name, payload, &r) < 0) {
		aif_buf_puts(to, name);
	} else {
		for (size_t i = 0; i < r.len; i++) {
			if (r.frames[i].kind == AIF_RANGE_SOURCE)
				continue;
			if (!is_first)
				aif_buf_putc(to, r.frames[i].kind == AIF_RANGE_HLO ? ' ' : '/');
			aif_buf_puts(to, aif_xla_text(&r, i));
			is_first = false;
		}
	}
	aif_xla_finish(&r);
}
