/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * A recording's own directory in a standby directory, and its socket (wire/standby.h). The standby directory may be another user's, who
 * can put a link in the place of each name: nothing here is reached by a name of two parts, and no link is followed.
 */
struct aif_recording_dir {
	int fd;       /* -1: there is none */
	int sock;     /* that listens */
	char name[9]; /* in the standby directory; "" */
};

/* Makes both in the standby directory `dir` of `owner`, with whose rights the calling thread works. 0 or -errno. */
int aif_recording_dir_make(struct aif_recording_dir *ret, int dir, uid_t owner);
/* Makes both below $XDG_RUNTIME_DIR, $TMPDIR or /tmp, for a command that is started with the name: *dir. 0 or -errno. */
int aif_recording_dir_make_elsewhere(struct aif_recording_dir *ret, char *dir, size_t size);
/* Removes what recorders and agents leave in it, and closes it; with the same rights. One that was made elsewhere is
 * closed only. */
void aif_recording_dir_finish(struct aif_recording_dir *r, int dir);
