/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which forward each part of a backward is joined to. Views of joined profiles: test_backward_views.c. */
#include "export/exporter.h"
#include "import/import.h"

#include "fixture_backward.h"

extern const struct aif_exporter aif_exporter_chrome;

/* Leaves out launches for 10 ms from now on. */
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
	const struct aif_backward *b;
	struct aif_err err;

	assert_ok(aif_backward_get(&m->opened, NULL, &b, &err), &err);
	for (size_t i = 0; i < b->parts_len; i++) {
		const struct aif_backward_part *part = &b->parts[i];
		char line[128];
		size_t at = 0;

		snprintf(line, sizeof(line), "%s > %s%s",
			 part->name == AIF_STR_NONE ? ""
						    : aif_strset_get(&b->names, part->name, NULL),
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
	aif_facts_put(b);
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
	struct aif_names names;
	struct aif_export x = {.profile = &m->opened, .names = &names, .detail = AIF_NAME_NORMAL};
	const struct aif_import_opts opts = {.limit = 0};
	char json[80];
	const char *const files[] = {json};
	struct aif_err err = {0};

	snprintf(json, sizeof(json), "%s.json", m->path);
	assert_int_equal(aif_names_make(&names, &m->opened), 0);
	assert_ok(aif_export_write(&aif_exporter_chrome, &x, json, &err), &err);
	aif_names_finish(&names);
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

	/* Only the end of a forward was captured. */
	forward(m, "py:attention", "mm");
	leave_out(m);
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 1);
	node(m, "MmBackward0", 20);
	/* The forward was left out whole: the one before must not stand for it. */
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
	struct aif_selection sel = {0};
	const struct aif_backward *b;
	struct aif_err err;

	forward(m, "py:a", "mm");
	forward(m, "py:b", "mm");
	node(m, "MmBackward0", 1);
	sel.from_ns = m->now - FIXTURE_START + 1;
	node(m, "MmBackward0", 20);
	record(m);
	assert_ok(aif_backward_get(&m->opened, &sel, &b, &err), &err);
	assert_int_equal(b->parts_len, 2); /* at two places in the node */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(b->parts[i].time, 20000);
		assert_string_equal(
			aif_profile_str(
				&m->opened,
				aif_profile_frame_name(&m->opened,
						       m->opened.stacks[b->parts[i].forward].frame)
					->name),
			"a");
	}
	aif_facts_put(b);
	sel.from_ns = m->now - FIXTURE_START + 1;
	assert_ok(aif_backward_get(&m->opened, &sel, &b, &err), &err);
	assert_int_equal(b->parts_len, 0);
	aif_facts_put(b);
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

static void sums_tell_how_much_was_joined(void **state)
{
	struct model *m = *state;
	uint64_t ns[AIF_BACKWARD_HOWS];
	struct aif_attribution a = {0};
	const struct aif_backward *b;
	struct aif_err err;

	forward(m, "py:mlp", "mm");
	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 1);
	node(m, "ViewBackward0", 10);
	node(m, "MmBackward0", 2);
	node(m, "AddBackward0", 100);
	record(m);
	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	assert_ok(aif_backward_get(&m->opened, NULL, &b, &err), &err);
	aif_backward_sums(b, &a, ns);
	assert_int_equal(ns[AIF_BACKWARD_MATCHED], 6000);
	assert_int_equal(ns[AIF_BACKWARD_BETWEEN], 20000);
	assert_int_equal(ns[AIF_BACKWARD_UNJOINED], 200000);
	aif_facts_put(b);
	aif_attribution_finish(&a);
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
		RECORDED(sums_tell_how_much_was_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
