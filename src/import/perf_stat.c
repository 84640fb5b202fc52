/* SPDX-License-Identifier: Apache-2.0 */
/* `perf stat`, in its three forms, as counters: with -I at the end of each interval, else at the end of the command. */
#include "import/perf_stat_line.h"

#include "import/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Events that are named of those that perf could not count. */
#define NAMED 16

struct stats {
	struct aif_builder *b;
	struct aif_lines lines;
	struct aif_map devices; /* place, a string -> device */
	struct aif_buf uncounted;
	uint64_t uncounted_len, scaled;
	size_t first; /* of the builder's counters */
	uint64_t elapsed_ns;
};

static uint32_t string(struct stats *x, struct aif_perf_text t)
{
	return aif_builder_str(x->b, t.p, t.len);
}

/* Returns the CPU, socket or thread as a device: what counters are of. */
static uint32_t device_of(struct stats *x, struct aif_perf_text place)
{
	struct aif_buf name = {0};
	struct aif_device d = {.kind = AIF_DEVICE_CPU};
	uint64_t id;

	if (!place.len)
		aif_buf_puts(&name, "CPU");
	else
		aif_buf_printf(&name, "%s%.*s", place.p[0] >= '0' && place.p[0] <= '9' ? "CPU" : "",
			       (int)AIF_MIN(place.len, (size_t)100), place.p);
	d.name = aif_builder_puts(x->b, aif_buf_str(&name));
	d.vendor = d.driver = AIF_NONE;
	d.runtime = aif_builder_puts(x->b, "perf stat");
	x->b->failed |= aif_buf_failed(&name);
	aif_buf_finish(&name);
	if (aif_map_get(&x->devices, d.name, &id))
		return (uint32_t)id;
	id = aif_builder_device(x->b, &d);
	x->b->failed |= aif_map_put(&x->devices, d.name, id) < 0;
	return (uint32_t)id;
}

static void uncounted(struct stats *x, const struct aif_perf_stat_line *l)
{
	if (x->uncounted_len++ < NAMED)
		aif_buf_printf(&x->uncounted, "%s%.*s (%s)", x->uncounted_len > 1 ? ", " : "",
			       (int)AIF_MIN(l->event.len, (size_t)60), l->event.p,
			       l->is_supported ? "not counted" : "not supported");
}

static void counter(struct stats *x, const struct aif_perf_stat_line *l)
{
	struct aif_counter_row *row;

	if (!l->is_known) {
		uncounted(x, l);
		return;
	}
	row = aif_builder_counter(x->b);
	if (!row)
		return;
	x->scaled += l->running < 1;
	*row = (struct aif_counter_row){.time = l->time_ns,
					.value = l->value,
					.device = device_of(x, l->place),
					.name = string(x, l->event),
					.unit = l->unit.len ? string(x, l->unit) : AIF_NONE,
					.process = AIF_NONE};
}

static void line_add(struct stats *x, struct aif_perf_text line)
{
	struct aif_perf_stat_line l;

	aif_perf_stat_line(line, &l);
	switch (l.kind) {
	case AIF_PERF_STAT_COUNTER:
		counter(x, &l);
		x->lines.source->events++;
		break;
	case AIF_PERF_STAT_COMMAND:
		aif_builder_meta(x->b, "imported.command", "%.*s",
				 (int)AIF_MIN(l.event.len, (size_t)1000), l.event.p);
		break;
	case AIF_PERF_STAT_ELAPSED:
		x->elapsed_ns = l.value > 0 && l.value < 1e9 ? (uint64_t)(l.value * 1e9) : 0;
		break;
	case AIF_PERF_STAT_BAD:
		aif_lines_bad(&x->lines);
		break;
	case AIF_PERF_STAT_USER:
	case AIF_PERF_STAT_SYS:
	case AIF_PERF_STAT_PASSED:
		break;
	}
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct stats x = {.b = b, .lines = {.source = s}, .first = b->counters_len};
	struct aif_perf_text line;
	char *p;
	int r;

	(void)state;
	while ((r = aif_lines_next(&x.lines, &p, &line.len, err)) > 0 && !b->failed) {
		line.p = p;
		line_add(&x, line);
	}
	for (size_t i = x.first; i < b->counters_len; i++)
		if (!b->counters[i].time)
			b->counters[i].time = x.elapsed_ns;
	aif_builder_loss(b, AIF_REASON_IMPORT_UNCOUNTED, AIF_NONE,
			 aif_builder_puts(b, aif_buf_str(&x.uncounted)), x.uncounted_len);
	aif_builder_loss(b, AIF_REASON_IMPORT_SCALED, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(s->input)), x.scaled);
	if (x.uncounted_len)
		aif_builder_meta(b, "imported.not_kept",
				 "%" PRIu64 " values that perf could not count: %s%s",
				 x.uncounted_len, aif_buf_str(&x.uncounted),
				 x.uncounted_len > NAMED ? ", ..." : "");
	if (!r && (b->failed || aif_buf_failed(&x.uncounted)))
		r = aif_err_set(err, -ENOMEM, "%s: out of memory", aif_input_name(s->input));
	else if (!r && !s->events)
		r = aif_err_set(err, -ENODATA, "%s: no counter in it", aif_input_name(s->input));
	aif_lines_finish(&x.lines, b);
	aif_map_finish(&x.devices);
	aif_buf_finish(&x.uncounted);
	return r;
}

/* Looks for a counter; in text also for perf's heading, as other tables have numbers and words, too. */
static int probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	bool has_heading = false;

	for (unsigned lines = 0; at < end && lines < 200; lines++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct aif_perf_text line = {at, (size_t)((nl ? nl : end) - at)};
		struct aif_perf_stat_line l;

		at += line.len + 1;
		while (line.len && line.p[line.len - 1] == '\r')
			line.len--;
		if (memchr(line.p, '\0', line.len))
			return 0;
		aif_perf_stat_line(line, &l);
		has_heading |=
			l.kind == AIF_PERF_STAT_COMMAND ||
			(line.len > 20 && memmem(line.p, line.len, "counts unit events", 18));
		if (l.kind == AIF_PERF_STAT_BAD)
			return 0;
		if (l.kind == AIF_PERF_STAT_COUNTER)
			/* perf says how long it counted; stacks joined by ; may begin with a number. */
			return l.form == AIF_PERF_STAT_TEXT   ? (has_heading ? 9 : 0)
			       : l.running_ns || !l.is_known  ? 9
			       : l.form == AIF_PERF_STAT_JSON ? 3
							      : 0;
	}
	return 0;
}

const struct aif_importer aif_importer_perf_stat = {
	.name = "perf stat",
	.summary = "what `perf stat` prints, as text, with -x or -j: counters",
	.probe = probe,
	.read = read_file,
};
