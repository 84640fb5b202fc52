/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/files.h"

#include "base/human.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct kineto_rows kineto_rows_of(const struct aif_builder *b)
{
	return (struct kineto_rows){b->launches_len, b->execs_len,   b->waits_len,
				    b->ops_len,      b->windows_len, b->memory_len};
}

bool kineto_file_span(const struct aif_builder *b, const struct kineto_file *f, uint64_t *ret_from,
		      uint64_t *ret_to)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = f->from.launches; i < f->to.launches; i++) {
		from = AIF_MIN(from, b->launches[i].time);
		to = AIF_MAX(to, b->launches[i].time);
	}
	for (size_t i = f->from.execs; i < f->to.execs; i++) {
		from = AIF_MIN(from, b->execs[i].start);
		to = AIF_MAX(to, b->execs[i].end);
	}
	for (size_t i = f->from.waits; i < f->to.waits; i++) {
		const struct aif_cpu_row *w = &b->waits[i];

		from = AIF_MIN(from, w->time);
		to = AIF_MAX(to, w->time + w->waiting + w->weight);
	}
	for (size_t i = f->from.ops; i < f->to.ops; i++) {
		from = AIF_MIN(from, b->ops[i].start);
		to = AIF_MAX(to, b->ops[i].end);
	}
	for (size_t i = f->from.memory; i < f->to.memory; i++) {
		from = AIF_MIN(from, b->memory[i].time);
		to = AIF_MAX(to, b->memory[i].time);
	}
	*ret_from = from;
	*ret_to = to;
	return from <= to;
}

/* Maps each time of a file. */
static void map_times(struct aif_builder *b, const struct kineto_file *f,
		      uint64_t (*map)(const void *arg, uint64_t at), const void *arg)
{
	for (size_t i = f->from.launches; i < f->to.launches; i++)
		b->launches[i].time = map(arg, b->launches[i].time);
	for (size_t i = f->from.execs; i < f->to.execs; i++) {
		b->execs[i].start = map(arg, b->execs[i].start);
		b->execs[i].end = map(arg, b->execs[i].end);
	}
	for (size_t i = f->from.waits; i < f->to.waits; i++)
		b->waits[i].time = map(arg, b->waits[i].time);
	for (size_t i = f->from.ops; i < f->to.ops; i++) {
		b->ops[i].start = map(arg, b->ops[i].start);
		b->ops[i].end = map(arg, b->ops[i].end);
	}
	for (size_t i = f->from.memory; i < f->to.memory; i++)
		b->memory[i].time = map(arg, b->memory[i].time);
	for (size_t i = f->from.windows; i < f->to.windows; i++) {
		b->windows[i].start = map(arg, b->windows[i].start);
		b->windows[i].end = map(arg, b->windows[i].end);
	}
}

static uint64_t earlier(const void *arg, uint64_t at)
{
	return at - (uint64_t) * (const int64_t *)arg;
}

static uint64_t fitted(const void *arg, uint64_t at)
{
	return (uint64_t)aif_clock_fit_map(arg, (int64_t)at);
}

void kineto_file_move(struct aif_builder *b, const struct kineto_file *f, int64_t by)
{
	map_times(b, f, earlier, &by);
}

void kineto_file_fit(struct aif_builder *b, const struct kineto_file *f,
		     const struct aif_clock_fit *fit)
{
	map_times(b, f, fitted, fit);
}

void kineto_file_describe(const struct kineto_file *f, struct aif_buf *out)
{
	if (f->has_rank)
		aif_buf_printf(out, "rank %" PRId64 " (%s)", f->rank, f->name);
	else
		aif_buf_puts(out, f->name);
}

/* ---- names ---------------------------------------------------------------------------------------- */

/* A file's name without its folders, if no other has the same. */
static const char *short_name(const struct kineto_file *files, size_t n, size_t i)
{
	const char *slash = strrchr(files[i].name, '/'), *last = slash ? slash + 1 : files[i].name;

	for (size_t j = 0; j < n; j++) {
		slash = strrchr(files[j].name, '/');
		if (j != i && !strcmp(slash ? slash + 1 : files[j].name, last))
			return files[i].name;
	}
	return last;
}

/* Key of a row, and the string that makes it distinct. */
struct names {
	struct aif_builder *b;
	uint64_t (*key)(const struct aif_builder *b, size_t row);
	uint32_t *(*text)(struct aif_builder *b, size_t row);
	struct aif_map first; /* by key: the first file that has it */
	struct aif_map alike; /* keys that two files have */
};

/* Returns a process's name, whatever its number, or the number of one without a name. */
static uint64_t process_key(const struct aif_builder *b, size_t row)
{
	const struct aif_process *p = &b->p.processes[row];

	return p->cmdline != AIF_NONE && *aif_profile_str(&b->p, p->cmdline)
		       ? p->cmdline
		       : (uint64_t)1 << 32 | p->pid;
}

static uint32_t *process_text(struct aif_builder *b, size_t row)
{
	return &b->p.processes[row].cmdline;
}

static uint64_t device_key(const struct aif_builder *b, size_t row)
{
	return b->p.devices[row].name;
}

static uint32_t *device_text(struct aif_builder *b, size_t row)
{
	return &b->p.devices[row].name;
}

static int find_alike(struct names *s, size_t file, size_t from, size_t to)
{
	int r = 0;

	for (size_t i = from; i < to && !r; i++) {
		uint64_t key = s->key(s->b, i), known;

		if (!aif_map_get(&s->first, key, &known))
			r = aif_map_put(&s->first, key, file);
		else if (known != file)
			r = aif_map_put(&s->alike, key, 1);
	}
	return r;
}

static void name_alike(struct names *s, const char *file, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct aif_buf text = {0};
		uint64_t is_alike;
		uint32_t was = *s->text(s->b, i), id;

		if (!aif_map_get(&s->alike, s->key(s->b, i), &is_alike))
			continue;
		if (was != AIF_NONE && *aif_profile_str(&s->b->p, was))
			aif_buf_printf(&text, "%s (%s)", aif_profile_str(&s->b->p, was), file);
		else
			aif_buf_puts(&text, file);
		id = aif_builder_str(s->b, text.data, text.len);
		*s->text(s->b, i) = id;
		s->b->failed |= aif_buf_failed(&text);
		aif_buf_finish(&text);
	}
}

static int name_all(struct aif_builder *b, const struct kineto_file *files, size_t n)
{
	struct names processes = {.b = b, .key = process_key, .text = process_text},
		     devices = {.b = b, .key = device_key, .text = device_text};
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		r = find_alike(&processes, i, files[i].process, files[i].process_end);
		if (!r)
			r = find_alike(&devices, i, files[i].device, files[i].device_end);
	}
	for (size_t i = 0; i < n && !r; i++) {
		const char *file = short_name(files, n, i);

		name_alike(&processes, file, files[i].process, files[i].process_end);
		name_alike(&devices, file, files[i].device, files[i].device_end);
	}
	aif_map_finish(&processes.first);
	aif_map_finish(&processes.alike);
	aif_map_finish(&devices.first);
	aif_map_finish(&devices.alike);
	return r;
}

/* ---- when they were traced ------------------------------------------------------------------------- */

struct span {
	uint64_t from, to;
	uint64_t together_from, together_to; /* of it and those that it overlaps with */
	const struct kineto_file *file;
};

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return AIF_ORDER(x->from, y->from) ?: AIF_ORDER(x->file, y->file);
}

/* Files without a date begin with the first that has one: that is no worse than 1970, and can be looked at. */
static void date(struct aif_builder *b, const struct kineto_file *files, size_t n)
{
	const struct kineto_file *first = NULL;
	uint64_t begin = 0, from, to;

	for (size_t i = 0; i < n && !first; i++)
		if (kineto_file_span(b, &files[i], &from, &to) && kineto_is_dated(from)) {
			first = &files[i];
			begin = from;
		}
	for (size_t i = 0; i < n && first; i++) {
		struct aif_buf text = {0};

		if (!kineto_file_span(b, &files[i], &from, &to) || kineto_is_dated(from))
			continue;
		kineto_file_move(b, &files[i], (int64_t)(from - begin));
		kineto_file_describe(&files[i], &text);
		aif_buf_puts(&text, " now begins with ");
		kineto_file_describe(first, &text);
		aif_builder_loss(b, AIF_REASON_IMPORT_UNDATED, AIF_NONE,
				 aif_builder_puts(b, aif_buf_str(&text)), 1);
		aif_buf_finish(&text);
	}
}

static void report_apart(struct aif_builder *b, const struct span *before, const struct span *after,
			 uint64_t ns)
{
	struct aif_buf text = {0};

	kineto_file_describe(after->file, &text);
	aif_buf_puts(&text, " begins ");
	aif_human_ns(&text, ns);
	aif_buf_puts(&text, " after ");
	kineto_file_describe(before->file, &text);
	aif_buf_puts(&text, " has ended");
	aif_builder_loss(b, AIF_REASON_IMPORT_APART, AIF_NONE,
			 aif_builder_puts(b, aif_buf_str(&text)), 1);
	aif_buf_finish(&text);
}

/* Records [from, to) as not collected in the file's processes. */
static int gap(struct aif_builder *b, const struct kineto_file *f, uint64_t from, uint64_t to)
{
	for (size_t i = f->process; i < f->process_end && from < to; i++) {
		struct aif_window_row *row = aif_builder_window(b);

		if (!row)
			return -ENOMEM;
		*row = (struct aif_window_row){.start = from,
					       .end = to,
					       .window = (uint32_t)b->windows_len,
					       .device = AIF_NONE,
					       .process = (uint32_t)i,
					       .thread = AIF_NONE};
	}
	return 0;
}

/* Finds files traced together, those whose times overlap; between them and others there is a time in which
 * none was traced. */
static int part(struct aif_builder *b, struct span *s, size_t n)
{
	size_t last = 0; /* of those so far the one that ends last */
	size_t begin = 0;
	bool are_apart = false;
	uint64_t to = 0;
	int r = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i && (i == n || s[i].from > s[last].to)) {
			for (size_t j = begin; j < i; j++) {
				s[j].together_from = s[begin].from;
				s[j].together_to = s[last].to;
			}
			if (i < n)
				report_apart(b, &s[last], &s[i], s[i].from - s[last].to);
			are_apart |= i < n;
			begin = i;
		}
		if (i < n && (i == begin || s[i].to > s[last].to))
			last = i;
	}
	for (size_t i = 0; i < n; i++)
		to = AIF_MAX(to, s[i].to);
	for (size_t i = 0; i < n && are_apart && !r; i++) {
		r = gap(b, s[i].file, s[0].from, s[i].together_from);
		if (!r)
			r = gap(b, s[i].file, s[i].together_to, to);
	}
	return r;
}

/* Reports a loss that concerns two files. */
static void report_pair(struct aif_builder *b, int reason, const struct kineto_file *f,
			const char *between, const struct kineto_file *to)
{
	struct aif_buf text = {0};

	kineto_file_describe(f, &text);
	aif_buf_puts(&text, between);
	kineto_file_describe(to, &text);
	aif_builder_loss(b, reason, AIF_NONE, aif_builder_puts(b, aif_buf_str(&text)), 1);
	aif_buf_finish(&text);
}

static int by_rank(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->file->has_rank != y->file->has_rank)
		return x->file->has_rank ? -1 : 1;
	if (x->file->has_rank && x->file->rank != y->file->rank)
		return x->file->rank < y->file->rank ? -1 : 1;
	return by_start(a, b);
}

/* Reports files of one rank whose times overlap: windows of a rank follow each other. Leaves `s` in another order. */
static void find_twice(struct aif_builder *b, struct span *s, size_t n)
{
	size_t last = 0; /* of this rank the one that ends last */

	if (n)
		qsort(s, n, sizeof(*s), by_rank);
	for (size_t i = 1; i < n && s[i].file->has_rank; i++) {
		bool is_same = s[i].file->rank == s[last].file->rank;

		if (is_same && s[i].from <= s[last].to)
			report_pair(b, AIF_REASON_IMPORT_RANK_TWICE, s[i].file,
				    " is of the same time as ", s[last].file);
		if (!is_same || s[i].to > s[last].to)
			last = i;
	}
}

/* Each that does not say what the first one does. */
static void compare_worlds(struct aif_builder *b, const struct kineto_file *files, size_t n)
{
	const struct kineto_file *first = NULL;

	for (size_t i = 0; i < n; i++) {
		char between[80];

		if (!files[i].has_world)
			continue;
		if (!first)
			first = &files[i];
		if (files[i].world == first->world)
			continue;
		snprintf(between, sizeof(between),
			 " is of %" PRId64 " ranks, not of %" PRId64 " as ", files[i].world,
			 first->world);
		report_pair(b, AIF_REASON_IMPORT_WORLD, &files[i], between, first);
	}
}

int kineto_files_together(struct aif_builder *b, const struct kineto_file *files, size_t n)
{
	struct span *spans;
	size_t len = 0;
	int r;

	if (n < 2)
		return 0;
	r = name_all(b, files, n);
	spans = calloc(n, sizeof(*spans));
	if (r < 0 || !spans) {
		free(spans);
		return -ENOMEM;
	}
	date(b, files, n);
	for (size_t i = 0; i < n; i++) {
		spans[len].file = &files[i];
		len += kineto_file_span(b, &files[i], &spans[len].from, &spans[len].to);
	}
	qsort(spans, len, sizeof(*spans), by_start);
	r = len ? part(b, spans, len) : 0;
	find_twice(b, spans, len);
	compare_worlds(b, files, n);
	free(spans);
	return r;
}
