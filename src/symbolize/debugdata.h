/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_image.h"

/*
 * Unpacks .gnu_debugdata, the symbol table that Fedora and RHEL leave in stripped files: an ELF file, compressed with
 * xz, with the functions that .dynsym lacks. 0, -ENOENT (there is none), -ENOSYS (built without liblzma), -ENOMEM,
 * -ETIMEDOUT, or -EINVAL (damaged, or larger than any that is honest).
 */
int aif_debugdata_open(const struct aif_elf *elf, struct aif_elf *ret);
