/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/host.h"
#include "import/import.h"
#include "import/synthetic_timeline.h"

/*
 * Stacks of names as rows: what files have that say how much was spent where, and of each name perhaps what kind it is
 * of. The first frame of the device is the kernel, or a copy or fill ("[read]"); what is called from it are places in
 * its code, of which the last is kept with its callers' names before it. Without one it is CPU time.
 */
struct aif_weighted_frame {
	const char *name;
	size_t len;
	uint32_t kind;               /* enum aif_frame_kind; AIF_FRAME_DEVICE: of the device */
	uint32_t module, file, line; /* as aif_host_frame() has them */
	bool is_inlined;             /* into its caller */
};
struct aif_weighted_stack {
	uint32_t stack, kernel, place; /* kernel: a string; place: a frame in it */
	bool is_device;
	bool is_wait; /* of a thread for a device: no CPU time */
	uint8_t kind; /* enum aif_launch_kind */
};

/* True for the mark that aiflame's exports put on the stack of a thread that waits for a device: "[waiting]",
 * "[waiting: clFinish]". */
bool aif_weighted_is_wait(const char *name, size_t len);

/* Root first. as: AIF_IMPORT_AS_DEVICE makes the last one the kernel where none is of the device, _CPU makes none of
 * them of the device. 0 or -ENOMEM. */
int aif_weighted_stack_split(struct aif_synthetic_timeline *l, struct aif_host *h,
			     const struct aif_weighted_frame *frames, size_t n,
			     enum aif_import_as as, struct aif_weighted_stack *ret);
/* 0; -ENOMEM; -ERANGE: more than AIF_SYNTHETIC_TIMELINE_MAX in all. */
int aif_weighted_stack_put(struct aif_synthetic_timeline *l, const struct aif_weighted_stack *s,
			   uint64_t ns);
/* Says that CPU samples weigh numbers of `unit` in place of time. */
void aif_weighted_stacks_count(struct aif_builder *b, const char *unit);
/* Says that CPU samples weigh wall-clock time in place of CPU time. */
void aif_weighted_stacks_wall(struct aif_builder *b);
/* .finish of such importers: counts of samples are brought into the range of profiles, which say that their rows are lengths. */
int aif_weighted_stacks_finish(struct aif_builder *b, void *state, int r, struct aif_err *err);
