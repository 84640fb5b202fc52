/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/spans.h"
#include "profile/timed.h"

/*
 * What a device did when: its executions by what they are for, each kind as the union of its times, so that what
 * overlaps counts once. The definitions are those of Holistic Trace Analysis (hta/analyzers/breakdown_analysis.py and
 * communication_analysis.py, github.com/facebookresearch/HolisticTraceAnalysis), of one process on one device, which
 * it calls a rank:
 *
 *   span           from the first start to the last end
 *   idle           span - union of all executions (where nothing was collected it is not known: not_collected)
 *   compute        union of the kernels that are neither communication nor memory
 *   not computing  span - idle - compute; here in two parts: communication alone, i.e. the union of compute and
 *                  communication less compute, and memory alone, the rest
 *   overlap        communication hidden behind compute: compute + communication - the union of both; its share is
 *                  of communication
 *
 * Classes of kernels: work_rules.def, where HTA has two expressions.
 */
enum aif_work_class { AIF_WORK_COMPUTE, AIF_WORK_COMMUNICATION, AIF_WORK_MEMORY };

struct aif_device_work {
	uint32_t process, device;
	size_t first, end;     /* of .order */
	int64_t from, to;      /* the span */
	struct aif_spans busy; /* of all */
	struct aif_spans compute, communication;
	struct aif_spans either;        /* compute or communication */
	struct aif_spans not_collected; /* and not busy */
};
struct aif_work {
	struct aif_device_work *devices; /* by process, device */
	size_t len, cap;
	uint32_t *order;  /* executions by process, device, start, then as in the file */
	uint8_t *classes; /* enum aif_work_class, by execution */
};

/* *ret is finished by the caller, also after a failure. 0 or -ENOMEM. */
int aif_work_make(const struct aif_profile *p, const struct aif_timed *t, struct aif_work *ret);
void aif_work_finish(struct aif_work *w);

enum aif_work_class aif_work_class_of(const char *kernel);

/* What a part of a span holds: compute + communication + memory + idle + not_collected is its length. */
struct aif_work_parts {
	uint64_t compute, communication_alone, memory_alone, idle, not_collected;
};
struct aif_work_parts aif_work_parts(const struct aif_device_work *w, int64_t from, int64_t to);

/* Why a stream or a device was idle before an execution, as HTA's get_idle_time_breakdown() has it. */
enum aif_idle {
	AIF_IDLE_HOST,   /* its launch began when the one before had ended: waiting for the host */
	AIF_IDLE_KERNEL, /* launched before; what it costs to start one kernel after the other */
	AIF_IDLE_OTHER, /* launched before, but late: it waited for another stream, or for memory */
	AIF_IDLE_UNKNOWN, /* nothing tells when it was launched: which of them it is, is not known */
	AIF_IDLE_COUNT
};
/* HTA's default is 30 in the unit of the trace, which in Kineto's is us. */
#define AIF_IDLE_KERNEL_NS 30000

/* x: what ended a gap that began at `from`. */
enum aif_idle aif_idle_of(const struct aif_timed *t, const struct aif_timed_exec *x, int64_t from);
const char *
aif_idle_name(enum aif_idle cause); /* "host wait", "kernel wait", "other", "not known" */
