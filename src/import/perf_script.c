/* SPDX-License-Identifier: Apache-2.0 */
#include "import/lines.h"
#include "import/perf_samples.h"
#include "import/perf_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes CPU samples of what `perf script` prints. */
struct perf {
	struct aif_perf_samples samples;
	struct aif_lines lines;
	bool is_record; /* the last header was that of a record that is no sample */
	/* An address alone behind the event: the one frame of a sample, or, before others, an address of data. */
	bool has_address;
	struct aif_perf_frame address;
};

/* Returns the number of events of "PERF_RECORD_LOST lost 12", 0 of another line. */
static uint64_t lost(struct aif_perf_text line)
{
	static const char record[] = "PERF_RECORD_LOST", word[] = " lost ";
	const char *at = memmem(line.p, line.len, record, sizeof(record) - 1),
		   *end = line.p + line.len;
	uint64_t n = 0;

	at = at ? memmem(at, (size_t)(end - at), word, sizeof(word) - 1) : NULL;
	for (at = at ? at + sizeof(word) - 1 : end; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
			return UINT32_MAX;
	return n;
}

/* Returns true for "  file.c:12", "  ??:0", which perf puts between frames if it is asked to. */
static bool is_source_line(struct aif_perf_text line)
{
	size_t n = line.len;

	while (n && line.p[n - 1] >= '0' && line.p[n - 1] <= '9')
		n--;
	return n < line.len && n > 1 && line.p[n - 1] == ':';
}

/* Ends a sample, whose only frame may be the address in its header. */
static int sample_end(struct perf *x)
{
	if (x->has_address)
		aif_perf_samples_frame(&x->samples, &x->address);
	x->has_address = false;
	return aif_perf_samples_end(&x->samples);
}

static int header_add(struct perf *x, const struct aif_perf_header *h, struct aif_perf_text line)
{
	struct aif_perf_samples *samples = &x->samples;
	struct aif_perf_frame f;
	uint32_t event;
	int r = sample_end(x);

	if (r < 0)
		return r;
	x->is_record = h->is_record;
	if (h->is_record) {
		samples->records++;
		samples->lost += lost(line);
		return 0;
	}
	r = aif_perf_event(&samples->events, h->event, &event);
	if (r < 0)
		return r;
	aif_perf_samples_begin(samples, h, event);
	if (!h->rest.len || !aif_perf_frame(h->rest, &f))
		return 0;
	x->address = f;
	x->has_address = !f.name.len && !f.module.len;
	if (!x->has_address)
		aif_perf_samples_frame(samples, &f);
	return 0;
}

static void frame_add(struct perf *x, const struct aif_perf_frame *f)
{
	x->has_address = false;
	aif_perf_samples_frame(&x->samples, f);
}

static int line_add(struct perf *x, struct aif_perf_text line)
{
	struct aif_perf_header h;
	struct aif_perf_frame bare;

	if (!line.len)
		return sample_end(x);
	if (*line.p == '#')
		return 0;
	/* Commands may be right-justified, with blanks before them; a frame ends with its module. */
	if (aif_perf_blank(*line.p) && x->samples.is_in) {
		struct aif_perf_frame f, only;
		bool is_frame = aif_perf_frame(line, &f);

		/* A command, such as dd, may look like an address. */
		if (aif_perf_header(line, &h) &&
		    (!(is_frame && line.p[line.len - 1] == ')') ||
		     (h.event.len && aif_perf_frame(h.rest, &only) && only.module.len)))
			return header_add(x, &h, line);
		if (is_frame)
			frame_add(x, &f);
		else if (!is_source_line(line))
			aif_lines_bad(&x->lines);
		return 0;
	}
	if (aif_perf_header(line, &h))
		return header_add(x, &h, line);
	/* Some perfs, and scripts, do not indent frames. */
	if (x->samples.is_in && line.p[line.len - 1] == ')' && aif_perf_frame(line, &bare)) {
		frame_add(x, &bare);
		return 0;
	}
	/* A record may have more lines than one. */
	if (!x->is_record || !aif_perf_blank(*line.p))
		aif_lines_bad(&x->lines);
	return 0;
}

/* ---- the file ------------------------------------------------------------------------------------ */

/* Looks for a header and its frames. Messages of perf, and half of a stack, may stand before them. */
static int probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	bool has_header = false, is_behind = false;

	for (unsigned lines = 0; at < end && lines < 2000; lines++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct aif_perf_text line = {at, (size_t)((nl ? nl : end) - at)};
		struct aif_perf_header h;
		struct aif_perf_frame f;

		at += line.len + 1;
		while (line.len && line.p[line.len - 1] == '\r')
			line.len--;
		if (memchr(line.p, '\0', line.len))
			return 0;
		if (is_behind && line.len &&
		    (aif_perf_blank(*line.p) || line.p[line.len - 1] == ')') &&
		    aif_perf_frame(line, &f))
			return 8;
		if (!line.len || *line.p == '#')
			continue;
		is_behind = aif_perf_header(line, &h) && !h.is_record;
		if (is_behind && h.rest.len && h.event.len && aif_perf_frame(h.rest, &f))
			return 8;
		has_header |= is_behind && h.event.len;
	}
	return has_header ? 5 : 0;
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct perf *x = calloc(1, sizeof(*x));
	struct aif_perf_text line;
	char *p;
	int r;

	(void)state;
	if (!x)
		return aif_err_set(err, -ENOMEM, "out of memory");
	x->samples.b = b;
	x->samples.source = x->lines.source = s;
	while ((r = aif_lines_next(&x->lines, &p, &line.len, err)) > 0) {
		line.p = p;
		r = line_add(x, line);
		if (r < 0)
			break;
	}
	if (!r)
		r = sample_end(x);
	if (r == -ENOMEM)
		aif_err_set(err, r, "%s: %s", aif_input_name(s->input), strerror(-r));
	if (!r)
		r = aif_perf_samples_rows(&x->samples, s->opts, err);
	aif_lines_finish(&x->lines, b);
	aif_perf_samples_finish(&x->samples);
	free(x);
	return r;
}

const struct aif_importer aif_importer_perf_script = {
	.name = "perf script",
	.summary = "what `perf script` prints: CPU samples with stacks",
	.uses = AIF_IMPORT_USES_COUNT | AIF_IMPORT_USES_EVENT,
	.probe = probe,
	.read = read_file,
};
