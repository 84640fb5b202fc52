/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/ranks.h"

#include "base/human.h"
#include "import/kineto/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* Less than this apart is as good as the same: hosts with NTP or of one clock; what a collective's ends differ by. */
#define SAME_NS INT64_C(100000)
/* Least number of collectives for an offset of clocks. */
#define LEAST 3
/* Greatest offset between hosts that know the date; more apart are two runs. */
#define CLOCKS_MAX_NS (INT64_C(3600) * 1000000000)

struct end {
	uint32_t name; /* of the kernel: string of the profile */
	uint32_t nth;  /* of that name, in order of time */
	uint64_t start, end;
};

struct rank {
	struct end *ends;
	size_t len;
};

struct ranks {
	struct rank *ranks;
	struct kineto_file *files; /* as many */
	size_t len, cap, files_cap;
	struct kineto_group aiu[AIF_AIU_GROUP_COUNT]; /* of all files */
	uint64_t events, left_out_events, flows, not_kept, overhead_ns, python_calls;
	uint64_t backward[KINETO_BACKWARD_COUNT];
	struct kineto_left_out left_out[KINETO_LEFT_OUT_MAX];
};

/* The process that a device's work is of if nothing says whose is made before all others. */
static size_t first_process(const struct kineto *k)
{
	size_t first = k->b->p.processes_len;

	for (size_t i = 0; i < k->machine.pids_len; i++)
		first = AIF_MIN(first, (size_t)k->machine.pids[i].process);
	return first;
}

int kineto_ranks_begin(struct kineto *k, void **state)
{
	struct ranks *s = *state;
	struct kineto_file *f;

	if (!s)
		*state = s = calloc(1, sizeof(*s));
	if (!s || aif_grow(&s->ranks, &s->cap, s->len + 1, sizeof(*s->ranks)) < 0 ||
	    aif_grow(&s->files, &s->files_cap, s->len + 1, sizeof(*s->files)) < 0)
		return -ENOMEM;
	s->ranks[s->len] = (struct rank){0};
	f = &s->files[s->len++];
	*f = (struct kineto_file){.from = kineto_rows_of(k->b),
				  .rank = k->machine.rank,
				  .world = k->machine.world,
				  .has_rank = k->machine.has_rank,
				  .has_world = k->machine.has_world,
				  .process = first_process(k),
				  .device = k->b->p.devices_len};
	f->to = f->from;
	f->process_end = f->process;
	f->device_end = f->device;
	snprintf(f->name, sizeof(f->name), "%s", k->file);
	return 0;
}

/* All until now is its. */
static void file_end(struct kineto_file *f, const struct aif_builder *b)
{
	f->to = kineto_rows_of(b);
	f->process_end = b->p.processes_len;
	f->device_end = b->p.devices_len;
}

static int by_name_and_time(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_collective(const char *kernel)
{
	static const char *const names[] = {"nccl", "rccl", "oneccl", "hccl"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (strcasestr(kernel, names[i]))
			return true;
	return false;
}

int kineto_ranks_end(struct kineto *k, void **state)
{
	struct ranks *s = *state;
	struct rank *r = &s->ranks[s->len - 1];
	struct kineto_file *f = &s->files[s->len - 1];
	const struct aif_profile *p = &k->b->p;
	size_t cap = 0;
	/* State by kernel: 0 not looked at, 1 no, 2 yes. There are far fewer kernels than
	 * executions. */
	uint8_t *is = calloc(p->kernels_len + 1, 1);
	int e = is ? 0 : -ENOMEM;

	file_end(f, k->b);
	s->events += k->counts.events;
	s->left_out_events += k->counts.bad;
	s->flows += k->counts.not_kept_flows;
	s->not_kept += k->counts.not_kept;
	for (unsigned i = 0; i < KINETO_BACKWARD_COUNT; i++)
		s->backward[i] += k->backward.nodes[i];
	for (size_t i = 0; i < KINETO_LEFT_OUT_MAX && k->counts.left_out[i].count; i++)
		kineto_leave_out(s->left_out, k->counts.left_out[i].what,
				 strlen(k->counts.left_out[i].what), k->counts.left_out[i].count);
	s->overhead_ns += (uint64_t)k->counts.overhead_ns;
	s->python_calls += k->counts.python_calls;
	for (unsigned g = 0; g < AIF_AIU_GROUP_COUNT; g++) {
		s->aiu[g].calls += k->counts.aiu[g].calls;
		s->aiu[g].ns += k->counts.aiu[g].ns;
	}
	for (size_t i = f->from.execs; i < f->to.execs && !e; i++) {
		const struct aif_exec_row *x = &k->b->execs[i];
		uint32_t name;

		if (x->kernel == AIF_NONE)
			continue;
		name = p->kernels[x->kernel].name;
		if (!is[x->kernel])
			is[x->kernel] = 1 + is_collective(aif_profile_str(p, name));
		if (is[x->kernel] == 1)
			continue;
		e = aif_grow(&r->ends, &cap, r->len + 1, sizeof(*r->ends));
		if (e)
			break;
		r->ends[r->len++] = (struct end){.name = name, .start = x->start, .end = x->end};
	}
	free(is);
	if (e)
		return -ENOMEM;
	if (r->len)
		qsort(r->ends, r->len, sizeof(*r->ends), by_name_and_time);
	for (size_t i = 1; i < r->len; i++)
		if (r->ends[i].name == r->ends[i - 1].name)
			r->ends[i].nth = r->ends[i - 1].nth + 1;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Offset of two ranks' clocks by the ends of their collectives. */
struct offset {
	enum { OFFSET_UNKNOWN, OFFSET_SMALL, OFFSET_FOUND } is;
	int64_t ns; /* how much later they end */
	size_t n;
};

/* Compares collectives of a name only if both ranks have as many. 0 or -ENOMEM. */
static int compare(const struct rank *r, const struct rank *to, struct offset *ret)
{
	int64_t *d = malloc((r->len + 1) * sizeof(*d)), median;
	size_t n = 0, i = 0, j = 0;

	if (!d)
		return -ENOMEM;
	while (i < r->len && j < to->len) {
		size_t a = i, b = j;

		while (a < r->len && r->ends[a].name == r->ends[i].name)
			a++;
		while (b < to->len && to->ends[b].name == to->ends[j].name)
			b++;
		if (r->ends[i].name < to->ends[j].name) {
			i = a;
		} else if (r->ends[i].name > to->ends[j].name) {
			j = b;
		} else {
			for (; a - i == b - j && i < a; i++, j++)
				d[n++] = (int64_t)(r->ends[i].end - to->ends[j].end);
			i = a;
			j = b;
		}
	}
	*ret = (struct offset){.n = n};
	if (n >= LEAST) {
		qsort(d, n, sizeof(*d), by_value);
		ret->ns = median = d[n / 2];
		for (i = 0; i < n; i++)
			d[i] = llabs(d[i] - median);
		qsort(d, n, sizeof(*d), by_value);
		if (llabs(median) <= SAME_NS)
			ret->is = d[n / 2] <= SAME_NS ? OFFSET_SMALL : OFFSET_UNKNOWN;
		else if (d[n / 2] < llabs(median) / 4) /* half of them agree much better */
			ret->is = OFFSET_FOUND;
	}
	free(d);
	return 0;
}

/* Returns the rank whose clock the others are put on: the first one that is dated, else the first
 * with collectives. */
static size_t reference(const struct aif_builder *b, const struct ranks *s)
{
	uint64_t from, to;

	for (size_t i = 0; i < s->len; i++)
		if (s->ranks[i].len && kineto_file_span(b, &s->files[i], &from, &to) &&
		    kineto_is_dated(from))
			return i;
	for (size_t i = 0; i < s->len; i++)
		if (s->ranks[i].len)
			return i;
	return 0;
}

/* Two traces of one rank are no two clocks, nor are dates that are further apart than clocks are. */
static bool may_align(const struct aif_builder *b, const struct kineto_file *f,
		      const struct kineto_file *to, const struct offset *o)
{
	uint64_t x, y, end;

	if (f->has_rank && to->has_rank && f->rank == to->rank)
		return false;
	return !kineto_file_span(b, f, &x, &end) || !kineto_file_span(b, to, &y, &end) ||
	       !kineto_is_dated(x) || !kineto_is_dated(y) || llabs(o->ns) <= CLOCKS_MAX_NS;
}

/* Bytes for offsets in a line of `info`, with two names of files each. */
#define REPORT_MAX_BYTES 3000

/* Reports an offset, also one too small to be moved by. */
static void report_offset(struct aif_builder *b, const struct kineto_file *f,
			  const struct kineto_file *to, const struct offset *o, bool was_dated,
			  struct aif_buf *all, size_t *more)
{
	struct aif_buf text = {0};

	kineto_file_describe(f, &text);
	if (was_dated) {
		aif_buf_puts(&text, ": its clock was ");
		aif_human_ns(&text, (uint64_t)llabs(o->ns));
		aif_buf_puts(&text, o->ns < 0 ? " behind that of " : " ahead of that of ");
		kineto_file_describe(to, &text);
		aif_buf_printf(&text, ", say the ends of %zu collectives", o->n);
	} else {
		aif_buf_puts(&text, ": has no date; it was placed beside ");
		kineto_file_describe(to, &text);
		aif_buf_printf(&text, " by the ends of %zu collectives", o->n);
	}
	if (all->len > REPORT_MAX_BYTES)
		++*more;
	else
		aif_buf_printf(all, "%s%s%s", all->len ? "; " : "", aif_buf_str(&text),
			       o->is == OFFSET_SMALL
				       ? " (not moved: up to 100 us may be the collectives')"
				       : "");
	if (o->is == OFFSET_FOUND)
		aif_builder_loss(b, AIF_REASON_IMPORT_RANK_CLOCK, AIF_NONE,
				 aif_builder_puts(b, aif_buf_str(&text)), 1);
	aif_buf_finish(&text);
}

/* Times without a date begin at about 0, and none can be before that: all of them become later. */
static void make_room(struct aif_builder *b, const struct ranks *s, uint64_t ns)
{
	uint64_t from, to;

	for (size_t i = 0; i < s->len; i++)
		if (kineto_file_span(b, &s->files[i], &from, &to) && !kineto_is_dated(from))
			kineto_file_move(b, &s->files[i], -(int64_t)ns);
}

static int align(struct aif_builder *b, const struct ranks *s)
{
	size_t ref = reference(b, s), more = 0;
	struct aif_buf all = {0};
	int r = 0;

	for (size_t i = 0; i < s->len && !r; i++) {
		uint64_t from, to;
		bool was_dated;
		struct offset o;

		if (i == ref)
			continue;
		r = compare(&s->ranks[i], &s->ranks[ref], &o);
		if (r || o.is == OFFSET_UNKNOWN || !may_align(b, &s->files[i], &s->files[ref], &o))
			continue;
		was_dated = !kineto_file_span(b, &s->files[i], &from, &to) || kineto_is_dated(from);
		if (o.is == OFFSET_FOUND && o.ns > 0 && from < (uint64_t)o.ns)
			make_room(b, s, (uint64_t)o.ns - from);
		if (o.is == OFFSET_FOUND)
			kineto_file_move(b, &s->files[i], o.ns);
		report_offset(b, &s->files[i], &s->files[ref], &o, was_dated, &all, &more);
	}
	if (more)
		aif_buf_printf(&all, "; and %zu more", more);
	if (all.len)
		aif_builder_meta(b, "imported.clocks", "%s", aif_buf_str(&all));
	aif_buf_finish(&all);
	return r;
}

/* Returns true for a word that takes a plural; other names are categories, as they stand in the
 * file. */
static bool is_word(const char *what)
{
	return !strcmp(what, "counter") || !strcmp(what, "instant");
}

/* Stores what the files had, and how long the parts of AIU's runtime took, for `info` and the
 * summary. */
static void report(struct aif_builder *b, const struct ranks *s)
{
	const struct kineto_group *groups = s->aiu;
	struct aif_buf kinds = {0};

	if (s->len > 1)
		aif_builder_meta(b, "imported.files", "%zu", s->len);
	for (size_t i = 0; i < KINETO_LEFT_OUT_MAX && s->left_out[i].count; i++)
		aif_buf_printf(&kinds, "%s%" PRIu64 " %s%s", i ? ", " : " (", s->left_out[i].count,
			       s->left_out[i].what,
			       s->left_out[i].count != 1 && is_word(s->left_out[i].what) ? "s"
											 : "");
	aif_builder_meta(b, "imported.events",
			 "%" PRIu64 "; left out: %" PRIu64 "; not kept: %" PRIu64
			 " flow%s, %" PRIu64 " of other kinds%s%s",
			 s->events, s->left_out_events, s->flows, s->flows == 1 ? "" : "s",
			 s->not_kept, aif_buf_str(&kinds), kinds.len ? ")" : "");
	aif_builder_loss(b, AIF_REASON_IMPORT_OTHER_KIND, AIF_NONE,
			 kinds.len ? aif_builder_puts(b, aif_buf_str(&kinds) + 2) : AIF_NONE,
			 s->not_kept);
	aif_buf_finish(&kinds);
	if (s->backward[KINETO_BACKWARD_JOINED] || s->backward[KINETO_BACKWARD_ALONE])
		aif_builder_meta(b, "imported.backward",
				 "%" PRIu64 " nodes joined to their forward, %" PRIu64
				 " that add to gradients behind them, %" PRIu64 " not joined",
				 s->backward[KINETO_BACKWARD_JOINED],
				 s->backward[KINETO_BACKWARD_ADDED],
				 s->backward[KINETO_BACKWARD_ALONE]);
	if (s->overhead_ns)
		aif_builder_meta(b, "imported.profiler_ns", "%" PRIu64, s->overhead_ns);
	if (s->python_calls)
		aif_builder_meta(b, "imported.python_calls", "%" PRIu64, s->python_calls);
	for (unsigned g = AIF_AIU_NONE + 1; g < AIF_AIU_GROUP_COUNT; g++) {
		char key[64];

		if (!groups[g].calls)
			continue;
		snprintf(key, sizeof(key), "aiu.%s", aif_aiu_group_name(g));
		aif_builder_meta(b, key, "%" PRIu64 " calls, %" PRIu64 ".%03u us", groups[g].calls,
				 groups[g].ns / 1000, (unsigned)(groups[g].ns % 1000));
	}
}

void kineto_ranks_add(void *state, const struct aif_builder *b, uint64_t not_kept)
{
	struct ranks *s = state;

	file_end(&s->files[s->len - 1], b);
	s->not_kept += not_kept;
}

int kineto_ranks_finish(struct aif_builder *b, void *state, int result, struct aif_err *err)
{
	struct ranks *s = state;
	int r = 0;

	(void)err;
	if (s && !result) {
		r = align(b, s);
		if (!r)
			r = kineto_files_together(b, s->files, s->len);
		report(b, s);
	}
	for (size_t i = 0; s && i < s->len; i++)
		free(s->ranks[i].ends);
	if (s) {
		free(s->ranks);
		free(s->files);
	}
	free(s);
	return r < 0 || b->failed ? -ENOMEM : 0;
}
