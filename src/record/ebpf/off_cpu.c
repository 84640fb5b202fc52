/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/off_cpu.h"

#include "record/ebpf/event_read.h"
#include "record/ebpf/rows.h"

#include <bpf/bpf.h>
#include <string.h>

/* .runnable of a key that is a waker's, whose stack has no mark. */
#define WAKER 2

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

/* Frames of a stack that is to be made. */
struct frames {
	uint64_t user[AIF_EBPF_FRAMES], kernel[AIF_EBPF_FRAMES];
};

/* Sets *ret to the stack of a key; without frames where the store has it already. Returns its slot, *ret_at its number in
 * the store, or AIF_NONE. */
static struct aif_off_stack *find_stack(const struct aif_off_cpu *o,
					const struct aif_ebpf_off_key *key, struct frames *frames,
					const char *mark, struct aif_ebpf_stack *ret,
					uint32_t *ret_at)
{
	struct aif_off_stack *slot = slot_of(o, key);
	bool is_known = slot->made == o->since && !memcmp(&slot->key, key, sizeof(*key));

	*ret = (struct aif_ebpf_stack){
		.user = frames->user, .kernel = frames->kernel, .mark = mark};
	*ret_at = is_known ? slot->stack : AIF_NONE;
	if (*ret_at == AIF_NONE) {
		ret->user_len = stack_of(o, key->user, frames->user);
		ret->kernel_len = stack_of(o, key->kernel, frames->kernel);
	}
	return slot;
}

static void keep_stack(const struct aif_off_cpu *o, struct aif_off_stack *slot,
		       const struct aif_ebpf_off_key *key, uint32_t at)
{
	*slot = (struct aif_off_stack){.key = *key, .made = o->since, .stack = at};
}

/* Makes the thread and the stack of who woke another. */
static struct aif_ebpf_woken find_waker(struct aif_drainer *d, const struct aif_off_cpu *o,
					const struct aif_ebpf_waker *of)
{
	struct aif_ebpf_woken ret = {.thread = AIF_NONE, .stack = AIF_NONE};
	struct aif_ebpf_waker w = *of;
	char name[AIF_EBPF_COMM + 1] = "";
	struct aif_ebpf_stack stack;
	struct aif_off_stack *slot;
	struct frames frames;

	w.key.runnable = WAKER;
	memcpy(name, w.comm, AIF_EBPF_COMM);
	slot = find_stack(o, &w.key, &frames, "", &stack, &ret.stack);
	aif_ebpf_row_waker(d, o->processes, &w, name, &stack, &ret);
	keep_stack(o, slot, &w.key, ret.stack);
	return ret;
}

static void tell(struct aif_drainer *d, const struct aif_off_cpu *o, const struct aif_ebpf_off *off)
{
	struct aif_ebpf_off named = *off;
	char name[AIF_EBPF_COMM + 1] = "";
	struct aif_ebpf_stack stack;
	struct aif_off_stack *slot;
	struct frames frames;
	uint32_t at;

	if (!o->collect || !off->ns)
		return;
	memcpy(name, off->comm, AIF_EBPF_COMM);
	named.comm = name;
	slot = find_stack(o, &off->key, &frames,
			  off->key.runnable ? AIF_OFF_CPU_RUNNABLE : AIF_OFF_CPU_BLOCKED, &stack,
			  &at);
	aif_ebpf_row_off(d, o->processes, &named, &stack, &at);
	keep_stack(o, slot, &off->key, at);
}

/* Tells one time off CPU: blocked until somebody woke the thread, runnable from then on if that lasted. */
static void tell_wait(struct aif_drainer *d, const struct aif_off_cpu *o,
		      const struct aif_ebpf_wait *w)
{
	struct aif_ebpf_off off = {
		.key = w->key, .comm = w->comm, .since = w->since, .ns = w->ns, .is_whole = true};
	struct aif_ebpf_woken woken;

	if (!w->waker.at || w->waker.at < w->since || w->waker.at - w->since > w->ns) {
		tell(d, o, &off);
		return;
	}
	if (w->ns - (w->waker.at - w->since) >= AIF_EBPF_LEAST_WAIT)
		off.ns = w->waker.at - w->since;
	if (o->collect) {
		woken = find_waker(d, o, &w->waker);
		off.woken = &woken;
	}
	tell(d, o, &off);
	off.woken = NULL;
	off.key.runnable = 1;
	off.since += off.ns;
	off.ns = w->ns - off.ns;
	tell(d, o, &off);
}

void aif_off_cpu_wait(struct aif_drainer *d, const struct aif_off_cpu *o, const void *bytes,
		      size_t len)
{
	struct aif_ebpf_wait w;

	if (len < sizeof(w))
		return;
	memcpy(&w, bytes, sizeof(w));
	tell_wait(d, o, &w);
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
		struct aif_ebpf_wait w;

		key = next;
		more = bpf_map_get_next_key(o->left, &key, &next) == 0;
		if (bpf_map_lookup_elem(o->left, &key, &left) == 0 && left.since &&
		    o->now > left.since) {
			w = (struct aif_ebpf_wait){.since = left.since,
						   .ns = o->now - left.since,
						   .key = left.key,
						   .waker = left.waker};
			memcpy(w.comm, left.comm, sizeof(w.comm));
			tell_wait(d, o, &w);
		}
	}
}
