/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that the summary proposes. */
#include "report/summary/parts.h"

#include "profile/file.h"
#include "report/stalls.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Rows that are searched for ranges and operators: a program that marks any does so early. */
#define MOST_OPS 1000000

struct marked {
	bool operators, ranges;
	uint64_t seen;
};

static int find_marked(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct marked *m = arg;

	for (size_t i = 0; i < n; i++) {
		m->operators |= rows[i].kind == AIF_OP_OPERATOR;
		m->ranges |= rows[i].kind == AIF_OP_RANGE;
	}
	m->seen += n;
	return (m->operators && m->ranges) || m->seen >= MOST_OPS ? -ECANCELED : 0;
}

/* Appends "aiflame annotate KERNEL" for the kernel with the most time of those that have stall
 * reasons, with as much of its name as is no expression. False if there is none. */
static bool put_annotate(const struct aif_names *names, const struct aif_stalls *stalls,
			 struct aif_buf *out)
{
	const struct aif_profile *p = names->p;
	struct aif_buf name = {0};
	const char *text;
	size_t len = 0;
	uint32_t kernel;
	bool has;

	if (!stalls->kernels_len)
		return false;
	kernel = stalls->kernels[0].kernel;
	text = aif_names_work(names, AIF_LAUNCH_KERNEL, kernel);
	while (isalnum((unsigned char)text[len]) || (text[len] && strchr("_:", text[len])))
		len++;
	aif_buf_append(&name, text, len);
	/* Short names may be ours. */
	has = len && strstr(aif_profile_str(p, p->kernels[kernel].name), aif_buf_str(&name));
	aif_buf_printf(out, "aiflame annotate %s", aif_buf_str(&name));
	aif_buf_finish(&name);
	return has;
}

void aif_summary_next(const struct aif_names *names, const struct aif_attribution *a,
		      const struct aif_summary_content *has, const char *path, struct aif_buf *out)
{
	const struct aif_profile *p = names->p;
	struct aif_buf annotate = {0};
	struct aif_stalls stalls;
	struct marked marked = {0};
	bool known = has->kernels && aif_stalls_init(&stalls, p, a) == 0,
	     has_stalls = known && stalls.kernels_len,
	     has_listing = has_stalls && put_annotate(names, &stalls, &annotate);

	(void)aif_profile_ops(p, find_marked, &marked, NULL);
	const struct {
		bool is_there;
		const char *command;
	} next[] = {
		{has->device, "aiflame flame"},
		{has->kernels, "aiflame report --kernels"},
		{has_stalls, "aiflame report --stalls"},
		{has_listing, aif_buf_str(&annotate)},
		{!has->device && has->untimed, "aiflame flame --by launches"},
		{!has->device && has->untimed, "aiflame report --launches"},
		{has->functions, "aiflame why"},
		{has->functions, "aiflame report --cpu"},
		{!has->device && has->cpu, AIF_SUMMARY_OF_CPU},
		{!has->device && has->off_cpu, AIF_SUMMARY_OF_OFF_CPU},
		{p->traits.is_imported && marked.operators, "aiflame report --ops"},
		{marked.ranges, "aiflame report --ranges"},
	};

	if ((has->kernels && !known) || aif_buf_failed(&annotate))
		aif_profile_fail(p, -ENOMEM);
	for (size_t i = 0; i < AIF_ARRAY_LEN(next); i++) {
		if (!next[i].is_there)
			continue;
		aif_summary_command(out, next[i].command, path);
		aif_buf_puts(out, ", ");
	}
	aif_summary_command(out, "aiflame info", path);
	aif_buf_putc(out, '\n');
	aif_buf_finish(&annotate);
	if (known)
		aif_stalls_finish(&stalls);
}
