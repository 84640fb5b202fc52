/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "analysis/cpu_totals.h"
#include "names/names.h"
#include "names/profile_names.h"
#include "names/tree.h"
#include "analysis/attribution.h"

/*
 * Attributed device time -> the call tree of the AI flame graph: host stack, kernel, source line,
 * instruction, stall reason.
 */

enum aif_flame_leaf { /* innermost kind of frame */
		      AIF_LEAF_KERNEL,
		      AIF_LEAF_LINE,
		      AIF_LEAF_INSTRUCTION,
		      AIF_LEAF_STALL,
};

enum aif_flame_by {              /* quantity that widths show */
		    AIF_BY_WALL, /* ns, shared where several things ran at once: sums to the busy time */
		    AIF_BY_TIME, /* ns of durations */
		    AIF_BY_SAMPLES,
		    AIF_BY_LAUNCHES,
		    AIF_BY_ENERGY, /* uJ of the device, shared by wall time: .energy says how much */
};

/* Ranges that programs mark (aiflame.h, NVTX, imported traces), as frames: of device time between the host's stack and
 * what was launched, of CPU samples below the stack. */
enum aif_flame_ranges {
	AIF_RANGES_ON, /* ranges that separate rows (struct aif_selection), or that are in stacks */
	AIF_RANGES_OFF,
	AIF_RANGES_ONLY, /* ranges without frames of the host */
};

struct aif_idle_blame;
struct aif_power_rates;

/* The place of a row in the tree, and its values. */
struct aif_flame_placed {
	size_t row; /* row of the attribution, of the CPU totals, or of the idle time */
	/* The last frame; the kernel's, which has the launches: 0 for idle and CPU time. */
	uint32_t node, kernel_node;
	uint64_t ns, samples, launches;
};

struct aif_flame_opts {
	enum aif_flame_leaf leaf;
	enum aif_flame_by by;
	enum aif_name_detail detail;
	enum aif_flame_ranges ranges;
	bool off_cpu;   /* draws times off CPU in place of CPU samples */
	bool by_thread; /* draws CPU samples by thread: with several, each on its name */
	bool lines;     /* tell frames of one function apart by line */
	const char *focus, *ignore; /* keep, drop stacks with a frame that matches; or NULL */
	const char *kernel;         /* only kernels that match; or NULL */
	/* selection of the attribution, which says whose launches are shown; NULL: all */
	const struct aif_selection *sel;
	const struct aif_power_rates *energy; /* AIF_BY_ENERGY: of the devices */
	/* idle time to be drawn beside device time; or NULL */
	const struct aif_idle_blame *idle;
	bool wakers; /* draws above a sleep who ended it, with what that thread did meanwhile */
	/* Is given each row that has a place in the tree, for who needs to know which; NULL: nobody. 0 or -errno, which
	 * ends it. */
	int (*placed)(void *arg, const struct aif_flame_placed *placed);
	void *placed_arg;
};

static inline int aif_flame_report_placed(const struct aif_flame_opts *o, size_t row, uint32_t node,
					  uint32_t kernel_node, uint64_t ns, uint64_t samples,
					  uint64_t launches)
{
	struct aif_flame_placed placed = {row, node, kernel_node, ns, samples, launches};

	return o->placed ? o->placed(o->placed_arg, &placed) : 0;
}

/* Returns the unit of the values for aif_svg_opts.unit: NULL for ns. */
const char *aif_flame_unit(enum aif_flame_by by);

/* *ret is a sealed tree with details, finished by the caller. Expressions are POSIX extended. 0;
 * -EINVAL for an expression that is none; -ENODATA when nothing is left to draw; *err is set. */
int aif_flame_build(const struct aif_names *names, const struct aif_attribution *a,
		    const struct aif_flame_opts *o, struct aif_tree *ret, struct aif_err *err);

/* The same of idle time: the stacks that are blamed for it, each with the cause on top. */
int aif_flame_build_idle(const struct aif_names *names, const struct aif_idle_blame *idle,
			 const struct aif_flame_opts *o, struct aif_tree *ret, struct aif_err *err);

/* The same of memory: the stacks that allocated what there is at its peak, in bytes. */
struct aif_memory;
int aif_flame_build_memory(const struct aif_names *names, const struct aif_memory *m,
			   const struct aif_flame_opts *o, struct aif_tree *ret,
			   struct aif_err *err);

/* The same of waits of ranks for each other: what the late rank did, on its number. */
struct aif_rank_waits;
int aif_flame_build_waits(const struct aif_names *names, const struct aif_rank_waits *w,
			  const struct aif_flame_opts *o, struct aif_tree *ret,
			  struct aif_err *err);

/* The same of CPU samples: their stacks, with the time that they weigh or (AIF_BY_SAMPLES) their number.
 * Options about kernels mean nothing here. */
int aif_flame_build_cpu(const struct aif_names *names, const struct aif_cpu_totals *cpu,
			const struct aif_flame_opts *o, struct aif_tree *ret, struct aif_err *err);
