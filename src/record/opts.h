/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

enum aif_record_runtime { AIF_RECORD_ALL = 0, AIF_RECORD_OPENCL = 1 };

/* What `aiflame record` was asked for. Strings stay the caller's. A zeroed struct with `argv` set
 * (and, where 0 is not the default, what aif_record_opts_init sets) is a plain recording. */
struct aif_record_opts {
	const char *output;    /* -o: pattern with %h %p %r %q{VAR}; default "aiflame.data" */
	int runtime;           /* --runtime: only this one (enum aif_record_runtime) */
	const char *agent;     /* path of libaiflame-agent.so */
	uint32_t device_rate;  /* --device-rate Hz, default 999; 0 = no device samples */
	uint32_t overhead_ppm; /* --overhead: the slowdown that is allowed, in 1/1,000,000 */
	bool all_launches;     /* --all-launches: without a limit */
	uint64_t duration_ns;  /* --duration: 0 = until the command ends */
	bool kill;             /* --kill: end the command after the duration */
	uint64_t keep_ns;      /* --keep: 0 = everything */
	uint64_t max_size;     /* --max-size in bytes: 0 = no limit */
	bool device_lines;     /* --device-lines */
	bool no_python;        /* --no-python */
	bool no_source;        /* --no-source */
	bool no_code;          /* --no-code */
	bool quiet;
	char *const *argv; /* NULL-terminated command */
};

#define AIF_RECORD_DEFAULT_RATE     999
#define AIF_RECORD_DEFAULT_OVERHEAD 20000
