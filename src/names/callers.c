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
