/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/opts.h"

#include <string.h>

enum { LONGEST = 40 };

/* Edits between a and b, where swapping two neighbours counts once; AIF distance is capped by the
 * length of words that anybody types as a command or an option. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *cur = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);

			d = AIF_MIN(d, last[j] + 1);
			d = AIF_MIN(d, cur[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = AIF_MIN(d, before[j - 2] + 1);
			cur[j] = d;
		}
	}
	return row[la % 3][lb];
}

const char *aif_nearest(const char *word, const char *(*next)(const void *arg, size_t i),
			const void *arg)
{
	const char *best = NULL, *s;
	unsigned best_distance = LONGEST;

	for (size_t i = 0; (s = next(arg, i)); i++) {
		unsigned d = distance(word, s);

		/* A beginning is as good as a slip: "instr" for "instruction". */
		if (strlen(word) >= 3 && !strncmp(word, s, strlen(word)))
			d = 1;
		if (d < best_distance) {
			best_distance = d;
			best = s;
		}
	}
	/* Allows one slip in a short word, two in a longer one. */
	return best_distance <= (strlen(word) < 5 ? 1 : 2) ? best : NULL;
}
