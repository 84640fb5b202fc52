/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lines of the answer for people in the making: what text.c and text_phases.c share. */
#include "report/why/why.h"
#include "text/json_answer.h"

/* Owners and kernels below that are not worth a line: a hundredth, by which a program gets faster at most. */
#define AIF_WHY_LEAST_PPM 10000

/* Longer names of kernels lose their middle. */
#define AIF_WHY_NAME_COLUMNS 64

struct saying {
	const struct aif_names *names;
	const struct aif_why *w;
	uint32_t columns; /* of the terminal; 0: lines have no end */
	struct aif_buf *out, line;
	/* For programs: takes each line that ends, in place of .out. NULL: for people. */
	void (*take)(struct saying *s, const char *text);
	void *taker;
	int64_t ppm; /* the share that the line is about; -1: none */
};

static inline uint64_t share(const struct saying *s, uint64_t ns)
{
	return aif_share_ppm(ns, s->w->time_ns);
}

static inline const char *place(const struct saying *s, uint32_t text)
{
	return text == AIF_STR_NONE ? "" : aif_strset_get(&s->w->places, text, NULL);
}

/* True if most of the window lies before its first device work or behind the last. */
static inline bool is_mostly_outside(const struct aif_why *w)
{
	return (w->is_part || w->is_loop) && w->outside_ns > w->time_ns;
}

/* Appends the line that was made, wrapped to the terminal at its spaces. */
void aif_why_end_line(struct saying *s);
/* Says what bounds the program. `order`: groups by time. */
void aif_why_say_bound(struct saying *s, const enum aif_why_group *order, size_t n);
/* Says how far the host was ahead, and whether threads had to wait for CPUs. */
void aif_why_say_queue(struct saying *s);
void aif_why_say_machine(struct saying *s);
/* Says who owns the idle time, and which kernels have the busy time: .ppm is -1 for the line that begins them. */
void aif_why_say_owners(struct saying *s);
void aif_why_say_kernels(struct saying *s);
/* Appends the options of the selection that the answer is about, " --time loop". */
void aif_why_say_selection(const struct aif_why *w, struct aif_buf *out);
/* Appends the place of a function that owns idle time: its line with the most, or "place not known". */
void aif_why_say_function(struct saying *s, const struct aif_why_function *f);
/* Says in which calls of an AIU's runtime idle time passes, and what these do. */
void aif_why_say_calls(struct saying *s);
/* Says what to try, with what each gains at most. `order`: groups by time. */
void aif_why_say_advice(struct saying *s, const enum aif_why_group *order, size_t n);
/* Says what the job gains if its late rank is not late. Returns true if it says so. */
bool aif_why_say_late_rank_advice(struct saying *s);
/* Appends the rank that bounds the job, where it is late, and what of a step that takes. */
void aif_why_say_late_rank(struct saying *s);
/* Returns true if one place has enough of the waiting for the late rank to be named. */
bool aif_why_has_late_place(const struct aif_why *w);
/* Returns the commands that show more, without "aiflame". */
void aif_why_next(const struct aif_why *w, const char *ret[2]);
/* Says which rank of a job is late, and what that costs. */
void aif_why_say_ranks(struct saying *s);
/* Says what took longer for a while, in which steps. */
void aif_why_say_changes(struct saying *s);
/* Says phases of the run, its loop and the periods of that. */
void aif_why_say_phases(struct saying *s);
