/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define AIF_IMPORTER(name) extern const struct aif_importer aif_importer_##name;
#include "import/importers.def"

const struct aif_importer *const aif_importers[] = {
#define AIF_IMPORTER(name) &aif_importer_##name,
#include "import/importers.def"
	NULL,
};

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

static const struct aif_importer *find(const uint8_t *head, size_t len)
{
	const struct aif_importer *best = NULL;
	int score = 0;

	for (size_t i = 0; aif_importers[i]; i++) {
		int s = aif_importers[i]->probe(head, len);

		if (s > score) {
			score = s;
			best = aif_importers[i];
		}
	}
	return best;
}

static int unknown(const char *name, const uint8_t *head, size_t len, struct aif_err *err)
{
	struct aif_buf known = {0};

	if (len >= 8 && !memcmp(head, "PERFILE2", 8))
		return aif_err_set(
			err, -EBADMSG,
			"%s: is perf's own file; import what it prints of it: perf script -i %s | "
			"aiflame import - -o FILE",
			name, name);
	for (size_t i = 0; aif_importers[i]; i++)
		aif_buf_printf(&known, "%s%s", i ? ", " : "", aif_importers[i]->name);
	aif_err_set(err, -EBADMSG, "%s: %s; known are: %s", name,
		    len ? "its format is not known" : "is empty", aif_buf_str(&known));
	aif_buf_finish(&known);
	return -EBADMSG;
}

/* One file of a run; *used: what reads it, which has to be the same for all. */
static int read_file(const char *path, const struct aif_import_opts *opts, struct aif_builder *b,
		     const struct aif_importer **used, void **state, struct aif_err *err)
{
	struct aif_import_source s = {.opts = opts};
	uint8_t *head = malloc(AIF_IMPORT_HEAD);
	const struct aif_importer *importer;
	int r = head ? aif_input_open(path, opts->limit, &s.input, err)
		     : aif_err_set(err, -ENOMEM, "out of memory");

	while (!r && s.head_len < AIF_IMPORT_HEAD) {
		ssize_t n = aif_input_read(s.input, head + s.head_len, AIF_IMPORT_HEAD - s.head_len,
					   err);

		if (n <= 0) {
			r = (int)n;
			break;
		}
		s.head_len += (size_t)n;
	}
	s.head = head;
	importer = r ? NULL : find(head, s.head_len);
	if (!r && !importer)
		r = unknown(aif_input_name(s.input), head, s.head_len, err);
	if (!r && *used && importer != *used)
		r = aif_err_set(err, -EINVAL,
				"%s: is a file of %s, those before it are of %s; import each kind "
				"by itself",
				aif_input_name(s.input), importer->name, (*used)->name);
	if (!r) {
		*used = importer;
		r = importer->read(&s, b, state, err);
	}
	aif_input_close(s.input);
	free(head);
	return r;
}

static void describe(struct aif_builder *b, const char *const *files, size_t n,
		     const struct aif_importer *importer)
{
	struct aif_buf names = {0};

	for (size_t i = 0; i < n; i++)
		aif_buf_printf(&names, "%s%s", i ? ", " : "", files[i]);
	aif_builder_meta(b, "command", "imported from %s", aif_buf_str(&names));
	aif_builder_meta(b, "imported", "%s", importer->name);
	aif_builder_meta(b, "recorder_version", "%s", AIF_VERSION);
	aif_builder_meta(b, "sampling", "none");
	/* Times of after 2001 are since 1970; others are of a clock that says no date. */
	aif_builder_bound(b);
	if (b->p.start_ns > AIF_NS_PER_S * AIF_NS_PER_S)
		aif_builder_meta(b, "start_realtime_ns", "%" PRIu64, b->p.start_ns);
	if (b->p.processes_len && b->p.processes[0].host != AIF_NONE)
		aif_builder_meta(b, "host", "%s", aif_profile_str(&b->p, b->p.processes[0].host));
	aif_buf_finish(&names);
}

int aif_import_files(const char *const *files, size_t n, const char *output,
		     const struct aif_import_opts *opts, struct aif_builder *ret,
		     struct aif_err *err)
{
	const struct aif_importer *importer = NULL;
	struct aif_builder b = {0};
	void *state = NULL;
	int r = 0, r2;

	for (size_t i = 0; i < n && !r; i++)
		r = read_file(files[i], opts, &b, &importer, &state, err);
	if (importer && importer->finish) {
		r2 = importer->finish(&b, state, r, err);
		if (!r && r2 < 0)
			r = aif_err_set(err, r2, "%s: %s", output, strerror(-r2));
	}
	if (!r && opts->progress && opts->progress(opts->arg, &(struct aif_import_progress){0}))
		r = aif_err_set(err, -EINTR, "import: stopped");
	if (!r) {
		describe(&b, files, n, importer);
		b.scratch = opts->scratch;
		r = aif_builder_write(&b, output, err);
	}
	if (!r && ret)
		*ret = b;
	else
		aif_builder_finish(&b);
	return r;
}
