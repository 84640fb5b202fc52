/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/symbolize.h"

#include "fixture_build.h"

#include <fcntl.h>

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
	"asm(\".globl came_back\\n.type edge, @function\\nedge:\\n nop\\n.size edge, . - edge\\n\"\n"
	"    \".cfi_startproc simple\\n.cfi_signal_frame\\n nop\\ncame_back:\\n nop\\n nop\\n\"\n"
	"    \".cfi_endproc\\n\");\n"
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

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
{
	(void)state;
	fixture_finish(&fx);
	return 0;
}

static inline struct aif_symbols *open_module(const char *name)
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

static inline const char *name_at(struct aif_symbols *s, uint64_t address)
{
	struct aif_symbol symbols[MAX_LEVELS];

	assert_true(aif_symbols_resolve(s, MODULE, address, symbols, MAX_LEVELS) >= 1);
	return symbols[0].name;
}

static inline uint64_t address_of(const char *mangled)
{
	char *text = fixture_run(&fx, "nm fix | grep ' %s$'", mangled);
	uint64_t at = strtoull(text, NULL, 16);

	free(text);
	return at;
}
