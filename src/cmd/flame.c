/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/part.h"
#include "analysis/memory.h"
#include "analysis/no_samples.h"
#include "analysis/power/power.h"
#include "analysis/ranks/waits.h"
#include "analysis/traits.h"
#include "analysis/untimed.h"
#include "base/human.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/output.h"
#include "cmd/profile_arg.h"
#include "cmd/selection.h"
#include "flame/flame.h"
#include "flame/words.h"
#include "report/summary/summary.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PER_STEP };
enum { BY_THREAD_YES, BY_THREAD_NO };
enum { OF_DEVICE, OF_CPU, OF_OFF_CPU, OF_IDLE, OF_LOOP, OF_MEMORY, OF_WAITS };
enum { FORMAT_BY_SUFFIX = -1, NOT_GIVEN = -1 };
/* 300 is the least that is drawn; more than 100000 px no viewer shows. */
enum { WIDTH_MIN = 300, WIDTH_MAX = 100000 };

struct values {
	const char *input, *output, *title;
	int of, leaf, by, detail; /* NOT_GIVEN, or what they are */
	int per;                  /* NOT_GIVEN or PER_STEP */
	int by_thread;            /* NOT_GIVEN or BY_THREAD_... */
	int range_frames;         /* enum aif_flame_ranges */
	int format;               /* FORMAT_BY_SUFFIX or enum aif_flame_format */
	bool inverted;
	uint32_t width;
	struct aif_selection_values choice;
	struct aif_flame_opts flame;
	uint64_t steps; /* of --per step; 0: without */
	uint64_t max_bytes;
};

#define AT(field)        offsetof(struct values, field)
#define CHOICE_AT(field) offsetof(struct values, choice.field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0,
	 "a profile or folded text (aiflame.data)"},
	{'o', "output", "FILE", AIF_OPT_STRING, AT(output), 0,
	 "the file to write: .svg is a picture, .folded and .txt are text, - is standard "
	 "output (aiflame.svg)"},
	{0, "format", "svg|folded", AIF_OPT_CHOICE, AT(format), 0,
	 "the format, whatever the name (by the name; - is SVG)"},
	AIF_OPTS_HEADING("what to draw"),
	{0, "of", "device|cpu|off-cpu|idle|loop|memory|waits", AIF_OPT_CHOICE, AT(of), 0,
	 "what to draw: time on devices, time of threads on CPUs, or off CPUs; or the time in which "
	 "devices were idle, by what the thread did that launched next; or both, as wide as the "
	 "program's loop, or --time, is long; or who holds a device's memory at its peak, in bytes; or "
	 "how long ranks of a job waited for each other, by what the late one did (device)"},
	{0, "by", "wall|time|samples|launches|energy", AIF_OPT_CHOICE, AT(by), 0,
	 "what widths mean: time shared where work overlaps, durations, or counts; or energy of the "
	 "device, shared by that time (wall)"},
	{0, "leaf", "kernel|line|instruction|stall", AIF_OPT_CHOICE, AT(leaf), 0,
	 "the last frame of each stack (instruction)"},
	{0, "detail", "brief|normal|full", AIF_OPT_CHOICE, AT(detail), 0,
	 "how many frames to show: brief keeps of each library only the function that was "
	 "called, full keeps all (normal)"},
	{0, "per", "step", AIF_OPT_CHOICE, AT(per), 0,
	 "numbers of one step in the mean: of the program's loop, or of those that --time chooses"},
	{0, "inverted", NULL, AIF_OPT_FLAG, AT(inverted), 0, "draw callers above callees"},
	AIF_OPTS_HEADING("which part"),
	{0, "focus", "RE", AIF_OPT_STRING, AT(flame.focus), 0,
	 "only stacks with a frame that matches"},
	{0, "ignore", "RE", AIF_OPT_STRING, AT(flame.ignore), 0,
	 "no stacks with a frame that matches"},
	AIF_CHOICE_OPTS(CHOICE_AT),
	AIF_OPTS_FURTHER,
	AIF_CHOICE_FURTHER_OPTS(CHOICE_AT),
	{0, "range-frames", "on|off|only", AIF_OPT_CHOICE, AT(range_frames), 0,
	 "ranges that the program marked (aiflame.h, record --nvtx, traces) as frames: between the host's "
	 "frames and what was launched, of CPU samples below them; only hides the host's (on)"},
	{0, "by-thread", "yes|no", AIF_OPT_CHOICE, AT(by_thread), 0,
	 "with --of cpu and off-cpu: one tower for each thread (yes; no for imported files "
	 "and -a --ebpf)"},
	{0, "lines", NULL, AIF_OPT_FLAG, AT(flame.lines), 0,
	 "separate frames of one function by line"},
	{0, "title", "TEXT", AIF_OPT_STRING, AT(title), 0, "the picture's title"},
	{0, "width", "PX", AIF_OPT_COUNT, AT(width), 0,
	 "the picture's width, 300 to 100000 (1200; in a browser that of the window)"},
	AIF_VIEW_MAX_SIZE_OPT(AT(max_bytes)),
	{0},
};
static const struct values defaults = {
	.format = FORMAT_BY_SUFFIX,
	.of = NOT_GIVEN,
	.leaf = NOT_GIVEN,
	.by = NOT_GIVEN,
	.detail = NOT_GIVEN,
	.by_thread = NOT_GIVEN,
	.per = NOT_GIVEN,
	.width = UINT32_MAX,
};

/* Is there something to do for instruction samples? */
static bool is_mendable(const struct aif_profile *p)
{
	struct aif_buf why = {0};
	bool is = *aif_no_samples_say(p, &why);

	aif_buf_finish(&why);
	return is;
}

/* Without reasons --leaf stall draws no other picture than --leaf instruction. */
static void tell_no_stalls(const struct aif_profile *p, const struct aif_attribution *a)
{
	struct aif_buf why = {0};

	for (size_t i = 0; i < a->rows_len; i++)
		if (a->rows[i].reason != AIF_NONE)
			return;
	aif_no_samples_because(p, &why);
	aif_message("no stall reasons: drawing --leaf instruction%s", aif_buf_str(&why));
	aif_buf_finish(&why);
}

/* Appends what a picture must say when it is found alone. */
static void quality(const struct aif_profile *p, const struct aif_attribution *a, struct aif_buf *b)
{
	aif_summary_quality(p, a, b);
	if (!a->conservation.samples && is_mendable(p))
		aif_buf_puts(b, "; aiflame info says what to do");
	if (a->conservation.uncollected_ns) {
		aif_buf_puts(b, "; ");
		aif_human_ns(b, a->conservation.uncollected_ns);
		aif_buf_puts(b, " not collected");
	}
	if (a->for_others_ns) {
		aif_buf_puts(b, "; ");
		aif_selection_say_for_others(a->for_others_ns, b);
	}
	if (!aif_conservation_check(&a->conservation, NULL))
		aif_buf_puts(b, "; BROKEN: this profile does not add up, see aiflame info");
}

/* Appends which part the picture shows: "only --kernel gemm, --time 1.00 s,2.00 s; ". Its shares
 * are of that part. */
static void part_say(const struct values *v, const struct aif_profile *p, struct aif_buf *b)
{
	const struct {
		const char *option, *value;
	} said[] = {
		{"--kernel", v->choice.kernel}, {"--process", v->choice.process},
		{"--rank", v->choice.rank},     {"--tid", v->choice.tid},
		{"--device", v->choice.device}, {"--focus", v->flame.focus},
		{"--ignore", v->flame.ignore},  {"--range", v->choice.range},
	};
	const char *between = "only ";
	struct aif_cycle cycle = {0};

	if (p)
		aif_profile_cycle(p, &cycle);
	if (v->choice.time.from_ns || v->choice.time.to_ns || v->choice.time.part) {
		aif_buf_puts(b, between);
		aif_flame_time_say(&v->choice.time, b);
		between = ", ";
	} else if (cycle.is_slow) {
		aif_buf_printf(b, "%sslow step %" PRIu64, between, cycle.first);
		between = ", ";
	} else if (cycle.cycle) {
		aif_buf_printf(b, "%scycle %" PRIu64 ", steps %" PRIu64 " to %" PRIu64, between,
			       cycle.cycle, cycle.first, cycle.last);
		between = ", ";
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(said); i++) {
		if (!said[i].value)
			continue;
		aif_buf_printf(b, "%s%s %s", between, said[i].option, said[i].value);
		between = ", ";
	}
}

static const char *title_of(const struct values *v, const struct aif_profile *p)
{
	if (v->of == OF_OFF_CPU)
		return "Off-CPU flame graph";
	if (v->of == OF_MEMORY)
		return "Memory flame graph";
	if (v->of == OF_WAITS)
		return "Flame graph of waits for late ranks";
	if (v->of != OF_CPU)
		return "AI flame graph";
	switch (p->traits.cpu_weights) {
	case AIF_CPU_WEIGHTS_SPANS:
		return "Flame graph of spans";
	case AIF_CPU_WEIGHTS_COUNTS:
		return "Flame graph of counts";
	default:
		return "CPU flame graph";
	}
}

static int draw(const struct values *v, const struct aif_profile *p,
		const struct aif_selection *sel, const struct aif_tree *t, const char *sub,
		const char *quality, const char *unit, struct aif_err *err)
{
	struct aif_buf said = {0};
	struct aif_strip strip = {0};
	struct aif_svg_opts svg = {.title = v->title ? v->title : title_of(v, p),
				   .subtitle = sub,
				   .unit = unit,
				   .cxx = p ? aif_flame_cxx_word(p) : NULL,
				   .strip = &strip,
				   .profile = p,
				   .steps = v->steps,
				   .width = v->width == UINT32_MAX ? 0 : v->width,
				   .inverted = v->inverted};
	enum aif_flame_format format = (enum aif_flame_format)v->format;
	int r = 0;

	part_say(v, p, &said);
	if (v->steps) {
		aif_buf_puts(&said, said.len ? ", " : "");
		aif_buf_printf(&said, "the mean of ");
		aif_human_counted(&said, v->steps, "step");
	}
	if (quality && *quality)
		aif_buf_printf(&said, "%s%s", said.len ? "; " : "", quality);
	svg.quality = aif_buf_str(&said);
	if (v->format == FORMAT_BY_SUFFIX)
		r = aif_flame_format_of(v->output, &format, err);
	if (!r && p && format == AIF_FLAME_SVG) {
		r = aif_strip_make(p, sel, &strip);
		if (r)
			aif_err_set(err, r, "flame: %s", strerror(-r));
	}
	if (!r)
		r = aif_flame_write_bounded(t, format, &svg, v->output, v->max_bytes, err);
	aif_strip_finish(&strip);
	aif_buf_finish(&said);
	return r;
}

static int from_folded(const struct values *v, const char *path, struct aif_err *err)
{
	struct aif_buf warning = {0};
	struct aif_tree t = {0};
	int r = aif_flame_read_folded(path, v->flame.focus, v->flame.ignore, &t, &warning, err);

	if (!r) {
		if (warning.len)
			aif_message("%s", aif_buf_str(&warning));
		r = draw(v, NULL, NULL, &t, "", NULL, "samples", err);
	}
	aif_buf_finish(&warning);
	aif_tree_finish(&t);
	return r;
}

static int of_device(const struct values *v, const struct aif_names *names,
		     const struct aif_selection *sel, const struct aif_flame_opts *given,
		     struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_flame_opts now = *given, *o = &now;
	struct aif_attribution a = {0};
	struct aif_tree t = {0};
	struct aif_power_rates rates = {0};
	struct aif_buf sub = {0}, told = {0};
	int r = aif_attribution_compute(p, sel, &a, err);
	bool has_nothing = !a.rows_len && !a.unmatched_len && v->by == NOT_GIVEN;

	if (!r && v->by == NOT_GIVEN && aif_is_untimed(p, &a)) {
		now.by = AIF_BY_SAMPLES;
		fputs("aiflame: samples of a device without times: drawing --by samples\n", stderr);
	}
	if (!r && p->traits.is_lengths && aif_is_untimed(p, &a) &&
	    (v->by == AIF_BY_WALL || v->by == AIF_BY_TIME))
		r = aif_err_set(
			err, -ENODATA,
			"flame: the imported file has samples without times; draw them with "
			"--by samples, or give the time of one with import --count");
	/* Launches without executions: only their number can be drawn. */
	if (!r && (o->by == AIF_BY_LAUNCHES || has_nothing))
		r = aif_untimed_add(p, sel, &a, err);
	if (!r && has_nothing && a.rows_len) {
		now.by = AIF_BY_LAUNCHES;
		fputs("aiflame: launches without times: drawing --by launches\n", stderr);
	}
	/* Samples that no launch explains: only their number can be drawn. */
	if (!r && o->by == AIF_BY_SAMPLES && aif_attribution_take_unmatched(&a) < 0)
		r = aif_err_set(err, -ENOMEM, "flame: out of memory");
	if (!r && v->leaf == AIF_LEAF_STALL && a.rows_len)
		tell_no_stalls(p, &a);
	if (!r && o->by == AIF_BY_ENERGY) {
		r = aif_power_rates_make(p, sel, &rates, err);
		now.energy = &rates;
	}
	if (!r)
		r = aif_flame_build(names, &a, o, &t, err);
	if (!r && o->by == AIF_BY_ENERGY) {
		aif_power_rates_say(&rates, &told);
		aif_buf_puts(&told, "; ");
	}
	if (!r) {
		aif_flame_subtitle(p, &sub);
		for (size_t i = 0; i < p->devices_len; i++)
			aif_buf_printf(&sub, ", %s", aif_profile_str(p, p->devices[i].name));
		quality(p, &a, &told);
		r = draw(v, p, o->sel, &t, aif_buf_str(&sub), aif_buf_str(&told),
			 aif_flame_unit(o->by), err);
	}
	aif_power_rates_finish(&rates);
	aif_buf_finish(&told);
	aif_buf_finish(&sub);
	aif_tree_finish(&t);
	aif_attribution_finish(&a);
	return r;
}

static int of_cpu(const struct values *v, const struct aif_names *names,
		  const struct aif_selection *sel, const struct aif_flame_opts *o,
		  struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_cpu_totals cpu = {0};
	struct aif_tree t = {0};
	struct aif_buf sub = {0}, told = {0};
	int r;

	r = (o->by_thread ? aif_cpu_totals_by_thread : aif_cpu_totals)(p, sel, &cpu, err);
	if (!r)
		r = aif_flame_build_cpu(names, &cpu, o, &t, err);
	if (!r) {
		aif_flame_subtitle(p, &sub);
		aif_cpu_totals_say(p, &cpu, &told);
		aif_summary_lacks(p,
				  AIF_LACK_CPU | AIF_LACK_OFF_CPU | AIF_LACK_WAITS |
					  AIF_LACK_STACKS | AIF_LACK_RECORDS | AIF_LACK_EVENTS,
				  &told);
		r = draw(v, p, o->sel, &t, aif_buf_str(&sub), aif_buf_str(&told),
			 o->by == AIF_BY_SAMPLES ? aif_flame_unit(o->by) : aif_cpu_counts(p), err);
	}
	aif_buf_finish(&told);
	aif_buf_finish(&sub);
	aif_tree_finish(&t);
	aif_cpu_totals_finish(&cpu);
	return r;
}

static int of_memory(const struct values *v, const struct aif_names *names,
		     const struct aif_selection *sel, const struct aif_flame_opts *o,
		     struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_memory m = {0};
	struct aif_tree t = {0};
	struct aif_buf sub = {0}, told = {0};
	int r = aif_memory_read(p, sel, &m);

	if (r)
		aif_err_set(err, r, "flame: %s", strerror(-r));
	if (!r)
		r = aif_flame_build_memory(names, &m, o, &t, err);
	if (!r) {
		aif_flame_subtitle(p, &sub);
		aif_memory_say(p, &m, &told);
		if (m.damaged)
			aif_buf_puts(&told,
				     "; BROKEN: part of the file is damaged: what it held is "
				     "missing here");
		r = draw(v, p, o->sel, &t, aif_buf_str(&sub), aif_buf_str(&told), AIF_BYTES_UNIT,
			 err);
	}
	aif_buf_finish(&told);
	aif_buf_finish(&sub);
	aif_tree_finish(&t);
	aif_memory_finish(&m);
	return r;
}

static int of_waits(const struct values *v, const struct aif_names *names,
		    const struct aif_selection *sel, const struct aif_flame_opts *o,
		    struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	const struct aif_rank_waits *w;
	struct aif_tree t = {0};
	struct aif_buf sub = {0}, told = {0};
	int r = aif_rank_waits_get(p, sel, &w);

	if (r)
		aif_err_set(err, r, "flame: %s", strerror(-r));
	if (!r)
		r = aif_flame_build_waits(names, w, o, &t, err);
	if (!r) {
		aif_flame_subtitle(p, &sub);
		aif_rank_waits_say(w, &told);
		r = draw(v, p, sel, &t, aif_buf_str(&sub), aif_buf_str(&told), NULL, err);
	}
	aif_buf_finish(&told);
	aif_buf_finish(&sub);
	aif_tree_finish(&t);
	aif_facts_put(w);
	return r;
}

/* Idle time; with `a` beside the device time that it has. */
static int draw_idle(const struct values *v, const struct aif_names *names,
		     const struct aif_idle_part *part, const struct aif_attribution *a,
		     const struct aif_flame_opts *given, struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_flame_opts o = *given;
	struct aif_tree t = {0};
	struct aif_buf sub = {0}, told = {0};
	int r;

	o.idle = a ? &part->blame : NULL;
	o.wakers = !a;
	r = a ? aif_flame_build(names, a, &o, &t, err)
	      : aif_flame_build_idle(names, &part->blame, &o, &t, err);
	if (!r) {
		aif_flame_subtitle(p, &sub);
		aif_idle_blame_say(&part->blame, &told);
		if (a) {
			aif_buf_puts(&told, "; ");
			quality(p, a, &told);
		} else if (part->t->damaged || part->blame.damaged) {
			aif_buf_puts(&told,
				     "; BROKEN: part of the file is damaged: what it held is "
				     "missing here");
		}
		r = draw(v, p, given->sel, &t, aif_buf_str(&sub), aif_buf_str(&told), NULL, err);
	}
	aif_buf_finish(&told);
	aif_buf_finish(&sub);
	aif_tree_finish(&t);
	return r;
}

static int of_idle(const struct values *v, const struct aif_names *names,
		   const struct aif_selection *sel, const struct aif_flame_opts *o,
		   struct aif_err *err)
{
	struct aif_attribution a = {0};
	const struct aif_idle_part *part;
	int r = aif_idle_part_get(names->p, sel, &part);

	if (r)
		aif_err_set(err, r, "flame: %s", strerror(-r));
	if (!r && v->of == OF_LOOP)
		r = aif_attribution_compute(names->p, sel, &a, err);
	if (!r)
		r = draw_idle(v, names, part, v->of == OF_LOOP ? &a : NULL, o, err);
	aif_attribution_finish(&a);
	aif_facts_put(part);
	return r;
}

static int choose_steps(struct values *v, const struct aif_selection_args *c, struct aif_err *err)
{
	v->steps = c->steps;
	if (c->steps)
		return 0;
	if (v->choice.time.part != AIF_PART_LOOP && v->choice.time.part != AIF_PART_STEPS)
		return aif_err_set(err, -EINVAL,
				   "flame: --per step needs a part that is made of steps; "
				   "give --time loop or steps:N-M");
	return aif_err_set(
		err, -ENODATA,
		"flame: --per step: launches were left out (--overhead), so that not all "
		"steps are known; record with --all-launches");
}

/* Chooses the loop where no time is asked for, or all if there is none. */
static int choose_loop(struct values *v, const struct aif_profile *p,
		       struct aif_selection_args *ret, struct aif_err *err)
{
	bool is_given = v->choice.time.from_ns || v->choice.time.to_ns || v->choice.time.part;
	struct aif_cycle cycle;
	int r;

	aif_profile_cycle(p, &cycle);
	if ((v->of == OF_LOOP || v->per == PER_STEP) && !is_given && !cycle.cycle)
		v->choice.time.part = AIF_PART_LOOP;
	r = aif_selection_args_make(&v->choice, p, ret, err);
	if (!r && v->per == PER_STEP)
		r = choose_steps(v, ret, err);
	if (r != -ENODATA || v->of != OF_LOOP || v->per == PER_STEP || is_given)
		return r;
	fputs("aiflame: no step is marked, and no loop was found in the launches: drawing all\n",
	      stderr);
	*err = (struct aif_err){0};
	aif_selection_args_finish(ret);
	v->choice.time.part = AIF_PART_NONE;
	return aif_selection_args_make(&v->choice, p, ret, err);
}

/* Returns true if nothing in the profile can have run on a device and it has CPU samples: these are
 * then drawn. */
static bool has_cpu_alone(const struct values *v, const struct aif_profile *p,
			  const struct aif_selection *sel)
{
	struct aif_cpu_totals cpu = {0};
	bool has = false;

	bool is_time = v->by == NOT_GIVEN || v->by == AIF_BY_WALL || v->by == AIF_BY_TIME;

	if (v->of == NOT_GIVEN && v->leaf == NOT_GIVEN && is_time && !v->choice.kernel &&
	    !v->choice.device && !p->devices_len &&
	    (p->traits.is_imported || !aif_untimed_count(p)))
		has = aif_cpu_totals(p, sel, &cpu, NULL) == 0 && cpu.samples;
	aif_cpu_totals_finish(&cpu);
	return has;
}

static void note_names(const struct values *v)
{
	aif_selection_note_name("--kernel", v->choice.kernel);
	aif_selection_note_name("--focus", v->flame.focus);
	aif_selection_note_name("--ignore", v->flame.ignore);
}

static int from_profile(const struct values *given, const char *path, struct aif_err *err)
{
	struct values now = *given;
	const struct values *v = &now;
	struct aif_flame_opts o = v->flame;
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct aif_selection_args c = {0};
	int r = aif_view_profile(path, &p, &names, err);

	o.kernel = v->choice.kernel;
	o.leaf = v->leaf == NOT_GIVEN ? AIF_LEAF_INSTRUCTION : (enum aif_flame_leaf)v->leaf;
	o.by = v->by == NOT_GIVEN ? AIF_BY_WALL : (enum aif_flame_by)v->by;
	o.detail = v->detail == NOT_GIVEN ? AIF_NAME_NORMAL : (enum aif_name_detail)v->detail;
	if (!r)
		r = aif_flame_check_lengths(&p, &o, err);
	if (!r)
		r = choose_loop(&now, &p, &c, err);
	o.ranges = (enum aif_flame_ranges)v->range_frames;
	/* An imported trace has its ranges in its stacks. */
	if (!r && o.ranges != AIF_RANGES_OFF && !p.traits.is_imported)
		r = aif_selection_args_by_range(&p, &c, err);
	o.sel = &c.sel;
	if (!r && has_cpu_alone(v, &p, &c.sel)) {
		now.of = OF_CPU;
		fputs("aiflame: nothing ran on a device: drawing --of cpu\n", stderr);
	}
	o.off_cpu = v->of == OF_OFF_CPU;
	o.by_thread = v->by_thread == NOT_GIVEN ? !r && aif_flame_threads_are_apart(&p)
						: v->by_thread == BY_THREAD_YES;
	if (!r)
		r = v->of == OF_CPU || v->of == OF_OFF_CPU ? of_cpu(v, &names, &c.sel, &o, err)
		    : v->of == OF_MEMORY                   ? of_memory(v, &names, &c.sel, &o, err)
		    : v->of == OF_WAITS                    ? of_waits(v, &names, &c.sel, &o, err)
		    : v->of == OF_IDLE || v->of == OF_LOOP ? of_idle(v, &names, &c.sel, &o, err)
							   : of_device(v, &names, &c.sel, &o, err);
	if (r && !err->code)
		aif_profile_check(&p, path, err);
	aif_selection_args_finish(&c);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	return r;
}

/* Refuses options that would change nothing, so that nobody believes that they did. */
static int check_options(const struct values *v, const char *path, struct aif_err *err)
{
	enum aif_flame_format format = AIF_FLAME_SVG;

	if (v->width != UINT32_MAX && (v->width < WIDTH_MIN || v->width > WIDTH_MAX))
		return aif_err_set(err, -EINVAL, "flame: --width: give %u to %u", WIDTH_MIN,
				   WIDTH_MAX);
	if (v->of == OF_OFF_CPU && v->by == AIF_BY_SAMPLES)
		return aif_err_set(err, -EINVAL,
				   "flame: --of off-cpu has times and no samples; leave out "
				   "--by samples");
	if ((v->of == OF_CPU || v->of == OF_OFF_CPU) &&
	    (v->leaf != NOT_GIVEN || v->choice.kernel || v->choice.device ||
	     v->by == AIF_BY_LAUNCHES || v->by == AIF_BY_ENERGY))
		return aif_err_set(err, -EINVAL,
				   "flame: --leaf, --kernel, --device, --by launches and energy "
				   "apply to device time; leave them out with --of cpu and "
				   "off-cpu");
	if (v->of == OF_IDLE && (v->leaf != NOT_GIVEN || v->choice.kernel || v->by != NOT_GIVEN))
		return aif_err_set(err, -EINVAL,
				   "flame: --leaf, --kernel and --by apply to the time in which "
				   "devices work; leave them out with --of idle");
	if (v->of == OF_MEMORY &&
	    (v->leaf != NOT_GIVEN || v->choice.kernel || v->by != NOT_GIVEN || v->per != NOT_GIVEN))
		return aif_err_set(err, -EINVAL,
				   "flame: --leaf, --kernel, --by and --per apply to the time in "
				   "which devices work; leave them out with --of memory");
	if (v->of == OF_LOOP && (v->choice.kernel || v->by != NOT_GIVEN))
		return aif_err_set(
			err, -EINVAL,
			"flame: --kernel and --by apply to the time in which devices work; "
			"leave them out with --of loop");
	if (v->by_thread != NOT_GIVEN && v->of != OF_CPU && v->of != OF_OFF_CPU)
		return aif_err_set(err, -EINVAL,
				   "flame: --by-thread applies to CPU time; leave it out, or "
				   "give --of cpu or off-cpu");
	if (aif_flame_is_folded(path) &&
	    (v->of != NOT_GIVEN || v->leaf != NOT_GIVEN || v->by != NOT_GIVEN ||
	     v->detail != NOT_GIVEN || v->flame.lines || v->per != NOT_GIVEN ||
	     aif_choice_is_set(&v->choice)))
		return aif_err_set(err, -EINVAL,
				   "flame: %s is folded text, to which --of, --leaf, --by, "
				   "--detail, --lines, --per and the options that select a part of "
				   "a profile do not apply; leave them out",
				   path);
	if (v->format != FORMAT_BY_SUFFIX)
		format = (enum aif_flame_format)v->format;
	else if (aif_flame_format_of(v->output, &format, err) < 0)
		return err->code;
	if (format == AIF_FLAME_FOLDED &&
	    (v->title || v->inverted || v->width != UINT32_MAX || v->per != NOT_GIVEN))
		return aif_err_set(err, -EINVAL,
				   "flame: --title, --inverted, --width and --per apply to "
				   "pictures; leave them out for folded text");
	return 0;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	struct values given = *(const struct values *)values;
	const struct values *v = &given;
	const char *path = aif_view_path(v->input, words, words_len, err);
	int r;

	if (!path)
		return AIF_EXIT_USAGE;
	if (!given.output)
		given.output = v->format == AIF_FLAME_FOLDED ? "aiflame.folded" : "aiflame.svg";
	if (aif_view_is_same_file(path, v->output)) {
		aif_err_set(err, -EINVAL, "flame: %s is the profile itself; choose another -o",
			    v->output);
		return AIF_EXIT_FAILURE;
	}
	if (check_options(v, path, err) < 0)
		return AIF_EXIT_USAGE;
	if (aif_output_check(v->output, err) < 0)
		return AIF_EXIT_FAILURE;
	if (!given.max_bytes)
		given.max_bytes = aif_view_max_size(path);
	note_names(v);
	r = aif_flame_is_folded(path) ? from_folded(v, path, err) : from_profile(v, path, err);
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

int aif_flame_draw(const char *profile, const char *output, struct aif_err *err)
{
	struct values v = defaults;

	v.input = profile;
	v.output = output;
	return run(&v, NULL, 0, err) == AIF_EXIT_OK ? 0 : -1;
}

const struct aif_command aif_command_flame = {
	.name = "flame",
	.words = "[FILE]",
	.summary = "draw the flame graph: SVG or folded text",
	.description =
		"Draws where device time went: each stack that launched work, its kernels, their\n"
		"instructions. The wider a frame, the longer. The SVG opens in any browser: click\n"
		"to zoom, / to search, Esc to go back. Frames that are too narrow to draw are\n"
		"still found, and drawn when you zoom in. The strip above them shows when devices\n"
		"worked over all of the recording: high is busy, grey was not collected, and what\n"
		"the picture leaves out is faded.\n\n\f"
		"--of cpu draws where threads of programs that use a device were on CPUs and, as\n"
		"[waiting: CALL], how long they waited for the device in calls of its runtime;\n"
		"several threads have a tower each. If no device was opened, --of cpu is the\n"
		"default; if a device gave samples but no times, --by samples is; if there are\n"
		"only launches, --by launches. A message says so. PyTorch's backward stands on\n"
		"the forward that made it, as [backward] and the node's name. This is inferred\n"
		"from the order of operators; --detail full shows what was recorded. FILE may be\n"
		"folded text of any tool (`frame;frame count`), or - for standard input.",
	.examples =
		"aiflame flame\taiflame.data to aiflame.svg\n"
		"aiflame flame --leaf kernel --focus multiply\tonly stacks through multiply\n"
		"aiflame flame --per step --of loop\twhat a step takes, idle time included\n"
		"aiflame flame --leaf stall\twhat each instruction waited for\n"
		"aiflame flame --of cpu -o cpu.svg\twhere threads spent CPU time\n"
		"aiflame flame --of memory -o memory.svg\twho holds the device's memory at its peak\n"
		"aiflame flame --format folded -o - | wc -l\tas text, one line a stack\n"
		"aiflame flame out.folded -o out.svg\tother tools' stacks\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
