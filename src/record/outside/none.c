/* SPDX-License-Identifier: Apache-2.0 */
#include "record/outside/outside.h"
#include "record/sources/sources.h"

/* Stands in on machines whose registers are not known (unwind/arch.h). */

const struct aif_source aif_source_outside = {.name = "outside"};

void aif_outside_check(struct aif_record_opts *o)
{
	(void)o;
}
