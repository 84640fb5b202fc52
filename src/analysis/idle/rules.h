/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"

/* The rules of rules.def for a profile's frames and names. They are searched one by one, so each answer is kept. */
struct aif_idle_rules {
	const struct aif_profile *p;
	uint8_t *frames, *names; /* 0: not looked at, 1: no rule is for it, else 2 + cause */
};

/* 0 or -ENOMEM. */
int aif_idle_rules_init(struct aif_idle_rules *r, const struct aif_profile *p);
void aif_idle_rules_finish(struct aif_idle_rules *r); /* a zeroed struct is allowed */

/* Sets *ret, the activity of a thread in this frame: the first rule for its function, file or module. False: there is none. */
bool aif_idle_rules_of_frame(struct aif_idle_rules *r, uint32_t frame, enum aif_idle_cause *ret);
/* The same of an operator or range by its name, a string of the profile. */
bool aif_idle_rules_of_name(struct aif_idle_rules *r, uint32_t name, enum aif_idle_cause *ret);
/* Sets *ret: the profile has an operator or range that a rule is for. Takes a tenth of the time that their tree does. 0 or
 * -errno. */
int aif_idle_rules_any(struct aif_idle_rules *r, bool *ret, uint64_t *ret_damaged);
