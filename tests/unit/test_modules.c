/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/modules.h"

#include "tiny_elf.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct aif_modules *new_modules(bool use_loader)
{
	struct aif_modules *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	assert_int_equal(aif_modules_init(m, use_loader), 0);
	return m;
}

static bool refresh(struct aif_modules *m)
{
	struct aif_module_counts now;
	bool went_away = false;

	if (aif_modules_changed(m, &now, &went_away))
		aif_modules_update(m, &now);
	return went_away;
}

static bool loader_answers(void)
{
	return dlsym(RTLD_DEFAULT, "_dl_find_object") != NULL;
}

/* Compares the loader's list with what we find, at both ends and outside. */
static int check_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct aif_modules *m = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at[2] = {info->dlpi_addr + p->p_vaddr,
				  info->dlpi_addr + p->p_vaddr + p->p_memsz - 1};

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		for (int k = 0; k < 2; k++) {
			struct aif_module found;
			struct aif_ehframe frames;
			uint64_t lo, hi;

			assert_true(aif_modules_find(m, at[k], &found));
			assert_false(aif_modules_stale(m, at[k]));
			assert_int_equal(found.base, info->dlpi_addr);
			assert_int_equal(found.phnum, info->dlpi_phnum);
			assert_memory_equal(found.phdrs, info->dlpi_phdr,
					    info->dlpi_phnum * sizeof(*p));
			assert_string_equal(found.path, info->dlpi_name);
			aif_module_code(&found, &lo, &hi);
			assert_in_range(at[k], lo, hi - 1);
			assert_int_equal(aif_module_ehframe(&found, &frames), 0);
		}
	}
	return 0;
}

static void test_all_modules_are_found(void **state)
{
	struct aif_modules *loader = new_modules(true), *old = new_modules(false);
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	struct aif_module found;

	(void)state;
	assert_null(old->find_object);
	dl_iterate_phdr(check_module, loader);
	dl_iterate_phdr(check_module, old);
	if (vdso) /* emulators may have none */
		assert_true(aif_modules_find(old, vdso, &found));
	assert_false(aif_modules_find(loader, (uint64_t)(uintptr_t)loader, &found)); /* heap */
	assert_false(aif_modules_find(old, (uint64_t)(uintptr_t)loader, &found));
	if (loader_answers()) {
		if (vdso)
			assert_true(aif_modules_find(loader, vdso, &found));
		assert_false(aif_modules_stale(loader, (uint64_t)(uintptr_t)loader));
	}
	free(loader);
	free(old);
}

static void test_modules_come_and_go(void **state)
{
	struct tiny_elf opts = {.frame = 1048};
	struct aif_modules *loader = new_modules(true), *old = new_modules(false);
	struct aif_module found;
	void *handle = tiny_elf_open(&opts), *again;
	uint64_t pc = (uint64_t)(uintptr_t)dlsym(handle, "entry");

	(void)state;
	assert_non_null(handle);
	if (loader_answers())
		assert_true(aif_modules_find(loader, pc, &found));
	assert_false(aif_modules_find(old, pc, &found));
	assert_true(aif_modules_stale(old, pc));
	assert_false(refresh(old));
	assert_true(aif_modules_find(old, pc, &found));
	assert_false(refresh(loader));

	/* A second reference: closing it unloads nothing. */
	again = dlopen(((struct link_map *)handle)->l_name, RTLD_NOW | RTLD_NOLOAD);
	if (again)
		dlclose(again);
	assert_false(refresh(old));
	assert_true(aif_modules_find(old, pc, &found));

	dlclose(handle);
	assert_true(refresh(old));
	assert_true(refresh(loader));
	assert_false(refresh(old));
	assert_false(aif_modules_find(old, pc, &found));
	assert_false(aif_modules_find(loader, pc, &found));
	free(loader);
	free(old);
}

static struct {
	const struct aif_modules *m;
	_Atomic uint64_t pc; /* in a module that comes and goes */
	_Atomic bool over, found, asked;
} coming;

static void *come_and_go(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 3000; i++) {
		struct tiny_elf opts = {.frame = 1048};
		void *handle = tiny_elf_open(&opts);

		atomic_store(&coming.pc, (uint64_t)(uintptr_t)dlsym(handle, "entry"));
		/* The first one stays until it was met, however busy the machine is. */
		while (loader_answers() &&
		       !(atomic_load(&coming.found) && atomic_load(&coming.asked)))
			sched_yield();
		dlclose(handle);
	}
	atomic_store(&coming.over, true);
	return NULL;
}

static void look_at_it(void *arg)
{
	struct aif_ehframe frames;
	struct aif_module found;

	(void)arg;
	if (!aif_modules_find(coming.m, atomic_load(&coming.pc), &found))
		return;
	assert_int_equal(aif_module_ehframe(&found, &frames), 0);
	assert_true(strlen(found.path) > 0);
	atomic_store(&coming.found, true);
}

/* Another thread's module is there while it is looked at, or is not found. */
static void test_modules_are_held(void **state)
{
	struct aif_modules *m = new_modules(true);
	pthread_t thread;

	(void)state;
	coming.m = m;
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
	while (!atomic_load(&coming.over)) {
		assert_true(aif_modules_hold(m, look_at_it, NULL));
		if (aif_modules_has(m, atomic_load(&coming.pc)))
			atomic_store(&coming.asked, true);
	}
	pthread_join(thread, NULL);
	free(m);
}

/* Tools that rewrite binaries move the program headers; then the snapshot must know the module. */
static void test_headers_not_at_start(void **state)
{
	struct tiny_elf opts = {.frame = 1048, .headers_moved = true};
	struct aif_modules *m = new_modules(true);
	struct aif_module found;
	struct aif_ehframe frames;
	void *handle = tiny_elf_open(&opts);
	uint64_t pc = (uint64_t)(uintptr_t)dlsym(handle, "entry");

	(void)state;
	assert_non_null(handle);
	assert_false(aif_modules_find(m, pc, &found));
	assert_true(aif_modules_stale(m, pc));
	refresh(m);
	assert_true(aif_modules_find(m, pc, &found));
	assert_false(aif_modules_stale(m, pc));
	assert_int_equal(aif_module_ehframe(&found, &frames), 0);
	assert_int_equal(aif_row_off(aif_ehframe_row(&frames, pc + 8)), 1056);
	dlclose(handle);
	free(m);
}

static void test_module_without_tables(void **state)
{
	struct tiny_elf opts = {.frame = 1048, .no_tables = true};
	struct aif_modules *m = new_modules(true);
	struct aif_module found;
	struct aif_ehframe frames;
	void *handle = tiny_elf_open(&opts);

	(void)state;
	assert_non_null(handle);
	refresh(m);
	assert_true(aif_modules_find(m, (uint64_t)(uintptr_t)dlsym(handle, "entry"), &found));
	assert_int_equal(aif_module_ehframe(&found, &frames), -ENOENT);
	dlclose(handle);
	free(m);
}

/* Segments that claim to lie outside the mapping must not be read. */
static void test_segments_outside_the_module(void **state)
{
	static uint8_t image[TINY_PAGE * 5] __attribute__((aligned(TINY_PAGE)));
	struct tiny_elf opts = {.frame = 1048};
	Elf64_Phdr *ph = (Elf64_Phdr *)(void *)(image + 64);
	struct aif_module module = {
		.lo = (uint64_t)(uintptr_t)image,
		.hi = (uint64_t)(uintptr_t)image + sizeof(image),
		.base = (uint64_t)(uintptr_t)image,
		.phdrs = ph,
		.phnum = 7,
	};
	struct aif_ehframe frames;

	(void)state;
	tiny_elf_make(image, &opts);
	assert_int_equal(aif_module_ehframe(&module, &frames), 0);
	ph[0].p_filesz = sizeof(image) + 1;
	assert_int_equal(aif_module_ehframe(&module, &frames), -EINVAL);
	ph[0].p_filesz = UINT64_MAX;
	assert_int_equal(aif_module_ehframe(&module, &frames), -EINVAL);
	ph[0].p_filesz = TINY_PAGE;
	ph[0].p_vaddr = sizeof(image);
	assert_int_equal(aif_module_ehframe(&module, &frames), -EINVAL);
	ph[0].p_vaddr = 0;
	ph[3].p_vaddr = (uint64_t)-TINY_PAGE;
	assert_int_equal(aif_module_ehframe(&module, &frames), -EINVAL);
	ph[3].p_vaddr = 4 * TINY_PAGE;
	assert_int_equal(aif_module_ehframe(&module, &frames), 0);
	ph[6].p_vaddr = sizeof(image) - 2; /* the header is cut off */
	image[sizeof(image) - 2] = 1;
	assert_int_equal(aif_module_ehframe(&module, &frames), -EINVAL);
}

/* ---- a loader of our own ---- */

/* Declared as in glibc. */
struct aif_dl_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

static uint8_t fake_image[TINY_PAGE * 5] __attribute__((aligned(TINY_PAGE)));
static char fake_name[] = "fake";
static struct link_map fake_map = {.l_name = fake_name};

static int fake_find(void *address, struct aif_dl_object *ret)
{
	if ((uint8_t *)address < fake_image ||
	    (uint8_t *)address >= fake_image + sizeof(fake_image))
		return -1;
	*ret = (struct aif_dl_object){.map_start = fake_image,
				      .map_end = fake_image + sizeof(fake_image),
				      .link_map = &fake_map};
	return 0;
}

/* Program headers are taken from the first page only if it is the module's ELF header for sure. */
static void test_first_page_is_judged(void **state)
{
	struct tiny_elf opts = {.frame = 1048};
	struct aif_modules *m = new_modules(false);
	uint64_t pc = (uint64_t)(uintptr_t)fake_image + TINY_CODE;
	Elf64_Ehdr *elf = (Elf64_Ehdr *)(void *)fake_image;
	Elf64_Phdr *ph = (Elf64_Phdr *)(void *)(fake_image + 64);
	struct aif_module found;

	(void)state;
	m->find_object = fake_find;
	fake_map.l_addr = (uintptr_t)fake_image;
	/* The test program itself is in the snapshot and holds the image: it must not be mistaken for
	 * the module, which has another base. */
#define EXPECT(wrong, known)                                              \
	do {                                                              \
		tiny_elf_make(fake_image, &opts);                         \
		wrong;                                                    \
		assert_int_equal(aif_modules_find(m, pc, &found), known); \
		assert_int_equal(aif_modules_stale(m, pc), !known);       \
	} while (0)
	EXPECT((void)0, true);
	assert_string_equal(found.path, "fake");
	assert_int_equal(found.phnum, 7);
	EXPECT(elf->e_ident[1] = 'e', false);
	EXPECT(elf->e_ident[EI_CLASS] = ELFCLASS32, false);
	EXPECT(elf->e_phentsize = 32, false);
	EXPECT(elf->e_phoff += 4, false);
	EXPECT(elf->e_phoff = UINT64_MAX - 7, false);
	EXPECT(elf->e_phnum = 73, false);
	EXPECT((memmove(ph + 3, ph, 7 * sizeof(*ph)), elf->e_phoff += 3 * sizeof(*ph)), true);
	EXPECT((memmove(fake_image + 2 * TINY_PAGE, ph, 7 * sizeof(*ph)),
		elf->e_phoff = 2 * TINY_PAGE),
	       false);
	EXPECT(ph[0].p_offset = TINY_PAGE, false);
	EXPECT(ph[0].p_vaddr = TINY_PAGE, false);
	EXPECT((ph[0].p_type = ph[1].p_type = ph[2].p_type = ph[3].p_type = PT_NOTE), false);
	free(m);
}

struct holder {
	int held[2], let_go[2];
};

static int hold(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct holder *h = arg;
	char c;

	(void)info;
	(void)size;
	return write(h->held[1], "", 1) == 1 && read(h->let_go[0], &c, 1) == 1;
}

static void *hold_the_lock(void *arg)
{
	dl_iterate_phdr(hold, arg);
	return NULL;
}

/* Runs in a forked child; ends with 0 if the loader's lock was as `locked` says. A hang is ended by
 * a signal. */
static void in_the_child(struct aif_modules *m, bool locked)
{
	static const char somewhere;
	struct aif_module found;
	uint64_t pc = (uint64_t)(uintptr_t)in_the_child;
	bool ok;

	alarm(2);
	aif_modules_after_fork(m);
	/* The questions of the launch path and of the helper. */
	ok = aif_modules_closed(m) && aif_modules_find(m, pc, &found) &&
	     !aif_modules_stale(m, (uint64_t)(uintptr_t)&somewhere);
	/* After a dlclose() in it. */
	aif_modules_forget(m);
	ok = ok && aif_modules_find(m, pc, &found) == (m->find_object != NULL);
	if (!locked)
		aif_modules_reopen(m);
	ok = ok && aif_modules_closed(m) == locked;
	if (!locked) {
		refresh(m);
		ok = ok && aif_modules_find(m, pc, &found);
	}
	_exit(ok ? 0 : 1);
}

static int child_of(struct aif_modules *m, bool locked)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		in_the_child(m, locked);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* A thread of the parent has the lock of the loader's list when it forks: in the child nobody ever gives it
 * back. */
static void test_a_child_does_not_wait_for_the_loader(void **state)
{
	struct aif_modules *m[2] = {new_modules(true), new_modules(false)};
	struct holder h;
	pthread_t thread;
	char c;

	(void)state;
	assert_int_equal(pipe(h.held) | pipe(h.let_go), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(child_of(m[i], false), 0);
	assert_int_equal(pthread_create(&thread, NULL, hold_the_lock, &h), 0);
	assert_int_equal(read(h.held[0], &c, 1), 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(child_of(m[i], true), 0);
	assert_int_equal(write(h.let_go[1], "", 1), 1);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		close(h.held[i]);
		close(h.let_go[i]);
		free(m[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_modules_are_found),
		cmocka_unit_test(test_modules_come_and_go),
		cmocka_unit_test(test_modules_are_held),
		cmocka_unit_test(test_headers_not_at_start),
		cmocka_unit_test(test_module_without_tables),
		cmocka_unit_test(test_segments_outside_the_module),
		cmocka_unit_test(test_first_page_is_judged),
		cmocka_unit_test(test_a_child_does_not_wait_for_the_loader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
