/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <elfutils/libdw.h>

/* Appends the name of a function that has no linker's name, with the namespaces, classes and
 * functions around its declaration: "at::(anonymous namespace)::f::{lambda}::operator()". Only
 * of C++ units; false (nothing appended) for others and where there is no name. */
bool aif_dwarf_scoped_name(Dwarf_Die *function, struct aif_buf *ret);
