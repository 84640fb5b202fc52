/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/cpu_functions.h"

/* No instruction is known: no code of it is in the profile, it is Python's, or its machine is not known. */
#define AIF_RUNBOOK_NO_KINDS UINT8_MAX

/* Finds the kinds (bits, isa/insn_kind.h) of the instructions at which the functions' samples were: ret[f->leaves_len]. An
 * interrupt is taken behind the instruction that took the time, which is the one before the sample's place. 0 or -ENOMEM. */
int aif_runbook_instructions_find(const struct aif_profile *p, const struct aif_cpu_functions *f,
				  uint8_t *ret);
