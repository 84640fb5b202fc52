/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/device_names.h"
#include "base/hash.h"
#include "base/reasons.h"
#include "profile/model.h"
#include "wire/handshake.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* after those */
#include <cmocka.h>

#include "fixture_cubin.h"
#include "fixture_zebin.h"

/* Objects that a target has left, and what else may lie there. */
#define HASH UINT64_C(0xabcdef0123456789)

struct world {
	char path[64];
	int dir;
	struct aif_device_names *names;
	struct aif_symbol sym[8];
	uint32_t loss;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->path, "/tmp/aiflame-objects-XXXXXX");
	assert_non_null(mkdtemp(w->path));
	w->dir = open(w->path, O_RDONLY | O_DIRECTORY);
	assert_true(w->dir >= 0);
	assert_int_equal(aif_device_names_new(w->dir, NULL, false, &w->names), 0);
	*state = w;
	return 0;
}

static void object_name(uint64_t hash, char name[AIF_OBJECT_NAME_MAX])
{
	snprintf(name, AIF_OBJECT_NAME_MAX, AIF_OBJECT_NAME, hash);
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char name[AIF_OBJECT_NAME_MAX];

	aif_device_names_free(w->names);
	for (uint64_t hash = HASH; hash < HASH + 8; hash++) {
		object_name(hash, name);
		unlinkat(w->dir, name, 0);
	}
	unlinkat(w->dir, "other", 0);
	close(w->dir);
	assert_int_equal(rmdir(w->path), 0);
	free(w);
	return 0;
}

static void leave(struct world *w, const char *name, const void *bytes, size_t n)
{
	int fd = openat(w->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static void leave_golden(struct world *w, const char *name)
{
	struct aif_buf bytes = {0};

	golden_cubin("kernels_sm90a", &bytes);
	leave(w, name, bytes.data, bytes.len);
	aif_buf_finish(&bytes);
}

static void know(struct world *w, uint32_t module, const char *name, uint64_t hash, uint32_t symbol)
{
	struct aif_modfile file = {.module = module,
				   .fd = -1,
				   .function = strdup(name),
				   .object = hash,
				   .symbol = symbol};

	aif_device_names_add(w->names, &file);
	aif_modfile_finish(&file);
}

static int resolve(struct world *w, uint32_t module, uint64_t address)
{
	return aif_device_names_resolve(w->names, module, address, w->sym, AIF_ARRAY_LEN(w->sym),
					&w->loss);
}

static void names_lines_and_code_come_from_the_object(void **state)
{
	struct world *w = *state;
	char name[AIF_OBJECT_NAME_MAX];
	struct aif_device_code code;

	object_name(HASH, name);
	leave_golden(w, name);
	know(w, 0, "_Z5chainPfPKfi", HASH, 19);
	know(w, 1, "_Z5callsPfPKfi", HASH, 1); /* a wrong number: found by its name */
	assert_int_equal(resolve(w, 0, 0xc0), 3);
	assert_int_equal(w->loss, AIF_NONE);
	assert_string_equal(w->sym[0].name, "chain(float*, float const*, int)");
	assert_string_equal(w->sym[2].name, "inner(float const*, int)");
	assert_string_equal(w->sym[2].file, "/src/aiflame/kernels.cu");
	assert_int_equal(w->sym[2].line, 13);
	assert_int_equal(resolve(w, 1, 0x100), 1);
	assert_string_equal(w->sym[0].name, "apart(float, int)"); /* in the kernel's section */
	assert_int_equal(aif_device_names_code(w->names, 1, &code), 0);
	assert_string_equal(code.name, "calls(float*, float const*, int)");
	assert_string_equal(code.arch, "sm_90");
	assert_int_equal(code.size, 1408);
}

static void without_an_object_the_name_is_left(void **state)
{
	struct world *w = *state;
	struct aif_device_code code;

	know(w, 0, "_Z1fv", HASH, 3);
	know(w, 1, "_Z1gv", 0, 3);
	assert_int_equal(resolve(w, 0, 16), 1);
	assert_string_equal(w->sym[0].name, "f()");
	assert_int_equal(w->loss, AIF_REASON_NO_CODE);
	assert_int_equal(resolve(w, 0, 32), 1);
	assert_int_equal(w->loss, AIF_NONE); /* said once */
	assert_int_equal(resolve(w, 1, 16), 1);
	assert_int_equal(w->loss, AIF_REASON_NO_CODE);
	assert_int_equal(aif_device_names_code(w->names, 0, &code), -ENOENT);
	assert_int_equal(resolve(w, 2, 16), -ENOENT);
}

static void objects_of_other_users_are_what_their_names_say(void **state)
{
	struct world *w = *state;
	struct aif_object_dirs others = {.len = 1, .fd = {w->dir}};
	char name[AIF_OBJECT_NAME_MAX], changed[AIF_OBJECT_NAME_MAX];
	struct aif_buf bytes = {0};
	uint64_t hash;

	golden_cubin("kernels_sm90a", &bytes);
	hash = aif_hash_bytes(bytes.data, bytes.len);
	object_name(hash, name);
	object_name(HASH, changed);
	leave(w, name, bytes.data, bytes.len);
	leave(w, changed, bytes.data, bytes.len);
	aif_buf_finish(&bytes);
	aif_device_names_free(w->names);
	assert_int_equal(aif_device_names_new(-1, &others, false, &w->names), 0);
	know(w, 0, "_Z5chainPfPKfi", hash, 19);
	know(w, 1, "_Z5chainPfPKfi", HASH, 19);
	assert_int_equal(resolve(w, 0, 0xc0), 3);
	assert_int_equal(w->loss, AIF_NONE);
	assert_int_equal(resolve(w, 1, 0xc0), 1);
	assert_int_equal(w->loss, AIF_REASON_NO_CODE);
	unlinkat(w->dir, name, 0);
}

/* Returns the state of aif_hash_bytes() when it has taken the last of these words. */
static uint64_t mixed_last(const uint8_t *bytes, size_t len)
{
	uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15), w;

	for (size_t i = 0; i < len; i += 8) {
		memcpy(&w, bytes + i, 8);
		h = (i + 8 < len ? aif_mix64(h ^ le64toh(w)) + UINT64_C(0x9e3779b97f4a7c15)
				 : h ^ le64toh(w));
	}
	return h;
}

static void objects_of_one_name_that_differ_are_not_read(void **state)
{
	struct world *w = *state;
	struct aif_object_dirs others = {.len = 2, .fd = {w->dir}};
	char name[AIF_OBJECT_NAME_MAX], second[] = "/tmp/aiflame-objects-XXXXXX";
	struct aif_buf bytes = {0};
	int first = w->dir;
	uint64_t hash, mixed;

	assert_non_null(mkdtemp(second));
	others.fd[1] = open(second, O_RDONLY | O_DIRECTORY);
	golden_cubin("kernels_sm90a", &bytes);
	while (bytes.len % 8 || bytes.len < 16)
		aif_buf_putc(&bytes, 0);
	for (unsigned i = 0; i < 16; i++)
		aif_buf_putc(&bytes, 0);
	hash = aif_hash_bytes(bytes.data, bytes.len);
	object_name(hash, name);
	leave(w, name, bytes.data, bytes.len);
	aif_device_names_free(w->names);
	assert_int_equal(aif_device_names_new(-1, &others, false, &w->names), 0);
	know(w, 0, "_Z5chainPfPKfi", hash, 19);
	assert_int_equal(resolve(w, 0, 0xc0), 3);
	mixed = mixed_last(bytes.data, bytes.len);
	bytes.data[bytes.len - 16] = 1;
	/* The last word makes up for the difference. */
	memset(bytes.data + bytes.len - 8, 0, 8);
	mixed = htole64(mixed ^ mixed_last(bytes.data, bytes.len));
	memcpy(bytes.data + bytes.len - 8, &mixed, 8);
	assert_true(aif_hash_bytes(bytes.data, bytes.len) == hash);
	w->dir = others.fd[1];
	leave(w, name, bytes.data, bytes.len);
	w->dir = first;
	aif_device_names_free(w->names);
	assert_int_equal(aif_device_names_new(-1, &others, false, &w->names), 0);
	know(w, 0, "_Z5chainPfPKfi", hash, 19);
	assert_int_equal(resolve(w, 0, 0xc0), 1);
	assert_int_equal(w->loss, AIF_REASON_NO_CODE);
	unlinkat(first, name, 0);
	unlinkat(others.fd[1], name, 0);
	close(others.fd[1]);
	rmdir(second);
	aif_buf_finish(&bytes);
}

static void code_that_was_there_before_us_is_told_apart(void **state)
{
	struct world *w = *state;
	char name[AIF_OBJECT_NAME_MAX];

	aif_device_names_free(w->names);
	assert_int_equal(aif_device_names_new(w->dir, NULL, true, &w->names), 0);
	know(w, 0, "_Z1fv", HASH, 3);
	assert_int_equal(resolve(w, 0, 16), 1);
	assert_int_equal(w->loss, AIF_REASON_CODE_BEFORE);
	/* Code that came later, and lacks that function. */
	object_name(HASH + 1, name);
	leave_golden(w, name);
	know(w, 1, "_Z1gv", HASH + 1, 3);
	assert_int_equal(resolve(w, 1, 16), 1);
	assert_int_equal(w->loss, AIF_REASON_NO_CODE);
}

static void places_in_code_for_intel_are_named(void **state)
{
	static const uint8_t patchtokens[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 4, 0xff};
	const struct fake_zebin how = {.dwarf = 4, .has_two = true, .family = 1271};
	struct world *w = *state;
	struct aif_buf zebin = {0};
	char name[AIF_OBJECT_NAME_MAX];
	struct aif_device_code code;

	fake_zebin(&zebin, &how);
	object_name(HASH, name);
	leave(w, name, zebin.data, zebin.len);
	aif_buf_finish(&zebin);
	object_name(HASH + 1, name);
	leave(w, name, patchtokens, sizeof(patchtokens));
	know(w, 0, "first", HASH, AIF_WIRE_SYMBOL_BY_NAME);
	know(w, 1, "second", HASH, AIF_WIRE_SYMBOL_BY_NAME);
	know(w, 2, "old", HASH + 1, AIF_WIRE_SYMBOL_BY_NAME);
	assert_int_equal(resolve(w, 1, 64), 2);
	assert_int_equal(w->loss, AIF_NONE);
	assert_string_equal(w->sym[0].name, "second");
	assert_int_equal(w->sym[0].line, 27);
	assert_string_equal(w->sym[1].name, "helper");
	assert_string_equal(w->sym[1].file, "/src/k.cl");
	assert_int_equal(w->sym[1].line, 21);
	assert_int_equal(aif_device_names_code(w->names, 0, &code), 0);
	assert_string_equal(code.name, "first");
	assert_string_equal(code.arch, "xe_hpc");
	assert_int_equal(code.size, ZEBIN_KERNEL_SIZE);
	assert_int_equal(resolve(w, 2, 64), 1);
	assert_string_equal(w->sym[0].name, "old");
	assert_int_equal(w->loss, AIF_REASON_CODE_FORMAT);
	assert_int_equal(resolve(w, 2, 72), 1);
	assert_int_equal(w->loss, AIF_NONE);

	fake_zebin(&zebin, &(struct fake_zebin){.has_two = true});
	object_name(HASH + 2, name);
	leave(w, name, zebin.data, zebin.len);
	aif_buf_finish(&zebin);
	know(w, 3, "first", HASH + 2, AIF_WIRE_SYMBOL_BY_NAME);
	know(w, 4, "second", HASH + 2, AIF_WIRE_SYMBOL_BY_NAME);
	assert_int_equal(resolve(w, 3, 0), 1);
	assert_int_equal(w->loss, AIF_REASON_CODE_NO_LINES);
	assert_string_equal(w->sym[0].name, "first");
	assert_int_equal(w->sym[0].line, 0);
	assert_int_equal(resolve(w, 4, 0), 1);
	assert_int_equal(w->loss, AIF_NONE); /* said once of an object */
}

static void an_object_is_given_whole_and_once(void **state)
{
	static const uint8_t patchtokens[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 4, 0xff};
	struct world *w = *state;
	char name[AIF_OBJECT_NAME_MAX];
	uint8_t *bytes;
	size_t size;

	object_name(HASH, name);
	leave(w, name, patchtokens, sizeof(patchtokens)); /* not read, but known */
	object_name(HASH + 1, name);
	leave_golden(w, name);
	object_name(HASH + 2, name);
	leave(w, name, "no device code", 14);
	know(w, 0, "old", HASH, AIF_WIRE_SYMBOL_BY_NAME);
	know(w, 1, "_Z5chainPfPKfi", HASH + 1, 19);
	know(w, 2, "_Z5callsPfPKfi", HASH + 1, 18);
	know(w, 3, "_Z1fv", HASH + 2, 1);
	know(w, 4, "_Z1fv", 0, 1);
	assert_int_equal(aif_device_names_binary(w->names, 0, true, &bytes, &size), 0);
	assert_int_equal(size, sizeof(patchtokens));
	assert_memory_equal(bytes, patchtokens, size);
	free(bytes);
	assert_int_equal(aif_device_names_binary(w->names, 1, false, &bytes, &size), 0);
	assert_true(size > 1408 && !memcmp(bytes, "\177ELF", 4));
	free(bytes);
	for (uint32_t i = 1; i < 6; i++) /* given, no device code, no object, no function */
		assert_int_equal(aif_device_names_binary(w->names, i, true, &bytes, &size),
				 -ENOENT);
}

static void what_is_no_object_is_not_read(void **state)
{
	struct world *w = *state;
	char name[AIF_OBJECT_NAME_MAX], huge[AIF_OBJECT_NAME_MAX];
	int fd;

	leave_golden(w, "other");
	object_name(HASH, name);
	assert_int_equal(symlinkat("other", w->dir, name), 0);
	object_name(HASH + 1, name);
	assert_int_equal(linkat(w->dir, "other", w->dir, name, 0), 0);
	object_name(HASH + 2, name);
	assert_int_equal(mkfifoat(w->dir, name, 0600), 0);
	object_name(HASH + 3, huge);
	leave_golden(w, huge);
	fd = openat(w->dir, huge, O_WRONLY);
	assert_int_equal(ftruncate(fd, (off_t)AIF_OBJECT_MAX + 1), 0);
	close(fd);
	object_name(HASH + 4, name);
	leave(w, name, "", 0);
	object_name(HASH + 5, name);
	leave(w, name, "\177ELF", 4);
	for (uint32_t i = 0; i < 6; i++) {
		know(w, i, "_Z5chainPfPKfi", HASH + i, 19);
		assert_int_equal(resolve(w, i, 0xc0), 1);
		assert_int_equal(w->loss, AIF_REASON_NO_CODE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_lines_and_code_come_from_the_object, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_an_object_the_name_is_left, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(objects_of_other_users_are_what_their_names_say,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(objects_of_one_name_that_differ_are_not_read,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_that_was_there_before_us_is_told_apart, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(places_in_code_for_intel_are_named, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_object_is_given_whole_and_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_object_is_not_read, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
