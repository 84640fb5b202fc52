/* SPDX-License-Identifier: Apache-2.0 */
#include "names/selection_args.h"

#include "analysis/loop/phases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Texts that a row of a table goes by: its number, if it has one, and a string. */
struct row {
	bool has_number;
	uint32_t number, text;
};

static struct row process_row(const struct aif_profile *p, size_t i)
{
	return (struct row){true, p->processes[i].pid, p->processes[i].cmdline};
}

static struct row thread_row(const struct aif_profile *p, size_t i)
{
	return (struct row){true, p->threads[i].tid, p->threads[i].name};
}

static struct row device_row(const struct aif_profile *p, size_t i)
{
	return (struct row){false, 0, p->devices[i].name};
}

/* Returns true if the text is digits only: it then means that number and no other. */
static bool is_number(const char *text, uint64_t *ret)
{
	if (!*text || text[strspn(text, "0123456789")])
		return false;
	errno = 0;
	*ret = strtoull(text, NULL, 10);
	return errno == 0;
}

static bool row_matches(const struct aif_profile *p, const struct row *row,
			const struct aif_regex *regex, const char *re)
{
	char number[16];
	uint64_t n;

	if (!row->has_number)
		return aif_regex_matches(regex, aif_profile_str(p, row->text));
	if (is_number(re, &n))
		return row->number == n;
	snprintf(number, sizeof(number), "%" PRIu32, row->number);
	return aif_regex_matches(regex, number) ||
	       aif_regex_matches(regex, aif_profile_str(p, row->text));
}

/* Returns true if the row has that whole name, as tables show it: "python3 (rank 1)" is an
 * expression that does not match itself, and "A100" one that matches "A100 (rank 1)", too. */
static bool row_is(const struct aif_profile *p, const struct row *row, const char *name)
{
	return row->text != AIF_NONE && !strcmp(name, aif_profile_str(p, row->text));
}

/* Every row whose name that is; false: none is. */
static bool keep_named(const struct aif_profile *p, const char *name, size_t n,
		       struct row (*row_of)(const struct aif_profile *, size_t), bool *keep)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		struct row row = row_of(p, i);

		keep[i] = row_is(p, &row, name);
		found |= keep[i];
	}
	return found;
}

/* *ret: by row, whether it matches; NULL if nothing was asked for. */
static int choose(const char *option, const char *re, const char *help, const struct aif_profile *p,
		  size_t n, struct row (*row_of)(const struct aif_profile *, size_t), bool **ret,
		  const bool **ret_view, struct aif_err *err)
{
	struct aif_regex regex;
	bool *keep, some, are_named;
	int r = aif_regex_init(&regex, option, re, err);

	if (!re)
		return 0;
	keep = calloc(n + 1, sizeof(*keep));
	some = are_named = keep && keep_named(p, re, n, row_of, keep);
	for (size_t i = 0; keep && i < n && !are_named; i++) {
		struct row row = row_of(p, i);

		keep[i] = !r && row_matches(p, &row, &regex, re);
		some |= keep[i];
	}
	aif_regex_finish(&regex);
	*ret = keep;
	*ret_view = keep;
	if (!keep)
		return aif_err_set(err, -ENOMEM, "out of memory");
	if (r < 0 && !some)
		return r;
	if (!some)
		return aif_err_set(err, -EINVAL, "%s '%s': nothing in this profile matches; %s",
				   option, re, help);
	return 0;
}

/* Keeps processes of the ranks of a list, "0,3", among those that are kept already. */
static int choose_ranks(const char *list, const struct aif_profile *p, struct aif_selection_args *c,
			struct aif_err *err)
{
	bool *keep = calloc(p->processes_len + 1, sizeof(*keep)), known = false;
	const char *at = list;

	if (!keep)
		return aif_err_set(err, -ENOMEM, "out of memory");
	while (true) {
		char *end;
		unsigned long rank = strtoul(at, &end, 10);
		bool some = false;

		if (*at < '0' || *at > '9' || (*end && *end != ',')) {
			free(keep);
			return aif_err_set(err, -EINVAL,
					   "--rank '%s': want numbers: --rank 3, or --rank 0,3",
					   list);
		}
		for (size_t i = 0; i < p->processes_len; i++) {
			known |= p->processes[i].rank;
			if (!p->processes[i].rank || p->processes[i].rank - 1 != rank)
				continue;
			some = true;
			keep[i] = aif_selection_keeps(c->sel.processes, (uint32_t)i);
		}
		if (!some) {
			free(keep);
			return aif_err_set(err, -EINVAL,
					   known ? "--rank: this profile has no rank %lu; see "
						   "aiflame report --ranks"
						 : "--rank %lu: this profile does not say which "
						   "process is of which rank; use --process",
					   rank);
		}
		if (!*end)
			break;
		at = end + 1;
	}
	free(c->processes);
	c->processes = keep;
	c->sel.processes = keep;
	return 0;
}

/* ---- parts of the run ------------------------------------------------------------------------ */

static int no_part(const char *why, struct aif_err *err)
{
	return aif_err_set(
		err, -ENODATA,
		"--time: %s; see aiflame report --steps, or give two times: --time 1.5,2", why);
}

static int steps_span(const struct aif_phases *f, const struct aif_run_part *time, int64_t *from,
		      int64_t *to, struct aif_err *err)
{
	if (time->last > f->len)
		return aif_err_set(err, -ENODATA,
				   "--time: there is no step %" PRIu32
				   "; there are %zu, see aiflame report --steps",
				   time->last, f->len);
	*from = f->steps[time->first - 1].start;
	*to = f->steps[time->last - 1].end;
	return 0;
}

static uint64_t steps_of(const struct aif_phases *f, const struct aif_run_part *time)
{
	if (f->is_sparse)
		return 0;
	if (time->part == AIF_PART_STEPS)
		return time->last - time->first + 1;
	return time->part == AIF_PART_LOOP ? f->len : 0;
}

static int phase_span(const struct aif_phases *f, const struct aif_run_part *time,
		      struct aif_selection *ret, struct aif_err *err)
{
	int64_t from = 0, to = 0;
	int r = 0;

	if (!f->from)
		return no_part("no step is marked, and no loop was found in the launches", err);
	if (time->part == AIF_PART_STEPS) {
		r = steps_span(f, time, &from, &to, err);
	} else if (time->part == AIF_PART_LOOP) {
		from = f->start;
		to = f->end;
	} else if (time->part == AIF_PART_STARTUP) {
		to = f->start;
		if (to <= 0)
			r = no_part("the loop began before the recording, which has no start-up",
				    err);
	} else {
		from = f->end;
	}
	ret->from_ns = from > 0 ? (uint64_t)from : 0;
	/* 0 would be the end. */
	ret->to_ns = time->part == AIF_PART_TAIL ? 0 : to > 0 ? (uint64_t)to : 1;
	return r;
}

/* Sets the times of a part of what else was chosen. */
static int part_span(const struct aif_profile *p, const struct aif_run_part *time,
		     struct aif_selection_args *c, struct aif_err *err)
{
	struct aif_selection *sel = &c->sel;
	const struct aif_exec_timeline *t;
	struct aif_phases f = {0};
	int r = aif_exec_timeline_get(p, sel, &t);

	if (!r)
		r = aif_phases_find(p, sel, t, &f);
	if (r)
		aif_err_set(err, r, "--time: %s", strerror(-r));
	else
		r = phase_span(&f, time, sel, err);
	c->steps = r ? 0 : steps_of(&f, time);
	aif_phases_finish(&f);
	aif_facts_put(t);
	return r;
}

/* A loop as why prints it: "f (a.py:12)", "a.py:12", or a part of a function's or a file's name. */
struct loop_text {
	char name[256], file[256]; /* "" if not said; in .name what may be of either */
	unsigned long line;        /* 0: not said */
};

static void parse_loop_text(const char *asked, struct loop_text *ret)
{
	const char *line = strrchr(asked, ':'), *paren = NULL;
	char *end;

	*ret = (struct loop_text){0};
	if (line && line[1] >= '0' && line[1] <= '9') {
		ret->line = strtoul(line + 1, &end, 10);
		if (strcmp(end, "") != 0 && strcmp(end, ")") != 0)
			ret->line = 0;
	}
	if (!ret->line) {
		snprintf(ret->name, sizeof(ret->name), "%s", asked);
		return;
	}
	/* Names of C++ have parentheses, too. */
	for (const char *next = strstr(asked, " ("); next && next < line;
	     next = strstr(next + 1, " ("))
		paren = next;
	if (paren)
		snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(paren - asked), asked);
	asked = paren ? paren + 2 : asked;
	snprintf(ret->file, sizeof(ret->file), "%.*s", (int)(line - asked), asked);
}

static bool is_asked_for(const struct aif_profile *p, const struct aif_frame_name *f,
			 const struct loop_text *asked)
{
	const char *name = aif_profile_str(p, f->name), *file = aif_profile_str(p, f->file);

	if (!asked->line)
		return strstr(name, asked->name) || strstr(file, asked->name);
	return strstr(name, asked->name) && strstr(file, asked->file);
}

/* Returns how far out of a loop the first function is that is asked for, UINT32_MAX: none is. */
static uint32_t distance_to(const struct aif_profile *p, const struct aif_loop_candidate *loop,
			    const struct loop_text *asked)
{
	uint32_t stack = loop->stack;

	if (asked->line && loop->line && loop->line != asked->line)
		return UINT32_MAX;
	for (uint32_t n = 0; stack != AIF_NONE; stack = p->stacks[stack].parent, n++) {
		const struct aif_frame_name *name =
			p->stacks[stack].frame == AIF_NONE
				? NULL
				: aif_profile_frame_name(p, p->stacks[stack].frame);

		if (name && is_asked_for(p, name, asked))
			return n;
	}
	return UINT32_MAX;
}

/* Returns the index of the loop that is asked for, by its number from 1 on or by a function that it is in; .loops_len: none is. */
static size_t loop_of(const struct aif_profile *p, const struct aif_phases *f, const char *asked)
{
	char *end;
	unsigned long number = strtoul(asked, &end, 10);
	size_t best = f->loops_len;
	uint32_t nearest = UINT32_MAX;
	struct loop_text text;

	if (*asked && !*end)
		return number ? AIF_MIN((size_t)number - 1, f->loops_len) : f->loops_len;
	parse_loop_text(asked, &text);
	for (size_t i = 0; i < f->loops_len && *asked; i++) {
		uint32_t distance = distance_to(p, &f->loops[i], &text);

		if (distance < nearest) {
			nearest = distance;
			best = i;
		}
	}
	return best;
}

/* Sets the place of the loop that is asked for. */
static int choose_loop(const struct aif_profile *p, const char *asked, struct aif_selection *sel,
		       struct aif_err *err)
{
	const struct aif_exec_timeline *t;
	struct aif_phases f = {0};
	size_t i;
	int r = aif_exec_timeline_get(p, sel, &t);

	if (!r)
		r = aif_phases_find_turns(p, sel, t, &f);
	i = r ? 0 : loop_of(p, &f, asked);
	if (r)
		aif_err_set(err, r, "--loop: %s", strerror(-r));
	else if (!f.loops_len)
		r = aif_err_set(err, -EINVAL, "--loop '%s': no loop was found in the launches",
				asked);
	else if (i == f.loops_len)
		r = aif_err_set(err, -EINVAL,
				"--loop '%s': none of the %zu in the launches; give its number, or "
				"FUNCTION or FILE:LINE of one that aiflame why lists",
				asked, f.loops_len);
	else
		sel->loop = f.loops[i].place;
	aif_phases_finish(&f);
	aif_facts_put(t);
	return r;
}

/* Shows the cycle of a profile of one: the steps around it are there, too. */
static void cycle_span(const struct aif_profile *p, struct aif_selection_args *c)
{
	struct aif_cycle cycle;

	aif_profile_cycle(p, &cycle);
	if (!cycle.cycle)
		return;
	c->sel.from_ns = cycle.from_ns;
	c->sel.to_ns = cycle.to_ns;
	c->steps = cycle.last - cycle.first + 1;
}

/* ---- ranges ------------------------------------------------------------------------------------ */

struct asked_ranges {
	struct aif_regex regex;
	bool some;
};

static bool is_asked_range(void *arg, const char *name)
{
	struct asked_ranges *a = arg;
	bool is = aif_regex_matches(&a->regex, name);

	a->some |= is;
	return is;
}

static int choose_ranges(const char *re, const struct aif_profile *p, struct aif_selection_args *c,
			 struct aif_err *err)
{
	struct asked_ranges a = {.some = false};
	int r = aif_regex_init(&a.regex, "--range", re, err);

	if (!re || r)
		return r;
	r = aif_range_index_make(p, is_asked_range, &a, &c->ranges);
	aif_regex_finish(&a.regex);
	if (r)
		return aif_err_set(err, r, "--range: %s", strerror(-r));
	if (!a.some)
		return aif_err_set(err, -EINVAL,
				   "--range '%s': no range in this profile matches; see aiflame "
				   "report --ranges",
				   re);
	c->sel.ranges = &c->ranges;
	c->sel.in_ranges = true;
	return 0;
}

int aif_selection_args_by_range(const struct aif_profile *p, struct aif_selection_args *c,
				struct aif_err *err)
{
	int r = c->sel.ranges ? 0 : aif_range_index_make(p, NULL, NULL, &c->ranges);

	if (r)
		return aif_err_set(err, r, "reading ranges: %s", strerror(-r));
	c->sel.ranges = &c->ranges;
	c->sel.by_range = c->ranges.chains_len;
	return 0;
}

static void put_options(const struct aif_selection_values *v, struct aif_buf *to)
{
	const struct {
		const char *option, *value;
	} given[] = {{"range", v->range}, {"process", v->process}, {"rank", v->rank},
		     {"tid", v->tid},     {"device", v->device},   {"loop", v->loop}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(given); i++) {
		if (!given[i].value)
			continue;
		aif_buf_printf(to, " --%s ", given[i].option);
		aif_buf_shell(to, given[i].value);
	}
}

int aif_selection_args_make(const struct aif_selection_values *v, const struct aif_profile *p,
			    struct aif_selection_args *ret, struct aif_err *err)
{
	struct aif_selection_args *c = ret;
	int r;

	*c = (struct aif_selection_args){
		.sel = {.from_ns = v->time.from_ns, .to_ns = v->time.to_ns}};
	put_options(v, &c->options);
	c->sel.options = aif_buf_str(&c->options);
	r = choose("--process", v->process,
		   "see aiflame query 'SELECT pid, cmdline FROM processes'", p, p->processes_len,
		   process_row, &c->processes, &c->sel.processes, err);
	if (!r && v->rank)
		r = choose_ranks(v->rank, p, c, err);
	if (!r)
		r = choose("--tid", v->tid, "see aiflame query 'SELECT tid, name FROM threads'", p,
			   p->threads_len, thread_row, &c->threads, &c->sel.threads, err);
	if (!r)
		r = choose("--device", v->device, "see aiflame query 'SELECT name FROM devices'", p,
			   p->devices_len, device_row, &c->devices, &c->sel.devices, err);
	if (!r)
		r = choose_ranges(v->range, p, c, err);
	if (!r && v->loop)
		r = choose_loop(p, v->loop, &c->sel, err);
	if (!r && v->time.part && v->time.part != AIF_PART_ALL)
		r = part_span(p, &v->time, c, err);
	else if (!r && !v->time.part && !v->time.from_ns && !v->time.to_ns)
		cycle_span(p, c);
	return r;
}

void aif_selection_args_finish(struct aif_selection_args *c)
{
	free(c->processes);
	free(c->threads);
	free(c->devices);
	aif_range_index_finish(&c->ranges);
	aif_buf_finish(&c->options);
	*c = (struct aif_selection_args){0};
}
