/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/clocks.h"

#include <errno.h>
#include <string.h>

/* Ends of one operation differ by less across hosts; crystals by less than the second. */
#define SAME_NS   50000
#define DRIFT_PPM 100
/* Fewer pairs relate no clocks. */
#define LEAST 8
/* Neighbouring ends that vote, and most distances that are looked at. */
#define VOTERS    256
#define ENOUGH    32 /* voters, where more would be so far apart that a drift parts their votes */
#define VOTES_MAX ((size_t)1 << 21)
/* Offsets that are followed, each through this many ends at first. */
#define CANDIDATES 12
#define FOLLOWED   4096
/* The part of the ends that must agree; more, where ends are so close together that many agree by chance. */
#define AGREE_PART 0.3
/* Another offset is a rival with this part of the pairs, and ends that are this much further from its line. */
#define RIVAL_PART  0.7
#define RIVAL_TIMES 3
#define RIVAL_NS    2000
/* Dates decide if the nearest offset is this many times as near as the next. */
#define NEARER 4
/* Hosts' dates are this good, or they are not looked at. */
#define DATES_NS (INT64_C(10) * 1000000000)

/* ---- ends by group --------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct aif_merge_end *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void aif_merge_ends_sort(struct aif_merge_ends *e)
{
	if (e->len)
		qsort(e->at, e->len, sizeof(*e->at), by_time);
}

static int by_group(const void *a, const void *b)
{
	const struct aif_merge_end *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return by_time(a, b);
}

static int by_number(const void *a, const void *b)
{
	const struct aif_merge_end *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return by_time(a, b);
}

static struct aif_merge_end *sorted(const struct aif_merge_ends *e,
				    int (*order)(const void *, const void *))
{
	struct aif_merge_end *copy = malloc((e->len + 1) * sizeof(*copy));

	if (!copy)
		return NULL;
	if (e->len) {
		memcpy(copy, e->at, e->len * sizeof(*copy));
		qsort(copy, e->len, sizeof(*copy), order);
	}
	return copy;
}

/* Returns the first of n ends, by group, of that group and at that time or later. */
static size_t first_at(const struct aif_merge_end *e, size_t n, uint64_t group, int64_t at)
{
	return AIF_BISECT(i, (size_t)0, n,
			  e[i].group < group || (e[i].group == group && e[i].at < at));
}

/* ---- by number ------------------------------------------------------------------------------------- */

/* Returns the last end of an operation, the one that *i stands at, and goes on behind it. */
static const struct aif_merge_end *operation(const struct aif_merge_end *e, size_t n, size_t *i)
{
	size_t k = *i;

	while (k + 1 < n && e[k + 1].group == e[k].group && e[k + 1].sequence == e[k].sequence)
		k++;
	*i = k + 1;
	return &e[k];
}

/* Pairs the ends of operations that both have a number of; `pairs` has room for one a member of x. Returns how many. */
static size_t pair_numbers(const struct aif_merge_end *x, size_t n, const struct aif_merge_end *y,
			   size_t m, struct aif_clock_readings *pairs)
{
	size_t len = 0, i = 0, k = 0;

	while (i < n && k < m) {
		bool same = x[i].group == y[k].group && x[i].sequence == y[k].sequence;
		bool is_less = x[i].group != y[k].group ? x[i].group < y[k].group
							: x[i].sequence < y[k].sequence;

		if (!x[i].sequence || (!same && is_less)) {
			operation(x, n, &i);
		} else if (!y[k].sequence || !same) {
			operation(y, m, &k);
		} else {
			const struct aif_merge_end *a = operation(x, n, &i),
						   *b = operation(y, m, &k);

			pairs[len++] =
				(struct aif_clock_readings){.at = a->at, .ns = a->at - b->at};
		}
	}
	return len;
}

static int relate_by_number(const struct aif_merge_ends *of, const struct aif_merge_ends *to,
			    struct aif_merge_relation *ret)
{
	struct aif_merge_end *x = sorted(of, by_number), *y = sorted(to, by_number);
	struct aif_clock_readings *pairs = malloc((of->len + 1) * sizeof(*pairs));
	int r = x && y && pairs ? 0 : -ENOMEM;

	if (!r)
		ret->pairs = pair_numbers(x, of->len, y, to->len, pairs);
	if (!r && ret->pairs >= LEAST) {
		r = aif_clock_fit_make(pairs, ret->pairs, &ret->fit);
		if (!r && ret->fit.half <= SAME_NS)
			ret->is = AIF_MERGE_BY_NUMBER;
	}
	free(x);
	free(y);
	free(pairs);
	return r;
}

/* ---- votes ----------------------------------------------------------------------------------------- */

struct vote {
	int64_t ns;
	uint32_t voter;
};

struct candidate {
	int64_t ns;
	size_t votes, from; /* from: the voter in the middle, of the ends of `of` */
	size_t first, end;  /* of .votes, while they are there */
};

struct search {
	const struct aif_merge_ends *of;
	const struct aif_merge_end *to; /* by group */
	size_t to_len;
	int64_t to_first, to_last;
	const int64_t *by_dates; /* NULL: not known */
	struct vote *votes;
	struct candidate candidates[CANDIDATES];
	size_t len;
};

static int by_ns(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* True if `a` is to be kept rather than `b`: by their votes or, where those are alike as of a loop's turns, by the dates. */
static bool is_preferred(const struct search *s, const struct candidate *a,
			 const struct candidate *b)
{
	size_t most = AIF_MAX(a->votes, b->votes), least = AIF_MIN(a->votes, b->votes);

	if (!s->by_dates || 10 * (most - least) > most)
		return a->votes > b->votes;
	return llabs(a->ns - *s->by_dates) < llabs(b->ns - *s->by_dates);
}

/* Keeps the best candidates that are apart from each other. */
static void keep(struct search *s, const struct candidate *c, int64_t apart)
{
	size_t worst = 0;

	for (size_t i = 0; i < s->len; i++) {
		if (llabs(s->candidates[i].ns - c->ns) <= apart) {
			if (s->candidates[i].votes < c->votes)
				s->candidates[i] = *c;
			return;
		}
		if (is_preferred(s, &s->candidates[worst], &s->candidates[i]))
			worst = i;
	}
	if (s->len < CANDIDATES)
		s->candidates[s->len++] = *c;
	else if (is_preferred(s, c, &s->candidates[worst]))
		s->candidates[worst] = *c;
}

/* Sets the candidates' offsets to the median of the votes in the middle third: others are of before, or after, a drift. */
static void refine(struct search *s, size_t voters)
{
	for (size_t i = 0; i < s->len; i++) {
		struct candidate *c = &s->candidates[i];
		size_t n = 0, at = 0;

		for (size_t k = c->first; k < c->end; k++)
			n += s->votes[k].voter >= voters / 3 && s->votes[k].voter <= voters * 2 / 3;
		for (size_t k = c->first; k < c->end && n; k++)
			if (s->votes[k].voter >= voters / 3 &&
			    s->votes[k].voter <= voters * 2 / 3 && at++ == n / 2)
				c->ns = s->votes[k].ns;
		c->first = c->end = 0;
	}
}

/* Finds the offsets, no further from `around` than `within`, for which most of the voters vote: those from `from` on. */
static void vote(struct search *s, size_t from, int64_t around, int64_t within)
{
	const struct aif_merge_end *of = s->of->at;
	uint32_t count[VOTERS] = {0};
	size_t n = 0, len = 0, last = from, distinct = 0;
	int64_t tolerance;

	for (size_t i = from; i < s->of->len && n < VOTERS; i++) {
		size_t k = first_at(s->to, s->to_len, of[i].group, of[i].at - around - within),
		       before = len;

		for (; k < s->to_len && s->to[k].group == of[i].group &&
		       s->to[k].at <= of[i].at - around + within && len < VOTES_MAX;
		     k++)
			s->votes[len++] =
				(struct vote){.ns = of[i].at - s->to[k].at, .voter = (uint32_t)n};
		if (len >= VOTES_MAX ||
		    (n >= ENOUGH && (of[i].at - of[from].at) / 1000000 * DRIFT_PPM > 4 * SAME_NS))
			break;
		n += len > before;
		last = i;
	}
	if (n < LEAST)
		return;
	tolerance = SAME_NS + (of[last].at - of[from].at) / 1000000 * DRIFT_PPM;
	qsort(s->votes, len, sizeof(*s->votes), by_ns);
	for (size_t lo = 0, hi = 0; lo < len; lo++) {
		for (; hi < len && s->votes[hi].ns - s->votes[lo].ns <= tolerance; hi++)
			distinct += count[s->votes[hi].voter % VOTERS]++ == 0;
		if (distinct >= LEAST)
			keep(s,
			     &(struct candidate){.ns = s->votes[lo].ns +
						       (s->votes[hi - 1].ns - s->votes[lo].ns) / 2,
						 .votes = distinct,
						 .from = from + (last - from) / 2,
						 .first = lo,
						 .end = hi},
			     2 * tolerance);
		distinct -= --count[s->votes[lo].voter % VOTERS] == 0;
	}
	refine(s, n);
}

/* ---- following an offset --------------------------------------------------------------------------- */

struct course {
	struct aif_clock_readings *pairs;
	size_t len, eligible; /* ends that have others of their group at the time */
	double chance;        /* how many would have been paired by chance */
};

/* Pairs an end with the nearest of the other profile at that offset. False: there is none. */
static bool pair_end(const struct search *s, const struct aif_merge_end *x, int64_t ns,
		     int64_t tolerance, struct course *c, int64_t *ret_ns)
{
	/* Ends are in order of time: the nearest is one of two. */
	size_t k = first_at(s->to, s->to_len, x->group, x->at - ns), near = k,
	       end = AIF_MIN(k + 1, s->to_len);
	int64_t best = tolerance + 1;

	if (k && s->to[k - 1].group == x->group)
		k--;
	for (; k < end && s->to[k].group == x->group; k++) {
		int64_t off = llabs(x->at - ns - s->to[k].at);

		if (off < best) {
			best = off;
			near = k;
		}
	}
	if (best > tolerance)
		return false;
	*ret_ns = x->at - s->to[near].at;
	c->pairs[c->len++] = (struct aif_clock_readings){.at = x->at, .ns = *ret_ns};
	return true;
}

/* Follows an offset from an end on, in one direction, through at most `most` ends. */
static void follow(const struct search *s, size_t from, int direction, int64_t ns, size_t most,
		   struct course *c)
{
	int64_t matched_at = s->of->at[from].at;

	for (size_t n = 0, i = from; n < most && i < s->of->len; n++, i += (size_t)direction) {
		const struct aif_merge_end *x = &s->of->at[i];
		/* Allows for a drift since the last pair. */
		int64_t away = llabs(x->at - matched_at) / 1000000 * DRIFT_PPM, found;
		int64_t tolerance = SAME_NS + AIF_MIN(away, 20 * (int64_t)SAME_NS);

		if (x->at - ns < s->to_first - tolerance || x->at - ns > s->to_last + tolerance)
			continue;
		c->eligible++;
		if (!pair_end(s, x, ns, tolerance, c, &found))
			continue;
		/* Moves slowly: a single pair may be off by what ends scatter, or be another operation's. */
		ns += (found - ns) / 4;
		matched_at = x->at;
	}
}

/* Returns the part of the ends of `of` for which another of the group is within SAME_NS at any time, by their number. */
static double by_chance(const struct search *s)
{
	double sum = 0, span = (double)(s->to_last - s->to_first) + 1;

	for (size_t i = 0; i < s->of->len; i++) {
		uint64_t group = s->of->at[i].group;
		size_t from = first_at(s->to, s->to_len, group, INT64_MIN),
		       to = group == UINT64_MAX ? s->to_len
						: first_at(s->to, s->to_len, group + 1, INT64_MIN);

		sum += AIF_MIN(1, (double)(to - from) * 2 * SAME_NS / span);
	}
	return sum / (double)s->of->len;
}

static int follow_both(const struct search *s, const struct candidate *c, size_t most,
		       struct course *course, struct aif_clock_fit *ret)
{
	*ret = (struct aif_clock_fit){0};
	course->len = course->eligible = 0;
	follow(s, c->from, 1, c->ns, most, course);
	if (c->from)
		follow(s, c->from - 1, -1, c->ns, most, course);
	return course->len >= LEAST ? aif_clock_fit_make(course->pairs, course->len, ret) : 0;
}

struct followed {
	struct candidate c;
	struct aif_clock_fit fit;
	size_t pairs, eligible;
};

static bool agrees(const struct followed *f, double chance)
{
	return f->pairs >= LEAST &&
	       (double)f->pairs >= (double)f->eligible * AIF_MAX(AGREE_PART, 2 * chance + 0.1);
}

/* True if `f` explains nearly as much as the best one does. */
static bool is_rival(const struct followed *f, const struct followed *best)
{
	return (double)f->pairs >= RIVAL_PART * (double)best->pairs &&
	       f->fit.half <= RIVAL_TIMES * AIF_MAX(best->fit.half, RIVAL_NS);
}

static bool is_better(const struct followed *f, const struct followed *best)
{
	if (!best)
		return true;
	if (is_rival(f, best) && is_rival(best, f))
		return f->fit.half < best->fit.half;
	return (double)f->pairs / (double)(f->fit.half + RIVAL_NS) >
	       (double)best->pairs / (double)(best->fit.half + RIVAL_NS);
}

/* Returns the offset that is right of those that were followed, or NULL; *ret_is says how it was found. */
static const struct followed *decide(const struct followed *f, size_t n, const int64_t *by_dates,
				     double chance, enum aif_merge_related *ret_is)
{
	const struct followed *best = NULL, *nearest = NULL;
	uint64_t next = UINT64_MAX, near = UINT64_MAX;
	size_t rivals = 0;

	*ret_is = AIF_MERGE_UNRELATED;
	for (size_t i = 0; i < n; i++)
		if (agrees(&f[i], chance) && is_better(&f[i], best))
			best = &f[i];
	if (!best)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		uint64_t off = by_dates ? (uint64_t)llabs(f[i].fit.mid_ns - *by_dates) : 0;

		if (&f[i] != best && (!agrees(&f[i], chance) || !is_rival(&f[i], best)))
			continue;
		rivals++;
		if (off < near) {
			next = near;
			near = off;
			nearest = &f[i];
		} else {
			next = AIF_MIN(next, off);
		}
	}
	*ret_is = AIF_MERGE_BY_VOTES;
	if (rivals == 1)
		return best;
	if (by_dates && near <= next / NEARER) {
		*ret_is = AIF_MERGE_BY_DATES;
		return nearest;
	}
	*ret_is = AIF_MERGE_AMBIGUOUS;
	return NULL;
}

/* Follows all candidates for a while, and the one that is right through all ends. */
static int follow_all(struct search *s, const int64_t *by_dates, struct aif_merge_relation *ret)
{
	struct followed all[CANDIDATES];
	const struct followed *right;
	struct course c = {.pairs = malloc((s->of->len + 1) * sizeof(*c.pairs))};
	int r = c.pairs ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->len && !r; i++) {
		all[i].c = s->candidates[i];
		r = follow_both(s, &all[i].c, FOLLOWED, &c, &all[i].fit);
		all[i].pairs = c.len;
		all[i].eligible = c.eligible;
	}
	right = r ? NULL : decide(all, s->len, by_dates, by_chance(s), &ret->is);
	if (right) {
		r = follow_both(s, &right->c, s->of->len, &c, &ret->fit);
		ret->pairs = c.len;
	}
	free(c.pairs);
	return r;
}

/* Returns the end in the middle of what both profiles have if the dates are right. */
static size_t middle(const struct search *s, int64_t by_dates)
{
	int64_t from = AIF_MAX(s->of->at[0].at, s->to_first + by_dates),
		to = AIF_MIN(s->of->at[s->of->len - 1].at, s->to_last + by_dates);
	size_t i = 0;

	while (i + 1 < s->of->len && s->of->at[i].at < from + (to - from) / 2)
		i++;
	return i > VOTERS / 2 ? i - VOTERS / 2 : 0;
}

static int relate_by_votes(const struct aif_merge_ends *of, const struct aif_merge_ends *to,
			   const int64_t *by_dates, struct aif_merge_relation *ret)
{
	struct aif_merge_end *y = sorted(to, by_group);
	struct search s = {.of = of,
			   .by_dates = by_dates,
			   .to = y,
			   .to_len = to->len,
			   .to_first = to->at[0].at,
			   .to_last = to->at[to->len - 1].at,
			   .votes = malloc(VOTES_MAX * sizeof(*s.votes))};
	int r = y && s.votes ? 0 : -ENOMEM;

	if (!r && by_dates) {
		vote(&s, middle(&s, *by_dates), *by_dates, DATES_NS);
		r = follow_all(&s, by_dates, ret);
	}
	if (!r && ret->is == AIF_MERGE_UNRELATED) {
		for (unsigned part = 1; part < 4; part++)
			vote(&s, of->len * part / 4, 0, INT64_MAX / 4);
		r = follow_all(&s, by_dates, ret);
	}
	free(y);
	free(s.votes);
	return r;
}

int aif_merge_relate(const struct aif_merge_ends *of, const struct aif_merge_ends *to,
		     const int64_t *by_dates, struct aif_merge_relation *ret)
{
	int r;

	*ret = (struct aif_merge_relation){0};
	if (of->len < LEAST || to->len < LEAST)
		return 0;
	r = relate_by_number(of, to, ret);
	if (r || ret->is)
		return r;
	return relate_by_votes(of, to, by_dates, ret);
}
