/* SPDX-License-Identifier: Apache-2.0 */
#include "export/summary.h"

#include "export/table.h"
#include "profile/file.h"

#include <string.h>

/* So many lines, or more where more was refused, but not all of a screen. */
#define TOP_TROUBLE 3
#define TOP_REFUSED 5

void aif_summary_command(struct aif_buf *out, const char *command, const char *path)
{
	aif_buf_puts(out, command);
	if (!strcmp(path, AIF_DEFAULT_FILE))
		return;
	aif_buf_putc(out, ' ');
	aif_buf_shell_path(out, path);
}

enum rank { REFUSED, OTHER, AGAIN };

struct trouble {
	const struct aif_loss *loss;
	enum rank rank;
	size_t i;
};

/* What was asked for and not had: there is something to be done about it, or all of it is missing. */
static bool is_refused(const struct aif_reason_info *info)
{
	return info &&
	       ((!info->is_loss && *info->fix) || info->number == AIF_REASON_COUNTERS_NO_GPU ||
		info->number == AIF_REASON_COUNTERS_SHORT ||
		info->number == AIF_REASON_STALLS_SHORT || info->number == AIF_REASON_CUDA_SHORT);
}

static int in_order(const void *a, const void *b)
{
	const struct trouble *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->loss->count != y->loss->count)
		return x->loss->count > y->loss->count ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Of an execution of a list two numbers tell it: those of its launches are enough. */
static bool is_told(const struct aif_loss *l, bool has_told, bool has_no_times)
{
	return (l->reason == AIF_REASON_NO_TIMES && has_told) ||
	       (l->reason == AIF_REASON_ZE_NO_TIMES && (has_told || has_no_times));
}

/* Those to be told, in their order. */
static size_t collect(const struct aif_profile *p, bool has_told, struct trouble *ret)
{
	bool has_no_times = false;
	size_t n = 0;

	for (size_t i = 0; i < p->losses_len; i++)
		has_no_times |= p->losses[i].reason == AIF_REASON_NO_TIMES;
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];
		bool is_again = false;

		if (is_told(l, has_told, has_no_times))
			continue;
		for (size_t j = 0; j < n && !is_again; j++)
			is_again = ret[j].loss->reason == l->reason;
		ret[n++] = (struct trouble){.loss = l,
					    .rank = !is_refused(aif_reason_info((int)l->reason))
							    ? OTHER
						    : is_again ? AGAIN
							       : REFUSED,
					    .i = i};
	}
	if (n)
		qsort(ret, n, sizeof(*ret), in_order);
	return n;
}

/* What helps is long: where the same helps as before, that is said. */
static const char *fix_of(const struct trouble *all, size_t i)
{
	const struct aif_reason_info *info = aif_reason_info((int)all[i].loss->reason);

	for (size_t k = 0; k < i && info && *info->fix; k++) {
		const struct aif_reason_info *before = aif_reason_info((int)all[k].loss->reason);

		if (before && !strcmp(before->fix, info->fix))
			return "the same helps";
	}
	return info ? info->fix : "";
}

static void put(const struct aif_profile *p, const struct trouble *all, size_t i,
		struct aif_buf *out)
{
	const struct aif_loss *l = all[i].loss;
	const struct aif_reason_info *info = aif_reason_info((int)l->reason);
	const char *detail = l->detail == AIF_NONE ? "" : aif_profile_str(p, l->detail),
		   *fix = fix_of(all, i);

	if (info && info->is_loss) {
		aif_human_count(out, l->count);
		aif_buf_putc(out, ' ');
	}
	if (info)
		aif_reason_say(info, l->count, out);
	else
		aif_buf_puts(out, "unknown reason");
	aif_buf_printf(out, "%s%s%s%s%s\n", *detail ? " (" : "", detail, *detail ? ")" : "",
		       *fix ? "; " : "", fix);
}

void aif_summary_trouble(const struct aif_profile *p, bool has_told, const char *path,
			 struct aif_buf *out)
{
	struct trouble *all = calloc(AIF_MAX(p->losses_len, 1), sizeof(*all));
	size_t n = all ? collect(p, has_told, all) : 0, refused = 0, shown;

	while (refused < n && all[refused].rank == REFUSED)
		refused++;
	/* One of the others, too. */
	shown = AIF_MIN(n, AIF_MAX(AIF_MIN(refused, TOP_REFUSED) + 1, (size_t)TOP_TROUBLE));
	for (size_t i = 0; i < shown; i++) {
		aif_buf_puts(out, i ? "         " : "trouble  ");
		put(p, all, i, out);
	}
	if (shown < n) {
		aif_buf_printf(out, "         and %zu more: ", n - shown);
		aif_summary_command(out, "aiflame info", path);
		aif_buf_putc(out, '\n');
	}
	free(all);
}
