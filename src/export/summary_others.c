/* SPDX-License-Identifier: Apache-2.0 */
#include "export/summary.h"

#include "base/human.h"

/* What they compute is in no other number of the summary. */
void aif_summary_others(const struct aif_profile *p, struct aif_buf *out)
{
	uint64_t cpu = 0, all = 0, n = 0;

	for (size_t i = 0; i < p->processes_len; i++) {
		const struct aif_process *at = &p->processes[i];

		all += at->cpu_ns;
		if (at->cpu_ns && !(at->flags & AIF_PROCESS_RUNTIME)) {
			cpu += at->cpu_ns;
			n++;
		}
	}
	if (!n || cpu < all / 20)
		return;
	aif_buf_puts(out, "others   ");
	aif_human_counted(out, n, "process");
	aif_buf_puts(out, " without a device: ");
	aif_human_ns(out, cpu);
	aif_buf_puts(out, *aif_profile_meta(p, "ebpf")
				  ? " on CPU\n"
				  : " on CPU, not sampled (record --ebpf samples them)\n");
}
