/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Intel's assembler library (libiga64, a part of Intel's graphics compiler), where the machine has
 * it: the full text of EU instructions. Code may be hostile and the library is not made for that:
 * it runs in a child process with little to its name. What it said is kept in the profile, if that
 * can be written.
 */
struct aif_iga {
	const struct aif_profile *p;
	bool is_missed; /* it was needed, and there is none, or it does not know the device */
};

/* Appends "/" "*0010*" "/ TEXT ;" for each instruction (isa/sass_text.h), or nothing. `arch` as
 * the profile has it. */
void aif_iga_text(struct aif_iga *i, const struct aif_code *code, const char *arch,
		  struct aif_buf *ret);
