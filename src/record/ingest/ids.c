/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/ids.h"

#include "base/demangle.h"

#include <stdio.h>
#include <string.h>

void aif_ingest_put(struct aif_store *s, struct aif_map *m, uint64_t key, uint32_t id)
{
	if (id != AIF_NONE &&
	    (aif_map_get(m, key, NULL) || aif_store_charge_own(s, AIF_QUOTA_ENTRY)))
		aif_map_put(m, key, id);
}

uint32_t aif_ingest_kernel_name(struct aif_store *store, const char *name, size_t len)
{
	struct aif_buf mangled = {0}, plain = {0};
	uint32_t id = AIF_NONE;

	if (len > 2 && !memcmp(name, "_Z", 2)) {
		aif_buf_append(&mangled, name, len);
		aif_demangle(aif_buf_str(&mangled), &plain);
		if (plain.len && !aif_buf_failed(&plain))
			id = aif_store_str(store, plain.data, plain.len);
	}
	aif_buf_finish(&mangled);
	aif_buf_finish(&plain);
	return id == AIF_NONE ? aif_store_str(store, name, len) : id;
}

uint32_t aif_target_thread(struct aif_drainer *d, struct aif_target *t, uint32_t tid,
			   const char *name)
{
	struct aif_thread thread = {.process = t->process, .tid = tid};
	char path[64], comm[64] = "";
	uint64_t id;
	FILE *f;

	if (aif_map_get(&t->threads, tid, &id))
		return (uint32_t)id;
	if (tid == AIF_WIRE_ENDED_THREADS)
		name = AIF_ENDED_THREADS;
	if (!name) {
		snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", t->pid, tid);
		f = fopen(path, "re");
		if (f) {
			if (fgets(comm, sizeof(comm), f))
				comm[strcspn(comm, "\n")] = '\0';
			fclose(f);
		}
		name = comm;
	}
	thread.name = aif_store_puts(d->store, name);
	id = aif_store_thread(d->store, &thread);
	if (id != AIF_NONE)
		aif_map_put(&t->threads, tid, id);
	return (uint32_t)id;
}
