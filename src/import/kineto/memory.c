/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/memory.h"

#include "import/kineto/kineto.h"
#include "import/kineto/nesting.h"

#include <errno.h>
#include <string.h>

/* c10::DeviceType of the host's memory. */
#define DEVICE_CPU 0

bool kineto_is_memory(const struct kineto *k)
{
	const struct kineto_event *e = &k->event;

	return (e->ph == 'i' || e->ph == 'I') && e->name.len == 8 &&
	       !memcmp(e->name.data, "[memory]", 8);
}

int kineto_memory_collect(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct kineto_allocation a = {
		.at = e->ts,
		.order = k->memory.rows_len,
		.bytes = (int64_t)e->bytes,
		.address = e->address,
		.allocated = e->has_allocated ? e->allocated : AIF_MEMORY_UNKNOWN,
		.reserved = e->has_reserved ? e->reserved : AIF_MEMORY_UNKNOWN,
		.device = e->device_type == DEVICE_CPU || !e->has_device || e->device < 0
				  ? -1
				  : e->device,
	};

	if (!a.bytes || a.bytes == INT64_MIN)
		return 0;
	a.thread = kineto_thread(k, e->pid, e->tid);
	return a.thread == KINETO_THREADS_MAX ? -ENOMEM : KINETO_ADD(&k->memory, rows, a);
}

static int by_place(const void *a, const void *b)
{
	const struct kineto_allocation *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->at, y->at)
	       ?: AIF_ORDER(x->order, y->order);
}

void kineto_memory_sort(struct kineto *k)
{
	if (k->memory.rows_len)
		qsort(k->memory.rows, k->memory.rows_len, sizeof(*k->memory.rows), by_place);
}

static int row_add(struct kineto_nesting *w, const struct kineto_allocation *a, uint32_t stack)
{
	struct aif_memory_row *row = aif_builder_memory(w->k->b);

	if (!row)
		return -ENOMEM;
	*row = (struct aif_memory_row){
		.time = (uint64_t)a->at,
		.block = a->address,
		.bytes = (uint64_t)(a->bytes < 0 ? -a->bytes : a->bytes),
		.allocated = a->allocated,
		.reserved = a->reserved,
		.thread = kineto_thread_row(w->k, a->thread),
		.stack = stack,
		.device = a->device < 0 ? AIF_NONE : (uint32_t)AIF_MIN(a->device, INT32_MAX),
		.kind = a->bytes < 0 ? AIF_MEMORY_RELEASE : AIF_MEMORY_ALLOCATE,
	};
	return 0;
}

int kineto_memory_row(struct kineto_nesting *w, bool is_inside)
{
	const struct kineto_allocation *a = &w->k->memory.rows[w->k->memory.next++];

	if (is_inside)
		kineto_nesting_drop(w, a->at);
	return row_add(w, a,
		       is_inside ? kineto_nesting_stack(w, KINETO_STACK_AS_IT_WAS, w->len)
				 : AIF_NONE);
}

void kineto_memory_devices(struct kineto *k, size_t first)
{
	struct aif_memory_row *rows = k->b->memory;
	uint32_t only = AIF_NONE;
	bool several = false, is_known = false;

	for (size_t i = first; i < k->b->memory_len; i++) {
		if (rows[i].device == AIF_NONE)
			continue;
		several |= only != AIF_NONE && only != rows[i].device;
		only = rows[i].device;
	}
	for (size_t d = 0; d < k->machine.devices_len; d++)
		is_known |= k->machine.devices[d].number == (int64_t)only;
	for (size_t i = first; i < k->b->memory_len; i++) {
		if (rows[i].device == AIF_NONE)
			continue;
		/* The only device that allocates is the only one that works. */
		if (!several && !is_known && k->machine.devices_len == 1)
			rows[i].device = k->machine.devices[0].device;
		else
			rows[i].device = kineto_device(k, rows[i].device);
	}
}

int kineto_memory_of_execs(struct kineto *k, size_t first)
{
	for (size_t i = first; i < k->b->execs_len && !k->memory.rows_len; i++) {
		const struct aif_exec_row *x = &k->b->execs[i];
		const struct aif_launch_row *l = x->launch && x->launch <= k->b->launches_len
							 ? &k->b->launches[x->launch - 1]
							 : NULL;
		struct aif_memory_row *row;
		uint32_t thread = l ? l->thread : 0;

		if (!aif_launch_is_memory(x->kind) || !x->bytes)
			continue;
		/* An execution without a call is of its process, whichever thread. */
		while (!l && thread < k->b->p.threads_len &&
		       k->b->p.threads[thread].process != x->process)
			thread++;
		row = aif_builder_memory(k->b);
		if (!row)
			return -ENOMEM;
		*row = (struct aif_memory_row){
			.time = x->start,
			.bytes = x->bytes,
			.allocated = AIF_MEMORY_UNKNOWN,
			.reserved = AIF_MEMORY_UNKNOWN,
			.thread = thread < k->b->p.threads_len ? thread : AIF_NONE,
			.stack = l ? l->stack : AIF_NONE,
			.device = x->device,
			.kind = x->kind == AIF_LAUNCH_RELEASE ? AIF_MEMORY_RELEASE
							      : AIF_MEMORY_ALLOCATE,
		};
	}
	return 0;
}

void kineto_memory_finish(struct kineto_memory *m)
{
	free(m->rows);
}
