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
/* Half of the ends agree so much better than the clocks. */
#define AGREE_PART 4
/* Ends that differ by more from the line through them are not of the same collectives. */
#define APART_NS INT64_C(2000000)
/* Least number of collectives for an offset of clocks. */
#define LEAST 3
/* The most by which the first collectives of two traces are taken to be apart. */
#define SHIFT_MAX 8
/* Greatest offset between hosts that know the date; more apart are two runs. */
#define CLOCKS_MAX_NS (INT64_C(3600) * 1000000000)

struct end {
	uint64_t
		group; /* of the communicator or, where it is not known, of the kernel: string of the profile */
	uint32_t
		nth; /* of that group: its number on all ranks where .is_counted, else in order of time */
	bool is_counted;
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

static int by_group_and_time(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->is_counted && y->is_counted && x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static struct end end_of(const struct aif_profile *p, const struct aif_exec_row *x)
{
	struct end e = {.group = (uint64_t)1 << 32 | p->kernels[x->kernel].name,
			.start = x->start,
			.end = x->end};

	if (x->collective && p->collectives[x->collective - 1].communicator != AIF_NONE) {
		e.group = p->collectives[x->collective - 1].communicator;
		e.is_counted = x->sequence;
		e.nth = x->sequence;
	}
	return e;
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
		r->ends[r->len++] = end_of(p, x);
	}
	free(is);
	if (e)
		return -ENOMEM;
	if (r->len)
		qsort(r->ends, r->len, sizeof(*r->ends), by_group_and_time);
	for (size_t i = 1; i < r->len; i++)
		if (r->ends[i].group == r->ends[i - 1].group && !r->ends[i].is_counted)
			r->ends[i].nth = r->ends[i - 1].nth + 1;
	return 0;
}

/* Difference of two ranks' clocks by the ends of their collectives. */
struct offset {
	enum { OFFSET_UNKNOWN, OFFSET_SMALL, OFFSET_FOUND } is;
	int64_t ns; /* how much later they end: the median */
	size_t n;
	struct aif_clock_fit fit;
};

struct pairs {
	struct aif_clock_readings *at;
	size_t len;
};

static void pair_add(struct pairs *d, const struct end *x, const struct end *y)
{
	d->at[d->len++] = (struct aif_clock_readings){.at = (int64_t)x->end,
						      .ns = (int64_t)(x->end - y->end)};
}

/* Pairs x[i] with y[i + shift]. */
static void pair_shifted(struct pairs *d, const struct end *x, size_t n, const struct end *y,
			 size_t m, int shift)
{
	for (size_t i = shift < 0 ? (size_t)-shift : 0; i < n; i++) {
		size_t k = (size_t)((int64_t)i + shift);

		if (k >= m)
			break;
		pair_add(d, &x[i], &y[k]);
	}
}

/* Pairs by the order in time. Where a rank has more, traces do not begin or end together: then by the shift with which ends
 * agree best. 0 or -ENOMEM. */
static int pair_by_order(struct pairs *d, const struct end *x, size_t n, const struct end *y,
			 size_t m)
{
	size_t before = d->len;
	uint64_t best = UINT64_MAX;
	int found = 0, r = 0;

	for (int shift = -SHIFT_MAX; shift <= SHIFT_MAX && n != m && !r; shift++) {
		struct aif_clock_fit fit;

		d->len = before;
		pair_shifted(d, x, n, y, m, shift);
		if (d->len - before < LEAST || 2 * (d->len - before) < AIF_MIN(n, m))
			continue;
		r = aif_clock_fit_make(d->at + before, d->len - before, &fit);
		if (!r && fit.half < best) {
			best = fit.half;
			found = shift;
		}
	}
	d->len = before;
	if (!r && (n == m || best < APART_NS))
		pair_shifted(d, x, n, y, m, found);
	return r;
}

/* Pairs operations of one communicator, or executions of one kernel: by their numbers, else by their order. 0 or -ENOMEM. */
static int pair_group(struct pairs *d, const struct end *x, size_t n, const struct end *y, size_t m)
{
	bool counted = true;

	for (size_t i = 0; i < n; i++)
		counted &= x[i].is_counted;
	for (size_t i = 0; i < m; i++)
		counted &= y[i].is_counted;
	if (!counted)
		return pair_by_order(d, x, n, y, m);
	for (size_t i = 0, k = 0; i < n && k < m;) {
		if (x[i].nth != y[k].nth)
			x[i].nth < y[k].nth ? i++ : k++;
		else
			pair_add(d, &x[i++], &y[k++]);
	}
	return 0;
}

/* 0 or -ENOMEM. */
static int compare(const struct rank *r, const struct rank *to, struct offset *ret)
{
	struct pairs d = {.at = malloc((r->len + 1) * sizeof(*d.at))};
	size_t i = 0, j = 0;
	int e = 0;

	if (!d.at)
		return -ENOMEM;
	while (!e && i < r->len && j < to->len) {
		size_t a = i, b = j;

		while (a < r->len && r->ends[a].group == r->ends[i].group)
			a++;
		while (b < to->len && to->ends[b].group == to->ends[j].group)
			b++;
		if (r->ends[i].group < to->ends[j].group) {
			i = a;
		} else if (r->ends[i].group > to->ends[j].group) {
			j = b;
		} else {
			e = pair_group(&d, &r->ends[i], a - i, &to->ends[j], b - j);
			i = a;
			j = b;
		}
	}
	*ret = (struct offset){.n = d.len};
	if (!e && d.len >= LEAST) {
		e = aif_clock_fit_make(d.at, d.len, &ret->fit);
		ret->ns = ret->fit.mid_ns;
		if (llabs(ret->ns) <= SAME_NS && ret->fit.drift == 0)
			ret->is = ret->fit.half <= SAME_NS ? OFFSET_SMALL : OFFSET_UNKNOWN;
		else if (ret->fit.half <= SAME_NS ||
			 ret->fit.half < (uint64_t)llabs(ret->ns) / AGREE_PART)
			ret->is = OFFSET_FOUND;
		if (ret->fit.half > APART_NS)
			ret->is = OFFSET_UNKNOWN;
	}
	free(d.at);
	return e;
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
		if (o->fit.drift != 0)
			aif_buf_printf(&text, ", and drifted by %.1f ppm", o->fit.drift * 1e6);
		aif_buf_puts(&text, "; within ");
		aif_human_ns(&text, o->fit.within);
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

/* Returns true if both files say that they are of one host, or of one rank. */
static bool is_one_clock(const struct aif_builder *b, const struct kineto_file *f,
			 const struct kineto_file *to)
{
	uint32_t x = f->process < f->process_end ? b->p.processes[f->process].host : AIF_NONE;
	uint32_t y = to->process < to->process_end ? b->p.processes[to->process].host : AIF_NONE;

	return (f->has_rank && to->has_rank && f->rank == to->rank) || (x != AIF_NONE && x == y);
}

/* Notes how well a file's clock agrees with the others, in its processes. */
static void note_clock(struct aif_builder *b, const struct kineto_file *f, bool is_apart,
		       uint64_t error)
{
	for (size_t i = f->process; i < f->process_end; i++) {
		if (is_apart)
			b->p.processes[i].flags |= AIF_PROCESS_CLOCK_APART;
		b->p.processes[i].clock_error_ns = (uint32_t)AIF_MIN(error, UINT32_MAX);
	}
}

/* Notes ranks whose collectives do not say how their clock is related, which only matters where there are several. */
static void report_apart(struct aif_builder *b, const struct kineto_file *f,
			 const struct kineto_file *to, const struct offset *o)
{
	struct aif_buf text = {0};

	kineto_file_describe(f, &text);
	aif_buf_puts(&text, " and ");
	kineto_file_describe(to, &text);
	if (o->n < LEAST)
		aif_buf_printf(&text, ": fewer than %d collectives in common", LEAST);
	else
		aif_buf_printf(&text, ": the ends of %zu collectives do not agree", o->n);
	aif_builder_loss(b, AIF_REASON_IMPORT_CLOCK_APART, AIF_NONE,
			 aif_builder_puts(b, aif_buf_str(&text)), 1);
	aif_buf_finish(&text);
	note_clock(b, f, true, 0);
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
		if (r || o.is == OFFSET_UNKNOWN ||
		    !may_align(b, &s->files[i], &s->files[ref], &o)) {
			if (!r && s->ranks[i].len && s->ranks[ref].len &&
			    !is_one_clock(b, &s->files[i], &s->files[ref]))
				report_apart(b, &s->files[i], &s->files[ref], &o);
			continue;
		}
		was_dated = !kineto_file_span(b, &s->files[i], &from, &to) || kineto_is_dated(from);
		if (o.is == OFFSET_FOUND && o.ns > 0 && from < (uint64_t)o.ns) {
			make_room(b, s, (uint64_t)o.ns - from);
			o.fit.from += o.ns - (int64_t)from;
		}
		if (o.is == OFFSET_FOUND)
			kineto_file_fit(b, &s->files[i], &o.fit);
		note_clock(b, &s->files[i], false,
			   o.fit.within + (o.is == OFFSET_SMALL ? (uint64_t)llabs(o.ns) : 0));
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
	bool has_calls = false;

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
		if (!has_calls) /* a trace has all of them: what blames idle time may rely on that */
			aif_builder_meta(b, "calls", "aiu");
		has_calls = true;
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
