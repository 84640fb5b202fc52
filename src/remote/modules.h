/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "remote/memory.h"

/*
 * The modules that another process has mapped, and the rows of their code (unwind/row.h), read from its memory: no file
 * is needed, so that deleted ones and those of containers unwind like others. What is read may be anything: tables are
 * bounded as unwind/ehframe.h has it.
 */
struct aif_remote_module {
	char *path;          /* as the process has it; "[vdso]" */
	uint64_t header;     /* where its ELF header lies */
	uint64_t base;       /* address less that of the file's own numbering */
	uint64_t dynamic;    /* the dynamic section, 0: none */
	uint64_t table, len; /* sorted pairs (start, FDE), relative to hdr; len 0: none */
	uint64_t hdr;        /* .eh_frame_hdr */
	uint64_t lo, hi;     /* the first range of code, to find its file by */
	char build_id[129];  /* hexadecimal, "": none */
	bool was_read, is_elf;
};

/* Executable memory. */
struct aif_remote_range {
	uint64_t lo, hi;
	uint32_t module; /* AIF_REMOTE_NO_MODULE: code of no file */
};
#define AIF_REMOTE_NO_MODULE UINT32_MAX

struct aif_remote_modules {
	struct aif_remote_module *modules;
	size_t len, cap;
	struct aif_remote_range *ranges; /* by address */
	size_t ranges_len, ranges_cap;
	struct aif_map rows; /* address -> row */
	struct aif_remote_memory *memory;
};

/* Takes the maps of a process, in the form of /proc/PID/maps, which is changed. 0 or -ENOMEM. finish() may be called at once. */
int aif_remote_modules_init(struct aif_remote_modules *m, struct aif_remote_memory *memory,
			    char *maps);
void aif_remote_modules_finish(struct aif_remote_modules *m);

/* The module with code at pc, with what its headers say; NULL: none. */
struct aif_remote_module *aif_remote_module_at(struct aif_remote_modules *m, uint64_t pc);
/* True if pc is in executable memory. */
bool aif_remote_is_code(const struct aif_remote_modules *m, uint64_t pc);
/* The headers of a module are read, if there are any. */
void aif_remote_module_read(struct aif_remote_modules *m, struct aif_remote_module *module);

/* The row for the instruction at `address`; AIF_ROW_NONE with aux 1: in no module. */
uint64_t aif_remote_row(struct aif_remote_modules *m, uint64_t address);

/* Finds where the function at an address begins, by the tables. False: none is there. */
bool aif_remote_function(struct aif_remote_modules *m, uint64_t address, uint64_t *ret);

/* The address and size of a symbol that the module exports, by its hash table. False: it has none of that name. */
bool aif_remote_symbol(struct aif_remote_modules *m, struct aif_remote_module *module,
		       const char *name, uint64_t *ret_at, uint64_t *ret_size);
