/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* A run of the command under valgrind's callgrind, which counts each instruction. */
struct aif_runbook_count_run {
	char **paths; /* its files, one of each process */
	size_t len;
	struct aif_buf why; /* why it did not run; "" = it did */
};

/* Runs it; its files are in the directory `dir`/callgrind. *ret is finished by the caller in any case. */
void aif_runbook_count_run(const char *dir, char *const *argv, struct aif_runbook_count_run *ret);
void aif_runbook_count_run_finish(struct aif_runbook_count_run *r);
