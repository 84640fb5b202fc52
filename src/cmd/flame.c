/* SPDX-License-Identifier: Apache-2.0 */
#include "export/flame.h"

#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "export/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { OF_DEVICE, OF_CPU };

struct values {
	const char *input, *output, *title, *process, *tid, *device;
	int of, leaf, by, detail;
	bool inverted;
	uint32_t width;
	struct aif_opt_span time;
	struct aif_flame_opts flame;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0,
	 "a profile or folded text (aiflame.data)"},
	{'o', "output", "FILE", AIF_OPT_STRING, AT(output), 0,
	 "the picture; .svg or .folded, - is standard output (aiflame.svg)"},
	{0, "of", "device|cpu", AIF_OPT_CHOICE, AT(of), 0,
	 "what to draw: device time, or where threads were on CPUs (device)"},
	{0, "leaf", "kernel|line|instruction", AIF_OPT_CHOICE, AT(leaf), 0,
	 "where towers end (instruction)"},
	{0, "by", "wall|time|samples|launches", AIF_OPT_CHOICE, AT(by), 0,
	 "what widths are: time shared where work overlaps, durations, or counts (wall)"},
	{0, "detail", "brief|normal|full", AIF_OPT_CHOICE, AT(detail), 0,
	 "how much to show: brief has of libraries only what was called, full has all (normal)"},
	{0, "lines", NULL, AIF_OPT_FLAG, AT(flame.lines), 0,
	 "tell frames of one function apart by line"},
	{0, "focus", "RE", AIF_OPT_STRING, AT(flame.focus), 0,
	 "only stacks with a frame that matches"},
	{0, "ignore", "RE", AIF_OPT_STRING, AT(flame.ignore), 0,
	 "no stacks with a frame that matches"},
	{0, "kernel", "RE", AIF_OPT_STRING, AT(flame.kernel), 0, "only kernels that match"},
	{0, "time", "FROM,TO", AIF_OPT_SPAN, AT(time), 0, "only what ran then, since the start"},
	{0, "process", "RE", AIF_OPT_STRING, AT(process), 0,
	 "only processes whose pid or command matches"},
	{0, "tid", "RE", AIF_OPT_STRING, AT(tid), 0, "only threads whose number or name matches"},
	{0, "device", "RE", AIF_OPT_STRING, AT(device), 0, "only devices whose name matches"},
	{0, "inverted", NULL, AIF_OPT_FLAG, AT(inverted), 0, "callers above callees"},
	{0, "title", "TEXT", AIF_OPT_STRING, AT(title), 0, "the picture's title"},
	{0, "width", "PX", AIF_OPT_COUNT, AT(width), 0,
	 "the picture's width (1200, in a browser its own)"},
	{0},
};
static const struct values defaults = {
	.output = "aiflame.svg",
	.leaf = AIF_LEAF_INSTRUCTION,
	.detail = AIF_NAME_NORMAL,
};

/* Rows of a table that match an expression, for the attribution. */
struct choice {
	bool *keep;
	regex_t re;
	bool have_re;
};

static int choice_init(struct choice *c, const char *option, const char *re, size_t n,
		       struct aif_err *err)
{
	if (regcomp(&c->re, re, REG_EXTENDED | REG_NOSUB) != 0)
		return aif_err_set(err, -EINVAL, "flame: --%s: '%s' is no regular expression",
				   option, re);
	c->have_re = true;
	c->keep = calloc(n + 1, sizeof(*c->keep));
	return c->keep ? 0 : aif_err_set(err, -ENOMEM, "out of memory");
}

static void choice_finish(struct choice *c)
{
	if (c->have_re)
		regfree(&c->re);
	free(c->keep);
}

static void consider(struct choice *c, size_t i, const char *text)
{
	c->keep[i] |= regexec(&c->re, text, 0, NULL, 0) == 0;
}

struct choices {
	struct choice processes, threads, devices;
};

static int choose(const struct values *v, const struct aif_profile *p, struct choices *c,
		  struct aif_attribution_opts *o, struct aif_err *err)
{
	char number[16];
	int r = 0;

	if (v->process) {
		r = choice_init(&c->processes, "process", v->process, p->processes_len, err);
		for (size_t i = 0; i < p->processes_len && !r; i++) {
			snprintf(number, sizeof(number), "%" PRIu32, p->processes[i].pid);
			consider(&c->processes, i, number);
			consider(&c->processes, i, aif_profile_str(p, p->processes[i].cmdline));
		}
	}
	if (v->tid && !r) {
		r = choice_init(&c->threads, "tid", v->tid, p->threads_len, err);
		for (size_t i = 0; i < p->threads_len && !r; i++) {
			snprintf(number, sizeof(number), "%" PRIu32, p->threads[i].tid);
			consider(&c->threads, i, number);
			consider(&c->threads, i, aif_profile_str(p, p->threads[i].name));
		}
	}
	if (v->device && !r) {
		r = choice_init(&c->devices, "device", v->device, p->devices_len, err);
		for (size_t i = 0; i < p->devices_len && !r; i++)
			consider(&c->devices, i, aif_profile_str(p, p->devices[i].name));
	}
	*o = (struct aif_attribution_opts){.from_ns = v->time.from_ns,
					   .to_ns = v->time.to_ns,
					   .processes = c->processes.keep,
					   .threads = c->threads.keep,
					   .devices = c->devices.keep};
	return r;
}

/* Command, host, date. */
static void subtitle_begin(const struct aif_profile *p, struct aif_buf *b)
{
	time_t start = (time_t)(strtoull(aif_profile_meta(p, "start_realtime_ns"), NULL, 10) /
				AIF_NS_PER_S);
	struct tm tm;
	char date[32] = "";

	if (start && gmtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	aif_buf_printf(b, "%s on %s, %s", aif_profile_meta(p, "command"),
		       aif_profile_meta(p, "host"), date);
}

/* And device and quality: what a picture must say when it is found alone. */
static void subtitle(const struct aif_profile *p, const struct aif_attribution *a,
		     struct aif_buf *b)
{
	subtitle_begin(p, b);
	for (size_t i = 0; i < p->devices_len; i++)
		aif_buf_printf(b, ", %s", aif_profile_str(p, p->devices[i].name));
	aif_buf_puts(b, "; ");
	aif_summary_quality(p, a, b);
	if (!aif_conservation_check(&a->conservation, NULL))
		aif_buf_puts(b, "; BROKEN: this profile does not add up, see aiflame info");
}

static int draw(const struct values *v, const struct aif_tree *t, const char *sub, const char *unit,
		struct aif_err *err)
{
	struct aif_svg_opts svg = {.title = v->title          ? v->title
					    : v->of == OF_CPU ? "CPU flame graph"
							      : "AI flame graph",
				   .subtitle = sub,
				   .unit = unit,
				   .width = v->width,
				   .inverted = v->inverted};
	enum aif_flame_format format;
	int r = aif_flame_format_of(v->output, &format, err);

	return r ? r : aif_flame_write(t, format, &svg, v->output, err);
}

static int from_folded(const struct values *v, const char *path, struct aif_err *err)
{
	struct aif_buf warning = {0};
	struct aif_tree t = {0};
	int r = aif_flame_read_folded(path, v->flame.focus, v->flame.ignore, &t, &warning, err);

	if (!r) {
		if (warning.len)
			fprintf(stderr, "aiflame: %s\n", aif_buf_str(&warning));
		r = draw(v, &t, "", "samples", err);
	}
	aif_buf_finish(&warning);
	aif_tree_finish(&t);
	return r;
}

static int of_device(const struct values *v, const struct aif_profile *p,
		     const struct aif_attribution_opts *which, const struct aif_flame_opts *o,
		     struct aif_err *err)
{
	struct aif_attribution a = {0};
	struct aif_tree t = {0};
	struct aif_buf sub = {0};
	int r = aif_attribution_compute(p, which, &a, err);

	if (!r)
		r = aif_towers_build(p, &a, o, &t, err);
	if (!r) {
		subtitle(p, &a, &sub);
		r = draw(v, &t, aif_buf_str(&sub), aif_flame_unit(o->by), err);
	}
	aif_buf_finish(&sub);
	aif_tree_finish(&t);
	aif_attribution_finish(&a);
	return r;
}

static int of_cpu(const struct values *v, const struct aif_profile *p,
		  const struct aif_attribution_opts *which, const struct aif_flame_opts *o,
		  struct aif_err *err)
{
	struct aif_cpu_totals cpu = {0};
	struct aif_tree t = {0};
	struct aif_buf sub = {0};
	int r;

	if (o->kernel || v->device || o->by == AIF_BY_LAUNCHES)
		return aif_err_set(err, -EINVAL,
				   "flame: --kernel, --device and --by launches are about device "
				   "time; leave them out with --of cpu");
	r = aif_cpu_totals(p, which, &cpu, err);
	if (!r)
		r = aif_towers_build_cpu(p, &cpu, o, &t, err);
	if (!r) {
		subtitle_begin(p, &sub);
		aif_buf_puts(&sub, "; ");
		aif_cpu_totals_say(p, &cpu, &sub);
		r = draw(v, &t, aif_buf_str(&sub), aif_flame_unit(o->by), err);
	}
	aif_buf_finish(&sub);
	aif_tree_finish(&t);
	aif_cpu_totals_finish(&cpu);
	return r;
}

static int from_profile(const struct values *v, const char *path, struct aif_err *err)
{
	struct aif_flame_opts o = v->flame;
	struct aif_attribution_opts which;
	struct aif_profile p = {0};
	struct choices c = {0};
	int r = aif_profile_open(path, &p, err);

	o.leaf = (enum aif_flame_leaf)v->leaf;
	o.by = (enum aif_flame_by)v->by;
	o.detail = (enum aif_name_detail)v->detail;
	if (!r)
		r = choose(v, &p, &c, &which, err);
	if (!r)
		r = v->of == OF_CPU ? of_cpu(v, &p, &which, &o, err)
				    : of_device(v, &p, &which, &o, err);
	choice_finish(&c.processes);
	choice_finish(&c.threads);
	choice_finish(&c.devices);
	aif_profile_finish(&p);
	return r;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && S_ISREG(x.st_mode);
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	const char *path = v->input ? v->input : words_len ? words[0] : AIF_DEFAULT_FILE;
	int r;

	if (v->input && words_len) {
		aif_err_set(err, -EINVAL, "flame: both '%s' and '%s' are given; give one FILE",
			    v->input, words[0]);
		return AIF_EXIT_USAGE;
	}
	if (is_same_file(path, v->output)) {
		aif_err_set(
			err, -EINVAL,
			"flame: %s is the profile itself; give the picture another name with -o",
			v->output);
		return AIF_EXIT_FAILURE;
	}
	r = aif_flame_is_folded(path) ? from_folded(v, path, err) : from_profile(v, path, err);

	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_flame = {
	.name = "flame",
	.words = "[FILE]",
	.summary = "draw the flame graph: SVG or folded text",
	.description =
		"Draws where device time went: each stack that launched work, its kernels, their instructions.\n"
		"The wider, the longer. The SVG opens in any browser: click to zoom, / to search, Esc to go\n"
		"back. With --of cpu it draws where the threads of programs that use a device were on CPUs and,\n"
		"as [waiting: CALL], how long they waited for the device in calls of its runtime.\n"
		"FILE may be folded text of any tool (`frame;frame count`), or - for standard input.",
	.examples = "aiflame flame\taiflame.data to aiflame.svg\n"
		    "aiflame flame --leaf kernel --focus multiply\tonly stacks through multiply\n"
		    "aiflame flame --of cpu -o cpu.svg\twhere threads spent CPU time\n"
		    "aiflame flame out.folded -o out.svg\tother tools' stacks\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
