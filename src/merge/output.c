/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/output.h"

#include "base/memory.h"
#include "profile/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int put_in_place(const char *part, const char *path, struct aif_err *err)
{
	int r = aif_profile_move_away(path, err);

	if (!r && rename(part, path) < 0)
		r = aif_err_set(err, -errno, "%s: could not be renamed to %s: %s", part, path,
				strerror(errno));
	return r;
}

int aif_merge_output(const char *path, struct aif_scratch *scratch,
		     int (*make)(void *arg, const char *part, struct aif_err *err), void *arg,
		     struct aif_err *err)
{
	char part[4096], journal[4096 + 16];
	int r;

	if ((size_t)snprintf(part, sizeof(part), "%s.part%d", path, (int)getpid()) >=
	    sizeof(part) - 8)
		return aif_err_set(err, -ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	snprintf(journal, sizeof(journal), "%s-journal", part);
	aif_scratch_put(scratch, part);
	aif_scratch_put(scratch, journal);
	r = make(arg, part, err);
	if (!r && aif_memory_failed())
		r = aif_err_set(err, -ENOMEM, "%s: out of memory", path);
	if (!r)
		r = put_in_place(part, path, err);
	if (r < 0)
		unlink(part);
	unlink(journal); /* SQLite leaves it where it could not remove it */
	aif_scratch_take(scratch, journal);
	aif_scratch_take(scratch, part);
	if (r == -ENOSPC || r == -EDQUOT || r == -EFBIG)
		aif_err_set(err, r, "%s: %s; free space or write elsewhere", path,
			    r == -EFBIG ? strerror(EFBIG) : "the disk is full");
	return r;
}
