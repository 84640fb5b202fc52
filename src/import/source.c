/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <errno.h>
#include <string.h>

int aif_import_go_on(struct aif_import_source *s, struct aif_err *err)
{
	struct aif_import_progress p = {.events = s->events, .file = aif_input_name(s->input)};

	if (!s->opts->progress)
		return 0;
	aif_input_progress(s->input, &p.done, &p.size);
	return s->opts->progress(s->opts->arg, &p) ? aif_err_set(err, -EINTR, "%s: stopped", p.file)
						   : 0;
}

ssize_t aif_import_read(void *arg, void *buf, size_t n, struct aif_err *err)
{
	struct aif_import_source *s = arg;
	size_t left = AIF_MIN(s->head_len - s->head_at, n);
	int r;

	if (left) {
		memcpy(buf, s->head + s->head_at, left);
		s->head_at += left;
		return (ssize_t)left;
	}
	r = aif_import_go_on(s, err);
	return r ? r : aif_input_read(s->input, buf, n, err);
}
