/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/empty.h"

#include "analysis/idle/blame.h"
#include "analysis/no_samples.h"
#include "analysis/traits.h"
#include "analysis/untimed.h"

#include <errno.h>
#include <string.h>

static int no_activity(const struct aif_profile *p, const struct aif_flame_opts *o,
		       struct aif_err *err)
{
	struct aif_cpu_totals cpu = {0};
	bool has_cpu = aif_cpu_totals(p, o->sel, &cpu, err) == 0 && cpu.stacks_len;

	aif_cpu_totals_finish(&cpu);
	if (has_cpu || p->traits.is_imported)
		return aif_err_set(err, -ENODATA,
				   "flame: no device activity in this profile or time; draw where "
				   "threads were with --of cpu, or see aiflame info");
	if (aif_no_cpu_samples(p))
		return aif_err_set(err, -ENODATA,
				   "flame: no device activity and no CPU samples: %s",
				   aif_no_cpu_samples(p));
	return aif_err_set(err, -ENODATA,
			   "flame: no device activity and no CPU samples in this profile or time; "
			   "aiflame report says why");
}

int aif_flame_empty(const struct aif_profile *p, const struct aif_attribution *a,
		    const struct aif_flame_opts *o, bool is_filtered, struct aif_err *err)
{
	if (!a->rows_len && aif_left_out_error(a->conservation.left_out, "flame", err) < 0)
		return -ENODATA;
	if (!a->rows_len && a->unmatched_len)
		return aif_err_set(
			err, -ENODATA,
			"flame: the only samples here belong to no launch and have no times; "
			"draw them with --by samples");
	if (!a->rows_len && aif_untimed_count(p))
		return aif_err_set(err, -ENODATA,
				   "flame: its launches have no times; draw them with --by "
				   "launches");
	if (!a->rows_len)
		return no_activity(p, o, err);
	if (is_filtered)
		return aif_err_set(err, -ENODATA,
				   "flame: no stack matches --focus, --ignore and --kernel; "
				   "widen them");
	if (o->by == AIF_BY_SAMPLES)
		return aif_err_set(err, -ENODATA,
				   "flame: no device samples in this profile; leave out --by "
				   "samples, the times are there");
	return aif_err_set(err, -ENODATA, "flame: nothing to draw: all times are 0%s",
			   aif_is_untimed(p, a) ? "; draw samples with --by samples" : "");
}

int aif_flame_empty_cpu(const struct aif_profile *p, const struct aif_cpu_totals *cpu,
			const struct aif_flame_opts *o, struct aif_err *err)
{
	if (o->off_cpu && !cpu->off_cpu_ns)
		return aif_err_set(err, -ENODATA,
				   "flame: no times off CPU in this profile, time, process or "
				   "thread; record with --ebpf --off-cpu");
	if (o->off_cpu || cpu->samples)
		return aif_err_set(err, -ENODATA,
				   "flame: no stack matches --focus and --ignore; widen them");
	if (aif_no_cpu_samples(p))
		return aif_err_set(err, -ENODATA, "flame: no CPU samples: %s",
				   aif_no_cpu_samples(p));
	if (!strcmp(aif_profile_meta(p, "cpu_rate"), "0"))
		return aif_err_set(err, -ENODATA,
				   "flame: no CPU samples: recorded with --cpu-rate 0; leave that "
				   "out");
	if (!aif_selection_is_part(o->sel))
		return aif_err_set(err, -ENODATA,
				   "flame: no CPU samples in this profile; see aiflame info");
	return aif_err_set(err, -ENODATA,
			   "flame: no CPU samples in this time, range, process or thread; widen "
			   "--time, --range, --process and --tid, or see aiflame info");
}

int aif_flame_empty_idle(const struct aif_idle_blame *idle, const struct aif_flame_opts *o,
			 struct aif_err *err)
{
	if (idle->len && (o->focus || o->ignore))
		return aif_err_set(err, -ENODATA,
				   "flame: no stack matches --focus and --ignore; widen them");
	return aif_err_set(
		err, -ENODATA,
		"flame: no device was idle between two executions in this profile or time; "
		"aiflame report says what there is");
}
