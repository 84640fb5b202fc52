/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Classes of functions and kernels, by their names (runbook.h), in the order of their first letters. */
enum aif_runbook_class {
	AIF_RUNBOOK_ATTENTION,
	AIF_RUNBOOK_COMMUNICATION,
	AIF_RUNBOOK_COPY,
	AIF_RUNBOOK_ELEMENTWISE,
	AIF_RUNBOOK_GEMM,
	AIF_RUNBOOK_GLUE, /* no other */
	AIF_RUNBOOK_NONE, /* "(no samples)", "[spinning: libgomp.so.1]" */
	AIF_RUNBOOK_NORM,
	AIF_RUNBOOK_CLASSES
};

enum aif_runbook_class aif_runbook_class_of(const char *name, size_t len);
const char *aif_runbook_class_name(enum aif_runbook_class c);
/* Returns the same of a frame's label: what stands in parentheses or brackets behind the function is not looked at. */
enum aif_runbook_class aif_runbook_class_of_frame(const char *label, size_t len);
