/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "export/flame.h"
#include "export/kernel_names.h"
#include "export/report.h"
#include "export/summary.h"
#include "export/towers.h"
#include "import/import.h"
#include "profile/backward.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture_profile.h"

extern const struct aif_exporter aif_exporter_chrome;

/* ---- recordings ---------------------------------------------------------------------------------- */

struct model {
	struct aif_profile p, opened;
	struct aif_launch_row launches[512];
	struct aif_exec_row execs[512];
	struct aif_window_row windows[8];
	struct aif_strset frames; /* names as the tests have them -> frame */
	struct aif_map stacks;
	size_t n, windows_len;
	uint64_t now;
	bool late_main; /* the main thread's launches are written a chunk later */
	char path[64];
};

enum { MAIN, AUTOGRAD };

static uint32_t frame_of(struct model *m, const char *key, enum aif_frame_kind kind,
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

static uint32_t push(struct model *m, uint32_t caller, uint32_t frame)
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
static uint32_t word_push(struct model *m, uint32_t s, const char *word)
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
static void launch(struct model *m, uint32_t thread, uint64_t us, const char *words)
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
static void forward(struct model *m, const char *function, const char *op)
{
	char words[256];

	snprintf(words, sizeof(words), "main py:train %s op:%s cudaLaunchKernel", function, op);
	launch(m, MAIN, 1, words);
}

static void node(struct model *m, const char *name, uint64_t us)
{
	char words[256];

	snprintf(words, sizeof(words), "start engine node:%s in:%s@1 op:mm cudaLaunchKernel", name,
		 name);
	launch(m, AUTOGRAD, us, words);
	snprintf(words, sizeof(words), "start engine node:%s in:%s@2 op:mm cudaLaunchKernel", name,
		 name);
	launch(m, AUTOGRAD, us, words);
}

/* Nothing was captured from now on, for 10 ms. */
static void leave_out(struct model *m)
{
	m->windows[m->windows_len++] = (struct aif_window_row){.start = m->now + 100000,
							       .end = m->now + 10000000,
							       .window = 0,
							       .device = AIF_NONE,
							       .process = 0,
							       .thread = AIF_NONE,
							       .p_ppm = 500000,
							       .launches = 5};
	m->now += 11000000;
}

static int set_up(void **state)
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

static int tear_down(void **state)
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
static void record(struct model *m)
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
	assert_ok(aif_writer_windows(w, m->windows, m->windows_len, &err), &err);
	assert_ok(aif_writer_finish(w, m->now + AIF_NS_PER_S, &err), &err);
	assert_ok(aif_profile_open(m->path, &m->opened, &err), &err);
}

/* "Node > function time", one a line, in the order of the texts; time in us; a function that was found between
 * others has a ~ before it. */
static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void opened_is(struct model *m, const char *expected)
{
	char lines[64][160];
	struct aif_buf all = {0};
	uint64_t sums[64] = {0};
	size_t n = 0;
	struct aif_backward b;
	struct aif_err err;

	assert_ok(aif_backward_find(&m->opened, NULL, &b, &err), &err);
	for (size_t i = 0; i < b.parts_len; i++) {
		const struct aif_backward_part *part = &b.parts[i];
		char line[128];
		size_t at = 0;

		snprintf(line, sizeof(line), "%s > %s%s",
			 part->name == AIF_STR_NONE ? ""
						    : aif_strset_get(&b.names, part->name, NULL),
			 part->how == AIF_BACKWARD_BETWEEN ? "~" : "",
			 part->forward == AIF_NONE
				 ? "?"
				 : aif_profile_str(&m->opened,
						   aif_profile_frame_name(
							   &m->opened,
							   m->opened.stacks[part->forward].frame)
							   ->name));
		while (at < n && strcmp(lines[at], line) != 0)
			at++;
		if (at == n)
			snprintf(lines[n++], sizeof(lines[0]), "%s", line);
		sums[at] += part->time / 1000;
	}
	for (size_t i = 0; i < n; i++)
		snprintf(lines[i] + strlen(lines[i]), 24, " %llu", (unsigned long long)sums[i]);
	qsort(lines, n, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < n; i++)
		aif_buf_printf(&all, "%s\n", lines[i]);
	aif_backward_finish(&b);
	assert_string_equal(aif_buf_str(&all), expected);
	aif_buf_finish(&all);
}

static void joined_is(struct model *m, const char *expected)
{
	record(m);
	opened_is(m, expected);
}

/* Through an export of what views show, which leaves out what tells of a backward. */
static void come_back(struct model *m)
{
	struct aif_export x = {.profile = &m->opened, .detail = AIF_NAME_NORMAL};
	const struct aif_import_opts opts = {.limit = 0};
	char json[80];
	const char *const files[] = {json};
	struct aif_err err = {0};

	snprintf(json, sizeof(json), "%s.json", m->path);
	assert_int_equal(aif_kernel_names_make(&m->opened), 0);
	assert_ok(aif_export_write(&aif_exporter_chrome, &x, json, &err), &err);
	aif_profile_finish(&m->opened);
	m->opened = (struct aif_profile){0};
	unlink(m->path);
	assert_ok(aif_import_files(files, 1, m->path, &opts, NULL, &err), &err);
	unlink(json);
	assert_ok(aif_profile_open(m->path, &m->opened, &err), &err);
}

static void an_export_that_is_imported_has_it(void **state)
{
	static const char joined[] = "MmBackward0 > attention 60\nMmBackward0 > mlp 2400\n";
	struct model *m = *state;

	forward(m, "py:attention", "mm");
	forward(m, "py:mlp", "mm");
	forward(m, "py:mlp@2", "mm");
	node(m, "MmBackward0", 1000);
	node(m, "MmBackward0", 200);
	node(m, "MmBackward0", 30);
	joined_is(m, joined);
	come_back(m);
	opened_is(m, joined);
}

static void each_node_gets_to_its_own_function(void **state)
{
	struct model *m = *state;

	forward(m, "py:embed", "embedding");
	forward(m, "py:attention", "mm");
	forward(m, "py:mlp", "mm");
	forward(m, "py:mlp py:act", "gelu");
	forward(m, "py:mlp@2", "mm");
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 1000);
	node(m, "MmBackward0", 200);
	node(m, "GeluBackward0", 7);
	node(m, "MmBackward0", 30);
	node(m, "MmBackward0", 4);
	node(m, "EmbeddingBackward0", 5);
	joined_is(m, "EmbeddingBackward0 > embed 10\n"
		     "GeluBackward0 > act 14\n"
		     "MmBackward0 > attention 8\n"
		     "MmBackward0 > head 2000\n"
		     "MmBackward0 > mlp 460\n");
}

static void launches_in_two_chunks_are_in_order(void **state)
{
	struct model *m = *state;

	m->late_main = true;
	forward(m, "py:attention", "mm");
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 100);
	node(m, "MmBackward0", 3);
	forward(m, "py:other", "mm");
	joined_is(m, "MmBackward0 > attention 6\nMmBackward0 > head 200\n");
}

/* Views launch nothing; what their nodes launch lies between. The engine's own launches go with the node. */
static void nodes_without_an_operator_lie_between(void **state)
{
	struct model *m = *state;

	forward(m, "py:block py:attention", "mm");
	forward(m, "py:block@2 py:mlp", "mm");
	forward(m, "py:head", "mm");
	node(m, "ViewBackward0", 9000);
	node(m, "MmBackward0", 1);
	launch(m, AUTOGRAD, 500, "start engine accumulate");
	launch(m, AUTOGRAD, 500, "start engine op:sum");
	node(m, "ViewBackward0", 10);
	node(m, "MmBackward0", 2);
	node(m, "ViewBackward0", 40);
	node(m, "MmBackward0", 3);
	node(m, "ViewBackward0", 8000);
	joined_is(m, "MmBackward0 > attention 6\n"
		     "MmBackward0 > head 1002\n"
		     "MmBackward0 > mlp 4\n"
		     "ViewBackward0 > ? 34000\n"
		     "ViewBackward0 > ~block 80\n"
		     "ViewBackward0 > ~train 20\n");
}

/* Two losses of two models, whose backwards come in either order; and operators that make no nodes. */
static void passes_find_their_own_forward(void **state)
{
	struct model *m = *state;

	for (unsigned step = 0; step < 4; step++) {
		forward(m, "py:g1", "mm");
		forward(m, "py:g2", "relu");
		forward(m, "py:d1", "convolution");
		forward(m, "py:d2", "mm");
		for (unsigned pass = 0; pass < 2; pass++) {
			if ((pass + step) % 2) {
				node(m, "ReluBackward0", 1);
				node(m, "MmBackward0", 10);
			} else {
				node(m, "MmBackward0", 100);
				node(m, "ConvolutionBackward0", 1000);
			}
			launch(m, MAIN, 1, "main py:train py:step op:mul_Tensor");
		}
	}
	joined_is(m, "ConvolutionBackward0 > d1 8000\n"
		     "MmBackward0 > d2 800\n"
		     "MmBackward0 > g1 80\n"
		     "ReluBackward0 > g2 8\n");
}

static void operators_that_are_done_with_are_forgotten(void **state)
{
	struct model *m = *state;

	forward(m, "py:long_ago", "mm");
	for (unsigned step = 0; step < 4; step++) {
		forward(m, "py:a", "relu");
		forward(m, "py:b", "mul_Tensor"); /* whose node launches nothing */
		forward(m, "py:c", "relu");
		node(m, "ReluBackward0", 1);
		node(m, "ReluBackward0", 1);
	}
	forward(m, "py:d", "relu");
	node(m, "ReluBackward0", 1);
	node(m, "MulBackward0", 10);
	node(m, "MmBackward0", 100);
	joined_is(m, "MmBackward0 > ? 200\nMulBackward0 > ? 20\nReluBackward0 > a 8\n"
		     "ReluBackward0 > c 8\nReluBackward0 > d 2\n");
}

static void what_was_left_out_is_not_guessed(void **state)
{
	struct model *m = *state;

	/* Of a forward only the end was captured. */
	forward(m, "py:attention", "mm");
	leave_out(m);
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 1);
	node(m, "MmBackward0", 20);
	/* None of it: the one before must not stand for it. */
	forward(m, "py:mlp", "mm");
	leave_out(m);
	node(m, "MmBackward0", 300);
	/* The backward goes on after a gap. */
	forward(m, "py:a", "mm");
	forward(m, "py:b", "mm");
	node(m, "MmBackward0", 4000);
	leave_out(m);
	node(m, "MmBackward0", 50000);
	joined_is(m, "MmBackward0 > ? 100640\nMmBackward0 > b 8000\nMmBackward0 > head 2\n");
}

/* The same kernel twice: two runs if there were two calls, one if there was one. */
static void alignment_decides_how_many_runs(void **state)
{
	struct model *m = *state;

	forward(m, "py:q", "mm");
	forward(m, "py:k", "mm");
	launch(m, AUTOGRAD, 1, "start engine node:MmBackward0 in:MmBackward0@1 f");
	launch(m, AUTOGRAD, 20, "start engine node:MmBackward0 in:MmBackward0@1 f");
	forward(m, "py:e", "embedding");
	for (unsigned i = 0; i < 3; i++)
		launch(m, AUTOGRAD, 100, "start engine node:EmbeddingBackward0 in:E@1 f");
	joined_is(m, "EmbeddingBackward0 > e 300\nMmBackward0 > k 1\nMmBackward0 > q 20\n");
}

/* A class with its own forward and backward is one node; operators inside of it have none. */
static void classes_with_their_own_backward(void **state)
{
	struct model *m = *state;

	forward(m, "py:block", "mm");
	launch(m, MAIN, 1, "main py:train py:fused apply py:decorate py:Scale.forward py:f op:mm");
	launch(m, MAIN, 1, "main py:train py:fused apply py:decorate py:Scale.forward py:f triton");
	launch(m, AUTOGRAD, 5, "start engine pynode py:decorate py:Scale.backward op:mm f");
	launch(m, AUTOGRAD, 6,
	       "start engine pynode py:decorate py:Scale.backward py:helper triton");
	node(m, "MmBackward0", 10);
	joined_is(m, "MmBackward0 > block 20\nScale > fused 11\n");
}

/* The forward is computed again: by a node of its own, or by what gets at saved tensors. */
static void checkpoints_repeat_the_forward(void **state)
{
	struct model *m = *state;
	const char *inner = "start engine pynode py:CheckpointFunction.backward";
	char words[256];

	forward(m, "py:checkpoint apply py:CheckpointFunction.forward py:block", "mm");
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 1);
	snprintf(words, sizeof(words), "%s py:block op:mm f", inner);
	launch(m, AUTOGRAD, 1, words);
	snprintf(words, sizeof(words), "%s py:backward engine node:MmBackward0 in:Mm@1 f", inner);
	launch(m, AUTOGRAD, 30, words);
	forward(m, "py:block", "relu");
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 400);
	launch(m, AUTOGRAD, 5000,
	       "start engine node:ReluBackward0 in:Relu@1 py:unpack py:block op:mm f");
	launch(m, AUTOGRAD, 5000, "start engine node:ReluBackward0 in:Relu@2 f");
	joined_is(m, "MmBackward0 > block 30\n"
		     "MmBackward0 > head 802\n"
		     "ReluBackward0 > block 10000\n");
}

static void only_what_is_asked_for_counts(void **state)
{
	struct model *m = *state;
	struct aif_attribution_opts which = {0};
	struct aif_backward b;
	struct aif_err err;

	forward(m, "py:a", "mm");
	forward(m, "py:b", "mm");
	node(m, "MmBackward0", 1);
	which.from_ns = m->now - FIXTURE_START + 1;
	node(m, "MmBackward0", 20);
	record(m);
	assert_ok(aif_backward_find(&m->opened, &which, &b, &err), &err);
	assert_int_equal(b.parts_len, 2); /* at two places in the node */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(b.parts[i].time, 20000);
		assert_string_equal(
			aif_profile_str(
				&m->opened,
				aif_profile_frame_name(&m->opened,
						       m->opened.stacks[b.parts[i].forward].frame)
					->name),
			"a");
	}
	aif_backward_finish(&b);
	which.from_ns = m->now - FIXTURE_START + 1;
	assert_ok(aif_backward_find(&m->opened, &which, &b, &err), &err);
	assert_int_equal(b.parts_len, 0);
	aif_backward_finish(&b);
}

static void splitting_keeps_sums(void **state)
{
	struct aif_attribution_row row = {.wall_ns = 1000003,
					  .time_ns = UINT64_MAX / 3,
					  .samples = 17,
					  .launches = 5,
					  .bytes = 11,
					  .error_ns = 1000},
				   shares[3];
	struct aif_backward_part parts[3] = {
		{.time = 1, .launches = 1}, {.time = 5, .launches = 2}, {.time = 7, .launches = 4}};

	(void)state;
	for (unsigned with = 0; with < 3; with++) {
		uint64_t wall = 0, time = 0, samples = 0, launches = 0, bytes = 0;
		double variance = 0;

		for (size_t i = 0; i < 3; i++) {
			parts[i].time = with > 0 ? parts[i].time : 0;
			parts[i].launches = with > 1 ? parts[i].launches : 0;
		}
		if (with == 2)
			parts[0].launches = 1, parts[1].time = 5;
		aif_backward_split(&row, parts, 3, shares);
		for (size_t i = 0; i < 3; i++) {
			wall += shares[i].wall_ns;
			time += shares[i].time_ns;
			samples += shares[i].samples;
			launches += shares[i].launches;
			bytes += shares[i].bytes;
			variance += (double)shares[i].error_ns * (double)shares[i].error_ns;
		}
		assert_int_equal(wall, row.wall_ns);
		assert_int_equal(time, row.time_ns);
		assert_int_equal(samples, row.samples);
		assert_int_equal(launches, row.launches);
		assert_int_equal(bytes, row.bytes);
		assert_true(variance > 990.0 * 990 && variance <= 1000.0 * 1000);
	}
}

/* ---- the picture --------------------------------------------------------------------------------- */

static void drawn_is(struct model *m, enum aif_name_detail detail, const char *expected)
{
	struct aif_flame_opts o = {.leaf = AIF_LEAF_KERNEL, .by = AIF_BY_TIME, .detail = detail};
	struct aif_attribution a = {0};
	struct aif_tree t = {0};
	char path[96], text[4096];
	struct aif_err err;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s.folded", m->path);
	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	assert_ok(aif_towers_build(&m->opened, &a, &o, &t, &err), &err);
	assert_ok(aif_flame_write(&t, AIF_FLAME_FOLDED, NULL, path, &err), &err);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = 0;
	close(fd);
	unlink(path);
	assert_string_equal(text, expected);
	aif_tree_finish(&t);
	aif_attribution_finish(&a);
}

static void the_backward_stands_on_its_forward(void **state)
{
	struct model *m = *state;

	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 10);
	node(m, "AddBackward0", 3);
	launch(m, AUTOGRAD, 7, "start engine accumulate");
	record(m);
	drawn_is(
		m, AIF_NAME_NORMAL,
		"[backward];[backward] AddBackward0;aten::mm;cudaLaunchKernel;k_[g] 6000\n"
		"[backward];[backward] AddBackward0;torch::autograd::AccumulateGrad::apply;k_[g] 7000\n"
		"main;train (model.py)_[p];head (model.py)_[p];[backward] MmBackward0;aten::mm;"
		"cudaLaunchKernel;k_[g] 20000\n"
		"main;train (model.py)_[p];head (model.py)_[p];aten::mm;cudaLaunchKernel;k_[g] 1000\n");
}

static void what_says_nothing_is_folded_away(void **state)
{
	struct model *m = *state;

	launch(m, MAIN, 1,
	       "main py:train py:use.<locals>.wrapper py:head "
	       "torch::autograd::THPVariable_add(_object*) op:add__Tensor "
	       "at::native::structured_ufunc_add_CUDA::impl(int) "
	       "at::native::add_kernel(int)::{lambda()#1}::operator()()(int) cudaLaunchKernel");
	record(m);
	drawn_is(
		m, AIF_NAME_NORMAL,
		"main;train (model.py)_[p];head (model.py)_[p];aten::add_;cudaLaunchKernel;k_[g] 1000\n");
}

static void table_write(struct model *m, enum aif_report_kind kind, enum aif_table_format format,
			struct aif_buf *ret)
{
	struct aif_report_opts o = {
		.kind = kind, .format = format, .detail = AIF_NAME_NORMAL, .sort = "time"};
	struct aif_attribution a = {0};
	struct aif_err err;

	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	assert_ok(aif_report_write(&m->opened, &a, &o, ret, &err), &err);
	aif_attribution_finish(&a);
}

static void table_is(struct model *m, enum aif_report_kind kind, const char *expected)
{
	struct aif_buf out = {0};

	table_write(m, kind, AIF_TABLE_CSV, &out);
	assert_string_equal(aif_buf_str(&out), expected);
	aif_buf_finish(&out);
}

/* The innermost operator, and of a backward the forward's caller. */
static void tables_name_operators_and_forwards(void **state)
{
	struct model *m = *state;
	struct aif_buf plain = {0};

	forward(m, "py:mlp at::_ops::linear::call(int)", "addmm");
	launch(m, MAIN, 2,
	       "main py:train py:head at::_ops::linear::call(int) op:addmm cudaLaunchKernel");
	node(m, "AddmmBackward0", 3);
	node(m, "AddmmBackward0", 100);
	launch(m, AUTOGRAD, 20, "start engine node:AddBackward0 in:Add@1 op:sum_dim_IntList f");
	record(m);
	table_is(
		m, AIF_REPORT_KERNELS,
		"wall_share,wall,time,error,launches,average,samples,process,kernel,operator,caller\n"
		"1.000000,229000,229000,0,7,32714,0,7,k,aten::mm,mlp (model.py) [backward]\n");
	table_write(m, AIF_REPORT_KERNELS, AIF_TABLE_PLAIN, &plain);
	assert_non_null(strstr(aif_buf_str(&plain), "aten::mm  mlp (model.py) [backward]\n"));
	aif_buf_finish(&plain);
	table_is(
		m, AIF_REPORT_STACKS,
		"wall_share,wall,time,error,launches,samples,process,kernel,stack\n"
		"0.873362,200000,200000,0,2,0,7,k,cudaLaunchKernel < aten::mm < [backward] AddmmBackward0 < "
		"mlp (model.py) < train (model.py) < main\n"
		"0.087336,20000,20000,0,1,0,7,k,f < aten::sum < [backward] AddBackward0\n"
		"0.026200,6000,6000,0,2,0,7,k,cudaLaunchKernel < aten::mm < [backward] AddmmBackward0 < "
		"head (model.py) < train (model.py) < main\n"
		"0.008733,2000,2000,0,1,0,7,k,cudaLaunchKernel < aten::addmm < aten::linear < "
		"head (model.py) < train (model.py) < main\n"
		"0.004366,1000,1000,0,1,0,7,k,cudaLaunchKernel < aten::addmm < aten::linear < "
		"mlp (model.py) < train (model.py) < main\n");
}

static void the_first_screen_names_them_too(void **state)
{
	struct model *m = *state;
	struct aif_attribution a = {0};
	struct aif_buf out = {0};
	struct aif_err err;

	forward(m, "py:mlp", "mm");
	node(m, "MmBackward0", 100);
	record(m);
	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	aif_summary_write(&m->opened, &a, m->path, &out);
	assert_non_null(strstr(aif_buf_str(&out), "aten::mm in mlp (model.py) [backward]\n"));
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
}

static void sums_tell_how_much_was_joined(void **state)
{
	struct model *m = *state;
	uint64_t ns[AIF_BACKWARD_HOWS];
	struct aif_attribution a = {0};
	struct aif_backward b;
	struct aif_err err;

	forward(m, "py:mlp", "mm");
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 1);
	node(m, "ViewBackward0", 10);
	node(m, "MmBackward0", 2);
	node(m, "AddBackward0", 100);
	record(m);
	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	assert_ok(aif_backward_find(&m->opened, NULL, &b, &err), &err);
	aif_backward_sums(&b, &a, ns);
	assert_int_equal(ns[AIF_BACKWARD_MATCHED], 6000);
	assert_int_equal(ns[AIF_BACKWARD_BETWEEN], 20000);
	assert_int_equal(ns[AIF_BACKWARD_UNJOINED], 200000);
	aif_backward_finish(&b);
	aif_attribution_finish(&a);
}

/* In full detail nothing is inferred. */
static void full_detail_shows_what_was_recorded(void **state)
{
	struct model *m = *state;

	forward(m, "py:head", "mm");
	launch(m, AUTOGRAD, 7, "start engine node:MmBackward0 f");
	record(m);
	drawn_is(
		m, AIF_NAME_FULL,
		"main;train (model.py)_[p];head (model.py)_[p];at::_ops::mm::call(at::Tensor const&);"
		"torch::autograd::VariableType::(anonymous namespace)::mm(int);cudaLaunchKernel;k_[g] 1000\n"
		"start;torch::autograd::Engine::evaluate_function(int);"
		"torch::autograd::generated::MmBackward0::apply(int);f;k_[g] 7000\n");
}

int main(void)
{
#define TEST(f)     cmocka_unit_test(f)
#define RECORDED(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RECORDED(each_node_gets_to_its_own_function),
		RECORDED(launches_in_two_chunks_are_in_order),
		RECORDED(an_export_that_is_imported_has_it),
		RECORDED(nodes_without_an_operator_lie_between),
		RECORDED(passes_find_their_own_forward),
		RECORDED(operators_that_are_done_with_are_forgotten),
		RECORDED(what_was_left_out_is_not_guessed),
		RECORDED(alignment_decides_how_many_runs),
		RECORDED(classes_with_their_own_backward),
		RECORDED(checkpoints_repeat_the_forward),
		RECORDED(only_what_is_asked_for_counts),
		TEST(splitting_keeps_sums),
		RECORDED(the_backward_stands_on_its_forward),
		RECORDED(what_says_nothing_is_folded_away),
		RECORDED(tables_name_operators_and_forwards),
		RECORDED(the_first_screen_names_them_too),
		RECORDED(sums_tell_how_much_was_joined),
		RECORDED(full_detail_shows_what_was_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
