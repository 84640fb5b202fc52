/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture.h"

/*
 * Compiled into an agent of its own (torch.sh): the capture of a launch and nothing else of it; no clock, no
 * LAUNCH record. It is called by tests/e2e/torch_hook.c.
 */
AIF_PUBLIC void aif_bench_capture(void);
void aif_bench_capture(void)
{
	const struct aif_emit_api api = {.pc = (uintptr_t)aif_bench_capture};
	struct aif_thread *t = aif_thread_enter();
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	if (!t)
		return;
	aif_capture(t, &regs, &api);
	aif_thread_leave(t);
}
