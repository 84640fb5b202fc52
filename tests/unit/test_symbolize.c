/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbolize/symbolize.h"

#include "base/demangle.h"
#include "symbolize/dwarf.h"

#include "fixture_build.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Functions inlined into each other over several files and scopes, overloads, templates, a lambda, a
 * local class, static and anonymous ones, calls through the PLT, assembly labels without size. */
static const char header[] = "#pragma once\n"
			     "static inline int twice(int x)\n"
			     "{\n"
			     "	int r = x;\n"
			     "	for (int i = 0; i < x; i++)\n"
			     "		r += x * r ^ i;\n"
			     "	return r;\n"
			     "}\n"
			     "template <class T> inline T cube(T x)\n"
			     "{\n"
			     "	T y = x * x;\n"
			     "	if (y > 100)\n"
			     "		y += (T)twice((int)x);\n"
			     "	return y * x;\n"
			     "}\n";
static const char source[] =
	"#include \"inl.h\"\n"
	"#include <cstdio>\n"
	"#include <cstdlib>\n"
	"#include <cmath>\n"
	"#include <map>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"#define KEEP __attribute__((noinline, noclone))\n"
	"namespace { KEEP int hidden(int x) { return cube(x) + rand(); } }\n"
	"namespace deep { namespace er {\n"
	"struct Shape { int side; KEEP int area(int k) const; KEEP static Shape make(int s); };\n"
	"int Shape::area(int k) const\n"
	"{\n"
	"	int a = cube(side);\n"
	"	return a * k + twice(k);\n"
	"}\n"
	"Shape Shape::make(int s) { return Shape{abs(s) + twice(s)}; }\n"
	"template <class T, int N> KEEP T sum(const T (&v)[N])\n"
	"{\n"
	"	T r{};\n"
	"	for (const T &x : v)\n"
	"		r += cube(x);\n"
	"	return r;\n"
	"}\n"
	"}}\n"
	"KEEP int overloaded(int x) { return twice(x) + 1; }\n"
	"KEEP int overloaded(double x) { return (int)sqrt(x + rand()) + 2; }\n"
	"KEEP int overloaded(const std::string &s) { return (int)s.size() + twice((int)s.size()); }\n"
	"volatile int n_global = 3;\n"
	"KEEP static int lambdas(int n)\n"
	"{\n"
	"	auto f = [n](int k) KEEP -> int { return cube(k) + n; };\n"
	"	struct Local { KEEP int go(int k) { return twice(k) * k; } } l;\n"
	"	auto inlined = [](int k) { return twice(k) - n_global; };\n"
	"	return f(n) + l.go(n) + inlined(n + 1);\n"
	"}\n"
	"extern \"C\" KEEP int plain(int x) { if (x > 1000) abort(); return hidden(x); }\n"
	"asm(\".text\\n.globl bare\\nbare:\\n nop\\n nop\\n ret\\nbare2:\\n nop\\n ret\\n\");\n"
	"extern \"C\" void bare();\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	std::map<std::string, std::vector<int>> m;\n"
	"	int a[4] = {argc, 2, 3, 4};\n"
	"	double d[3] = {1.5, 2.5, (double)argc};\n"
	"	m[argv[0]].push_back(plain(argc));\n"
	"	m[\"b\"].push_back(overloaded(argc) + overloaded(1.5 * argc) + overloaded(argv[0]));\n"
	"	bare();\n"
	"	printf(\"%d\\n\", deep::er::Shape::make(argc).area(3) + deep::er::sum(a) +\n"
	"	       (int)deep::er::sum(d) + lambdas(argc) + (int)m.size());\n"
	"	return 0;\n"
	"}\n";

enum { MODULE = 7, MAX_LEVELS = 32 };

static struct fixture fx;

static int set_up(void **state)
{
	(void)state;
	fixture_init(&fx);
	fixture_write(&fx, "inl.h", header, strlen(header));
	fixture_write(&fx, "fix.cc", source, strlen(source));
	free(fixture_run(&fx,
			 "c++ -O2 -g -fcf-protection=none -Wl,--build-id=sha1 -Wl,-z,lazy fix.cc "
			 "-o fix"));
	free(fixture_run(&fx, "strip -o stripped fix"));
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
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fx.dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(aif_symbols_new(&s), 0);
	assert_int_equal(aif_symbols_debug_dir(s, "/nonexistent"), 0);
	assert_int_equal(aif_symbols_module(s, MODULE, fd, path, NULL), 0);
	return s;
}

static const char *name_at(struct aif_symbols *s, uint64_t address)
{
	struct aif_symbol symbols[MAX_LEVELS];

	assert_true(aif_symbols_resolve(s, MODULE, address, symbols, MAX_LEVELS) >= 1);
	return symbols[0].name;
}

/* Addresses of functions as nm gives them. */
struct function {
	uint64_t start, size;
	char *name; /* mangled */
};
static size_t functions_of(const char *file, struct function **ret)
{
	char *text = fixture_run(&fx, "nm -S --defined-only %s", file), *save = NULL;
	size_t n = 0, cap = 0;

	*ret = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct function f;
		char type, name[4096];

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %4095s", &f.start, &f.size, &type,
			   name) != 4 ||
		    !strchr("tTwWi", type))
			continue;
		assert_int_equal(aif_grow(ret, &cap, n + 1, sizeof(**ret)), 0);
		f.name = strdup(name);
		(*ret)[n++] = f;
	}
	free(text);
	assert_true(n > 20);
	return n;
}

static void functions_free(struct function *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(f[i].name);
	free(f);
}

static uint64_t address_of(const char *mangled)
{
	char *text = fixture_run(&fx, "nm fix | grep ' %s$'", mangled);
	uint64_t at = strtoull(text, NULL, 16);

	free(text);
	return at;
}

/* Every instruction (padding aside), our chain against addr2line's: same functions, files, lines. At
 * the first address of some blocks addr2line calls the innermost function by the symbol, though it
 * has its line right (llvm-symbolizer sides with us): such slips are counted apart. */
static void inline_chains_as_addr2line(void **state)
{
	char *dis = fixture_run(&fx, "objdump -d --no-show-raw-insn -j .text fix > dis; "
				     "grep -v -e nop -e xchg dis | "
				     "sed -n 's/^ *\\([0-9a-f]*\\):.*/\\1/p' > addresses; "
				     "addr2line -a -i -f -e fix < addresses > oracle; cat oracle");
	struct aif_symbols *s = open_module("fix");
	size_t addresses = 0, levels = 0, inlined = 0, wrong = 0, slips = 0;
	char *save = NULL, *line = strtok_r(dis, "\n", &save);

	(void)state;
	while (line) {
		struct aif_symbol sym[MAX_LEVELS];
		uint64_t address = strtoull(line, NULL, 16);
		int n = aif_symbols_resolve(s, MODULE, address, sym, MAX_LEVELS);
		char *first_name = NULL, *place;
		bool same = true;
		int level = 0;

		assert_true(n >= 1);
		while ((line = strtok_r(NULL, "\n", &save)) && strncmp(line, "0x", 2)) {
			const struct aif_symbol *mine = level < n ? &sym[n - 1 - level] : NULL;
			struct aif_buf demangled = {0};
			char expected[4096];
			unsigned number;

			first_name = line;
			place = strtok_r(NULL, "\n", &save);
			assert_non_null(place);
			place[strcspn(place, " ")] = 0; /* "(discriminator 3)" */
			number = (unsigned)strtoul(strrchr(place, ':') + 1, NULL, 10);
			aif_demangle(first_name, &demangled);
			snprintf(expected, sizeof(expected), "%s", aif_buf_str(&demangled));
			aif_buf_finish(&demangled);
			level++;
			if (place[0] != '/') /* no debug information: start files, assembly */
				continue;
			*strrchr(place, ':') = 0;
			levels++;
			if (!mine || mine->line != number || !mine->file ||
			    strcmp(mine->file, place))
				same = false;
			else if (n > 1 && level == 1 && !strcmp(expected, sym[0].name) &&
				 strcmp(expected, mine->name))
				slips++;
			else if (!strstr(mine->name, expected)) /* which may be a bare name */
				same = false;
			if (!same && wrong < 10)
				printf("%" PRIx64 " level %d: %s %s:%u, not %s %s:%u\n", address,
				       level - 1, expected, place, number,
				       mine ? mine->name : "nothing",
				       mine && mine->file ? mine->file : "?",
				       mine ? mine->line : 0);
		}
		if (level != n)
			same = false;
		addresses++;
		inlined += n > 1;
		wrong += !same;
	}
	printf("%zu addresses, %zu levels, %zu with inlined functions: %zu differ, %zu slips\n",
	       addresses, levels, inlined, wrong, slips);
	assert_true(addresses > 500);
	assert_true(inlined > 100);
	assert_int_equal(wrong, 0);
	assert_true(slips * 20 < addresses);
	free(dis);
	aif_symbols_free(s);
}

/* An inlined function without a linker's name is called by its scopes. */
static void inlined_lambda_has_scopes(void **state)
{
	struct aif_symbols *s = open_module("fix");
	uint64_t at = address_of("_ZL7lambdasi");
	size_t seen = 0;

	(void)state;
	for (uint64_t a = at; a < at + 100; a++) {
		struct aif_symbol sym[MAX_LEVELS];
		int n = aif_symbols_resolve(s, MODULE, a, sym, MAX_LEVELS);

		for (int i = 1; i < n; i++)
			if (strstr(sym[i].name, "operator()")) {
				assert_string_equal(sym[i].name, "lambdas::{lambda}::operator()");
				assert_string_equal(sym[0].name, "lambdas(int)");
				seen++;
			}
	}
	assert_true(seen > 0);
	aif_symbols_free(s);
}

static void names_as_cxxfilt(void **state)
{
	struct aif_symbols *s = open_module("fix");
	struct function *f;
	size_t n = functions_of("fix", &f), same = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		char *expected = fixture_run(&fx, "c++filt '%.*s'", (int)strcspn(f[i].name, "@."),
					     f[i].name);

		expected[strcspn(expected, "\n")] = 0;
		if (f[i].size && !strcmp(name_at(s, f[i].start + f[i].size - 1), expected))
			same++;
		else /* constructors: C1 and C2 are one function, with one name */
			assert_string_equal(name_at(s, f[i].start), expected);
		free(expected);
	}
	assert_true(same > 20);
	functions_free(f, n);
	aif_symbols_free(s);
}

static void labels_without_size(void **state)
{
	struct aif_symbols *s = open_module("fix");
	char *text = fixture_run(&fx, "nm fix | grep ' bare'");
	uint64_t bare = strtoull(strstr(text, " T bare\n") - 16, NULL, 16), start, size;
	const char *name;

	(void)state;
	assert_string_equal(name_at(s, bare + 2), "bare");
	assert_string_equal(name_at(s, bare + 3), "bare2");
	assert_int_equal(aif_symbols_function(s, MODULE, bare + 1, &start, &size, &name), 0);
	assert_int_equal(start, bare);
	assert_int_equal(size, 3);
	free(text);
	aif_symbols_free(s);
}

/* A stripped file: every function goes by the start of its FDE. */
static void stripped_by_fde(void **state)
{
	struct aif_symbols *s = open_module("stripped");
	struct function *f;
	size_t n = functions_of("fix", &f), seen = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		char expected[64];
		struct aif_symbol sym[2];
		uint64_t start, size;
		const char *name;

		if (strncmp(f[i].name, "_Z", 2)) /* not what assembly defines */
			continue;
		snprintf(expected, sizeof(expected), "[stripped+0x%" PRIx64 "]", f[i].start);
		assert_int_equal(aif_symbols_resolve(s, MODULE, f[i].start + f[i].size / 2, sym, 2),
				 1);
		assert_string_equal(sym[0].name, expected);
		assert_false(sym[0].named);
		assert_null(sym[0].file);
		assert_int_equal(
			aif_symbols_function(s, MODULE, f[i].start + 1, &start, &size, &name), 0);
		assert_int_equal(start, f[i].start);
		assert_int_equal(size, f[i].size);
		seen++;
	}
	assert_true(seen > 10);
	/* nothing there at all */
	assert_string_equal(name_at(s, 0x123456789), "[stripped+0x123456789]");
	functions_free(f, n);
	aif_symbols_free(s);
}

static void plt_stubs(void **state)
{
	static const char *const flags[] = {"-fcf-protection=none -Wl,-z,lazy",
					    "-fcf-protection=full -Wl,-z,lazy -Wl,-z,ibtplt",
					    "-fcf-protection=none -fno-plt -Wl,-z,now"};
	size_t seen = 0;

	(void)state;
	for (size_t k = 0; k < AIF_ARRAY_LEN(flags); k++) {
		struct aif_symbols *s;
		char *text, *save = NULL;

		free(fixture_run(&fx, "c++ -O2 %s fix.cc -o plt && strip plt", flags[k]));
		text = fixture_run(&fx, "objdump -d plt | grep '@plt>:$' || true");
		s = open_module("plt");
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			uint64_t at = strtoull(line, NULL, 16);
			struct aif_buf expected = {0};
			char *name = strchr(line, '<') + 1;

			*strstr(name, "@plt>:") = 0;
			aif_demangle(name, &expected);
			aif_buf_puts(&expected, "@plt");
			assert_string_equal(name_at(s, at + 5), aif_buf_str(&expected));
			aif_buf_finish(&expected);
			seen++;
		}
		free(text);
		aif_symbols_free(s);
	}
	assert_true(seen > 20);
}

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

/* By build-id: all as if the file had its debug information; a file that is not its own is refused. */
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

/* A chain deeper than the caller's room keeps its outermost and its innermost functions. */
static void deep_chain_in_little_room(void **state)
{
	struct aif_symbols *s = open_module("fix");
	struct aif_symbol all[MAX_LEVELS], two[2];
	uint64_t at = address_of("_ZNK4deep2er5Shape4areaEi");
	size_t deep = 0;

	(void)state;
	for (uint64_t a = at; a < at + 200; a++) {
		int n = aif_symbols_resolve(s, MODULE, a, all, MAX_LEVELS);
		char inner[256];
		uint32_t line;

		if (n < 3)
			continue;
		snprintf(inner, sizeof(inner), "%s", all[n - 1].name);
		line = all[n - 1].line;
		assert_int_equal(aif_symbols_resolve(s, MODULE, a, two, 2), 2);
		assert_string_equal(two[1].name, inner);
		assert_int_equal(two[1].line, line);
		deep++;
	}
	assert_true(deep > 0);
	aif_symbols_free(s);
}

/* What was dropped to save memory is read again when asked for. */
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

static void code_of_a_function(void **state)
{
	struct aif_symbols *s = open_module("fix");
	uint64_t at = address_of("plain"), start, size;
	struct aif_buf code = {0};
	char *expected = fixture_run(&fx, "objdump -d fix --disassemble=plain | "
					  "sed -n 's/^ *[0-9a-f]*:\\t\\([0-9a-f ]*\\).*/\\1/p' | "
					  "tr -d ' \\n'");
	const char *name;

	(void)state;
	assert_int_equal(aif_symbols_function(s, MODULE, at + 1, &start, &size, &name), 0);
	assert_int_equal(start, at);
	assert_string_equal(name, "plain");
	assert_string_equal(aif_symbols_arch(s, MODULE), "x86_64");
	aif_buf_puts(&code, "head");
	assert_int_equal(aif_symbols_code(s, MODULE, start, size, &code), 0);
	assert_int_equal(code.len, 4 + size);
	assert_int_equal(strlen(expected), 2 * size);
	for (size_t i = 0; i < size; i++) {
		char hex[3];

		snprintf(hex, sizeof(hex), "%02x", code.data[4 + i]);
		assert_memory_equal(hex, expected + 2 * i, 2);
	}
	assert_int_equal(aif_symbols_code(s, MODULE, start, 1u << 30, &code), -E2BIG);
	assert_int_equal(aif_symbols_code(s, MODULE, 1u << 30, 8, &code), -ENODATA);
	assert_int_equal(code.len, 4 + size);
	aif_buf_finish(&code);
	free(expected);
	aif_symbols_free(s);
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

static void names_of_all_lengths(void **state)
{
	static const struct {
		const char *mangled, *plain;
	} cases[] = {
		{"main", "main"},
		{"_ZN1a1bIiEEvT_", "void a::b<int>(int)"},
		{"_ZN1a1bEv.cold", "a::b()"},
		{"foo.part.0", "foo"},
		{"foo.isra.0.constprop.12", "foo"},
		{"foo.llvm.1234567890123", "foo"},
		{"foo.cold.3", "foo"},
		{"a.b", "a.b"},
		{"version.2", "version.2"},
		{".hidden", ".hidden"},
		{"_Zfoo", "_Zfoo"},
		{"_ZN3std3fmt5write17h0123456789abcdefE", "std::fmt::write::h0123456789abcdef"},
		{"", ""},
		/* clang 18 and later write the declared types of template parameters */
		{"_Z13is_power_of_2IlTnNSt9enable_ifIXcvbsr3std11is_integralIT_EE5valueEiE4typeELi0EEbS1_",
		 "is_power_of_2<...>(...)"},
		{"_ZNSt4pairIllEC2IRKliTnNSt9enable_ifIXaaclsr5_PCCPE22_MoveConstructiblePairIT_T0_EE"
		 "clsr5_PCCPE30_ImplicitlyMoveConvertiblePairIS5_S6_EEEbE4typeELb1EEEOS5_OS6_.llvm.8143",
		 "std::pair<long, long>::pair<...>..."},
		{"_ZN4absl7debian218FormatSpecTemplateIJLi4EEEC2EUa9enable_ifIXLb1EEEPKc",
		 "absl::debian2::FormatSpecTemplate<4>::FormatSpecTemplate(...)"},
		{"_Z1fIiQ1CIT_EEvv", "f<...>(...)"},
		{"_ZNK1a1bITkSt8integraliE1cEv", "a::b<...>..."},
		{"_ZN3abcI", "abc<...>..."}, /* cut off */
		/* what is no name stays */
		{"_ZN3abc", "_ZN3abc"},
		{"_ZN3abcTn", "_ZN3abcTn"},
		{"_ZN3abI", "_ZN3abI"},
		{"_ZIE", "_ZIE"},
		{"_ZEEEEI", "_ZEEEEI"},
	};
	struct aif_buf out = {0};
	char *name;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		aif_buf_clear(&out);
		aif_demangle(cases[i].mangled, &out);
		assert_string_equal(aif_buf_str(&out), cases[i].plain);
	}
	/* Too long for the demangler: what can be read. */
	name = malloc(20100);
	strcpy(name, "_ZNK2at6nativeL3fooI");
	memset(name + strlen(name), 'i', 20000);
	strcpy(name + 20020, "EEvv");
	aif_buf_clear(&out);
	aif_demangle(name, &out);
	assert_string_equal(aif_buf_str(&out), "at::native::foo<...>(...)");
	free(name);
	/* f(A<int, int>, A<1, 1>, A<2, 2>, ...): each twice as long as the one before */
	aif_buf_clear(&out);
	name = malloc(1000);
	strcpy(name, "_Z1f1AIiiE");
	for (unsigned i = 0; i < 36; i++) {
		char c = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		sprintf(name + strlen(name), "S_IS%c_S%c_E", c, c);
	}
	aif_demangle(name, &out);
	assert_int_equal(out.len, AIF_NAME_MAX);
	aif_buf_clear(&out);
	aif_demangle_part(name, 100, &out);
	assert_int_equal(out.len, 100);
	free(name);
	aif_buf_finish(&out);
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
static void damaged_files(void **state)
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
		cmocka_unit_test(inline_chains_as_addr2line),
		cmocka_unit_test(inlined_lambda_has_scopes),
		cmocka_unit_test(names_as_cxxfilt),
		cmocka_unit_test(labels_without_size),
		cmocka_unit_test(stripped_by_fde),
		cmocka_unit_test(plt_stubs),
		cmocka_unit_test(separate_debug_file_by_build_id),
		cmocka_unit_test(separate_debug_file_by_link),
		cmocka_unit_test(another_build_of_the_file),
		cmocka_unit_test(deep_chain_in_little_room),
		cmocka_unit_test(dropped_debug_information_comes_back),
		cmocka_unit_test(code_of_a_function),
		cmocka_unit_test(vdso_from_memory),
		cmocka_unit_test(names_of_all_lengths),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(file_cut_short_while_open),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
