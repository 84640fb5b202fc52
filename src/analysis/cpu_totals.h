/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "analysis/attribution.h"

/*
 * Cuts a CPU row to the processes, threads, ranges and time that `sel` (NULL: all) names: *ret. What a thread in no range
 * of its own worked is that of the ranges of the one thread that was in any (sole_threads.h); its waits are not. A sample is kept
 * or not by its moment; spans and waits of an imported trace, which have a beginning and a length, are cut where the time begins and
 * ends. False: nothing is left, or the row is one of aif_cpu_seen().
 */
bool aif_cpu_part(const struct aif_profile *p, const struct aif_selection *sel,
		  const struct aif_cpu_row *row, struct aif_cpu_row *ret);

/* True if a row has a beginning and a length: spans and waits of an imported trace. A sample is of a moment, and so are
 * the waits of a recording, several of which may be one row. */
bool aif_cpu_has_end(const struct aif_profile *p, const struct aif_cpu_row *row);

/* True if a stack is of time off CPU, whatever for. */
bool aif_cpu_is_off_cpu(const struct aif_profile *p, uint32_t stack);
/* True if a stack is of time in which the thread could run and had no CPU. */
bool aif_cpu_is_runnable(const struct aif_profile *p, uint32_t stack);
/* True if a stack is of CPU time without samples (AIF_CPU_BEFORE_MARK and its like). */
bool aif_cpu_is_unsampled(const struct aif_profile *p, uint32_t stack);
/* Returns false for the row of table threads that stands for those which ended before they were found. */
bool aif_cpu_is_thread(const struct aif_profile *p, uint32_t thread);
/* Returns the number of the profile's threads without such rows. */
size_t aif_cpu_count_threads(const struct aif_profile *p);
/* Returns what follows AIF_OFF_CPU_SEEN in the mark of time off CPU that the recorder saw from outside; NULL for all
 * other stacks. Such rows have no callers and are of launching threads mostly: they tell causes of idle time, and
 * aif_cpu_part() leaves them out. */
const char *aif_cpu_seen(const struct aif_profile *p, uint32_t stack);

/* Sums of CPU samples by stack; and of the time that threads waited for devices, which no sample has
 * seen. */
struct aif_cpu_stack {
	uint32_t stack;  /* AIF_NONE: not known */
	uint32_t range;  /* by_range: 1 + the chain of ranges that the thread was in; 0 = none */
	uint32_t thread; /* of totals by thread; AIF_NONE: not known */
	bool waiting;    /* for a device; of .off_cpu, whatever for */
	bool off_cpu; /* record --off-cpu: another view, whose time has been in part seen as waiting for devices */
	/* On CPUs, or waiting, which has no samples, nor has what aif_cpu_is_unsampled(). */
	uint64_t weight_ns, samples;
};

struct aif_cpu_totals {
	struct aif_cpu_stack
		*stacks; /* as they were first met; by_range: one range after the other */
	size_t stacks_len, stacks_cap;
	uint64_t weight_ns, samples; /* on CPUs */
	uint64_t waiting_ns;         /* for devices */
	uint64_t off_cpu_ns;
	uint64_t
		for_others_ns; /* part of weight_ns: CPU time of threads during ranges that another thread marked */
	/* Parts of weight_ns that have no samples: all of it, and that of before threads' first ones. */
	uint64_t unsampled_ns, before_ns;
	size_t threads;   /* without those that ended before they were found */
	uint64_t damaged; /* chunks that could not be read */
	/* Time of the first sample, CLOCK_MONOTONIC; 0: there is none, or not all were asked for. A process is sampled
	 * from where it opens a device: what it did before is missing. */
	uint64_t first_ns;
};

/* Sums up the processes, threads and times that `sel` (NULL: all) names. *ret is finished by the caller,
 * also after a failure. 0 or -errno with *err. */
int aif_cpu_totals(const struct aif_profile *p, const struct aif_selection *sel,
		   struct aif_cpu_totals *ret, struct aif_err *err);
/* The same with each thread's stacks apart, one thread after the other. */
int aif_cpu_totals_by_thread(const struct aif_profile *p, const struct aif_selection *sel,
			     struct aif_cpu_totals *ret, struct aif_err *err);
void aif_cpu_totals_finish(struct aif_cpu_totals *t);

/* Returns the length in ns of the time that processes with samples span, from the first start to the last end, in the part
 * that `sel` (NULL: all) chooses. by_thread: of aif_cpu_totals_by_thread(). */
uint64_t aif_cpu_span_ns(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_cpu_totals *by_thread);

/* "3.2 s on CPU in 4 threads, 317 samples at 99 Hz, from 16.6 s on; 1.5 s waiting for devices": how it was measured belongs
 * to what was. "1.5 s waiting for devices in 4 threads" where there are no samples; "80 ms on CPU in 1 thread, before sampling"
 * where the program was over before the first one. */
void aif_cpu_totals_say(const struct aif_profile *p, const struct aif_cpu_totals *t,
			struct aif_buf *out);
