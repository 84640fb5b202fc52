/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/insides.h"

#include <errno.h>

static int by_group(const void *a, const void *b)
{
	const struct aif_inside *x = a, *y = b;

	return AIF_ORDER(x->group, y->group) ?: AIF_ORDER(x->frame, y->frame)
	       ?: AIF_ORDER(x->reason, y->reason);
}

static void add_samples(struct aif_inside *to, const struct aif_inside *from)
{
	to->samples += from->samples;
	to->shared |= from->shared;
	to->mixed |= from->mixed;
}

int aif_insides_append(struct aif_insides *s, const struct aif_inside *inside)
{
	if (aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*inside)) < 0)
		return -ENOMEM;
	s->at[s->len++] = *inside;
	return 0;
}

int aif_insides_add(struct aif_insides *s, const struct aif_inside *inside)
{
	uint64_t key = aif_mix64(aif_mix64((uint64_t)inside->group << 32 | inside->frame) +
				 inside->reason),
		 id;

	for (; aif_map_get(&s->ids, key, &id); key++)
		if (!by_group(&s->at[id], inside)) {
			add_samples(&s->at[id], inside);
			return 0;
		}
	id = s->len;
	if (aif_insides_append(s, inside) < 0 || aif_map_put(&s->ids, key, id) < 0)
		return -ENOMEM;
	return 0;
}

void aif_insides_sort(struct aif_insides *s)
{
	size_t n = 0;

	aif_map_finish(&s->ids);
	if (s->len)
		qsort(s->at, s->len, sizeof(*s->at), by_group);
	for (size_t i = 0; i < s->len; i++)
		if (n && !by_group(&s->at[n - 1], &s->at[i]))
			add_samples(&s->at[n - 1], &s->at[i]);
		else
			s->at[n++] = s->at[i];
	s->len = n;
}

void aif_insides_finish(struct aif_insides *s)
{
	free(s->at);
	aif_map_finish(&s->ids);
	*s = (struct aif_insides){0};
}
