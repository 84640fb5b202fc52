/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/live.h"
#include "top/draw.h"
#include "top/source.h"

/* One reading of a recording's stream by `aiflame top`: what is asked for, and what was made of it so far. */

struct aif_top_options {
	uint64_t window_ns;
	uint32_t limit; /* --once: rows of each table; 0: all */
	int view;       /* enum aif_top_view; AIF_TOP_VIEWS: all */
	bool json, has_command;
	uint32_t pids[AIF_RECORD_PIDS +
		      1]; /* of another's recording: only these; 0 behind the last */
	char what[256];   /* whose device work it is */
};

/* A stream that is read, and what is made of it. */
struct aif_top_session {
	const struct aif_top_options *o;
	struct aif_top_source source;
	struct aif_live_reader *reader;
	struct aif_top *top;
	const struct aif_top_model *model; /* NULL: none so far */
	struct aif_top_info info;
	struct aif_top_end ended;        /* of the recorder, where it has ended */
	uint64_t cpu_ns, at_ns;          /* our CPU time, and when: at the window before */
	uint64_t recorder_ns, commit_ns; /* the recorder's, at the commit before */
};

/* 0 or -ENOMEM. */
int aif_top_session_begin(struct aif_top_session *s, const struct aif_top_options *o);
void aif_top_session_end(struct aif_top_session *s);

/* Reads once what the stream has; *ret_commits: seconds that were completed. 0, -ENODATA: the stream has ended; or another
 * -errno with *err. */
int aif_top_session_read(struct aif_top_session *s, unsigned *ret_commits, struct aif_err *err);

/* Analyses the window, and our costs since the one before. `view` as aif_top_analyse() has it. 0 or -errno with *err. */
int aif_top_session_analyse(struct aif_top_session *s, enum aif_top_view view, struct aif_err *err);
/* Measures the costs alone: rates of CPU time since the last call, if that was long enough ago for a number. */
void aif_top_session_measure(struct aif_top_session *s);
