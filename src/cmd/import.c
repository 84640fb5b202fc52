/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/traits.h"
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "cmd/stop.h"
#include "import/import.h"
#include "probe/perf_text.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct values {
	const char *output;
	uint64_t limit, count_ns;
	const char *event;
	int as, from; /* from: 0, or the number of an importer, from 1 */
	bool quiet;
};
#define AIF_IMPORTER(name, word) "|" word
static const char formats[] = "auto"
#include "import/importers.def"
	;
static const struct aif_opt opts[] = {
	{'o', "output", "FILE", AIF_OPT_STRING, offsetof(struct values, output), 0,
	 "the profile to write (aiflame.data); an existing profile becomes FILE.old, any "
	 "other file is refused"},
	{0, "from", formats, AIF_OPT_CHOICE, offsetof(struct values, from), 0,
	 "the format, where it is not recognised: chrome is any Chrome trace, "
	 "torch.profiler's too; sqlite is nsys's or rocpd's; perf is perf script's text, which "
	 "perf makes of its own file (auto)"},
	{0, "as", "marked|cpu|device", AIF_OPT_CHOICE, offsetof(struct values, as), 0,
	 "what the stacks of folded text, speedscope and pprof count: marked, device time of "
	 "stacks with a frame of the device (folded: it ends with _[g]) and CPU time of the "
	 "others; cpu and device, the same for all stacks; with device the last frame is the "
	 "kernel where no frame is marked (marked)"},
	{0, "count", "TIME", AIF_OPT_TIME, offsetof(struct values, count_ns), 1,
	 "the time that one count stands for, or one sample of iaprof (1ns), of perf or of "
	 "nsys (as the file says or suggests): 10ms for samples taken at 100 Hz"},
	{'q', "quiet", NULL, AIF_OPT_FLAG, offsetof(struct values, quiet), 0,
	 "print no progress and no summary"},
	{0, "event", "NAME", AIF_OPT_STRING, offsetof(struct values, event), 0,
	 "the event to import of perf's files with several (a clock, else cycles or another "
	 "that follows time, else the one with the most samples)"},
	{0, "limit", "SIZE", AIF_OPT_BYTES, offsetof(struct values, limit), 1,
	 "the most that a packed file may unpack to (64G, and 250 times its size)"},
	{0},
};
static const struct values defaults = {.output = AIF_DEFAULT_FILE};

struct live {
	const volatile sig_atomic_t *stopped;
	struct aif_redraw line;
	struct aif_perf_text_child perf;
};

static int perf_start(void *arg, const char *path, struct aif_err *err)
{
	struct live *live = arg;

	return aif_perf_text_start(&live->perf, path, err);
}

static int perf_end(void *arg, const char *path, bool is_whole, struct aif_err *err)
{
	struct live *live = arg;

	return aif_perf_text_end(&live->perf, path, is_whole, err);
}

static int progress(void *arg, const struct aif_import_progress *p)
{
	struct live *live = arg;
	struct aif_buf file = {0};

	if (*live->stopped)
		return -1;
	if (!p->file || !aif_redraw_is_due(&live->line))
		return 0;
	aif_name_sanitize(p->file, strlen(p->file), &file);
	if (p->size)
		fprintf(stderr, "\raiflame: %s: %" PRIu64 " %%, %" PRIu64 " events\033[K",
			aif_buf_str(&file), p->done * 100 / p->size, p->events);
	else
		fprintf(stderr, "\raiflame: %s: %" PRIu64 " MB, %" PRIu64 " events\033[K",
			aif_buf_str(&file), p->done >> 20, p->events);
	aif_buf_finish(&file);
	fflush(stderr);
	return 0;
}

/* Appends the commands that show something of this file. */
static void next(const struct aif_builder *b, const char *path, struct aif_buf *out)
{
	bool has_device = b->execs_len, has_cpu = b->waits_len, has_operators = false,
	     has_ranges = false;
	const char *before = "Next: ";

	for (size_t i = 0; i < b->ops_len && !(has_operators && has_ranges); i++) {
		has_operators |= b->ops[i].kind == AIF_OP_OPERATOR;
		has_ranges |= b->ops[i].kind == AIF_OP_RANGE;
	}
	const struct {
		bool is_there;
		const char *command;
	} commands[] = {
		{has_device, "aiflame flame"},
		{has_device, "aiflame report --kernels"},
		{has_operators, "aiflame report --ops"},
		{!has_device && has_cpu, "aiflame flame --of cpu"},
		{has_ranges, "aiflame report --ranges"},
		{b->counters_len, "aiflame report --counters"},
		{!has_device && !has_operators, "aiflame info"},
	};

	if (!has_device)
		aif_buf_puts(out, "Nothing in it ran on a device.\n");
	for (size_t i = 0; i < AIF_ARRAY_LEN(commands); i++) {
		if (!commands[i].is_there)
			continue;
		aif_buf_printf(out, "%s%s ", before, commands[i].command);
		aif_buf_shell_path(out, path);
		before = "; ";
	}
	aif_buf_putc(out, '\n');
}

/* Warns of files that may not belong together: other results from them may be wrong. */
static void warn(const struct aif_profile *p, struct aif_buf *out)
{
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];
		const struct aif_reason_info *info = aif_reason_info((int)l->reason);

		if (l->reason != AIF_REASON_IMPORT_APART &&
		    l->reason != AIF_REASON_IMPORT_UNDATED &&
		    l->reason != AIF_REASON_IMPORT_RANK_TWICE &&
		    l->reason != AIF_REASON_IMPORT_WORLD)
			continue;
		aif_buf_puts(out, "Warning: ");
		aif_reason_say(info, l->count, out);
		aif_buf_printf(out, " (%s); %s\n", aif_profile_str(p, l->detail), info->fix);
	}
}

/* Appends the samples of other events, which the user may have wanted instead. */
static void left_out(const struct aif_profile *p, struct aif_buf *out)
{
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];

		if (l->reason != AIF_REASON_IMPORT_OTHER_EVENT)
			continue;
		aif_buf_puts(out, "  left out: ");
		aif_human_counted(out, l->count, "sample");
		aif_buf_printf(out, " of other events than %s: %s; --event chooses one\n",
			       aif_profile_meta(p, "imported.event"),
			       aif_profile_str(p, l->detail));
	}
}

static void put_cpu(const struct aif_profile *p, uint64_t weight, struct aif_buf *out)
{
	aif_cpu_weight_say(p, weight, out);
	if (!aif_cpu_counts(p))
		aif_buf_puts(out, p->traits.cpu_weights == AIF_CPU_WEIGHTS_SPANS ? " in spans"
				  : p->traits.cpu_weights == AIF_CPU_WEIGHTS_WALL
					  ? " of wall-clock time"
					  : " of CPU time");
}

/* Appends a fact from the file. Its text may have several lines. */
static void put_fact(const char *of, const char *key, const char *value, struct aif_buf *out)
{
	aif_buf_printf(out, "  %s", of);
	aif_name_sanitize(key, strlen(key), out);
	aif_buf_puts(out, ": ");
	aif_name_sanitize(value, strlen(value), out);
	aif_buf_putc(out, '\n');
}

/* Appends what could not be taken as it stands in the file: the most, and where the rest is said. */
static void put_losses(const struct aif_profile *p, const char *path, struct aif_buf *out)
{
	const struct aif_loss *most = NULL;
	size_t others = 0;

	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];

		/* Events of other kinds have a line above. */
		if (!aif_reason_info((int)l->reason) || !l->count ||
		    l->reason == AIF_REASON_IMPORT_OTHER_KIND)
			continue;
		others++;
		if (!most || l->count > most->count)
			most = l;
	}
	if (!most)
		return;
	aif_buf_puts(out, "  not as in the file: ");
	/* Leaves out the number of a degradation: its sentence has none. */
	if (aif_reason_info((int)most->reason)->is_loss) {
		aif_human_count(out, most->count);
		aif_buf_putc(out, ' ');
	}
	aif_reason_say(aif_reason_info((int)most->reason), most->count, out);
	if (others > 1)
		aif_buf_printf(out, "; and %zu more", others - 1);
	aif_buf_puts(out, ": aiflame info ");
	aif_buf_shell_path(out, path);
	aif_buf_putc(out, '\n');
}

/* Prints how long the profile is, and of how many processes; of counters alone how many values they have. */
static void put_length(const struct aif_builder *b, uint64_t samples, uint64_t cpu_ns,
		       struct aif_buf *out)
{
	bool is_samples = b->samples_len && b->p.traits.times_unknown;
	/* Counts have no length in time. */
	bool is_counts = b->p.traits.is_lengths && !is_samples && aif_cpu_counts(&b->p);

	if (!samples && !b->ops_len && !b->execs_len && !cpu_ns && b->counters_len) {
		aif_human_counted(out, b->counters_len, "value");
		aif_buf_puts(out, " of counters");
		return;
	}
	if (is_samples)
		aif_human_counted(out, samples, "sample");
	else if (!is_counts)
		aif_human_ns(out, b->p.end_ns - b->p.start_ns);
	aif_buf_puts(out, is_counts ? "" : " of ");
	aif_human_count(out, b->p.processes_len);
	aif_buf_puts(out, b->p.processes_len == 1 ? " process" : " processes");
	aif_buf_puts(out, is_samples && !cpu_ns ? "" : ": ");
}

/* Prints what the import has read, and what to look at next: on standard error, as after a
 * recording. */
static void summary(const struct aif_builder *b, const char *path)
{
	struct aif_buf out = {0}, shown = {0};
	uint64_t kernels = 0, memory = 0, copies, kernel_ns = 0, copy_ns = 0, cpu_ns = 0;
	const char *read = aif_profile_meta(&b->p, "imported.events");
	bool is_lengths = b->p.traits.is_lengths;
	bool is_samples = b->samples_len && b->p.traits.times_unknown;
	uint64_t samples = 0;

	for (size_t i = 0; i < b->execs_len; i++) {
		bool is_kernel = b->execs[i].kind == AIF_LAUNCH_KERNEL;

		kernels += is_kernel;
		memory += aif_launch_is_memory(b->execs[i].kind);
		*(is_kernel ? &kernel_ns : &copy_ns) += b->execs[i].end - b->execs[i].start;
	}
	for (size_t i = 0; i < b->waits_len; i++)
		cpu_ns += b->waits[i].weight;
	aif_name_sanitize(path, strlen(path), &out);
	aif_buf_puts(&out, ": ");
	for (size_t i = 0; i < b->samples_len; i++)
		samples += b->samples[i].count;
	put_length(b, samples, cpu_ns, &out);
	if (!is_lengths && (b->ops_len || b->execs_len)) {
		aif_human_count(&out, b->ops_len);
		aif_buf_puts(&out, b->ops_len == 1 ? " operator or call" : " operators and calls");
	}
	if (!is_lengths && b->execs_len) {
		aif_buf_puts(&out, ", ");
		aif_human_count(&out, kernels);
		aif_buf_puts(&out, kernels == 1 ? " kernel of " : " kernels of ");
		aif_human_ns(&out, kernel_ns);
		aif_buf_puts(&out, ", ");
		copies = b->execs_len - kernels - memory;
		aif_human_count(&out, copies);
		aif_buf_puts(&out, copies == 1 ? " copy or fill" : " copies and fills");
		if (memory) {
			aif_buf_puts(&out, ", ");
			aif_human_count(&out, memory);
			aif_buf_puts(&out, memory == 1 ? " allocation or release"
						       : " allocations and releases");
		}
	}
	if (is_lengths && !is_samples && b->execs_len) {
		aif_human_ns(&out, kernel_ns);
		aif_buf_puts(&out, " of kernels, ");
		aif_human_ns(&out, copy_ns);
		aif_buf_puts(&out, " of copies and fills");
	}
	if (cpu_ns) {
		if (!is_samples && (b->ops_len || b->execs_len))
			aif_buf_puts(&out, ", ");
		put_cpu(&b->p, cpu_ns, &out);
	}
	aif_buf_puts(&out, "\n");
	for (size_t i = 0; i < b->p.meta_len; i++) {
		const char *key = aif_profile_str(&b->p, b->p.meta[i].key);

		if (!strncmp(key, "aiu.", 4))
			put_fact("AIU runtime, ", key + 4,
				 aif_profile_str(&b->p, b->p.meta[i].value), &out);
	}
	left_out(&b->p, &out);
	if (strstr(read, " of other kinds ("))
		put_fact("", "events", read, &out);
	warn(&b->p, &out);
	put_losses(&b->p, path, &out);
	next(b, path, &out);
	aif_name_sanitize_lines(out.data, out.len, &shown);
	fputs(aif_buf_str(&shown), stderr);
	aif_buf_finish(&shown);
	aif_buf_finish(&out);
}

static int check(char **words, int n, const char *output, struct aif_err *err)
{
	struct aif_err place = {0};
	int r;

	if (!*output)
		return aif_err_set(err, -EINVAL, "import: -o: the name is empty; give one");
	for (int i = 0; i < n; i++) {
		if (strcmp(words[i], "-") && aif_view_is_same_file(words[i], output))
			return aif_err_set(err, -EINVAL,
					   "import: %s would overwrite itself; choose "
					   "another -o",
					   words[i]);
		for (int j = 0; j < i; j++)
			if (!strcmp(words[i], words[j]))
				return aif_err_set(err, -EINVAL,
						   "import: %s is given twice; name each file once",
						   words[i]);
	}
	/* Not only after hours of reading. */
	r = aif_profile_check_place(output, &place);
	return r < 0 ? aif_err_set(err, r, "import: %s", place.text) : 0;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct live live = {.line = aif_redraw_begin(!v->quiet)};
	struct aif_import_opts o = {.folded = (enum aif_import_as)v->as,
				    .count_ns = v->count_ns,
				    .limit = v->limit,
				    .event = v->event,
				    .from = v->from ? aif_importers[v->from - 1] : NULL,
				    .progress = progress,
				    .perf_start = perf_start,
				    .perf_end = perf_end,
				    .arg = &live,
				    .scratch = aif_stop_scratch()};
	struct aif_builder b = {0};
	int r = check(words, words_len, v->output, err), stopped;

	if (r < 0)
		return AIF_EXIT_USAGE;
	live.stopped = aif_stop_begin();
	r = aif_import_files((const char *const *)words, (size_t)words_len, v->output, &o, &b, err);
	stopped = aif_stop_end();
	aif_redraw_end(&live.line);
	if (!r && !v->quiet)
		summary(&b, v->output);
	aif_builder_finish(&b);
	if (r == -EINTR && stopped)
		return 128 + stopped;
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_import = {
	.name = "import",
	.words = "FILE...",
	.summary = "make a profile of another profiler's file",
	.description =
		"Makes a profile for all of aiflame's views from what torch.profiler wrote\n"
		"(Kineto's JSON: CUDA, ROCm, XPU, HPU, MTIA, and PrivateUse1 devices such as\n"
		"IBM's AIU). Files may be plain or packed by gzip or zstd; - is standard input.\n"
		"Several files are the ranks of one job: they become one profile with their\n"
		"clocks aligned; --process 'python3 (rank 1)' selects one of them.\n\n"
		"Other formats, recognised by their content:\n"
		"  unitrace's Chrome trace          Level Zero and OpenCL on Intel's GPUs\n"
		"  nsys's export to SQLite          CUDA calls, kernels, ranges, call chains, CPU samples\n"
		"  rocprofv3's rocpd (SQLite)       HIP calls, kernels, copies, markers; the older rpd\n"
		"  perf.data, perf script's text    CPU samples with their stacks\n"
		"  pprof, speedscope                of any program, and what aiflame export wrote\n"
		"  CSV of VTune and Advisor         CPU time of functions, call stacks, loops\n"
		"  Chrome traces of other programs  spans of threads\n"
		"  folded stacks, iaprof's text     \"frame;frame COUNT\"; EU-stall samples\n\n"
		"Stacks with counts have no times: widths are right, but when something ran is\n"
		"not known. --as and --count say what they count. Of perf's files one event is\n"
		"imported, and a message says what is left out; --event selects another. If a\n"
		"format is not recognised, name it with --from.\n\n"
		"Truncated or damaged files are read as far as they are intact; `aiflame info`\n"
		"says what was lost and where. Ctrl-C leaves no file behind. See docs/import.md.",
	.examples = "aiflame import trace.json.gz -o run.data\tone trace\n"
		    "aiflame import rank*.json.gz -o job.data\tthe ranks of a job\n"
		    "xz -dc trace.json.xz | aiflame import - -o run.data\tfrom another program\n"
		    "aiflame import perf.data -o cpu.data\tCPU samples of perf\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 1,
	.max_words = -1,
	.run = run,
};
