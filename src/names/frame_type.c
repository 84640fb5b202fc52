/* SPDX-License-Identifier: Apache-2.0 */
#include "names/frame_type.h"

#include "base/glob.h"

#include <string.h>

static bool module_is_api(const char *path)
{
	static const char *const patterns[] = {
#define AIF_API_MODULE(pattern) pattern,
#include "names/frame_type.def"
	};
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), file, strlen(file));
}

static bool function_is_api(const char *name, size_t len)
{
	static const char *const patterns[] = {
#define AIF_API_FUNCTION(pattern) pattern,
#include "names/frame_type.def"
	};

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), name, len);
}

/* A demangled C++ function has a scope, a parameter list or template arguments; a C one has none. */
static bool is_cxx(const char *name, size_t len)
{
	return len && name[0] != '[' &&
	       (memmem(name, len, "::", 2) || memchr(name, '(', len) || memchr(name, '<', len));
}

static bool template_is_api(const char *name, size_t len)
{
	static const char *const patterns[] = {
#define AIF_API_TEMPLATE(pattern) pattern,
#include "names/frame_type.def"
	};

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), name, len);
}

unsigned aif_frame_type_native(const char *name, size_t len, const char *path)
{
	bool cxx = is_cxx(name, len);

	/* A runtime that is linked statically is in the program's own module. */
	if (module_is_api(path) || (cxx ? template_is_api : function_is_api)(name, len))
		return AIF_TREE_API;
	return cxx ? AIF_TREE_CXX : AIF_TREE_C;
}

bool aif_frame_type_is_cxx_file(const char *path)
{
	static const char *const suffixes[] = {".cc",  ".cpp", ".cxx", ".c++", ".C",  ".hh",
					       ".hpp", ".hxx", ".tcc", ".cu",  ".cuh"};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < AIF_ARRAY_LEN(suffixes); i++)
		if (!strcmp(dot, suffixes[i]))
			return true;
	return false;
}

/* Python frames of the tools that write folded text: "f (file.py)", "f (file.py:12)",
 * "file.py:f:12", "file.py(12): f", and CPython's own "<module>", "<frozen x>". */
static bool is_python(const char *name, size_t len)
{
	static const char *const patterns[] = {
		"* (*.py)",    "* (*.py:*)", "*.py:*",       "*.py(*): *",
		"<frozen *>*", "<module>*",  "<built-in *>",
	};

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), name, len);
}

unsigned aif_frame_type_guess(const char *name, size_t len)
{
	if (is_python(name, len))
		return AIF_TREE_PYTHON;
	if (function_is_api(name, len))
		return AIF_TREE_API;
	if (aif_glob("[[]*+0x*]", name, len, NULL) || /* code without a symbol */
	    aif_glob("[[]jit] *", name, len, NULL) || aif_glob("[[]jit 0x*]", name, len, NULL))
		return AIF_TREE_C;
	if (aif_glob("[[]*]", name, len, NULL) || (len == 1 && name[0] == '-'))
		return AIF_TREE_SYNTHETIC;
	return is_cxx(name, len) ? AIF_TREE_CXX : AIF_TREE_C;
}

unsigned aif_frame_type_inside(const char *name, size_t len, unsigned before)
{
	if (aif_glob("*+0x*", name, len, NULL) || aif_glob("0x*", name, len, NULL))
		return AIF_TREE_INSTRUCTION;
	if (aif_glob("*:[0-9]*", name, len, NULL))
		return AIF_TREE_LINE;
	return before == AIF_TREE_INSTRUCTION ? AIF_TREE_STALL : AIF_TREE_KERNEL;
}
