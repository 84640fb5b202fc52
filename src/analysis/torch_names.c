/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/torch_names.h"

#include <string.h>

#define OPS       "at::_ops::"
#define CALL      "::call"
#define VARIABLE  "torch::autograd::VariableType::"
#define GENERATED "torch::autograd::generated::"
#define APPLY     "::apply"

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Up to the parameters; of a template's name the arguments' brackets are a part. */
static size_t name_len(const char *s)
{
	size_t depth = 0, i = 0;

	for (; s[i]; i++) {
		if (s[i] == '<')
			depth++;
		else if (s[i] == '>' && depth)
			depth--;
		else if (s[i] == '(' && !depth && !begins(s + i, "(anonymous namespace)"))
			break;
	}
	return i;
}

#define ANONYMOUS "(anonymous namespace)::"

static bool ends(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(s + len - n, with, n);
}

enum aif_torch_kind aif_torch_kind(const char *f, const char **ret, size_t *ret_len)
{
	static const struct {
		enum aif_torch_kind kind;
		const char *begin;
	} others[] = {
		{AIF_TORCH_ENGINE, "torch::autograd::Engine::evaluate_function("},
		{AIF_TORCH_NODE_PYTHON, "torch::autograd::PyNode::apply("},
		{AIF_TORCH_ACCUMULATE, "torch::autograd::AccumulateGrad::apply("},
		{AIF_TORCH_APPLY_PYTHON, "THPFunction_apply("},
	};
	size_t len;

	*ret = "";
	*ret_len = 0;
	/* PyTorch 2.9 has put THPFunction_apply() there. */
	if (begins(f, ANONYMOUS))
		f += strlen(ANONYMOUS);
	/* Most names are others. */
	if (f[0] != 'a' && f[0] != 't' && f[0] != 'T')
		return AIF_TORCH_OTHER;
	if (begins(f, OPS)) {
		len = name_len(f);
		if (!ends(f, len, CALL))
			return AIF_TORCH_OTHER;
		*ret = f + strlen(OPS);
		*ret_len = len - strlen(OPS) - strlen(CALL);
		return AIF_TORCH_CALL;
	}
	if (begins(f, VARIABLE)) {
		const char *end = f + name_len(f), *at = end;

		while (at > f && at[-1] != ':')
			at--;
		*ret = at;
		*ret_len = (size_t)(end - at);
		return AIF_TORCH_VARIABLE;
	}
	if (begins(f, GENERATED)) {
		len = name_len(f);
		if (!ends(f, len, APPLY))
			return AIF_TORCH_NODE_INSIDE;
		*ret = f + strlen(GENERATED);
		*ret_len = len - strlen(GENERATED) - strlen(APPLY);
		return AIF_TORCH_NODE;
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(others); i++)
		if (begins(f, others[i].begin))
			return others[i].kind;
	return AIF_TORCH_OTHER;
}

/*
 * Generated code joins an operator's name and its overload's by an underscore: add.Tensor is add_Tensor. An
 * overload's name begins with a capital or with one of few words, which are in no operator's name but
 * behind others.
 */
size_t aif_torch_operator(const char *name, size_t len)
{
	static const char *const words[] = {
		"correction", "default", "device",        "dim",   "dimname", "dtype",
		"grad_input", "int",     "memory_format", "names", "other",   "self",
		"sizes",      "start",   "symint",        "using", "values",
	};

	for (size_t i = 1; i + 1 < len; i++) {
		const char *rest = name + i + 1;
		size_t n = 0;

		if (name[i] != '_')
			continue;
		if (rest[0] >= 'A' && rest[0] <= 'Z')
			return i;
		while (i + 1 + n < len && rest[n] != '_')
			n++;
		for (size_t w = 0; w < AIF_ARRAY_LEN(words); w++)
			if (strlen(words[w]) == n && !memcmp(rest, words[w], n))
				return i;
		if (i + 1 + n == len && n == 3 && !memcmp(rest, "out", 3))
			return i;
	}
	return len;
}

static void put_plain(const char *s, size_t n, struct aif_buf *ret)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] != '_')
			aif_buf_putc(ret,
				     s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] - 'A' + 'a') : s[i]);
}

void aif_torch_family_of_node(const char *name, size_t len, struct aif_buf *ret)
{
	while (len && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	if (ends(name, len, "Backward"))
		len -= strlen("Backward");
	put_plain(name, len, ret);
}

/* Operators whose names and nodes' do not follow the rule. */
static const struct {
	const char *family, *node;
} odd[] = {
	{"nativebatchnormlegit", "nativebatchnorm"},
	{"nativebatchnormlegitfunctional", "nativebatchnorm"},
};

void aif_torch_family_of_operator(const char *name, size_t len, struct aif_buf *ret)
{
	size_t before = ret->len;

	len = aif_torch_operator(name, len);
	if (ends(name, len, "_forward"))
		len -= strlen("_forward");
	put_plain(name, len, ret);
	for (size_t i = 0; i < AIF_ARRAY_LEN(odd); i++)
		if (ret->len - before == strlen(odd[i].family) &&
		    !memcmp(ret->data + before, odd[i].family, ret->len - before)) {
			ret->len = before;
			aif_buf_puts(ret, odd[i].node);
		}
}
