/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "probe/iga.h"
#include "probe/nvdisasm.h"

/* The disassemblers of this machine, for listings of kernels. */
struct aif_disassemblers {
	struct aif_nvdisasm nvdisasm;
	struct aif_iga iga;
};

/* Gets them ready for code of a profile; a zeroed struct may be finished. */
void aif_disassemblers_init(struct aif_disassemblers *d, const struct aif_profile *p);
/* Appends what one of them says of a GPU's function, or nothing; a disassemble() of struct aif_annotate_opts. */
void aif_disassemblers_text(void *disassemblers, const struct aif_code *code, const char *arch,
			    struct aif_buf *ret);
/* Says which one was missed. */
void aif_disassemblers_report_missed(const struct aif_disassemblers *d, aif_say *say);
void aif_disassemblers_finish(struct aif_disassemblers *d);
