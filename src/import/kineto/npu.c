/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/npu.h"

#include "import/kineto/kineto.h"

#include <string.h>

static bool has(const struct aif_buf *text, const char *word)
{
	return text->len && memmem(text->data, text->len, word, strlen(word));
}

/* Returns true for the names of CANN's calls: LAYER@CALL. */
static bool is_call(const struct kineto_event *e)
{
	bool has_layer = e->name.len > 1 && *e->name.data != '@' && has(&e->name, "@");

	return e->has_correlation && has_layer &&
	       (!e->cat.len || (e->cat.len == 9 && !memcmp(e->cat.data, "async_npu", 9)));
}

bool kineto_npu_classify(struct kineto *k)
{
	struct kineto_event *e = &k->event;

	if (!e->task_type.len) {
		if (is_call(e))
			e->class = KINETO_CALL;
		return true;
	}
	if (e->cat.len)
		return true;
	if (has(&e->task_type, "WAIT") || has(&e->task_type, "EVENT_RECORD"))
		return false;
	e->class = has(&e->task_type, "MEMCPY") ? KINETO_COPY : KINETO_KERNEL;
	k->machine.family = KINETO_NPU;
	return true;
}
