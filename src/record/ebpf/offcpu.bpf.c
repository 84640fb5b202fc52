// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Time off CPU: runs at each switch from a thread to another, as the one that leaves. Where it
 * stands then is kept for it. When it comes back a longer time is sent with its beginning and end, as
 * one that may explain a gap of a device; the others are added up here, and the recorder fetches the
 * sums: a busy machine switches 100,000 times a second. A longer one also has who ended it: the
 * thread that ran where it was woken.
 */
#include "record/ebpf/maps.bpf.h"

/* This program and who calls it are on top of the kernel's stack. */
#define OWN_FRAMES 2

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* who never comes back makes room */
	__uint(max_entries, 32768);
	__type(key, __u32); /* the kernel's number of the thread */
	__type(value, struct aif_ebpf_left);
} aif_left SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct aif_ebpf_off_key);
	__type(value, struct aif_ebpf_off_value);
} aif_off SEC(".maps");

/* 2 MiB hold 18,000 waits; the recorder empties it 20 times a second or more often, and chooses
 * aif_least_wait so that some thousand come in a second. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} aif_waits SEC(".maps");
volatile __u64 aif_least_wait = AIF_EBPF_LEAST_WAIT;

/* In such a table a stack has one place, by its hash, and if another is there it has none: of
 * 400 stacks in 16384 places some 5. They go to the next table, which is almost empty. */
#define AIF_STACK_TABLE(name, n)                                     \
	struct {                                                     \
		__uint(type, BPF_MAP_TYPE_STACK_TRACE);              \
		__uint(max_entries, n);                              \
		__uint(key_size, sizeof(__u32));                     \
		__uint(value_size, AIF_EBPF_FRAMES * sizeof(__u64)); \
	} name SEC(".maps")
AIF_STACK_TABLE(aif_off_stacks, AIF_EBPF_STACKS_FIRST);
AIF_STACK_TABLE(aif_off_stacks_2, AIF_EBPF_STACKS_SECOND);
AIF_STACK_TABLE(aif_off_stacks_3, AIF_EBPF_STACKS_OTHERS);
AIF_STACK_TABLE(aif_off_stacks_4, AIF_EBPF_STACKS_OTHERS);
#define NO_PLACE (-17) /* -EEXIST */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} aif_wanted SEC(".maps");

/* Set before the programs are loaded: not all processes are wanted. The recorder sorts out what
 * it gets, but the tables below are for those only. */
AIF_SETTING __u32 aif_some_wanted = 0;

static __always_inline int aif_is_wanted(__u32 pid)
{
	__u32 *how = bpf_map_lookup_elem(&aif_wanted, &pid);

	return how && *how == AIF_EBPF_WANTED;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(aif_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = (__u32)parent->tgid, to = (__u32)child->tgid, how = AIF_EBPF_WANTED;

	(void)ctx;
	if (from != to && bpf_map_lookup_elem(&aif_wanted, &from))
		bpf_map_update_elem(&aif_wanted, &to, &how, BPF_ANY);
	return 0;
}

/* Sends a time off CPU. False: it is too short, or there is no room. */
static __always_inline int aif_wait_sent(const struct aif_ebpf_left *l, __u64 now)
{
	struct aif_ebpf_wait w = {.since = l->since, .ns = now - l->since, .key = l->key};

	if (w.ns < aif_least_wait)
		return 0;
	__builtin_memcpy(w.comm, l->comm, sizeof(w.comm));
	__builtin_memcpy(&w.waker, &l->waker, sizeof(w.waker));
	if (!bpf_ringbuf_output(&aif_waits, &w, sizeof(w), BPF_RB_NO_WAKEUP))
		return 1;
	aif_count_lost(AIF_EBPF_LOST_WAITS);
	return 0;
}

static __always_inline void aif_came_back(__u32 tid, __u64 now)
{
	struct aif_ebpf_left *l = bpf_map_lookup_elem(&aif_left, &tid);
	struct aif_ebpf_off_value *v, fresh = {};

	if (!l || !l->since || now < l->since)
		return;
	if (aif_wait_sent(l, now)) {
		l->since = 0;
		return;
	}
	v = bpf_map_lookup_elem(&aif_off, &l->key);
	if (v) {
		__sync_fetch_and_add(&v->ns, now - l->since);
		__sync_fetch_and_add(&v->times, 1);
	} else {
		fresh.ns = now - l->since;
		fresh.times = 1;
		__builtin_memcpy(fresh.comm, l->comm, sizeof(fresh.comm));
		if (bpf_map_update_elem(&aif_off, &l->key, &fresh, BPF_ANY))
			aif_count_lost(AIF_EBPF_LOST_OFF);
	}
	l->since = 0;
}

static __always_inline __s32 aif_in_table(long id, __u32 table)
{
	return id < 0 ? (__s32)id : (__s32)((__u32)id | table << AIF_EBPF_TABLE_SHIFT);
}

static __always_inline __s32 aif_stack(void *ctx, __u64 flags)
{
	long id = bpf_get_stackid(ctx, &aif_off_stacks, flags);

	if (id != NO_PLACE)
		return (__s32)id;
	id = bpf_get_stackid(ctx, &aif_off_stacks_2, flags);
	if (id != NO_PLACE)
		return aif_in_table(id, 1);
	id = bpf_get_stackid(ctx, &aif_off_stacks_3, flags);
	if (id != NO_PLACE)
		return aif_in_table(id, 2);
	return aif_in_table(bpf_get_stackid(ctx, &aif_off_stacks_4, flags), 3);
}

/* Runs at each wake-up, as who wakes; sched_wakeup would run as the woken where its CPU does the rest. A wait that is too
 * short for a row of its own has no use for it. */
SEC("tp_btf/sched_waking")
int BPF_PROG(aif_waking, struct task_struct *woken)
{
	__u32 tid = (__u32)woken->pid;
	struct aif_ebpf_left *l = bpf_map_lookup_elem(&aif_left, &tid);
	__u64 now = bpf_ktime_get_ns();
	struct aif_ebpf_waker *w;

	if (!l || !l->since || l->key.runnable || l->waker.at || now < l->since ||
	    now - l->since < aif_least_wait)
		return 0;
	w = &l->waker;
	if (!aif_who(&w->key.pid, &w->key.tid))
		w->key.pid = w->key.tid = 0;
	w->key.user = w->key.pid ? aif_stack(ctx, BPF_F_USER_STACK) : -1;
	w->key.kernel = aif_stack(ctx, OWN_FRAMES);
	bpf_get_current_comm(w->comm, sizeof(w->comm));
	w->at = now;
	return 0;
}

static __always_inline unsigned int aif_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (unsigned int)BPF_CORE_READ((struct task_struct___old *)task, state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(aif_switch, int preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 out = (__u32)prev->pid, in = (__u32)next->pid;
	__u64 now = bpf_ktime_get_ns();
	struct aif_ebpf_left l = {};
	unsigned int state;

	if (in)
		aif_came_back(in, now);
	/* Waits of the kernel's own threads are left out: most of them do nothing else. */
	if (!out || (prev->flags & PF_KTHREAD) || !aif_who(&l.key.pid, &l.key.tid) ||
	    (aif_some_wanted && !aif_is_wanted((__u32)prev->tgid)))
		return 0;
	state = aif_state(prev);
	if (state & TASK_DEAD)
		return 0;
	l.key.runnable = preempt || !state;
	l.since = now;
	l.key.user = aif_stack(ctx, BPF_F_USER_STACK);
	l.key.kernel = aif_stack(ctx, OWN_FRAMES);
	if (l.key.user == NO_PLACE || l.key.kernel == NO_PLACE)
		aif_count_lost(AIF_EBPF_LOST_OFF_STACKS);
	bpf_get_current_comm(l.comm, sizeof(l.comm));
	if (bpf_map_update_elem(&aif_left, &out, &l, BPF_ANY))
		aif_count_lost(AIF_EBPF_LOST_OFF);
	return 0;
}
