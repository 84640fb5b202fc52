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

/* Of a place in device code of which only names are known, the outermost first: that of one whose caller's is `before`
 * (AIF_TREE_KERNEL for the kernel itself), by its form: "FMA +0x10", "file.cu:12", what an instruction waits for; else a
 * function, AIF_TREE_KERNEL. */
unsigned aif_frame_type_inside(const char *name, size_t len, unsigned before);
