/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#define AIF_PROBE_PAGE UINT64_C(4096)

/* Asks the kernel whether the page of this number can be read: one system call, usable in signal handlers. */
bool aif_probe(uint64_t page);
