/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Makes the strdup() that CUPTI calls ours. False: it cannot be, and CUPTI may end the program while it is asked for
 * samples (nameless.c). */
bool aif_cuda_nameless_guard(void);
