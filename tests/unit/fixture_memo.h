/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A memo for each thread, whose answers are audited, and functions that capture their stack. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "memo_audit.h"
#if defined(__x86_64__)
#include "memo_functions_x86_64.h"
#else
#include "memo_functions_aarch64.h"
#endif

#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cmocka.h>

/* State of each thread: code that is called from assembly or from a library takes no argument. */
static _Thread_local struct audit audit;

static AIF_NOINLINE void use(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

void memo_hook(void);

AIF_NOINLINE void memo_hook(void)
{
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	audit_capture(&audit, &regs);
	use(&regs);
}

static inline struct aif_memo_counts counts(void)
{
	struct aif_memo_counts c;

	aif_memo_counts(audit.memo, &c);
	return c;
}

static inline int setup(void **state)
{
	struct aif_unwinder *u = audit_pages(aif_unwinder_size());
	struct aif_stack_bounds bounds;

	*state = NULL;
	if (!u || aif_unwinder_init(u) || aif_stack_bounds_here(&bounds))
		return -1;
	return audit_begin(&audit, u, bounds, AIF_MEMO_MAX_DEPTH) ? 0 : -1;
}

static inline int teardown(void **state)
{
	(void)state;
	munmap(audit.u, aif_unwinder_size());
	audit_end(&audit);
	return 0;
}

/* `sp` moves with the size: another stack for each. */
static AIF_NOINLINE void plain(unsigned depth, unsigned size)
{
	char *p = alloca(32 + (size_t)size * 32); /* sanitizers make it a multiple of 32 */

	p[0] = 1;
	use(p);
	if (depth)
		plain(depth - 1, 0);
	else
		memo_hook();
	use(p);
}
