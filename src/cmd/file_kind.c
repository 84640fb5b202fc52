/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/file_kind.h"

#include "base/open_named.h"

#include <stdio.h>
#include <string.h>

static bool begins(const char *text, size_t len, const char *with, size_t with_len)
{
	return len >= with_len && !memcmp(text, with, with_len);
}

/* Returns what text looks like. */
static const char *kind_of_text(const char *path, const char *text, size_t len)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	size_t blank = 0;

	if (dot && !strcmp(dot, ".py"))
		return "a Python program";
	if (begins(text, len, "#!", 2))
		return "a script";
	while (blank < len && strchr(" \t\r\n", text[blank]))
		blank++;
	if (blank < len && strchr("[{", text[blank]))
		return "JSON (of a trace aiflame import makes a profile)";
	return NULL;
}

const char *aif_file_kind(const char *path, bool *ret_is_text)
{
	FILE *f = aif_fopen_named(path, NULL);
	char text[512];
	size_t len = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		fclose(f);
	*ret_is_text = false;
	if (begins(text, len, "\177ELF", 4))
		return "a program or library (ELF)";
	if (begins(text, len, "\x1f\x8b", 2) || begins(text, len, "PK\3\4", 4) ||
	    begins(text, len, "\x28\xb5\x2f\xfd", 4))
		return "a compressed file (of a trace aiflame import makes a profile)";
	if (memchr(text, '\0', len))
		return "a binary file";
	*ret_is_text = true;
	return kind_of_text(path, text, len);
}
