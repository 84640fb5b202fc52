/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the files that symbols are read from: separate, replaced, damaged, in memory. */
#define _GNU_SOURCE
#include "fixture_symbolize.h"

#include "symbolize/debugdata.h"
#include "symbolize/dwarf.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static void expect_line(struct aif_symbols *s, uint64_t address, const char *name, bool line)
{
	struct aif_symbol sym[MAX_LEVELS];
	int n = aif_symbols_resolve(s, MODULE, address, sym, MAX_LEVELS);

	assert_true(n >= 1);
	assert_string_equal(sym[0].name, name);
	assert_true(line == (sym[0].line != 0));
	if (line)
		assert_non_null(strstr(sym[0].file, "fix.cc"));
}

/* A debug file found by build-id gives all as if the file had its debug information; one that is not its own is
 * refused. */
static void separate_debug_file_by_build_id(void **state)
{
	uint64_t at = address_of("_Z10overloadedd");
	char *id = fixture_run(&fx, "readelf -n fix | sed -n 's/.*Build ID: //p'"), dir[128];
	char made_up[64];
	struct aif_symbols *s;

	(void)state;
	id[strcspn(id, "\n")] = 0;
	snprintf(made_up, sizeof(made_up), "[stripped+0x%" PRIx64 "]", at);
	snprintf(dir, sizeof(dir), "%s/debug", fx.dir);
	free(fixture_run(&fx,
			 "mkdir -p debug/.build-id/%.2s && objcopy --only-keep-debug fix "
			 "debug/.build-id/%.2s/%s.debug",
			 id, id, id + 2));
	s = open_module("stripped");
	expect_line(s, at, made_up, false);
	aif_symbols_free(s);
	s = open_module("stripped");
	assert_int_equal(aif_symbols_debug_dir(s, dir), 0);
	expect_line(s, at, "overloaded(double)", true);
	aif_symbols_free(s);

	free(fixture_run(&fx,
			 "c++ -O1 -g -Wl,--build-id=sha1 fix.cc -o other && "
			 "objcopy --only-keep-debug other debug/.build-id/%.2s/%s.debug",
			 id, id + 2));
	s = open_module("stripped");
	assert_int_equal(aif_symbols_debug_dir(s, dir), 0);
	expect_line(s, at, made_up, false);
	aif_symbols_free(s);
	free(id);
}

/* Files that debuginfod's clients have fetched lie by build id. */
static void debug_file_that_debuginfod_has_fetched(void **state)
{
	uint64_t at = address_of("_Z10overloadedd");
	char *id = fixture_run(&fx, "readelf -n fix | sed -n 's/.*Build ID: //p'"), dir[128];
	struct aif_symbols *s;

	(void)state;
	id[strcspn(id, "\n")] = 0;
	free(fixture_run(
		&fx, "mkdir -p fetched/%s && objcopy --only-keep-debug fix fetched/%s/debuginfo",
		id, id));
	snprintf(dir, sizeof(dir), "%s/fetched", fx.dir);
	setenv("DEBUGINFOD_CACHE_PATH", dir, 1);
	s = open_module("stripped");
	expect_line(s, at, "overloaded(double)", true);
	aif_symbols_free(s);
	unsetenv("DEBUGINFOD_CACHE_PATH");
	snprintf(dir, sizeof(dir), "%s/home", fx.dir);
	free(fixture_run(&fx, "mkdir -p home/.cache && mv fetched home/.cache/debuginfod_client"));
	setenv("HOME", dir, 1);
	unsetenv("XDG_CACHE_HOME");
	s = open_module("stripped");
	expect_line(s, at, "overloaded(double)", true);
	aif_symbols_free(s);
	setenv("HOME", "/nonexistent", 1);
	free(id);
}

/* Fedora's stripped files keep the symbols that .dynsym lacks, compressed: made here as its build does. */
static void symbols_that_a_stripped_file_keeps(void **state)
{
	uint64_t at = address_of("_Z10overloadedd");
	struct aif_symbols *s;
	struct aif_elf elf, kept;
	char made_up[64], path[PATH_MAX];
	int r;

	(void)state;
	free(fixture_run(
		&fx,
		"nm -D fix --format=posix --defined-only | awk '{ print $1 }' | sort >dynsyms && "
		"nm fix --format=posix --defined-only | "
		"awk '{ if ($2 == \"T\" || $2 == \"t\") print $1 }' | sort >funcsyms && "
		"comm -13 dynsyms funcsyms >keep && objcopy --only-keep-debug fix fix.dbg && "
		"objcopy -S --remove-section .gdb_index --remove-section .comment "
		"--keep-symbols=keep fix.dbg mini && xz -k -f mini && "
		"objcopy --add-section .gnu_debugdata=mini.xz stripped with_mini"));
	snprintf(path, sizeof(path), "%s/with_mini", fx.dir);
	assert_int_equal(aif_elf_init(&elf, open(path, O_RDONLY), 0), 0);
	r = aif_debugdata_open(&elf, &kept);
	aif_elf_finish(&elf);
	if (r == -ENOSYS)
		skip(); /* built without liblzma */
	assert_int_equal(r, 0);
	aif_elf_finish(&kept);
	s = open_module("with_mini");
	expect_line(s, at, "overloaded(double)", false);
	aif_symbols_free(s);
	/* damaged: as if it had none */
	snprintf(made_up, sizeof(made_up), "[with_bad+0x%" PRIx64 "]", at);
	free(fixture_run(&fx,
			 "printf XXXX | dd of=mini.xz bs=1 seek=200 conv=notrunc 2>/dev/null && "
			 "objcopy --add-section .gnu_debugdata=mini.xz stripped with_bad"));
	s = open_module("with_bad");
	expect_line(s, at, made_up, false);
	aif_symbols_free(s);
	/* 100 MB of zeros */
	free(fixture_run(&fx, "head -c 100000000 /dev/zero | xz -1 >zeros.xz && "
			      "objcopy --add-section .gnu_debugdata=zeros.xz stripped with_bad"));
	s = open_module("with_bad");
	expect_line(s, at, made_up, false);
	aif_symbols_free(s);
}

static void separate_debug_file_by_link(void **state)
{
	uint64_t at = address_of("_Z10overloadedd");
	struct aif_symbols *s;
	char made_up[64];

	(void)state;
	snprintf(made_up, sizeof(made_up), "[linked+0x%" PRIx64 "]", at);
	free(fixture_run(&fx,
			 "objcopy --remove-section=.note.gnu.build-id fix noid && "
			 "mkdir -p .debug && objcopy --only-keep-debug --compress-debug-sections "
			 "noid .debug/noid.dbg && strip -o linked noid && "
			 "objcopy --add-gnu-debuglink=.debug/noid.dbg linked"));
	s = open_module("linked");
	expect_line(s, at, "overloaded(double)", true);
	aif_symbols_free(s);
	/* Root reads it for the file's owner, who may not. */
	if (geteuid() == 0) {
		free(fixture_run(
			&fx,
			"chmod 755 . .debug && chown 1001 linked && chmod 600 .debug/noid.dbg"));
		s = open_module("linked");
		expect_line(s, at, made_up, false);
		aif_symbols_free(s);
		free(fixture_run(&fx, "chown 0 linked"));
		s = open_module("linked");
		expect_line(s, at, "overloaded(double)", true);
		aif_symbols_free(s);
	}
	/* another file under that name: its checksum differs */
	free(fixture_run(&fx, "printf x >> .debug/noid.dbg"));
	s = open_module("linked");
	expect_line(s, at, made_up, false);
	aif_symbols_free(s);
	/* a FIFO under that name must not block */
	free(fixture_run(&fx, "rm .debug/noid.dbg && mkfifo .debug/noid.dbg"));
	s = open_module("linked");
	expect_line(s, at, made_up, false);
	aif_symbols_free(s);
}

static void another_build_of_the_file(void **state)
{
	struct aif_symbols *s;
	struct aif_symbol sym[4];
	struct aif_buf code = {0};
	uint64_t start, size;
	const char *name;
	char path[PATH_MAX];
	int null;

	(void)state;
	snprintf(path, sizeof(path), "%s/fix", fx.dir);
	assert_int_equal(aif_symbols_new(&s), 0);
	assert_int_equal(aif_symbols_module(s, 1, open(path, O_RDONLY), path, "0123456789abcdef"),
			 -ESTALE);
	assert_int_equal(aif_symbols_resolve(s, 1, 0x1234, sym, 4), 1);
	assert_string_equal(sym[0].name, "[fix+0x1234]");
	assert_int_equal(aif_symbols_function(s, 1, 0x1234, &start, &size, &name), -ENOENT);
	assert_int_equal(aif_symbols_code(s, 1, 0x1234, 4, &code), -ENOENT);
	assert_string_equal(aif_symbols_arch(s, 1), "");

	assert_int_equal(aif_symbols_module(s, 1, -1, path, NULL), -EEXIST);
	assert_int_equal(aif_symbols_module(s, 2, -1, "/a/libgone.so (deleted)", NULL), 0);
	assert_int_equal(aif_symbols_resolve(s, 2, 16, sym, 4), 1);
	assert_string_equal(sym[0].name, "[libgone.so+0x10]");
	null = open("/dev/null", O_RDONLY);
	assert_int_equal(aif_symbols_module(s, 3, null, NULL, NULL), -ENOEXEC);
	assert_int_equal(fcntl(null, F_GETFD), -1); /* taken */
	assert_int_equal(aif_symbols_resolve(s, 3, 16, sym, 4), 1);
	assert_string_equal(sym[0].name, "[unknown+0x10]");
	assert_int_equal(aif_symbols_resolve(s, 99, 16, sym, 4), -ENOENT);
	aif_symbols_free(s);
}

/* Debug information that was dropped to save memory is read again when asked for. */
static void dropped_debug_information_comes_back(void **state)
{
	uint64_t at = address_of("_Z10overloadedd");
	struct aif_dwarf_level level[AIF_DWARF_MAX_LEVELS];
	struct aif_dwarf *d;
	struct aif_elf elf;
	char path[PATH_MAX];
	size_t fresh, used;

	(void)state;
	snprintf(path, sizeof(path), "%s/fix", fx.dir);
	assert_int_equal(aif_elf_init(&elf, open(path, O_RDONLY | O_CLOEXEC), 0), 0);
	assert_int_equal(aif_dwarf_new(&elf, &d), 0);
	fresh = aif_dwarf_cached(d);
	for (unsigned round = 0; round < 2; round++) {
		assert_true(aif_dwarf_resolve(d, at, level, AIF_DWARF_MAX_LEVELS) >= 1);
		assert_string_equal(level[0].name, "_Z10overloadedd");
		assert_int_equal(level[0].line, 27);
		used = aif_dwarf_cached(d);
		assert_true(used > fresh);
		aif_dwarf_drop(d);
		assert_int_equal(aif_dwarf_cached(d), 0);
	}
	aif_dwarf_free(d);
	aif_elf_finish(&elf);
}

static void vdso_from_memory(void **state)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW);
	struct aif_symbols *s;
	struct aif_symbol sym[4];
	const uint8_t *fn;

	(void)state;
	if (!image || !vdso || !(fn = dlsym(vdso, "__vdso_clock_gettime")))
		skip();
	assert_int_equal(aif_symbols_new(&s), 0);
	assert_int_equal(aif_symbols_image(s, MODULE, image, 2 * 4096, "[vdso]"), 0);
	assert_int_equal(aif_symbols_resolve(s, MODULE, (uint64_t)(fn - image) + 1, sym, 4), 1);
	assert_string_equal(sym[0].name, "clock_gettime"); /* its plainer name */
	assert_int_equal(aif_symbols_resolve(s, MODULE, 0x10, sym, 4), 1);
	assert_string_equal(sym[0].name, "[vdso+0x10]");
	aif_symbols_free(s);
	dlclose(vdso);
}

/* Everything that is asked of a module, at addresses all over it. */
static void ask_everything(struct aif_symbols *s, size_t *asked)
{
	struct aif_symbol sym[MAX_LEVELS];
	struct aif_buf code = {0};
	uint64_t start, size;
	const char *name;

	for (uint64_t at = 0x1000; at < 0x5000; at += 97) {
		int n = aif_symbols_resolve(s, MODULE, at, sym, MAX_LEVELS);

		assert_true(n >= 1 || n == -ENOMEM);
		for (int i = 0; i < n; i++)
			*asked += strlen(sym[i].name) + (sym[i].file ? strlen(sym[i].file) : 0);
		if (aif_symbols_function(s, MODULE, at, &start, &size, &name) == 0) {
			assert_true(size > 0);
			aif_buf_clear(&code);
			aif_symbols_code(s, MODULE, start, size, &code);
		}
	}
	aif_buf_finish(&code);
}

/* Cut off and damaged files: any answer will do, but there must be one. Both as an image and as a
 * file, because elfutils has different ways for them. */
static void damaged_binaries_are_survived(void **state)
{
	size_t n, asked = 0;
	uint8_t *good = fixture_read(&fx, "fix", &n), *bad = malloc(n);
	uint64_t random = 0x9e3779b97f4a7c15;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		size_t len = n;
		struct aif_symbols *s;
		int fd;

		memcpy(bad, good, n);
		if (round % 4 == 0)
			len = n * (round / 4) / 100;
		for (unsigned k = 0; round % 4 && k < 1u << round % 11; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* one round in four: the headers and tables at both ends */
			bad[round % 4 == 1 ? (random & 1 ? random >> 8 & 0x3ff
							 : n - 1 - (random >> 8) % 4096)
					   : random % n] ^= 1u << (random >> 40 & 7);
		}
		assert_int_equal(aif_symbols_new(&s), 0);
		assert_int_equal(aif_symbols_debug_dir(s, "/nonexistent"), 0);
		fd = memfd_create("bad", MFD_CLOEXEC);
		assert_int_equal(write(fd, bad, len), len);
		if (round & 8)
			aif_symbols_image(s, MODULE, bad, len, "bad");
		else /* a hole at its end: too large to be kept in memory */
			assert_int_equal(ftruncate(fd, round & 16 ? (off_t)len : 1 << 20), 0);
		if (round & 8)
			close(fd);
		else
			aif_symbols_module(s, MODULE, fd, "bad", NULL);
		ask_everything(s, &asked);
		aif_symbols_free(s);
	}
	printf("%zu bytes of names\n", asked);
	assert_true(asked > 100000);
	free(bad);
	free(good);
}

/* A file cut short after it was opened: errors, not SIGBUS. */
static void file_cut_short_while_open(void **state)
{
	struct aif_symbols *s;
	size_t asked = 0;
	char path[PATH_MAX];

	(void)state;
	/* too large to be kept in memory */
	free(fixture_run(&fx, "cp fix shrink && truncate -s 1M shrink"));
	s = open_module("shrink");
	assert_non_null(strstr(name_at(s, address_of("_Z10overloadedd")), "overloaded"));
	snprintf(path, sizeof(path), "%s/shrink", fx.dir);
	assert_int_equal(truncate(path, 5000), 0);
	ask_everything(s, &asked);
	assert_true(asked > 0);
	aif_symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(separate_debug_file_by_build_id),
		cmocka_unit_test(debug_file_that_debuginfod_has_fetched),
		cmocka_unit_test(symbols_that_a_stripped_file_keeps),
		cmocka_unit_test(separate_debug_file_by_link),
		cmocka_unit_test(another_build_of_the_file),
		cmocka_unit_test(dropped_debug_information_comes_back),
		cmocka_unit_test(vdso_from_memory),
		cmocka_unit_test(damaged_binaries_are_survived),
		cmocka_unit_test(file_cut_short_while_open),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
