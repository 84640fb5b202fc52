/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/output.h"

#include "base/memory.h"

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

/* Replaces the name of the file that becomes the profile in a message by that of the profile. */
static void name_profile(struct aif_err *err, const char *part, const char *path)
{
	const char *at = strstr(err->text, part);
	struct aif_err was = *err;

	if (at)
		aif_err_set(err, err->code, "%.*s%s%s", (int)(at - err->text), was.text, path,
			    was.text + (at - err->text) + strlen(part));
}

int aif_profile_output(const char *path, const struct aif_profile *p, struct aif_scratch *scratch,
		       int (*fill)(void *arg, struct aif_writer *w, struct aif_err *err), void *arg,
		       struct aif_err *err)
{
	struct aif_err finish_err = {0};
	struct aif_writer *w;
	char part[4096], journal[4096 + 16];
	int r, r2;

	if ((size_t)snprintf(part, sizeof(part), "%s.part%d", path, (int)getpid()) >=
	    sizeof(part) - 8)
		return aif_err_set(err, -ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	snprintf(journal, sizeof(journal), "%s-journal", part);
	aif_scratch_put(scratch, part);
	aif_scratch_put(scratch, journal);
	r = aif_writer_new(part, p->start_ns, &w, err);
	if (!r) {
		r = fill(arg, w, err);
		r2 = aif_writer_finish(w, p->end_ns, &finish_err);
		if (!r && r2 < 0) {
			r = r2;
			if (err)
				*err = finish_err;
		}
	}
	if (!r && aif_memory_failed())
		r = aif_err_set(err, -ENOMEM, "%s: out of memory", path);
	if (!r)
		r = put_in_place(part, path, err);
	if (r < 0)
		unlink(part);
	unlink(journal); /* SQLite leaves it where it could not remove it */
	aif_scratch_take(scratch, journal);
	aif_scratch_take(scratch, part);
	if (r < 0 && err)
		name_profile(err, part, path);
	/* Replaces the message for recordings, which says that their beginning is saved. */
	if (r == -ENOSPC || r == -EDQUOT || r == -EFBIG)
		aif_err_set(err, r, "%s: %s; free space or write elsewhere", path,
			    r == -EFBIG ? strerror(EFBIG) : "the disk is full");
	return r;
}
