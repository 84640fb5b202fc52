/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that were found, of several runs. Which loop is found in a recording depends on what of it was captured, so that in one run
 * of a set another loop may be found, or none. All runs of a set are of one program: the loop of most of them is looked for in the
 * others.
 */
#include "compare/internal.h"

#include <errno.h>
#include <string.h>

/* Places where the turns of one loop begin, by different runs: any of several calls may be the first that was captured. */
#define MOST_PLACES 4

static double ratio(double x, double y)
{
	return x > y ? x / y : y / x;
}

double aif_compare_launches_a_step(const struct aif_run *r)
{
	return (double)r->amount[AIF_RUN_LAUNCHES] / (double)r->steps;
}

bool aif_compare_has_same_steps(const struct aif_run *x, const struct aif_run *y, double most)
{
	double steps = ratio((double)x->steps, (double)y->steps);
	double launches = ratio(aif_compare_launches_a_step(x), aif_compare_launches_a_step(y));

	if (x->steps_from == AIF_PHASES_MARKS && y->steps_from == AIF_PHASES_MARKS)
		return true;
	return steps < most || launches < most;
}

static bool has_turns(const struct aif_run *r)
{
	return r->steps_from == AIF_PHASES_TURNS && r->steps && r->amount[AIF_RUN_LAUNCHES] &&
	       !r->is_part;
}

/* True for a whole recording that has not the steps of `usual`, and might. */
static bool lacks_steps(const struct aif_run *r, const struct aif_run *usual, double most)
{
	if (r->is_part || r->steps_from == AIF_PHASES_MARKS || !r->amount[AIF_RUN_LAUNCHES])
		return false;
	return !has_turns(r) || !aif_compare_has_same_steps(r, usual, most);
}

/* Returns the run whose steps most others have, too; of several that with the largest steps, which are those of an outer loop. NULL:
 * no run has steps that were found. */
static const struct aif_run *find_usual(const struct aif_side *s)
{
	const struct aif_run *usual = NULL;
	size_t most = 0;

	for (size_t i = 0; i < s->len; i++) {
		const struct aif_run *r = &s->runs[i];
		size_t n = 0;

		if (!has_turns(r))
			continue;
		for (size_t j = 0; j < s->len; j++)
			n += has_turns(&s->runs[j]) &&
			     aif_compare_has_same_steps(r, &s->runs[j], AIF_SAME_STEPS_OF_SIDE);
		if (n > most ||
		    (n == most && usual &&
		     aif_compare_launches_a_step(r) > aif_compare_launches_a_step(usual))) {
			most = n;
			usual = r;
		}
	}
	return usual;
}

/* Sets places[] to where the turns of runs with the same steps as `usual` begin. Returns their number. */
static size_t find_places(const struct aif_side *s, const struct aif_run *usual,
			  uint64_t places[MOST_PLACES])
{
	size_t n = 0;

	for (size_t i = 0; i < s->len && n < MOST_PLACES; i++) {
		const struct aif_run *r = &s->runs[i];
		bool is_known = !r->loop;

		if (!has_turns(r) || !aif_compare_has_same_steps(r, usual, AIF_SAME_STEPS_OF_SIDE))
			continue;
		for (size_t k = 0; k < n; k++)
			is_known |= places[k] == r->loop;
		if (!is_known)
			places[n++] = r->loop;
	}
	return n;
}

/* Reduces a run of a side by one of the places so that it has the same steps as `usual`. *ret is zeroed where it cannot have. */
static int reduce_as(const struct aif_side *s, const struct aif_run *run,
		     const struct aif_run *usual, double most, const uint64_t *places, size_t n,
		     aif_run_again *again, struct aif_run *ret, struct aif_err *err)
{
	int e = 0;

	*ret = (struct aif_run){0};
	for (size_t i = 0; i < n && !e; i++) {
		e = again(s, run, places[i], ret, err);
		if (!e && has_turns(ret) && aif_compare_has_same_steps(ret, usual, most)) {
			/* Keeps what it is known by: it is the same run, whatever its steps are. */
			ret->hash = run->hash;
			ret->recording = run->recording;
			return 0;
		}
		aif_run_finish(ret);
		if (e == -ENODATA) {
			e = 0;
			*err = (struct aif_err){0};
		}
	}
	return e;
}

int aif_side_agree(struct aif_side *s, aif_run_again *again, struct aif_err *err)
{
	const struct aif_run *usual = find_usual(s);
	uint64_t places[MOST_PLACES];
	size_t n = usual ? find_places(s, usual, places) : 0;
	int e = 0;

	for (size_t i = 0; i < s->len && n && !e; i++) {
		struct aif_run *r = &s->runs[i], other;

		if (!lacks_steps(r, usual, AIF_SAME_STEPS_OF_SIDE))
			continue;
		e = reduce_as(s, r, usual, AIF_SAME_STEPS_OF_SIDE, places, n, again, &other, err);
		if (e || !other.path)
			continue;
		aif_run_finish(r);
		*r = other;
		s->agreed++;
	}
	return e;
}

/* Reduces all runs of a side by the loop of another's. Nothing changes where one cannot have it. */
static int take_loop_of(struct aif_side *s, const struct aif_side *from,
			const struct aif_run *usual, aif_run_again *again, bool *ret_is_done,
			struct aif_err *err)
{
	struct aif_run *runs = calloc(s->len + 1, sizeof(*runs));
	uint64_t places[MOST_PLACES];
	size_t n = find_places(from, usual, places);
	bool all = n > 0;
	int e = runs ? 0 : aif_err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < s->len && !e && all; i++) {
		e = has_turns(&s->runs[i]) ? reduce_as(s, &s->runs[i], usual, AIF_SAME_STEPS,
						       places, n, again, &runs[i], err)
					   : 0;
		all = runs[i].path;
	}
	for (size_t i = 0; i < s->len && runs; i++) {
		struct aif_run old = s->runs[i];

		if (!e && all) {
			s->runs[i] = runs[i];
			runs[i] = old;
			s->agreed++;
		}
		aif_run_finish(&runs[i]);
	}
	*ret_is_done = !e && all;
	free(runs);
	return e;
}

int aif_sides_agree(struct aif_side *a, struct aif_side *b, aif_run_again *again,
		    struct aif_err *err)
{
	const struct aif_run *x = find_usual(a), *y = find_usual(b);
	bool is_done;
	int e;

	if (!x || !y || aif_compare_has_same_steps(x, y, AIF_SAME_STEPS))
		return 0;
	e = take_loop_of(b, a, x, again, &is_done, err);
	return e || is_done ? e : take_loop_of(a, b, y, again, &is_done, err);
}
