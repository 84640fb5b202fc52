/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

struct aif_cuda;

/*
 * Modes: what is on at a time (duty.c has the reasons). Kernel records and sampling can be on together only if records
 * were first, and then stay on; before CUPTI 12.8 not at all.
 */
enum aif_cuda_mode {
	AIF_CUDA_TOGETHER, /* records and samples, both throughout; stacks by blocks */
	AIF_CUDA_RECORDS,  /* records and stacks by blocks */
	AIF_CUDA_SAMPLES,  /* samples only */
};

/*
 * Launches, ever: those of a thread that makes many, or of all others together. Each thread's are counted apart, because
 * threads that contend for a lock while they are captured launch more evenly then than they do else. Of a thread with few,
 * none may be captured: others stand for it.
 */
#define AIF_CUDA_COUNTED_THREADS 31
struct aif_cuda_count {
	_Alignas(64) _Atomic uint64_t captured, left_out;
	/* Before the block, or before what is yet unreported of them. */
	uint64_t captured_before, left_out_before;
	_Atomic uint32_t tid; /* 0: of the others */
};

/* Under `switching`, but for the atomics. */
struct aif_cuda_duty {
	enum aif_cuda_mode mode;
	bool on;               /* the block is, as far as it was reported */
	_Atomic bool capture;  /* launching threads write LAUNCH records */
	uint64_t began, since; /* the block; and the part of it that is yet unreported */
	uint32_t block, duty_ppm;
	struct aif_cuda_count counts[1 + AIF_CUDA_COUNTED_THREADS]; /* first: the others' */
	_Atomic uint32_t counted_threads;
	_Atomic uint32_t blocks; /* begun so far */
	uint64_t began_with;     /* launches, before the block */
	/* Launches whose cost is accounted for, and those of them that were captured. */
	uint64_t spent_for, spent_for_captured;
	bool interrupted;    /* something else took time in the block */
	uint64_t settled_at; /* since when records are as the block wants them; 0: not yet */
	/* Launches, waits and other calls that are watched, and the time in which they were made, lately. */
	double lately_launches, lately_waits, lately_asides, lately_ns;
	/* The cost of CPU samples of threads that launch: lately, and at the block's beginning. */
	double lately_cpu_samples_ns;
	uint64_t began_with_cpu_samples_ns;
	/* The program rests: the last look at it, what had been called by then, and for how long it has called nothing. */
	uint64_t looked, looked_with, idle_ns;
	uint64_t rested_ns; /* in the block, as far as it does not count (budget.h) */
	/* Records of graphs' nodes, ever; at the block's beginning; these, and the launches that had records, lately. */
	_Atomic uint64_t nodes;
	uint64_t began_with_nodes, spent_for_nodes;
	double nodes_lately, recorded_lately;
	/* Synchronizing calls: all so far, and those that are over; at the last accounting of their cost; at the block's
	 * beginning. The same of calls that are watched and neither launch nor wait. */
	_Atomic uint64_t waits, waited;
	uint64_t spent_for_waits, began_with_waits;
	uint64_t spent_for_asides, began_with_asides;
	uint64_t mode_since, samples_next, samples_until;
	bool has_sampled; /* for a time without stacks */
};

/* Under `switching`. Recording begins; it ends. Launches call back before and after. */
void aif_cuda_duty_begin(struct aif_cuda *cuda, uint64_t now);
void aif_cuda_duty_end(struct aif_cuda *cuda, uint64_t now);
/* Under `switching`: accounts for what launches cost whether they were captured or not. */
void aif_cuda_duty_charge(struct aif_cuda *cuda);
/* Under `switching`: nothing is sampled from here on. False: not now (quiesce.c). */
bool aif_cuda_duty_records_only(struct aif_cuda *cuda, uint64_t now);
/* Returns how many launches there were, ever. */
uint64_t aif_cuda_duty_launches(const struct aif_cuda *cuda);
/* Does what is due. Returns when there is more: CLOCK_MONOTONIC ns. */
uint64_t aif_cuda_duty_poll(struct aif_cuda *cuda, uint64_t now);
/* The process calls exit(): ends recording, with the last samples. Waits for nobody. */
void aif_cuda_duty_at_exit(struct aif_cuda *cuda);
