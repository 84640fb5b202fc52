/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Returns a number of the job that the process is a rank of, which all of its ranks have and other jobs have not, by its launcher's
 * variables; 0: these name none. The constructor asks, before the program may change them. */
uint64_t aif_job_number(void);
