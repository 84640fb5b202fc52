/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/model.h"

#include "base/name_sanitize.h"

#include <errno.h>
#include <string.h>

/* Makes one line of a string. *source: the same string if a program's source, else AIF_NONE; then the string that has its
 * text as it was: a source has many lines, and any name may be the same string. */
static int sanitize_name(struct aif_profile *p, uint32_t id, uint32_t *source)
{
	struct aif_buf clean = {0}, text = {0};
	size_t len;
	const char *name = aif_strset_get(&p->strings, id, &len);
	int r = 0;

	aif_name_sanitize(name, len, &clean);
	if (!aif_buf_failed(&clean) && clean.len == len && (!len || !memcmp(clean.data, name, len)))
		goto out;
	if (*source != AIF_NONE)
		aif_buf_append(&text, name, len);
	if (aif_buf_failed(&clean) || aif_buf_failed(&text) ||
	    aif_strset_set(&p->strings, id, clean.data, clean.len) < 0)
		r = -ENOMEM;
	if (!r && *source != AIF_NONE) {
		*source = aif_strset_put(&p->strings, text.data, text.len);
		r = *source == AIF_STR_NONE ? -ENOMEM : 0;
	}
out:
	aif_buf_finish(&clean);
	aif_buf_finish(&text);
	return r;
}

int aif_profile_sanitize(struct aif_profile *p)
{
	uint32_t n = (uint32_t)p->strings.len, *sources = malloc((n + 1) * sizeof(*sources));
	int r = sources ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !r; i++)
		sources[i] = AIF_NONE;
	for (size_t i = 0; i < p->programs_len && !r; i++)
		if (p->programs[i].source != AIF_NONE)
			sources[p->programs[i].source] = p->programs[i].source;
	for (uint32_t i = 0; i < n && !r; i++)
		r = sanitize_name(p, i, &sources[i]);
	for (size_t i = 0; i < p->programs_len && !r; i++)
		if (p->programs[i].source != AIF_NONE)
			p->programs[i].source = sources[p->programs[i].source];
	free(sources);
	return r;
}
