/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/cpu_calls.h"
#include "report/annotate.h"

/* True if at least half of a function's CPU time is below it. */
static inline bool aif_annotate_is_above(const struct aif_cpu_function *of)
{
	return of->total_ns && of->total_ns - AIF_MIN(of->self_ns, of->total_ns) >= of->self_ns;
}

/* Appends the lines of f->at[function] with their time and, below each, the functions that it calls; without those below
 * o->min_ppm of its time. `c`: of aif_cpu_calls_find(), with the function. */
void aif_annotate_calls_put(const struct aif_profile *p, const struct aif_cpu_functions *f,
			    uint32_t function, const struct aif_cpu_calls *c,
			    const struct aif_annotate_opts *o, struct aif_buf *out);
