/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/host.h"
#include "import/kineto/spans.h"

/* Stacks that a file has in full: stackFrames and aiflameStackFrames (stackframes.c). */
struct kineto;

struct kineto_stackframe {    /* a place of such a stack */
	uint32_t stack, name; /* of the profile; the string of the innermost frame */
};

struct kineto_stackframes {
	AIF_TABLE(kineto_stackframe, places); /* by number, from 1 on */
	bool has_full;                        /* spans have numbers of aiflameStackFrames */
	bool is_full_read;                    /* .places is those */
	struct aif_host host;
};

/* Reads the value of stackFrames, or of aiflameStackFrames, which comes next; other programs' tables are passed. 0 or
 * -ENOMEM. */
int kineto_stackframes_read(struct kineto *k, bool is_full);
/* Finds what the file says of the span's stack, AIF_NONE: that there is none. False: nothing. An operator's is that of its
 * callers, as a call's that launched nothing; one that launched something (it has a correlation) is in its own. */
bool kineto_stackframe_of(const struct kineto *k, const struct kineto_span *s,
			  struct kineto_stackframe *ret);
void kineto_stackframes_finish(struct kineto_stackframes *f);
