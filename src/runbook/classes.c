/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/classes.h"

#include "names/spin_waits.h"

#include <string.h>
#include <strings.h>

/* The first that a name contains, whatever the case. */
static const struct {
	const char *part;
	enum aif_runbook_class class;
} rules[] = {
	{"nccl", AIF_RUNBOOK_COMMUNICATION},
	{"allreduce", AIF_RUNBOOK_COMMUNICATION},
	{"all_reduce", AIF_RUNBOOK_COMMUNICATION},
	{"attention", AIF_RUNBOOK_ATTENTION},
	{"attn", AIF_RUNBOOK_ATTENTION},
	{"fmha", AIF_RUNBOOK_ATTENTION},
	{"softmax", AIF_RUNBOOK_ATTENTION},
	{"flash_", AIF_RUNBOOK_ATTENTION},
	{"gemm", AIF_RUNBOOK_GEMM},
	{"gemv", AIF_RUNBOOK_GEMM},
	{"matmul", AIF_RUNBOOK_GEMM},
	{"sgemv", AIF_RUNBOOK_GEMM},
	{"conv2d", AIF_RUNBOOK_GEMM},
	{"linear", AIF_RUNBOOK_GEMM},
	{"mat_vec", AIF_RUNBOOK_GEMM},
	{"mul_mat", AIF_RUNBOOK_GEMM},
	{"nvjet", AIF_RUNBOOK_GEMM},
	{"cublas", AIF_RUNBOOK_GEMM},
	{"norm", AIF_RUNBOOK_NORM},
	{"memcpy", AIF_RUNBOOK_COPY},
	{"memmove", AIF_RUNBOOK_COPY},
	{"memset", AIF_RUNBOOK_COPY},
	{"copy", AIF_RUNBOOK_COPY},
	{"transpose", AIF_RUNBOOK_COPY},
	{"elementwise", AIF_RUNBOOK_ELEMENTWISE},
	{"relu", AIF_RUNBOOK_ELEMENTWISE},
	{"gelu", AIF_RUNBOOK_ELEMENTWISE},
	{"silu", AIF_RUNBOOK_ELEMENTWISE},
	{"swiglu", AIF_RUNBOOK_ELEMENTWISE},
	{"adam", AIF_RUNBOOK_ELEMENTWISE},
	{"axpy", AIF_RUNBOOK_ELEMENTWISE},
};

enum aif_runbook_class aif_runbook_class_of(const char *name, size_t len)
{
	/* "(no samples)", and waiting that takes CPU time */
	if ((len && *name == '(') ||
	    (len > strlen(AIF_SPIN_WAIT_NOTE) &&
	     !memcmp(name, AIF_SPIN_WAIT_NOTE, strlen(AIF_SPIN_WAIT_NOTE))))
		return AIF_RUNBOOK_NONE;
	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules); r++) {
		size_t n = strlen(rules[r].part);

		for (size_t i = 0; i + n <= len; i++)
			if (!strncasecmp(name + i, rules[r].part, n))
				return rules[r].class;
	}
	return AIF_RUNBOOK_GLUE;
}

enum aif_runbook_class aif_runbook_class_of_frame(const char *label, size_t len)
{
	size_t n = 0;

	/* "forward (attention.py)", "[libgemm.so+0x120]" */
	while (n < len && label[n] != '[' &&
	       !(label[n] == ' ' && n + 1 < len && label[n + 1] == '('))
		n++;
	return aif_runbook_class_of(label, n);
}

const char *aif_runbook_class_name(enum aif_runbook_class c)
{
	static const char *const names[AIF_RUNBOOK_CLASSES] = {
		"attention", "communication", "copy", "elementwise",
		"gemm",      "glue",          "none", "norm"};

	return names[c];
}
