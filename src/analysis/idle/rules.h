/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"

/* Sets *ret, the activity of a thread in this frame: the first rule of rules.def for its function, file or module. False:
 * there is none. */
bool aif_idle_rule_of_frame(const struct aif_profile *p, uint32_t frame, enum aif_idle_cause *ret);
/* The same of an operator or range. */
bool aif_idle_rule_of_name(const char *name, enum aif_idle_cause *ret);
