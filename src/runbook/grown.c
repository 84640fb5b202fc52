/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/grown.h"

#include "base/map.h"
#include "base/name_sanitize.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

struct share {
	double before, after;
	uint32_t stack;
};
struct shares {
	struct aif_strset stacks;
	struct share *at;
	size_t len, cap;
};

/* Cuts a stack to its innermost frame, without what says of which kind it is ("f_[p]"). */
static const char *leaf_of(const char *stack, size_t *len)
{
	const char *semicolon = memrchr(stack, ';', *len),
		   *leaf = semicolon ? semicolon + 1 : stack;
	size_t n = *len - (size_t)(leaf - stack);

	if (n > 4 && leaf[n - 1] == ']' && !memcmp(leaf + n - 4, "_[", 2))
		n -= 4;
	*len = n;
	return leaf;
}

/* Adds the counts of a text to .before or .after, and makes shares of them. of_leaves: of innermost frames, not of stacks. */
static bool read_text(struct shares *s, const struct aif_buf *text, bool is_after, bool of_leaves)
{
	const char *at = text->len ? (const char *)text->data : "", *end = at + text->len;
	double sum = 0;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		const char *blank = memrchr(at, ' ', (size_t)((nl ? nl : end) - at));
		size_t name_len = blank ? (size_t)(blank - at) : 0;
		const char *name = at;
		char digits[32] = "";
		double value;
		uint32_t id;

		if (blank && blank > at && (nl ? nl : end) - blank < (ptrdiff_t)sizeof(digits)) {
			memcpy(digits, blank + 1, (size_t)((nl ? nl : end) - blank - 1));
			value = strtod(digits, NULL);
			if (of_leaves)
				name = leaf_of(at, &name_len);
			id = value > 0 ? aif_strset_put(&s->stacks, name, name_len) : 0;
			if (id == AIF_STR_NONE)
				return false;
			if (value > 0 && value < 1e18) {
				if (aif_grow(&s->at, &s->cap, (size_t)id + 1, sizeof(*s->at)) < 0)
					return false;
				while (s->len <= id) {
					s->at[s->len] = (struct share){.stack = (uint32_t)s->len};
					s->len++;
				}
				*(is_after ? &s->at[id].after : &s->at[id].before) += value;
				sum += value;
			}
		}
		at = nl ? nl + 1 : end;
	}
	for (size_t i = 0; i < s->len && sum > 0; i++)
		*(is_after ? &s->at[i].after : &s->at[i].before) /= sum;
	return sum > 0;
}

static int most_first(const void *pa, const void *pb)
{
	const struct share *a = pa, *b = pb;
	double x = a->after - a->before, y = b->after - b->before;

	return x != y ? (x < y) - (x > y) : (a->stack > b->stack) - (a->stack < b->stack);
}

bool aif_runbook_grown(const struct aif_buf *before, const struct aif_buf *after,
		       struct aif_buf *out)
{
	struct shares s = {0};
	bool ok = read_text(&s, before, false, false) && read_text(&s, after, true, false);

	if (ok) {
		qsort(s.at, s.len, sizeof(*s.at), most_first);
		aif_buf_putc(out, '[');
		for (size_t i = 0; i < s.len && i < AIF_RUNBOOK_GROWN; i++) {
			size_t n;
			const char *stack = aif_strset_get(&s.stacks, s.at[i].stack, &n);

			if (s.at[i].after - s.at[i].before < AIF_RUNBOOK_GROWN_LEAST)
				break;
			aif_buf_puts(out, i ? ", {\"stack\": " : "{\"stack\": ");
			aif_out_json_escaped(out, stack, n);
			aif_buf_printf(out, ", \"before\": %.4f, \"after\": %.4f}", s.at[i].before,
				       s.at[i].after);
		}
		aif_buf_putc(out, ']');
	}
	aif_strset_finish(&s.stacks);
	free(s.at);
	return ok;
}

bool aif_runbook_grown_functions(const struct aif_buf *before, const struct aif_buf *after,
				 struct aif_buf *out)
{
	struct shares s = {0};
	bool ok = read_text(&s, before, false, true) && read_text(&s, after, true, true);

	if (ok)
		qsort(s.at, s.len, sizeof(*s.at), most_first);
	for (size_t i = 0; ok && i < s.len && i < AIF_RUNBOOK_GROWN; i++) {
		size_t n;
		const char *name = aif_strset_get(&s.stacks, s.at[i].stack, &n);

		if (s.at[i].after - s.at[i].before < AIF_RUNBOOK_GROWN_LEAST)
			break;
		aif_buf_printf(out, "grew         %5.1f %% -> %5.1f %%  ", 100 * s.at[i].before,
			       100 * s.at[i].after);
		aif_name_sanitize(name, n, out);
		aif_buf_putc(out, '\n');
	}
	aif_strset_finish(&s.stacks);
	free(s.at);
	return ok;
}
