/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include <string.h>

/* Does the pattern's element at p match c? *ret_next is the element behind it. */
static bool one(const char *p, char c, const char **ret_next)
{
	bool is_in = false;
	const char *end;

	*ret_next = p + 1;
	if (*p == '?')
		return true;
	if (*p != '[' || !(end = strchr(p, ']')))
		return *p == c;
	*ret_next = end + 1;
	for (p++; p < end; p++) {
		if (p + 2 < end && p[1] == '-') {
			is_in |= (uint8_t)c >= (uint8_t)p[0] && (uint8_t)c <= (uint8_t)p[2];
			p += 2;
		} else {
			is_in |= *p == c;
		}
	}
	return is_in;
}

bool aif_glob(const char *pattern, const char *text, size_t len, struct aif_glob_part *ret_first)
{
	const char *star = NULL, *p = pattern, *next;
	struct aif_glob_part first = {0};
	size_t i = 0, retry = 0, stars = 0;

	/* Only the latest star ever has to grow: if the text between two stars was found at all, an
	 * earlier finding leaves most for the rest. */
	while (i < len || *p) {
		if (*p == '*') {
			if (stars++ == 0)
				first = (struct aif_glob_part){.at = i};
			star = ++p;
			retry = i;
			continue;
		}
		if (*p && i < len && one(p, text[i], &next)) {
			p = next;
			i++;
			continue;
		}
		if (!star || i >= len) /* a longer star leaves less text */
			return false;
		p = star;
		i = ++retry;
		if (stars == 1)
			first.len = retry - first.at;
	}
	if (ret_first)
		*ret_first = first;
	return true;
}

bool aif_glob_any(const char *const *patterns, size_t n, const char *text, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (aif_glob(patterns[i], text, len, NULL))
			return true;
	return false;
}
