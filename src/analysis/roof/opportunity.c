/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roof/opportunity.h"

#include "analysis/roof/op_work.h"
#include "base/human.h"
#include "base/u64_of.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FP32 is said of products with such a part of the time. */
#define FP32_PPM 50000

/* An operator's executions. */
struct op_sum {
	double ns, product_ns;
	uint64_t products; /* executions that compute one */
	struct aif_op_work work;
	bool is_looked_at, is_known;
};
struct making {
	const struct aif_profile *p;
	const struct aif_exec_timeline *t;
	uint64_t (*ns)(const void *arg, const struct aif_timeline_exec *x);
	const void *arg;
	struct aif_opportunity *to;
	struct aif_op_tree ops;
	struct op_sum *sums; /* by operator; NULL: no operator's work is known */
	struct roof {
		struct aif_roof is;
		bool is_known;
	} * roofs;             /* by device */
	uint8_t *precision_of; /* by kernel: 1 + precision of its name; 0: not looked at */
};

static uint64_t key_of(const struct aif_profile *p, uint32_t kind, uint32_t kernel)
{
	return (uint64_t)kind << 32 | (kernel == AIF_NONE ? AIF_NONE : p->kernels[kernel].name);
}

static enum aif_precision precision_of(struct making *m, uint32_t kernel)
{
	if (kernel == AIF_NONE)
		return AIF_PRECISION_NONE;
	if (!m->precision_of[kernel])
		m->precision_of[kernel] = (uint8_t)(1 + aif_precision_of_kernel(aif_profile_str(
								m->p, m->p->kernels[kernel].name)));
	return (enum aif_precision)(m->precision_of[kernel] - 1);
}

/* Kernels whose names do not say a precision may compute a product, too. */
static bool is_product(struct making *m, uint32_t kernel)
{
	static const char *const parts[] = {"gemm",  "conv", "dgrad",   "wgrad", "nvjet",
					    "Cijk_", "mfma", "cutlass", "xmma",  "gemv"};
	const char *name;

	if (precision_of(m, kernel))
		return true;
	name = kernel == AIF_NONE ? "" : aif_profile_str(m->p, m->p->kernels[kernel].name);
	for (size_t i = 0; i < AIF_ARRAY_LEN(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* Looks an operator's work up, once. */
static struct op_sum *sum_of(struct making *m, uint32_t op)
{
	struct op_sum *sum = &m->sums[op];
	const struct aif_op *o = &m->ops.ops[op];

	if (!sum->is_looked_at) {
		sum->is_looked_at = true;
		sum->is_known =
			o->name != AIF_NONE && o->shapes != AIF_NONE &&
			aif_op_work(aif_profile_str(m->p, o->name),
				    aif_profile_str(m->p, o->shapes),
				    o->types == AIF_NONE ? "" : aif_profile_str(m->p, o->types),
				    &sum->work);
	}
	return sum;
}

/* Returns the sum of the operator whose work an execution does a part of: its own, or a product that its operator is a part of.
 * NULL: none is known. */
static struct op_sum *work_owner(struct making *m, const struct aif_timeline_exec *x)
{
	uint32_t op = m->sums ? aif_op_tree_of(&m->ops, x) : AIF_NONE, parent;
	struct op_sum *sum;

	if (op == AIF_NONE || aif_timeline_work_of(m->t, x)->kind != AIF_LAUNCH_KERNEL)
		return NULL;
	sum = sum_of(m, op);
	if (sum->is_known)
		return sum;
	parent = m->ops.ops[op].parent;
	sum = parent == AIF_NONE ? NULL : sum_of(m, parent);
	return sum && sum->is_known && sum->work.is_product ? sum : NULL;
}

static void add_to_op(struct making *m, const struct aif_timeline_exec *x)
{
	struct op_sum *sum = work_owner(m, x);

	if (!sum)
		return;
	sum->ns += (double)aif_timed_ns(x);
	if (is_product(m, aif_timeline_work_of(m->t, x)->kernel)) {
		sum->product_ns += (double)aif_timed_ns(x);
		sum->products++;
	}
}

/* Sets *ret to the work of an execution. False: it is not known. */
static bool work_of(struct making *m, const struct aif_timeline_exec *x, struct aif_op_work *ret)
{
	const struct op_sum *sum = work_owner(m, x);
	const struct aif_timeline_work *of = aif_timeline_work_of(m->t, x);
	bool is_shared = sum && sum->work.is_product && sum->product_ns > 0;
	double part;

	if (of->kind == AIF_LAUNCH_COPY || of->kind == AIF_LAUNCH_FILL) {
		uint64_t bytes = aif_timeline_more_of(m->t, x)->bytes;

		*ret = (struct aif_op_work){.bytes = (double)bytes *
						     (of->kind == AIF_LAUNCH_COPY ? 2 : 1)};
		return bytes > 0;
	}
	if (!sum || (is_shared && !is_product(m, of->kernel)))
		return false;
	part = (double)aif_timed_ns(x) / (is_shared ? sum->product_ns : sum->ns);
	/* The first layer's backward has no gradient by its input. */
	part /= sum->work.is_pair && sum->products == 1 ? 2 : 1;
	*ret = sum->work;
	ret->flops *= part;
	ret->bytes *= part;
	if (precision_of(m, of->kernel))
		ret->precision = precision_of(m, of->kernel);
	return true;
}

/* Returns the least ns in which the device can do it, 0: not known. */
static double least_ns(const struct aif_roof *roof, double ns, struct aif_op_work *w,
		       bool *ret_is_memory)
{
	double memory = roof->bytes_per_s > 0 ? w->bytes / roof->bytes_per_s * AIF_NS_PER_S : 0,
	       compute = 0;

	if (w->flops > 0 && !w->precision) {
		w->precision = AIF_PRECISION_FP32;
		if (roof->per_s[AIF_PRECISION_TF32] > 0 &&
		    w->flops * AIF_NS_PER_S > roof->per_s[AIF_PRECISION_FP32] * ns)
			w->precision = AIF_PRECISION_TF32;
	}
	if (w->flops > 0) {
		if (!(roof->per_s[w->precision] > 0))
			return 0;
		compute = w->flops / roof->per_s[w->precision] * AIF_NS_PER_S;
	}
	*ret_is_memory = memory > compute;
	return AIF_MAX(memory, compute);
}

static int kernel_get(struct making *m, const struct aif_timeline_work *of,
		      struct aif_opportunity_kernel **ret)
{
	struct aif_opportunity *to = m->to;
	uint64_t key = key_of(m->p, of->kind, of->kernel), i;

	if (!aif_map_get(&to->of, key, &i)) {
		i = to->len;
		if (aif_grow(&to->kernels, &to->cap, i + 1, sizeof(*to->kernels)) < 0 ||
		    aif_map_put(&to->of, key, i) < 0)
			return -ENOMEM;
		to->kernels[to->len++] = (struct aif_opportunity_kernel){0};
	}
	*ret = &to->kernels[i];
	return 0;
}

static int add_exec(struct making *m, const struct aif_timeline_exec *x)
{
	uint64_t in_part = m->ns ? m->ns(m->arg, x) : aif_timed_ns(x);
	double ns = aif_exec_timeline_whole(m->t, x, in_part), part, least;
	const struct aif_timeline_work *of = aif_timeline_work_of(m->t, x);
	const struct aif_roof *roof = of->device == AIF_NONE || !m->roofs[of->device].is_known
					      ? NULL
					      : &m->roofs[of->device].is;
	struct aif_opportunity_kernel *k;
	struct aif_op_work w;
	bool is_memory = false;
	enum aif_precision by_name = precision_of(m, of->kernel);

	if (!in_part)
		return 0;
	if (kernel_get(m, of, &k) < 0)
		return -ENOMEM;
	k->time_ns += ns;
	m->to->time_ns += ns;
	if (roof && by_name == AIF_PRECISION_FP32 &&
	    (roof->per_s[AIF_PRECISION_TF32] > 0 || roof->per_s[AIF_PRECISION_FP16] > 0)) {
		m->to->fp32_ns += ns;
		m->to->fp32_roof = *roof;
		m->to->fp32_device = m->p->devices[of->device].name;
	}
	if (!work_of(m, x, &w))
		return 0;
	part = ns / (double)aif_timed_ns(x);
	k->known_ns += ns;
	m->to->known_ns += ns;
	k->flops += w.flops * part;
	k->bytes += w.bytes * part;
	if (!roof && of->device != AIF_NONE)
		m->to->without_roof = m->p->devices[of->device].name;
	least = roof ? least_ns(roof, (double)aif_timed_ns(x), &w, &is_memory) : 0;
	if (!(least > 0))
		return 0;
	k->roof_ns += ns;
	m->to->roof_ns += ns;
	k->least_ns += least * part;
	k->memory_ns += is_memory ? ns : 0;
	if (w.precision)
		k->precision = w.precision;
	if (w.flops > 0) {
		double *peak = &m->to->peak_of[w.precision];

		m->to->flops_of[w.precision] += w.flops * part;
		m->to->do_peaks_differ |= *peak > 0 && *peak != roof->per_s[w.precision];
		*peak = roof->per_s[w.precision];
	}
	return 0;
}

/* Stops at the first operator that has what its work is made from. */
static int look_for_shapes(void *arg, const struct aif_op_row *rows, size_t n)
{
	bool *has_shapes = arg;

	for (size_t i = 0; i < n && !*has_shapes; i++)
		*has_shapes = rows[i].shapes != AIF_NONE;
	return *has_shapes;
}

/* Makes the operators' sums. Most programs record no shapes: a look for one takes less than the tree. 0 or -errno. */
static int make_sums(struct making *m, const struct aif_selection *sel)
{
	bool has_shapes = false;
	int e = aif_profile_ops(m->p, look_for_shapes, &has_shapes, &m->to->damaged);

	if (e < 0 || !has_shapes)
		return AIF_MIN(e, 0);
	e = aif_op_tree_make(m->p, sel, m->t, AIF_OWNERS_OPERATORS, &m->ops);
	if (e)
		return e;
	m->to->damaged = m->ops.damaged;
	m->sums = calloc(m->ops.len + 1, sizeof(*m->sums));
	return m->sums ? 0 : -ENOMEM;
}

static int make(struct making *m, const struct aif_selection *sel)
{
	const struct aif_profile *p = m->p;
	int e;

	m->roofs = calloc(p->devices_len + 1, sizeof(*m->roofs));
	m->precision_of = calloc(p->kernels_len + 1, 1);
	if (!m->roofs || !m->precision_of)
		return -ENOMEM;
	for (size_t i = 0; i < p->devices_len; i++)
		m->roofs[i].is_known = aif_roof_of(p, &p->devices[i], &m->roofs[i].is);
	e = make_sums(m, sel);
	for (size_t i = 0; i < m->t->execs_len && !e && m->sums; i++)
		add_to_op(m, &m->t->execs[i]);
	for (size_t i = 0; i < m->t->execs_len && !e; i++)
		e = add_exec(m, &m->t->execs[i]);
	for (size_t i = 0; i < m->to->len && !e; i++) {
		struct aif_opportunity_kernel *k = &m->to->kernels[i];

		k->is_known = k->known_ns > 0 && k->known_ns * 2 >= k->time_ns;
		k->has_roof = k->roof_ns > 0 && k->roof_ns * 2 >= k->time_ns;
	}
	return e;
}

int aif_opportunity_make(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_exec_timeline *t,
			 uint64_t (*ns)(const void *arg, const struct aif_timeline_exec *x),
			 const void *arg, struct aif_opportunity *ret)
{
	struct making m = {.p = p, .t = t, .ns = ns, .arg = arg, .to = ret};
	int e;

	*ret = (struct aif_opportunity){.fp32_device = AIF_NONE, .without_roof = AIF_NONE};
	e = make(&m, sel);
	aif_op_tree_finish(&m.ops);
	free(m.sums);
	free(m.roofs);
	free(m.precision_of);
	return e;
}

void aif_opportunity_finish(struct aif_opportunity *o)
{
	free(o->kernels);
	aif_map_finish(&o->of);
	*o = (struct aif_opportunity){0};
}

const struct aif_opportunity_kernel *aif_opportunity_of(const struct aif_opportunity *o,
							const struct aif_profile *p, uint32_t kind,
							uint32_t kernel)
{
	uint64_t i;

	return aif_map_get(&o->of, key_of(p, kind, kernel), &i) ? &o->kernels[i] : NULL;
}

bool aif_opportunity_mfu(const struct aif_opportunity *o, double device_ns,
			 struct aif_opportunity_mfu *ret)
{
	enum aif_precision most = AIF_PRECISION_NONE;
	double flops = 0;

	for (unsigned i = 0; i < AIF_PRECISIONS; i++) {
		flops += o->flops_of[i];
		if (o->flops_of[i] > o->flops_of[most])
			most = (enum aif_precision)i;
	}
	if (!(flops > 0) || !(device_ns > 0) || o->do_peaks_differ)
		return false;
	*ret = (struct aif_opportunity_mfu){
		.per_s = flops / device_ns * AIF_NS_PER_S,
		.peak_per_s = o->peak_of[most],
		.precision = most,
		.known = o->known_ns / o->time_ns,
	};
	ret->share = ret->per_s / ret->peak_per_s;
	return true;
}

const char *aif_opportunity_bound(const struct aif_opportunity_kernel *k)
{
	return k->memory_ns * 2 >= k->roof_ns ? "memory" : aif_precision_name(k->precision);
}

void aif_opportunity_say_precision(const struct aif_opportunity *o, const struct aif_profile *p,
				   struct aif_buf *out)
{
	uint64_t ppm = o->time_ns > 0 ? aif_u64_of(1e6 * o->fp32_ns / o->time_ns) : 0;
	const struct aif_roof *roof = &o->fp32_roof;
	enum aif_precision better = AIF_PRECISION_TF32;

	if (ppm < FP32_PPM)
		return;
	if (!(roof->per_s[better] > 0))
		better = AIF_PRECISION_FP16;
	aif_human_share(out, ppm);
	aif_buf_printf(out,
		       " of kernel time in FP32 products outside of matrix units: %s has %.1fx the "
		       "rate of FP32 on %s, %s",
		       aif_precision_name(better),
		       roof->per_s[better] / roof->per_s[AIF_PRECISION_FP32],
		       aif_profile_str(p, o->fp32_device),
		       better == AIF_PRECISION_TF32 ? "torch.set_float32_matmul_precision(\"high\")"
						    : "torch.autocast");
}
