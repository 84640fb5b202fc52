/* SPDX-License-Identifier: Apache-2.0 */
#include "report/summary/parts.h"
#include "report/summary/summary.h"

#include "base/memory.h"

#include "text/table.h"
#include "profile/file.h"

#include <inttypes.h>
#include <string.h>

/* The number of lines; more where more was refused, but not all of a screen. */
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
	uint64_t count;   /* of all processes and threads of which the same is said */
	uint32_t process; /* AIF_NONE: of several */
	size_t i;
};

/* True for what was asked for and refused: there is a fix for it, or all of it is missing. Nobody has asked for NVML, which
 * containers often lack: info, doctor and what needs it speak of that. */
static bool is_refused(const struct aif_reason_info *info)
{
	return info && info->number != AIF_REASON_NVML_NONE &&
	       ((!info->is_loss && *info->fix) || info->number == AIF_REASON_COUNTERS_NO_GPU ||
		info->number == AIF_REASON_COUNTERS_SHORT ||
		info->number == AIF_REASON_STALLS_SHORT || info->number == AIF_REASON_CUDA_SHORT);
}

static int in_order(const void *a, const void *b)
{
	const struct trouble *x = a, *y = b;

	return AIF_ORDER(x->rank, y->rank) ?: AIF_ORDER(y->count, x->count)
	       ?: AIF_ORDER(x->i, y->i);
}

/* True for losses that another line says already: of the executions of a list two numbers say
 * so. */
static bool is_repeated(const struct aif_loss *l, bool shows_untimed, bool has_no_times)
{
	return (l->reason == AIF_REASON_NO_TIMES && shows_untimed) ||
	       (l->reason == AIF_REASON_ZE_NO_TIMES && (shows_untimed || has_no_times));
}

/* Adds a loss to the line that says the same of another process or thread. False: there is none. What is no loss has no
 * number in its line, and its count says only how early it comes. */
static bool add_to_line(struct trouble *all, size_t n, const struct aif_loss *l)
{
	const struct aif_reason_info *info = aif_reason_info((int)l->reason);

	for (size_t i = 0; i < n; i++)
		if (all[i].loss->reason == l->reason && all[i].loss->detail == l->detail) {
			all[i].count = info && info->is_loss ? all[i].count + l->count
							     : AIF_MAX(all[i].count, l->count);
			if (all[i].process != l->process)
				all[i].process = AIF_NONE;
			return true;
		}
	return false;
}

/* Collects the losses that are shown, minor ones only if they are asked for, in their order. Returns how many. */
static size_t collect(const struct aif_profile *p, bool shows_untimed, bool minor,
		      struct trouble *ret)
{
	bool has_no_times = false;
	size_t n = 0;

	for (size_t i = 0; i < p->losses_len; i++)
		has_no_times |= p->losses[i].reason == AIF_REASON_NO_TIMES;
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];
		bool is_again = false;

		if (is_repeated(l, shows_untimed, has_no_times) ||
		    (!minor && aif_loss_is_minor(&p->traits, l->reason)) || add_to_line(ret, n, l))
			continue;
		for (size_t j = 0; j < n && !is_again; j++)
			is_again = ret[j].loss->reason == l->reason;
		ret[n++] = (struct trouble){.loss = l,
					    .rank = !is_refused(aif_reason_info((int)l->reason))
							    ? OTHER
						    : is_again ? AGAIN
							       : REFUSED,
					    .count = l->count,
					    .process = l->process,
					    .i = i};
	}
	if (n)
		qsort(ret, n, sizeof(*ret), in_order);
	return n;
}

/* Returns what helps; for the fix of a line before, which is long, that the same helps. */
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
		aif_human_count(out, all[i].count);
		aif_buf_putc(out, ' ');
	}
	if (info)
		aif_reason_say(info, all[i].count, out);
	else
		aif_buf_puts(out, "unknown reason");
	aif_buf_printf(out, "%s%s%s", *detail ? " (" : "", detail, *detail ? ")" : "");
	/* Name the process where there are several: it may lack what the others have. */
	if (p->processes_len > 1 && all[i].process != AIF_NONE)
		aif_buf_printf(out, ", process %" PRIu32, p->processes[all[i].process].pid);
	aif_buf_printf(out, "%s%s", *fix ? "; " : "", fix);
}

void aif_summary_trouble(const struct aif_profile *p, bool shows_untimed, const char *path,
			 struct aif_buf *out)
{
	struct trouble *all = aif_memory_calloc(AIF_MAX(p->losses_len, 1), sizeof(*all));
	size_t n = all ? collect(p, shows_untimed, false, all) : 0, refused = 0, shown;

	while (refused < n && all[refused].rank == REFUSED)
		refused++;
	/* A loss that is no refusal is shown, too. */
	shown = AIF_MIN(n, AIF_MAX(AIF_MIN(refused, TOP_REFUSED) + 1, (size_t)TOP_TROUBLE));
	for (size_t i = 0; i < shown; i++) {
		aif_buf_puts(out, i ? "         " : "trouble  ");
		put(p, all, i, out);
		aif_buf_putc(out, '\n');
	}
	if (shown < n) {
		aif_buf_printf(out, "         and %zu more: ", n - shown);
		aif_summary_command(out, "aiflame info", path);
		aif_buf_putc(out, '\n');
	}
	free(all);
}

void aif_summary_losses(const struct aif_profile *p, size_t most,
			void (*fn)(void *arg, const char *text), void *arg)
{
	struct trouble *all = aif_memory_calloc(AIF_MAX(p->losses_len, 1), sizeof(*all));
	size_t n = all ? collect(p, false, true, all) : 0;
	struct aif_buf line = {0};

	for (size_t i = 0; i < AIF_MIN(n, most); i++) {
		aif_buf_clear(&line);
		put(p, all, i, &line);
		fn(arg, aif_buf_str(&line));
	}
	if (n > most) {
		aif_buf_clear(&line);
		aif_buf_printf(&line, "and %zu more: aiflame info", n - most);
		fn(arg, aif_buf_str(&line));
	}
	aif_buf_finish(&line);
	free(all);
}
