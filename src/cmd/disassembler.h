/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "probe/iga.h"
#include "probe/nvdisasm.h"
#include "report/annotate.h"

/* The disassemblers of this machine, for listings of kernels. */
struct aif_disassemblers {
	struct aif_nvdisasm nvdisasm;
	struct aif_iga iga;
};

/* Lets a listing of the profile use them. */
void aif_disassemblers_use(struct aif_disassemblers *d, const struct aif_profile *p,
			   struct aif_annotate_opts *o);
/* Says on standard error which one was missed. */
void aif_disassemblers_report_missed(const struct aif_disassemblers *d);
void aif_disassemblers_finish(struct aif_disassemblers *d);
