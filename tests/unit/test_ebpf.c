/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/launch_probes.h"
#include "record/ebpf/processes.h"
#include "record/ebpf/rows.h"
#include "symbolize/kallsyms.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- names of the kernel's functions ------------------------------------------------------------- */

static const char *name_at(const struct aif_kallsyms *k, uint64_t pc)
{
	const struct aif_kallsym *s = aif_kallsyms_find(k, AIF_KALLSYMS_ADDRESS(pc));

	return s ? aif_strset_get(&k->strings, s->name, NULL) : "";
}

static void kallsyms_gives_names_by_address(void **state)
{
	static const char *const lines[] = {
		"ffffffff81002000 T later",
		"ffffffff81001000 T vfs_read",
		"ffffffff81001000 t __pfx_vfs_read", /* the same address: the first stays */
		"ffffffff81001800 D data",
		"ffffffff81001900 b bss",
		"ffffffff81003000 T _etext",
		"ffffffffc0001000 t xe_open\t[xe]",
		"",
		"junk",
		"ffffffff81009000 T",
		"ffffffff81009000 T ",
		"0x T x",
	};
	struct aif_kallsyms k = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(lines); i++)
		assert_int_equal(aif_kallsyms_line(&k, lines[i]), 0);
	aif_kallsyms_seal(&k);
	assert_false(k.is_hidden);
	assert_int_equal(k.len, 5);
	assert_string_equal(name_at(&k, 0xffffffff81000fff), "");
	assert_string_equal(name_at(&k, 0xffffffff81001000), "vfs_read");
	assert_string_equal(name_at(&k, 0xffffffff81001fff), "vfs_read");
	assert_string_equal(name_at(&k, 0xffffffff81002000), "later");
	assert_string_equal(name_at(&k, 0xffffffff81003001), ""); /* behind the code */
	assert_string_equal(name_at(&k, 0xffffffffc0001004), "xe_open");
	assert_string_equal(aif_strset_get(&k.strings, k.at[k.len - 1].module, NULL), "[xe]");
	aif_kallsyms_finish(&k);
}

static void kallsyms_of_zeros_is_hidden(void **state)
{
	struct aif_kallsyms k = {0};

	(void)state;
	aif_kallsyms_line(&k, "0000000000000000 T vfs_read");
	assert_true(k.is_hidden);
	/* On x86-64 variables of each CPU begin at 0: with an address somewhere they are not hidden. */
	aif_kallsyms_line(&k, "ffffffff81001000 T vfs_read");
	assert_false(k.is_hidden);
	aif_kallsyms_finish(&k);
}

/* ---- the side-band ------------------------------------------------------------------------------- */

struct record {
	uint8_t bytes[512];
	size_t len;
};

static void put(struct record *r, const void *p, size_t n)
{
	memcpy(r->bytes + r->len, p, n);
	r->len += n;
}
#define PUT(r, type, value) put(r, &(type){value}, sizeof(type))

static void begin(struct record *r, uint32_t type, uint16_t misc)
{
	*r = (struct record){.len = 0};
	put(r, &(struct perf_event_header){.type = type, .misc = misc}, 8);
}

/* The trailer; then each shorter piece of it is read, too, from memory of its own. */
static struct aif_sideband end(struct record *r, uint64_t time)
{
	struct aif_sideband s;

	PUT(r, uint32_t, 1);
	PUT(r, uint32_t, 1);
	PUT(r, uint64_t, time);
	for (size_t n = 0; n < r->len; n++) {
		uint8_t *piece = malloc(n + !n);

		memcpy(piece, r->bytes, n);
		aif_sideband_read(piece, n, &s);
		free(piece);
	}
	aif_sideband_read(r->bytes, r->len, &s);
	return s;
}

static struct aif_sideband task(uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid,
				uint64_t time)
{
	struct record r;

	begin(&r, type, 0);
	PUT(&r, uint32_t, pid);
	PUT(&r, uint32_t, parent);
	PUT(&r, uint32_t, tid);
	PUT(&r, uint32_t, parent);
	PUT(&r, uint64_t, time);
	return end(&r, time);
}

static struct aif_sideband exec(uint32_t pid, uint64_t time, bool is_exec)
{
	struct record r;

	begin(&r, PERF_RECORD_COMM, is_exec ? 1 << 13 : 0);
	PUT(&r, uint32_t, pid);
	PUT(&r, uint32_t, pid);
	put(&r, "program", 8);
	return end(&r, time);
}

static struct aif_sideband map(uint32_t pid, uint64_t addr, uint64_t len, const char *path,
			       uint64_t time)
{
	char room[64] = "";
	struct record r;

	begin(&r, PERF_RECORD_MMAP2, 0);
	PUT(&r, uint32_t, pid);
	PUT(&r, uint32_t, pid);
	PUT(&r, uint64_t, addr);
	PUT(&r, uint64_t, len);
	PUT(&r, uint64_t, 0x1000);
	PUT(&r, uint64_t, 0);
	PUT(&r, uint64_t, 4711); /* inode */
	PUT(&r, uint64_t, 0);
	PUT(&r, uint64_t, 5);
	memcpy(room, path, strnlen(path, sizeof(room)));
	put(&r, room, strlen(path) < sizeof(room) ? (strlen(path) + 8) / 8 * 8 : sizeof(room));
	return end(&r, time);
}

static void records_of_processes_are_read(void **state)
{
	char endless[65];
	struct aif_sideband s = task(PERF_RECORD_FORK, 20, 10, 20, 99);

	(void)state;
	assert_int_equal(s.kind, AIF_SIDEBAND_FORK);
	assert_int_equal(s.pid, 20);
	assert_int_equal(s.parent, 10);
	assert_int_equal(s.time, 99);
	assert_int_equal(task(PERF_RECORD_FORK, 10, 10, 21, 99).kind,
			 AIF_SIDEBAND_NONE); /* a thread */
	assert_int_equal(task(PERF_RECORD_EXIT, 20, 10, 20, 99).kind, AIF_SIDEBAND_EXIT);
	assert_int_equal(task(PERF_RECORD_EXIT, 20, 10, 21, 99).kind, AIF_SIDEBAND_NONE);
	assert_int_equal(exec(20, 5, true).kind, AIF_SIDEBAND_EXEC);
	assert_int_equal(exec(20, 5, false).kind, AIF_SIDEBAND_NONE); /* only a name */
	s = map(20, 0x5000, 0x2000, "/bin/true", 7);
	assert_int_equal(s.kind, AIF_SIDEBAND_MAP);
	assert_int_equal(s.lo, 0x5000);
	assert_int_equal(s.hi, 0x7000);
	assert_int_equal(s.offset, 0x1000);
	assert_int_equal(s.inode, 4711);
	assert_int_equal(map(20, UINT64_MAX - 5, 10, "/x", 7).kind, AIF_SIDEBAND_NONE);
	memset(endless, '/', 64);
	endless[64] = '\0';
	assert_int_equal(map(20, 0x5000, 0x2000, endless, 7).kind, AIF_SIDEBAND_NONE);
}

/* ---- processes ----------------------------------------------------------------------------------- */

struct world {
	struct aif_store store;
	struct aif_drainer d;
	struct aif_ebpf_processes ps;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(aif_store_init(&w->store, 1), 0);
	w->d = (struct aif_drainer){.store = &w->store};
	w->ps = (struct aif_ebpf_processes){.own_pid = 5, .host = "host"};
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	aif_ebpf_processes_finish(&w->d, &w->ps);
	aif_store_finish(&w->store);
	free(w);
	return 0;
}

static void tell(struct world *w, struct aif_sideband s)
{
	aif_ebpf_processes_report(&w->d, &w->ps, &s);
}

static bool is_wanted(struct world *w, uint32_t pid)
{
	const struct aif_ebpf_process *p = aif_ebpf_process(&w->ps, pid, false);

	return p && p->wanted;
}

/* Numbers that no process of this machine has: they are beyond pid_max. */
#define A 5000001
#define B 5000002
#define C 5000003

static void test_children_of_the_wanted_are_wanted(void **state)
{
	struct world *w = *state;

	tell(w, task(PERF_RECORD_FORK, A, 5, A, 10)); /* the recorder's child */
	tell(w, task(PERF_RECORD_FORK, B, A, B, 11));
	tell(w, task(PERF_RECORD_FORK, C, 77, C, 12)); /* somebody else's */
	assert_true(is_wanted(w, A) && is_wanted(w, B));
	assert_false(is_wanted(w, C));
	tell(w, exec(B, 13, true));
	assert_true(is_wanted(w, B));
	/* The number is another's now. */
	tell(w, task(PERF_RECORD_EXIT, B, A, B, 14));
	tell(w, task(PERF_RECORD_FORK, B, 77, B, 15));
	assert_false(is_wanted(w, B));
	/* A process that has ended is forgotten, after a while. */
	tell(w, task(PERF_RECORD_EXIT, A, 5, A, 20));
	aif_ebpf_processes_tidy(&w->d, &w->ps, 20);
	assert_true(is_wanted(w, A));
	aif_ebpf_processes_tidy(&w->d, &w->ps, 21);
	assert_false(is_wanted(w, A));
}

static void test_with_all_everybody_is(void **state)
{
	struct world *w = *state;

	w->ps.all = true;
	tell(w, task(PERF_RECORD_FORK, C, 77, C, 12));
	assert_true(is_wanted(w, C));
}

static uint32_t sample(struct world *w, uint32_t pid, const uint64_t *user, uint32_t user_len,
		       const uint64_t *kernel, uint32_t kernel_len)
{
	const struct aif_ebpf_read r = {.e = {.time = 100,
					      .kind = AIF_EBPF_SAMPLE,
					      .pid = pid,
					      .tid = pid,
					      .user_len = user_len,
					      .kernel_len = kernel_len,
					      .comm = "program"},
					.user = user,
					.kernel = kernel};
	struct aif_batch *b;
	uint32_t stack;

	assert_true(aif_ebpf_row_sample(&w->d, &w->ps, &r, 10));
	b = w->store.batches.open[AIF_BATCH_CPU];
	assert_int_equal(b->cpu[b->len - 1].weight, 10);
	assert_int_equal(b->cpu[b->len - 1].time, 100);
	stack = b->cpu[b->len - 1].stack;
	return stack;
}

static void test_a_stack_has_the_kernel_on_top(void **state)
{
	const uint64_t user[] = {0x5010, 0x5021, 0x9999999},
		       kernel[] = {0xffffffff81001000, 0xffffffff81002001};
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	uint32_t s;

	tell(w, task(PERF_RECORD_FORK, A, 5, A, 10));
	tell(w, map(A, 0x5000, 0x2000, "//anon", 11));
	s = sample(w, A, user, 3, kernel, 2);
	/* The chain is cut, and marked so, where it leaves all code. */
	assert_int_equal(p->stacks[s].depth, 4);
	assert_int_equal(p->stacks[s].flags, AIF_STACK_FRAME_POINTERS | AIF_STACK_TRUNCATED);
	assert_int_equal(p->frames[p->stacks[s].frame].kind, AIF_FRAME_OS);
	assert_int_equal(p->frames[p->stacks[s].frame].address, 0xffff81001000);
	s = p->stacks[s].parent;
	assert_int_equal(p->frames[p->stacks[s].frame].address,
			 0xffff81002000); /* inside the call */
	s = p->stacks[s].parent;
	assert_int_equal(p->frames[p->stacks[s].frame].kind, AIF_FRAME_NATIVE);
	assert_int_equal(p->stacks[s].flags, 0);
	/* A whole one; one of the kernel alone, which is exact. */
	s = sample(w, A, user, 2, NULL, 0);
	assert_int_equal(p->stacks[s].flags, AIF_STACK_FRAME_POINTERS);
	assert_int_equal(p->stacks[s].depth, 2);
	s = sample(w, A, NULL, 0, kernel, 2);
	assert_int_equal(p->stacks[s].flags, 0);
	assert_int_equal(p->processes_len, 1);
	/* Another program is another process, and its code another's. */
	tell(w, exec(A, 200, true));
	s = sample(w, A, user, 2, NULL, 0);
	assert_int_equal(s, AIF_NONE);
	assert_int_equal(p->processes_len, 2);
	assert_int_equal(p->processes[0].end_ns, 200);
}

static void test_nobody_else_is_sampled(void **state)
{
	struct world *w = *state;
	struct aif_ebpf_read r = {.e = {.pid = C, .tid = C}};
	uint64_t number = 0;

	assert_false(aif_ebpf_row_sample(&w->d, &w->ps, &r, 10));
	assert_false(aif_ebpf_row_launch(&w->d, &w->ps, &r, &number));
	assert_int_equal(w->store.p.processes_len, 0);
}

static void test_a_waker_is_a_thread_or_a_name(void **state)
{
	const uint64_t user[] = {0x5010, 0x5021}, kernel[] = {0xffffffff81001000};
	const struct aif_ebpf_stack both = {
		.user = user, .kernel = kernel, .user_len = 2, .kernel_len = 1, .mark = ""};
	struct aif_ebpf_woken woken = {.thread = AIF_NONE, .stack = AIF_NONE}, other = woken,
			      nobody = woken;
	struct aif_ebpf_off off = {.key = {.pid = A, .tid = A + 7},
				   .comm = "sleeper",
				   .since = 100,
				   .ns = 50,
				   .is_whole = true,
				   .woken = &woken};
	struct aif_ebpf_waker of = {.at = 150, .key = {.pid = A, .tid = A}};
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	const struct aif_cpu_row *row;
	uint32_t at = AIF_NONE;

	tell(w, task(PERF_RECORD_FORK, A, 5, A, 10));
	tell(w, map(A, 0x5000, 0x2000, "//anon", 11));
	aif_ebpf_row_waker(&w->d, &w->ps, &of, "waker", &both, &woken);
	assert_int_equal(p->threads[woken.thread].tid, A);
	assert_int_equal(p->stacks[woken.stack].depth, 3);
	assert_true(aif_ebpf_row_off(&w->d, &w->ps, &off, &both, &at));
	row = &w->store.batches.open[AIF_BATCH_CPU]->cpu[0];
	assert_int_equal(row->waker_thread, woken.thread + 1);
	assert_int_equal(row->waker, woken.stack + 1);
	/* Somebody else's process; a CPU that was idle. */
	of.key.pid = of.key.tid = C;
	aif_ebpf_row_waker(&w->d, &w->ps, &of, "client", &both, &other);
	assert_int_equal(other.thread, AIF_NONE);
	assert_int_equal(p->stacks[other.stack].depth, 2);
	at = p->stacks[other.stack].parent;
	assert_int_equal(p->frames[p->stacks[at].frame].kind, AIF_FRAME_MARK);
	assert_string_equal(aif_profile_str(p, (uint32_t)p->frames[p->stacks[at].frame].address),
			    "client");
	of.key.pid = of.key.tid = 0;
	aif_ebpf_row_waker(&w->d, &w->ps, &of, "swapper", &both, &nobody);
	assert_int_equal(nobody.thread, AIF_NONE);
	assert_int_equal(p->stacks[nobody.stack].depth, 1);
	assert_int_equal(p->processes_len, 1);
}

static void test_a_launch_has_its_caller_in_its_place(void **state)
{
	const uint64_t user[] = {0x5010, 0x5031};
	const struct aif_ebpf_read r = {
		.e = {.kind = AIF_EBPF_LAUNCH, .pid = A, .tid = A, .user_len = 2, .caller = 0x5021},
		.user = user};
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	uint64_t number = 0, address[] = {0x5010, 0x5020, 0x5030};
	struct aif_batch *b;
	uint32_t s;

	tell(w, task(PERF_RECORD_FORK, A, 5, A, 10));
	tell(w, map(A, 0x5000, 0x2000, "//anon", 11));
	for (int i = 0; i < 2; i++)
		assert_true(aif_ebpf_row_launch(&w->d, &w->ps, &r, &number));
	b = w->store.batches.open[AIF_BATCH_LAUNCH];
	assert_int_not_equal(b->launches[0].launch, b->launches[1].launch);
	s = b->launches[1].stack;
	for (int i = 0; i < 3; i++, s = p->stacks[s].parent)
		assert_int_equal(p->frames[p->stacks[s].frame].address, address[i]);
	assert_int_equal(s, AIF_NONE);
}

static void test_libraries_that_launch(void **state)
{
	(void)state;
	assert_true(aif_launch_probes_path("/usr/lib/libcuda.so.1"));
	assert_true(aif_launch_probes_path("/usr/lib/libcuda.so.550.54.14"));
	assert_true(aif_launch_probes_path("libze_loader.so"));
	assert_false(aif_launch_probes_path("/usr/lib/libcuda.so.1/x"));
	assert_false(aif_launch_probes_path("/usr/lib/libcudart.so.12"));
	assert_false(aif_launch_probes_path("/usr/lib/libcuda.sox"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kallsyms_gives_names_by_address),
		cmocka_unit_test(kallsyms_of_zeros_is_hidden),
		cmocka_unit_test(records_of_processes_are_read),
		cmocka_unit_test(test_libraries_that_launch),
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
		IN_WORLD(test_children_of_the_wanted_are_wanted),
		IN_WORLD(test_with_all_everybody_is),
		IN_WORLD(test_a_stack_has_the_kernel_on_top),
		IN_WORLD(test_nobody_else_is_sampled),
		IN_WORLD(test_a_waker_is_a_thread_or_a_name),
		IN_WORLD(test_a_launch_has_its_caller_in_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
