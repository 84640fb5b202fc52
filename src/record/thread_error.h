/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <string.h>

/* Says that one of the recorder's threads could not be started; r: -errno. Returns r. */
static inline int aif_thread_error(struct aif_err *err, int r)
{
	return aif_err_set(err, r,
			   "cannot start a thread: %s; raise the limits on memory and processes "
			   "(ulimit -v, ulimit -u)",
			   strerror(-r));
}
