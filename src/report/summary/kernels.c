/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's lines of kernels: those with the most time, each with what launched most of it. */
#include "report/summary/parts.h"

#include "profile/file.h"
#include "report/stalls.h"
#include "report/work_sums.h"
#include "text/elide.h"
#include "text/table.h"

#include <inttypes.h>
#include <string.h>

/* A line has 38 columns beside these two: callers end within 100 where that leaves kernels' names
 * readable. */
#define BOTH_COLUMNS       62
#define KERNEL_MIN_COLUMNS 28
#define KERNEL_MAX_COLUMNS 56
#define CALLER_COLUMNS     48

/* The data that the lines are made from. */
struct top {
	const struct aif_names *names;
	struct aif_stack_names *stacks;
	struct aif_work_sums sums; /* widest first */
	uint64_t whole;            /* what their widths are shares of */
	size_t len;                /* sums that are shown */
	struct aif_stalls stalls;
	bool has_stalls;
	/* Texts that are cut to fit. */
	struct aif_elider kernels, callers;
	size_t kernel_width;
};

static int by_width(const void *a, const void *b)
{
	const struct aif_work_sum *x = a, *y = b;

	return AIF_ORDER(y->width, x->width);
}

/* Writes "aten::mm in Block.forward (model.py)" in place of what *out has. */
static void put_caller(struct aif_stack_names *stacks, uint32_t stack, struct aif_buf *out)
{
	const char *text = aif_stack_names_operator(stacks, stack);

	aif_buf_clear(out);
	aif_buf_puts(out, text ? text : "");
	text = aif_stack_names_caller(stacks, stack);
	if (text && *text && strcmp(text, aif_buf_str(out)) != 0)
		aif_buf_printf(out, "%s%s", out->len ? " in " : "", text);
}

/* Adds the kernels up and keeps the `most` widest. 0 or -errno. */
static int find_top(struct top *t, const struct aif_attribution *a,
		    const struct aif_selection *part, size_t most)
{
	struct aif_work_sums *w = &t->sums;
	struct aif_err err;
	int r = aif_stack_names_new(t->names, AIF_NAME_NORMAL, &t->stacks);

	if (r < 0)
		return r;
	r = aif_stack_names_join(t->stacks, part, &err);
	if (r < 0)
		return r;
	*w = (struct aif_work_sums){
		.names = t->names, .a = a, .stacks = t->stacks, .key = aif_work_kernel_key};
	r = aif_work_sums_make(w);
	if (r < 0)
		return r;
	for (size_t i = 0; i < w->len; i++)
		t->whole += w->sums[i].width;
	if (!w->is_untimed)
		t->whole = a->conservation.busy_ns;
	if (w->len)
		qsort(w->sums, w->len, sizeof(*w->sums), by_width);
	t->len = AIF_MIN(w->len, most);
	return 0;
}

/* Finds how the names of kernels and callers are cut. 0 or -ENOMEM. */
static int fit_texts(struct top *t)
{
	size_t most = KERNEL_MAX_COLUMNS, n;
	struct aif_buf caller = {0};
	int r = 0;

	t->kernel_width = 6;
	for (size_t i = 0; i < t->len && r == 0; i++) {
		const struct aif_work_sum *s = &t->sums.sums[i];
		const char *kernel = aif_names_work(t->names, s->kind, s->kernel);

		put_caller(t->stacks, s->stack, &caller);
		n = AIF_MIN(aif_elide_width(caller.data, caller.len), (size_t)CALLER_COLUMNS);
		most = AIF_MIN(most, BOTH_COLUMNS - n);
		t->kernel_width = AIF_MAX(t->kernel_width, aif_elide_width(kernel, strlen(kernel)));
		r = aif_elider_add(&t->callers, caller.data, caller.len);
		if (r == 0)
			r = aif_elider_add(&t->kernels, kernel, strlen(kernel));
	}
	t->kernel_width = AIF_MIN(t->kernel_width, AIF_MAX(most, (size_t)KERNEL_MIN_COLUMNS));
	if (r == 0)
		r = aif_elider_make(&t->callers, CALLER_COLUMNS);
	if (r == 0)
		r = aif_elider_make(&t->kernels, t->kernel_width);
	aif_buf_finish(&caller);
	return r;
}

static void put_kernel(const struct top *t, const struct aif_work_sum *s, struct aif_buf *out)
{
	const char *name = aif_names_work(t->names, s->kind, s->kernel);
	size_t len;
	const char *text = aif_elider_get(&t->kernels, name, strlen(name), &len);

	aif_buf_printf(out, "%s%*s", text, (int)(t->kernel_width - aif_elide_width(text, len)), "");
}

/* Appends what the kernel waits for most, where its samples tell. */
static void put_wait(const struct aif_stalls *s, uint32_t kernel, struct aif_buf *out)
{
	struct aif_buf wait = {0};

	aif_stalls_top(s, kernel, &wait);
	if (wait.len)
		aif_buf_printf(out, ", waits: %s", aif_buf_str(&wait));
	aif_buf_finish(&wait);
}

/* Appends the line of a kernel, but its beginning. */
static void put_line(const struct top *t, const struct aif_work_sum *s, struct aif_buf *out)
{
	struct aif_buf cell = {0}, caller = {0};
	size_t len;

	aif_human_share(&cell, aif_share_ppm(s->width, t->whole));
	aif_buf_printf(out, "%8s  ", aif_buf_str(&cell));
	put_kernel(t, s, out);
	aif_buf_clear(&cell);
	if (t->sums.is_untimed)
		aif_human_counted(&cell, s->width, "sample");
	else
		aif_human_ns(&cell, s->width);
	aif_buf_printf(out, " %8s", aif_buf_str(&cell));
	aif_summary_error(s->variance, s->time, s->width, out);
	if (!t->names->p->traits.is_lengths && !t->sums.is_untimed)
		aif_buf_printf(out, " in %4" PRIu64, s->launches);
	put_caller(t->stacks, s->stack, &caller);
	if (caller.len)
		aif_buf_printf(out, "  %s",
			       aif_elider_get(&t->callers, caller.data, caller.len, &len));
	if (s->kind == AIF_LAUNCH_KERNEL)
		put_wait(&t->stalls, s->kernel, out);
	aif_buf_putc(out, '\n');
	aif_buf_finish(&caller);
	aif_buf_finish(&cell);
}

void aif_summary_kernels(const struct aif_names *names, const struct aif_attribution *a,
			 const struct aif_selection *part, size_t most, struct aif_buf *out)
{
	struct top t = {.names = names};
	int r = find_top(&t, a, part, most);

	if (!r)
		r = fit_texts(&t);
	if (!r)
		r = aif_stalls_init(&t.stalls, names->p, a);
	t.has_stalls = !r;
	if (r < 0)
		aif_profile_fail(names->p, r);
	for (size_t i = 0; !r && i < t.len; i++) {
		aif_buf_puts(out, i ? "         " : "kernels  ");
		put_line(&t, &t.sums.sums[i], out);
	}
	aif_elider_finish(&t.kernels);
	aif_elider_finish(&t.callers);
	if (t.has_stalls)
		aif_stalls_finish(&t.stalls);
	aif_work_sums_finish(&t.sums);
	aif_stack_names_free(t.stacks);
}
