/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_image.h"

#define AIF_DEBUG_DIR "/usr/lib/debug"

/*
 * The separate debug file of `elf`, which was loaded from `path` (may be NULL): by build-id under
 * debug_dir/.build-id, else by its .gnu_debuglink beside the file, in .debug beside it, and under
 * debug_dir; else in the cache of debuginfod's clients. Only a file that proves to belong is taken: by its build-id, or, where the file has
 * none, by the checksum in the link. -ENOENT if there is none.
 */
int aif_debugfile_find(const struct aif_elf *elf, const char *path, const char *debug_dir,
		       struct aif_elf *ret);

/*
 * The file that holds what `debug` shares with other debug files (dwz): by build-id under
 * AIF_DEBUG_DIR, else by its name, as .gnu_debugaltlink has both. -ENOENT if there is none.
 */
int aif_debugfile_find_alt(const struct aif_elf *debug, const char *name, const void *id,
			   size_t id_len, struct aif_elf *ret);
