/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roof/op_work.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define INPUTS   8
#define DIMS     8
#define TYPE_MAX 32

struct input {
	double dims[DIMS];
	unsigned len; /* 0: no tensor, or one without dimensions */
	char type[TYPE_MAX];
};

enum kind { PRODUCT, CONVOLVED, ELEMENTWISE, WRITES };

/* Reads "[[2, 3], [], ...]": false if it is anything else, or has lists in lists. What comes behind INPUTS is not looked at. */
static bool read_shapes(const char *text, struct input *in)
{
	size_t n = 0;

	if (*text++ != '[')
		return false;
	while (*text != ']') {
		text += strspn(text, ", ");
		if (n == INPUTS)
			return true;
		if (*text++ != '[')
			return false;
		while (*text != ']') {
			char *end;
			double dim = strtod(text, &end);

			if (end == text || in[n].len == DIMS || !(dim >= 0 && dim < 0x1p40))
				return false;
			in[n].dims[in[n].len++] = dim;
			text = end + strspn(end, ", ");
		}
		text++;
		n++;
	}
	return true;
}

/* Reads ["float", "c10::Half", ""]; what is too long or none is "". */
static void read_types(const char *text, struct input *in)
{
	for (size_t n = 0; n < INPUTS && (text = strchr(text, '"')); n++) {
		size_t len = strcspn(text + 1, "\"");

		if (len < TYPE_MAX)
			memcpy(in[n].type, text + 1, len);
		text += len + 1;
		if (*text)
			text++;
	}
}

static double size_of(const char *type)
{
	static const struct {
		const char *name;
		double size;
	} sizes[] = {{"float", 4},
		     {"double", 8},
		     {"c10::Half", 2},
		     {"c10::BFloat16", 2},
		     {"c10::Float8_e4m3fn", 1},
		     {"c10::Float8_e4m3fnuz", 1},
		     {"c10::Float8_e5m2", 1},
		     {"signed char", 1},
		     {"unsigned char", 1},
		     {"bool", 1},
		     {"short", 2},
		     {"int", 4},
		     {"long int", 8},
		     {"long", 8},
		     {"int64_t", 8}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(sizes); i++)
		if (!strcmp(type, sizes[i].name))
			return sizes[i].size;
	return 0;
}

static double elements(const struct input *in)
{
	double n = in->len ? 1 : 0;

	for (unsigned i = 0; i < in->len; i++)
		n *= in->dims[i];
	return n;
}

static bool is_tensor(const struct input *in)
{
	return in->len > 0;
}

/* [.., m, k] times [.., k, n], or a matrix times a vector. */
static bool product(const struct input *a, const struct input *b, struct aif_op_work *w)
{
	double k, m, n, batch = 1;

	if (a->len < 2 || !b->len || (b->len > 1 && b->len != a->len))
		return false;
	k = a->dims[a->len - 1];
	m = a->dims[a->len - 2];
	n = b->len == 1 ? 1 : b->dims[b->len - 1];
	if (b->dims[b->len == 1 ? 0 : b->len - 2] != k)
		return false;
	for (unsigned i = 0; i + 2 < a->len; i++)
		batch *= a->dims[i];
	w->flops = 2 * batch * m * n * k;
	w->bytes = (elements(a) + elements(b) + batch * m * n) * size_of(a->type);
	return true;
}

/* Each element of the output's gradient is multiplied with a filter, [outputs, inputs of a group, ..], once for either gradient. */
static bool convolved(const struct input *grad, const struct input *weight, struct aif_op_work *w)
{
	if (grad->len < 3 || weight->len != grad->len || !(weight->dims[0] > 0))
		return false;
	w->flops = 2 * 2 * elements(grad) * elements(weight) / weight->dims[0];
	w->bytes = 2 * (elements(grad) + elements(weight)) * size_of(grad->type);
	return true;
}

/* Inputs that are no tensors are numbers. */
static bool elementwise(const struct input *in, unsigned last, struct aif_op_work *w)
{
	double most = 0;

	if (!is_tensor(&in[0]) || !size_of(in[0].type))
		return false;
	for (unsigned i = 0; i <= last; i++) {
		double size = size_of(in[i].type);

		if (is_tensor(&in[i]) && !size)
			return false;
		w->bytes += elements(&in[i]) * size;
		most = AIF_MAX(most, elements(&in[i]));
	}
	w->bytes += most * size_of(in[0].type);
	return true;
}

static bool writes(const struct input *in, struct aif_op_work *w)
{
	w->bytes = elements(in) * size_of(in->type);
	return w->bytes > 0;
}

bool aif_op_work(const char *name, const char *shapes, const char *types, struct aif_op_work *ret)
{
	static const struct {
		const char *name;
		enum kind kind;
		unsigned a, b;
	} works[] = {
#define AIF_OP_WORK(name, kind, a, b) {name, kind, a, b},
#include "analysis/roof/op_work.def"
#undef AIF_OP_WORK
	};
	struct input in[INPUTS] = {0};
	size_t i = 0;

	*ret = (struct aif_op_work){0};
	while (i < AIF_ARRAY_LEN(works) && strcmp(name, works[i].name) != 0)
		i++;
	if (i == AIF_ARRAY_LEN(works) || !read_shapes(shapes, in))
		return false;
	read_types(types, in);
	ret->is_product = works[i].kind == PRODUCT || works[i].kind == CONVOLVED;
	ret->is_pair = works[i].kind == CONVOLVED;
	ret->precision =
		ret->is_product ? aif_precision_of_type(in[works[i].a].type) : AIF_PRECISION_NONE;
	switch (works[i].kind) {
	case PRODUCT:
		return product(&in[works[i].a], &in[works[i].b], ret);
	case CONVOLVED:
		return convolved(&in[works[i].a], &in[works[i].b], ret);
	case ELEMENTWISE:
		return elementwise(in, works[i].a, ret);
	case WRITES:
		return writes(&in[works[i].a], ret);
	}
	return false;
}
