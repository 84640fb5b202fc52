/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>

uint32_t kineto_thread(struct kineto *k, struct kineto_id pid, struct kineto_id tid)
{
	struct kineto_thread t = {.pid = pid,
				  .tid = tid,
				  .number = (uint32_t)tid.number,
				  .process = AIF_NONE,
				  .thread = AIF_NONE,
				  .name = AIF_NONE};
	uint64_t key, i;

	if (kineto_id_is(k->threads.last_pid, pid) && kineto_id_is(k->threads.last_tid, tid) &&
	    k->threads.rows_len)
		return k->threads.last;
	key = aif_mix64((uint64_t)pid.number * 31 + pid.is_name) + (uint64_t)tid.number * 2 +
	      tid.is_name;
	for (; aif_map_get(&k->threads.ids, key, &i); key++)
		if (kineto_id_is(k->threads.rows[i].pid, pid) &&
		    kineto_id_is(k->threads.rows[i].tid, tid))
			goto out;
	i = k->threads.rows_len;
	if (i + 1 >= KINETO_THREADS_MAX)
		return KINETO_THREADS_MAX;
	if (KINETO_ADD(&k->threads, rows, t) < 0 || aif_map_put(&k->threads.ids, key, i) < 0) {
		k->threads.rows_len = i;
		k->b->failed = true;
		return KINETO_THREADS_MAX;
	}
out:
	k->threads.last_pid = pid;
	k->threads.last_tid = tid;
	k->threads.last = (uint32_t)i;
	return (uint32_t)i;
}

uint32_t kineto_thread_row(struct kineto *k, uint32_t thread)
{
	struct kineto_thread *t = &k->threads.rows[thread];

	if (t->thread == AIF_NONE) {
		struct aif_thread row = {
			.process = kineto_process(k, t->pid), .tid = t->number, .name = t->name};

		t->thread = aif_builder_thread(k->b, &row);
	}
	return t->thread;
}

void kineto_threads_finish(struct kineto_threads *t)
{
	free(t->rows);
	aif_map_finish(&t->ids);
}
