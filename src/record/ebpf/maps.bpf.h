/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#pragma once

/* Maps and helpers that the programs share. */
#include "record/ebpf/bpf.h"

#include "record/ebpf/event.h"

/* 4 MiB hold 2 s of 64 CPUs at 99 Hz with stacks of 40 frames; the recorder empties it 20 times
 * a second or more often. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} aif_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, AIF_EBPF_LOSSES);
	__type(key, __u32);
	__type(value, __u64);
} aif_lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u32);
} aif_unwanted SEC(".maps");

/* An event is put together here: the stack of a program has 512 bytes. Two, since a tick may
 * come while a launch is put together, and a nesting deeper than that does not happen. */
struct aif_scratch {
	struct aif_ebpf_event event;
	__u64 frames[2 * AIF_EBPF_FRAMES + 2];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct aif_scratch);
} aif_scratch SEC(".maps");

/* Set before the programs are loaded. The recorder's own process, and its namespace of process
 * numbers where that is not the machine's: 0 = it is. */
AIF_SETTING __u32 aif_own_pid = 0;
AIF_SETTING __u64 aif_pid_dev = 0, aif_pid_ino = 0;

static __always_inline void aif_count_lost(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&aif_lost, &what);

	if (n)
		*n += 1;
}

/* Process and thread as the recorder sees them; false: it does not see them, or they are idle or
 * its own. */
static __always_inline int aif_who(__u32 *pid, __u32 *tid)
{
	__u64 both = bpf_get_current_pid_tgid();

	if (!both)
		return 0; /* the idle thread */
	if (aif_pid_ino) {
		struct bpf_pidns_info in = {};

		if (bpf_get_ns_current_pid_tgid(aif_pid_dev, aif_pid_ino, &in, sizeof(in)))
			return 0;
		*pid = in.tgid;
		*tid = in.pid;
	} else {
		*pid = both >> 32;
		*tid = (__u32)both;
	}
	return *pid != aif_own_pid;
}

static __always_inline int aif_is_unwanted(__u32 pid, __u32 what)
{
	__u32 *flags = bpf_map_lookup_elem(&aif_unwanted, &pid);

	return flags && (*flags & what);
}

/* Both stacks behind the event, which goes into the ring. */
static __always_inline void aif_message(void *ctx, struct aif_scratch *s, int with_kernel,
					__u32 loss)
{
	struct aif_ebpf_event *e = &s->event;
	long user, kernel = 0;
	__u64 bytes;

	user = bpf_get_stack(ctx, s->frames, AIF_EBPF_FRAMES * sizeof(__u64), BPF_F_USER_STACK);
	if (user < 0)
		user = 0;
	user &= 0x3f8; /* in words, and less than 128 of them: what the verifier wants to see */
	if (with_kernel)
		kernel = bpf_get_stack(ctx, (char *)s->frames + user,
				       AIF_EBPF_FRAMES * sizeof(__u64), 0);
	if (kernel < 0)
		kernel = 0;
	kernel &= 0x3f8;
	e->user_len = (__u32)user / sizeof(__u64);
	e->kernel_len = (__u32)kernel / sizeof(__u64);
	e->time = bpf_ktime_get_ns();
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bytes = sizeof(*e) + (__u64)user + (__u64)kernel;
	if (bytes > sizeof(*s) || bpf_ringbuf_output(&aif_ring, s, bytes, BPF_RB_NO_WAKEUP))
		aif_count_lost(loss);
}
