/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#define AIF_DEFAULT_FILE "aiflame.data"

/* The FILE of a view: -i FILE, else the first word, else the default. Words that follow a bare FILE
 * begin at *ret_used. */
static inline const char *aif_input_file(const char *option, char **words, int words_len,
					 int *ret_used)
{
	*ret_used = !option && words_len > 0;
	return option ? option : words_len ? words[0] : AIF_DEFAULT_FILE;
}
