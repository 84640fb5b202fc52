/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/scratch.h"

/*
 * While a file is being made, which is not to be left behind in part: from begin to end SIGINT and
 * SIGTERM only set the flag that begin returns. A second one removes what is in aif_stop_scratch()
 * and ends the program at once. SIGINT stays ignored where it is, as in the background.
 */
const volatile sig_atomic_t *aif_stop_begin(void);
/* The same for who looks at no flag: already the first signal removes what is in aif_stop_scratch() and ends the program. */
void aif_stop_begin_at_once(void);
/* Returns the list of unfinished files, for those who write them. */
struct aif_scratch *aif_stop_scratch(void);
/* Restores the handlers; returns the signal that came, or 0. */
int aif_stop_end(void);
