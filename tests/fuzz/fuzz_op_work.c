/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roof/op_work.h"
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shapes and types of operators are texts of traces: any bytes. The first byte chooses the operator; a newline parts shapes
 * from types. What is known of its work is a number, and no shape has a product without bytes where its type has a size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
#define AIF_OP_WORK(name, kind, a, b) name,
#include "analysis/roof/op_work.def"
#undef AIF_OP_WORK
		"aten::of_which_nothing_is_known"};
	const size_t unknown = AIF_ARRAY_LEN(names) - 1;
	struct aif_op_work w;
	char *shapes, *types;
	size_t name;
	bool is_known;

	if (!size)
		return 0;
	name = data[0] % AIF_ARRAY_LEN(names);
	shapes = strndup((const char *)data + 1, size - 1);
	if (!shapes)
		return 0;
	types = strchr(shapes, '\n');
	if (types)
		*types++ = '\0';
	is_known = aif_op_work(names[name], shapes, types ? types : "", &w);
	if (is_known && (name == unknown || !isfinite(w.flops) || !isfinite(w.bytes) ||
			 w.flops < 0 || w.bytes < 0 || (w.flops > 0 && !w.is_product)))
		abort();
	if (is_known && w.precision != AIF_PRECISION_NONE && w.flops > 0 && !(w.bytes > 0))
		abort();
	free(shapes);
	return 0;
}
