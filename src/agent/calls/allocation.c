/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/calls/allocation.h"

#include "agent/capture.h"

#include <errno.h>

bool aif_allocation_begin(struct aif_allocation *a)
{
	if (aif_thread_asleep())
		return false;
	a->saved = errno;
	a->thread = aif_thread_enter_callback(&a->was);
	if (!a->thread) {
		errno = a->saved;
		return false;
	}
	a->time = aif_now_ns();
	aif_emit_cost_begin(a->thread, &a->cost, a->time);
	return true;
}

void aif_allocation_unplaced(void)
{
	struct aif_allocation a;

	if (!aif_allocation_begin(&a))
		return;
	aif_emit_note(a.thread, AIF_REASON_ALLOCATIONS_UNPLACED, 1, "");
	aif_emit_cost_end(&a.cost);
	aif_thread_leave_callback(a.thread, a.was);
	errno = a.saved;
}

void aif_allocation_end(struct aif_allocation *a, struct aif_emit_memory *m,
			const struct aif_regs *regs, const struct aif_emit_api *api)
{
	m->time = a->time;
	m->stack = AIF_WIRE_NONE;
	if (regs && !m->is_release &&
	    (m->bytes >= AIF_ALLOCATION_LARGE ||
	     aif_budget_is_on(aif_budget_block(&aif_agent.budget, a->time))))
		m->stack = aif_capture(a->thread, regs, api);
	aif_emit_memory(a->thread, m);
	aif_emit_cost_end(&a->cost);
	aif_thread_leave_callback(a->thread, a->was);
	errno = a->saved;
}
