/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a recording in which nothing ran on a device: what there was, and the likely
 * reason. */
#include "report/summary/parts.h"

#include "analysis/gaps.h"
#include "analysis/no_samples.h"
#include "base/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TOP_PROCESSES 4

static bool was_paused(const struct aif_profile *p)
{
	struct aif_gaps gaps;
	bool was = aif_gaps_init(&gaps, p) == 0 && gaps.len;

	aif_gaps_finish(&gaps);
	return was;
}

/* The likely reason why nothing was executed. */
static const char *why_nothing(const struct aif_profile *p, size_t agents, size_t runtimes,
			       char text[160])
{
	const char *no_cpu = aif_no_cpu_samples(p), *attached = aif_profile_meta(p, "attached"),
		   *left = aif_profile_meta(p, "left_running"),
		   *steps = aif_profile_meta(p, "steps_asked");

	if (aif_profile_loss(p, AIF_REASON_HANDSHAKE_FAILED) ||
	    aif_profile_loss(p, AIF_REASON_WIRE_VERSION))
		return "an agent got no memory from the recorder, see below";
	if (aif_profile_loss(p, AIF_REASON_TIME_NAMESPACE))
		return "the program ran in a time namespace of its own, see below";
	if (!agents && aif_profile_loss(p, AIF_REASON_NOT_COVERED_ASAN))
		return "the program's AddressSanitizer does not let it begin with the agent, see below";
	if (!runtimes && aif_profile_loss(p, AIF_REASON_NOT_COVERED_USER))
		return "the program ran as another user than the recorder, see below";
	if (*left) {
		snprintf(text, 160,
			 "the command has ended, but process %.12s of it runs on, unrecorded; see "
			 "aiflame help env, record -p",
			 left);
		return text;
	}
	if (agents && *steps) {
		snprintf(
			text, 160,
			"no launch or sample in the steps %.24s (--steps): the program began fewer, or "
			"marks none; see docs/program.md",
			steps);
		return text;
	}
	if (aif_profile_loss(p, AIF_REASON_ZE_METRICS_SIGNAL))
		return "the command ended before it had launched anything, see below";
	if (aif_profile_loss(p, AIF_REASON_NOT_COVERED_LATE))
		return "what the program launched is not known: the agent was put into it while it ran, "
		       "see below";
	if (runtimes && was_paused(p))
		return "the program launched nothing while it was collected: see --delay, aiflame ctl";
	if (aif_profile_loss(p, AIF_REASON_CUDA_CROWDED) ||
	    aif_profile_loss(p, AIF_REASON_CUDA_REFUSED))
		return "what the program launched is not known: CUPTI refused to tell, see below";
	if (aif_profile_loss(p, AIF_REASON_CUDA_NO_CUPTI))
		return "what the program launched is not known: there is no CUPTI, see below";
	if (aif_profile_loss(p, AIF_REASON_NO_MEMORY))
		return "the agent got no memory in the program for what it launched, see below";
	if (runtimes)
		return "the program opened a device but launched nothing";
	if (!strcmp(attached, "all") && *aif_profile_meta(p, "ebpf"))
		return "in no process a launch was seen, with an agent or from outside";
	if (!strcmp(attached, "all"))
		return *aif_profile_meta(p, "inject")
			       ? "no process on standby has started an accelerator runtime; leave out "
				 "--inject never for processes that nobody prepared"
			       : "no process on standby has started an accelerator runtime, nor one "
				 "that could be joined; see aiflame ctl status";
	if (*attached)
		return "no accelerator runtime has started in what was recorded; it was waited for";
	if (agents && *aif_profile_meta(p, "cpu_programs"))
		return no_cpu ?: "no thread of the program was sampled: it ended too soon, or see below";
	if (agents)
		return "the program used none of CUDA, OpenCL and Level Zero, or its OpenCL loader has "
		       "no layers; see aiflame doctor";
	if (*aif_profile_meta(p, "cpu_programs") && no_cpu)
		return no_cpu;
	return "the agent was not loaded: a static or set-user-id program, or one that clears its "
	       "environment";
}

/* All that ran was recorded and dropped again, so that the likely reasons are none. */
static void put_dropped(const struct aif_profile *p, struct aif_buf *out)
{
	aif_human_counted(out, p->dropped_launches, "launch");
	aif_buf_puts(out, p->dropped_launches == 1 ? " was" : " were");
	aif_buf_puts(out,
		     " recorded and dropped by --max-size or --keep: record with a larger one");
}

void aif_summary_empty(const struct aif_profile *p, struct aif_buf *out)
{
	bool is_cpu = *aif_profile_meta(p, "cpu_programs");
	const char *no_cpu = aif_no_cpu_samples(p);
	size_t agents = 0, runtimes = 0;
	char text[160];

	if (p->traits.is_imported) {
		aif_buf_puts(out, "device   nothing in it ran on a device\n");
		return;
	}
	/* Programs that are sampled from outside are listed when they have a sample. */
	if (*aif_profile_meta(p, "outside") && !p->processes_len && !p->dropped_launches) {
		aif_buf_puts(
			out,
			"cpu      none: what was recorded used no CPU meanwhile; record --wall "
			"shows in which calls it waits\n");
		return;
	}
	for (size_t i = 0; i < p->processes_len; i++) {
		agents += (p->processes[i].flags & AIF_PROCESS_AGENT) != 0;
		runtimes += (p->processes[i].flags & AIF_PROCESS_RUNTIME) != 0;
	}
	aif_buf_puts(out, p->dropped_launches ? "nothing is left of what was executed: of "
			  : is_cpu            ? "nothing was sampled: of "
					      : "nothing was executed on any device: of ");
	aif_human_counted(out, p->processes_len, "process");
	aif_buf_printf(out, " seen, %zu carried the agent, %zu started a runtime\n", agents,
		       runtimes);
	for (size_t i = 0; i < p->processes_len && i < TOP_PROCESSES; i++)
		aif_buf_printf(out, "         %" PRIu32 " %.80s%s\n", p->processes[i].pid,
			       aif_profile_str(p, p->processes[i].cmdline),
			       p->processes[i].flags & AIF_PROCESS_RUNTIME ? ": runtime started"
			       : p->processes[i].flags & AIF_PROCESS_AGENT ? ": agent loaded"
									   : ": no agent");
	if (p->processes_len > TOP_PROCESSES)
		aif_buf_printf(out, "         and %zu more\n", p->processes_len - TOP_PROCESSES);
	aif_buf_puts(out, "reason   ");
	if (p->dropped_launches)
		put_dropped(p, out);
	else
		aif_buf_puts(out, why_nothing(p, agents, runtimes, text));
	aif_buf_putc(out, '\n');
	if (no_cpu && !is_cpu)
		aif_buf_printf(out, "cpu      no samples: %s\n", no_cpu);
}
