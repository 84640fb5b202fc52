/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "base/process_open.h"

/*
 * Programs with code that can install a seccomp filter past the C library (symbolize/own_calls.h): neither the agent nor the
 * recorder sees such a filter come, and a sample a moment later would end the program, since even the return from a
 * signal's handler is a system call. So they get no signals.
 *
 * Such code is a call with the number of seccomp() or of prctl(), in any file; and in the program itself, unlike its libraries, a call
 * with any number that a function is given. The files that a process has mapped as code are looked through, each once: small ones at once, others in a thread of its
 * own. Samples begin when the program itself is done, and end where a large library turns out to have such code. The C
 * library, what sanitizers and device drivers bring along for themselves, code in no file, and libraries that come and
 * install a filter within a tenth of a second are left out.
 */
struct aif_filter_code;

enum aif_filter_code_verdict {
	AIF_FILTER_CODE_UNKNOWN, /* the program has not been looked through */
	AIF_FILTER_CODE_NONE,
	AIF_FILTER_CODE_HAS,
};

/* Keeps what is known of one process; zeroed at first. */
struct aif_filter_code_target {
	struct aif_map seen; /* mappings */
	uint64_t looked_ns;
	struct aif_filter_code_file {
		size_t number;
		char name[256];
	} * files; /* that it has mapped */
	size_t files_len, files_cap;
	bool is_behind;  /* it has mapped more, which has no room yet */
	size_t asked;    /* of them, from the first on, are known to have no such code */
	char place[280]; /* FILE+0xADDRESS of the one that has */
};

/* NULL: no memory, or no thread. */
struct aif_filter_code *aif_filter_code_new(void);
void aif_filter_code_free(struct aif_filter_code *c);
/* Reads the maps of a process again if `is_due`. */
enum aif_filter_code_verdict aif_filter_code_look(struct aif_filter_code *c,
						  struct aif_filter_code_target *t,
						  struct aif_process_files *files, bool is_due);
void aif_filter_code_target_finish(struct aif_filter_code_target *t);
