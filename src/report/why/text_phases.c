/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for people: phases of the run, the loop, its steps and periods. */
#include "base/human.h"
#include "base/u64_of.h"
#include "report/why/saying.h"

/* A trend is said from a change of a tenth on. */
#define TREND 0.1
/* Loops besides are named that are at least so long, as a part of the loop. */
#define LEAST_OF_LOOP 20
#define MOST_OTHERS   2

static void say_phase(struct saying *s, const char *name, unsigned i, int64_t from, int64_t to)
{
	const struct aif_profile *p = s->names->p;

	if (to <= from)
		return;
	aif_buf_printf(&s->line, "%s%s ", i ? ", " : "", name);
	aif_human_ns(&s->line, (uint64_t)(to - from));
	aif_buf_puts(&s->line, " (");
	aif_human_share(&s->line, aif_share_ppm((uint64_t)(to - from), p->end_ns - p->start_ns));
	aif_buf_puts(&s->line, ", device busy ");
	aif_human_share(&s->line, s->w->phase_busy_ppm[i]);
	aif_buf_putc(&s->line, ')');
}

static void say_trend(struct saying *s, double trend)
{
	if (trend > 1 - TREND && trend < 1 + TREND)
		return;
	aif_buf_puts(&s->line, "; the last quarter takes ");
	aif_human_share(&s->line, aif_u64_of(trend * 1e6));
	aif_buf_puts(&s->line, " of the first's");
}

/* A loop that turns less often within another one's turn says nothing. */
#define MANY 1.05

/* Says which periods are outside and inside of the steps: epochs, requests, tokens, layers. */
/* Returns true if the turns of a loop within another one take most of that one's time: they are its parts. */
static bool is_most(const struct aif_loop_level *outer, const struct aif_loop_level *inner)
{
	return 2.0 * (double)inner->turns * (double)inner->median_ns >=
	       (double)outer->turns * (double)outer->median_ns;
}

static void say_periods(struct saying *s)
{
	const struct aif_phases *f = &s->w->phases;
	unsigned inside = 0;

	for (size_t i = 0; i < f->levels; i++) {
		const struct aif_loop_level *l = &f->level[i];
		const char *in = place(s, s->w->level_places[i]);

		if (i == f->chosen ||
		    (i > f->chosen && (f->is_sparse || !is_most(&f->level[f->chosen], l))) ||
		    (i > f->chosen && (double)l->turns < MANY * (double)l[-1].turns))
			continue;
		aif_buf_puts(&s->line, i < f->chosen ? "; inside of "
				       : !inside++   ? "; each with "
						     : ", each with ");
		if (i < f->chosen)
			aif_human_counted(&s->line, l->turns, "turn");
		else
			aif_buf_printf(&s->line, "%.1f turns",
				       (double)l->turns / (double)f->level[i - 1].turns);
		aif_buf_printf(&s->line, "%s%s of ", *in ? " of " : "", in);
		aif_human_ns(&s->line, l->median_ns);
	}
}

static void say_steps(struct saying *s)
{
	const struct aif_phases *f = &s->w->phases;
	const char *in = place(s, s->w->loop_place);
	bool is_marked = f->from == AIF_PHASES_MARKS,
	     were_turns = is_marked && *aif_profile_meta(s->names->p, "reduced_turns");

	aif_buf_puts(&s->line, s->w->is_requests ? "loop     none, but " : "loop     ");
	aif_human_counted(&s->line, f->len,
			  were_turns          ? "turn"
			  : is_marked         ? "step"
			  : s->w->is_requests ? "request"
					      : "turn");
	if (f->is_sparse)
		aif_buf_puts(&s->line, " seen whole");
	if (were_turns)
		aif_buf_puts(&s->line, ", found before launches of most were left out");
	else if (is_marked)
		aif_buf_printf(&s->line, ", as the program marks them%s",
			       f->is_queued ? ", by when their work ran" : "");
	else
		aif_buf_printf(&s->line, "%s%s, %s%s", *in ? " of " : "", in,
			       f->level[f->chosen].line ? "found in the source"
							: "found by launches that recur",
			       s->w->is_requests ? " behind waits for work from outside" : "");
	aif_buf_puts(&s->line, ": median ");
	aif_human_ns(&s->line, f->median_ns);
	aif_buf_puts(&s->line, ", p95 ");
	aif_human_ns(&s->line, f->p95_ns);
	if (!f->is_sparse)
		say_trend(s, f->trend);
	say_periods(s);
	aif_why_end_line(s);
}

/* Returns whether these launches recur within the loop that is said already: of no known place, or of the same one in another thread
 * or rank. */
static bool is_said(const struct aif_why *w, size_t i)
{
	const struct aif_phases *f = &w->phases;
	const struct aif_loop_candidate *c = &f->loops[i];
	int64_t both = AIF_MIN(f->end, c->end) - AIF_MAX(f->start, c->start);
	bool is_placed = w->candidate_places[i] != AIF_STR_NONE;

	return (is_placed ? w->candidate_places[i] == w->loop_place : !c->line) &&
	       2 * both > c->end - c->start;
}

/* Says which other loops there are: "loops    2: 12 turns of f (a.py:3) of 3.2 ms, 8.1 % of the loop's time; --loop chooses". */
static void say_other_loops(struct saying *s)
{
	const struct aif_phases *f = &s->w->phases;
	uint64_t least = (uint64_t)(f->end - f->start) / LEAST_OF_LOOP;
	size_t said = 0;

	for (size_t i = 1; i < f->loops_len; i++) {
		const struct aif_loop_candidate *c = &f->loops[i];
		const char *in = place(s, s->w->candidate_places[i]);

		if (c->ns < least || said == MOST_OTHERS || is_said(s->w, i))
			continue;
		aif_buf_puts(&s->line, said++ ? "; " : "others   ");
		aif_buf_printf(&s->line, "%zu: ", i + 1);
		aif_human_counted(&s->line, c->turns, "turn");
		aif_buf_printf(&s->line, "%s%s of ", *in ? " of " : "", in);
		aif_human_ns(&s->line, c->median_ns);
		aif_buf_puts(&s->line, ", ");
		aif_human_ns(&s->line, c->ns);
		aif_buf_puts(&s->line, " in all");
	}
	if (!said)
		return;
	/* Steps have the times of their device work; of other loops those are not known. */
	if (f->is_queued)
		aif_buf_puts(&s->line, ", of the time in which they were launched");
	aif_buf_puts(&s->line, "; --loop N chooses one");
	aif_why_end_line(s);
}

void aif_why_say_phases(struct saying *s)
{
	const struct aif_phases *f = &s->w->phases;
	const struct aif_profile *p = s->names->p;

	if (!f->from) {
		aif_buf_puts(
			&s->line,
			"loop     none found: no step is marked, and launches do not recur often or regularly enough");
		aif_why_end_line(s);
		return;
	}
	aif_buf_puts(&s->line, "phases   ");
	if (s->w->since > 0) {
		aif_human_ns(&s->line, (uint64_t)s->w->since);
		aif_buf_puts(&s->line,
			     p->notes & AIF_NOTE_TRIMMED ? " not kept, " : " not collected, ");
	}
	say_phase(s, "start-up", 0, s->w->since, f->start);
	if (f->start <= s->w->since)
		aif_buf_puts(&s->line, "no start-up");
	say_phase(s, "loop", 1, f->start, f->end);
	say_phase(s, "tail", 2, f->end, (int64_t)(p->end_ns - p->start_ns));
	aif_why_end_line(s);
	say_steps(s);
	say_other_loops(s);
}
