/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/translate.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void level_zero_device_types_become_kinds_and_units(void **state)
{
	struct aif_ze_device_properties p = {
		.slices = 2, .subslices_per_slice = 32, .eus_per_subslice = 8};

	(void)state;
	assert_int_equal(aif_ze_device_kind(AIF_ZE_DEVICE_GPU), AIF_EMIT_DEVICE_GPU);
	assert_int_equal(aif_ze_device_kind(AIF_ZE_DEVICE_CPU), AIF_EMIT_DEVICE_CPU);
	assert_int_equal(aif_ze_device_kind(AIF_ZE_DEVICE_VPU), AIF_EMIT_DEVICE_ACCELERATOR);
	assert_int_equal(aif_ze_device_kind(99), AIF_EMIT_DEVICE_OTHER);
	assert_int_equal(aif_ze_device_units(&p), 512);
	p.slices = p.subslices_per_slice = p.eus_per_subslice = UINT32_MAX;
	assert_int_equal(aif_ze_device_units(&p), UINT32_MAX);
}

static void places_on_the_bus(void **state)
{
	struct aif_ze_pci_properties p = {.domain = 1, .bus = 0x3a, .device = 2, .function = 7};

	(void)state;
	assert_int_equal(aif_ze_pci(&p), 0x13a17);
	p.function = 8;
	assert_int_equal(aif_ze_pci(&p), 0);
	p = (struct aif_ze_pci_properties){.domain = 0x10000};
	assert_int_equal(aif_ze_pci(&p), 0);
}

static void kinds_of_memory_give_the_kind_of_a_copy(void **state)
{
	const struct aif_ze_copy_region flat = {.width = 100, .height = 3, .depth = 0};

	(void)state;
	assert_int_equal(aif_ze_copy_kind(AIF_ZE_MEMORY_DEVICE, AIF_ZE_MEMORY_HOST),
			 AIF_EMIT_WRITE);
	assert_int_equal(aif_ze_copy_kind(AIF_ZE_MEMORY_DEVICE, 0), AIF_EMIT_WRITE);
	assert_int_equal(aif_ze_copy_kind(AIF_ZE_MEMORY_HOST, AIF_ZE_MEMORY_SHARED), AIF_EMIT_READ);
	assert_int_equal(aif_ze_copy_kind(AIF_ZE_MEMORY_SHARED, AIF_ZE_MEMORY_DEVICE),
			 AIF_EMIT_COPY);
	assert_int_equal(aif_ze_copy_kind(AIF_ZE_MEMORY_HOST, AIF_ZE_MEMORY_HOST), AIF_EMIT_COPY);
	assert_int_equal(aif_ze_region_bytes(&flat), 300);
	assert_int_equal(aif_ze_region_bytes(NULL), 0);
}

static void level_zero_groups_become_grid_and_block(void **state)
{
	const struct aif_ze_group_count count = {4, 64, UINT32_MAX};
	const uint32_t group[3] = {16, 0, 2};
	struct aif_emit_shape s;

	(void)state;
	aif_ze_shape(&count, group, &s);
	assert_int_equal(s.grid[0], 64);
	assert_int_equal(s.grid[1], 64); /* a group size that nobody has set */
	assert_int_equal(s.grid[2], UINT32_MAX);
	assert_int_equal(s.block[0], 16);
	aif_ze_shape(NULL, group, &s);
	assert_int_equal(s.grid[0], 0);
}

static void counters_come_around(void **state)
{
	const uint64_t turn = UINT64_C(1) << 32;

	(void)state;
	assert_int_equal(aif_ze_extend(5 * turn + 1000, 900, 32), 5 * turn + 900);
	/* just before the reference, on the other side of a turn */
	assert_int_equal(aif_ze_extend(5 * turn + 10, turn - 10, 32), 5 * turn - 10);
	/* and just after it */
	assert_int_equal(aif_ze_extend(5 * turn - 10, 10, 32), 5 * turn + 10);
	/* nothing lies before the first turn */
	assert_int_equal(aif_ze_extend(10, turn - 10, 32), turn - 10);
	assert_int_equal(aif_ze_extend(UINT64_MAX - 5, 3, 32), UINT64_MAX - turn + 4);
	assert_int_equal(aif_ze_extend(77, 5, 64), 5);
	assert_int_equal(aif_ze_extend(77, 5, 0), 5);
}

static void timer_ticks_become_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(aif_ze_hertz(52), 19230769); /* ns of a tick: before 1.2 */
	assert_int_equal(aif_ze_hertz(19200000), 19200000);
	assert_int_equal(aif_ze_hertz(0), 1000000000);
	assert_int_equal(aif_ze_ns(19200000, 19200000), 1000000000);
	assert_int_equal(aif_ze_ns(UINT64_C(19200000) << 32, 19200000), UINT64_C(1000000000) << 32);
}

static void timestamps_that_wrap_or_were_not_written_are_told(void **state)
{
	const uint64_t turn = UINT64_C(1) << 32;
	struct aif_ze_kernel_times t = {.start = turn - 100, .end = 50};
	uint64_t start, end;

	(void)state;
	assert_true(aif_ze_times(&t, 3 * turn + 200, 32, &start, &end));
	assert_int_equal(start, 3 * turn - 100);
	assert_int_equal(end, 3 * turn + 50);
	/* Never written: zero, or what drivers mark it with. */
	t = (struct aif_ze_kernel_times){0};
	assert_false(aif_ze_times(&t, 3 * turn, 32, &start, &end));
	t = (struct aif_ze_kernel_times){1, 1, 1, 1};
	assert_false(aif_ze_times(&t, 3 * turn, 32, &start, &end));
	/* An end before its start. */
	t = (struct aif_ze_kernel_times){.start = 100, .end = 50};
	assert_false(aif_ze_times(&t, 100, 64, &start, &end));
}

/* ---- zebin ---- */

struct found {
	char names[256];
	uint64_t sizes;
	const uint8_t *lo, *hi;
};

static void note(void *arg, const char *name, size_t len, uint64_t size)
{
	struct found *f = arg;

	assert_true((const uint8_t *)name >= f->lo && (const uint8_t *)name + len <= f->hi);
	if (strlen(f->names) + len + 2 < sizeof(f->names)) {
		strncat(f->names, name, len);
		strcat(f->names, " ");
	}
	f->sizes += size;
}

static const char strings[] = "\0.text.mm\0.text.add\0.strtab\0.text.\0.data";

static size_t make(uint8_t *out)
{
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shoff = sizeof(h) + 64,
			.e_shnum = 6,
			.e_shstrndx = 3};
	const Elf64_Shdr s[6] = {
		{0},
		{.sh_type = SHT_PROGBITS, .sh_name = 1, .sh_size = 832},
		{.sh_type = SHT_PROGBITS, .sh_name = 10, .sh_size = 64},
		{.sh_type = SHT_STRTAB,
		 .sh_name = 20,
		 .sh_offset = sizeof(h),
		 .sh_size = sizeof(strings)},
		{.sh_type = SHT_PROGBITS, .sh_name = 28, .sh_size = 5}, /* no name */
		{.sh_type = SHT_PROGBITS, .sh_name = 35, .sh_size = 5}};

	memcpy(out, &h, sizeof(h));
	memset(out + sizeof(h), 0, 64);
	memcpy(out + sizeof(h), strings, sizeof(strings));
	memcpy(out + h.e_shoff, s, sizeof(s));
	return h.e_shoff + sizeof(s);
}

static void kernels_of_a_zebin(void **state)
{
	uint8_t bytes[1024];
	size_t n = make(bytes);
	struct found f = {.lo = bytes, .hi = bytes + n};

	(void)state;
	assert_int_equal(aif_ze_texts(bytes, n, note, &f), 2);
	assert_string_equal(f.names, "mm add ");
	assert_int_equal(f.sizes, 896);
	assert_int_equal(aif_ze_texts((const uint8_t *)"not an ELF file", 15, note, &f), 0);
}

/* Each length, and each byte wrong: nothing outside of it is looked at (ASan sees to that). */
static void zebins_that_lie(void **state)
{
	uint8_t bytes[1024];
	size_t n = make(bytes);

	(void)state;
	for (size_t len = 0; len < n; len++) {
		uint8_t *cut = malloc(len ? len : 1);
		struct found f = {.lo = cut, .hi = cut + len};

		assert_non_null(cut);
		memcpy(cut, bytes, len);
		(void)aif_ze_texts(cut, len, note, &f);
		free(cut);
	}
	for (size_t i = 0; i < n; i++)
		for (int v = 0; v < 256; v += 51) {
			uint8_t *wrong = malloc(n);
			struct found f = {.lo = wrong, .hi = wrong + n};

			assert_non_null(wrong);
			memcpy(wrong, bytes, n);
			wrong[i] = (uint8_t)v;
			(void)aif_ze_texts(wrong, n, note, &f);
			free(wrong);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(level_zero_device_types_become_kinds_and_units),
		cmocka_unit_test(places_on_the_bus),
		cmocka_unit_test(kinds_of_memory_give_the_kind_of_a_copy),
		cmocka_unit_test(level_zero_groups_become_grid_and_block),
		cmocka_unit_test(counters_come_around),
		cmocka_unit_test(timer_ticks_become_nanoseconds),
		cmocka_unit_test(timestamps_that_wrap_or_were_not_written_are_told),
		cmocka_unit_test(kernels_of_a_zebin),
		cmocka_unit_test(zebins_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
