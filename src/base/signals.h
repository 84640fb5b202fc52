/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Signals by name: sigabbrev_np() is newer than the oldest glibc that the binaries run on. */

/* "SIGSEGV". NULL: a signal that ends no program by default, or has no name here. */
const char *aif_signal_name(int number);
/* The number of "SIGSEGV", or 0. */
int aif_signal_number(const char *name);
/* True for signals that a program's own mistake raises: SIGSEGV, SIGABRT and their like. */
bool aif_signal_is_crash(int number);
