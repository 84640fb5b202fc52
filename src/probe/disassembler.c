/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/disassembler.h"

#include "isa/disasm.h"

void aif_disassemblers_init(struct aif_disassemblers *d, const struct aif_profile *p)
{
	*d = (struct aif_disassemblers){.nvdisasm.p = p, .iga.p = p};
}

void aif_disassemblers_text(void *disassemblers, const struct aif_code *code, const char *arch,
			    struct aif_buf *ret)
{
	struct aif_disassemblers *d = disassemblers;
	unsigned sm = aif_disasm_sm(arch);

	if (sm)
		aif_nvdisasm_text(&d->nvdisasm, code, sm, ret);
	else
		aif_iga_text(&d->iga, code, arch, ret);
}

void aif_disassemblers_report_missed(const struct aif_disassemblers *d, aif_say *say)
{
	if (d->nvdisasm.is_missed)
		say("instructions are shown without operands: nvdisasm was not found; put it into "
		    "$PATH, it is part of CUDA toolkits and of Triton");
	if (d->iga.is_missed)
		say("instructions are shown without operands: IGA was not found or does not know "
		    "this device; install Intel's graphics compiler (Debian: libigc1)");
}

void aif_disassemblers_finish(struct aif_disassemblers *d)
{
	aif_nvdisasm_finish(&d->nvdisasm);
}
