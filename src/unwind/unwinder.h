/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/jit.h"
#include "unwind/modules.h"
#include "unwind/rows.h"
#include "unwind/unwind.h"

/* The state that all threads of a process share to unwind. Of the unwinder alone: unwind.c, unwinder.c. */
struct aif_unwinder {
	_Alignas(64) _Atomic uint32_t generation;
	struct aif_modules modules;
	_Alignas(64) struct aif_rows rows;
	_Alignas(64) struct aif_jit jit;
};
