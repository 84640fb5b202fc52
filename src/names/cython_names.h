/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Appends the Python name of a function that Cython made, "cupy._core.core.ndarray.get" for
 * __pyx_pw_4cupy_5_core_4core_7ndarray_9get. False, with nothing appended: it is none. */
bool aif_cython_name(const char *name, size_t n, struct aif_buf *ret);
