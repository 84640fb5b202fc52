/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/file.h"

#include "import/lines.h"
#include "import/perf_stat_line.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Events that are named of those that are not known. */
#define NAMED 8

/* Returns the event without its PMU and its modifiers: "cpu_core/cycles/u", "cycles:u" are "cycles". */
static struct aif_perf_text plain(struct aif_perf_text t)
{
	static const char *const pmus[] = {"cpu/", "cpu_core/", "cpu_atom/"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(pmus); i++) {
		size_t n = strlen(pmus[i]);

		if (t.len > n && !memcmp(t.p, pmus[i], n)) {
			const char *end = memchr(t.p + n, '/', t.len - n);

			return (struct aif_perf_text){t.p + n,
						      end ? (size_t)(end - t.p) - n : t.len - n};
		}
	}
	for (size_t i = 0; i < t.len; i++)
		if (t.p[i] == ':')
			t.len = i;
	return t;
}

/* Finds the event; false: it is none that aiflame stat counts. */
static bool find(struct aif_perf_text name, enum aif_stat_event *ret)
{
	static const struct {
		const char *name;
		enum aif_stat_event event;
	} others[] = {
		{"cpu-cycles", AIF_STAT_CYCLES},         {"branch-instructions", AIF_STAT_BRANCHES},
		{"faults", AIF_STAT_PAGE_FAULTS},        {"cs", AIF_STAT_CONTEXT_SWITCHES},
		{"migrations", AIF_STAT_CPU_MIGRATIONS},
	};

	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++)
		if (aif_perf_is(name, aif_stat_event_name((enum aif_stat_event)e))) {
			*ret = (enum aif_stat_event)e;
			return true;
		}
	for (size_t i = 0; i < AIF_ARRAY_LEN(others); i++)
		if (aif_perf_is(name, others[i].name)) {
			*ret = others[i].event;
			return true;
		}
	return false;
}

static void counter(struct aif_stat_file *f, const struct aif_perf_stat_line *l)
{
	struct aif_stat_value *v;
	enum aif_stat_event e;

	if (!find(plain(l->event), &e)) {
		if (f->others_len++ < NAMED)
			aif_buf_printf(&f->others, "%s%.*s", f->others_len > 1 ? ", " : "",
				       (int)AIF_MIN(l->event.len, (size_t)60), l->event.p);
		return;
	}
	f->events |= UINT64_C(1) << e;
	v = &f->run.values[e];
	if (!l->is_known) {
		v->error = v->error ? v->error : l->is_supported ? EBUSY : ENOENT;
		return;
	}
	v->is_known = true;
	v->value += e == AIF_STAT_TASK_CLOCK ? 1e6 * l->value : l->value;
	/* A CSV of ours says 0 where perf has not counted. */
	if (l->form == AIF_PERF_STAT_CSV && !l->running_ns && l->running >= 1)
		return;
	/* Text says only the share: it stands for 1 s. */
	v->is_share |= !l->running_ns;
	v->running_ns += l->running_ns ? l->running_ns : (uint64_t)(1e9 * l->running);
	v->enabled_ns += l->running_ns && l->running > 0
				 ? (uint64_t)AIF_MIN((double)l->running_ns / l->running, 0x1p60)
			 : l->running_ns ? l->running_ns
					 : 1000000000;
}

static void line_add(struct aif_stat_file *f, const struct aif_perf_stat_line *l)
{
	switch (l->kind) {
	case AIF_PERF_STAT_COUNTER:
		counter(f, l);
		break;
	case AIF_PERF_STAT_COMMAND:
		f->command.len = 0;
		aif_buf_append(&f->command, l->event.p, AIF_MIN(l->event.len, (size_t)4096));
		break;
	case AIF_PERF_STAT_ELAPSED:
		f->run.usage[AIF_STAT_ELAPSED] = l->value;
		break;
	case AIF_PERF_STAT_USER:
		f->run.usage[AIF_STAT_USER] = l->value;
		break;
	case AIF_PERF_STAT_SYS:
		f->run.usage[AIF_STAT_SYS] = l->value;
		break;
	case AIF_PERF_STAT_BAD:
		f->bad_lines++;
		break;
	case AIF_PERF_STAT_PASSED:
		break;
	}
}

int aif_stat_file_read(struct aif_stat_file *f, const char *path, struct aif_err *err)
{
	const struct aif_import_opts opts = {0};
	struct aif_import_source source = {.opts = &opts};
	struct aif_lines lines = {.source = &source};
	struct aif_perf_text line;
	struct aif_perf_stat_line l;
	char *p;
	int r = aif_input_open(path, 0, &source.input, err);

	*f = (struct aif_stat_file){0};
	for (unsigned i = 0; i < AIF_STAT_USAGES; i++)
		f->run.usage[i] = NAN;
	while (!r) {
		r = aif_lines_next(&lines, &p, &line.len, err);
		if (r <= 0)
			break;
		line.p = p;
		aif_perf_stat_line(line, &l);
		line_add(f, &l);
		r = 0;
	}
	if (!r && (aif_buf_failed(&f->command) || aif_buf_failed(&f->others)))
		r = aif_err_set(err, -ENOMEM, "stat: out of memory");
	if (!r && !f->events)
		r = aif_err_set(err, -ENODATA,
				"%s: no counter of aiflame stat in it; give what perf stat or "
				"aiflame stat wrote, as text, with -x or -j",
				aif_input_name(source.input));
	f->bad_lines += lines.bad;
	aif_buf_finish(&lines.buf);
	if (source.input)
		aif_input_close(source.input);
	if (r < 0)
		aif_stat_file_finish(f);
	return r;
}

void aif_stat_file_finish(struct aif_stat_file *f)
{
	aif_buf_finish(&f->command);
	aif_buf_finish(&f->others);
}
