/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/off_cpu.h"

#include "record/ebpf/event_read.h"
#include "record/ebpf/rows.h"

#include <bpf/bpf.h>
#include <string.h>

static uint32_t stack_of(const struct aif_off_cpu *o, int32_t id, uint64_t *pcs)
{
	uint32_t n = 0, key = (uint32_t)id & ((1u << AIF_EBPF_TABLE_SHIFT) - 1),
		 table = (uint32_t)id >> AIF_EBPF_TABLE_SHIFT;

	/* The kernel fills what is behind the last with zeros. */
	if (id < 0 || table >= AIF_EBPF_STACK_TABLES ||
	    bpf_map_lookup_elem(o->stacks[table], &key, pcs) < 0)
		return 0;
	while (n < AIF_EBPF_FRAMES && pcs[n])
		n++;
	return n;
}

/* Returns the slot of a key, which may be another's. */
static struct aif_off_stack *slot_of(const struct aif_off_cpu *o,
				     const struct aif_ebpf_off_key *key)
{
	uint64_t h = ((uint64_t)key->tid << 32 | (uint32_t)key->user) * 0x9e3779b97f4a7c15u;

	h = (h ^ ((uint64_t)key->runnable << 32 | (uint32_t)key->kernel)) * 0x9e3779b97f4a7c15u;
	return &o->known[h >> 32 & (AIF_OFF_STACKS - 1)];
}

static void tell(struct aif_drainer *d, const struct aif_off_cpu *o, const struct aif_ebpf_off *off)
{
	uint64_t user[AIF_EBPF_FRAMES], kernel[AIF_EBPF_FRAMES];
	struct aif_ebpf_stack stack = {.user = user,
				       .kernel = kernel,
				       .mark = off->key.runnable ? AIF_OFF_CPU_RUNNABLE
								 : AIF_OFF_CPU_BLOCKED};
	struct aif_off_stack *slot = slot_of(o, &off->key);
	char name[AIF_EBPF_COMM + 1] = "";
	struct aif_ebpf_off named = *off;
	bool is_known = slot->made == o->since && !memcmp(&slot->key, &off->key, sizeof(off->key));
	uint32_t at = is_known ? slot->stack : AIF_NONE;

	if (!o->collect || !off->ns)
		return;
	memcpy(name, off->comm, AIF_EBPF_COMM);
	named.comm = name;
	if (at == AIF_NONE) {
		stack.user_len = stack_of(o, off->key.user, user);
		stack.kernel_len = stack_of(o, off->key.kernel, kernel);
	}
	aif_ebpf_row_off(d, o->processes, &named, &stack, &at);
	*slot = (struct aif_off_stack){.key = off->key, .made = o->since, .stack = at};
}

void aif_off_cpu_wait(struct aif_drainer *d, const struct aif_off_cpu *o, const void *bytes,
		      size_t len)
{
	struct aif_ebpf_wait w;

	if (len < sizeof(w))
		return;
	memcpy(&w, bytes, sizeof(w));
	tell(d, o,
	     &(struct aif_ebpf_off){
		     .key = w.key, .comm = w.comm, .since = w.since, .ns = w.ns, .is_whole = true});
}

void aif_off_cpu_fetch(struct aif_drainer *d, const struct aif_off_cpu *o)
{
	struct aif_ebpf_off_key key, next;
	struct aif_ebpf_off_value v;
	bool more = bpf_map_get_next_key(o->sums, NULL, &next) == 0;

	while (more) {
		key = next;
		more = bpf_map_get_next_key(o->sums, &key, &next) == 0;
		/* In one step, so that nothing is added in between; Linux has it since 5.14. */
		if (bpf_map_lookup_and_delete_elem(o->sums, &key, &v) == 0 ||
		    (bpf_map_lookup_elem(o->sums, &key, &v) == 0 &&
		     bpf_map_delete_elem(o->sums, &key) == 0))
			tell(d, o,
			     &(struct aif_ebpf_off){
				     .key = key, .comm = v.comm, .since = o->since, .ns = v.ns});
	}
}

void aif_off_cpu_last(struct aif_drainer *d, const struct aif_off_cpu *o)
{
	uint32_t key, next;
	bool more = bpf_map_get_next_key(o->left, NULL, &next) == 0;

	while (more) {
		struct aif_ebpf_left left;

		key = next;
		more = bpf_map_get_next_key(o->left, &key, &next) == 0;
		if (bpf_map_lookup_elem(o->left, &key, &left) == 0 && left.since &&
		    o->now > left.since)
			tell(d, o,
			     &(struct aif_ebpf_off){.key = left.key,
						    .comm = left.comm,
						    .since = left.since,
						    .ns = o->now - left.since,
						    .is_whole = true});
	}
}
