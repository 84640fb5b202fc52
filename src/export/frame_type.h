/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/tree.h"

/* What kind of frame a name stands for, by rules that are data (frame_type.def). */

/* A native frame of the module at `path` ("" if unknown): AIF_TREE_API, _CXX or _C. */
unsigned aif_frame_type_native(const char *name, size_t len, const char *path);

/* By its suffix. */
bool aif_frame_type_is_cxx_file(const char *path);

/* A name and nothing else, as folded text of other tools has it. */
unsigned aif_frame_type_guess(const char *name, size_t len);
