/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF helpers that src/record/ebpf uses, for tests that compile the programs as plain C: a machine with one
 * CPU, one thread that runs and maps that are lists. Included in place of libbpf's <bpf/bpf_helpers.h>.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SEC(name)
#define __uint(name, val) int(*name)[val]
#define __type(name, val) __typeof__(val) *name
#undef __always_inline
#define __always_inline               inline __attribute__((always_inline))
#define BPF_PROG(name, args...)       name(void *ctx, ##args)
#define bpf_core_field_exists(field)  1
#define FAKE_READ_1(from, a)          ((from)->a)
#define FAKE_READ_2(from, a, b)       ((from)->a->b)
#define FAKE_READ(_1, _2, _3, f, ...) f
#define BPF_CORE_READ(...)            FAKE_READ(__VA_ARGS__, FAKE_READ_2, FAKE_READ_1, 0)(__VA_ARGS__)

static struct fake {
	uint64_t pid_tgid, time;
	uint64_t user[127], kernel[127];
	unsigned user_len, kernel_len;
	int no_ns;                   /* the thread is not in the recorder's namespace */
	struct bpf_pidns_info in_ns; /* its numbers there */
	int stack_error;             /* bpf_get_stackid fails with this */
	int ring_full, update_error;
	void *task, *regs;    /* the current one; its registers */
	uint64_t function_ip; /* of the function that the program runs in front of */
	uint64_t arguments[4];
	unsigned char ring[8192]; /* the last record */
	uint64_t ring_len;
	unsigned ring_records;
	struct fake_entry {
		struct fake_entry *next;
		const void *map;
		size_t key_size;
		unsigned char key[64], value[4096];
	} * entries;
} fake;

/* Maps declare sizes by types; the tests' are known by these. */
static size_t fake_key_size(const void *map);
static size_t fake_value_size(const void *map);
static int fake_is_array(const void *map);

static inline void *fake_find(const void *map, const void *key, int make)
{
	struct fake_entry *e = fake.entries;
	size_t n = fake_key_size(map);

	while (e && (e->map != map || memcmp(e->key, key, n)))
		e = e->next;
	if (!e && make) {
		e = calloc(1, sizeof(*e));
		e->map = map;
		memcpy(e->key, key, n);
		e->next = fake.entries;
		fake.entries = e;
	}
	return e ? e->value : NULL;
}

static inline void fake_reset(void)
{
	while (fake.entries) {
		struct fake_entry *e = fake.entries;

		fake.entries = e->next;
		free(e);
	}
	fake = (struct fake){.pid_tgid = (uint64_t)100 << 32 | 101, .time = 1000};
}

static inline void *bpf_map_lookup_elem(const void *map, const void *key)
{
	return fake_find(map, key, fake_is_array(map));
}

static inline long bpf_map_update_elem(const void *map, const void *key, const void *value,
				       uint64_t flags)
{
	(void)flags;
	if (fake.update_error)
		return fake.update_error;
	memcpy(fake_find(map, key, 1), value, fake_value_size(map));
	return 0;
}

static inline uint64_t bpf_get_current_pid_tgid(void)
{
	return fake.pid_tgid;
}

static inline long bpf_get_ns_current_pid_tgid(uint64_t dev, uint64_t ino,
					       struct bpf_pidns_info *info, uint32_t size)
{
	(void)dev, (void)ino, (void)size;
	*info = fake.in_ns;
	return fake.no_ns ? -22 : 0;
}

static inline uint64_t bpf_ktime_get_ns(void)
{
	return fake.time;
}

static inline long bpf_get_current_comm(void *buf, uint32_t size)
{
	memset(buf, 0, size);
	memcpy(buf, "python3", 8);
	return 0;
}

static inline long bpf_get_stack(void *ctx, void *buf, uint32_t size, uint64_t flags)
{
	const uint64_t *from = flags & BPF_F_USER_STACK ? fake.user : fake.kernel;
	size_t n = flags & BPF_F_USER_STACK ? fake.user_len : fake.kernel_len;

	(void)ctx;
	if (!n)
		return -14;
	n = n * 8 < size ? n * 8 : size;
	memcpy(buf, from, n);
	return (long)n;
}

static inline long bpf_get_stackid(void *ctx, void *map, uint64_t flags)
{
	(void)ctx, (void)map;
	return fake.stack_error ? fake.stack_error : flags & BPF_F_USER_STACK ? 7 : 8;
}

static inline long bpf_ringbuf_output(void *map, void *data, uint64_t size, uint64_t flags)
{
	(void)map, (void)flags;
	if (fake.ring_full)
		return -11;
	memcpy(fake.ring, data, size);
	fake.ring_len = size;
	fake.ring_records++;
	return 0;
}

/* Addresses of the test itself. */
static inline long bpf_probe_read_user(void *to, uint32_t size, const void *from)
{
	if (!from)
		return -14;
	memcpy(to, from, size);
	return 0;
}

static inline uint64_t bpf_get_current_task(void)
{
	return (uint64_t)(uintptr_t)fake.task;
}

static inline void *bpf_get_current_task_btf(void)
{
	return fake.task;
}

static inline long bpf_task_pt_regs(void *task)
{
	(void)task;
	return (long)(uintptr_t)fake.regs;
}

static inline uint64_t bpf_get_func_ip(void *ctx)
{
	(void)ctx;
	return fake.function_ip;
}

static inline long bpf_get_func_arg(void *ctx, uint32_t n, __u64 *value)
{
	(void)ctx;
	*value = fake.arguments[n];
	return 0;
}

/* The record is put together in place, one at a time. */
static inline void *bpf_ringbuf_reserve(void *map, uint64_t size, uint64_t flags)
{
	(void)map, (void)flags;
	fake.ring_len = size;
	return fake.ring_full ? NULL : fake.ring;
}

static inline void bpf_ringbuf_submit(void *record, uint64_t flags)
{
	(void)record, (void)flags;
	fake.ring_records++;
}

static inline long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}
