/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/find_file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Many directories' names have brackets; patterns with none of these mean themselves. */
#define WILD "*?["

char *aif_find_file(const char *dir, const char *pattern, int mode)
{
	char *path = NULL, *found = NULL;
	glob_t g;

	if (*dir != '/' || asprintf(&path, "%s/%s", dir, pattern) < 0)
		return NULL;
	if (!strpbrk(pattern, WILD)) {
		if (access(path, mode) == 0)
			return path;
	} else if (glob(path, 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc && !found; i++)
			if (access(g.gl_pathv[i], mode) == 0)
				found = strdup(g.gl_pathv[i]);
		globfree(&g);
	}
	free(path);
	return found;
}

char *aif_find_file_in_path(const char *pattern, int mode)
{
	const char *path = getenv("PATH");
	char *copy = path ? strdup(path) : NULL, *save, *found = NULL;

	for (char *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir && !found;
	     dir = strtok_r(NULL, ":", &save))
		found = aif_find_file(dir, pattern, mode);
	free(copy);
	return found;
}
