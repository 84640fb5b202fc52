/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/rules.h"

#include <string.h>

/* True if a rule is for a function of this name, file and module. */
static bool rule_of(const char *name, const char *file, const char *module,
		    enum aif_idle_cause *ret)
{
	static const struct {
		enum aif_idle_cause cause;
		const char *name, *path;
	} rules[] = {
#define AIF_IDLE_RULE(cause, name, path) {AIF_IDLE_CAUSE_##cause, name, path},
#include "analysis/idle/rules.def"
#undef AIF_IDLE_RULE
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (!strncmp(name, rules[i].name, strlen(rules[i].name)) &&
		    (!*rules[i].path || strstr(file, rules[i].path) ||
		     strstr(module, rules[i].path))) {
			*ret = rules[i].cause;
			return true;
		}
	return false;
}

bool aif_idle_rule_of_frame(const struct aif_profile *p, uint32_t frame, enum aif_idle_cause *ret)
{
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);
	uint32_t module = p->frames[frame].module,
		 path = module == AIF_NONE || p->frames[frame].kind == AIF_FRAME_MARK
				? AIF_NONE
				: p->modules[module].path;
	const char *name = n && n->name != AIF_NONE ? aif_profile_str(p, n->name) : "",
		   *file = n && n->file != AIF_NONE ? aif_profile_str(p, n->file) : "",
		   *of = path == AIF_NONE ? "" : aif_profile_str(p, path);

	return rule_of(name, file, of, ret);
}

bool aif_idle_rule_of_name(const char *name, enum aif_idle_cause *ret)
{
	return rule_of(name, "", "", ret);
}
