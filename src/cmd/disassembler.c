/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/disassembler.h"

#include "isa/disasm.h"

#include <stdio.h>

static void disassemble(void *arg, const struct aif_code *code, const char *arch,
			struct aif_buf *ret)
{
	struct aif_disassemblers *d = arg;
	unsigned sm = aif_disasm_sm(arch);

	if (sm)
		aif_nvdisasm_text(&d->nvdisasm, code, sm, ret);
	else
		aif_iga_text(&d->iga, code, arch, ret);
}

void aif_disassemblers_use(struct aif_disassemblers *d, const struct aif_profile *p,
			   struct aif_annotate_opts *o)
{
	d->nvdisasm.p = p;
	d->iga.p = p;
	o->disassemble = disassemble;
	o->arg = d;
}

void aif_disassemblers_report_missed(const struct aif_disassemblers *d)
{
	if (d->nvdisasm.is_missed)
		fputs("aiflame: instructions are shown without operands: nvdisasm was not "
		      "found; put it into $PATH, it is part of CUDA toolkits and of Triton\n",
		      stderr);
	if (d->iga.is_missed)
		fputs("aiflame: instructions are shown without operands: IGA was not found "
		      "or does not know this device; install Intel's graphics compiler "
		      "(Debian: libigc1)\n",
		      stderr);
}

void aif_disassemblers_finish(struct aif_disassemblers *d)
{
	aif_nvdisasm_finish(&d->nvdisasm);
}
