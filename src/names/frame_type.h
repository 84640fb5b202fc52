/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/tree.h"

/* The kind of frame that a name stands for, by rules that are data (frame_type.def). */

/* A native frame of the module at `path` ("" if unknown): AIF_TREE_API, _CXX or _C. */
unsigned aif_frame_type_native(const char *name, size_t len, const char *path);

/* True if the path's suffix is that of C++ source. */
bool aif_frame_type_is_cxx_file(const char *path);

/* A name and nothing else, as folded text of other tools has it. */
unsigned aif_frame_type_guess(const char *name, size_t len);

/* Returns the type of a name in device code that is known by names only, given the type of the
 * name before it (AIF_TREE_KERNEL for the kernel itself), by its form: "FMA +0x10",
 * "file.cu:12", what an instruction waits for; else a function, AIF_TREE_KERNEL. */
unsigned aif_frame_type_inside(const char *name, size_t len, unsigned before);
