/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/errors.h"

#include "agent/cuda/cuda.h"
#include "agent/emit.h"

#include <stdio.h>

void aif_cuda_report_error_in(struct aif_thread *t, enum aif_reason reason, const char *what,
			      int error)
{
	const char *why = NULL;
	char text[256];

	if (error > 0)
		CUDA->api.cuptiGetResultString(error, &why);
	snprintf(text, sizeof(text), "%s%s%s", what, why ? ": " : "", why ? why : "");
	aif_emit_note(t, reason, 1, text);
}

void aif_cuda_report_error(enum aif_reason reason, const char *what, int error)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t)
		return;
	aif_cuda_report_error_in(t, reason, what, error);
	aif_thread_leave(t);
}
