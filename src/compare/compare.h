/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/run.h"
#include "names/profile_names.h"
#include "stats/change.h"

/*
 * Two sets of runs, compared. Everything is given in one unit that all runs have, and never scaled to equal totals, which
 * would hide that all of it got slower.
 *
 *   unit      a step, where all runs have them; else a whole run, from its start to its end and not of the loop alone, where
 *             all are recordings of all of it (baselines may have no more than the loop); else a second of
 *             what there is; --unit also takes a launch, or a range that the program marked. Steps that were found, not
 *             marked, are used only if both sides have about as many launches in each: otherwise different loops were
 *             found.
 *   metrics   sums of a run; p adjusted after Holm where a gate decides by several
 *   kernels   where the unit is a launch, by their own launches, since a run's number of them may be an estimate. Matched
 *             by name; then those of one side only whose names differ in template arguments and numbers alone, then those
 *             launched as often from the same stack. What has no partner is new or gone. p after Benjamini and Hochberg
 *   stacks    one tree of both sides' stacks, frames by function and not by line. A change is looked for from the root on: where
 *             callees change in opposite directions and their caller does not, time has moved between them, which is one
 *             finding and no regression; else the innermost stack is named that has the change
 *
 * Nothing is decided where runs are too few, whose number is that of recordings, or not comparable: the reasons are in .problems.
 */

struct aif_side {
	char *name; /* the words that named the side */
	struct aif_run *runs;
	size_t len, cap;
	size_t repeated; /* number of times that a run was named again, which counts once */
	size_t agreed;   /* runs whose steps are of the loop that others have: aif_side_agree() */
	aif_profile_opener *open; /* reads one of its profiles again; NULL: none is read again */
};
void aif_side_finish(struct aif_side *s);

/* Reduces a run of a side again: its steps are the turns that begin at `loop` (aif_run.loop). 0; -ENODATA where that cannot be, another
 * -errno with *err. *ret is finished by the caller, also after a failure. */
typedef int aif_run_again(const struct aif_side *s, const struct aif_run *run, uint64_t loop,
			  struct aif_run *ret, struct aif_err *err);
/* Lets the runs of a side have steps of one loop, where in some another was found than in most, or none: each is reduced again by
 * the loop of the others, and that taken if it then has as many launches a step. 0, or -errno with *err. */
int aif_side_agree(struct aif_side *s, aif_run_again *again, struct aif_err *err);
/* The same of two sides, the runs of each of which agree: if all runs of one can have the other's loop, they do. */
int aif_sides_agree(struct aif_side *a, struct aif_side *b, aif_run_again *again,
		    struct aif_err *err);

enum aif_compare_unit {
	AIF_UNIT_AUTO,
	AIF_UNIT_STEP,
	AIF_UNIT_LAUNCH,
	AIF_UNIT_SECOND,
	AIF_UNIT_RUN,
	/* an occurrence of the range aif_compare_opts.range, which the program marks: a token */
	AIF_UNIT_RANGE,
	AIF_UNIT_CYCLES /* chosen as AUTO is; times are in cycles of an SM, into which the caller converts them */
};

struct aif_compare_opts {
	enum aif_compare_unit unit;
	const char *range; /* AIF_UNIT_RANGE's name, without the number at its end; else NULL */
	double margin;     /* 0.03: 3 % */
	bool any_machine;  /* machines that differ are compared all the same */
	/* Objection of the caller's to a verdict, a line; "" or NULL: none. */
	const char *problem;
};

#define AIF_METRIC(id, amount, key, name, is_time, by_unit) AIF_METRIC_##id,
enum aif_metric {
#include "compare/metrics.def"
	AIF_METRICS
};
#undef AIF_METRIC
const char *aif_metric_key(enum aif_metric m);
const char *aif_metric_name(enum aif_metric m);
bool aif_metric_is_ns(enum aif_metric m);
/* False where it is the same for a part of a run as for all of it: memory in use. */
bool aif_metric_is_by_unit(enum aif_metric m);
/* True for what devices did: where launches were left out, it is an estimate. */
bool aif_metric_is_estimated(enum aif_metric m);

struct aif_compared {
	struct aif_change change;
	double p; /* adjusted */
	enum aif_change_answer answer;
};

enum aif_partner { AIF_PARTNER_SAME, AIF_PARTNER_NAME, AIF_PARTNER_STACK, AIF_PARTNER_NONE };

struct aif_compared_kernel {
	const char *a, *b;           /* names; NULL: that side does not have it */
	enum aif_partner matched_by; /* NONE: new or gone */
	bool is_copy;
	bool is_by_launch;             /* the time is that of one of its launches */
	struct aif_compared time;      /* ns a unit */
	double a_launches, b_launches; /* a unit */
	/* UP, DOWN: all runs of each side have the same number of launches a unit, and the sides differ; else UNKNOWN */
	enum aif_change_answer launches;
};

enum aif_finding_kind {
	AIF_FINDING_CHANGED,
	AIF_FINDING_NEW,
	AIF_FINDING_GONE,
	AIF_FINDING_MOVED, /* between callees; the caller itself may have changed, too */
	/* B has more and smaller steps, or fewer and larger ones: values are of whole runs */
	AIF_FINDING_STEPS,
};

struct aif_finding {
	uint32_t node; /* node of .tree */
	bool is_idle;  /* idle time that the stack is blamed for */
	/* the frame changed itself; else only its callees did, in opposite directions */
	bool is_change;
	enum aif_finding_kind kind;
	struct aif_compared time;
	double delta;                  /* ns a unit: what this stack has more */
	double often, longer;          /* parts of the change: by more launches, by longer ones */
	double a_launches, b_launches; /* AIF_FINDING_STEPS: steps a run */
	/* range of .moves: frames between which time was moved, largest first */
	size_t moves, moves_len;
};
struct aif_move {
	uint32_t node;
	double delta;
};

/* Says how a frame has changed, with all that it called. */
enum aif_compare_look {
	AIF_LOOK_SAME,
	AIF_LOOK_UNKNOWN, /* cannot tell, or too little time to be tested */
	AIF_LOOK_UP,
	AIF_LOOK_DOWN,
	AIF_LOOK_NEW,
	AIF_LOOK_GONE,
	AIF_LOOKS
};

struct aif_comparison {
	const struct aif_side *a, *b;
	enum aif_compare_unit unit;
	bool chose_unit;   /* the caller asked for none: steps, where all runs have them */
	const char *range; /* aif_compare_opts.range */
	double margin;
	bool is_whole; /* unit AIF_UNIT_RUN: all are whole runs, with start-up and tail */
	/* some runs have counts, others times: stacks are given in ppm of their side's whole */
	bool by_share;
	bool is_shared; /* a run is on both sides: nothing is decided */
	/* comparable but for the number of runs: one machine, program and outcome, and no run on both sides */
	bool is_comparable;
	/* number of recordings of A and of B: parts of one recording are no runs of their own */
	size_t recordings[2];
	bool has_metric[AIF_METRICS];
	struct aif_compared metric[AIF_METRICS];
	double busy_share_a, busy_share_b; /* 0 to 1 */
	/* Steps of the sides are not the same work: a step takes less and a run more, or the other way round. */
	bool is_batch;
	double steps_a, steps_b;             /* a run */
	struct aif_compared batch;           /* time of whole runs */
	struct aif_compared_kernel *kernels; /* sorted by the size of the change, largest first */
	size_t kernels_len, kernels_cap;
	struct aif_strset names; /* names of kernels */

	/* Both sides' stacks, sealed. Its values are widths: what a frame takes itself in the side where it takes more, so that
	 * what is gone is seen; frames too narrow to draw have given theirs to their callers. */
	struct aif_tree tree;
	double (*means)[2]; /* ns a unit of A and of B, by node, in device and idle time */
	uint8_t *looks;     /* enum aif_compare_look, by node */
	/* changes before moves, the largest first; idle time among them */
	struct aif_finding *findings;
	size_t findings_len, findings_cap;
	struct aif_move *moves;
	size_t moves_len, moves_cap;

	struct aif_buf problems; /* a line each: why nothing is decided */
	struct aif_buf notes;    /* a line each: what is to be known of it */
	bool decides;
};

/* Compares. The sides must outlive *ret, which is finished by the caller, also after a failure. 0 or -errno with *err. */
int aif_compare(const struct aif_side *a, const struct aif_side *b,
		const struct aif_compare_opts *o, struct aif_comparison *ret, struct aif_err *err);
void aif_comparison_finish(struct aif_comparison *c);

/* Measures one value of each run, A's before B's, each a sum of the whole part: NAN where a run has none. estimated: it is of
 * what devices did, and so has the error of launches that were left out. */
struct aif_compared aif_compare_values(const struct aif_comparison *c, const double *values,
				       bool per_unit, bool estimated);
/* Replaces a side's values, one a run, by one a recording: the mean of its parts. Returns how many. */
size_t aif_compare_join_parts(const struct aif_side *s, double *values);
/* Returns a run's sum. */
double aif_metric_of(const struct aif_comparison *c, const struct aif_run *r, enum aif_metric m);
/* Sets values[i] of each run to the time (`of_device`: device time) from its first device work to its last, where all runs have it;
 * else to that of the loop. Returns false where it is the loop's. */
bool aif_compare_extents(const struct aif_comparison *c, bool of_device, double *values);
/* True if whole runs are compared, but some are the loop alone, and could be read again as a whole. */
bool aif_compare_lacks_whole(const struct aif_comparison *c);
/* True if values are given by step, and a run that could be read again has parts of steps, too. */
bool aif_compare_cuts_steps(const struct aif_comparison *c);
/* Returns a run of either side, A's first. */
const struct aif_run *aif_compare_run(const struct aif_comparison *c, size_t i);
/* "step", "launch", "second", "run", or the name of the range that is the unit. */
const char *aif_compare_unit_name(const struct aif_comparison *c);
/* Returns the steps of a run, over all runs of a side. */
double aif_compare_mean_steps(const struct aif_side *s);
/* Returns how many units a run has. */
double aif_compare_units_of(const struct aif_comparison *c, const struct aif_run *r);

/* Answers for a row of a table, UNKNOWN where nothing is decided. */
enum aif_change_answer aif_compare_answer_of_many(const struct aif_comparison *c,
						  const struct aif_compared *of);
/* "f < g < main": a stack of .tree, innermost first, at most `most` frames (0: all). */
void aif_compare_stack(const struct aif_comparison *c, uint32_t node, size_t most,
		       struct aif_buf *out);
