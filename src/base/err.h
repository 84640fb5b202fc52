/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* An error message for people. Functions return 0 or a negative errno; those whose failure a
 * user may see also fill a caller-owned `struct aif_err`, which may be NULL. Text follows the
 * command line's form "WHAT: WHY; DO THIS", without the leading "aiflame: ". */
struct aif_err {
	int code; /* negative errno, 0 = none */
	char text[1000];
};

/* Fill *err (if not NULL) and return `code`, which must be negative. */
int aif_err_set(struct aif_err *err, int code, const char *fmt, ...) AIF_PRINTF(3, 4);

/* Shows people a line, a message of a library's to its caller: aif_message() in commands. */
typedef void aif_say(const char *fmt, ...) AIF_PRINTF(1, 2);

/* Exit statuses that the command line promises. */
enum {
	AIF_EXIT_OK = 0,
	AIF_EXIT_FAILURE = 1,
	AIF_EXIT_USAGE = 2,
	AIF_EXIT_REGRESSION = 3,  /* a value is worse than its limit allows */
	AIF_EXIT_CANNOT_TELL = 4, /* something is missing to judge by */
	AIF_EXIT_REQUIRED = 5     /* a condition of --require does not hold: nothing is judged */
};
