/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/unprepared.h"

#include "base/process_open.h"
#include "record/attach/attach_dir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Longer than an injector takes that gives up. */
#define WAIT_MS 20000

void aif_unprepared_standby(int pid, uid_t uid, char standby[AIF_STANDBY_DIR_MAX])
{
	char named[AIF_STANDBY_DIR_MAX];

	if (aif_standby_environment(pid, AIF_ENV_STANDBY, named, sizeof(named)) >= 0 &&
	    *named == '/')
		memcpy(standby, named, AIF_STANDBY_DIR_MAX);
	else if (uid == geteuid() && !aif_process_is_elsewhere(pid))
		aif_standby_default(standby);
	else
		snprintf(standby, AIF_STANDBY_DIR_MAX, "/tmp/aiflame-%u", (unsigned)uid);
}

int aif_unprepared_start(struct aif_injection *in, int pid, uid_t uid, const char *agent,
			 const char *runtime, const struct aif_inject_left *left,
			 char standby[AIF_STANDBY_DIR_MAX], struct aif_err *err)
{
	struct aif_injected about = {.magic = AIF_STANDBY_MAGIC,
				     .wire_version = AIF_WIRE_VERSION,
				     .level = AIF_LEVEL_GRAPHS};

	aif_unprepared_standby(pid, uid, standby);
	snprintf(about.standby, sizeof(about.standby), "%s", standby);
	snprintf(about.runtime, sizeof(about.runtime), "%s", runtime ? runtime : "");
	return aif_inject_start(in, pid, agent, &about, left, err);
}

int aif_unprepared_finish(struct aif_injection *in, struct aif_inject_times *ret_times,
			  int *ret_program, struct aif_err *err)
{
	const int pid = (int)in->pid;
	struct aif_inject_result result;

	*ret_program = -1;
	if (!aif_inject_poll(in, WAIT_MS, &result)) {
		aif_inject_cancel(in);
		return aif_err_set(
			err, -ETIMEDOUT,
			"process %d: the agent has not started in it within %d s; try again", pid,
			WAIT_MS / 1000);
	}
	*ret_times = result.times;
	*ret_program = result.program;
	return result.error ? aif_err_set(err, result.error, "%s", result.text) : 0;
}
