/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/part.h"
#include "analysis/loop/phases.h"
#include "analysis/queue/queue.h"
#include "analysis/roof/opportunity.h"
#include "analysis/power/power.h"
#include "analysis/ranks/verdict.h"
#include "analysis/step_changes.h"
#include "analysis/run_delay.h"
#include "base/map.h"
#include "text/table.h"
#include "names/profile_names.h"
#include "names/stack_names.h"

/*
 * Bounds of a program. All shares are of the time of its devices in one window: the part that is asked for, else the loop
 * (phases.h) if it has half of the devices' work since it began and not the whole run is asked for, else from the first to the
 * last device work. Of each device that worked in it:
 *
 *   time     from the first start to the last end in the window (utilization.h), without what was not collected
 *   groups   what it passes in (groups.def): compute, copies alone and communication alone are utilization.h's; idle time
 *            is divided by its causes (idle/blame.h), each of which is of one group
 *   owners   each ns of idle time is one function's, that of the row of the blame which has it; the groups in which it
 *            passed are the owner's attributes. That a wait before it left nothing queued changes no owner: it is
 *            advice about overlap
 *   at most  the speed-up if a group, a function or a kernel took no time at all, by a replay of the recorded schedule
 *            (analysis/replay/replay.h); 0 where none can be replayed. Those of several do not multiply.
 */
#define AIF_WHY_GROUP(id, key, name, evidence) AIF_WHY_##id,
enum aif_why_group {
#include "report/why/groups.def"
	AIF_WHY_GROUPS
};
#undef AIF_WHY_GROUP

/* State of the queue of the devices at the launches of the window, by aif_queue_sum: queue.def has the states. */
#define AIF_WHY_QUEUE(id, key, text) AIF_WHY_QUEUE_##id,
enum aif_why_queue {
#include "report/why/queue.def"
	AIF_WHY_QUEUE_ANY /* a rule's, for all of them */
};
#undef AIF_WHY_QUEUE

/* From this share of the time on, a group bounds a program by itself. */
#define AIF_WHY_BOUND_PPM 400000
/* Advice is given for groups from this share on. */
#define AIF_WHY_ADVICE_PPM 50000

/* Fewer runs of kernels and copies bound no program: one copy is 100 % of what ran. */
#define AIF_WHY_FEWEST_RUNS 3

/* A loop with less of the devices' work is not what the program does. */
#define AIF_WHY_LOOP_PPM 500000

/* Idle time of one cause in one place. */
struct aif_why_owner {
	enum aif_why_group group;
	uint32_t stack;  /* stack of the row with the most time; AIF_NONE: not known */
	bool is_before;  /* the time before a launch there */
	bool is_machine; /* AIF_IDLE_MACHINE */
	bool is_other;   /* another thread computed there, for which the launching one waited */
	/* .seen of the longest row that has one (idle/blame.h); AIF_NONE: no row has */
	uint32_t seen;
	uint64_t ns;
	uint32_t place;    /* a string of .places: "f (file.py:12)" */
	uint32_t function; /* index of .functions */
};

/* Time between two launches of a slow host, through a framework: 25 to 120 us were measured with eager PyTorch. A host that takes
 * longer computes. */
#define AIF_WHY_LAUNCH_NS 300000

/* Functions and kernels of which it is replayed what they cost. */
#define AIF_WHY_BOUNDED 3

/* A function that owns idle time: all of its rows, of whatever line and cause. */
struct aif_why_function {
	size_t row;     /* index in .owners of the row with the most time */
	bool is_before; /* the time before launches there */
	uint64_t ns, of_group[AIF_WHY_GROUPS];
	double bound_gain; /* "at most"; of the first AIF_WHY_BOUNDED ones */
};

/* A waker for which sleeps of an owner waited (idle/wakers.h), in one place. */
struct aif_why_wake {
	uint64_t owner;
	enum aif_idle_waker kind;
	uint32_t thread; /* AIF_NONE: no thread that was recorded */
	uint32_t text;   /* a string of .places: "feeder: produce (feed.py:12)" */
	uint64_t ns;
};

/* A call of the runtime that idle time passes in, whoever makes it. */
struct aif_why_call {
	uint32_t name; /* string of the profile */
	uint64_t ns;
};

struct aif_why_kernel {
	uint32_t kind, kernel;
	uint64_t ns, runs; /* sums of durations: what overlaps counts twice */
	/* saving at the best use of the device, where that is known (roof/opportunity.h), else .ns */
	uint64_t saved_ns;
	double used;               /* the utilisation; below 0: not known */
	const char *bound;         /* name of the resource that .used is about */
	uint32_t stack;            /* stack that launched most of the time; AIF_NONE: not known */
	uint32_t operator, caller; /* strings of .places; AIF_STR_NONE */
	uint64_t placed_runs; /* runs among .runs that the operator, or else the caller, launched */
	double bound_gain;    /* "at most"; of the first AIF_WHY_BOUNDED ones */
};

struct aif_why {
	struct aif_phases phases; /* phases of the whole run */
	/* Start-up begins here, ns since the recording's start: not in what was dropped (--keep), nor in what was not collected
	 * before the loop (--delay). At most .phases.start. */
	int64_t since;
	/* Share of the time of devices in which one was busy, in 1/1,000,000, by phase: start-up, loop, tail. */
	uint64_t phase_busy_ppm[3];
	/* Share of the devices' busy time since the loop began that lies in it. Below AIF_WHY_LOOP_PPM the window is not the loop. */
	uint64_t loop_work_ppm;
	bool is_loop; /* the window is the loop */
	/* Turns of the loop are requests, not the program's own: AIF_WHY_DEMAND bounds it, and no step is marked. */
	bool is_requests;
	bool is_part; /* the window is what was asked for, not the loop */
	/* Only work of some threads or ranges was asked for: idle time is where none of it ran, whatever else did, and nothing
	 * follows from it. */
	bool is_some_work;
	/* work is missing (struct aif_traits): nothing follows from idle time either */
	bool idle_unknown;
	/* work is missing from an import: time that seems idle bounds nothing */
	bool is_work_missing;
	/* durations of what other threads launched for the ranges asked for (exec_timeline.h), in the window */
	uint64_t for_others_ns;
	const char *options; /* command-line options that make the same selection */
	int64_t from, to;    /* the window */
	size_t devices;
	uint64_t time_ns, of_group[AIF_WHY_GROUPS], idle_ns;
	/* The host's in gaps of less than AIF_WHY_LAUNCH_NS. */
	uint64_t launching_ns;
	double bound_of_group[AIF_WHY_GROUPS];
	uint64_t not_collected_ns;
	/* time of the devices in the window before their first work in it or behind the last */
	uint64_t outside_ns;
	uint64_t error_ns; /* standard error of the busy time, where launches were left out */
	uint64_t captured, left_out, launches;
	struct aif_idle_device *idle; /* idle time of each device in the window, by cause */
	size_t idle_len;
	struct aif_why_owner *owners; /* sorted by time, longest first */
	size_t owners_len, owners_cap;
	struct aif_why_function *functions; /* the same by function; longest first */
	size_t functions_len;
	struct aif_why_wake *wakes; /* wakers of owners, most time first: aif_why_wakes_of() */
	size_t wakes_len, wakes_cap;
	struct aif_why_call *calls; /* calls listed in calls.def (IBM's AIU), most time first */
	size_t calls_len, calls_cap;
	struct aif_strset places;
	struct aif_why_kernel *kernels; /* sorted by .saved_ns, most first */
	size_t kernels_len, kernels_cap;
	struct aif_opportunity work; /* of the window */
	struct aif_queue queue;      /* queue in the whole run, whatever the window */
	struct aif_queue_sum ahead;  /* how far the host is ahead of the devices in the window */
	uint32_t level_places[AIF_LOOP_LEVELS]; /* the same of nested periods (.phases.level) */
	uint32_t candidate_places[AIF_LOOPS];   /* places of .phases.loops */
	uint32_t loop_place; /* a string of .places: the function that loops; AIF_STR_NONE */
	bool is_torch, has_off_cpu,
		has_cpu;                /* PyTorch; times off CPU, and CPU samples, were recorded */
	uint64_t damaged;               /* chunks that could not be read */
	struct aif_power power;         /* of the window */
	struct aif_run_delay run_delay; /* of the window */
	bool is_busy_machine; /* .run_delay is long enough to be named: there are no bounds */
	bool is_crowded;      /* .is_busy_machine, and a device is made of the machine's CPUs */
	/* Time that other threads of the process were sampled computing in while a device was idle, where the launching thread being on no
	 * CPU bounds the program; and the innermost function of the program in which most of it has passed, a string of .places; 0: there
	 * is none. */
	struct aif_why_others {
		uint64_t ns, in_place_ns;
		uint32_t place;
	} others;
	/* waits between ranks in the window, a fact; NULL: not measured */
	const struct aif_rank_waits *waits;
	struct aif_rank_verdict ranks;
	/* Change of a reduced profile that costs most, and its place, a string of .places; NULL: nothing took longer for a while. */
	struct aif_step_change *change;
	uint32_t change_place;
	/* The place of the late rank that has most of the waits for it, whichever the step. */
	struct aif_why_rank_cause {
		const struct aif_wait_row *row; /* a row of the place; NULL: no place is known */
		uint32_t place;                 /* a string of .places, "" where nothing is known */
		uint64_t ns;
	} rank_cause;
};

/* Measures what `sel` (NULL: all) chooses. *ret is finished by the caller, also after a failure. 0; -ENODATA with *err
 * where nothing ran on a device in the window, -errno. */
int aif_why_measure(const struct aif_names *names, const struct aif_selection *sel,
		    struct aif_why *ret, struct aif_err *err);
/* Measures phases, times, kernels and launches alone, which takes half as long: who idle time belongs to, the queue and the
 * power are left out. *ret_part: idle time of the window, a fact, for aif_facts_put(), also after a failure. */
int aif_why_measure_amounts(const struct aif_profile *p, const struct aif_selection *sel,
			    struct aif_why *ret, const struct aif_idle_part **ret_part,
			    struct aif_err *err);
/* Adds up kernels in the window. 0 or -ENOMEM. */
int aif_why_kernels_add(const struct aif_profile *p, const struct aif_idle_part *part,
			struct aif_why *w);
/* Returns a kernel's name, a string; those of one name are one, programs that are compiled again have others. */
uint32_t aif_why_kernel_name(const struct aif_profile *p, uint32_t kernel);
/* Finds which rank is late. 0 or -errno. */
int aif_why_ranks_add(const struct aif_profile *p, struct aif_stack_names *stacks,
		      const struct aif_selection *sel, struct aif_why *w);
/* Finds what took longer for a while. 0 or -errno. */
int aif_why_changes_add(const struct aif_profile *p, struct aif_stack_names *stacks,
			const struct aif_selection *sel, struct aif_why *w);
void aif_why_changes_json(const struct aif_names *names, const struct aif_why *w,
			  struct aif_buf *b);
/* Returns true if a rank bounds the job by being late. */
bool aif_why_is_rank_late(const struct aif_why *w);
void aif_why_ranks_json(const struct aif_profile *p, const struct aif_why *w, struct aif_buf *b);
void aif_why_finish(struct aif_why *w);
/* Adds a row of idle time to the call that its stack ends in, if calls.def has that. 0 or -ENOMEM. */
int aif_why_call_add(const struct aif_profile *p, struct aif_why *w,
		     const struct aif_idle_row *row);
void aif_why_calls_sort(struct aif_why *w);
/* Adds what sleeps of an owner waited for, in words: a string of .places. 0 or -ENOMEM. */
int aif_why_wake_add(struct aif_why *w, const struct aif_why_owner *owner,
		     const struct aif_idle_wake *wake, uint32_t text);
/* Adds up equal ones and puts them in order. */
/* Finds what other threads computed (.others). 0 or -errno. */
int aif_why_others_add(const struct aif_names *names, const struct aif_selection *window,
		       struct aif_why *w);
void aif_why_wakes_sort(struct aif_why *w);
/* Returns those of an owner, most time first; NULL: it has none. */
const struct aif_why_wake *aif_why_wakes_of(const struct aif_why *w, const struct aif_why_owner *o,
					    size_t *ret_len);

/* Returns the group of idle time of that cause. */
enum aif_why_group aif_why_group_of(enum aif_idle_cause cause);
/* Adds up .owners by function, and puts the functions in order. is_by_line: the lines of places are where functions begin, as in
 * traces, whose functions have no class in their names. 0 or -ENOMEM. */
int aif_why_functions_add(struct aif_why *w, bool is_by_line);
/* Returns true of AIF_IDLE_MACHINE. */
bool aif_why_is_machine(const struct aif_why *w, const struct aif_why_function *f);
/* Returns the function that bounds the program by itself, whatever its idle time passed in: one with AIF_WHY_BOUND_PPM of the
 * time, which is known, where `largest`, the largest group, has less than that, or is what the device does and has less than the
 * function. NULL: none does. */
const struct aif_why_function *aif_why_bounding_function(const struct aif_why *w,
							 enum aif_why_group largest);
/* Returns the group with most of a function's time. */
enum aif_why_group aif_why_function_group(const struct aif_why_function *f);

const char *aif_why_group_key(enum aif_why_group g);
const char *aif_why_group_name(enum aif_why_group g);
const char *aif_why_group_evidence(enum aif_why_group g);
/* Returns the state of the queue, with twice the standard errors where launches were left out. */
enum aif_why_queue aif_why_queue_of(const struct aif_why *w);
const char *aif_why_queue_key(enum aif_why_queue q);
const char *aif_why_queue_text(enum aif_why_queue q);
/* Returns the word for a program that the group bounds, with this queue: "launch-bound"; "" where there is none. */
struct aif_why_verdict {
	const char *key, *text;
};
struct aif_why_verdict aif_why_verdict(const struct aif_why *w, enum aif_why_group g);
/* Returns what to try against a group in this program. */
const char *aif_why_advice(const struct aif_profile *p, const struct aif_why *w,
			   enum aif_why_group g);
/* Limits of the answer, by what the profile lacks. */
#define AIF_WHY_UNKNOWN(id, key, text) AIF_WHY_UNKNOWN_##id,
enum aif_why_unknown {
#include "report/why/unknown.def"
	AIF_WHY_UNKNOWNS
};
#undef AIF_WHY_UNKNOWN
size_t aif_why_unknown(const struct aif_profile *p, const struct aif_why *w,
		       enum aif_why_unknown ret[AIF_WHY_UNKNOWNS]);
const char *aif_why_unknown_key(enum aif_why_unknown what);
const char *aif_why_unknown_text(enum aif_why_unknown what);
/* Appends "incomplete: records, stacks" of what an answer is made of, of devices or of CPUs alone; nothing for what has a text
 * in unknown.def, but of CPUs alone that the recording was cut short. Returns true if the profile lacks some of it. */
bool aif_why_incomplete(const struct aif_profile *p, bool of_cpus, struct aif_buf *out);
/* Returns true if the largest group bounds nothing: the device only seems idle, as work of it is not in the import. */
bool aif_why_seems_idle(const struct aif_why *w, enum aif_why_group largest);
/* Returns true if too little ran to say what bounds the program. */
bool aif_why_has_few_runs(const struct aif_why *w);
/* Groups with time, most first. Returns their number. */
size_t aif_why_order(const uint64_t of_group[AIF_WHY_GROUPS],
		     enum aif_why_group order[AIF_WHY_GROUPS]);

/* Appends at most 25 lines for people, each wrapped to `columns` (0: lines have no end). `path` is the profile's. */
void aif_why_say(const struct aif_names *names, const struct aif_why *w, const char *path,
		 uint32_t columns, struct aif_buf *out);
/* Appends which rank of a job is late, and what that costs, in a sentence; nothing of others. */
void aif_why_say_job(const struct aif_names *names, const struct aif_why *w, struct aif_buf *out);
/* Appends the shortest answer: "the host: 84.3 % of the loop's time; 255 turns of f (a.py:12), median 12.1 ms". Nothing where
 * nothing is known. */
void aif_why_say_briefly(const struct aif_names *names, const struct aif_why *w,
			 struct aif_buf *out);
/* Appends one JSON object. Times in ns, shares in 1/1,000,000. `path`: the profile's, for commands; NULL: the object is part of
 * another, and has numbers alone. */
void aif_why_json(const struct aif_names *names, const struct aif_why *w, const char *path,
		  struct aif_buf *out);
/* Appends what it begins with: the members of text/json_answer.h, and "try". */
void aif_why_json_answer(const struct aif_names *names, const struct aif_why *w, const char *path,
			 struct aif_buf *out);

/* The answer for a program that used no device, from its CPU samples: how many CPUs it used, whether one thread bounds it,
 * its functions. `columns` as above; is_json: one JSON object. 0; -ENODATA without an error where the selection has no
 * CPU samples, or they were imported, -errno with *err. */
int aif_why_cpu(const struct aif_names *names, const struct aif_selection *sel, const char *path,
		bool is_json, struct aif_buf *out, struct aif_err *err);
/* The same from samples by the wall clock, which aif_why_cpu() calls for: what main threads compute, and in which calls they
 * wait. */
int aif_why_wall(const struct aif_names *names, const struct aif_selection *sel, const char *path,
		 bool is_json, struct aif_buf *out, struct aif_err *err);
