/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbolize/symbolize.h"

#include "symbolize/elf_image.h"

#include "fixture_build.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

/* Files that keep whoever reads them busy, or lead him elsewhere. */

enum { MODULE = 7, MAX_LEVELS = 32 };

static struct fixture fx;

static int set_up(void **state)
{
	static const char source[] = "int plain(int x) { return x * 3; }\n";

	(void)state;
	fixture_init(&fx);
	fixture_write(&fx, "fix.c", source, strlen(source));
	free(fixture_run(&fx, "cc -O1 -g -shared -fPIC fix.c -o fix"));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_finish(&fx);
	return 0;
}

static struct aif_symbols *open_module(const char *name)
{
	struct aif_symbols *s;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", fx.dir, name);
	assert_int_equal(aif_symbols_new(&s), 0);
	assert_int_equal(aif_symbols_debug_dir(s, "/nonexistent"), 0);
	assert_int_equal(
		aif_symbols_module(s, MODULE, open(path, O_RDONLY | O_CLOEXEC), path, NULL), 0);
	return s;
}

static uint64_t address_of(const char *file, const char *function)
{
	char *text = fixture_run(&fx, "nm %s | sed -n 's/ T %s//p'", file, function);
	uint64_t at = strtoull(text, NULL, 16);

	free(text);
	assert_true(at > 0);
	return at;
}

static const char *name_at(struct aif_symbols *s, uint64_t address)
{
	static struct aif_symbol symbols[MAX_LEVELS];

	assert_true(aif_symbols_resolve(s, MODULE, address, symbols, MAX_LEVELS) >= 1);
	return symbols[0].name;
}

/* A function whose name is in another file, as dwz leaves it: an abbreviation's form 0x1f20. */
static const char shared_name[] =
	".text\n.globl lonely\n.type lonely,%%function\nlonely: nop\nnop\nret\n.Lend:\n"
	".size lonely,.-lonely\n"
	".section .debug_abbrev,\"\",%%progbits\n.uleb128 1,0x11\n.byte 1\n"
	".uleb128 0x11,1,0x12,7,0,0\n.uleb128 2,0x2e\n.byte 0\n"
	".uleb128 0x11,1,0x12,7,0x31,0x1f20,0,0\n.byte 0\n"
	".section .debug_info,\"\",%%progbits\n.long .Lstop-.Lstart\n.Lstart: .short 4\n"
	".long 0\n.byte 8\n.uleb128 1\n.quad lonely,.Lend-lonely\n.uleb128 2\n"
	".quad lonely,.Lend-lonely\n.long 11\n.byte 0\n.Lstop:\n"
	".section .gnu_debugaltlink,\"\",%%progbits\n.asciz \"%s/fifo\"\n.quad 1,2\n.long 3\n";

/* The alternate file that such a file names is a path of a program's: at a FIFO the reader would wait for ever. */
static void a_file_does_not_say_what_is_opened(void **state)
{
	struct aif_symbols *s;
	char text[2048];
	uint64_t at;

	(void)state;
	snprintf(text, sizeof(text), shared_name, fx.dir);
	fixture_write(&fx, "alt.s", text, strlen(text));
	free(fixture_run(&fx,
			 "mkfifo fifo && cc -shared -nostdlib -Wl,--build-id=none alt.s -o alt"));
	at = address_of("alt", "lonely");
	s = open_module("alt");
	alarm(60);
	assert_string_equal(name_at(s, at), "lonely");
	alarm(0);
	aif_symbols_free(s);
}

/* Names asked for after a cancellation are not read from files. */
static void names_can_be_cancelled(void **state)
{
	struct aif_symbols *s = open_module("fix");
	uint64_t at = address_of("fix", "plain");
	atomic_bool cancel = false;
	char made_up[64];

	(void)state;
	aif_symbols_cancel_by(s, &cancel);
	assert_string_equal(name_at(s, at), "plain");
	assert_false(aif_symbols_is_slow(s, MODULE));
	atomic_store(&cancel, true);
	snprintf(made_up, sizeof(made_up), "[fix+0x%" PRIx64 "]", at);
	name_at(s, at); /* meets it */
	assert_string_equal(name_at(s, at), made_up);
	assert_true(aif_symbols_is_slow(s, MODULE));
	aif_symbols_free(s);
}

/* 800 s of CPU time to be summed up, in a file that takes no room. */
static void a_file_has_its_time(void **state)
{
	struct aif_effort effort = {.limit_ns = AIF_NS_PER_S / 100};
	struct aif_elf elf;
	uint8_t block[4096];
	char path[PATH_MAX];
	uint64_t reads = 0;

	(void)state;
	free(fixture_run(&fx, "cp fix sparse && truncate -s 100G sparse"));
	snprintf(path, sizeof(path), "%s/sparse", fx.dir);
	assert_int_equal(aif_elf_init(&elf, open(path, O_RDONLY | O_CLOEXEC), 0), 0);
	elf.effort = &effort;
	aif_effort_begin(&effort);
	while (aif_elf_read(&elf, reads * sizeof(block), block, sizeof(block)) == 0)
		reads++;
	aif_effort_end(&effort);
	assert_int_equal(aif_elf_read(&elf, 0, block, 1), -ETIMEDOUT);
	assert_true(reads > 0);
	assert_true(reads * sizeof(block) < elf.size / 2);
	assert_true(effort.used_ns >= effort.limit_ns);
	aif_elf_finish(&elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_does_not_say_what_is_opened),
		cmocka_unit_test(names_can_be_cancelled),
		cmocka_unit_test(a_file_has_its_time),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
