/* SPDX-License-Identifier: Apache-2.0 */
/* Tests pictures and tables of the inside of NVIDIA's kernels. Listings: test_device_annotate.c. */
#include "flame/build.h"
#include "flame/flame.h"
#include "flame/palette.h"
#include "names/stall_rules.h"
#include "report/report.h"
#include "report/stalls.h"
#include "report/summary/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fixture_device.h"

/* ---- pictures ---- */

static char *folded(const struct world *w, const struct aif_flame_opts *o)
{
	struct aif_tree t;
	struct aif_err err = {0};
	char name[] = "/tmp/test_device.XXXXXX", *text = calloc(1, 10000);
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	close(fd);
	assert_ok(aif_flame_build(AIF_NAMES_OF(&w->p), &w->a, o, &t, &err), &err);
	assert_ok(aif_flame_write(&t, AIF_FLAME_FOLDED, NULL, name, &err), &err);
	aif_tree_finish(&t);
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0 && read(fd, text, 9999) >= 0);
	close(fd);
	unlink(name);
	return text;
}

static void check_folded(const struct world *w, const struct aif_flame_opts *o, const char *wanted)
{
	char *text = folded(w, o);

	assert_string_equal(text, wanted);
	free(text);
}

#define INNER "main;shared_sum_[g];middle_[g]_[i];inner_[g]_[i];kernels.cu:13_[g]"

static void device_frames_have_lines_instructions_and_stalls(void **state)
{
	struct world w;
	struct aif_flame_opts o = {
		.leaf = AIF_LEAF_STALL, .by = AIF_BY_SAMPLES, .detail = AIF_NAME_NORMAL};

	(void)state;
	world_init(&w);
	samples(&w);
	/* Hidden and exposed are one; what is inlined is a frame; the innermost line. */
	check_folded(
		&w, &o,
		"main;shared_sum_[g];kernels.cu:43_[g];S2R +0x10_[g];selected_[g] 1\n"
		"main;shared_sum_[g];kernels.cu:45_[g];FADD +0x160_[g];short_scoreboard_[g] 80\n"
		"main;shared_sum_[g];kernels.cu:45_[g];FADD +0x160_[g];wait_[g] 20\n" INNER
		";FMUL +0x140_[g];long_scoreboard_[g] 400\n" INNER
		";FMUL +0x140_[g];selected_[g] 20\n" INNER ";LDG +0xf0_[g];barrier_[g] 200\n");
	o.detail = AIF_NAME_FULL;
	o.focus = "LDG|FMUL";
	check_folded(&w, &o,
		     "main;shared_sum(float*, float const*)_[g];middle(float const*, int)_[g]_[i];"
		     "inner(float const*, int)_[g]_[i];kernels.cu:13_[g];FMUL +0x140_[g];"
		     "long_scoreboard_[g] 100\n"
		     "main;shared_sum(float*, float const*)_[g];middle(float const*, int)_[g]_[i];"
		     "inner(float const*, int)_[g]_[i];kernels.cu:13_[g];FMUL +0x140_[g];"
		     "long_scoreboard_not_issued_[g] 300\n"
		     "main;shared_sum(float*, float const*)_[g];middle(float const*, int)_[g]_[i];"
		     "inner(float const*, int)_[g]_[i];kernels.cu:13_[g];FMUL +0x140_[g];"
		     "selected_[g] 20\n"
		     "main;shared_sum(float*, float const*)_[g];middle(float const*, int)_[g]_[i];"
		     "inner(float const*, int)_[g]_[i];kernels.cu:13_[g];LDG +0xf0_[g];"
		     "barrier_not_issued_[g] 200\n");
	o.detail = AIF_NAME_NORMAL;
	o.leaf = AIF_LEAF_INSTRUCTION;
	o.focus = "FMUL";
	check_folded(&w, &o, INNER ";FMUL +0x140_[g] 420\n");
	o.leaf = AIF_LEAF_LINE;
	o.focus = NULL;
	check_folded(&w, &o,
		     "main;shared_sum_[g];kernels.cu:43_[g] 1\n"
		     "main;shared_sum_[g];kernels.cu:45_[g] 100\n" INNER " 620\n");
	world_finish(&w);
}

/* A sample in the middle of an instruction is that instruction's, in all views. */
static void test_inside_of_instruction(void **state)
{
	struct world w;
	struct aif_flame_opts o = {
		.leaf = AIF_LEAF_INSTRUCTION, .by = AIF_BY_SAMPLES, .detail = AIF_NAME_NORMAL};
	char *text;

	(void)state;
	world_init(&w);
	row(&w, w.shared, frame(&w, w.shared_module, SHARED, 0x140), "wait", 2);
	row(&w, w.shared, frame(&w, w.shared_module, SHARED, 0x14f), "wait", 3);
	check_folded(&w, &o, INNER ";FMUL +0x140_[g] 5\n");
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_non_null(strstr(text, "100.0 %  ######  +0x0140  FMUL"));
	free(text);
	world_finish(&w);
}

/* A function that is called, not inlined, in its kernel's code. */
static void a_called_function_stands_in_its_kernel(void **state)
{
	const struct aif_device_function *f;
	struct world w;
	struct aif_flame_opts o = {
		.leaf = AIF_LEAF_LINE, .by = AIF_BY_SAMPLES, .detail = AIF_NAME_NORMAL};
	uint64_t pc = 0;
	char *text;

	(void)state;
	world_init(&w);
	f = aif_device_elf_by_name(&w.cubin.elf, CALLS);
	while (aif_device_elf_find(&w.cubin.elf, f->symbol, pc, NULL) == f)
		pc += 16;
	row(&w, w.calls, frame(&w, w.calls_module, CALLS, 0x20), "wait", 1);
	row(&w, w.calls, frame(&w, w.calls_module, CALLS, pc), "wait", 9);
	text = folded(&w, &o);
	assert_non_null(strstr(text, "main;calls_[g];kernels.cu:"));
	assert_non_null(strstr(text, "main;calls_[g];apart_[g];kernels.cu:6_[g] 9\n"));
	free(text);
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_non_null(strstr(text, "\n 90.0 %  #####   kernels.cu:6 (apart)\n"));
	assert_non_null(strstr(text, "\n 10.0 %  #       kernels.cu:35\n"));
	free(text);
	world_finish(&w);
}

static void tooltips_say_which_stalls_were_hidden(void **state)
{
	struct world w;
	struct aif_tree t;
	struct aif_err err = {0};
	struct aif_flame_opts o = {.leaf = AIF_LEAF_STALL, .by = AIF_BY_SAMPLES};
	size_t len, found = 0;

	(void)state;
	world_init(&w);
	samples(&w);
	assert_ok(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &o, &t, &err), &err);
	for (uint32_t n = 1; n < t.len; n++) {
		const char *name = aif_tree_text(&t, t.nodes[n].name, &len);

		if (!strcmp(name, "barrier")) {
			found++;
			assert_string_equal(aif_strset_get(&t.full, t.details[n].full, NULL),
					    "waits for other warps at a barrier of its block");
		}
		if (!strcmp(name, "kernels.cu:13")) {
			found++;
			assert_string_equal(
				aif_strset_get(&t.full, t.details[n].full, NULL),
				"inner(float const*, int) at /src/aiflame/kernels.cu:13, inlined "
				"into middle(float const*, int) at /src/aiflame/kernels.cu:20, "
				"inlined into shared_sum(float*, float const*) at "
				"/src/aiflame/kernels.cu:45");
		}
	}
	assert_int_equal(found, 2);
	aif_tree_finish(&t);
	world_finish(&w);
}

/* ---- reasons ---- */

static void stall_reasons_have_class_and_meaning(void **state)
{
	static const struct {
		const char *reason;
		enum aif_stall_class of;
		bool pairs;
	} cases[] = {
		{"barrier", AIF_STALL_SYNC, true},
		{"branch_resolving", AIF_STALL_FETCH, true},
		{"dispatch_stall", AIF_STALL_EXECUTION, true},
		{"drain", AIF_STALL_MEMORY, true},
		{"gmma", AIF_STALL_EXECUTION, true},
		{"imc_miss", AIF_STALL_MEMORY, true},
		{"lg_throttle", AIF_STALL_MEMORY, true},
		{"long_scoreboard_not_issued", AIF_STALL_MEMORY, true},
		{"math_pipe_throttle", AIF_STALL_EXECUTION, true},
		{"membar", AIF_STALL_MEMORY, true},
		{"mio_throttle_not_issued", AIF_STALL_MEMORY, true},
		{"misc", AIF_STALL_OTHER, true},
		{"no_instructions", AIF_STALL_FETCH, true},
		{"not_selected", AIF_STALL_ISSUE, true},
		{"selected", AIF_STALL_ISSUE, false},
		{"short_scoreboard", AIF_STALL_MEMORY, true},
		{"sleeping", AIF_STALL_SYNC, true},
		{"tex_throttle", AIF_STALL_MEMORY, true},
		{"wait", AIF_STALL_EXECUTION, true},
		{"warpgroup_arrive", AIF_STALL_EXECUTION, true},
		{"sbid", AIF_STALL_MEMORY, false},
	};
	bool is_exposed;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const struct aif_stall *s =
			aif_stall_find(cases[i].reason, strlen(cases[i].reason));

		assert_int_equal(s->of, cases[i].of);
		assert_int_equal(s->pairs, cases[i].pairs);
		assert_true(*s->meaning);
	}
	assert_int_equal(aif_stall_find("?", 1)->of, AIF_STALL_OTHER);
	assert_int_equal(aif_stall_base("wait_not_issued", 15, &is_exposed), 4);
	assert_true(is_exposed);
	assert_int_equal(aif_stall_base("wait", 4, &is_exposed), 4);
	assert_false(is_exposed);
	assert_int_equal(aif_stall_base("_not_issued", 11, &is_exposed), 11);
}

static char *stalls(const struct world *w, struct aif_report_opts o)
{
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	o.table = &aif_report_table_stalls;
	o.detail = AIF_NAME_NORMAL;
	assert_ok(aif_report_write(AIF_NAMES_OF(&w->p), &w->a, &o, &out, &err), &err);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	return text;
}

static void the_table_of_stalls_adds_up(void **state)
{
	struct world w;
	struct aif_buf top = {0}, out = {0};
	struct aif_err err = {0};
	struct aif_stalls s;
	char *text;

	(void)state;
	world_init(&w);
	samples(&w);
	row(&w, w.calls, frame(&w, w.calls_module, CALLS, 0x20), "not_selected", 29);
	row(&w, w.calls, AIF_NONE, NULL, 0); /* time without samples */
	w.a.rows[w.a.rows_len - 1].wall_ns = 250000;
	w.a.conservation.busy_ns = 1000000;
	text = stalls(&w, (struct aif_report_opts){0});
	assert_non_null(strstr(text,
			       "shared_sum(float*, float const*): 72.1 % of busy time, 721 us, "
			       "721 samples\n"
			       "   share   exposed    hidden  class      reason\n"
			       "  55.5 %    41.6 %    13.9 %  memory     long_scoreboard\n"
			       "  27.7 %    27.7 %    0.00 %  sync       barrier\n"
			       "  11.1 %    0.00 %    11.1 %  memory     short_scoreboard\n"
			       "  2.91 %         -         -  issue      selected\n"
			       "  2.77 %    0.00 %    2.77 %  execution  wait\n"
			       "\n"
			       "calls(float*, float const*, int): 27.9 % of busy time, 279 us, "
			       "29 samples\n"));
	assert_non_null(strstr(text,
			       "\nbarrier            waits for other warps at a barrier of its "
			       "block\n                     helps: "));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 120);
	free(text);
	/* a kernel is shown whole, or counted */
	text = stalls(&w, (struct aif_report_opts){.limit = 1});
	assert_non_null(strstr(text, "  2.77 %    0.00 %    2.77 %  execution  wait\n"));
	assert_null(strstr(text, "calls"));
	assert_non_null(strstr(text, "\nand 1 more kernel: --limit 0 shows all\n"));
	free(text);
	text = stalls(&w, (struct aif_report_opts){.format = AIF_TABLE_CSV, .limit = 1});
	assert_non_null(strstr(text, ",wait,"));
	assert_null(strstr(text, "calls"));
	free(text);
	text = stalls(&w, (struct aif_report_opts){.limit = 2, .kernel = "calls"});
	assert_non_null(strstr(text, "calls"));
	assert_null(strstr(text, "more kernel"));
	free(text);
	text = stalls(&w, (struct aif_report_opts){
				  .format = AIF_TABLE_CSV, .sort = "exposed", .limit = 1});
	assert_string_equal(
		text, "share,exposed,hidden,samples,class,reason,meaning,helps,kernel\n"
		      "0.554785,0.416088,0.138696,400,memory,long_scoreboard,\"waits for data from "
		      "global, local or texture memory\",\"fewer, wider and coalesced accesses; "
		      "reuse through shared memory; loads earlier; more warps\",\"shared_sum("
		      "float*, float const*)\"\n");
	free(text);
	/* not_selected is nothing that one waits for */
	assert_int_equal(aif_stalls_init(&s, &w.p, &w.a), 0);
	aif_stalls_top(&s, w.shared, &top);
	aif_stalls_top(&s, w.calls, &top);
	assert_string_equal(aif_buf_str(&top), "long_scoreboard 55.5 %");
	aif_stalls_finish(&s);
	w.a.conservation.joined = 1;
	aif_summary_write(AIF_NAMES_OF(&w.p), &w.a, "p", &top);
	assert_non_null(strstr(aif_buf_str(&top), "main, waits: long_scoreboard 55.5 %\n"));
	assert_non_null(strstr(aif_buf_str(&top),
			       "aiflame report --stalls p, aiflame annotate shared_sum p, "));
	/* none known */
	for (size_t i = 0; i < w.a.rows_len; i++)
		w.a.rows[i].reason = AIF_NONE;
	assert_int_equal(
		aif_report_write(AIF_NAMES_OF(&w.p), &w.a,
				 &(struct aif_report_opts){.table = &aif_report_table_stalls}, &out,
				 &err),
		-ENODATA);
	assert_non_null(strstr(err.text, "in this profile"));
	/* or taken away by what chooses a part */
	assert_int_equal(aif_report_write(AIF_NAMES_OF(&w.p), &w.a,
					  &(struct aif_report_opts){
						  .table = &aif_report_table_stalls,
						  .sel = &(struct aif_selection){.to_ns = 1}},
					  &out, &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "no stall reasons matching --time, "));
	aif_buf_finish(&top);
	aif_buf_finish(&out);
	world_finish(&w);
}

/* The picture's legend has the report's words. */
static void the_legend_names_reasons_as_the_report(void **state)
{
	static const char *const reasons[] = {"not_selected", "long_scoreboard", "barrier"};
	size_t n;
	const struct aif_palette_colour *colours = aif_palette(&n);

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(reasons); i++) {
		size_t len = strlen(reasons[i]);
		const char *word = aif_stall_class_name(aif_stall_find(reasons[i], len)->of),
			   *legend = colours[aif_palette_of(AIF_TREE_STALL, reasons[i], len)].name;

		assert_memory_equal(legend, word, strlen(word));
		assert_true(!legend[strlen(word)] || !strcmp(legend + strlen(word), " stall"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(device_frames_have_lines_instructions_and_stalls),
		cmocka_unit_test(test_inside_of_instruction),
		cmocka_unit_test(a_called_function_stands_in_its_kernel),
		cmocka_unit_test(tooltips_say_which_stalls_were_hidden),
		cmocka_unit_test(stall_reasons_have_class_and_meaning),
		cmocka_unit_test(the_table_of_stalls_adds_up),
		cmocka_unit_test(the_legend_names_reasons_as_the_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
