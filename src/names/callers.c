/* SPDX-License-Identifier: Apache-2.0 */
#include "names/callers.h"

#include "base/glob.h"

#include <string.h>

bool aif_caller_is_python(const char *file)
{
	enum { NO, YES };
	static const struct {
		int answer;
		const char *pattern;
	} rules[] = {
#define AIF_CALLER_PYTHON(answer, pattern) {answer, pattern},
#include "names/caller_rules.def"
	};

	if (!*file) /* built-in, in a trace: who called it says more */
		return false;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].pattern, file, strlen(file), NULL))
			return rules[i].answer == YES;
	return true;
}

bool aif_caller_is_wrapper(const char *function)
{
	static const char *const patterns[] = {
#define AIF_CALLER_WRAPPER(pattern) pattern,
#include "names/caller_rules.def"
	};

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), function, strlen(function));
}

bool aif_caller_is_engine(const char *function)
{
	static const char *const patterns[] = {
#define AIF_CALLER_ENGINE(pattern) pattern,
#include "names/caller_rules.def"
	};

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), function, strlen(function));
}

bool aif_caller_is_library(const char *function)
{
	static const char *const patterns[] = {
#define AIF_CALLER_LIBRARY(pattern) pattern,
#include "names/caller_rules.def"
	};

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), function, strlen(function));
}

bool aif_caller_is_own_source(const char *file)
{
	static const char *const patterns[] = {
#define AIF_CALLER_NOT_SOURCE(pattern) pattern,
#include "names/caller_rules.def"
	};

	return *file && !aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), file, strlen(file));
}
