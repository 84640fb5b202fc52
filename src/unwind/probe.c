/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/probe.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* rt_sigprocmask copies the new mask in before it looks at what it is asked to do, and so tells
 * with EFAULT that a place cannot be read, changing nothing. (mincore knows nothing of
 * protections.) */
bool aif_probe(uint64_t page)
{
	int saved = errno;
	bool readable = syscall(SYS_rt_sigprocmask, ~0, page * AIF_PROBE_PAGE, 0, 8) == 0 ||
			errno != EFAULT;

	errno = saved;
	return readable;
}
