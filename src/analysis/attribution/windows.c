/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/windows.h"
#include "analysis/attribution/exposure.h"
#include "analysis/attribution/unmix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Counted samples
 *
 * A GPU counts its samples by window, instruction and reason. They have neither a time nor a
 * launch, but their code says the kernel. Several launch stacks of that kernel share them:
 *
 * In a window in which executions of the kernel are known, by the time that each stack's
 * executions had in it. Where the mix of stacks differs from window to window more is known:
 * unmix.c. Executions are not always recorded while samples are taken, as both cost time
 * (src/agent/cuda/duty.c); where there is none, by what each stack has of the kernel's time in
 * the whole recording, and by what was found of it elsewhere. Where a driver gives no times, by
 * its launches.
 *
 * A kernel from one stack is exact; what was unmixed, or hardly shared with others, is
 * apportioned; the rest is mixed. Widths never come from here. A kernel that no execution is
 * known of keeps no samples: they are counted as unmatched, as are those of no kernel's code,
 * and become rows of their own, as far as is known of whom; those of other programs are outside.
 *
 * Where a device does not tell whose samples they are (record/sources/xe_join.h), those that may
 * be another process's are mixed, too, whoever launched the kernel here.
 *
 * A window that lies in the time asked for partly has that part of its samples, of those kernels
 * that ran in it.
 *
 * With a selection of launching threads, the samples of a window that others' launches of the
 * same kernel have caused are given to those that were selected.
 */

/* Kernels with fewer samples, or a smaller share of all, are not worth unmixing. */
#define UNMIX_SAMPLES 200
#define UNMIX_SHARE   0.05
/* Stacks times places of a kernel, or stacks times windows: only a hostile file has more. */
#define MAX_CELLS (UINT64_C(1) << 23)
/* Groups times places of a kernel that are summed up before they go into the table of all: 32
 * MB. A sample row is shared by as many groups as ran in its window, 40 million times for a
 * million rows and 40 stacks a kernel. Of larger kernels samples stay whole. */
#define MAX_DENSE (UINT64_C(1) << 20)
/* Shares of samples that are handed out; beyond, windows count as if they had no executions. So
 * many take a minute. */
#define MAX_SHARES (UINT64_C(1) << 28)

struct family { /* a kernel in a process and device */
	uint32_t process, device, name;
	size_t groups, groups_len;
	size_t columns; /* different stacks, of graphs those that made the node: groups of one differ by queue and replay */
	size_t parts, parts_len;
	size_t samples, samples_len;
	uint64_t count;
};
struct cell { /* what a group has of a place */
	aif_fraction samples;
	bool shared, mixed;
};
struct place { /* an instruction and a reason, of a family */
	uint32_t frame, reason;
	uint64_t rest;     /* samples of windows without executions */
	bool is_ambiguous; /* some of them */
};

struct windows {
	const struct aif_scope *s;
	const struct aif_loaded *l;
	const struct aif_classified *c;
	struct aif_counted *counted;
	struct aif_insides *insides;
	struct aif_sample_counts *counts;
	struct aif_unmatched *unmatched;
	struct aif_exposure exposure;
	struct aif_map family_ids, stacks, place_ids;
	struct family *families;
	size_t families_len, families_cap;
	uint32_t *family_of;  /* of a group */
	uint32_t *groups;     /* sorted by family */
	uint32_t *column;     /* of a group: its stack, among those of its family */
	uint32_t *position;   /* of a group: itself, among those of its family */
	struct place *places; /* of the family at hand */
	size_t places_len, places_cap;
	uint64_t count;    /* of all families' samples */
	uint64_t shares;   /* that were given in windows */
	uint64_t whole;    /* times that samples were given whole */
	bool is_ambiguous; /* those that are given may be of another process */
};

/* ---- families ---- */

static int family_of(struct windows *x, uint32_t process, uint32_t device, uint32_t name, bool make,
		     uint32_t *ret)
{
	struct family f = {.process = process, .device = device, .name = name};
	uint32_t words[3] = {process, device, name};
	uint64_t key = aif_hash_bytes(words, sizeof(words)), id;

	*ret = AIF_NONE;
	for (; aif_map_get(&x->family_ids, key, &id); key++)
		if (x->families[id].process == process && x->families[id].device == device &&
		    x->families[id].name == name) {
			*ret = (uint32_t)id;
			return 0;
		}
	if (!make)
		return 0;
	id = x->families_len;
	if (aif_grow(&x->families, &x->families_cap, id + 1, sizeof(f)) < 0 ||
	    aif_map_put(&x->family_ids, key, id) < 0)
		return -ENOMEM;
	x->families[x->families_len++] = f;
	*ret = (uint32_t)id;
	return 0;
}

static int find_families(struct windows *x)
{
	const struct aif_groups *groups = &x->c->groups;
	size_t at = 0;
	int r = 0;

	x->family_of = calloc(groups->len + 1, sizeof(*x->family_of));
	x->groups = calloc(groups->len + 1, sizeof(*x->groups));
	x->column = calloc(groups->len + 1, sizeof(*x->column));
	x->position = calloc(groups->len + 1, sizeof(*x->position));
	if (!x->family_of || !x->groups || !x->column || !x->position)
		return -ENOMEM;
	for (size_t g = 0; g < groups->len && !r; g++) {
		const struct aif_group *group = &groups->at[g];

		x->family_of[g] = AIF_NONE;
		if (group->kind != AIF_LAUNCH_KERNEL || group->kernel == AIF_NONE)
			continue;
		r = family_of(x, group->process, group->device,
			      x->s->p->kernels[group->kernel].name, true, &x->family_of[g]);
		if (!r)
			x->families[x->family_of[g]].groups_len++;
	}
	for (size_t f = 0; f < x->families_len && !r; f++) {
		x->families[f].groups = at;
		at += x->families[f].groups_len;
		x->families[f].groups_len = 0;
	}
	for (size_t g = 0; g < groups->len && !r; g++) {
		const struct aif_group *group = &groups->at[g];
		uint32_t stack = group->capture != AIF_NONE ? group->capture : group->stack;
		uint64_t key = (uint64_t)x->family_of[g] << 32 | stack, column;
		struct family *f;

		if (x->family_of[g] == AIF_NONE)
			continue;
		f = &x->families[x->family_of[g]];
		x->position[g] = (uint32_t)f->groups_len;
		x->groups[f->groups + f->groups_len++] = (uint32_t)g;
		if (!aif_map_get(&x->stacks, key, &column)) {
			column = f->columns++;
			r = aif_map_put(&x->stacks, key, column);
		}
		x->column[g] = (uint32_t)column;
	}
	return r;
}

/* ---- samples ---- */

static int by_place(const void *a, const void *b)
{
	const struct aif_sample_row *x = a, *y = b;

	if (x->thread != y->thread) /* the family, for now */
		return x->thread < y->thread ? -1 : 1;
	return AIF_ORDER(x->window, y->window) ?: AIF_ORDER(x->frame, y->frame)
	       ?: AIF_ORDER(x->reason, y->reason);
}

/* Counts a sample that has no execution, as join.c does. 0 or -ENOMEM. */
static int drop(struct windows *x, const struct aif_sample_row *row, uint32_t name)
{
	struct aif_sample_counts *counts = x->counts;
	uint64_t *to = NULL;

	if (row->frame == AIF_NONE && row->reason == AIF_NONE)
		to = &counts->outside;
	else if (name != AIF_NONE)
		to = aif_sample_counts_uncollected(counts, x->s, x->l, x->c, row, name);
	if (!to)
		to = &counts->unmatched;
	*to += row->count;
	/* Samples without a match are of no known thread: a selection of threads has none of
	 * them. */
	return to != &counts->unmatched || aif_selection_is_of_threads(x->s->sel)
		       ? 0
		       : aif_unmatched_add(x->unmatched, row);
}

/* Keeps the samples that belong to a family, sorted, with the family as thread and an index as
 * window; drops the others. */
static int sort_samples(struct windows *x)
{
	struct aif_counted *c = x->counted;
	size_t kept = 0;

	for (size_t i = 0; i < c->samples_len; i++) {
		struct aif_sample_row s = c->samples[i];
		uint32_t name = aif_scope_kernel_name_at(x->s, s.frame), family = AIF_NONE,
			 window = aif_exposure_window(&x->exposure, &s);
		int r = name == AIF_NONE ? 0
					 : family_of(x, s.process, s.device, name, false, &family);

		if (r < 0)
			return r;
		/* The sample's kernel may have run in the part that was not asked for. */
		if (family == AIF_NONE && name != AIF_NONE &&
		    aif_exposure_is_cut(&x->exposure, window)) {
			x->counts->cut += s.count;
			continue;
		}
		if (family == AIF_NONE) {
			r = drop(x, &s, name);
			if (r < 0)
				return r;
			continue;
		}
		s.device = aif_exposure_is_ambiguous(&x->exposure, &s); /* the family has it, too */
		s.thread = family;
		s.window = window;
		x->families[family].samples_len++;
		x->families[family].count += s.count;
		x->count += s.count;
		c->samples[kept++] = s;
	}
	c->samples_len = kept;
	return 0;
}

static int measure_exposure(struct windows *x)
{
	const struct aif_exposure *e = &x->exposure;
	struct aif_counted *c = x->counted;
	size_t at = 0;
	int r;

	for (size_t g = 0; g < x->c->groups.len; g++)
		if (x->family_of[g] != AIF_NONE && !x->families[x->family_of[g]].samples_len)
			x->family_of[g] = AIF_NONE;
	r = aif_exposure_measure(&x->exposure, x->family_of);
	if (r < 0)
		return r;
	for (size_t i = 0; i < e->parts_len; i++) {
		struct family *f = &x->families[e->parts[i].family];

		if (!f->parts_len++)
			f->parts = i;
	}
	for (size_t i = 0; i < c->samples_len; i++)
		if (c->samples[i].window != AIF_NONE)
			c->samples[i].window = aif_exposure_number(e, c->samples[i].window);
	if (c->samples_len)
		qsort(c->samples, c->samples_len, sizeof(*c->samples), by_place);
	for (size_t f = 0; f < x->families_len; f++) {
		x->families[f].samples = at;
		at += x->families[f].samples_len;
	}
	return 0;
}

/* ---- a family ---- */

/* Rates by which a family's samples are split. */
struct split {
	const struct family *f;
	double *rates;      /* [column][place]; NULL: in proportion */
	bool *apart;        /* of a column: its samples are its own */
	double *weight;     /* scratch, of a group of the family */
	struct cell *cells; /* [place][position]; NULL: too many */
};

static double rate(const struct windows *x, const struct split *s, uint32_t group, uint32_t place)
{
	return s->rates ? s->rates[x->column[group] * x->places_len + place] : 1;
}

static int put(struct windows *x, const struct split *s, uint32_t place, uint32_t group,
	       aif_fraction samples, bool shared, bool mixed)
{
	struct cell *c;

	if (!s->cells)
		return aif_insides_add(x->insides,
				       &(struct aif_inside){.group = group,
							    .frame = x->places[place].frame,
							    .reason = x->places[place].reason,
							    .samples = samples,
							    .shared = shared,
							    .mixed = mixed});
	c = &s->cells[place * s->f->groups_len + x->position[group]];
	c->samples += samples;
	c->shared |= shared;
	c->mixed |= mixed;
	return 0;
}

static int put_cells(struct windows *x, const struct split *s)
{
	const uint32_t *groups = x->groups + s->f->groups;
	const struct cell *c = s->cells;
	int r = 0;

	for (size_t k = 0; c && k < x->places_len; k++)
		for (size_t i = 0; i < s->f->groups_len && !r; i++, c++) {
			struct aif_inside in = {.group = groups[i],
						.frame = x->places[k].frame,
						.reason = x->places[k].reason,
						.shared = c->shared,
						.mixed = c->mixed,
						.samples = c->samples};

			if (c->samples)
				r = aif_insides_append(x->insides, &in);
		}
	return r;
}

/* One part of each group is more than there are samples: each gets the whole numbers that its
 * share covers, counted from somewhere, as round.c does with fractions. */
static int give_whole(struct windows *x, const struct split *s, uint32_t place, uint64_t count,
		      const uint32_t *groups, size_t n, double sum, size_t most, bool shared)
{
	double end = (double)(aif_mix64(++x->whole) >> 11) / (double)(UINT64_C(1) << 53);
	uint64_t given = 0;
	int r = 0;

	for (size_t i = 0; i <= n && !r; i++) {
		size_t k = i == n ? most : i;
		uint64_t up_to = count;

		if (i < n) {
			end += (double)count * (s->weight[k] / sum);
			up_to = AIF_MIN((uint64_t)end, count);
		}
		if (up_to > given)
			r = put(x, s, place, groups[k],
				(aif_fraction)(up_to - given) << AIF_FRACTION_BITS,
				shared || x->is_ambiguous,
				x->is_ambiguous || (shared && !s->apart[x->column[groups[k]]]));
		given = AIF_MAX(given, up_to);
	}
	return r;
}

/* Gives `count` samples of a place to groups by weight, to the last unit. */
static int give(struct windows *x, const struct split *s, uint32_t place, uint64_t count,
		const uint32_t *groups, size_t n)
{
	aif_fraction all = (aif_fraction)count << AIF_FRACTION_BITS, left = all;
	bool shared = false;
	double sum = 0;
	size_t most = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		shared |= x->column[groups[i]] != x->column[groups[0]];
		sum += s->weight[i];
		most = s->weight[i] > s->weight[most] ? i : most;
	}
	x->counts->attributed += count;
	if (!s->cells && n > 1)
		return give_whole(x, s, place, count, groups, n, sum, most, shared);
	for (size_t i = 0; i <= n && !r; i++) {
		size_t k = i == n ? most : i; /* which comes last, and gets what is left */
		aif_fraction part = i == n ? left
				    : i == most
					    ? 0
					    : (aif_fraction)((double)all * (s->weight[k] / sum));

		part = AIF_MIN(part, left);
		left -= part;
		if (part)
			r = put(x, s, place, groups[k], part, shared || x->is_ambiguous,
				x->is_ambiguous || (shared && !s->apart[x->column[groups[k]]]));
	}
	return r;
}

static int place_of(struct windows *x, const struct aif_sample_row *s, uint32_t *ret)
{
	uint64_t key = (uint64_t)s->frame << 32 | s->reason, i;

	if (!aif_map_get(&x->place_ids, key, &i)) {
		i = x->places_len;
		if (aif_grow(&x->places, &x->places_cap, i + 1, sizeof(*x->places)) < 0 ||
		    aif_map_put(&x->place_ids, key, i) < 0)
			return -ENOMEM;
		x->places[x->places_len++] = (struct place){.frame = s->frame, .reason = s->reason};
	}
	*ret = (uint32_t)i;
	return 0;
}

/* From here on the samples' frames are places. */
static int find_places(struct windows *x, const struct family *f)
{
	int r = 0;

	x->places_len = 0;
	aif_map_clear(&x->place_ids);
	for (size_t i = 0; i < f->samples_len && !r; i++) {
		struct aif_sample_row *s = &x->counted->samples[f->samples + i];

		r = place_of(x, s, &s->frame);
	}
	return r;
}

/* The parts of the window that begins at parts[*at] or later; moves *at to them. */
static size_t parts_of(const struct windows *x, const struct family *f, uint32_t window, size_t *at)
{
	size_t end = f->parts + f->parts_len, n = 0;

	while (*at < end && x->exposure.parts[*at].window < window)
		++*at;
	while (*at + n < end && x->exposure.parts[*at + n].window == window)
		n++;
	return n;
}

static size_t windows_of(const struct windows *x, const struct family *f)
{
	size_t n = 0;

	for (size_t i = f->parts; i < f->parts + f->parts_len; i++)
		n += i == f->parts ||
		     x->exposure.parts[i].window != x->exposure.parts[i - 1].window;
	return n;
}

static void fill_unmix(const struct windows *x, const struct family *f, struct aif_unmix *u,
		       double *exposure)
{
	const struct aif_sample_row *samples = x->counted->samples + f->samples;
	size_t i = 0;

	u->windows = 0;
	for (size_t at = f->parts; at < f->parts + f->parts_len; u->windows++) {
		uint32_t window = x->exposure.parts[at].window;

		for (; at < f->parts + f->parts_len && x->exposure.parts[at].window == window; at++)
			exposure[u->windows * u->stacks + x->column[x->exposure.parts[at].group]] +=
				x->exposure.parts[at].ns;
		for (; i < f->samples_len && samples[i].window <= window; i++)
			if (samples[i].window == window)
				u->counts[u->counts_len++] = (struct aif_unmix_count){
					.window = (uint32_t)u->windows,
					.place = samples[i].frame,
					.samples = (double)samples[i].count};
	}
}

/* Numbers the instructions of places. */
static int find_instructions(const struct windows *x, struct aif_unmix *u, uint32_t *instruction)
{
	struct aif_map ids = {0};
	int r = 0;

	for (uint32_t k = 0; k < x->places_len && !r; k++) {
		uint64_t key = x->places[k].frame, i = u->instructions;

		if (!aif_map_get(&ids, key, &i)) {
			r = aif_map_put(&ids, key, i);
			u->instructions++;
		}
		instruction[k] = (uint32_t)i;
	}
	u->instruction = instruction;
	aif_map_finish(&ids);
	return r < 0 ? r : 0;
}

/* 0, and s->rates where the stacks can be told apart. */
static int unmix(struct windows *x, const struct family *f, struct split *s)
{
	struct aif_unmix u = {
		.windows = windows_of(x, f), .stacks = f->columns, .places = x->places_len};
	uint32_t *instruction;
	double *exposure;
	int r = -ENOMEM;

	if (f->columns < 2 || u.windows < 2 || f->count < UNMIX_SAMPLES ||
	    (double)f->count < UNMIX_SHARE * (double)x->count || u.windows > MAX_CELLS / u.stacks ||
	    u.places > MAX_CELLS / u.stacks)
		return 0;
	exposure = calloc(u.windows * u.stacks, sizeof(*exposure));
	u.counts = calloc(f->samples_len, sizeof(*u.counts));
	instruction = calloc(AIF_MAX(u.places, 1), sizeof(*instruction));
	s->rates = calloc(u.places * u.stacks, sizeof(*s->rates));
	if (exposure && u.counts && instruction && s->rates) {
		fill_unmix(x, f, &u, exposure);
		u.exposure = exposure;
		r = find_instructions(x, &u, instruction);
		if (!r)
			r = aif_unmix(&u, s->rates, s->apart);
	}
	if (r) {
		free(s->rates);
		s->rates = NULL;
	}
	free(exposure);
	free(instruction);
	free(u.counts);
	return r == -ENODATA ? 0 : r;
}

/* A stack that has nearly everything is hardly wrong by what it shares. */
static void find_most(const struct windows *x, const struct family *f, struct split *s)
{
	const uint32_t *groups = x->groups + f->groups;
	double all = 0;

	memset(s->weight, 0, f->groups_len * sizeof(*s->weight));
	for (size_t i = 0; i < f->groups_len; i++) {
		s->weight[x->column[groups[i]]] += (double)x->c->groups.at[groups[i]].time;
		all += (double)x->c->groups.at[groups[i]].time;
	}
	for (size_t i = 0; i < f->columns; i++)
		s->apart[i] = s->weight[i] >= AIF_UNMIX_MOST * all;
}

/* The samples of windows with executions; the others are left in `rest`. */
static int split_windows(struct windows *x, const struct family *f, struct split *s)
{
	uint32_t *groups = calloc(f->groups_len, sizeof(*groups));
	size_t at = f->parts;
	int r = groups ? 0 : -ENOMEM;

	for (size_t i = f->samples; i < f->samples + f->samples_len && !r; i++) {
		const struct aif_sample_row *row = &x->counted->samples[i];
		size_t n = parts_of(x, f, row->window, &at);
		double sum = 0;

		x->shares += n;
		n = x->shares > MAX_SHARES ? 0 : n;
		for (size_t k = 0; k < n; k++) {
			groups[k] = x->exposure.parts[at + k].group;
			s->weight[k] =
				x->exposure.parts[at + k].ns * rate(x, s, groups[k], row->frame);
			sum += s->weight[k];
		}
		/* No stack was ever seen at that place: splits by exposure only. */
		for (size_t k = 0; k < n && !(sum > 0); k++)
			s->weight[k] = x->exposure.parts[at + k].ns;
		x->is_ambiguous = row->device;
		if (n) {
			r = give(x, s, row->frame, row->count, groups, n);
		} else {
			x->places[row->frame].rest += row->count;
			x->places[row->frame].is_ambiguous |= row->device;
		}
	}
	free(groups);
	return r;
}

static int split_rest(struct windows *x, const struct family *f, struct split *s)
{
	const uint32_t *groups = x->groups + f->groups;
	int r = 0;

	for (uint32_t k = 0; k < x->places_len && !r; k++) {
		double sum = 0;

		if (!x->places[k].rest)
			continue;
		if (x->places_len > MAX_CELLS / f->groups_len) {
			x->counts->unmatched += x->places[k].rest;
			continue;
		}
		for (size_t i = 0; i < f->groups_len; i++) {
			const struct aif_group *g = &x->c->groups.at[groups[i]];

			s->weight[i] = (double)(g->untimed ? g->untimed : g->time) *
				       rate(x, s, groups[i], k);
			sum += s->weight[i];
		}
		for (size_t i = 0; i < f->groups_len && !(sum > 0); i++)
			s->weight[i] = (double)x->c->groups.at[groups[i]].time + 1;
		x->is_ambiguous = x->places[k].is_ambiguous;
		r = give(x, s, k, x->places[k].rest, groups, f->groups_len);
	}
	return r;
}

static int split_family(struct windows *x, const struct family *f)
{
	struct split s = {.f = f};
	int r = -ENOMEM;

	s.apart = calloc(f->groups_len, sizeof(*s.apart));
	s.weight = calloc(f->groups_len, sizeof(*s.weight));
	if (s.apart && s.weight) {
		r = find_places(x, f);
		find_most(x, f, &s);
	}
	if (!r && x->places_len <= MAX_DENSE / f->groups_len) {
		s.cells = calloc(x->places_len * f->groups_len, sizeof(*s.cells));
		r = s.cells ? 0 : -ENOMEM;
	}
	if (!r)
		r = unmix(x, f, &s);
	if (!r)
		r = split_windows(x, f, &s);
	if (!r)
		r = split_rest(x, f, &s);
	if (!r)
		r = put_cells(x, &s);
	free(s.cells);
	free(s.apart);
	free(s.weight);
	free(s.rates);
	return r;
}

int aif_split_counted(const struct aif_scope *scope, const struct aif_loaded *l,
		      const struct aif_classified *c, struct aif_counted *counted,
		      struct aif_insides *insides, struct aif_sample_counts *counts,
		      struct aif_unmatched *unmatched)
{
	struct windows x = {.s = scope,
			    .l = l,
			    .c = c,
			    .counted = counted,
			    .insides = insides,
			    .counts = counts,
			    .unmatched = unmatched};
	int r;

	if (!counted->samples_len)
		return 0;
	r = aif_exposure_init(&x.exposure, scope, c, counted);
	if (!r)
		r = find_families(&x);
	if (!r)
		r = sort_samples(&x);
	if (!r)
		r = measure_exposure(&x);
	for (size_t f = 0; f < x.families_len && !r; f++)
		if (x.families[f].samples_len)
			r = split_family(&x, &x.families[f]);
	if (!r)
		r = aif_unmatched_make_rows(unmatched, scope);
	aif_exposure_finish(&x.exposure);
	aif_map_finish(&x.family_ids);
	aif_map_finish(&x.stacks);
	aif_map_finish(&x.place_ids);
	free(x.families);
	free(x.family_of);
	free(x.groups);
	free(x.column);
	free(x.position);
	free(x.places);
	return r;
}
