/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* True if code of this Python file may be called the caller, by caller_rules.def: a framework's and the standard library's
 * are not. */
bool aif_caller_is_python(const char *file);
/* True if a Python function of this name only passes calls on, or is a part of the one that it stands in. */
bool aif_caller_is_wrapper(const char *function);
/* True if a native function of this name runs what others wrote: an interpreter's, an engine's. */
bool aif_caller_is_engine(const char *function);
/* True if a native function of this name is of a standard library, compiled into the program. */
bool aif_caller_is_library(const char *function);
/* Returns false for a source file of headers of a compiler's, a language's or the system's, whose code is compiled into
 * programs, and for a file that is not known (""). */
bool aif_caller_is_own_source(const char *file);
