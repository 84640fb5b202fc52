/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/sqlite_path.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define JOURNAL "-journal" /* SQLite makes it beside the file */
/* Characters of such a path that are shown: its end. */
#define SHOWN 40
/* Longer than what the kernel takes, twice: where we stand, and where a link leads. */
#define FULL_SIZE (2 * PATH_MAX + 2)

static size_t longest(void)
{
	const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	/* Without memory SQLite has no VFS, which opening reports. */
	return vfs ? (size_t)vfs->mxPathname - strlen(JOURNAL) : SIZE_MAX;
}

/* Returns the length of the full path that SQLite makes of `path`; 0: it leads nowhere, which
 * opening reports. */
static size_t full_length(const char *path)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	char *full = calloc(1, FULL_SIZE);
	size_t len = 0;

	/* Links that were followed are a success of another number. */
	if (full && vfs && (vfs->xFullPathname(vfs, path, FULL_SIZE, full) & 0xff) == SQLITE_OK)
		len = strlen(full);
	free(full);
	return len;
}

static int too_long(const char *cannot, const char *path, const char *what, size_t most,
		    const char *do_this, struct aif_err *err)
{
	size_t len = strlen(path);
	const char *tail = path + (len > SHOWN ? len - SHOWN : 0);

	/* Not from within a character. */
	while ((*tail & 0xc0) == 0x80)
		tail++;
	return aif_err_set(err, -ENAMETOOLONG,
			   "cannot %s ...%s: its %s is longer than %zu bytes, more than SQLite "
			   "opens; %s",
			   cannot, tail, what, most, do_this);
}

int aif_sqlite_path_check(const char *path, const char *cannot, const char *do_this,
			  struct aif_err *err)
{
	return full_length(path) <= longest()
		       ? 0
		       : too_long(cannot, path, "full path", longest(), do_this, err);
}

int aif_sqlite_path_check_new(const char *path, const char *suffix, const char *do_this,
			      struct aif_err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t most = NAME_MAX - strlen(suffix) - strlen(JOURNAL), len;
	char *whole;

	if (strlen(name) > most)
		return too_long("write", path, "name", most, do_this, err);
	/* There is nothing of this name: no link of that name is followed that will be moved away. */
	if (asprintf(&whole, "%s%s" JOURNAL, path, suffix) < 0)
		return aif_err_set(err, -ENOMEM, "cannot write %s: out of memory", path);
	len = full_length(whole);
	free(whole);
	most = longest() - strlen(suffix);
	return len <= most + strlen(suffix) + strlen(JOURNAL)
		       ? 0
		       : too_long("write", path, "full path", most, do_this, err);
}
