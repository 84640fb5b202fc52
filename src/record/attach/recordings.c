/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/recordings.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

static bool match(void *arg, const struct aif_standby_found *f)
{
	struct aif_recording_search *s = arg;

	if (f->has_ended || (s->name && strcmp(s->name, f->about.call.name) != 0 &&
			     !(s->pid && s->pid == f->about.pid)))
		return true;
	s->at = *f;
	s->found++;
	return true;
}

/* A process that is recorded stands for its recording. */
static bool match_process(void *arg, struct aif_standby_entry *e)
{
	struct aif_recording_search *s = arg;
	bool is_locked = flock(e->fd, LOCK_SH | LOCK_NB) < 0;

	if (!s->pid || e->pid != (int)s->pid || !is_locked)
		return true;
	s->pid = e->page.recorder;
	return false;
}

int aif_recording_find(struct aif_recording_search *s, const char *command, struct aif_err *err)
{
	aif_standby_recordings(s->dir, match, s);
	if (!s->found && s->pid) {
		aif_standby_pages(s->dir, NULL, 0, match_process, s);
		aif_standby_recordings(s->dir, match, s);
	}
	if (s->found == 1)
		return 0;
	if (s->found)
		return aif_err_set(err, -EEXIST,
				   "%s: %u recordings are running%s%s; give the name or the "
				   "recorder's process of one: aiflame ctl status",
				   command, s->found, s->name ? " as " : "",
				   s->name ? s->name : "");
	return aif_err_set(err, -ENOENT, "%s: %s%s; see aiflame ctl status", command,
			   s->name ? s->name : "no recording is running",
			   s->name ? ": no such recording is running" : "");
}
