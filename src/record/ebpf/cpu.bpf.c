// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* CPU samples: runs at each tick of each CPU's clock event. */
#include "record/ebpf/maps.bpf.h"

SEC("perf_event")
int aif_cpu_tick(void *ctx)
{
	struct aif_scratch *s;
	__u32 pid, tid, at = 0;

	if (!aif_who(&pid, &tid) || aif_is_unwanted(pid, AIF_EBPF_NO_SAMPLES))
		return 0;
	s = bpf_map_lookup_elem(&aif_scratch, &at);
	if (!s)
		return 0;
	s->event.kind = AIF_EBPF_SAMPLE;
	s->event.pid = pid;
	s->event.tid = tid;
	s->event.caller = 0;
	aif_message(ctx, s, 1, AIF_EBPF_LOST_SAMPLES);
	return 0;
}
