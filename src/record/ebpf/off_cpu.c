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

static void tell(struct aif_drainer *d, const struct aif_off_cpu *o,
		 const struct aif_ebpf_off_key *key, const char comm[AIF_EBPF_COMM], uint64_t ns)
{
	uint64_t user[AIF_EBPF_FRAMES], kernel[AIF_EBPF_FRAMES];
	struct aif_ebpf_stack stack = {.user = user,
				       .kernel = kernel,
				       .mark = key->runnable ? AIF_OFF_CPU_RUNNABLE
							     : AIF_OFF_CPU_BLOCKED};
	char name[AIF_EBPF_COMM + 1] = "";

	if (!o->collect || !ns)
		return;
	memcpy(name, comm, AIF_EBPF_COMM);
	stack.user_len = stack_of(o, key->user, user);
	stack.kernel_len = stack_of(o, key->kernel, kernel);
	aif_ebpf_row_off(d, o->processes, key, name, &stack, o->since, ns);
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
			tell(d, o, &key, v.comm, v.ns);
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
			tell(d, o, &left.key, left.comm, o->now - left.since);
	}
}
