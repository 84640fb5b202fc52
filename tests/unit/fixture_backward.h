/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Recordings of a model that PyTorch trains, made of words, written and read through a file. */

#include "analysis/backward.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture_profile.h"

struct model {
	struct aif_profile p, opened;
	struct aif_launch_row launches[512];
	struct aif_exec_row execs[512];
	struct aif_window_row windows[8];
	struct aif_cpu_row cpu[32];
	struct aif_strset frames; /* names as the tests have them -> frame */
	struct aif_map stacks;
	size_t n, windows_len, cpu_len;
	uint64_t now;
	bool late_main; /* the main thread's launches are written a chunk later */
	char path[64];
};

enum { MAIN, AUTOGRAD };

static inline uint32_t frame_of(struct model *m, const char *key, enum aif_frame_kind kind,
				const char *name)
{
	uint32_t id = aif_strset_find(&m->frames, key, strlen(key));
	bool is_python = kind == AIF_FRAME_PYTHON;

	if (id != AIF_STR_NONE)
		return id;
	id = aif_strset_puts(&m->frames, key);
	FIXTURE_ADD(&m->p, frames, .kind = kind, .module = is_python ? 1 : 0,
		    .address = 0x1000 + id);
	FIXTURE_ADD(&m->p, frame_names, .frame = id, .name = aif_strset_puts(&m->p.strings, name),
		    .file = is_python ? aif_strset_puts(&m->p.strings, "/home/u/model.py")
				      : AIF_NONE,
		    .line = is_python ? 1 + id : 0);
	assert_int_equal(m->p.frames_len, id + 1);
	return id;
}

static inline uint32_t push(struct model *m, uint32_t caller, uint32_t frame)
{
	uint64_t key = (uint64_t)caller << 32 | frame, id;

	if (aif_map_get(&m->stacks, key, &id))
		return (uint32_t)id;
	id = m->p.stacks_len;
	assert_int_equal(aif_map_put(&m->stacks, key, id), 0);
	FIXTURE_ADD(&m->p, stacks, .parent = caller, .frame = frame,
		    .depth = caller == AIF_NONE ? 1 : m->p.stacks[caller].depth + 1);
	return (uint32_t)id;
}

/* One word of a stack: "py:f" and "py:f@2", another line of it; "op:mm"; "node:MmBackward0"; "in:Mm@1", the first
 * call in that node's generated code; "engine", "pynode", "apply", "accumulate"; else a function of C++. */
static inline uint32_t word_push(struct model *m, uint32_t s, const char *word)
{
	static const struct {
		const char *word, *name;
	} fixed[] = {
		{"engine", "torch::autograd::Engine::evaluate_function(int)"},
		{"pynode", "torch::autograd::PyNode::apply(int)"},
		{"apply", "THPFunction_apply(_object*, _object*)"},
		{"accumulate", "torch::autograd::AccumulateGrad::apply(int)"},
	};
	char name[256], key[300];
	int plain = (int)strcspn(word, "@");

	if (!strncmp(word, "py:", 3)) {
		snprintf(name, sizeof(name), "%.*s", plain - 3, word + 3);
		return push(m, s, frame_of(m, word, AIF_FRAME_PYTHON, name));
	}
	if (!strncmp(word, "op:", 3)) {
		snprintf(name, sizeof(name), "at::_ops::%s::call(at::Tensor const&)", word + 3);
		s = push(m, s, frame_of(m, name, AIF_FRAME_NATIVE, name));
		snprintf(name, sizeof(name),
			 "torch::autograd::VariableType::(anonymous namespace)::%s(int)", word + 3);
		return push(m, s, frame_of(m, name, AIF_FRAME_NATIVE, name));
	}
	if (!strncmp(word, "node:", 5))
		snprintf(name, sizeof(name), "torch::autograd::generated::%s::apply(int)",
			 word + 5);
	else if (!strncmp(word, "in:", 3))
		snprintf(name, sizeof(name), "torch::autograd::generated::%.*s_apply(int)",
			 plain - 3, word + 3);
	else
		snprintf(name, sizeof(name), "%s", word);
	for (size_t i = 0; i < AIF_ARRAY_LEN(fixed); i++)
		if (!strcmp(word, fixed[i].word))
			snprintf(name, sizeof(name), "%s", fixed[i].name);
	snprintf(key, sizeof(key), "%s %s", word, name);
	return push(m, s, frame_of(m, key, AIF_FRAME_NATIVE, name));
}

/* Words from the root on, with spaces between them; time in us. */
static inline void launch(struct model *m, uint32_t thread, uint64_t us, const char *words)
{
	char copy[512], *rest = copy;
	uint32_t s = AIF_NONE;
	size_t i = m->n++;

	assert_true(i < AIF_ARRAY_LEN(m->launches));
	snprintf(copy, sizeof(copy), "%s", words);
	for (const char *word; (word = strsep(&rest, " "));)
		s = word_push(m, s, word);
	m->now += 1000000;
	m->launches[i] = (struct aif_launch_row){.launch = i + 1,
						 .time = m->now,
						 .thread = thread,
						 .kind = AIF_LAUNCH_KERNEL,
						 .kernel = 0,
						 .device = 0,
						 .stream = 0,
						 .stack = s,
						 .shape = AIF_NONE};
	m->execs[i] = (struct aif_exec_row){.launch = i + 1,
					    .start = m->now + 1000,
					    .end = m->now + 1000 + us * 1000,
					    .clock = AIF_CLOCK_MONOTONIC,
					    .process = 0,
					    .kind = AIF_LAUNCH_KERNEL,
					    .kernel = 0,
					    .device = 0,
					    .stream = 0};
}

/* An operator of a function of the model; a node's run, its launches at two calls; what the engine does then. */
static inline void forward(struct model *m, const char *function, const char *op)
{
	char words[256];

	snprintf(words, sizeof(words), "main py:train %s op:%s cudaLaunchKernel", function, op);
	launch(m, MAIN, 1, words);
}

static inline void node(struct model *m, const char *name, uint64_t us)
{
	char words[256];

	snprintf(words, sizeof(words), "start engine node:%s in:%s@1 op:mm cudaLaunchKernel", name,
		 name);
	launch(m, AUTOGRAD, us, words);
	snprintf(words, sizeof(words), "start engine node:%s in:%s@2 op:mm cudaLaunchKernel", name,
		 name);
	launch(m, AUTOGRAD, us, words);
}

static inline int set_up(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct aif_strset *s;
	struct aif_profile *p;

	assert_non_null(m);
	p = &m->p;
	s = &p->strings;
	*p = (struct aif_profile){.start_ns = FIXTURE_START};
	m->now = FIXTURE_START;
	FIXTURE_ADD(p, processes, .pid = 7, .exe = aif_strset_puts(s, "python3"),
		    .cmdline = AIF_NONE, .host = AIF_NONE, .exit_status = -1);
	for (uint32_t i = 0; i < 2; i++)
		FIXTURE_ADD(p, threads, .process = 0, .tid = 7 + i, .name = AIF_NONE);
	FIXTURE_ADD(p, devices, .name = aif_strset_puts(s, "gpu"), .vendor = AIF_NONE,
		    .driver = AIF_NONE, .runtime = aif_strset_puts(s, "cuda"),
		    .kind = AIF_DEVICE_GPU, .units = 1, .clock = AIF_CLOCK_MONOTONIC);
	FIXTURE_ADD(p, streams, .process = 0, .device = 0);
	FIXTURE_ADD(p, modules, .kind = AIF_MODULE_ELF, .path = aif_strset_puts(s, "/t/torch.so"),
		    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	FIXTURE_ADD(p, modules, .kind = AIF_MODULE_SOURCE,
		    .path = aif_strset_puts(s, "/home/u/model.py"), .build_id = AIF_NONE,
		    .kernel = AIF_NONE, .program = AIF_NONE);
	FIXTURE_ADD(p, kernels, .name = aif_strset_puts(s, "k"), .short_name = AIF_NONE,
		    .program = AIF_NONE);
	*state = m;
	return 0;
}

static inline int tear_down(void **state)
{
	struct model *m = *state;

	aif_profile_finish(&m->p);
	aif_profile_finish(&m->opened);
	aif_strset_finish(&m->frames);
	aif_map_finish(&m->stacks);
	unlink(m->path);
	free(m);
	return 0;
}

/* Through a file, which has bulk rows. */
static inline void record(struct model *m)
{
	struct aif_writer *w;
	struct aif_err err;

	snprintf(m->path, sizeof(m->path), "/tmp/test_backward.%d", (int)getpid());
	unlink(m->path);
	assert_ok(aif_writer_new(m->path, FIXTURE_START, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &m->p, &err), &err);
	for (uint32_t late = 0; late < (m->late_main ? 2 : 1); late++) {
		struct aif_launch_row rows[512];
		size_t n = 0;

		for (size_t i = 0; i < m->n; i++)
			if (!m->late_main || (m->launches[i].thread == MAIN) == (late == 1))
				rows[n++] = m->launches[i];
		assert_ok(aif_writer_launches(w, rows, n, &err), &err);
	}
	assert_ok(aif_writer_execs(w, m->execs, m->n, &err), &err);
	assert_ok(aif_writer_cpu(w, m->cpu, m->cpu_len, &err), &err);
	assert_ok(aif_writer_windows(w, m->windows, m->windows_len, &err), &err);
	assert_ok(aif_writer_finish(w, m->now + AIF_NS_PER_S, &err), &err);
	assert_ok(aif_profile_open(m->path, &m->opened, &err), &err);
}
