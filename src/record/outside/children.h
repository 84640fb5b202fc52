/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Calls fn for each process that a thread has started and that has not been waited for, however many there are. */
void aif_outside_children(uint32_t pid, uint32_t tid, void (*fn)(void *arg, uint32_t child),
			  void *arg);
