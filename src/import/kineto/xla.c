/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/xla.h"

#include "import/kineto/kineto.h"

#include <string.h>

/* Reads the digits at a text's end, which has such a beginning. */
static bool number_behind(const char *text, size_t len, const char *beginning, int64_t *ret)
{
	size_t at = strlen(beginning);

	if (len <= at || memcmp(text, beginning, at) != 0)
		return false;
	*ret = 0;
	for (; at < len && text[at] >= '0' && text[at] <= '9' && *ret < INT32_MAX / 10; at++)
		*ret = *ret * 10 + (text[at] - '0');
	return text[at - 1] >= '0' && text[at - 1] <= '9';
}

void kineto_xla_name_process(struct kineto *k, struct kineto_pid *p, const char *name, size_t len)
{
	int64_t number;

	if (!number_behind(name, len, "/device:GPU:", &number))
		return;
	p->is_xla_device = true;
	p->xla_device = number;
	k->machine.has_xla = true;
}

static bool begins(const struct aif_buf *name, const char *with)
{
	return name->len >= strlen(with) && !memcmp(name->data, with, strlen(with));
}

static enum kineto_class class_on_device(const struct aif_buf *name)
{
	return begins(name, "Memcpy")   ? KINETO_COPY
	       : begins(name, "Memset") ? KINETO_FILL
					: KINETO_KERNEL;
}

bool kineto_xla_classify(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	const struct kineto_pid *p;
	const char *thread;
	uint32_t row;

	if (!k->machine.has_xla || e->cat.len)
		return true;
	p = kineto_pid_of(k, e->pid);
	if (!p || !p->is_xla_device) {
		e->class = e->has_correlation ? KINETO_CALL : KINETO_OP;
		return true;
	}
	row = kineto_thread(k, e->pid, e->tid);
	thread = row == KINETO_THREADS_MAX || k->threads.rows[row].name == AIF_NONE
			 ? ""
			 : aif_profile_str(&k->b->p, k->threads.rows[row].name);
	if (!number_behind(thread, strlen(thread), "Stream #", &e->stream))
		return false;
	e->class = class_on_device(&e->name);
	e->has_device = e->has_stream = true;
	e->device = p->xla_device;
	return true;
}
