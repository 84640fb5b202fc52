/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/layers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ranges that begin later than the one that holds a time: layers within a layer, or those of other threads. */
#define LOOK_BACK   64
#define MOST_DIGITS 6

int64_t aif_runbook_layer_of(const char *name)
{
	static const char *const words[] = {"layer", "layers", "block", "blocks", "h"};
	size_t len = strlen(name), digits = len, stem, begin;

	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	if (digits == len || len - digits > MOST_DIGITS)
		return -1;
	stem = begin = digits - (digits && strchr("._ ", name[digits - 1]));
	while (begin && !strchr("._ ", name[begin - 1]))
		begin--;
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if (strlen(words[i]) == stem - begin && (begin || stem - begin > 1) &&
		    !strncasecmp(name + begin, words[i], stem - begin))
			return atoll(name + digits);
	return -1;
}

int aif_runbook_layer_add(struct aif_runbook_layers *l, const char *name, int64_t from, int64_t to)
{
	int64_t number = aif_runbook_layer_of(name);

	if (number < 0)
		return 0;
	if (aif_grow(&l->at, &l->cap, l->len + 1, sizeof(*l->at)) < 0)
		return -ENOMEM;
	l->at[l->len++] = (struct aif_runbook_layer){from, to, number};
	return 0;
}

int64_t aif_runbook_layer_at(const struct aif_runbook_layers *l, int64_t ns)
{
	size_t lo = AIF_BISECT(mid, 0, l->len, l->at[mid].from <= ns);

	for (size_t i = 0; i < LOOK_BACK && lo--; i++)
		if (ns < l->at[lo].to)
			return l->at[lo].number;
	return -1;
}
