/* SPDX-License-Identifier: Apache-2.0 */
#include "names/fold_rules.h"

#include "base/glob.h"
#include "names/tree.h"
#include "analysis/torch_names.h"

#include <string.h>

enum type_set {
	TYPE_NATIVE = 1,
	TYPE_INLINED = 2,
	TYPE_PYTHON = 4,
	TYPE_API = 8,
	TYPE_INTERPRETER = 16,
	TYPE_MODULE = 32,
	TYPE_BESIDE_PYTHON = 64,
	TYPE_OS = 128,
	TYPE_RANGE = 256,
	TYPE_PACKAGE = 512,
	TYPE_PYTHON_CALL = 1024,
	BY_MODULE = TYPE_INTERPRETER | TYPE_MODULE,
};

static unsigned types_of(unsigned type)
{
	switch (aif_tree_base_type(
		type & ~(unsigned)(AIF_FOLD_WITH_PYTHON | AIF_FOLD_PACKAGE | AIF_FOLD_BARE))) {
	case AIF_TREE_C:
	case AIF_TREE_CXX:
		return TYPE_NATIVE | TYPE_MODULE | (type & AIF_TREE_INLINED ? TYPE_INLINED : 0) |
		       (type & AIF_FOLD_BARE ? 0 : TYPE_PYTHON_CALL) |
		       (type & AIF_FOLD_WITH_PYTHON ? TYPE_INTERPRETER | TYPE_BESIDE_PYTHON : 0);
	case AIF_TREE_PYTHON:
		return TYPE_PYTHON | (type & AIF_FOLD_PACKAGE ? TYPE_PACKAGE : 0);
	case AIF_TREE_API:
		return TYPE_API;
	case AIF_TREE_OS:
		return TYPE_OS;
	case AIF_TREE_RANGE:
		return TYPE_RANGE;
	default:
		return 0;
	}
}

static void label_put(struct aif_buf *b, const char *label, const char *name,
		      struct aif_glob_part first)
{
	for (; *label; label++) {
		if (*label == '$')
			aif_buf_append(b, name + first.at, first.len);
		else if (*label == '%')
			aif_buf_append(b, name + first.at,
				       aif_torch_operator(name + first.at, first.len));
		else
			aif_buf_putc(b, *label);
	}
}

enum aif_fold_action aif_fold(enum aif_name_detail detail, unsigned type, const char *name,
			      size_t len, const char *module, struct aif_buf *ret_label)
{
	static const struct {
		enum aif_name_detail detail;
		unsigned types;
		enum aif_fold_action action;
		const char *pattern, *label;
	} rules[] = {
#define AIF_FOLD_RULE(detail, type, action, pattern, label) \
	{AIF_NAME_##detail, TYPE_##type, AIF_FOLD_##action, pattern, label},
#include "names/fold_rules.def"
	};
	struct aif_glob_part first;

	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++) {
		bool by_module = rules[i].types & BY_MODULE;

		if (detail > rules[i].detail || !(types_of(type) & rules[i].types) ||
		    !aif_glob(rules[i].pattern, by_module ? module : name,
			      by_module ? strlen(module) : len, &first))
			continue;
		if (rules[i].action == AIF_FOLD_RENAME)
			label_put(ret_label, rules[i].label, name, first);
		return rules[i].action;
	}
	return AIF_FOLD_SHOW;
}
