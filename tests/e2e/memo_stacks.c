/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memo against real code: each launch point of unwind_workload.cpp, with frames of all shapes and
 * exceptions that pass, is answered by the memo, unwound afresh, and every 16th time told by
 * glibc's backtrace() too. memo_stacks.sh compiles the workload in several ways. Prints TAP.
 *
 *     memo_stacks [CAPTURES]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unit/memo_audit.h"

#include <dlfcn.h>
#include <inttypes.h>

void unwind_workload(unsigned seed, int throws);
void unwind_point(void);

static struct {
	struct audit audit;
	int (*backtrace)(void **frames, int max);
	uint64_t unlike_glibc, asked_glibc;
} t;

AIF_NOINLINE void unwind_point(void)
{
	static void *theirs[AIF_MEMO_MAX_DEPTH];
	struct aif_regs regs;
	unsigned n;

	AIF_REGS_HERE(&regs);
	audit_capture(&t.audit, &regs);
	if (t.audit.captures % 16 == 0) {
		n = (unsigned)t.backtrace(theirs, AIF_MEMO_MAX_DEPTH);
		t.asked_glibc++;
		t.unlike_glibc += n != t.audit.last.depth || memcmp(t.audit.fresh + 1, theirs + 1,
								    (n - 1) * sizeof(theirs[0]));
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t captures = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
	void *libc = dlopen("libc.so.6", RTLD_NOW),
	     *symbol = libc ? dlsym(libc, "backtrace") : NULL, *warm[4];
	struct aif_unwinder *u = audit_pages(aif_unwinder_size());
	struct aif_stack_bounds bounds;
	bool right, useful;

	if (!symbol || !u || aif_unwinder_init(u) || aif_stack_bounds_here(&bounds) ||
	    !audit_begin(&t.audit, u, bounds, AIF_MEMO_MAX_DEPTH)) {
		printf("Bail out! no oracle or no memory\n");
		return 1;
	}
	memcpy(&t.backtrace, &symbol, sizeof(symbol));
	t.backtrace(warm, 4); /* loads libgcc */

	for (unsigned round = 0; t.audit.captures < captures; round++) {
		srand(round % 3); /* the workload throws dice: rounds repeat */
		unwind_workload(round % 3, 1);
	}
	printf("# %" PRIu64 " captures, %" PRIu64 " hits, %" PRIu64 " wrong; %" PRIu64
	       " of %" PRIu64 " unlike glibc's\n",
	       t.audit.captures, t.audit.hits, t.audit.wrong, t.unlike_glibc, t.asked_glibc);
	right = t.audit.wrong == 0 && t.unlike_glibc == 0;
	useful = t.audit.hits * 10 >= t.audit.captures * 8;
	printf("%s 1 - each answer is the unwinder's\n", right ? "ok" : "not ok");
	printf("%s 2 - most are hits\n1..2\n", useful ? "ok" : "not ok");
	return !right || !useful;
}
