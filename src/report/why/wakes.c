/* SPDX-License-Identifier: Apache-2.0 */
/* Wakers of the sleeps of owners of idle time. */
#include "report/why/why.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t key_of(const struct aif_why_owner *o)
{
	return (uint64_t)o->group << 33 | (uint64_t)o->is_before << 32 | o->place;
}

int aif_why_wake_add(struct aif_why *w, const struct aif_why_owner *owner,
		     const struct aif_idle_wake *wake, uint32_t text)
{
	if (aif_grow(&w->wakes, &w->wakes_cap, w->wakes_len + 1, sizeof(*w->wakes)) < 0)
		return -ENOMEM;
	w->wakes[w->wakes_len++] = (struct aif_why_wake){.owner = key_of(owner),
							 .kind = wake->kind,
							 .thread = wake->thread,
							 .text = text,
							 .ns = wake->ns};
	return 0;
}

static int by_who(const void *a, const void *b)
{
	const struct aif_why_wake *x = a, *y = b;

	return AIF_ORDER(x->owner, y->owner) ?: AIF_ORDER(x->thread, y->thread)
	       ?: AIF_ORDER(x->text, y->text);
}

static int by_owner_time(const void *a, const void *b)
{
	const struct aif_why_wake *x = a, *y = b;

	return AIF_ORDER(x->owner, y->owner) ?: AIF_ORDER(y->ns, x->ns) ?: by_who(a, b);
}

void aif_why_wakes_sort(struct aif_why *w)
{
	size_t n = 0;

	if (!w->wakes_len)
		return;
	qsort(w->wakes, w->wakes_len, sizeof(*w->wakes), by_who);
	for (size_t i = 0; i < w->wakes_len; i++) {
		if (n && !by_who(&w->wakes[n - 1], &w->wakes[i]))
			w->wakes[n - 1].ns += w->wakes[i].ns;
		else
			w->wakes[n++] = w->wakes[i];
	}
	w->wakes_len = n;
	qsort(w->wakes, n, sizeof(*w->wakes), by_owner_time);
}

const struct aif_why_wake *aif_why_wakes_of(const struct aif_why *w, const struct aif_why_owner *o,
					    size_t *ret_len)
{
	uint64_t key = key_of(o);
	size_t first = 0;

	while (first < w->wakes_len && w->wakes[first].owner != key)
		first++;
	*ret_len = 0;
	while (first + *ret_len < w->wakes_len && w->wakes[first + *ret_len].owner == key)
		++*ret_len;
	return *ret_len ? &w->wakes[first] : NULL;
}
