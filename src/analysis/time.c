/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time.h"

#include "analysis/facts.h"
#include "base/sort.h"

#include <errno.h>
#include <string.h>

/*
 * A clock is a track: points (value, base) in order of base time, made from the bracketed pairs.
 *
 *     value |              ,x        x: pairs, base in the middle of the bracket
 *           |           ,x'          between two: linear, so that a slew follows by itself
 *           |    step ->:
 *           |       ,x''.            a step: the earlier slope goes on until the later pair
 *           |    ,x'
 *           +------------------ base
 *
 * What is a step? The slope between two pairs is compared with the clock's usual one: 1 for clocks
 * that count ns of the host, else the median of its intervals, which a few steps do not move. An
 * interval that deviates by more than STEP_PPM plus what the brackets leave open contains a step.
 * Points between two steps form a run; values grow within a run, so each value has one time there,
 * and runs are tried in order.
 *
 * Before a run's first point and after its last the slope of the interval there goes on, where it is known well:
 * two pairs 0.1 ms apart, each right to 20 ns, are off by 400 ppm, which in the second until the next pair makes
 * 400 us. Where brackets leave too much open, the usual slope goes on instead, which is 1 for a clock that may
 * count ns by all that is known of it.
 *
 * What is a wrap? A value that falls, where adding 2^32 (36, 40, 48, 56) makes the slope usual. Then
 * all values of the clock are that wide and all points are unrolled, with as many turns as the usual
 * slope asks for: pairs may be further apart than one turn.
 *
 * All arithmetic is on integers, in 128 bits where products need them. Nothing here trusts its
 * input: pairs may be in any order and contradict each other.
 */

/* NTP slews at most 500 ppm; a device oscillator is off by less than 100. */
#define STEP_PPM 2000
/* Uncertainty that the brackets may leave in a slope that goes on beyond its interval: with brackets of 200 ns,
 * 0.1 s suffice. */
#define SURE_PPM 2
/* A stamp may lie this much before `after` and still belong to it: far more than mapping errors,
 * far less than the shortest turn of a counter (4.3 s at 32 bits and 1 GHz). */
#define AFTER_SLACK_NS 1000000
/* A clock that steps more often is no clock. Bounds the search of one stamp. */
#define RUNS_MAX 256
/* A pair is dropped when its bracket is more than this many times as wide as the median. */
#define BRACKET_FACTOR 4
#define BRACKET_NS     1000

typedef __int128 i128;
typedef unsigned __int128 u128;

/* base = at.base + (value - at.value) * num / den */
struct point {
	uint64_t value, base;  /* value unrolled; base: CLOCK_MONOTONIC ns */
	uint64_t uncertain_ns; /* half the bracket */
	uint64_t num, den;     /* slope from here on, den > 0, num > 0 */
};

struct run {
	size_t first, len; /* points */
	uint64_t num, den; /* the slope before the first */
};

struct track {
	uint32_t clock, process;
	unsigned bits;     /* 64: does not wrap */
	uint64_t num, den; /* the usual slope */
	struct point *points;
	size_t points_len;
	struct run *runs;
	size_t runs_len;
};

struct aif_timeline {
	uint64_t start_ns;
	struct track *tracks; /* by clock, process */
	size_t tracks_len;
};

static bool is_ns_clock(uint32_t clock)
{
	return clock <= AIF_CLOCK_BOOTTIME;
}

static int64_t clamp(i128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* floor(delta * num / den), delta signed; monotone in delta. */
static i128 scale(i128 delta, uint64_t num, uint64_t den)
{
	uint64_t product;
	i128 q;

	/* The common case: 128-bit division is ten times as slow. */
	if (delta >= 0 && delta <= UINT64_MAX &&
	    !__builtin_mul_overflow((uint64_t)delta, num, &product))
		return product / den;
	/* |delta| < 2^65, num < 2^62 by slope_between(): no overflow. */
	q = delta * (i128)num;
	return q / (i128)den - (q % (i128)den < 0);
}

/* Is advancing by dv in db ns (give or take slack ns) what a clock of slope num/den does? */
static bool is_usual(u128 dv, uint64_t db, uint64_t slack, uint64_t num, uint64_t den)
{
	i128 expected, off;

	if (dv >> 64)
		return false;
	expected = scale((i128)dv, num, den);
	off = expected > db ? expected - db : (i128)db - expected;
	return off <= (i128)slack + (i128)(db / 1000000) * STEP_PPM + 1;
}

/* db/dv, both brought under 2^62 so that scale() cannot overflow. False if it is no slope. */
static bool slope_between(const struct point *a, const struct point *b, uint64_t *ret_num,
			  uint64_t *ret_den)
{
	uint64_t num, den;

	if (b->value <= a->value || b->base <= a->base)
		return false;
	num = b->base - a->base;
	den = b->value - a->value;
	while (num >> 62 || den >> 62) {
		num >>= 1;
		den >>= 1;
	}
	if (!num || !den)
		return false;
	*ret_num = num;
	*ret_den = den;
	return true;
}

struct slope {
	uint64_t num, den;
};

static int slope_cmp(const void *pa, const void *pb)
{
	const struct slope *a = pa, *b = pb;
	u128 l = (u128)a->num * b->den, r = (u128)b->num * a->den;

	return AIF_ORDER(l, r);
}

/* Is the slope from one to the other known well enough to go on? */
static bool is_sure(const struct point *a, const struct point *b)
{
	return (u128)(a->uncertain_ns + b->uncertain_ns) * 1000000 <=
	       (u128)(b->base - a->base) * SURE_PPM;
}

/* Can all intervals be those of a clock that counts ns, though none shows its slope well? */
static bool may_count_ns(const struct track *t)
{
	for (size_t i = 1; i < t->points_len; i++) {
		const struct point *a = &t->points[i - 1], *b = &t->points[i];
		u128 dv = b->value - a->value, db = b->base - a->base;
		u128 off = dv > db ? dv - db : db - dv;

		if (b->value < a->value || is_sure(a, b) || off > a->uncertain_ns + b->uncertain_ns)
			return false;
	}
	return true;
}

/* The median slope of the intervals in which the value grows, of those that show it well if there are any; 1 when
 * there is none. */
static int track_usual_slope(struct track *t)
{
	struct slope *slopes;
	bool sure = false;
	size_t n = 0;

	t->num = t->den = 1;
	if (is_ns_clock(t->clock) || may_count_ns(t))
		return 0;
	slopes = malloc(t->points_len * sizeof(*slopes));
	if (!slopes)
		return -ENOMEM;
	for (size_t i = 1; i < t->points_len && !sure; i++)
		sure = is_sure(&t->points[i - 1], &t->points[i]) &&
		       slope_between(&t->points[i - 1], &t->points[i], &slopes[0].num,
				     &slopes[0].den);
	for (size_t i = 1; i < t->points_len; i++)
		if ((!sure || is_sure(&t->points[i - 1], &t->points[i])) &&
		    slope_between(&t->points[i - 1], &t->points[i], &slopes[n].num, &slopes[n].den))
			n++;
	if (n) {
		qsort(slopes, n, sizeof(*slopes), slope_cmp);
		t->num = slopes[n / 2].num;
		t->den = slopes[n / 2].den;
	}
	free(slopes);
	return 0;
}

/* Finds the counter's width from the first fall that a turn explains. */
static unsigned track_width(struct track *t)
{
	static const unsigned widths[] = {32, 36, 40, 48, 56};
	bool grows = false;

	for (size_t i = 1; i < t->points_len; i++)
		grows |= t->points[i].value > t->points[i - 1].value;
	for (size_t i = 1; i < t->points_len; i++) {
		const struct point *a = &t->points[i - 1], *b = &t->points[i];

		if (b->value >= a->value)
			continue;
		for (size_t w = 0; w < AIF_ARRAY_LEN(widths); w++) {
			uint64_t turn = UINT64_C(1) << widths[w];
			u128 dv = (u128)turn + b->value - a->value;

			if (a->value >= turn)
				continue;
			if (is_usual(dv, b->base - a->base, a->uncertain_ns + b->uncertain_ns,
				     t->num, t->den))
				return widths[w];
			/* No interval without a wrap: the slope is not known, the smallest width that
			 * holds the value gives it. */
			if (!grows && !is_ns_clock(t->clock)) {
				t->num = b->base - a->base;
				t->den = (uint64_t)dv;
				return widths[w];
			}
		}
	}
	return 64;
}

/* Adds the turns that lie between the points, as many as the usual slope asks for. */
static void track_unroll(struct track *t)
{
	u128 turn = (u128)1 << t->bits;
	uint64_t raw_before = t->points[0].value;

	for (size_t i = 1; i < t->points_len; i++) {
		struct point *a = &t->points[i - 1], *b = &t->points[i];
		u128 expected = (u128)scale((i128)(b->base - a->base), t->den, t->num);
		uint64_t raw = b->value;
		u128 dv = raw >= raw_before ? raw - raw_before : turn + raw - raw_before;

		if (expected > dv)
			dv += (expected - dv + turn / 2) / turn * turn;
		if (dv > UINT64_MAX - a->value) /* nonsense pairs: stays a fall, thus a step */
			dv = 0;
		raw_before = raw;
		b->value = a->value + (uint64_t)dv;
	}
}

/* Cuts the points into runs at each step and gives every point the slope that follows it. */
static int track_runs(struct track *t)
{
	t->runs = calloc(AIF_MIN(t->points_len, (size_t)RUNS_MAX + 1), sizeof(*t->runs));
	if (!t->runs)
		return -ENOMEM;
	t->runs[0] = (struct run){.first = 0, .len = 1};
	t->runs_len = 1;
	for (size_t i = 1; i < t->points_len; i++) {
		struct point *a = &t->points[i - 1], *b = &t->points[i];
		struct run *r = &t->runs[t->runs_len - 1];

		if (b->value > a->value &&
		    is_usual(b->value - a->value, b->base - a->base,
			     a->uncertain_ns + b->uncertain_ns, t->num, t->den) &&
		    slope_between(a, b, &a->num, &a->den)) {
			r->len++;
			continue;
		}
		if (t->runs_len > RUNS_MAX) {
			t->points_len = 0;
			return 0;
		}
		t->runs[t->runs_len++] = (struct run){.first = i, .len = 1};
	}
	/* A run's ends go on with the slope beside them. */
	for (size_t i = 0; i < t->runs_len; i++) {
		struct run *r = &t->runs[i];
		struct point *first = &t->points[r->first], *last = first + r->len - 1;
		bool goes_on = r->len > 1 && is_sure(last - 1, last);

		last->num = goes_on ? last[-1].num : t->num;
		last->den = goes_on ? last[-1].den : t->den;
		goes_on = r->len > 1 && is_sure(first, first + 1);
		r->num = goes_on ? first->num : t->num;
		r->den = goes_on ? first->den : t->den;
	}
	return 0;
}

static int pair_cmp(const void *pa, const void *pb)
{
	const struct aif_clock_pair *a = pa, *b = pb;

	return AIF_ORDER(a->clock, b->clock) ?: AIF_ORDER(a->process, b->process)
	       ?: AIF_ORDER(a->before, b->before) ?: AIF_ORDER(a->after, b->after);
}

/* pairs: n of one clock and process, sorted. */
static int track_init(struct track *t, const struct aif_clock_pair *pairs, size_t n)
{
	uint64_t *widths = malloc(n * sizeof(*widths)), limit;
	int r;

	*t = (struct track){.clock = pairs->clock, .process = pairs->process, .bits = 64};
	t->points = calloc(n, sizeof(*t->points));
	if (!widths || !t->points) {
		free(widths);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		widths[i] = pairs[i].after - pairs[i].before;
	qsort(widths, n, sizeof(*widths), aif_by_u64);
	limit = AIF_MIN(widths[n / 2], UINT64_MAX / BRACKET_FACTOR - BRACKET_NS) * BRACKET_FACTOR +
		BRACKET_NS;
	free(widths);
	for (size_t i = 0; i < n; i++) {
		uint64_t width = pairs[i].after - pairs[i].before;
		struct point p = {
			.value = pairs[i].value,
			.base = pairs[i].before + width / 2,
			.uncertain_ns = width / 2 + 1,
		};

		/* Wide: the reader was interrupted between its two looks at the base clock. */
		if (width > limit || (t->points_len && p.base <= t->points[t->points_len - 1].base))
			continue;
		t->points[t->points_len++] = p;
	}
	if (!t->points_len) /* all brackets absurdly wide */
		return 0;
	r = track_usual_slope(t);
	if (r < 0)
		return r;
	t->bits = track_width(t);
	if (t->bits < 64)
		track_unroll(t);
	return track_runs(t);
}

static void finish(void *value)
{
	struct aif_timeline *t = value;

	for (size_t i = 0; i < t->tracks_len; i++) {
		free(t->tracks[i].points);
		free(t->tracks[i].runs);
	}
	free(t->tracks);
}

static int make(const struct aif_profile *p, const struct aif_fact_of *of, void *ret,
		struct aif_err *err)
{
	struct aif_timeline *t = ret;
	size_t n = p->clock_pairs_len, kept = 0;
	struct aif_clock_pair *pairs = malloc((n + 1) * sizeof(*pairs));
	int r = pairs ? 0 : -ENOMEM;

	(void)of, (void)err;
	if (!pairs)
		return -ENOMEM;
	t->start_ns = p->start_ns;
	for (size_t i = 0; i < n; i++) {
		pairs[kept] = p->clock_pairs[i];
		if (pairs[kept].clock < AIF_CLOCK_DEVICE)
			pairs[kept].process = AIF_NONE;
		kept += pairs[kept].after >= pairs[kept].before;
	}
	if (kept)
		qsort(pairs, kept, sizeof(*pairs), pair_cmp);
	t->tracks = calloc(kept + 1, sizeof(*t->tracks));
	if (!t->tracks)
		r = -ENOMEM;
	for (size_t i = 0, end; i < kept && !r; i = end) {
		for (end = i; end < kept && pairs[end].clock == pairs[i].clock &&
			      pairs[end].process == pairs[i].process;)
			end++;
		r = track_init(&t->tracks[t->tracks_len++], pairs + i, end - i);
	}
	free(pairs);
	return r;
}

static size_t bytes_of(const void *value)
{
	const struct aif_timeline *t = value;
	size_t bytes = t->tracks_len * sizeof(*t->tracks);

	for (size_t i = 0; i < t->tracks_len; i++)
		bytes += t->tracks[i].points_len * sizeof(struct point) +
			 t->tracks[i].runs_len * sizeof(struct run);
	return bytes;
}

int aif_timeline_get(const struct aif_profile *p, const struct aif_timeline **ret)
{
	static const struct aif_fact_kind kind = {.name = "clocks",
						  .size = sizeof(struct aif_timeline),
						  .make = make,
						  .finish = finish,
						  .bytes = bytes_of};
	const void *fact;
	int r = aif_facts_get(p, &kind, (struct aif_fact_of){0}, &fact, NULL);

	*ret = fact;
	return r;
}

static const struct track *timeline_track(const struct aif_timeline *t, uint32_t clock,
					  uint32_t process)
{
	size_t lo;

	if (clock < AIF_CLOCK_DEVICE)
		process = AIF_NONE;
	lo = AIF_BISECT(mid, 0, t->tracks_len,
			t->tracks[mid].clock < clock || (t->tracks[mid].clock == clock &&
							 t->tracks[mid].process < process));
	if (lo == t->tracks_len || t->tracks[lo].clock != clock ||
	    t->tracks[lo].process != process || !t->tracks[lo].points_len)
		return NULL;
	return &t->tracks[lo];
}

/* The last point of the run whose value is at most v, or the run's first. */
static const struct point *run_point(const struct track *t, const struct run *r, uint64_t v)
{
	const struct point *p = t->points + r->first;
	size_t n = r->len;

	while (n > 1) {
		size_t half = n / 2;

		if (p[half].value <= v) {
			p += half;
			n -= half;
		} else {
			n = half;
		}
	}
	return p;
}

static i128 run_map(const struct track *t, const struct run *r, uint64_t value)
{
	const struct point *p = run_point(t, r, value);
	bool before = value < p->value;

	return (i128)p->base + scale((i128)value - (i128)p->value, before ? r->num : p->num,
				     before ? r->den : p->den);
}

/* CLOCK_MONOTONIC ns of the unrolled value v, not before `after` where there is a choice. */
static i128 track_map(const struct track *t, uint64_t v, i128 after)
{
	const struct run *last = &t->runs[t->runs_len - 1];
	i128 base, clamped = 0;
	bool have_clamped = false;

	for (const struct run *r = t->runs; r < last; r++) {
		uint64_t until = t->points[r[1].first].base;

		if (v < t->points[r->first].value && r > t->runs) {
			/* Jumped over by the step that began this run. */
			if (!have_clamped)
				clamped = (i128)t->points[r->first].base;
			have_clamped = true;
			continue;
		}
		base = run_map(t, r, v);
		if (base < (i128)until && base >= after)
			return base;
	}
	if (t->runs_len > 1 && v < t->points[last->first].value)
		return have_clamped ? clamped : (i128)t->points[last->first].base;
	return run_map(t, last, v);
}

/* The first unrolled value of the narrow stamp `raw` that is not before `after`. */
static uint64_t track_unrolled(const struct track *t, uint64_t raw, i128 after)
{
	const struct point *p = t->points;
	i128 turn = (i128)1 << t->bits, at, v;
	/* The point at or before `after`: from there the usual slope is good enough. */
	size_t lo = AIF_BISECT(i, AIF_MIN((size_t)1, t->points_len), t->points_len,
			       (i128)p[i].base <= after);

	lo -= lo > 0;
	at = (i128)p[lo].value + scale(after - (i128)p[lo].base, p[lo].den, p[lo].num);
	v = (i128)(raw & (uint64_t)(turn - 1));
	/* Adds the turns that the counter had made at `after`; the points' own numbering begins at
	 * 0. */
	if (at > v)
		v += (at - v + turn - 1) / turn * turn;
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

int64_t aif_timeline_map_after(const struct aif_timeline *t, uint32_t clock, uint32_t process,
			       uint64_t raw, int64_t after, bool *ret_known)
{
	const struct track *track;
	i128 limit = (i128)after + t->start_ns - AFTER_SLACK_NS;

	if (ret_known)
		*ret_known = true;
	if (clock == AIF_CLOCK_MONOTONIC)
		return clamp((i128)raw - t->start_ns);
	track = timeline_track(t, clock, process);
	if (!track && clock >= AIF_CLOCK_DEVICE)
		track = timeline_track(t, clock, AIF_NONE);
	if (!track) {
		if (ret_known)
			*ret_known = false;
		return clamp((i128)raw - t->start_ns);
	}
	if (track->bits < 64)
		raw = track_unrolled(track, raw, limit);
	return clamp(track_map(track, raw, limit) - (i128)t->start_ns);
}

int64_t aif_timeline_map(const struct aif_timeline *t, uint32_t clock, uint32_t process,
			 uint64_t raw, bool *ret_known)
{
	return aif_timeline_map_after(t, clock, process, raw, 0, ret_known);
}
