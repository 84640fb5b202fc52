/* SPDX-License-Identifier: Apache-2.0 */
#include "report/summary/parts.h"

#include "analysis/no_samples.h"
#include "base/human.h"

#include <inttypes.h>

/* Processes without a device are in no other number of the summary. */
void aif_summary_others(const struct aif_profile *p, struct aif_buf *out)
{
	uint64_t cpu = 0, all = 0, n = 0, sampled = 0;

	for (size_t i = 0; i < p->processes_len; i++) {
		const struct aif_process *at = &p->processes[i];

		all += at->cpu_ns;
		if (at->cpu_ns && !(at->flags & AIF_PROCESS_RUNTIME)) {
			cpu += at->cpu_ns;
			n++;
			sampled += at->flags & AIF_PROCESS_JOINED ? 1 : 0;
		}
	}
	if (!n || cpu < all / 20)
		return;
	aif_buf_puts(out, "others   ");
	aif_human_counted(out, n, "process");
	aif_buf_puts(out, " without a device: ");
	aif_human_ns(out, cpu);
	aif_buf_puts(out, " on CPU");
	if (sampled && sampled < n)
		aif_buf_printf(out, ", %" PRIu64 " sampled", sampled);
	else if (!sampled && (*aif_profile_meta(p, "cpu_programs") || aif_no_cpu_samples(p)))
		aif_buf_puts(out, ", not sampled");
	else if (!sampled && !*aif_profile_meta(p, "ebpf"))
		aif_buf_puts(out, ", not sampled (record --children samples them)");
	aif_buf_puts(out, "\n");
}
