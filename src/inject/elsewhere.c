/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/work.h"

#include <errno.h>

/* Machines whose registers and system calls borrow.c does not know. */

bool aif_inject_is_possible(struct aif_err *err)
{
	aif_err_set(
		err, -ENOTSUP,
		"the agent is put into running processes on x86-64 only, not yet on this machine; "
		"start the process with the variables that `aiflame env` prints");
	return false;
}

int aif_inject_work(pid_t pid, int program, int agent, const struct aif_injected *about,
		    struct aif_inject_result *ret, struct aif_err *err)
{
	(void)pid;
	(void)program;
	(void)agent;
	(void)about;
	(void)ret;
	return aif_inject_is_possible(err) ? 0 : -ENOTSUP;
}
