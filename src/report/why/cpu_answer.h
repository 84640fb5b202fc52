/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "text/json_answer.h"

/* The end of an answer for a program that used no device: commands to run next, and what is missing. */
struct aif_why_cpu_answer {
	const struct aif_profile *p;
	const char *options, *path; /* of the selection; of the profile */
	uint64_t damaged;           /* chunks that could not be read */
};

#define AIF_WHY_CPU_ANSWER(profile, sel, file)                                            \
	{                                                                                 \
		.p = (profile), .options = (sel) && (sel)->options ? (sel)->options : "", \
		.path = (file)                                                            \
	}

/* Appends "aiflame VIEW OPTIONS FILE". */
void aif_why_cpu_command(const struct aif_why_cpu_answer *a, const char *view, struct aif_buf *out);
/* Appends the line "unknown", where something is. */
void aif_why_cpu_say_unknown(const struct aif_why_cpu_answer *a, struct aif_buf *out);
/* Appends the lines "next", with both commands, and "damaged". */
void aif_why_cpu_say_next(const struct aif_why_cpu_answer *a, const char *table,
			  const char *picture, struct aif_buf *out);
/* Puts what is missing and the next commands into the head of the answer in JSON, and writes it. */
void aif_why_cpu_put_head(const struct aif_why_cpu_answer *a, struct aif_json_answer *head,
			  struct aif_buf *out);
