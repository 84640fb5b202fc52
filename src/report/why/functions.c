/* SPDX-License-Identifier: Apache-2.0 */
/* Owners of idle time by function: places without their lines. */
#include "report/why/owners.h"
#include "report/why/why.h"

#include <errno.h>
#include <string.h>

/* Puts the function of a place into the set. AIF_STR_NONE: no memory. */
static uint32_t function_of(struct aif_strset *names, struct aif_buf *b, const char *place)
{
	aif_buf_clear(b);
	aif_why_place_function(place, b);
	return aif_buf_failed(b) ? AIF_STR_NONE : aif_strset_puts(names, aif_buf_str(b));
}

static int by_time(const void *a, const void *b)
{
	const struct aif_why_function *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return AIF_ORDER(x->row, y->row);
}

/* Puts functions in order, and has owners follow. 0 or -ENOMEM. */
static int sort_functions(struct aif_why *w)
{
	uint32_t *now = malloc((w->functions_len + 1) * sizeof(*now));

	if (!now)
		return -ENOMEM;
	if (w->functions_len)
		qsort(w->functions, w->functions_len, sizeof(*w->functions), by_time);
	for (uint32_t i = 0; i < w->functions_len; i++)
		now[w->owners[w->functions[i].row].function] = i;
	for (size_t i = 0; i < w->owners_len; i++)
		w->owners[i].function = now[w->owners[i].function];
	free(now);
	return 0;
}

int aif_why_functions_add(struct aif_why *w, bool is_by_line)
{
	struct aif_strset names = {0};
	struct aif_map known = {0};
	struct aif_buf b = {0};
	int e = 0;

	w->functions = calloc(w->owners_len + 1, sizeof(*w->functions));
	if (!w->functions)
		return -ENOMEM;
	for (size_t i = 0; i < w->owners_len && !e; i++) {
		const struct aif_why_owner *o = &w->owners[i];
		uint32_t name = is_by_line
					? o->place
					: function_of(&names, &b,
						      aif_strset_get(&w->places, o->place, NULL));
		uint64_t key = (uint64_t)o->is_before << 32 | name, at = w->functions_len;

		if (name == AIF_STR_NONE)
			e = -ENOMEM;
		else if (!aif_map_get(&known, key, &at)) {
			e = aif_map_put(&known, key, at);
			/* Rows come longest first. */
			w->functions[w->functions_len++] =
				(struct aif_why_function){.row = i, .is_before = o->is_before};
		}
		w->functions[at].ns += o->ns;
		w->owners[i].function = (uint32_t)at;
		w->functions[at].of_group[o->group] += o->ns;
	}
	if (!e)
		e = sort_functions(w);
	aif_buf_finish(&b);
	aif_map_finish(&known);
	aif_strset_finish(&names);
	return e;
}

enum aif_why_group aif_why_function_group(const struct aif_why_function *f)
{
	unsigned most = 0;

	for (unsigned g = 0; g < AIF_WHY_GROUPS; g++)
		if (f->of_group[g] > f->of_group[most])
			most = g;
	return (enum aif_why_group)most;
}

bool aif_why_is_machine(const struct aif_why *w, const struct aif_why_function *f)
{
	return w->owners[f->row].is_machine;
}

const struct aif_why_function *aif_why_bounding_function(const struct aif_why *w,
							 enum aif_why_group largest)
{
	const struct aif_why_function *f = w->functions_len ? &w->functions[0] : NULL;
	uint64_t group_ns = w->of_group[largest];

	if (!f || w->is_work_missing || aif_why_is_machine(w, f) ||
	    w->owners[f->row].place == AIF_STR_NONE ||
	    aif_share_ppm(f->ns, w->time_ns) < AIF_WHY_BOUND_PPM)
		return NULL;
	/* Idle time that has one cause says more than in whose time it is. */
	if (aif_share_ppm(group_ns, w->time_ns) >= AIF_WHY_BOUND_PPM &&
	    (largest > AIF_WHY_WAITING || f->ns <= group_ns))
		return NULL;
	return f;
}
