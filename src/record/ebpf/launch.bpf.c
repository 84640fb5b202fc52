// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Launches of processes without the agent: runs on entry of a function that launches. */
#include "record/ebpf/maps.bpf.h"

/* On entry the frame pointer is still the caller's: following it begins with the caller's
 * caller. The caller is where the return will go to. */
static __always_inline __u64 aif_caller(const struct aif_registers *regs)
{
#if defined(__TARGET_ARCH_x86)
	__u64 to = 0;

	if (bpf_probe_read_user(&to, sizeof(to), (const void *)regs->sp))
		return 0;
	return to;
#else
	return regs->regs[30];
#endif
}

SEC("uprobe")
int aif_launch(struct aif_registers *regs)
{
	struct aif_scratch *s;
	__u32 pid, tid, at = 1;

	if (!aif_who(&pid, &tid) || aif_is_unwanted(pid, AIF_EBPF_NO_LAUNCHES))
		return 0;
	s = bpf_map_lookup_elem(&aif_scratch, &at);
	if (!s)
		return 0;
	s->event.kind = AIF_EBPF_LAUNCH;
	s->event.pid = pid;
	s->event.tid = tid;
	s->event.caller = aif_caller(regs);
	aif_message(regs, s, 0, AIF_EBPF_LOST_LAUNCHES);
	return 0;
}
