/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons against a verdict: runs that are too few, not whole, or not comparable. */
#include "compare/internal.h"

#include "base/human.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

/* Clocks and power limits of the sides that are further apart are not comparable. */
#define SAME_CLOCK 0.02
/* A run that was held back for more of its time (ppm) by heat or its board is none to judge by. */
#define MOST_THROTTLED 50000

/* ---- commands -------------------------------------------------------------------------------- */

/* Returns a run's command, "" where it was imported: the name of a file is none. */
static const char *command_of(const struct aif_run *r, size_t *ret_len)
{
	static const char imported[] = "imported from ";
	const char *command = aif_run_command(r, ret_len);

	if (*ret_len < sizeof(imported) - 1 || memcmp(command, imported, sizeof(imported) - 1) != 0)
		return command;
	*ret_len = 0;
	return "";
}

/* Puts a command as runs of one program have it in common: without digits, as those of a seed, and without directories. */
static void put_program(const char *command, size_t len, struct aif_buf *b)
{
	size_t word = 0;

	for (size_t i = 0; i < len; i++) {
		if (command[i] == '/') {
			b->len = word;
			continue;
		}
		if (command[i] < '0' || command[i] > '9')
			aif_buf_putc(b, (uint8_t)command[i]);
		if (command[i] == ' ' || command[i] == '=')
			word = b->len;
	}
}

/* Compares commands so. Without memory *ret_failed is set. */
static bool is_same_program(const char *x, size_t x_len, const char *y, size_t y_len,
			    bool *ret_failed)
{
	struct aif_buf a = {0}, b = {0};
	bool is_same;

	put_program(x, x_len, &a);
	put_program(y, y_len, &b);
	is_same = a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
	*ret_failed |= aif_buf_failed(&a) || aif_buf_failed(&b);
	aif_buf_finish(&a);
	aif_buf_finish(&b);
	return is_same;
}

/* Looks for a side whose runs are of several programs: how runs of one program differ is not in it. */
static bool find_programs(struct aif_comparison *c)
{
	const struct aif_side *const sides[] = {c->a, c->b};
	bool any = false;

	for (size_t s = 0; s < AIF_ARRAY_LEN(sides); s++) {
		size_t len, first_len = 0;
		const char *first = "";

		for (size_t i = 0; i < sides[s]->len; i++) {
			const char *command = command_of(&sides[s]->runs[i], &len);

			if (!first_len) {
				first = command;
				first_len = len;
			}
			if (!len ||
			    is_same_program(first, first_len, command, len, &c->problems.failed))
				continue;
			aif_buf_printf(&c->problems,
				       "runs of %c are of different commands: %.*s; %.*s\n",
				       s ? 'B' : 'A', (int)first_len, first, (int)len, command);
			any = true;
			break;
		}
	}
	return any;
}

/* Notes the first command that is another than the first run's. */
static void find_commands(struct aif_comparison *c)
{
	size_t len, first_len = 0;
	const char *first = "";

	for (size_t i = 0; i < aif_compare_runs(c); i++) {
		const char *command = command_of(aif_compare_run(c, i), &len);

		if (!first_len) {
			first = command;
			first_len = len;
		}
		if (!len || (len == first_len && !memcmp(command, first, len)))
			continue;
		aif_buf_printf(&c->notes, "commands differ: %.*s; %.*s\n", (int)first_len, first,
			       (int)len, command);
		return;
	}
}

/* The exit status of what Ctrl-C ended. */
#define INTERRUPTED (128 + SIGINT)

/* Looks for runs whose command failed: they may have ended before their work was done. */
static void find_statuses(struct aif_comparison *c)
{
	uint64_t first = aif_compare_run(c, 0)->amount[AIF_RUN_STATUS];

	for (size_t i = 1; i < aif_compare_runs(c); i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		if (r->amount[AIF_RUN_STATUS] == first || r->is_part || r->is_counts ||
		    aif_compare_run(c, 0)->is_part || aif_compare_run(c, 0)->is_counts)
			continue;
		aif_buf_printf(&c->problems, "%s: %s ended with %" PRIu64 ", %s with %" PRIu64 "\n",
			       first == INTERRUPTED || r->amount[AIF_RUN_STATUS] == INTERRUPTED
				       ? "a run was interrupted"
				       : "exit statuses differ",
			       aif_compare_run(c, 0)->path, first, r->path,
			       r->amount[AIF_RUN_STATUS]);
		return;
	}
	if (first)
		aif_buf_printf(&c->notes, "all runs ended with exit status %" PRIu64 "\n", first);
}

/* Looks for runs that were recorded in part, which have other steps than whole ones, and are shorter by themselves. */
static void find_open(struct aif_comparison *c)
{
	const struct aif_run *open = NULL, *whole = NULL;

	for (size_t i = aif_compare_runs(c); i-- > 0;) {
		const struct aif_run *r = aif_compare_run(c, i);

		if (!r->is_part && !r->is_counts)
			*(r->is_open ? &open : &whole) = r;
	}
	if (!open || (!whole && c->unit != AIF_UNIT_RUN))
		return;
	aif_buf_printf(
		&c->problems,
		"%s is no whole run: its recording ended before its command did, or kept the "
		"last seconds only",
		open->path);
	if (whole)
		aif_buf_printf(&c->problems,
			       "; %s is one: compare what both have, as in FILE@steps:10-50",
			       whole->path);
	aif_buf_putc(&c->problems, '\n');
}

/* Looks for runs that have parts of steps, which are in their values and not in their number of steps. */
static void find_cut(struct aif_comparison *c)
{
	for (size_t i = 0; i < aif_compare_runs(c) && c->unit == AIF_UNIT_STEP; i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		if (!r->is_cut)
			continue;
		aif_buf_printf(&c->problems,
			       "%s begins or ends within a step, or has more than steps: choose "
			       "whole ones, as in FILE@steps:10-50\n",
			       r->path);
		return;
	}
}

/* Looks for whole runs beside loops: of start-up and end only one side has work. By run that is found otherwise. */
static void find_loops_beside_whole(struct aif_comparison *c)
{
	const struct aif_run *loop = NULL, *whole = NULL;

	for (size_t i = aif_compare_runs(c); i-- > 0;) {
		const struct aif_run *r = aif_compare_run(c, i);

		loop = r->is_loop ? r : loop;
		whole = r->is_whole && r->amount[AIF_RUN_LOOP] ? r : whole;
	}
	if (loop && whole && c->unit != AIF_UNIT_RUN)
		aif_buf_printf(&c->problems,
			       "%s is a whole run, %s the loop of one: compare by --unit run\n",
			       whole->path, loop->path);
}

/* ---- what stands against a verdict ----------------------------------------------------------- */

/* Looks for runs that are on both sides, by what is in them, which say nothing of a difference: a file named twice by mistake
 * would pass any gate. Notes recordings of which each side has a part. */
static void find_shared(struct aif_comparison *c)
{
	const struct aif_run *first = NULL;
	size_t both = 0, parts = 0;

	for (size_t i = 0; i < c->a->len; i++)
		for (size_t j = 0; j < c->b->len; j++) {
			const struct aif_run *a = &c->a->runs[i], *b = &c->b->runs[j];
			bool is_same = a->hash && a->hash == b->hash;

			first = is_same && !first ? a : first;
			both += is_same;
			parts += !is_same && a->recording && a->recording == b->recording;
		}
	if (parts)
		aif_buf_puts(&c->notes, "parts of one recording are on both sides: how recordings "
					"differ from one another is not in such a comparison\n");
	if (!both)
		return;
	c->is_shared = true;
	if (both == c->a->len && both == c->b->len) {
		aif_buf_puts(&c->problems, "A and B are the same runs");
	} else {
		aif_human_counted(&c->problems, both, "run");
		aif_buf_printf(&c->problems, " %s on both sides (%s)", both > 1 ? "are" : "is",
			       first->path);
	}
	aif_buf_puts(&c->problems, ": no evidence of a difference from themselves; give each run "
				   "to one side\n");
}

/* Notes runs that were named again on their side. */
static void find_repeated(struct aif_comparison *c)
{
	const struct aif_side *const sides[] = {c->a, c->b};

	for (size_t i = 0; i < AIF_ARRAY_LEN(sides); i++) {
		size_t parts = sides[i]->len - c->recordings[i];

		if (sides[i]->repeated)
			aif_buf_printf(&c->notes,
				       "%c: a run was named twice, %zu time%s: it counts once\n",
				       i ? 'B' : 'A', sides[i]->repeated,
				       sides[i]->repeated > 1 ? "s" : "");
		if (sides[i]->agreed && c->unit != AIF_UNIT_RUN) {
			aif_buf_printf(&c->notes, "%c: ", i ? 'B' : 'A');
			aif_human_counted(&c->notes, sides[i]->agreed, "run");
			aif_buf_puts(&c->notes,
				     " had other steps by themselves, or none; given are "
				     "those of the loop that other runs have\n");
		}
		if (!parts)
			continue;
		aif_buf_printf(&c->notes,
			       "%c: parts of one recording count as one run: ", i ? 'B' : 'A');
		aif_human_counted(&c->notes, sides[i]->len, "part");
		aif_buf_puts(&c->notes, " of ");
		aif_human_counted(&c->notes, c->recordings[i], "recording");
		aif_buf_putc(&c->notes, '\n');
	}
}

/* Returns what stands for a machine's name in a line. */
static const char *machine_name(const char *name)
{
	return *name ? name : "a device that is not known";
}

static void find_runs(struct aif_comparison *c, const struct aif_compare_opts *o)
{
	const struct aif_run *first = NULL; /* with times */
	size_t n = aif_compare_runs(c);
	bool has_machine = false, has_driver = false, has_counts = false, has_cpu = false;

	for (size_t i = 0; i < n; i++) {
		const struct aif_run *r = aif_compare_run(c, i);
		const char *machine = aif_run_text(r, AIF_RUN_MACHINE),
			   *driver = aif_run_text(r, AIF_RUN_DRIVER);
		struct aif_buf *b = o->any_machine ? &c->notes : &c->problems;

		if (*aif_run_text(r, AIF_RUN_PROBLEM))
			aif_buf_printf(&c->problems, "%s: %s\n", r->path,
				       aif_run_text(r, AIF_RUN_PROBLEM));
		if (r->is_counts && !has_counts)
			aif_buf_printf(&c->problems, "%s has counts and no times%s\n", r->path,
				       c->by_share ? ": shares of each side's whole are compared"
						   : "");
		has_counts |= r->is_counts;
		if (r->is_counts)
			continue;
		if (!first)
			first = r;
		if (r->is_cpu != first->is_cpu && !has_cpu)
			aif_buf_printf(
				&c->problems,
				"%s used a device, %s did not: CPU time stands against device time\n",
				first->is_cpu ? r->path : first->path,
				first->is_cpu ? first->path : r->path);
		has_cpu |= r->is_cpu != first->is_cpu;
		if (strcmp(machine, aif_run_text(first, AIF_RUN_MACHINE)) && !has_machine) {
			aif_buf_printf(b, "machines differ: %s ran on %s, %s on %s\n", first->path,
				       machine_name(aif_run_text(first, AIF_RUN_MACHINE)), r->path,
				       machine_name(machine));
			has_machine = true;
		} else if (strcmp(driver, aif_run_text(first, AIF_RUN_DRIVER)) && !has_driver &&
			   !has_machine) {
			aif_buf_printf(b, "drivers differ: %s ran with version %s, %s with %s\n",
				       first->path, aif_run_text(first, AIF_RUN_DRIVER), r->path,
				       driver);
			has_driver = true;
		}
	}
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* Returns the mean of an amount over a side's runs, 0 where one does not have it. */
static double mean_of(const struct aif_side *s, enum aif_run_amount which)
{
	double sum = 0;

	for (size_t i = 0; i < s->len; i++) {
		if (!s->runs[i].amount[which])
			return 0;
		sum += (double)s->runs[i].amount[which] / (double)s->len;
	}
	return sum;
}

static bool is_near(double a, double b)
{
	return fmax(a, b) <= fmin(a, b) * (1 + SAME_CLOCK);
}

/* Notes how long the power limit held clocks down: many programs run into it, equally on both sides. */
static void note_capped(struct aif_comparison *c)
{
	double ppm[2] = {0};

	for (size_t i = 0; i < aif_compare_runs(c); i++) {
		bool is_b = i >= c->a->len;

		ppm[is_b] += (double)aif_compare_run(c, i)->amount[AIF_RUN_CAPPED] /
			     (double)(is_b ? c->b->len : c->a->len);
	}
	if (fmax(ppm[0], ppm[1]) <= MOST_THROTTLED)
		return;
	aif_buf_puts(&c->notes, "the power limit held clocks down: ");
	aif_human_share(&c->notes, (uint64_t)ppm[0]);
	aif_buf_puts(&c->notes, " of the time in A, ");
	aif_human_share(&c->notes, (uint64_t)ppm[1]);
	aif_buf_puts(&c->notes, " in B\n");
}

static void find_clocks(struct aif_comparison *c, const struct aif_compare_opts *o)
{
	struct aif_buf *b = o->any_machine ? &c->notes : &c->problems;
	double limit_a = mean_of(c->a, AIF_RUN_POWER_LIMIT),
	       limit_b = mean_of(c->b, AIF_RUN_POWER_LIMIT), clock_a = mean_of(c->a, AIF_RUN_CLOCK),
	       clock_b = mean_of(c->b, AIF_RUN_CLOCK);

	if (limit_a > 0 && limit_b > 0 && !is_near(limit_a, limit_b))
		aif_buf_printf(b, "power limits differ: %.0f W in A, %.0f W in B\n", limit_a / 1e3,
			       limit_b / 1e3);
	if (clock_a > 0 && clock_b > 0 && !is_near(clock_a, clock_b) &&
	    !aif_compare_run(c, 0)->in_cycles)
		aif_buf_printf(b,
			       "clocks differ: %.0f MHz in A, %.0f MHz in B (SM, median); lock "
			       "them (nvidia-smi -lgc), or compare by --unit cycles\n",
			       clock_a / 1e3, clock_b / 1e3);
	else if ((clock_a > 0) != (clock_b > 0) && !c->by_share)
		aif_buf_printf(&c->notes, "clocks are known in %c only: not compared\n",
			       clock_a > 0 ? 'A' : 'B');
	for (size_t i = 0; i < aif_compare_runs(c); i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		if (r->amount[AIF_RUN_THROTTLED] <= MOST_THROTTLED)
			continue;
		aif_buf_printf(b, "%s: the device was throttled for ", r->path);
		aif_human_share(b, r->amount[AIF_RUN_THROTTLED]);
		aif_buf_puts(b, " of the time, by heat or its board (aiflame why)\n");
	}
	note_capped(c);
}

/* Notes what the runs of each side have in part only, by the first that has. */
static void note_lacks(struct aif_comparison *c)
{
	const struct aif_side *const sides[] = {c->a, c->b};

	for (size_t s = 0; s < AIF_ARRAY_LEN(sides); s++) {
		const struct aif_run *first = NULL;
		size_t n = 0;

		for (size_t i = 0; i < sides[s]->len; i++) {
			if (!*aif_run_text(&sides[s]->runs[i], AIF_RUN_LACKS))
				continue;
			if (!n++)
				first = &sides[s]->runs[i];
		}
		if (!first)
			continue;
		aif_buf_printf(&c->notes, "%s is %s (aiflame info)", first->path,
			       aif_run_text(first, AIF_RUN_LACKS));
		if (n > 1)
			aif_buf_printf(&c->notes, "; %zu more of %c are incomplete, too", n - 1,
				       s ? 'B' : 'A');
		aif_buf_putc(&c->notes, '\n');
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

void aif_compare_find_problems(struct aif_comparison *c, const struct aif_compare_opts *o)
{
	size_t fewest = AIF_MIN(c->recordings[0], c->recordings[1]);

	find_shared(c);
	aif_buf_puts(&c->problems, o->problem ? o->problem : "");
	find_runs(c, o);
	find_clocks(c, o);
	if (!find_programs(c))
		find_commands(c);
	find_statuses(c);
	find_open(c);
	find_cut(c);
	find_loops_beside_whole(c);
	find_repeated(c);
	note_lacks(c);
	c->is_comparable = !c->problems.len;
	if (fewest < AIF_CHANGE_RUNS_MIN) {
		aif_human_counted(&c->problems, fewest, "run");
		aif_buf_printf(&c->problems,
			       " on a side: how much runs differ from one another is not known; "
			       "a verdict needs %d a side, 5 are better (aiflame bench)\n",
			       AIF_CHANGE_RUNS_MIN);
	}
	c->decides = !c->problems.len;
}
