/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of functions that have a rule (rules.def). */
#include "analysis/loop/internal.h"

#include "base/glob.h"

#include <errno.h>
#include <string.h>

enum what { TUNER, PART };

static bool has_rule(const struct aif_profile *p, uint32_t frame, enum what what)
{
#define AIF_LOOP_RULE(what, name, file) {what, name, file},
	static const struct {
		enum what what;
		const char *name, *file;
	} rules[] = {
#include "analysis/loop/rules.def"
	};
#undef AIF_LOOP_RULE
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);
	const char *name = n ? aif_profile_str(p, n->name) : "";
	const char *file = n ? aif_profile_str(p, n->file) : "";

	for (size_t i = 0; i < AIF_ARRAY_LEN(rules) && n; i++)
		if (rules[i].what == what && (!*rules[i].file || strstr(file, rules[i].file)) &&
		    aif_glob(rules[i].name, name, strlen(name), NULL))
			return true;
	return false;
}

int aif_loop_stacks_find(const struct aif_profile *p, struct aif_loop_stacks *ret)
{
	uint8_t *of_frame = calloc(p->frames_len + 1, 1);

	ret->tuners = calloc(p->stacks_len + 1, sizeof(*ret->tuners));
	ret->parts = calloc(p->stacks_len + 1, sizeof(*ret->parts));
	ret->is_python = calloc(p->stacks_len + 1, sizeof(*ret->is_python));
	if (!of_frame || !ret->tuners || !ret->parts || !ret->is_python) {
		free(of_frame);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->frames_len; i++)
		of_frame[i] = (uint8_t)(has_rule(p, i, TUNER) | has_rule(p, i, PART) << 1);
	/* Callers come before those whom they call. */
	for (size_t i = 0; i < p->stacks_len; i++) {
		const struct aif_stack *s = &p->stacks[i];
		uint8_t rule = s->frame == AIF_NONE ? 0 : of_frame[s->frame];

		ret->tuners[i] = rule & 1;
		ret->parts[i] = rule >> 1;
		ret->is_python[i] =
			s->frame != AIF_NONE && p->frames[s->frame].kind == AIF_FRAME_PYTHON;
		if (s->parent == AIF_NONE || s->parent >= i)
			continue;
		ret->tuners[i] |= ret->tuners[s->parent];
		ret->parts[i] += ret->parts[s->parent];
		ret->is_python[i] |= ret->is_python[s->parent];
	}
	free(of_frame);
	return 0;
}

void aif_loop_stacks_finish(struct aif_loop_stacks *s)
{
	free(s->tuners);
	free(s->parts);
	free(s->is_python);
}
