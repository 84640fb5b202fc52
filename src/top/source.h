/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "record/ingest/opts.h"

#include <sys/types.h>

/*
 * Sources of the windows of `top`: a recorder that is started in a process of its own and writes no file, or one that
 * records already, in another terminal.
 */
/* Last words of the recorder that was started. */
struct aif_top_end {
	int exit_code; /* as `aiflame record` would end */
	bool goes_on;  /* the command was left running */
	struct aif_err err;
};

struct aif_top_source {
	bool stream_ended;
	struct aif_top_end said; /* by the recorder that was started, at its end */
	bool has_said;
	int stream;    /* profile/live.h; -1: ended */
	int end;       /* struct aif_top_end; -1: another's recorder */
	int output;    /* of the command; -1: not ours to read */
	pid_t pid;     /* of the recorder that was started; 0: another's */
	char name[64]; /* of the recording that is watched; "": top's own */
};

/* Starts a recorder with these options; .watcher and .output are set here. take_output: the command writes to .output, else
 * to standard error. 0 or -errno with *err. */
int aif_top_source_start(struct aif_top_source *s, const struct aif_record_opts *opts,
			 bool take_output, struct aif_err *err);

/* Watches a recording: the one called `name`, or that records process `pid`, or (NULL, 0) the only one. 0; -ENOENT: there is
 * none; -EEXIST: several; or another -errno; each with *err. */
int aif_top_source_watch(struct aif_top_source *s, const char *name, uint32_t pid,
			 struct aif_err *err);

/* Waits a moment for what the recorder that was started says at its end, when its stream has ended. False: nothing. */
bool aif_top_source_said(struct aif_top_source *s);

/* Ends the recorder that was started, and its command with SIGTERM; waits for both, some seconds at most. *ret_end is zeroed
 * where nothing is known. */
void aif_top_source_end(struct aif_top_source *s, bool has_command, struct aif_top_end *ret_end);
