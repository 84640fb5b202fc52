/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/unmix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Unmixing
 *
 * A kernel is launched from several stacks, and does different things there: of a matrix product
 * one call waits for memory and another computes. Samples are counted by window, for all stacks
 * together; how long the executions of each stack ran in each window (its exposure W) is known.
 * A place k that stack c hits at the rate theta_c(k) is then counted in window w
 *
 *     S_w(k) ~ Poisson(sum over c of W_cw theta_c(k))
 *
 * times. If the mix of stacks differs from window to window, the rates follow: by expectation
 * maximisation, from the split in proportion to exposure,
 *
 *     theta_c(k) <- theta_c(k) / sum over w of W_cw
 *                   * [sum over w of W_cw S_w(k) / sum over d of W_dw theta_d(k)]
 *
 * (Richardson, Lucy; Dempster et al. 1977), which keeps rates positive and their sum right.
 * Where the mix differs little it creeps, and would be stopped far from the end: two steps and
 * how they differ say where it goes to, and it leaps there if that is likelier (SQUAREM;
 * Varadhan, Roland 2008). A stack whose executions fill the device less than another's has lower
 * rates in all places: nothing else needs to know.
 *
 * How long a launch is at an instruction depends on what it computes; what it waits for there,
 * also on what ran before it and beside it (measured: bench/gpu/sites.cu, where a kernel after
 * other work has twice the samples of some reasons at the same instructions). So the rates of
 * whole instructions are solved for as well, and are what counts; places only say what an
 * instruction's rate is made of.
 *
 * If the mix hardly differs, the equations nearly are the same one again and again, and their
 * solution is noise. How much follows from Fisher's information before anything is solved: with
 * G_cd = sum over w of W_cw W_dw / W_w (W_w: of all stacks), the variance of theta_c(k) is about
 * (G^-1)_cc times the mean rate of k. That makes an expected error of the whole distribution
 * (half the sum of what each place is off, as a share). A stack for which it is too large joins
 * the one that is most like it, and both have the rates of their sum, until the rest can be told
 * apart. So 10 stacks of which two always alternate are 8 stacks that are known, and a pair.
 */

/* Expected error by noise up to which a distribution is unmixed. One split in proportion is off
 * by up to 0.5. */
#define MAX_NOISE 0.08
/* The sine of the angle between a stack's exposures and those that the others can make up:
 * below, the lag with which samples reach their window (5 % of them, 50 ms of a second) counts
 * for more than what differs. */
#define MIN_SINE 0.05
/* The smallest ones beyond are put together. */
#define MAX_COLUMNS 32
/* Products of a step, which takes some ms. Windows are put together until it is less. */
#define MAX_WORK       (UINT64_C(1) << 20)
#define MIN_WINDOWS    32
#define MAX_ITERATIONS 100 /* of three steps */
#define SETTLED        2e-5
#define MAX_LEAP       256.0

struct solver {
	struct aif_unmix *u;
	size_t windows, columns;
	uint32_t *column_of;     /* of a stack */
	double *exposure;        /* [window][column] */
	double *totals;          /* of a column, over all windows */
	double *rates[4], *gram; /* rates: [place][column], of the present and three steps on */
	double *places; /* [place][column]: what was found of them, while instructions are solved */
	double roughness; /* sum of the roots of all places' mean rates, by the rate of all */
};

static int by_window(const void *a, const void *b)
{
	const struct aif_unmix_count *x = a, *y = b;

	return AIF_ORDER(x->window, y->window) ?: AIF_ORDER(x->place, y->place);
}

static void sum_up(struct aif_unmix *u)
{
	size_t n = 0;

	if (u->counts_len)
		qsort(u->counts, u->counts_len, sizeof(*u->counts), by_window);
	for (size_t i = 0; i < u->counts_len; i++) {
		if (n && !by_window(&u->counts[n - 1], &u->counts[i]))
			u->counts[n - 1].samples += u->counts[i].samples;
		else
			u->counts[n++] = u->counts[i];
	}
	u->counts_len = n;
}

/* Sums up the exposures by column; 2^shift windows are taken together. */
static void fill(struct solver *s, unsigned shift)
{
	const struct aif_unmix *u = s->u;

	s->windows = (u->windows + (UINT64_C(1) << shift) - 1) >> shift;
	memset(s->exposure, 0, s->windows * s->columns * sizeof(*s->exposure));
	memset(s->totals, 0, s->columns * sizeof(*s->totals));
	for (size_t w = 0; w < u->windows; w++)
		for (size_t g = 0; g < u->stacks; g++) {
			double x = u->exposure[w * u->stacks + g];

			s->exposure[(w >> shift) * s->columns + s->column_of[g]] += x;
			s->totals[s->column_of[g]] += x;
		}
}

static double sum_of(const double *row, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += row[i];
	return sum;
}

static void fill_gram(struct solver *s)
{
	size_t n = s->columns;

	memset(s->gram, 0, n * n * sizeof(*s->gram));
	for (size_t w = 0; w < s->windows; w++) {
		const double *row = s->exposure + w * n;
		double all = sum_of(row, n);

		for (size_t c = 0; c < n && all > 0; c++)
			for (size_t d = 0; d < n; d++)
				s->gram[c * n + d] += row[c] * row[d] / all;
	}
}

/* The diagonal of the inverse of a symmetric matrix with ones in its own, or HUGE_VAL where
 * there is none. */
static void invert_diagonal(const double *matrix, size_t n, double *ret)
{
	double a[MAX_COLUMNS][MAX_COLUMNS], inverse[MAX_COLUMNS][MAX_COLUMNS] = {{0}};

	for (size_t i = 0; i < n; i++) {
		memcpy(a[i], matrix + i * n, n * sizeof(*a[i]));
		inverse[i][i] = 1;
	}
	for (size_t i = 0; i < n; i++) {
		double pivot = a[i][i];

		if (pivot < 1e-9) { /* the others make it up */
			for (size_t k = 0; k < n; k++)
				ret[k] = k == i ? HUGE_VAL : 1;
			return;
		}
		for (size_t k = 0; k < n; k++) {
			a[i][k] /= pivot;
			inverse[i][k] /= pivot;
		}
		for (size_t j = 0; j < n; j++) {
			double factor = a[j][i];

			for (size_t k = 0; k < n && j != i; k++) {
				a[j][k] -= factor * a[i][k];
				inverse[j][k] -= factor * inverse[i][k];
			}
		}
	}
	for (size_t i = 0; i < n; i++)
		ret[i] = inverse[i][i];
}

/* The column that can be told least, if it is too little; else the number of columns. */
static size_t worst(const struct solver *s)
{
	double unit[MAX_COLUMNS * MAX_COLUMNS], inverse[MAX_COLUMNS], most = 1;
	size_t n = s->columns, ret = n;

	for (size_t c = 0; c < n; c++)
		for (size_t d = 0; d < n; d++)
			unit[c * n + d] =
				s->gram[c * n + d] / sqrt(s->gram[c * n + c] * s->gram[d * n + d]);
	invert_diagonal(unit, n, inverse);
	for (size_t c = 0; c < n; c++) {
		/* 0.4: half of the mean of |x| of a normal x */
		double noise = 0.4 * sqrt(inverse[c] / s->gram[c * n + c]) * s->roughness,
		       bad = AIF_MAX(noise / MAX_NOISE, MIN_SINE * sqrt(inverse[c]));

		if (!(bad <= most)) {
			most = bad;
			ret = c;
		}
	}
	return ret;
}

/* The other column that is most like it. */
static size_t nearest(const struct solver *s, size_t c)
{
	size_t n = s->columns, ret = c ? 0 : 1;
	double best = -1;

	for (size_t d = 0; d < n; d++) {
		double like = s->gram[c * n + d] / sqrt(s->gram[d * n + d]);

		if (d != c && like > best) {
			best = like;
			ret = d;
		}
	}
	return ret;
}

static void join(struct solver *s, size_t a, size_t b)
{
	size_t to = AIF_MIN(a, b), gone = AIF_MAX(a, b);

	for (size_t g = 0; g < s->u->stacks; g++)
		if (s->column_of[g] == gone)
			s->column_of[g] = (uint32_t)to;
		else if (s->column_of[g] > gone)
			s->column_of[g]--;
	s->columns--;
}

/* The largest stacks have columns of their own; those that never ran have the last one, too. */
static int first_columns(struct solver *s)
{
	const struct aif_unmix *u = s->u;
	double *total = calloc(u->stacks, sizeof(*total));
	uint32_t next = 0;

	if (!total)
		return -ENOMEM;
	for (size_t w = 0; w < u->windows; w++)
		for (size_t g = 0; g < u->stacks; g++)
			total[g] += u->exposure[w * u->stacks + g];
	for (size_t g = 0; g < u->stacks; g++)
		s->column_of[g] = UINT32_MAX;
	while (next < AIF_MIN(u->stacks, MAX_COLUMNS - 1)) {
		size_t best = u->stacks;

		for (size_t g = 0; g < u->stacks; g++)
			if (s->column_of[g] == UINT32_MAX && total[g] > 0 &&
			    (best == u->stacks || total[g] > total[best]))
				best = g;
		if (best == u->stacks)
			break;
		s->column_of[best] = next++;
	}
	s->columns = next;
	for (size_t g = 0; g < u->stacks; g++)
		if (s->column_of[g] == UINT32_MAX) {
			s->column_of[g] = total[g] > 0 || !next ? next : next - 1;
			s->columns = AIF_MAX(s->columns, s->column_of[g] + 1);
		}
	free(total);
	return 0;
}

static void measure_roughness(struct solver *s, double *place)
{
	const struct aif_unmix *u = s->u;
	double all = 0, roots = 0, exposure = sum_of(u->exposure, u->windows * u->stacks);

	memset(place, 0, u->places * sizeof(*place));
	for (size_t i = 0; i < u->counts_len; i++) {
		place[u->counts[i].place] += u->counts[i].samples;
		all += u->counts[i].samples;
	}
	for (size_t k = 0; k < u->places; k++)
		roots += sqrt(place[k] / exposure);
	s->roughness = all > 0 ? roots / (all / exposure) : HUGE_VAL;
}

/* False: too much to compute, whatever is put together. */
static bool fits(struct solver *s, unsigned *ret_shift)
{
	unsigned shift = 0;

	sum_up(s->u);
	while (s->u->counts_len * s->columns > MAX_WORK && s->u->windows >> shift > MIN_WINDOWS) {
		shift++;
		for (size_t i = 0; i < s->u->counts_len; i++)
			s->u->counts[i].window >>= 1;
		sum_up(s->u);
	}
	*ret_shift = shift;
	return s->u->counts_len * s->columns <= MAX_WORK;
}

/* One step of EM; from NULL, the split in proportion. Returns the likelihood of `now`, but for
 * what is the same for all. */
static double step(const struct solver *s, const double *now, double *next)
{
	const struct aif_unmix *u = s->u;
	size_t n = s->columns;
	double likely = 0;

	memset(next, 0, u->places * n * sizeof(*next));
	for (size_t i = 0; i < u->counts_len; i++) {
		const double *row = s->exposure + u->counts[i].window * n;
		size_t at = u->counts[i].place * n;
		double sum = 0, ratio;

		for (size_t c = 0; c < n; c++)
			sum += row[c] * (now ? now[at + c] : 1);
		ratio = sum > 0 ? u->counts[i].samples / sum : 0;
		likely += sum > 0 ? u->counts[i].samples * log(sum) : 0;
		for (size_t c = 0; c < n; c++)
			next[at + c] += row[c] * (now ? now[at + c] : 1) * ratio;
	}
	for (size_t i = 0; i < u->places * n; i++) {
		likely -= now ? s->totals[i % n] * now[i] : 0;
		next[i] /= s->totals[i % n];
	}
	return likely;
}

/* The most that the rates of a column have changed, as a share of them. */
static double change(const struct solver *s, const double *was, const double *now)
{
	double moved[MAX_COLUMNS] = {0}, all[MAX_COLUMNS] = {0}, most = 0;

	for (size_t i = 0; i < s->u->places * s->columns; i++) {
		moved[i % s->columns] += fabs(now[i] - was[i]);
		all[i % s->columns] += now[i];
	}
	for (size_t c = 0; c < s->columns; c++)
		if (all[c] > 0)
			most = AIF_MAX(most, moved[c] / all[c]);
	return most;
}

/* Extrapolates from two steps, rates[0] -> [1] -> [2], into [3]. */
static void leap(const struct solver *s)
{
	double *const *x = s->rates, first = 0, bend = 0, far;
	size_t n = s->u->places * s->columns;

	for (size_t i = 0; i < n; i++) {
		double r = x[1][i] - x[0][i], v = x[2][i] - x[1][i] - r;

		first += r * r;
		bend += v * v;
	}
	far = bend > 0 ? AIF_MIN(AIF_MAX(sqrt(first / bend), 1.0), MAX_LEAP) : 1;
	for (size_t i = 0; i < n; i++) {
		double r = x[1][i] - x[0][i], v = x[2][i] - x[1][i] - r,
		       to = x[0][i] + 2 * far * r + far * far * v;

		/* Rates stay positive: they only come nearer to 0. */
		x[3][i] = AIF_MAX(to, x[2][i] / 16);
	}
}

static void solve(struct solver *s)
{
	double **x = s->rates;

	step(s, NULL, x[0]);
	for (int i = 0; i < MAX_ITERATIONS; i++) {
		double likely, *was = x[0];

		step(s, x[0], x[1]);
		if (change(s, x[0], x[1]) < SETTLED)
			break;
		likely = step(s, x[1], x[2]);
		leap(s);
		/* The place that it leaped to makes way for the step from there. */
		if (step(s, x[3], x[0]) < likely) {
			x[0] = x[2];
			x[2] = was;
		}
	}
}

/* The places' rates, made to have their instructions' sums. */
static void solve_instructions(struct solver *s)
{
	double *places = s->places;
	struct aif_unmix *u = s->u;
	size_t len = u->places, n = s->columns;
	double *instructions, *sums;

	memcpy(places, s->rates[0], len * n * sizeof(*places));
	for (size_t i = 0; i < u->counts_len; i++)
		u->counts[i].place = u->instruction[u->counts[i].place];
	sum_up(u);
	u->places = u->instructions;
	solve(s);
	u->places = len;
	instructions = s->rates[0];
	sums = s->rates[1];
	memset(sums, 0, u->instructions * n * sizeof(*sums));
	for (size_t i = 0; i < len * n; i++)
		sums[u->instruction[i / n] * n + i % n] += places[i];
	for (size_t i = 0; i < len * n; i++) {
		size_t at = u->instruction[i / n] * n + i % n;

		places[i] = sums[at] > 0 ? places[i] * instructions[at] / sums[at] : 0;
	}
	memcpy(s->rates[0], places, len * n * sizeof(*places));
}

static void answer(const struct solver *s, double *ret_rates, bool *ret_apart)
{
	const struct aif_unmix *u = s->u;

	for (size_t g = 0; g < u->stacks; g++) {
		uint32_t c = s->column_of[g];
		double own = 0;

		for (size_t w = 0; w < u->windows; w++)
			own += u->exposure[w * u->stacks + g];
		ret_apart[g] = own >= AIF_UNMIX_MOST * s->totals[c];
		for (size_t k = 0; k < u->places; k++)
			ret_rates[g * u->places + k] = s->rates[0][k * s->columns + c];
	}
}

int aif_unmix(struct aif_unmix *u, double *ret_rates, bool *ret_apart)
{
	struct solver s = {.u = u};
	unsigned shift;
	size_t bad;
	int r = -ENOMEM;

	s.column_of = calloc(AIF_MAX(u->stacks, 1), sizeof(*s.column_of));
	if (!s.column_of)
		return -ENOMEM;
	r = first_columns(&s);
	if (!r && (s.columns < 2 || !fits(&s, &shift)))
		r = -ENODATA;
	if (r)
		goto out;
	r = -ENOMEM;
	s.exposure = calloc(u->windows * s.columns, sizeof(*s.exposure));
	s.totals = calloc(s.columns, sizeof(*s.totals));
	s.gram = calloc(s.columns * s.columns, sizeof(*s.gram));
	for (size_t i = 0; i < AIF_ARRAY_LEN(s.rates); i++) {
		s.rates[i] = calloc(u->places * s.columns, sizeof(*s.rates[i]));
		if (!s.rates[i])
			goto out;
	}
	if (!s.exposure || !s.totals || !s.gram)
		goto out;
	if (u->instruction && u->instructions < u->places) { /* else they are the same */
		s.places = calloc(u->places * s.columns, sizeof(*s.places));
		if (!s.places)
			goto out;
	}
	measure_roughness(&s, s.rates[0]);
	for (;;) {
		fill(&s, shift);
		fill_gram(&s);
		bad = s.columns < 2 ? s.columns : worst(&s);
		if (bad == s.columns)
			break;
		join(&s, bad, nearest(&s, bad));
	}
	r = s.columns < 2 ? -ENODATA : 0;
	if (!r) {
		solve(&s);
		if (s.places)
			solve_instructions(&s);
		answer(&s, ret_rates, ret_apart);
	}
out:
	free(s.column_of);
	free(s.exposure);
	free(s.totals);
	free(s.gram);
	free(s.places);
	for (size_t i = 0; i < AIF_ARRAY_LEN(s.rates); i++)
		free(s.rates[i]);
	return r;
}
