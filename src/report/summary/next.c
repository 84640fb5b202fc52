/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that the summary proposes. */
#include "report/summary/parts.h"

#include "analysis/traits.h"
#include "profile/file.h"
#include "report/stalls.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static int find_operator(void *found, const struct aif_op_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].kind == AIF_OP_OPERATOR) {
			*(bool *)found = true;
			return -ECANCELED; /* the rest is of no interest */
		}
	return 0;
}

static bool has_operators(const struct aif_profile *p)
{
	bool found = false;

	aif_profile_ops(p, find_operator, &found, NULL);
	return found;
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
	bool known = has->kernels && aif_stalls_init(&stalls, p, a) == 0,
	     has_stalls = known && stalls.kernels_len,
	     has_listing = has_stalls && put_annotate(names, &stalls, &annotate);
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
		{p->traits.is_imported && has_operators(p), "aiflame report --ops"},
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
