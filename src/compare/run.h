/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/loop/phases.h"
#include "analysis/selection.h"
#include "base/err.h"
#include "names/profile_names.h"
#include "names/tree.h"

/*
 * A run, reduced to what comparisons need: sums over the part of it that counts, which is what was asked for, else the loop, else
 * the time from the first to the last device work (report/why/why.h has the rules). Values are sums of the whole part: they
 * are divided by the run's units only when it is known in which unit all runs can be given. Of a whole run what lies before and
 * behind that time is known, too.
 */

enum aif_run_text {
	AIF_RUN_COMMAND,
	AIF_RUN_HOST,
	/* devices by name, with their number where there are several: "2 x NVIDIA H100" */
	AIF_RUN_MACHINE,
	AIF_RUN_DRIVER,  /* the first number of each device's driver version */
	AIF_RUN_PROBLEM, /* reason for which nothing can be decided by this run; "" */
	AIF_RUN_LACKS,   /* "incomplete: stacks", as aif_lacks_say() has it; "" */
	AIF_RUN_LABEL,   /* label of a baseline, as given; "" */
	AIF_RUN_TEXTS
};

enum aif_run_amount {
	AIF_RUN_ELAPSED, /* ns: length of the part */
	AIF_RUN_BUSY,    /* ns, of all devices: time with work, each ns once */
	AIF_RUN_IDLE,
	AIF_RUN_COPY,          /* part of busy: copies alone */
	AIF_RUN_COMMUNICATION, /* part of busy: communication that no computation hides */
	AIF_RUN_LAUNCHES,      /* executions of kernels */
	AIF_RUN_BYTES,         /* copied */
	AIF_RUN_ERROR,         /* ns: standard error of busy, where launches were left out */
	AIF_RUN_CPU,           /* ns on CPUs, sampled: of runs that used no device */
	AIF_RUN_STATUS,        /* exit status of the command, or 128 + a signal */
	AIF_RUN_MEMORY,        /* bytes: the most of devices' memory in use at once, by everybody */
	/* The devices that worked, as their driver reports them; 0: not known. Medians are of readings when they were not idle. */
	AIF_RUN_CLOCK,       /* kHz of an SM, median; of several devices the mean */
	AIF_RUN_POWER_LIMIT, /* mW, sum */
	/* ppm of the time in which the power limit held clocks down, of the device with most */
	AIF_RUN_CAPPED,
	AIF_RUN_THROTTLED, /* ppm of the time in which heat or the board did */
	/* ns before the first device work of a whole run, not in the elapsed time */
	AIF_RUN_BEFORE,
	AIF_RUN_AFTER,   /* ns behind the last, likewise */
	AIF_RUN_LOOP,    /* ns: of the loop whose turns are its steps */
	AIF_RUN_SAMPLES, /* on CPUs, of AIF_RUN_CPU; 0: not known */
	/* Runs whose loop alone is reduced, with what is outside of the loop; 0: not known. */
	AIF_RUN_EXTENT,      /* ns from the first device work of the run to the last */
	AIF_RUN_EXTENT_BUSY, /* ns, of all devices: time with work */
	AIF_RUN_AMOUNTS
};

/* Device time is known by these, beside stacks. */
enum aif_run_by {
	/* operators of a framework: PyTorch's, by its functions or a trace; XLA's */
	AIF_RUN_BY_OPERATOR,
	AIF_RUN_BY_RANGE, /* ranges that the program marked (aiflame.h, NVTX, traces) */
	AIF_RUN_BYS
};

/* Stands for the kernels with least time, where a file had no room for them. */
#define AIF_RUN_LEFT_OUT "[left out]"

struct aif_run_kernel {
	uint32_t name; /* index in .kernel_names of the name as views shorten it */
	uint32_t full; /* the same in full */
	bool is_copy;
	uint64_t ns, launches;
};

struct aif_run {
	char *path; /* the path that was given */
	char *text[AIF_RUN_TEXTS];
	uint64_t amount[AIF_RUN_AMOUNTS];
	/* hash of the content without the label, by which a run is recognised. 0: not known */
	uint64_t hash;
	uint64_t start_s; /* seconds since 1970; 0: not known */
	/* A number of the recording that the run is, or is a part of; 0: not known. Parts of one recording are no runs of their own. */
	uint64_t recording;
	enum aif_phases_from steps_from;
	uint64_t steps; /* steps in the part; 0: none are known */
	/* place at which turns begin that are the steps (aif_phases.place); 0: not known */
	uint64_t loop;
	bool is_part; /* the run is a time that was asked for */
	/* A part that has more than whole steps: its sums are not those of .steps. Whole ones are between these times, in ns
	 * since the recording's start; 0: not known, of a baseline. */
	bool is_cut;
	uint64_t steps_from_ns, steps_to_ns;
	bool is_loop;
	/* the recording has the whole run, and all of it is read: start-up and tail are known */
	bool is_whole;
	/* the recording ended before the command did, or dropped its beginning: it is no whole run */
	bool is_open;
	bool is_cpu;    /* no device was used: the tree is of CPU time */
	bool is_counts; /* folded text, or samples without times: no verdict */
	bool in_cycles; /* times are cycles of an SM in place of ns: aif_run_to_cycles() */
	/* The devices' time by stack (.is_cpu: threads' CPU time), the kernel innermost; idle time under the stacks to blame, with an innermost frame
	 * of which aif_run_is_idle() is true. Sealed, with launches in the details. */
	struct aif_tree tree;
	/* Device time in each operator and range, in those around it; what was in none is not there. Sealed; empty or zeroed: the
	 * run has none. */
	struct aif_tree by[AIF_RUN_BYS];
	/* Ranges of the program, how often it went through each, by number of .range_names: names without the numbers that they
	 * end in, "token 17" is "token". */
	struct aif_strset range_names;
	uint64_t *ranges;
	size_t ranges_len, ranges_cap;
	struct aif_strset kernel_names;
	struct aif_run_kernel *kernels; /* sorted by time, longest first */
	size_t kernels_len, kernels_cap;
};

void aif_run_finish(struct aif_run *r); /* a zeroed struct is allowed */

/* Reduces what `sel` (NULL: all) chooses of a profile. *ret is finished by the caller, also after a failure. 0; -ENODATA
 * with *err where nothing ran on a device; -errno with *err. */
int aif_run_reduce(const struct aif_names *names, const struct aif_selection *sel, const char *path,
		   struct aif_run *ret, struct aif_err *err);

/* The same of CPU time, for aif_run_reduce(): `ret` has its path. -ENODATA without *err where there are no samples. */
int aif_run_reduce_cpu(const struct aif_names *names, const struct aif_selection *sel,
		       struct aif_run *ret, struct aif_err *err);

/* Reads how the devices of a run were clocked, in [from, to) ns since the recording's start, and how much memory was in use. 0 or
 * -ENOMEM. */
int aif_run_read_devices(const struct aif_profile *p, const struct aif_attribution *a,
			 const struct aif_selection *sel, int64_t from, int64_t to,
			 struct aif_run *ret);

/* Turns all times into cycles, by the median clock. 0; -ENODATA with *err where the clock is not known. */
int aif_run_to_cycles(struct aif_run *r, struct aif_err *err);

/* Takes folded text's tree, which is sealed and then the run's. 0 or -ENOMEM with *err. */
int aif_run_of_folded(struct aif_tree *t, const char *path, struct aif_run *ret,
		      struct aif_err *err);

/* Sets *ret_len. Returns a run's command without the shell through which bench runs it: "/bin/sh -c './app 1'". */
const char *aif_run_command(const struct aif_run *r, size_t *ret_len);

/* True for the innermost frame of idle time: "[idle: ...]" or "[idle before it: ...]". */
bool aif_run_is_idle(const struct aif_tree *t, uint32_t name);

/* Returns how much of a range's name is there without a number at its end: "token 17", "token_17" and "token#17" are "token". */
size_t aif_run_range_stem(const char *name);
/* Counts `n` ranges of a name of which `len` bytes count, and of them no more than AIF_RUN_RANGE_NAME. Returns its number,
 * AIF_STR_NONE without memory or where the sum is too large. */
uint32_t aif_run_add_ranges(struct aif_run *r, const char *name, size_t len, uint64_t n);
#define AIF_RUN_RANGE_NAME 200
/* Returns how often the run went through ranges of that name, which has no number at its end. */
uint64_t aif_run_ranges(const struct aif_run *r, const char *name);

/* "command", "host", ...: its key in a file. */
const char *aif_run_text_key(enum aif_run_text which);
/* Returns one of its texts, "" where it has none. */
const char *aif_run_text(const struct aif_run *r, enum aif_run_text which);
/* True of a recording that ended before its command did, or that kept only its last seconds. Imported ones do not say. */
bool aif_run_is_open(const struct aif_profile *p);
/* Returns the signal that ended the command, or the shell's command; 0: none did, or somebody who meant to end it. */
int aif_run_fatal_signal(const struct aif_profile *p);
/* Sets a text, the beginning of a very long one. 0 or -ENOMEM. */
int aif_run_set(struct aif_run *r, enum aif_run_text which, const char *text);
/* Sets what the run's profile has in part only: AIF_RUN_LACKS. 0 or -ENOMEM. */
int aif_run_set_lacks(struct aif_run *r, const struct aif_profile *p);
