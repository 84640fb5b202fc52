/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/builder.h"

/*
 * Rows of what has lengths and no times: stacks with counts. They stand one after another on one thread, or on one
 * stream of one device, in the order of the file. So widths and sums are those of the file; when something ran, and how
 * often, is not known: AIF_REASON_IMPORT_UNTIMED says so.
 *
 * A GPU's samples lie in windows (analysis/attribution.h): each execution here has one of its own, so that what is inside of
 * a kernel stays with the stack that it was found under.
 */
struct aif_synthetic_timeline {
	struct aif_builder *b;
	uint64_t at; /* ns: where the next one begins */
	uint32_t process, thread, device, stream;
	struct aif_map frames; /* kind and string -> frame */
};
/* Makes the process and its thread, of zeroes but for b; `name` may be a file's. */
void aif_synthetic_timeline_begin(struct aif_synthetic_timeline *l, const char *name);
/* Makes the device that everything runs on; aif_synthetic_timeline_device() makes one where there is none. */
void aif_synthetic_timeline_make_device(struct aif_synthetic_timeline *l, const char *name);
void aif_synthetic_timeline_finish(struct aif_synthetic_timeline *l);

/* Cuts off "_[g]" where kind is 'g'. False: the name does not end so. */
bool aif_synthetic_timeline_cut_suffix(const char *text, size_t *len, char kind);
/* Cuts a suffix that says how a function was compiled at run time: "_[j]", "_[0]", "_[1]". Returns false if it has none. */
bool aif_synthetic_timeline_cut_compiled(const char *text, size_t *len);
/* Returns the frame of a name as folded stacks have it: _[p] is Python, _[k] the OS kernel, _[i] inlined, "[word]" a mark. */
uint32_t aif_synthetic_timeline_host_frame(struct aif_synthetic_timeline *l, const char *text,
					   size_t len);

/* Adds CPU time. 0; -ENOMEM; -ERANGE: more than AIF_SYNTHETIC_TIMELINE_MAX in all. */
int aif_synthetic_timeline_cpu(struct aif_synthetic_timeline *l, uint32_t stack, uint64_t ns);
/* Adds time in which a thread waited for a device. Returns what aif_synthetic_timeline_cpu() does. */
int aif_synthetic_timeline_wait(struct aif_synthetic_timeline *l, uint32_t stack, uint64_t ns);

/* Adds device time of a kernel (a string), or of a copy or fill: kernel AIF_NONE. The same errors. */
int aif_synthetic_timeline_device(struct aif_synthetic_timeline *l, uint32_t stack,
				  enum aif_launch_kind kind, uint32_t kernel, uint64_t ns);
/* Adds samples inside of the kernel that was added last: a frame of aif_synthetic_timeline_inside() and a reason, or AIF_NONE. */
int aif_synthetic_timeline_sample(struct aif_synthetic_timeline *l, uint32_t frame, uint32_t reason,
				  uint64_t count);
/* Returns the place in a kernel (a string) that is known by the names of what is there, the outermost first, ';' between; "": the
 * kernel itself. is_inlined: the first of them is, into the kernel; those that follow it are in any case. */
uint32_t aif_synthetic_timeline_inside(struct aif_synthetic_timeline *l, uint32_t kernel,
				       const char *names, size_t len, bool is_inlined);

#define AIF_SYNTHETIC_TIMELINE_MAX (UINT64_C(1) << 60) /* ns: 36 years */
