/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"
#include "names/stack_names.h"

/* Appends who ended a sleep, and where that thread was meanwhile: "feeder: produce (feed.py:12)". 0 or -ENOMEM. */
int aif_wake_text(const struct aif_profile *p, struct aif_stack_names *stacks,
		  const struct aif_idle_wake *w, struct aif_buf *ret);
