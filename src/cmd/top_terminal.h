/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * The terminal while `top` has it: the alternate screen, no echo, a key at a time. It is as it was before after
 * aif_top_terminal_leave(), and when a signal that tells of a fault ends the process.
 */
struct aif_top_terminal {
	int in, out; /* out: standard output */
	bool has_colours, is_utf8;
};

/* Checks that there is a terminal which can be used. 0, or -ENOTTY with *err: standard output is a file, TERM is dumb. */
int aif_top_terminal_check(struct aif_err *err);
/* Takes the terminal. 0 or -errno with *err. */
int aif_top_terminal_enter(struct aif_top_terminal *t, struct aif_err *err);
/* Takes the terminal again after others had it: a shell, while the process was stopped. */
void aif_top_terminal_resume(struct aif_top_terminal *t);
void aif_top_terminal_leave(struct aif_top_terminal *t); /* may be called twice */
void aif_top_terminal_size(const struct aif_top_terminal *t, unsigned *ret_columns,
			   unsigned *ret_rows);
