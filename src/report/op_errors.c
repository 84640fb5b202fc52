/* SPDX-License-Identifier: Apache-2.0 */
/* Standard errors of device times that are added up by operator, range or kernel (analysis/estimate.h). */
#include "report/ops.h"

#include "analysis/estimate.h"

#include <errno.h>
#include <math.h>

static int add(struct aif_estimate *rows, uint32_t row, const struct aif_exec_timeline *t,
	       const struct aif_timeline_exec *x)
{
	return row == AIF_NONE
		       ? 0
		       : aif_estimate_add(&rows[row], t->weights, aif_timeline_cycle_of(t, x),
					  (double)aif_timed_ns(x));
}

/* An operator's and those around it. */
static int add_to_ops(struct aif_estimate *rows, const struct aif_report *r,
		      const uint32_t *row_of_op, uint32_t op, const struct aif_timeline_exec *x)
{
	int e = 0;

	for (; op != AIF_NONE && !e; op = r->ops.ops[op].parent)
		e = add(rows, row_of_op[op], r->timeline, x);
	return e;
}

int aif_op_errors(const struct aif_report *r, const uint32_t *row_of_op,
		  const uint32_t *row_of_exec, size_t rows, uint64_t *ret)
{
	const struct aif_exec_timeline *t = r->timeline;
	struct aif_estimate *sums = t->weights ? calloc(rows + 1, sizeof(*sums)) : NULL;
	int e = t->weights && !sums ? -ENOMEM : 0;

	for (size_t i = 0; i < t->execs_len && sums && !e; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];

		if (aif_timeline_cycle_of(t, x) == AIF_NONE || !aif_report_has_exec(r, x))
			continue;
		e = add_to_ops(sums, r, row_of_op, aif_op_tree_of(&r->ops, x), x);
		if (!e && r->ops.of_other && x->launch != AIF_NONE)
			e = add_to_ops(sums, r, row_of_op, r->ops.of_other[x->launch], x);
		if (!e && row_of_exec)
			e = add(sums, row_of_exec[i], t, x);
	}
	for (size_t i = 0; i < rows && !e; i++)
		ret[i] = sums ? aif_timed_rounded(ceil(aif_estimate_error(&sums[i], t->weights)))
			      : 0;
	for (size_t i = 0; i < rows && sums; i++)
		aif_estimate_finish(&sums[i]);
	free(sums);
	return e;
}
