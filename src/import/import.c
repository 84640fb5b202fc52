/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define AIF_IMPORTER(name, word) extern const struct aif_importer aif_importer_##name;
#include "import/importers.def"

const struct aif_importer *const aif_importers[] = {
#define AIF_IMPORTER(name, word) &aif_importer_##name,
#include "import/importers.def"
	NULL,
};

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

/* Packed in a way that is not read here: who unpacks it. */
static const char *unpacked_by(const uint8_t *head, size_t len)
{
	static const struct {
		const char *magic;
		size_t at, len;
		const char *by; /* ... FILE | */
	} kinds[] = {
		{"\xfd"
		 "7zXZ\0",
		 0, 6, "xz -dc"},
		{"BZh", 0, 3, "bzip2 -dc"},
		{"\x04\x22\x4d\x18", 0, 4, "lz4 -dc"},
		{"PK\3\4", 0, 4, "unzip -p"},
		{"7z\xbc\xaf\x27\x1c", 0, 6, "7z x -so"},
		{"ustar", 257, 5, "tar -xOf"},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(kinds); i++)
		if (len >= kinds[i].at + kinds[i].len &&
		    !memcmp(head + kinds[i].at, kinds[i].magic, kinds[i].len))
			return kinds[i].by;
	return NULL;
}

/* Returns the sentence's end of a file of a known format that is not read, or NULL. */
static const char *unread(const uint8_t *head, size_t len)
{
	static const struct {
		const char *words[2], *is; /* ... FILE: is ... */
	} formats[] = {
		{{"\"preprocessedProfileVersion\"", "\"meta\""},
		 "a profile of Firefox's profiler, which only profiler.firefox.com reads"},
		{{"\"geckoThreads\"", "\"meta\""},
		 "a profile of Firefox's profiler, which only profiler.firefox.com reads"},
		{{"\"callFrame\"", "\"selfSize\""},
		 "a heap profile of V8, which Chrome's developer tools and speedscope read"},
		{{"\"callFrame\"", "\"hitCount\""},
		 "a CPU profile of V8, which Chrome's developer tools and speedscope read; "
		 "speedscope's own export of it can be imported"},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(formats); i++)
		if (memmem(head, len, formats[i].words[0], strlen(formats[i].words[0])) &&
		    memmem(head, len, formats[i].words[1], strlen(formats[i].words[1])))
			return formats[i].is;
	return NULL;
}

static int unknown(const char *name, const uint8_t *head, size_t len, struct aif_err *err)
{
	const char *by = unpacked_by(head, len);
	bool is_stdin = !strcmp(name, "standard input");

	if (!len)
		return aif_err_set(err, -EBADMSG, "%s: is empty", name);
	/* UTF-16 is read, unless it is packed. */
	if (len > 3 && (!memcmp(head, "\xff\xfe", 2) || !memcmp(head, "\xfe\xff", 2) ||
			!memcmp(head, "\0\0\xfe\xff", 4)))
		return aif_err_set(
			err, -EBADMSG,
			"%s: is text in UTF-16 or UTF-32; convert it (UTF-32 for UTF-16): "
			"iconv -f UTF-16 -t UTF-8 %s | aiflame import - -o FILE",
			name, is_stdin ? "FILE" : name);
	if (by)
		return aif_err_set(err, -EBADMSG,
				   "%s: is packed in a format that is not supported; unpack "
				   "it (an archive file by file): %s %s | aiflame import - "
				   "-o FILE",
				   name, by, is_stdin ? "FILE" : name);
	if (unread(head, len))
		return aif_err_set(err, -EBADMSG, "%s: is %s", name, unread(head, len));
	return aif_err_set(
		err, -EBADMSG,
		"%s: its format is not known: it does not begin like JSON of torch.profiler, unitrace "
		"or another Chrome trace (an object or array with events), speedscope's JSON, pprof, "
		"SQLite of nsys or rocpd, text of perf script (a header, frames below it), perf stat or iaprof, CSV of VTune "
		"or Advisor, "
		"folded stacks (lines \"frame;frame COUNT\"); if it is one of them, say which with "
		"--from",
		name);
}

/* Refuses options that would change nothing, so that nobody believes that they did. */
static int check_uses(const char *name, const struct aif_importer *importer,
		      const struct aif_import_opts *o, struct aif_err *err)
{
	const struct {
		bool is_set;
		unsigned use;
		const char *option, *needs;
	} options[] = {
		{o->folded != AIF_IMPORT_AS_MARKED, AIF_IMPORT_USES_AS, "--as",
		 "stacks with counts: folded text, speedscope, pprof"},
		{o->count_ns != 0, AIF_IMPORT_USES_COUNT, "--count",
		 "counts and samples: folded text, speedscope, pprof, iaprof, perf, nsys"},
		{o->event != NULL, AIF_IMPORT_USES_EVENT, "--event", "perf's files and text"},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(options); i++)
		if (options[i].is_set && !(importer->uses & options[i].use))
			return aif_err_set(
				err, -ENOTSUP,
				"%s: is a file of %s, to which %s does not apply: it is for "
				"%s; leave it out",
				name, importer->name, options[i].option, options[i].needs);
	return 0;
}

/* Fills `head`. 0 or -errno with *err. */
static int read_first(struct aif_import_source *s, uint8_t *head, struct aif_err *err)
{
	s->head = head;
	s->head_len = 0;
	while (s->head_len < AIF_IMPORT_HEAD) {
		ssize_t n = aif_input_read(s->input, head + s->head_len,
					   AIF_IMPORT_HEAD - s->head_len, err);

		if (n <= 0)
			return (int)n;
		s->head_len += (size_t)n;
	}
	return 0;
}

/* Reads the first bytes of a file, without the mark of UTF-8 (BOM) that some editors put there. 0 or -errno with *err. */
static int read_head(struct aif_import_source *s, uint8_t *head, struct aif_err *err)
{
	int r = read_first(s, head, err);

	if (!r && s->head_len >= 3 && !memcmp(head, "\xef\xbb\xbf", 3)) {
		s->head_len -= 3;
		memmove(head, head + 3, s->head_len);
	}
	return r;
}

/* Goes on with the text of perf's own file. 0 or -errno with *err. */
static int read_perf_text(struct aif_import_source *s, const char *path, uint8_t *head,
			  bool *is_converted, struct aif_err *err)
{
	int r = s->opts->perf_start(s->opts->arg, path, err);

	if (r < 0)
		return r;
	*is_converted = true;
	aif_input_close(s->input);
	s->input = NULL;
	r = aif_input_open_fd(r, path, s->opts->limit, &s->input, err);
	return r ? r : read_head(s, head, err);
}

/* Has perf read its own file where the user asks for its text, or where it has what only perf reads; without perf that is
 * left out, and told. 0 or -errno with *err. */
static int convert(struct aif_import_source *s, const char *path, uint8_t *head,
		   const struct aif_importer **importer, bool *is_converted, struct aif_err *err)
{
	const struct aif_importer *own = find(head, s->head_len);
	bool is_asked = *importer && own && own->needs_perf && *importer != own;
	struct aif_err none = {0};
	int r;

	if (!own || !own->needs_perf || !s->opts->perf_start || !aif_input_path(s->input) ||
	    (!is_asked && !own->needs_perf(head, s->head_len)))
		return 0;
	r = read_perf_text(s, path, head, is_converted, is_asked ? err : &none);
	if (!*is_converted)
		return is_asked ? r : 0;
	if (r < 0 && !is_asked && err)
		*err = none;
	if (!is_asked)
		*importer = NULL;
	return r;
}

/* One file of a run; *used: what reads it, which has to be the same for all. */
static int read_file(const char *path, const struct aif_import_opts *opts, struct aif_builder *b,
		     const struct aif_importer **used, void **state, struct aif_err *err)
{
	struct aif_import_source s = {.opts = opts};
	uint8_t *head = malloc(AIF_IMPORT_HEAD);
	const struct aif_importer *importer;
	bool is_converted = false;
	int r = head ? aif_input_open(path, opts->limit, &s.input, err)
		     : aif_err_set(err, -ENOMEM, "out of memory");

	if (!r)
		r = read_head(&s, head, err);
	importer = opts->from;
	if (!r)
		r = convert(&s, path, head, &importer, &is_converted, err);
	/* Takes perf's own reason where it printed nothing: the file is not empty. */
	if (is_converted && !r && !s.head_len) {
		r = opts->perf_end(opts->arg, path, true, err);
		if (!r)
			r = aif_err_set(err, -ENODATA, "%s: no sample in it", path);
	}
	if (r || !s.head_len)
		importer = NULL;
	else if (!importer)
		importer = find(head, s.head_len);
	if (!r && !importer)
		r = unknown(aif_input_name(s.input), head, s.head_len, err);
	if (!r && *used && importer != *used)
		r = aif_err_set(err, -EINVAL,
				"%s: is a file of %s, the files before it are of %s; import "
				"each kind by itself",
				aif_input_name(s.input), importer->name, (*used)->name);
	if (!r)
		r = check_uses(aif_input_name(s.input), importer, opts, err);
	if (!r) {
		*used = importer;
		r = importer->read(&s, b, state, err);
	}
	/* Closed first: perf may still print what nobody reads. */
	aif_input_close(s.input);
	if (is_converted) {
		int r2 = opts->perf_end(opts->arg, path, !r, err);

		r = r ? r : r2;
	}
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
	if (!*aif_profile_meta(&b->p, "imported")) /* it may know better */
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
	b->p.traits = aif_traits_of(&b->p);
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
