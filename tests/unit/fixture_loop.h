/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Programs made by hand whose launches recur, and whose steps are known. */
#include "analysis/loop/internal.h"
#include "fixture_ops.h"

#include "base/map.h"

#include <inttypes.h>
#include <math.h>

enum { US = 1000, MOST_DEPTH = 16 };

/* A program that runs: it is in calls, and launches. A call is 100 times its function plus its line. */
struct program {
	struct ops_fixture f;
	const struct aif_exec_timeline *t;
	struct aif_loop l;
	struct aif_map stacks, frames;
	struct aif_launch_row *launches;
	struct aif_exec_row *execs;
	size_t launches_len, launches_cap, execs_len, execs_cap;
	uint32_t thread, stack[MOST_DEPTH + 1], depth;
	uint64_t now, random;
	/* The true steps. */
	uint64_t steps, first, last, starts[1024];
};

static inline void begin(struct program *g)
{
	*g = (struct program){.random = 1, .stack = {AIF_NONE}};
	ops_begin(&g->f, NULL, "cuda");
	for (uint32_t i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "kernel_%u", i);
		assert_int_equal(ops_kernel(&g->f, name), i);
	}
}

static inline uint32_t random_below(struct program *g, uint32_t n)
{
	g->random = aif_mix64(g->random + 0x9e3779b97f4a7c15);
	return (uint32_t)(g->random >> 32) % n;
}

static inline void enter(struct program *g, uint32_t call)
{
	struct aif_profile *p = &g->f.made;
	uint32_t parent = g->stack[g->depth];
	uint64_t frame, stack;

	if (!aif_map_get(&g->frames, call, &frame)) {
		frame = p->frames_len;
		FIXTURE_ADD(p, frames, .kind = AIF_FRAME_PYTHON, .module = AIF_NONE,
			    .address = (uint64_t)(call / 100) << 32 | call % 100);
		assert_int_equal(aif_map_put(&g->frames, call, frame), 0);
	}
	if (!aif_map_get(&g->stacks, (uint64_t)parent << 32 | frame, &stack)) {
		stack = p->stacks_len;
		FIXTURE_ADD(p, stacks, .parent = parent, .frame = (uint32_t)frame);
		assert_int_equal(aif_map_put(&g->stacks, (uint64_t)parent << 32 | frame, stack), 0);
	}
	assert_true(g->depth < MOST_DEPTH);
	g->stack[++g->depth] = (uint32_t)stack;
}

static inline void leave(struct program *g)
{
	g->depth--;
}

static inline void launch(struct program *g, uint32_t kernel, uint64_t ns)
{
	struct aif_launch_row l = {.launch = ++g->f.launches,
				   .time = OPS_START + g->now,
				   .thread = g->thread,
				   .kernel = kernel,
				   .stack = g->stack[g->depth],
				   .shape = AIF_NONE};
	struct aif_exec_row x = {.launch = l.launch,
				 .start = l.time + 1,
				 .end = l.time + 1 + ns,
				 .clock = AIF_CLOCK_MONOTONIC,
				 .kernel = kernel};

	assert_int_equal(aif_grow(&g->launches, &g->launches_cap, g->launches_len + 1, sizeof(l)),
			 0);
	assert_int_equal(aif_grow(&g->execs, &g->execs_cap, g->execs_len + 1, sizeof(x)), 0);
	g->launches[g->launches_len++] = l;
	if (ns)
		g->execs[g->execs_len++] = x;
	g->now += 10 * US;
}

/* Calls a function that launches one kernel. */
static inline void call(struct program *g, uint32_t from, uint32_t kernel, uint64_t ns)
{
	enter(g, from);
	launch(g, kernel, ns);
	leave(g);
}

static inline void step(struct program *g)
{
	if (!g->steps++)
		g->first = g->now;
	g->last = g->now;
	g->starts[(g->steps - 1) % AIF_ARRAY_LEN(g->starts)] = g->now;
}

static inline void find_at(struct program *g, uint64_t place)
{
	aif_loop_finish(&g->l);
	assert_int_equal(aif_loop_find(&g->f.p, g->t, place, &g->l), 0);
}

static inline void find(struct program *g)
{
	struct aif_err err = {0};
	struct ops_fixture *f = &g->f;

	f->made.end_ns = OPS_START + g->now + 1;
	assert_ok(aif_writer_launches(f->w, g->launches, g->launches_len, &err), &err);
	assert_ok(aif_writer_execs(f->w, g->execs, g->execs_len, &err), &err);
	ops_read(f);
	assert_int_equal(aif_exec_timeline_get(&f->p, NULL, &g->t), 0);
	find_at(g, 0);
}

static inline void end(struct program *g)
{
	aif_loop_finish(&g->l);
	aif_facts_put(g->t);
	aif_map_finish(&g->stacks);
	aif_map_finish(&g->frames);
	free(g->launches);
	free(g->execs);
	ops_end(&g->f);
}

/* The last of the true steps has no known end. */
static inline void assert_steps(struct program *g)
{
	double true_mean = (double)(g->last - g->first) / (double)(g->steps - 1), sum = 0;

	if (fabs((double)g->l.len - (double)(g->steps - 1)) > (double)g->steps / 100)
		fail_msg("%zu steps, not %d", g->l.len, (int)g->steps - 1);
	assert_int_equal(g->l.level[g->l.chosen].turns, g->l.len);
	for (size_t i = 0; i < g->l.len; i++) {
		sum += (double)(g->l.steps[i].end - g->l.steps[i].start);
		assert_true(!i || g->l.steps[i].start >= g->l.steps[i - 1].end);
	}
	if (fabs(sum / (double)g->l.len / true_mean - 1) > 0.02)
		fail_msg("steps take %f, not %f", sum / (double)g->l.len, true_mean);
	assert_true(llabs(g->l.start - (int64_t)g->first) <= (int64_t)true_mean);
	assert_true(llabs(g->l.end - (int64_t)g->last) <= (int64_t)true_mean);
}

enum { MAIN = 1, TRAIN = 2, MODEL = 3, LAYER = 4, LOSS = 5, SERVE = 6, INIT = 7 };

static inline void layers(struct program *g, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		enter(g, MODEL * 100 + 2);
		call(g, LAYER * 100 + 1, 1, 20 * US);
		call(g, LAYER * 100 + 2, 2, 20 * US);
		call(g, LAYER * 100 + 3, 1, 20 * US);
		leave(g);
	}
}

static inline void forward(struct program *g, uint32_t from)
{
	enter(g, from);
	call(g, MODEL * 100 + 1, 0, 1 * US);
	layers(g, 12);
	call(g, MODEL * 100 + 3, 3, 1 * US);
	leave(g);
}

static inline void initialise(struct program *g)
{
	enter(g, MAIN * 100 + 1);
	for (uint32_t i = 0; i < 12; i++) {
		call(g, INIT * 100 + 1, 20, 5 * US);
		call(g, INIT * 100 + 2, 21, 5 * US);
	}
	leave(g);
}

/* Epochs of 200 steps: forward with 12 layers, loss, optimizer; evaluation every 100th step. */
static inline void train(struct program *g, uint32_t epochs, bool has_backward_thread)
{
	for (uint32_t e = 0; e < epochs; e++) {
		enter(g, MAIN * 100 + 2);
		for (uint32_t i = 0; i < 200; i++) {
			step(g);
			forward(g, TRAIN * 100 + 1);
			call(g, TRAIN * 100 + 2, 4, 2 * US);
			if (has_backward_thread) {
				uint32_t depth = g->depth;

				g->thread = 1;
				g->depth = 0;
				enter(g, 900);
				for (uint32_t k = 0; k < 24; k++)
					call(g, 901 + k % 2, 10 + k % 2, 40 * US);
				call(g, 903, 12, 40 * US);
				g->thread = 0;
				g->depth = depth;
			}
			call(g, TRAIN * 100 + 3, 5, 30 * US);
			g->now += random_below(g, 50) * US;
			if (i % 100 == 99)
				forward(g, TRAIN * 100 + 4);
		}
		leave(g);
		call(g, MAIN * 100 + 3, 6, 1 * US);
		g->now += 1000 * US;
	}
}
