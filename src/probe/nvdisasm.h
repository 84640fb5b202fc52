/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * NVIDIA's disassembler, where the machine has one: in $PATH, of a CUDA toolkit, or inside of the
 * Triton package of a Python in $PATH. It is asked for one function at a time, as that bounds its
 * time whatever the size of the program; what it said is kept in the profile, if that can be
 * written.
 */
struct aif_nvdisasm {
	const struct aif_profile *p;
	char *tool;     /* NULL: there is none, or it failed to answer in time */
	bool is_known;  /* whether there is one */
	bool is_missed; /* it was needed, and there is none */
};

/* Returns the path of nvdisasm, freed by the caller; NULL: there is none. */
char *aif_nvdisasm_find(void);

/* For aif_annotate_opts.disassemble: appends what it says of a function for that sm, or nothing. */
void aif_nvdisasm_text(struct aif_nvdisasm *n, const struct aif_code *code, unsigned sm,
		       struct aif_buf *ret);
void aif_nvdisasm_finish(struct aif_nvdisasm *n); /* a zeroed struct is allowed */
