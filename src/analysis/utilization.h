/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/spans.h"
#include "analysis/estimate.h"
#include "analysis/exec_timeline.h"

/*
 * Utilization of a device over time: its executions by what they are for, each kind as the union of its times, so
 * that what overlaps counts once. The definitions are those of Holistic Trace Analysis
 * (hta/analyzers/breakdown_analysis.py and communication_analysis.py,
 * github.com/facebookresearch/HolisticTraceAnalysis), of one process on one device, which it calls a rank:
 *
 *   span           from the first start to the last end
 *   idle           span - union of all executions (where nothing was collected it is not known: not_collected)
 *   compute        union of the kernels that are neither communication nor memory
 *   not computing  span - idle - compute; here in two parts: communication alone, i.e. the union of compute and
 *                  communication less compute, and memory alone, the rest
 *   overlap        communication hidden behind compute: compute + communication - the union of both; its share is
 *                  of communication
 *
 * Classes of kernels: utilization_rules.def, where HTA has two expressions.
 *
 * Where launches were left out, what was captured stands for the whole (analysis/weights.h): each execution has the
 * time that it adds to the union of its kind, and this counts as often as its launch does. The span then reaches into
 * the blocks beside the first and the last execution. A part of it, a step or a gap, is told as it was captured;
 * time without capture is not collected there.
 */
enum aif_work_class { AIF_WORK_COMPUTE, AIF_WORK_COMMUNICATION, AIF_WORK_MEMORY };

/* Parts of a span: compute + communication + memory + idle + not_collected is its length. */
struct aif_utilization_parts {
	uint64_t compute, communication_alone, memory_alone, idle, not_collected;
};
/* The same of the whole span, with standard errors. */
struct aif_utilization_whole {
	/* not_collected: without what the overhead budget left out */
	struct aif_utilization_parts parts;
	uint64_t span, busy, communication;
	/* standard errors of busy and idle */
	uint64_t error, idle_error;
	/* standard errors of the parts */
	uint64_t compute_error, communication_error, memory_error;
};
struct aif_device_utilization {
	uint32_t process, device;
	size_t first, end; /* range of .order */
	int64_t from, to;  /* the span */
	/* Unions that are the same share their memory: it is the fact's, and nobody adds to them. */
	struct aif_spans busy; /* time in which anything ran */
	struct aif_spans compute, communication;
	struct aif_spans either;        /* compute or communication */
	struct aif_spans not_collected; /* time not collected and not busy */
	/* part of .not_collected that is not for the overhead budget */
	struct aif_spans paused;
	struct aif_utilization_whole whole;
};
struct aif_utilization {
	const struct aif_device_utilization *devices; /* sorted by process, then device */
	size_t len, cap;
	const uint32_t *order;  /* executions by process, device, start, then as in the file */
	const uint8_t *classes; /* enum aif_work_class, by execution */
};

/* *ret is a fact, for aif_facts_put() (facts.h), which holds `t`; empty after a failure. 0 or -ENOMEM. */
int aif_utilization_get(const struct aif_profile *p, const struct aif_exec_timeline *t,
			const struct aif_utilization **ret);

enum aif_work_class aif_work_class_of(const char *kernel);

/* Returns the parts of [from, to) from what was captured, without estimates. */
struct aif_utilization_parts aif_utilization_parts(const struct aif_device_utilization *w,
						   int64_t from, int64_t to);

/* utilization_whole.c: what is estimated of a device, from its spans. 0 or -ENOMEM. */
int aif_utilization_whole(const struct aif_profile *p, const struct aif_exec_timeline *t,
			  const struct aif_utilization *w, struct aif_device_utilization *d);
/* From the first to the last execution of a process, with the blocks beside them in which launches were left out. Returns
 * the standard error of *to. */
uint64_t aif_utilization_reach(const struct aif_profile *p, const struct aif_exec_timeline *t,
			       uint32_t process, int64_t *from, int64_t *to);
/* Returns which part (1: all) of what an estimate adds to what was seen fits into `room` ns. */
double aif_utilization_fits(const struct aif_estimate *e, double room);
/* Returns what was seen and `fits` of what the estimate adds; and its standard error, at most
 * `room`. */
uint64_t aif_utilization_estimate(const struct aif_estimate *e, double fits);
uint64_t aif_utilization_error(struct aif_estimate *e, const struct aif_weights *w, double room);

/* Reasons why a stream or a device was idle before an execution, as in HTA's
 * get_idle_time_breakdown(). */
enum aif_idle {
	AIF_IDLE_HOST,   /* launched after the one before had ended: waiting for the host */
	AIF_IDLE_KERNEL, /* launched before; what it costs to start one kernel after the other */
	AIF_IDLE_OTHER, /* launched before, but late: it waited for another stream, or for memory */
	AIF_IDLE_UNKNOWN, /* time of the launch is not known, so neither is the cause */
	AIF_IDLE_COUNT
};
/* HTA's default is 30 in the unit of the trace, which in Kineto's is us. */
#define AIF_IDLE_KERNEL_NS 30000

/* A gap of a device or stream: its length but for what was not collected, and why it was. is_cut: launches were left
 * out in it, so that neither its length nor what ended it is known. */
struct aif_utilization_gap {
	uint64_t ns;
	enum aif_idle cause;
	bool is_cut;
};
struct aif_utilization_gap aif_utilization_gap(const struct aif_exec_timeline *t,
					       const struct aif_device_utilization *d, int64_t from,
					       const struct aif_timeline_exec *x);
/* Idle time by cause: of all gaps, as those that were seen whole have it. */
struct aif_utilization_waits {
	uint64_t seen[AIF_IDLE_COUNT];
	double whole[AIF_IDLE_COUNT];
};
void aif_utilization_waits_add(struct aif_utilization_waits *w, const struct aif_exec_timeline *t,
			       const struct aif_timeline_exec *x,
			       const struct aif_utilization_gap *gap);
void aif_utilization_waits_split(const struct aif_utilization_waits *w, uint64_t idle,
				 uint64_t ret[AIF_IDLE_COUNT]);
const char *
aif_idle_name(enum aif_idle cause); /* "host wait", "kernel wait", "other", "not known" */
