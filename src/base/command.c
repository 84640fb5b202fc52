/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True if a directory of PATH that can be searched has a file of that name. */
static bool is_in_path(const char *name)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	for (const char *end; path; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		if (snprintf(file, sizeof(file), "%.*s%s%s", (int)(end - path), path,
			     end > path ? "/" : "", name) < (int)sizeof(file) &&
		    access(file, F_OK) == 0)
			return true;
	}
	return false;
}

int aif_command_exec(char *const argv[])
{
	int e;

	execvp(argv[0], argv);
	e = errno;
	if (e == EACCES && !strchr(argv[0], '/') && !is_in_path(argv[0]))
		e = ENOENT;
	return -e;
}
