/* SPDX-License-Identifier: Apache-2.0 */
/* A run that used no device, reduced: CPU time by stack. */
#include "compare/run.h"

#include "analysis/cpu_totals.h"
#include "base/signals.h"
#include "flame/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int describe(const struct aif_profile *p, const struct aif_cpu_totals *cpu,
		    struct aif_run *run)
{
	char why[64];
	int e = aif_run_set(run, AIF_RUN_MACHINE, aif_profile_meta(p, "cpu"));

	if (!e)
		e = aif_run_set(run, AIF_RUN_COMMAND, aif_profile_meta(p, "command"));
	if (!e)
		e = aif_run_set(run, AIF_RUN_HOST, aif_profile_meta(p, "host"));
	if (!e)
		e = aif_run_set_lacks(run, p);
	if (!e && p->notes & AIF_NOTE_CUT_SHORT)
		e = aif_run_set(run, AIF_RUN_PROBLEM, "the recording was cut short");
	else if (!e && cpu->damaged)
		e = aif_run_set(run, AIF_RUN_PROBLEM, "parts of the file are damaged");
	else if (!e && !run->is_part && aif_run_fatal_signal(p)) {
		snprintf(why, sizeof(why), "its command was ended by %s",
			 aif_signal_name(aif_run_fatal_signal(p)));
		e = aif_run_set(run, AIF_RUN_PROBLEM, why);
	}
	return e;
}

int aif_run_reduce_cpu(const struct aif_names *names, const struct aif_selection *sel,
		       struct aif_run *ret, struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	const struct aif_flame_opts o = {.detail = AIF_NAME_NORMAL, .sel = sel};
	struct aif_cpu_totals cpu = {0}, by_thread = {0};
	int e = aif_cpu_totals(p, sel, &cpu, err);

	if (!e && (!cpu.samples || !cpu.weight_ns)) {
		aif_cpu_totals_finish(&cpu);
		return -ENODATA;
	}
	if (!e)
		e = aif_cpu_totals_by_thread(p, sel, &by_thread, err);
	if (!e)
		e = aif_flame_build_cpu(names, &cpu, &o, &ret->tree, err);
	if (!e) {
		ret->is_cpu = true;
		ret->is_part = aif_selection_is_part(sel);
		ret->is_open = aif_run_is_open(p);
		ret->is_counts =
			p->traits.cpu_weights == AIF_CPU_WEIGHTS_COUNTS || p->traits.is_lengths;
		ret->start_s =
			strtoull(aif_profile_meta(p, "start_realtime_ns"), NULL, 10) / 1000000000;
		ret->is_whole = !ret->is_part && !ret->is_open && !ret->is_counts;
		ret->amount[AIF_RUN_ELAPSED] = ret->is_whole ? p->end_ns - p->start_ns
							     : aif_cpu_span_ns(p, sel, &by_thread);
		ret->amount[AIF_RUN_CPU] = cpu.weight_ns;
		ret->amount[AIF_RUN_SAMPLES] = cpu.samples;
		ret->amount[AIF_RUN_STATUS] =
			strtoull(aif_profile_meta(p, "exit_status"), NULL, 10);
		e = describe(p, &cpu, ret);
	}
	aif_cpu_totals_finish(&cpu);
	aif_cpu_totals_finish(&by_thread);
	return e && err && !err->code ? aif_err_set(err, e, "%s", strerror(-e)) : e;
}
