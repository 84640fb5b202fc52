/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is read of XLA's ranges, and which of its instructions the nodes of a replayed graph are of. */
#include "fixture_ops.h"

#include "analysis/range_index.h"
#include "analysis/ranges/xla.h"

#include <errno.h>

/* "frame | frame", for a range; NULL: none of XLA's. */
static const char *frames(const char *name, const char *payload)
{
	static char text[16384];
	struct aif_xla_range r;
	int e = aif_xla_read(name, payload, &r);

	text[0] = '\0';
	for (size_t i = 0; i < r.len; i++) {
		strcat(text, i ? " | " : "");
		strcat(text, aif_xla_text(&r, i));
	}
	aif_xla_finish(&r);
	return e ? NULL : text;
}

static void assert_label(const char *name, const char *payload, const char *want)
{
	struct aif_buf b = {0};

	aif_xla_label(name, payload, &b);
	assert_string_equal(aif_buf_str(&b), want);
	aif_buf_finish(&b);
}

static void names_are_read(void **state)
{
	(void)state;
	assert_string_equal(frames("TSL:XlaModule:#hlo_module=jit_update,program_id=7958#", ""),
			    "jit(update)");
	assert_string_equal(
		frames("TSL:XlaModule:#prefix=args[0],hlo_module=gemm_fusion_dot.1#", ""),
		"gemm_fusion_dot.1");
	assert_string_equal(frames("TSL:Thunk:#name=jit(f)/jvp(a/b)/dot_general,hlo_op="
				   "cublas-lt-matmul.2,unique_hlo_op_id=34359738410#",
				   ""),
			    "jit(f) | jvp(a/b) | dot_general | cublas-lt-matmul.2");
	assert_string_equal(frames("TSL:Thunk:#hlo_op=command_buffer_1#", ""), "command_buffer_1");
	/* An instruction made of several operators. */
	assert_string_equal(
		frames("TSL:Thunk:#name=jit(f)/a/mul;jit(f)/a/broadcast_in_dim,hlo_op=fusion.5#",
		       ""),
		"jit(f) | a | mul, broadcast_in_dim | fusion.5");
	/* Commas are of names, unless a key follows. */
	assert_string_equal(frames("TSL:Thunk:#name=jit(f)/einsum(ab,bc)/dot,hlo_op=dot.1#", ""),
			    "jit(f) | einsum(ab,bc) | dot | dot.1");
	assert_string_equal(frames("TSL:XlaPass:#name=algsimp,module=jit_f,program_id=1#", ""),
			    "XlaPass algsimp");
	assert_string_equal(frames("TSL:XlaCompile:#module=jit_f#", ""), "XlaCompile jit(f)");
	assert_string_equal(frames("TSL:XlaCompile:#", ""), "XlaCompile");
	assert_null(frames("NCCL:ncclAllReduce", ""));
	assert_null(frames("Thunk:#hlo_op=a#", ""));
	assert_null(frames("TSL:", ""));
	assert_label("TSL:Thunk:#name=jit(f)/a/mul,hlo_op=fusion.5#", "", "jit(f)/a/mul fusion.5");
	assert_label("forward", "", "forward");
}

#define THUNK "TSL:Thunk:#name=jit(f),hlo_op=x#"

static void source_locations_are_a_stack(void **state)
{
	(void)state;
	assert_string_equal(
		frames("TSL:Thunk:#name=jit(f)/mul,hlo_op=x#",
		       "Source locations=TSL:\n- /w/a b.py:28:19[update]\n"
		       "-- /w/m.py:23:21[C.<locals>.loss]\n, HLO=TSL:\n- /w/no.py:1:1[n]\n"),
		"jit(f) | update (a b.py:28) | C.<locals>.loss (m.py:23) | mul | x");
	/* Columns of one line are one; lines of one function end it; leaves have names of operators. */
	assert_string_equal(
		frames(THUNK,
		       "Source locations=- /w/a.py:28:19[update]\n"
		       "-- /w/a.py:23:11[loss] reduce_sum\n-- /w/a.py:23:20[loss]\n"
		       "--- /w/a.py:17:12[predict] s/add\n--- /w/a.py:19:1[predict] s/mul\n"),
		"jit(f) | update (a.py:28) | loss (a.py:23) | predict (a.py:17, 19) | reduce_sum, s/add, "
		"s/mul | x");
	/* Two functions: their caller. */
	assert_string_equal(frames(THUNK, "Source locations=- a.py:28:19[update]\n-- a.py:1:1[f]\n"
					  "-- a.py:2:1[g]\n"),
			    "jit(f) | update (a.py:28) | x");
	/* A line that was cut is no line, and more are not known. */
	assert_string_equal(frames(THUNK,
				   "Source locations=TSL:\n- /w/a.py:28:19[update]\n"
				   "-- /w/a.py:23:21[loss] transpose(jvp())/tra, HLO=TSL:\n"),
			    "jit(f) | update (a.py:28, ...) | x");
	/* Text that is no tree has no lines. */
	assert_string_equal(frames(THUNK,
				   "Source locations=\n- \n--\n- a[b]\n- a:1[b]\n- a:b:1[c]\n"
				   "- a:99999999999999999999:1[d]\n"),
			    "jit(f) | x");
}

static void hostile_texts_are_bounded(void **state)
{
	char name[9000] = "TSL:Thunk:#name=", payload[9000] = "Source locations=";
	struct aif_xla_range r;

	(void)state;
	while (strlen(name) < sizeof(name) - 20)
		strcat(name, strlen(name) < 4000 ? "a/" : "b/c;");
	for (unsigned i = 0; strlen(payload) < sizeof(payload) - 200; i++)
		for (unsigned j = 0; j <= i % 90; j++)
			strcat(payload, j == i % 90 ? " f:1:1[g] o\n" : "-");
	assert_int_equal(aif_xla_read(name, payload, &r), 0);
	assert_true(r.len <= AIF_XLA_FRAMES);
	aif_xla_finish(&r);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void add_thunk(struct ops_fixture *f, uint64_t start, const char *hlo)
{
	char name[128];

	snprintf(name, sizeof(name), "TSL:Thunk:#name=jit(f)/op,hlo_op=%s,unique_hlo_op_id=1#",
		 hlo);
	ops_add(f, 0, start, start + 2, AIF_OP_RANGE, name);
}

static void add_replay(struct ops_fixture *f, uint64_t at, const char *const *kernels)
{
	struct aif_err err = {0};
	struct aif_launch_row l = {.launch = ++f->launches,
				   .time = OPS_START + at,
				   .thread = 0,
				   .kind = AIF_LAUNCH_KERNEL,
				   .kernel = AIF_NONE,
				   .device = 0,
				   .stream = 0,
				   .stack = AIF_NONE,
				   .shape = AIF_NONE};

	assert_ok(aif_writer_launches(f->w, &l, 1, &err), &err);
	for (uint32_t i = 0; kernels[i]; i++) {
		struct aif_exec_row x = {.launch = l.launch,
					 .start = OPS_START + at + 10 * i,
					 .end = OPS_START + at + 10 * i + 5,
					 .clock = AIF_CLOCK_MONOTONIC,
					 .kind = *kernels[i] ? AIF_LAUNCH_KERNEL : AIF_LAUNCH_FILL,
					 .kernel =
						 *kernels[i] ? ops_kernel(f, kernels[i]) : AIF_NONE,
					 .graph = 7,
					 .node = i};

		assert_ok(aif_writer_execs(f->w, &x, 1, &err), &err);
	}
}

/* The last name of what a node of the replay at a time is in. */
static const char *node_name(const struct aif_range_index *x, int64_t at, uint32_t node)
{
	uint32_t chain = aif_range_index_node(x, aif_range_index_at(x, 0, at), 0, 7, node);

	return chain == AIF_NONE ? "" : aif_strset_get(&x->names, x->chains[chain].name, NULL);
}

static void nodes_are_of_the_commands_that_made_them(void **state)
{
	/* A kernel that serves two instructions, a library's with what it fills first, and its second kernel. */
	static const char *const kernels[] = {"fusion_1", "",          "sm90_gemm",   "sm90_sum",
					      "fusion_1", "sm90_gemm", "wrapped_add", NULL};
	struct aif_range_index x;
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t at = 1000; at < 3000; at += 1000) {
		ops_add(&f, 0, at, at + 900, AIF_OP_RANGE, "TSL:XlaModule:#hlo_module=jit_f#");
		/* All are made as the module begins; later those whose addresses changed. */
		if (at == 1000) {
			add_thunk(&f, at + 10, "fusion.1");
			add_thunk(&f, at + 20, "custom-call.1");
			add_thunk(&f, at + 30, "fusion.2");
			add_thunk(&f, at + 40, "cublas-lt-matmul.3");
			add_thunk(&f, at + 50, "wrapped_add");
		}
		ops_add(&f, 0, at + 100, at + 800, AIF_OP_RANGE,
			"TSL:Thunk:#hlo_op=command_buffer_1#");
		if (at == 2000)
			add_thunk(&f, at + 110, "wrapped_add");
		add_replay(&f, at + 200, kernels);
	}
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, NULL, NULL, &x), 0);
	for (int64_t at = 1200; at < 3000; at += 1000) {
		assert_string_equal(node_name(&x, at, 0), "fusion.1");
		assert_string_equal(node_name(&x, at, 1), "custom-call.1");
		assert_string_equal(node_name(&x, at, 2), "custom-call.1");
		assert_string_equal(node_name(&x, at, 3), "custom-call.1");
		assert_string_equal(node_name(&x, at, 4), "fusion.2");
		assert_string_equal(node_name(&x, at, 5), "cublas-lt-matmul.3");
		assert_string_equal(node_name(&x, at, 6), "wrapped_add");
		assert_string_equal(node_name(&x, at, 99), "command_buffer_1");
	}
	aif_range_index_finish(&x);
	ops_end(&f);
}

static void a_graph_of_other_kernels_has_no_names(void **state)
{
	static const char *const kernels[] = {"fusion_9", "wrapped_add", "fusion_1", "fusion_1",
					      NULL};
	struct aif_range_index x;
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 900, AIF_OP_RANGE, "TSL:Thunk:#hlo_op=command_buffer_1#");
	add_thunk(&f, 10, "fusion.1");
	add_thunk(&f, 20, "wrapped_add");
	add_replay(&f, 100, kernels);
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, NULL, NULL, &x), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(node_name(&x, 100, i), "command_buffer_1");
	aif_range_index_finish(&x);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read),
		cmocka_unit_test(source_locations_are_a_stack),
		cmocka_unit_test(hostile_texts_are_bounded),
		cmocka_unit_test(nodes_are_of_the_commands_that_made_them),
		cmocka_unit_test(a_graph_of_other_kernels_has_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
