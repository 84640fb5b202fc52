/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/alternate.h"

#include "agent/agent.h"
#include "agent/next_function.h"
#include "agent/own_signal.h"
#include "agent/sandbox.h"
#include "base/auxv.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
/* The largest frame where the kernel does not say, as before Linux 5.14. */
#define FRAME_UNKNOWN 4096
/* Bytes that the handler takes below the frame, and some to spare. On x86-64 a frame has 570 less than the kernel says: with
 * the handler's 200, 3384 of 3760 were used with AVX-512, 11576 of 11952 with the tiles of AMX. */
#if defined(__x86_64__)
#define ROOM 0
#else
#define ROOM 256
#endif
/* The tiles are a part of the frame once the program has asked for them. The kernel refuses them to a thread whose
 * alternate stack has no room, and then refuses such stacks. */
#define TILES 8192

/* The kernel's own bound and flag; the C library's MINSIGSTKSZ is what the processor needs. */
#if defined(__aarch64__)
#define KERNEL_LEAST 5120
#else
#define KERNEL_LEAST 2048
#endif
#define AUTODISARM (1U << 31)

size_t aif_alternate_least(size_t frame_max)
{
	size_t frame = frame_max ? frame_max : FRAME_UNKNOWN;

#if defined(__x86_64__)
	if (frame > TILES)
		frame -= TILES;
#endif
	return frame + ROOM;
}

/* True if the kernel refuses to set a stack: nothing changes then. It refuses all on the alternate stack itself. */
static bool is_refused(const stack_t *to)
{
	unsigned mode = (unsigned)to->ss_flags & ~AUTODISARM;
	stack_t now;

	if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE)
		return true;
	if (mode != SS_DISABLE && to->ss_size < KERNEL_LEAST)
		return true;
	return syscall(SYS_sigaltstack, NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK);
}

/* Ends samples for a stack that our signal does not fit onto. */
static void judge(const stack_t *to)
{
	if (!(to->ss_flags & SS_DISABLE) &&
	    to->ss_size < aif_alternate_least(aif_auxv(AT_MINSIGSTKSZ)))
		aif_cpu_leave_signal(&aif_agent.cpu, true);
}

bool aif_alternate_before(unsigned long to)
{
	struct iovec remote = {(void *)to, sizeof(stack_t)}; /* NOLINT(performance-no-int-to-ptr) */
	stack_t copy;
	struct iovec local = {&copy, sizeof(copy)};
	int saved = errno;
	bool is_read;

	if (!to)
		return true;
	if (!aif_own_signal_is_used() || aif_sandbox_may_be_on())
		return false;
	is_read = syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) ==
		  (long)sizeof(copy);
	if (is_read && !is_refused(&copy))
		judge(&copy);
	errno = saved;
	return is_read;
}

void aif_alternate_after(const stack_t *to)
{
	int saved = errno;

	judge(to);
	errno = saved;
}

AIF_PUBLIC __typeof__(sigaltstack) sigaltstack;
int sigaltstack(const stack_t *to, stack_t *ret_old)
{
	static _Atomic(void *) next;
	void *found = atomic_load_explicit(&next, memory_order_relaxed);
	bool is_judged;
	int r;

	if (!found) {
		found = aif_next_function("sigaltstack");
		atomic_store_explicit(&next, found, memory_order_relaxed);
	}
	if (!found) {
		errno = ENOSYS;
		return -1;
	}
	is_judged = aif_alternate_before((unsigned long)to);
	r = ((__typeof__(sigaltstack) *)found)(to, ret_old);
	/* The kernel could read it: so can we. */
	if (r == 0 && !is_judged)
		aif_alternate_after(to);
	return r;
}
