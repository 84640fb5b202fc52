/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "profile/model.h"

/* Input of all stages: the profile, and which part of it is asked for. */
struct aif_scope {
	const struct aif_profile *p;
	const struct aif_selection *sel; /* not NULL */
	uint64_t from,
		to; /* the time asked for, as far as its rows were kept; ns since the start */
};

/* Clips what `sel` asks for to the recording. What was dropped (--keep) is no part of the time
 * looked at, as nobody knows whether a device was busy then. */
static inline struct aif_scope aif_scope_of(const struct aif_profile *p,
					    const struct aif_selection *sel)
{
	uint64_t length = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0,
		 first = p->kept_ns > p->start_ns ? p->kept_ns - p->start_ns : 0,
		 from = AIF_MIN(AIF_MAX(sel->from_ns, first), length);

	return (struct aif_scope){
		.p = p,
		.sel = sel,
		.from = from,
		.to = sel->to_ns ? AIF_MAX(AIF_MIN(sel->to_ns, length), from) : length,
	};
}

/* Maps a CLOCK_MONOTONIC time. One before the recording's start, which only a damaged file has,
 * becomes 0. */
static inline uint64_t aif_scope_since_start(const struct aif_scope *s, uint64_t time)
{
	return time > s->p->start_ns ? time - s->p->start_ns : 0;
}

/* The kernel whose code the frame is, or AIF_NONE: what a kernel calls elsewhere. */
static inline uint32_t aif_scope_kernel_at(const struct aif_scope *s, uint32_t frame)
{
	uint32_t module = frame == AIF_NONE ? AIF_NONE : s->p->frames[frame].module;

	return module == AIF_NONE ? AIF_NONE : s->p->modules[module].kernel;
}

/* The name of that kernel, a string, or AIF_NONE. */
static inline uint32_t aif_scope_kernel_name_at(const struct aif_scope *s, uint32_t frame)
{
	uint32_t kernel = aif_scope_kernel_at(s, frame);

	return kernel == AIF_NONE ? AIF_NONE : s->p->kernels[kernel].name;
}

/* The name of a launched kernel: AIF_NONE for copies, AIF_NONE - 1 for a kernel that is not
 * known. */
static inline uint32_t aif_scope_launched_name(const struct aif_scope *s, uint32_t kind,
					       uint32_t kernel)
{
	return kind != AIF_LAUNCH_KERNEL ? AIF_NONE
	       : kernel == AIF_NONE      ? AIF_NONE - 1
					 : s->p->kernels[kernel].name;
}
