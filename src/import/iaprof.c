/* SPDX-License-Identifier: Apache-2.0 */
#include "text/iaprof_text.h"
#include "import/import.h"
#include "import/synthetic_timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * iaprof's text: EU-stall samples of Intel's GPUs by launch stack, instruction and reason. How long a kernel ran it does
 * not say: a sample counts as 1 ns, or as what --count says. All samples of a stack's kernel that follow one
 * another are one execution.
 */

#define PROCESSES_MAX 4096

struct iaprof_process {
	uint64_t pid;
	uint32_t process, thread, stream;
};
struct iaprof_sample {
	uint32_t frame, reason;
	uint64_t count;
};
/* A value of a counter. The counter's device may follow only later. */
struct iaprof_metric {
	uint64_t at, end_ns; /* where it is placed beside samples; when its interval ended */
	double value;
	uint32_t name, unit;
};
struct iaprof {
	struct aif_synthetic_timeline timeline;
	struct aif_import_source *source;
	AIF_TABLE(iaprof_process, processes);
	AIF_TABLE(iaprof_sample, samples); /* of the kernel at hand */
	uint64_t interval, pid, address, total;
	uint32_t stack, kernel; /* its strings in .texts, AIF_STR_NONE: none yet */
	struct aif_strset texts, places;
	struct aif_map frames; /* of .places -> frame */
	AIF_TABLE(iaprof_metric, metrics);
	uint64_t metrics_interval, too_many;
	uint64_t nameless, crowded; /* samples */
	uint32_t device;
	bool is_crowded;       /* the process at hand is one too many */
	struct aif_map *files; /* by kernel, of all files of the run */
};

static uint32_t stack_of(struct iaprof *x, const char *text)
{
	uint32_t at = AIF_NONE;

	while (*text) {
		size_t n = strcspn(text, ";");

		if (n)
			at = aif_builder_stack(
				x->timeline.b, at,
				aif_synthetic_timeline_host_frame(&x->timeline, text, n), 0);
		text += n + (text[n] == ';');
	}
	return at;
}

static int process_switch(struct iaprof *x, uint64_t pid, const char *comm)
{
	struct aif_synthetic_timeline *l = &x->timeline;
	struct iaprof_process *p = NULL;
	struct aif_stream stream = {.device = x->device};

	for (size_t i = 0; i < x->processes_len && !p; i++)
		if (x->processes[i].pid == pid)
			p = &x->processes[i];
	/* More than a machine has: those that follow are as the first. */
	x->is_crowded = !p && x->processes_len >= PROCESSES_MAX;
	if (x->is_crowded)
		p = x->processes;
	if (p) {
		l->process = p->process;
		l->thread = p->thread;
		l->stream = p->stream;
		l->device = x->device;
		return 0;
	}
	if (aif_grow(&x->processes, &x->processes_cap, x->processes_len + 1, sizeof(*p)) < 0)
		return -ENOMEM;
	aif_synthetic_timeline_begin(l, *comm ? comm : "[unknown process]");
	if (l->b->failed)
		return -ENOMEM;
	l->b->p.processes[l->process].pid = (uint32_t)pid;
	l->b->p.threads[l->thread].tid = (uint32_t)pid;
	if (x->device == AIF_NONE) {
		aif_synthetic_timeline_make_device(l, "Intel GPU");
		x->device = l->device;
	} else {
		stream.process = l->process;
		l->device = x->device;
		l->stream = aif_builder_stream(l->b, &stream);
	}
	x->processes[x->processes_len++] = (struct iaprof_process){
		.pid = pid, .process = l->process, .thread = l->thread, .stream = l->stream};
	return 0;
}

/* The kernel at hand is over. */
static int flush(struct iaprof *x)
{
	const struct aif_import_opts *o = x->source->opts;
	uint64_t ns;
	const char *text;
	uint32_t stack, kernel;
	size_t len;
	int r;

	if (!x->samples_len)
		return 0;
	text = aif_strset_get(&x->texts, x->stack, &len);
	stack = stack_of(x, text);
	text = aif_strset_get(&x->texts, x->kernel, &len);
	kernel = aif_builder_str(x->timeline.b, text, len);
	if (__builtin_mul_overflow(x->total, o->count_ns ? o->count_ns : 1, &ns))
		r = -ERANGE;
	else
		r = aif_synthetic_timeline_device(&x->timeline, stack, AIF_LAUNCH_KERNEL, kernel,
						  ns);
	if (r == -ERANGE) {
		x->too_many++;
		r = 0;
	} else {
		for (size_t i = 0; !r && i < x->samples_len; i++)
			r = aif_synthetic_timeline_sample(&x->timeline, x->samples[i].frame,
							  x->samples[i].reason,
							  x->samples[i].count);
	}
	x->samples_len = 0;
	x->total = 0;
	return r;
}

/* The first file that a kernel was found in; program_of() makes it what the kernel was built from. */
static void file_of(struct iaprof *x, uint32_t name, const char *file)
{
	struct aif_builder *b = x->timeline.b;
	uint32_t kernel = aif_builder_kernel(b, name);

	if (*file && !aif_map_get(x->files, kernel, NULL))
		b->failed |= aif_map_put(x->files, kernel, aif_builder_puts(b, file)) < 0;
}

/* An instruction of a kernel: its text is the frame's name. */
static uint32_t place_of(struct iaprof *x, uint32_t kernel, uint64_t offset, const char *text)
{
	struct aif_builder *b = x->timeline.b;
	uint32_t name = aif_builder_puts(b, text), id;
	struct aif_frame f = {.kind = AIF_FRAME_DEVICE};
	char key[64];
	uint64_t frame;

	/* Keeps the offset below AIF_ADDRESS_UNKNOWN, which would make the frame the function of
	 * that name. */
	offset = AIF_MIN(offset, AIF_ADDRESS_UNKNOWN - 1);
	snprintf(key, sizeof(key), "%" PRIu32 " %" PRIx64 " %" PRIu32, kernel, offset, name);
	id = aif_strset_puts(&x->places, key);
	if (id == AIF_STR_NONE || aif_map_get(&x->frames, id, &frame))
		return id == AIF_STR_NONE ? AIF_NONE : (uint32_t)frame;
	f.address = offset;
	f.module = aif_builder_device_module(b, aif_builder_kernel(b, kernel));
	frame = aif_builder_named_frame(b, &f, *text ? name : kernel, AIF_NONE, 0);
	return aif_map_put(&x->frames, id, frame) < 0 ? AIF_NONE : (uint32_t)frame;
}

static int on_sample(void *arg, const struct aif_iaprof_sample *s)
{
	struct iaprof *x = arg;
	const char *symbol = *s->symbol ? s->symbol : "[unknown shader]";
	uint32_t stack = aif_strset_puts(&x->texts, s->stack),
		 kernel = aif_strset_puts(&x->texts, symbol), frame, name;
	int r = 0;

	if (stack != x->stack || kernel != x->kernel || s->interval != x->interval ||
	    s->pid != x->pid || s->address != x->address || !x->processes_len) {
		r = flush(x);
		if (!r)
			r = process_switch(x, s->pid, s->comm);
		x->stack = stack;
		x->kernel = kernel;
		x->interval = s->interval;
		x->pid = s->pid;
		x->address = s->address;
	}
	x->source->events++;
	name = aif_builder_puts(x->timeline.b, symbol);
	file_of(x, name, s->file);
	/* A sample of a kernel without name, instruction and offset has no place in it. */
	frame = *s->symbol || *s->instruction || s->offset
			? place_of(x, name, s->offset, s->instruction)
			: aif_synthetic_timeline_inside(&x->timeline, name, "", 0, false);
	if (r < 0 || frame == AIF_NONE || x->timeline.b->failed)
		return r < 0 ? r : -ENOMEM;
	for (unsigned i = 0; i < AIF_IAPROF_COUNTS; i++) {
		struct iaprof_sample sample = {.frame = frame, .count = s->counts[i]};

		if (!sample.count)
			continue;
		/* A minute of all units of a GPU is less; and counts have 32 bits where they are shared out. */
		if (sample.count > UINT32_MAX) {
			x->too_many++;
			continue;
		}
		sample.reason = aif_builder_puts(x->timeline.b, aif_iaprof_count_name(i));
		if (aif_grow(&x->samples, &x->samples_cap, x->samples_len + 1, sizeof(sample)) < 0)
			return -ENOMEM;
		x->samples[x->samples_len++] = sample;
		x->total += sample.count;
		x->nameless += s->is_nameless ? sample.count : 0;
		x->crowded += x->is_crowded ? sample.count : 0;
	}
	return 0;
}

static int on_metric(void *arg, const struct aif_iaprof_metric *m)
{
	struct iaprof *x = arg;
	const char *dash = strrchr(m->name, '-'), *unit = dash ? dash + 1 : "";
	struct aif_builder *b = x->timeline.b;
	uint64_t last = x->metrics_len ? x->metrics[x->metrics_len - 1].at : 0;
	int r = flush(x);

	if (!r)
		r = aif_grow(&x->metrics, &x->metrics_cap, x->metrics_len + 1, sizeof(*x->metrics));
	if (r < 0)
		return r;
	/* Intervals without a sample between them stay two. */
	if (x->metrics_len)
		x->timeline.at = AIF_MAX(x->timeline.at,
					 last + (m->interval != x->metrics_interval ? 1 : 0));
	x->metrics_interval = m->interval;
	x->metrics[x->metrics_len++] = (struct iaprof_metric){
		.at = x->timeline.at,
		.end_ns = m->end_ns,
		.value = (double)m->value,
		.name = aif_builder_puts(b, m->name),
		.unit = *unit ? aif_builder_puts(b, strcmp(unit, "percent") != 0 ? unit : "%")
			      : AIF_NONE};
	return b->failed ? -ENOMEM : 0;
}

static int probe(const uint8_t *head, size_t len)
{
	static const char *const words[] = {"string\t", "interval\t",       "kernel\t", "eustall\t",
					    "metric\t", "interval_start\t", "e\t"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if (len > strlen(words[i]) && !memcmp(head, words[i], strlen(words[i])))
			return 10;
	return 0;
}

/* `has_samples`: what is in the file has no times of its own then. */
static void losses_report(struct iaprof *x, const struct aif_iaprof_reader *reader,
			  bool has_samples)
{
	struct aif_builder *b = x->timeline.b;
	const char *name = aif_input_name(x->source->input);
	uint32_t file = aif_builder_puts(b, name);
	char text[400];

	snprintf(text, sizeof(text), "%s, first: line %" PRIu64, name, reader->first_bad);
	if (reader->bad)
		aif_builder_loss(b, AIF_REASON_IMPORT_LINE, AIF_NONE, aif_builder_puts(b, text),
				 reader->bad);
	aif_builder_loss(b, AIF_REASON_IMPORT_NAME, AIF_NONE, file, x->nameless);
	aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE, file, x->too_many);
	aif_builder_loss(b, AIF_REASON_IMPORT_CROWDED, AIF_NONE, file, x->crowded);
	aif_builder_loss(b, AIF_REASON_IMPORT_TORN, AIF_NONE, file,
			 aif_input_is_torn(x->source->input));
	aif_builder_loss(b, AIF_REASON_IMPORT_UNTIMED, AIF_NONE, file, has_samples);
}

/* Adds counters: without samples beside them they have the times of their intervals. */
static int metrics_put(struct iaprof *x, bool is_alone)
{
	uint64_t at = 0, first = x->metrics_len ? x->metrics[0].end_ns : 0;
	int r = 0;

	if (x->metrics_len && x->device == AIF_NONE)
		r = process_switch(x, 0, "");
	if (r < 0)
		return r;
	for (size_t i = 0; i < x->metrics_len; i++) {
		struct aif_counter_row *row = aif_builder_counter(x->timeline.b);

		if (!row)
			return -ENOMEM;
		if (x->metrics[i].end_ns > first)
			at = AIF_MAX(at, AIF_MIN(x->metrics[i].end_ns - first,
						 AIF_SYNTHETIC_TIMELINE_MAX));
		*row = (struct aif_counter_row){.time = is_alone ? at : x->metrics[i].at,
						.value = x->metrics[i].value,
						.device = x->device,
						.name = x->metrics[i].name,
						.unit = x->metrics[i].unit,
						.process = AIF_NONE};
	}
	return 0;
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct iaprof x = {.timeline = {.b = b}, .source = s, .device = AIF_NONE};
	struct aif_iaprof_reader reader = {.sink = {on_sample, on_metric, &x}};
	uint8_t block[16384];
	size_t before = b->execs_len;
	ssize_t n;
	int r = 0, r2;

	if (!*state)
		*state = calloc(1, sizeof(*x.files));
	x.files = *state;
	if (!x.files)
		return aif_err_set(err, -ENOMEM, "%s: out of memory", aif_input_name(s->input));
	for (size_t i = 0; i < b->execs_len; i++) /* of the files before it */
		x.timeline.at = AIF_MAX(x.timeline.at, b->execs[i].end);
	while ((n = aif_import_read(s, block, sizeof(block), err)) > 0) {
		r = aif_iaprof_read(&reader, block, (size_t)n);
		if (r < 0)
			break;
	}
	r2 = aif_iaprof_read_end(&reader);
	if (!r && n >= 0)
		r = r2 < 0 ? r2 : flush(&x);
	if (!r && n >= 0)
		r = metrics_put(&x, !b->execs_len);
	if (r < 0)
		aif_err_set(err, r, "%s: %s", aif_input_name(s->input), strerror(-r));
	if (n < 0)
		r = (int)n;
	if (!r)
		losses_report(&x, &reader, b->execs_len > before || !x.metrics_len);
	if (!r && s->opts->count_ns) /* else nobody knows */
		aif_builder_meta(b, "imported.count_ns", "%" PRIu64, s->opts->count_ns);
	if (!r && !reader.good)
		r = aif_err_set(err, -EBADMSG, "%s: none of its lines is iaprof's text%s",
				aif_input_name(s->input),
				s->opts->from ? "; leave out --from, or give another format" : "");
	else if (!r && !b->execs_len && !b->counters_len)
		r = aif_err_set(err, -ENODATA,
				"%s: it has no sample and no metric; was a GPU at work?",
				aif_input_name(s->input));
	aif_synthetic_timeline_finish(&x.timeline);
	aif_strset_finish(&x.texts);
	aif_strset_finish(&x.places);
	aif_map_finish(&x.frames);
	free(x.processes);
	free(x.samples);
	free(x.metrics);
	return r;
}

/* Not before: kernels are known by all that they are. */
static int program_of(struct aif_builder *b, uint32_t kernel, uint32_t file)
{
	struct aif_program program = {.process = 0,
				      .source = AIF_NONE,
				      .options = aif_builder_puts(b, ""),
				      .source_name = file};

	if (aif_grow(&b->p.programs, &b->p.programs_cap, b->p.programs_len + 1, sizeof(program)) <
	    0)
		return -ENOMEM;
	b->p.kernels[kernel].program = (uint32_t)b->p.programs_len;
	b->p.programs[b->p.programs_len++] = program;
	return 0;
}

static int finish(struct aif_builder *b, void *state, int r, struct aif_err *err)
{
	struct aif_map *files = state;
	uint64_t file;

	aif_builder_meta(b, "imported.rows", "samples");
	for (uint32_t i = 0; i < b->p.kernels_len && files && !r; i++)
		if (aif_map_get(files, i, &file))
			r = program_of(b, i, (uint32_t)file);
	if (r == -ENOMEM)
		aif_err_set(err, r, "iaprof: out of memory");
	if (files)
		aif_map_finish(files);
	free(files);
	return r;
}

const struct aif_importer aif_importer_iaprof = {
	.name = "iaprof",
	.summary = "iaprof's text: EU-stall samples of Intel's GPUs",
	.uses = AIF_IMPORT_USES_COUNT,
	.probe = probe,
	.read = read_file,
	.finish = finish,
};
