/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/effort.h"

#include "base/clock.h"

/* The clock takes as long as reading some kilobytes: it is read once in so much work. */
#define CLOCK_EACH (256 * 1024)
/* Cost of a read beside its bytes. */
#define READ_COST 1024

void aif_effort_begin(struct aif_effort *e)
{
	e->since_ns = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t used(const struct aif_effort *e)
{
	return e->used_ns + aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - e->since_ns;
}

void aif_effort_end(struct aif_effort *e)
{
	e->used_ns = used(e);
	e->is_over |= e->limit_ns && e->used_ns >= e->limit_ns;
}

bool aif_effort_spend(struct aif_effort *e, uint64_t bytes)
{
	if (!e)
		return false;
	if (e->cancel && atomic_load_explicit(e->cancel, memory_order_relaxed))
		e->is_over = true;
	e->work += bytes + READ_COST;
	if (e->work >= CLOCK_EACH && !e->is_over) {
		e->work = 0;
		e->is_over = e->limit_ns && used(e) >= e->limit_ns;
	}
	return e->is_over;
}
