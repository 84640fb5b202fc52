/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Does it begin as a SPIR-V module, of this machine's byte order? */
bool aif_spirv_is(const uint8_t *bytes, size_t n);

/* Whether a SPIR-V module says which source lines its instructions come from (OpLine, or debug
 * information in an extended instruction set): its compiler was told -g. Any bytes are allowed. */
bool aif_spirv_has_lines(const uint8_t *bytes, size_t n);
