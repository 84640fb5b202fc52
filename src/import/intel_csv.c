/* SPDX-License-Identifier: Apache-2.0 */
#include "import/lines.h"
#include "import/weighted_stacks.h"

#include <errno.h>
#include <string.h>

/*
 * Tables that Intel's VTune and Advisor write as CSV: functions, call stacks or loops with their own CPU time. The columns'
 * names stand in the first lines, behind a few of text (Advisor), and the sign between columns is the user's choice. In
 * "Function Stack" blanks before a name are its depth, callers first; in "Function / Call Stack" what is set in are
 * callers, whose time is their function's.
 */
enum { COLUMNS_MAX = 256, HEADER_LINES = 64, DEPTH_MAX = 512 };

struct text {
	const char *p;
	size_t len;
	size_t indent; /* of a field: blanks before its quotes, which it is without */
};

enum column { NAME, TIME, MODULE, FILE_NAME, COLUMN_COUNT };
enum layout { FLAT, STACK_DOWN, STACK_UP };

struct table {
	char delimiter;
	enum layout layout;
	int column[COLUMN_COUNT]; /* -1: there is none */
};

/* Names of columns, the best first. */
static const struct {
	enum column column;
	enum layout layout;
	const char *name;
} known[] = {
	{NAME, STACK_DOWN, "Function Stack"},
	{NAME, STACK_UP, "Function / Call Stack"},
	{NAME, STACK_UP, "Function/Call Stack"},
	{NAME, FLAT, "Function Call Sites and Loops"},
	{NAME, FLAT, "Function"},
	{NAME, FLAT, "Source Function"},
	{TIME, FLAT, "CPU Time:Self"},
	{TIME, FLAT, "Self Time"},
	{TIME, FLAT, "CPU Time"},
	{TIME, FLAT, "CPU Time:Effective Time:Self"},
	{TIME, FLAT, "CPU Time:Effective Time"},
	{MODULE, FLAT, "Module"},
	{FILE_NAME, FLAT, "Source Location"},
	{FILE_NAME, FLAT, "Source File"},
};

static struct text trimmed(struct text t)
{
	while (t.len && (*t.p == ' ' || *t.p == '\t')) {
		t.p++;
		t.len--;
	}
	while (t.len && (t.p[t.len - 1] == ' ' || t.p[t.len - 1] == '\t' || t.p[t.len - 1] == '\r'))
		t.len--;
	return t;
}

/* Takes the next field off *line; quotes around it fall away, doubled ones inside stay. False: there is none. */
static bool next_field(struct text *line, char delimiter, struct text *ret)
{
	const char *end, *at = line->p, *stop;
	size_t indent = 0;

	if (!at)
		return false;
	end = at + line->len;
	while (at + indent < end && at[indent] == ' ')
		indent++;
	if (at + indent < end && at[indent] == '"')
		at += indent;
	else
		indent = 0;
	if (at < end && *at == '"') {
		for (stop = ++at; stop < end; stop++)
			if (*stop == '"' && !(stop + 1 < end && stop[1] == '"'))
				break;
			else
				stop += *stop == '"';
		stop = AIF_MIN(stop, end);
		*ret = (struct text){at, (size_t)(stop - at), indent};
		at = stop < end ? memchr(stop, delimiter, (size_t)(end - stop)) : NULL;
	} else {
		stop = memchr(at, delimiter, (size_t)(end - at));
		*ret = (struct text){at, (size_t)((stop ? stop : end) - at), 0};
		at = stop;
	}
	*line = at ? (struct text){at + 1, (size_t)(end - at - 1), 0} : (struct text){NULL, 0, 0};
	return true;
}

/* Reads the names of columns. False: this line has none of a function and its time. */
static bool read_header(struct text line, struct table *ret)
{
	static const char delimiters[] = ",\t;|^";

	for (const char *d = delimiters; *d; d++) {
		size_t best[COLUMN_COUNT];
		struct text rest = line, field;

		*ret = (struct table){.delimiter = *d, .column = {-1, -1, -1, -1}};
		for (int i = 0; i < COLUMNS_MAX && next_field(&rest, *d, &field); i++) {
			field = trimmed(field);
			for (size_t k = 0; k < AIF_ARRAY_LEN(known); k++) {
				enum column c = known[k].column;

				if (strlen(known[k].name) != field.len ||
				    memcmp(known[k].name, field.p, field.len) ||
				    (ret->column[c] >= 0 && best[c] <= k))
					continue;
				best[c] = k;
				ret->column[c] = i;
			}
		}
		if (ret->column[NAME] < 0 || ret->column[TIME] < 0)
			continue;
		ret->layout = known[best[NAME]].layout;
		return true;
	}
	return false;
}

static int probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	struct table table;

	for (int i = 0; i < HEADER_LINES && at < end; i++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct text line = {at, (size_t)((nl ? nl : end) - at), 0};

		if (read_header(line, &table))
			return 3;
		at += line.len + 1;
	}
	return 0;
}

/* "1.970s", "12 ms", "0.5": seconds where nothing is said; nothing at all is 0. */
static bool read_time(struct text t, uint64_t *ret)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char number[48], *end;
	double value;

	t = trimmed(t);
	*ret = 0;
	if (!t.len)
		return true;
	if (t.len >= sizeof(number) || !((*t.p >= '0' && *t.p <= '9') || *t.p == '.'))
		return false;
	memcpy(number, t.p, t.len);
	number[t.len] = '\0';
	value = strtod(number, &end);
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < AIF_ARRAY_LEN(units); i++)
		if (!strcmp(end, units[i].unit) && value >= 0 &&
		    value * units[i].ns <= (double)AIF_SYNTHETIC_TIMELINE_MAX) {
			*ret = (uint64_t)(value * units[i].ns + 0.5);
			return true;
		}
	return false;
}

struct reader {
	struct aif_synthetic_timeline timeline;
	struct aif_host host;
	struct table table;
	uint64_t added, callers; /* lines */
	struct {
		size_t indent;
		uint32_t stack;
	} open[DEPTH_MAX]; /* of STACK_DOWN: the row before and its callers */
	size_t depth;
};

/* Takes "FILE:LINE" apart; `line` is 0 where there is none. */
static uint32_t read_place(struct aif_builder *b, struct text t, uint32_t *ret_line)
{
	const char *colon = t.len ? memrchr(t.p, ':', t.len) : NULL;
	uint32_t line = 0;

	for (const char *c = colon ? colon + 1 : t.p + t.len; c < t.p + t.len; c++) {
		if (*c < '0' || *c > '9' || line > 100000000) {
			line = 0;
			colon = NULL;
			break;
		}
		line = line * 10 + (uint32_t)(*c - '0');
	}
	*ret_line = line;
	if (line)
		t.len = (size_t)(colon - t.p);
	return t.len ? aif_builder_str(b, t.p, t.len) : AIF_NONE;
}

/* Takes "[loop in F at FILE:LINE]" apart: the loop's time is its function's, at its line. */
static void read_loop(struct text *name, struct text *ret_place)
{
	static const char begin[] = "[loop in ", between[] = " at ";
	size_t first = sizeof(begin) - 1, n = sizeof(between) - 1;

	if (name->len < first + n + 2 || memcmp(name->p, begin, first) ||
	    name->p[name->len - 1] != ']')
		return;
	for (size_t i = name->len - 1 - n; i > first; i--)
		if (!memcmp(name->p + i, between, n)) {
			*ret_place = (struct text){name->p + i + n, name->len - 1 - n - i, 0};
			*name = (struct text){name->p + first, i - first, 0};
			return;
		}
}

/* Pops what is no caller of a row of this depth. Returns its caller's stack. */
static uint32_t caller_of(struct reader *r, size_t indent)
{
	while (r->depth && r->open[r->depth - 1].indent >= indent)
		r->depth--;
	return r->depth ? r->open[r->depth - 1].stack : AIF_NONE;
}

/* Adds a row; one that is not understood is counted. 0 or -errno. */
static int row_add(struct reader *r, struct aif_lines *lines, struct text line)
{
	struct aif_builder *b = r->timeline.b;
	struct text cell[COLUMN_COUNT] = {{"", 0, 0}, {"", 0, 0}, {"", 0, 0}, {"", 0, 0}}, field;
	uint32_t module, file, number, stack, name_id, frame;
	size_t indent = 0;
	uint64_t ns;
	int e;

	for (int i = 0; i < COLUMNS_MAX && next_field(&line, r->table.delimiter, &field); i++)
		for (size_t c = 0; c < COLUMN_COUNT; c++)
			if (r->table.column[c] == i)
				cell[c] = field;
	while (indent < cell[NAME].len && cell[NAME].p[indent] == ' ')
		indent++;
	indent += cell[NAME].indent;
	cell[NAME] = trimmed(cell[NAME]);
	if (!cell[NAME].len || !read_time(cell[TIME], &ns)) {
		aif_lines_bad(lines);
		return 0;
	}
	lines->source->events++;
	if (r->table.layout == STACK_UP && indent) {
		r->callers++;
		return 0;
	}
	stack = r->table.layout == STACK_DOWN ? caller_of(r, indent) : AIF_NONE;
	/* The row of the whole, above all roots, is no function. */
	if (r->table.layout == STACK_DOWN && !indent && cell[NAME].len == 5 &&
	    !memcmp(cell[NAME].p, "Total", 5) && !ns)
		return 0;
	if (r->depth == DEPTH_MAX) {
		aif_lines_bad(lines);
		return 0;
	}
	cell[FILE_NAME] = trimmed(cell[FILE_NAME]);
	cell[MODULE] = trimmed(cell[MODULE]);
	read_loop(&cell[NAME], &cell[FILE_NAME]);
	module = cell[MODULE].len ? aif_builder_str(b, cell[MODULE].p, cell[MODULE].len) : AIF_NONE;
	file = read_place(b, cell[FILE_NAME], &number);
	name_id = aif_builder_str(b, cell[NAME].p, cell[NAME].len);
	if (b->failed || name_id == AIF_NONE)
		return -ENOMEM;
	frame = aif_host_frame(&r->host, aif_host_kind(cell[NAME].p, cell[NAME].len, NULL, 0),
			       module, name_id, file, number);
	stack = aif_builder_stack(b, stack, frame, 0);
	if (r->table.layout == STACK_DOWN) {
		r->open[r->depth].indent = indent;
		r->open[r->depth++].stack = stack;
	}
	if (b->failed)
		return -ENOMEM;
	e = ns ? aif_synthetic_timeline_cpu(&r->timeline, stack, ns) : 0;
	r->added += !e && ns;
	if (e == -ERANGE) {
		aif_lines_bad(lines);
		e = 0;
	}
	return b->failed ? -ENOMEM : e;
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct aif_lines lines = {.source = s};
	struct reader *r = calloc(1, sizeof(*r));
	bool has_header = false;
	struct text line;
	char *p;
	int e;

	(void)state;
	if (!r)
		return aif_err_set(err, -ENOMEM, "out of memory");
	r->timeline.b = r->host.b = b;
	for (size_t i = 0; i < b->waits_len; i++) /* of the files before it */
		r->timeline.at = AIF_MAX(r->timeline.at, b->waits[i].time + b->waits[i].weight);
	for (size_t i = 0; i < b->execs_len; i++)
		r->timeline.at = AIF_MAX(r->timeline.at, b->execs[i].end);
	aif_synthetic_timeline_begin(&r->timeline, aif_input_name(s->input));
	while ((e = aif_lines_next(&lines, &p, &line.len, err)) > 0) {
		line.p = p;
		e = 0;
		if (!has_header) {
			has_header = read_header(line, &r->table);
			if (!has_header && lines.number >= HEADER_LINES)
				break;
		} else if (trimmed(line).len) {
			e = row_add(r, &lines, line);
		}
		if (e < 0) {
			aif_err_set(err, e, "%s: %s", aif_input_name(s->input), strerror(-e));
			break;
		}
	}
	if (!e && !has_header)
		e = aif_err_set(err, -EINVAL,
				"%s: no columns of functions and their own CPU time in its first "
				"%d lines",
				aif_input_name(s->input), HEADER_LINES);
	else if (!e && !r->added)
		e = aif_err_set(err, -ENODATA, "%s: no row with a time in it",
				aif_input_name(s->input));
	aif_builder_loss(b, AIF_REASON_IMPORT_UNTIMED, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(s->input)), 1);
	aif_builder_loss(b, AIF_REASON_IMPORT_CALLERS, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(s->input)), r->callers);
	aif_lines_finish(&lines, b);
	aif_synthetic_timeline_finish(&r->timeline);
	aif_host_finish(&r->host);
	free(r);
	return e;
}

const struct aif_importer aif_importer_intel_csv = {
	.name = "Intel CSV",
	.summary = "functions or call stacks of VTune, loops of Advisor, as CSV",
	.probe = probe,
	.read = read_file,
	.finish = aif_weighted_stacks_finish,
};
