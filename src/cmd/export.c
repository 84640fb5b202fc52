/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/selection.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/profile_arg.h"
#include "cmd/stop.h"
#include "cmd/message.h"
#include "export/exporter.h"

#include <errno.h>
#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FORMAT_BY_SUFFIX = -1 };

extern const struct aif_exporter aif_exporter_sqlite;

struct values {
	const char *input, *output;
	int format, detail;
	struct aif_selection_values choice;
	uint64_t max_bytes;
};

#define FORMATS_WORD(name)       "|" #name
#define AIF_EXPORTER_FIRST(name) #name
#define AIF_EXPORTER(name)       FORMATS_WORD(name)
static const char formats[] =
#include "export/exporters.def"
	;

#define AT(field)        offsetof(struct values, field)
#define CHOICE_AT(field) offsetof(struct values, choice.field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0, "the profile (aiflame.data)"},
	{'o', "output", "OUT", AIF_OPT_STRING, AT(output), 0,
	 "what to write, - is standard output (aiflame and the format's suffix)"},
	{0, "format", formats, AIF_OPT_CHOICE, AT(format), 0,
	 "the format, whatever the name (by the name; sqlite)"},
	AIF_CHOICE_OPTS(CHOICE_AT),
	AIF_OPTS_FURTHER,
	{0, "detail", "brief|normal|full", AIF_OPT_CHOICE, AT(detail), 0,
	 "how many frames of stacks to keep, as in aiflame flame (normal)"},
	AIF_CHOICE_FURTHER_OPTS(CHOICE_AT),
	AIF_VIEW_MAX_SIZE_OPT(AT(max_bytes)),
	{0},
};
static const struct values defaults = {.format = FORMAT_BY_SUFFIX, .detail = AIF_NAME_NORMAL};

/* Format where neither --format nor the output's name chooses one. */
static const struct aif_exporter *const usual = &aif_exporter_sqlite;

/* NULL with *err. */
static const struct aif_exporter *exporter_of(const struct values *v, struct aif_err *err)
{
	const struct aif_exporter *e = usual;
	struct aif_selection_values part = v->choice;

	if (v->format != FORMAT_BY_SUFFIX)
		e = aif_exporters[v->format];
	else if (v->output && strcmp(v->output, "-") != 0)
		e = aif_exporter_of(v->output);
	if (!e)
		aif_err_set(err, -EINVAL,
			    "export: the name %s does not imply a format; choose one with "
			    "--format %s",
			    v->output, formats);
	if (e && e->takes_kernel)
		part.kernel = NULL;
	if (e && e->takes_all && (aif_choice_is_set(&part) || v->detail != AIF_NAME_NORMAL)) {
		aif_err_set(err, -EINVAL,
			    "export: %s always holds all that was recorded; leave out "
			    "--detail and the options that select a part%s",
			    e->name, e->takes_kernel ? ", but --kernel" : "");
		return NULL;
	}
	return e;
}

/* Says what the profile has in part only: other viewers do not. */
static void say_lacks(const struct aif_profile *p, const char *path)
{
	struct aif_buf text = {0};

	if (aif_lacks_say(&p->traits, UINT_MAX, &text) && !aif_buf_failed(&text))
		aif_message("%s: %s (aiflame info)", path, aif_buf_str(&text));
	aif_buf_finish(&text);
}

/* Makes the directories of a trace that is called as PyTorch's TensorBoard plug-in wants it, as its handler of traces does.
 * What cannot be made is said when the file is. */
static void make_log_directory(const char *output)
{
	const char *name = strrchr(output, '/'), *at = name ? strstr(name, ".pt.trace.json") : NULL;
	char *path = at ? strdup(output) : NULL;

	for (char *slash = path ? strchr(path + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0777);
		*slash = '/';
	}
	free(path);
}

static int export(const struct values *v, const struct aif_exporter *e, const char *path,
		  const char *output, const volatile sig_atomic_t *stopped, struct aif_err *err)
{
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct aif_selection_args c = {0};
	uint64_t damaged = 0, left_out = 0;
	struct aif_export x = {.profile = &p,
			       .names = &names,
			       .kernel = v->choice.kernel,
			       .detail = (enum aif_name_detail)v->detail,
			       .max_bytes = v->max_bytes ? v->max_bytes : aif_view_max_size(path),
			       .stopped = stopped,
			       .ret_damaged = &damaged,
			       .ret_left_out = &left_out,
			       .scratch = aif_stop_scratch()};
	int r = aif_view_profile(path, &p, &names, err);

	aif_selection_note_name("--kernel", v->choice.kernel);
	if (!r)
		r = aif_selection_args_make(&v->choice, &p, &c, err);
	/* An imported trace has its ranges in its stacks. */
	if (!r && e->by_range && !p.traits.is_imported)
		r = aif_selection_args_by_range(&p, &c, err);
	x.sel = c.sel;
	if (!r) {
		make_log_directory(output);
		r = aif_export_write(e, &x, output, err);
	}
	if (r && !err->code)
		aif_profile_check(&p, path, err);
	if (damaged && r != -EINTR) /* as query has it */
		aif_message("%s: %" PRIu64 " %s missing%s%s", path, damaged,
			    damaged == 1 ? "part of it is damaged: what it held is"
					 : "parts of it are damaged: what they held is",
			    r ? "" : " in ",
			    r                     ? ""
			    : strcmp(output, "-") ? output
						  : "what was written");
	if (!r)
		say_lacks(&p, path);
	if (left_out && r == -ENODATA)
		aif_message(
			"%s: %" PRIu64
			" launches were left out (--overhead), and none was captured; record with "
			"--all-launches",
			path, left_out);
	else if (left_out && !r)
		aif_message("%s: %" PRIu64
			    " launches were left out (--overhead): %s has only those that were "
			    "captured",
			    path, left_out, strcmp(output, "-") ? output : "what was written");
	aif_selection_args_finish(&c);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	return r;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	const char *path = aif_view_path(v->input, words, words_len, err), *output;
	const struct aif_exporter *e;
	int r, stopped;

	if (!path)
		return AIF_EXIT_USAGE;
	if (v->output && !*v->output) {
		aif_err_set(err, -EINVAL, "export: -o: the name is empty; give one");
		return AIF_EXIT_USAGE;
	}
	e = exporter_of(v, err);
	if (!e)
		return AIF_EXIT_USAGE;
	output = v->output ? v->output : e->output;
	if (aif_view_is_same_file(path, output)) {
		aif_err_set(err, -EINVAL, "export: %s is the profile itself; choose another -o",
			    path);
		return AIF_EXIT_USAGE;
	}
	if (aif_output_check(output, err) < 0)
		return AIF_EXIT_FAILURE;
	r = export(v, e, path, output, aif_stop_begin(), err);
	stopped = aif_stop_end();
	if (r == -EINTR && stopped)
		return 128 + stopped;
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_export = {
	.name = "export",
	.words = "[FILE]",
	.summary = "write a profile in another viewer's format",
	.description =
		"Writes a profile so that other viewers open it. The format follows from the name\n"
		"after -o, or from --format. Stacks with the time attributed to them:\n"
		"  pprof        NAME.pb.gz            go tool pprof, Pyroscope\n"
		"  speedscope   NAME.speedscope.json  speedscope.app\n"
		"  otlp         NAME.otlp             OpenTelemetry profiles\n"
		"  folded       NAME.folded           flamegraph.pl, inferno\n"
		"Every launch and execution at its time:\n"
		"  chrome       NAME.json             chrome://tracing, readers of torch.profiler's traces\n"
		"  perfetto     NAME.pftrace          ui.perfetto.dev\n"
		"  firefox      NAME.firefox.json     profiler.firefox.com\n"
		"  tensorboard  a log directory       TensorBoard's Profile tab, XProf\n"
		"Samples of devices, by launch stack, instruction and reason:\n"
		"  iaprof       NAME.iaprof           readers of iaprof's text\n"
		"The tables that `aiflame query` shows:\n"
		"  csv          a directory           pandas, DuckDB, spreadsheets\n"
		"  sqlite       NAME.sqlite           sqlite3, Grafana, anything that reads SQLite\n"
		"The device binary that holds a sampled kernel (--kernel), as it was found:\n"
		"  elf          NAME.elf              readelf, iga64, cuobjdump, objdump\n\n"
		"A name with .gz is compressed; pprof always is. A file appears complete or not\n"
		"at all, also after Ctrl-C. Only pictures and exports of aiflame's are\n"
		"overwritten, no other file. docs/viewers.md says what each format contains.",
	.examples =
		"aiflame export --format pprof\tto aiflame.pb.gz, for go tool pprof -http=:\n"
		"aiflame export -o run.pftrace\tfor ui.perfetto.dev\n"
		"aiflame export -o run.speedscope.json --device H100\tof some devices, for speedscope.app\n"
		"aiflame export --format chrome -o run.json.gz\tTrace Event JSON, compressed\n"
		"aiflame export --format csv -o tables\tthe tables, for pandas or a spreadsheet\n"
		"aiflame export -o mm.elf --kernel '^mm$'\tIntel's zebin, NVIDIA's cubin or PoCL's library\n"
		"aiflame export -o binaries/ --format elf\tthose of all sampled kernels, a file each\n"
		"aiflame export --format sqlite -o - | ssh host 'cat >run.sqlite'\tstraight to another machine\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
