/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_records.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those */
#include <cmocka.h>

/* The layouts, written down a second time: bit by bit, as the table of the kernel's source has them. */
struct field {
	const char *name;
	unsigned at;
};
struct table {
	enum aif_xe_layout layout;
	unsigned ip_bits;
	struct field fields[10]; /* NULL: unused */
};
static const struct table tables[] = {
	{AIF_XE_LAYOUT_PVC,
	 29,
	 {{"active", 29},
	  {"other", 37},
	  {"control", 45},
	  {"pipestall", 53},
	  {"send", 61},
	  {"dist_acc", 69},
	  {"sbid", 77},
	  {"sync", 85},
	  {"inst_fetch", 93}}},
	{AIF_XE_LAYOUT_XE2,
	 29,
	 {{"tdr", 29},
	  {"other", 37},
	  {"control", 45},
	  {"pipestall", 53},
	  {"send", 61},
	  {"dist_acc", 69},
	  {"sbid", 77},
	  {"sync", 85},
	  {"inst_fetch", 93},
	  {"active", 101}}},
	{AIF_XE_LAYOUT_XE3P,
	 61,
	 {{"tdr", 61},
	  {"other", 69},
	  {"control", 77},
	  {"pipestall", 85},
	  {"send", 93},
	  {"dist_acc", 101},
	  {"sbid", 109},
	  {"sync", 117},
	  {"inst_fetch", 125},
	  {"active", 133}}},
};

static uint64_t bits(const uint8_t *r, unsigned at, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)(r[(at + i) / 8] >> (at + i) % 8 & 1) << i;
	return v;
}

static void set_bits(uint8_t *r, unsigned at, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++)
		if (v >> i & 1)
			r[(at + i) / 8] |= (uint8_t)(1u << (at + i) % 8);
}

static unsigned expected(const struct table *t, const uint8_t *r, const char *reason)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(t->fields); i++)
		if (t->fields[i].name && !strcmp(t->fields[i].name, reason))
			return (unsigned)bits(r, t->fields[i].at, 8);
	return 0;
}

static void random_bits_decode_as_the_table_says(void **state)
{
	uint8_t bytes[64 * AIF_XE_RECORD];
	struct aif_xe_record got[64];
	uint64_t random = 1;

	(void)state;
	for (size_t t = 0; t < AIF_ARRAY_LEN(tables); t++)
		for (unsigned round = 0; round < 1000; round++) {
			for (size_t i = 0; i < sizeof(bytes); i++)
				bytes[i] = (uint8_t)(random = aif_mix64(random + 1));
			aif_xe_decode(tables[t].layout, bytes, 64, got);
			for (size_t i = 0; i < 64; i++) {
				const uint8_t *r = bytes + i * AIF_XE_RECORD;

				assert_int_equal(got[i].ip, bits(r, 0, tables[t].ip_bits));
				for (unsigned k = 0; k < AIF_XE_REASONS; k++)
					assert_int_equal(
						aif_xe_count(&got[i], k),
						expected(&tables[t], r, aif_xe_reason_name(k)));
			}
		}
}

/* Sets one field at a time to its largest: nothing of it is read as another's. */
static void fields_do_not_touch(void **state)
{
	(void)state;
	for (size_t t = 0; t < AIF_ARRAY_LEN(tables); t++)
		for (size_t f = 0; f < AIF_ARRAY_LEN(tables[t].fields); f++) {
			const struct field *field = &tables[t].fields[f];
			uint8_t r[AIF_XE_RECORD] = {0};
			struct aif_xe_record got;
			unsigned sum = 0;

			if (!field->name)
				continue;
			set_bits(r, field->at, 8, 255);
			aif_xe_decode(tables[t].layout, r, 1, &got);
			assert_int_equal(got.ip, 0);
			for (unsigned k = 0; k < AIF_XE_REASONS; k++) {
				unsigned n = aif_xe_count(&got, k);

				sum += n;
				if (n)
					assert_string_equal(aif_xe_reason_name(k), field->name);
			}
			assert_int_equal(sum, 255);
		}
}

/* Flags behind the counts, and whatever the hardware leaves in the rest, are no counts. */
static void the_rest_is_not_counted(void **state)
{
	(void)state;
	for (size_t t = 0; t < AIF_ARRAY_LEN(tables); t++) {
		unsigned first = tables[t].ip_bits == 61 ? 141 : 109;
		uint8_t r[AIF_XE_RECORD] = {0};
		struct aif_xe_record got;

		set_bits(r, first, 64, UINT64_MAX);
		memset(r + 32, 0xff, 32);
		aif_xe_decode(tables[t].layout, r, 1, &got);
		assert_true(!got.ip && !got.low && !got.high);
	}
}

static void versions_have_layouts(void **state)
{
	static const struct {
		unsigned major, minor;
		enum aif_xe_layout layout;
	} cases[] = {
		{12, 60, AIF_XE_LAYOUT_PVC},  {12, 55, AIF_XE_LAYOUT_NONE},
		{12, 71, AIF_XE_LAYOUT_NONE}, {20, 1, AIF_XE_LAYOUT_XE2},
		{20, 4, AIF_XE_LAYOUT_XE2},   {30, 0, AIF_XE_LAYOUT_XE2},
		{35, 10, AIF_XE_LAYOUT_XE3P}, {0, 0, AIF_XE_LAYOUT_NONE},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
		assert_int_equal(aif_xe_layout(cases[i].major, cases[i].minor), cases[i].layout);
	assert_string_equal(aif_xe_reason_name(AIF_XE_REASONS), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_bits_decode_as_the_table_says),
		cmocka_unit_test(fields_do_not_touch),
		cmocka_unit_test(the_rest_is_not_counted),
		cmocka_unit_test(versions_have_layouts),
	};

	return cmocka_run_group_tests_name("xe_records", tests, NULL, NULL);
}
