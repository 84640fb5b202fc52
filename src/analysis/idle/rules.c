/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/rules.h"

#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
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

static uint8_t look_at_frame(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);
	uint32_t module = p->frames[frame].module,
		 path = module == AIF_NONE || p->frames[frame].kind == AIF_FRAME_MARK
				? AIF_NONE
				: p->modules[module].path;
	const char *name = n && n->name != AIF_NONE ? aif_profile_str(p, n->name) : "",
		   *file = n && n->file != AIF_NONE ? aif_profile_str(p, n->file) : "",
		   *of = path == AIF_NONE ? "" : aif_profile_str(p, path);
	enum aif_idle_cause cause;

	return rule_of(name, file, of, &cause) ? (uint8_t)(2 + cause) : 1;
}

static bool take(uint8_t known, enum aif_idle_cause *ret)
{
	if (known > 1)
		*ret = (enum aif_idle_cause)(known - 2);
	return known > 1;
}

int aif_idle_rules_init(struct aif_idle_rules *r, const struct aif_profile *p)
{
	r->p = p;
	r->frames = calloc(p->frames_len + 1, 1);
	r->names = calloc(p->strings.len + 1, 1);
	return r->frames && r->names ? 0 : -ENOMEM;
}

void aif_idle_rules_finish(struct aif_idle_rules *r)
{
	free(r->frames);
	free(r->names);
	*r = (struct aif_idle_rules){0};
}

bool aif_idle_rules_of_frame(struct aif_idle_rules *r, uint32_t frame, enum aif_idle_cause *ret)
{
	if (!r->frames[frame])
		r->frames[frame] = look_at_frame(r->p, frame);
	return take(r->frames[frame], ret);
}

bool aif_idle_rules_of_name(struct aif_idle_rules *r, uint32_t name, enum aif_idle_cause *ret)
{
	enum aif_idle_cause cause;

	if (!r->names[name])
		r->names[name] = rule_of(aif_profile_str(r->p, name), "", "", &cause)
					 ? (uint8_t)(2 + cause)
					 : 1;
	return take(r->names[name], ret);
}

struct looking {
	struct aif_idle_rules *rules;
	bool any;
};

static int look_at_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct looking *l = arg;
	enum aif_idle_cause cause;

	for (size_t i = 0; i < n && !l->any; i++)
		l->any = rows[i].name != AIF_NONE &&
			 aif_idle_rules_of_name(l->rules, rows[i].name, &cause);
	return 0;
}

int aif_idle_rules_any(struct aif_idle_rules *r, bool *ret, uint64_t *ret_damaged)
{
	struct looking l = {.rules = r};
	int e = aif_profile_ops(r->p, look_at_ops, &l, ret_damaged);

	*ret = l.any;
	return e;
}
