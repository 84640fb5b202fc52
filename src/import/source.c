/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <errno.h>
#include <string.h>

ssize_t aif_import_read(void *arg, void *buf, size_t n, struct aif_err *err)
{
	struct aif_import_source *s = arg;
	struct aif_import_progress p = {.events = s->events, .file = aif_input_name(s->input)};
	size_t left = AIF_MIN(s->head_len - s->head_at, n);

	if (left) {
		memcpy(buf, s->head + s->head_at, left);
		s->head_at += left;
		return (ssize_t)left;
	}
	if (s->opts->progress) {
		aif_input_progress(s->input, &p.done, &p.size);
		if (s->opts->progress(s->opts->arg, &p))
			return aif_err_set(err, -EINTR, "%s: stopped", p.file);
	}
	return aif_input_read(s->input, buf, n, err);
}
