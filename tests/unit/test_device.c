/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle.h"
#include "export/annotate.h"
#include "export/annotate_waits.h"
#include "export/flame.h"
#include "export/palette.h"
#include "export/report.h"
#include "export/sass_text.h"
#include "export/stall_rules.h"
#include "export/stalls.h"
#include "export/summary.h"
#include "export/towers.h"
#include "symbolize/cubin_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
/* after those */
#include <cmocka.h>

#include "fixture_cubin.h"
#include "fixture_profile.h"

/*
 * The inside of NVIDIA's kernels in pictures, tables and listings: a profile as a recorder makes it from counts of
 * pc samples, of the code and the line table in tests/golden/cubin/kernels_sm90a.cubin.
 */

#define SHARED "_Z10shared_sumPfPKf"
#define CALLS  "_Z5callsPfPKfi"

struct world {
	struct aif_profile p;
	struct aif_attribution a;
	size_t rows_cap;
	struct aif_buf bytes;
	struct aif_cubin cubin;
	struct aif_cubin_lines *lines;
	uint32_t stack, shared, calls, shared_module, calls_module;
};

static uint32_t str(struct world *w, const char *s)
{
	return aif_strset_puts(&w->p.strings, s);
}

static uint32_t plain_name(struct world *w, const char *mangled)
{
	struct aif_buf b = {0};
	uint32_t id;

	aif_demangle(mangled, &b);
	id = str(w, b.len ? aif_buf_str(&b) : mangled);
	aif_buf_finish(&b);
	return id;
}

static uint32_t kernel(struct world *w, const char *mangled, uint32_t *ret_module)
{
	const struct aif_device_function *f = aif_device_elf_by_name(&w->cubin.elf, mangled);
	uint32_t id = (uint32_t)w->p.kernels_len;
	const uint8_t *code;
	uint8_t *copy;
	size_t n;

	assert_non_null(f);
	code = aif_device_elf_code(&w->cubin.elf, f, &n);
	copy = malloc(n);
	assert_non_null(copy);
	memcpy(copy, code, n);
	FIXTURE_ADD(&w->p, kernels, .name = plain_name(w, mangled), .short_name = AIF_NONE,
		    .program = AIF_NONE);
	*ret_module = (uint32_t)w->p.modules_len;
	FIXTURE_ADD(&w->p, modules, .kind = AIF_MODULE_DEVICE,
		    .path = str(w, "cubin 0011223344556677"), .build_id = AIF_NONE, .kernel = id,
		    .program = AIF_NONE);
	FIXTURE_ADD(&w->p, codes, .module = *ret_module, .name = plain_name(w, mangled),
		    .arch = str(w, "sm_90"), .address = 0, .size = n, .bytes = copy);
	return id;
}

/* An instruction of a kernel, named as the recorder does. */
static uint32_t frame(struct world *w, uint32_t module, const char *mangled, uint64_t pc)
{
	const struct aif_device_function *f = aif_device_elf_by_name(&w->cubin.elf, mangled);
	struct aif_device_level levels[AIF_DEVICE_MAX_LEVELS];
	uint32_t id = (uint32_t)w->p.frames_len;
	int n = aif_cubin_lines_resolve(w->lines, f->symbol, pc, levels, AIF_DEVICE_MAX_LEVELS);

	assert_true(n >= 0);
	FIXTURE_ADD(&w->p, frames, .kind = AIF_FRAME_DEVICE, .module = module, .address = pc);
	for (int i = 0; i < n; i++)
		FIXTURE_ADD(&w->p, frame_names, .frame = id, .inline_depth = (uint32_t)i,
			    .name = levels[i].name ? plain_name(w, levels[i].name) : AIF_NONE,
			    .file = levels[i].file ? str(w, levels[i].file) : AIF_NONE,
			    .line = levels[i].line);
	return id;
}

static void row(struct world *w, uint32_t k, uint32_t f, const char *reason, uint64_t samples)
{
	assert_int_equal(aif_grow(&w->a.rows, &w->rows_cap, w->a.rows_len + 1, sizeof(*w->a.rows)),
			 0);
	w->a.rows[w->a.rows_len++] =
		(struct aif_attribution_row){.kernel = k,
					     .stack = w->stack,
					     .frame = f,
					     .reason = reason ? str(w, reason) : AIF_NONE,
					     .wall_ns = samples * 1000,
					     .time_ns = samples * 1000,
					     .samples = samples};
	w->a.conservation.busy_ns += samples * 1000;
}

static void world_init(struct world *w)
{
	*w = (struct world){0};
	golden_cubin("kernels_sm90a", &w->bytes);
	assert_int_equal(aif_cubin_init(&w->cubin, w->bytes.data, w->bytes.len), 0);
	assert_int_equal(aif_cubin_lines_new(&w->cubin, &w->lines), 0);
	w->p.end_ns = 1000000;
	FIXTURE_ADD(&w->p, modules, .kind = AIF_MODULE_ELF, .path = str(w, "/bin/app"),
		    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	FIXTURE_ADD(&w->p, frames, .kind = AIF_FRAME_NATIVE, .module = 0, .address = 1);
	FIXTURE_ADD(&w->p, frame_names, .frame = 0, .name = str(w, "main"), .file = AIF_NONE);
	FIXTURE_ADD(&w->p, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1);
	w->shared = kernel(w, SHARED, &w->shared_module);
	w->calls = kernel(w, CALLS, &w->calls_module);
}

/* The FMULs of shared_sum wait for loads, its barrier for other warps; calls is mostly in apart(). */
static void samples(struct world *w)
{
	uint32_t at;

	at = frame(w, w->shared_module, SHARED, 0x140);
	row(w, w->shared, at, "long_scoreboard_not_issued", 300);
	row(w, w->shared, at, "long_scoreboard", 100);
	row(w, w->shared, at, "selected", 20);
	at = frame(w, w->shared_module, SHARED, 0xf0);
	row(w, w->shared, at, "barrier_not_issued", 200);
	at = frame(w, w->shared_module, SHARED, 0x160);
	row(w, w->shared, at, "short_scoreboard", 80);
	row(w, w->shared, at, "wait", 20);
	row(w, w->shared, frame(w, w->shared_module, SHARED, 0x10), "selected", 1);
	w->a.rows[0].launches = 7;
}

static void world_finish(struct world *w)
{
	aif_cubin_lines_free(w->lines);
	aif_cubin_finish(&w->cubin);
	aif_buf_finish(&w->bytes);
	free(w->a.rows);
	aif_profile_finish(&w->p);
}

/* ---- pictures ---- */

static char *folded(const struct world *w, const struct aif_flame_opts *o)
{
	struct aif_tree t;
	struct aif_err err = {0};
	char name[] = "/tmp/test_device.XXXXXX", *text = calloc(1, 10000);
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	close(fd);
	assert_ok(aif_towers_build(&w->p, &w->a, o, &t, &err), &err);
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

static char *annotate(const struct world *w, struct aif_annotate_opts o)
{
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	if (!o.kernel)
		o.kernel = ".";
	assert_ok(aif_annotate_write(&w->p, &w->a, &o, &out, &err), &err);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	return text;
}

#define INNER "main;shared_sum_[g];middle_[g]_[i];inner_[g]_[i];kernels.cu:13_[g]"

static void test_towers(void **state)
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
static void test_called_function(void **state)
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

static void test_tooltip(void **state)
{
	struct world w;
	struct aif_tree t;
	struct aif_err err = {0};
	struct aif_flame_opts o = {.leaf = AIF_LEAF_STALL, .by = AIF_BY_SAMPLES};
	size_t len, found = 0;

	(void)state;
	world_init(&w);
	samples(&w);
	assert_ok(aif_towers_build(&w.p, &w.a, &o, &t, &err), &err);
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

static void test_rules(void **state)
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

	o.kind = AIF_REPORT_STALLS;
	o.detail = AIF_NAME_NORMAL;
	assert_ok(aif_report_write(&w->p, &w->a, &o, &out, &err), &err);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	return text;
}

static void test_stalls(void **state)
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
	aif_summary_write(&w.p, &w.a, "p", &top);
	assert_non_null(strstr(aif_buf_str(&top), "main, waits: long_scoreboard 55.5 %\n"));
	assert_non_null(strstr(aif_buf_str(&top),
			       "aiflame report --stalls p, aiflame annotate shared_sum p, "));
	/* none known */
	for (size_t i = 0; i < w.a.rows_len; i++)
		w.a.rows[i].reason = AIF_NONE;
	assert_int_equal(aif_report_write(&w.p, &w.a,
					  &(struct aif_report_opts){.kind = AIF_REPORT_STALLS},
					  &out, &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "in this profile"));
	/* or taken away by what chooses a part */
	assert_int_equal(
		aif_report_write(&w.p, &w.a,
				 &(struct aif_report_opts){
					 .kind = AIF_REPORT_STALLS,
					 .which = &(struct aif_attribution_opts){.to_ns = 1}},
				 &out, &err),
		-ENODATA);
	assert_non_null(strstr(err.text, "no stall reasons in what --time, "));
	aif_buf_finish(&top);
	aif_buf_finish(&out);
	world_finish(&w);
}

/* The picture's legend has the report's words. */
static void test_legend(void **state)
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

/* ---- listings ---- */

static void golden_listing(void *arg, const struct aif_code *code, const char *arch,
			   struct aif_buf *ret)
{
	char path[4096];
	FILE *f;

	(void)arg;
	assert_string_equal(arch, "sm_90");
	if (code->size != 640)
		return;
	snprintf(path, sizeof(path), "%s/cubin/shared_sum_sm90a.nvdisasm", GOLDEN);
	f = fopen(path, "r");
	assert_non_null(f);
	ret->len += fread(aif_buf_reserve(ret, 100000), 1, 100000, f);
	fclose(f);
}

#define LONG_OPERANDS "R9, R9, 3.000000000000000000000, R10.reuse, P0.and.not.P1.and.P2"
/* The same with an instruction that is too long for a terminal. */
static void long_listing(void *arg, const struct aif_code *code, const char *arch,
			 struct aif_buf *ret)
{
	static const char was[] = "R9, R9, 3 ";
	struct aif_buf golden = {0};
	const char *at;

	golden_listing(arg, code, arch, &golden);
	at = golden.len ? strstr(aif_buf_str(&golden), was) : NULL;
	if (at)
		aif_buf_printf(ret, "%.*s" LONG_OPERANDS " %s",
			       (int)(at - (const char *)golden.data), (const char *)golden.data,
			       at + strlen(was));
	aif_buf_finish(&golden);
}

/* The longest line, in bytes. */
static size_t widest_line(const char *text)
{
	size_t widest = 0;

	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		widest = AIF_MAX(widest, n);
	}
	return widest;
}

/* Cut for a terminal only, and only as far as that is narrow. */
static void test_annotate_columns(void **state)
{
	struct world w;
	char *text, *at;

	(void)state;
	world_init(&w);
	samples(&w);
	text = annotate(&w, (struct aif_annotate_opts){.disassemble = long_listing});
	assert_non_null(strstr(text, "FMUL " LONG_OPERANDS "  long_scoreboard 95 %"));
	/* The others' reasons are not pushed away by it. */
	at = strstr(text, "+0x00f0  LDG");
	assert_non_null(at);
	assert_in_range(strstr(at, "barrier") - at, 20, 80);
	free(text);
	text = annotate(&w,
			(struct aif_annotate_opts){.disassemble = long_listing, .columns = 200});
	assert_non_null(strstr(text, "FMUL " LONG_OPERANDS "  long_scoreboard 95 %"));
	free(text);
	text = annotate(&w,
			(struct aif_annotate_opts){.disassemble = long_listing, .columns = 120});
	assert_null(strstr(text, LONG_OPERANDS));
	assert_non_null(strstr(text, "FMUL R9, R9, 3.00000000000000000000"));
	assert_true(widest_line(text) <= 124); /* a cut is three bytes */
	free(text);
	text = annotate(&w, (struct aif_annotate_opts){.disassemble = long_listing, .columns = 20});
	assert_non_null(strstr(text, "FMUL R9, R9, 3.0000"));
	free(text);
	world_finish(&w);
}

/* Two instructions by what control bits say: the first sets scoreboard 0, the second waits for it. */
static void put_sass(uint8_t *to, uint64_t opcode, uint64_t control)
{
	const uint64_t words[2] = {opcode, control << 41};

	memcpy(to, words, sizeof(words));
}

/* So matrix products of Hopper's wait for what is copied meanwhile: they try an mbarrier, and sleep a little. */
static void test_waits_for_an_mbarrier(void **state)
{
	enum { SYNCS = 0x5b2, NOP = 0x918, NO_SCOREBOARDS = 7 << 5 | 7 << 8 };
	struct aif_waits_code c;
	struct aif_waits waits;
	struct aif_hit hit = {.offset = 16, .samples = 100};
	struct aif_code code;
	uint8_t bytes[32];
	struct world w;

	(void)state;
	world_init(&w);
	put_sass(bytes, SYNCS, 0 << 5 | 7 << 8);
	put_sass(bytes + 16, NOP, NO_SCOREBOARDS | 1 << 11);
	code = (struct aif_code){.bytes = bytes, .size = sizeof(bytes), .arch = str(&w, "sm_90a")};
	hit.reason = str(&w, "long_scoreboard");
	assert_int_equal(aif_waits_code_init(&c, &w.p, &code), 0);
	aif_waits_find(&w.p, &hit, 1, &c, 16, &waits);
	assert_int_equal(waits.sources_len, 1);
	assert_int_equal(waits.sources[0], 0);
	assert_string_equal(waits.names[0], "SYNCS");
	aif_waits_code_finish(&c);
	world_finish(&w);
}

static void test_annotate(void **state)
{
	struct world w;
	char *text;

	(void)state;
	world_init(&w);
	samples(&w);
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_string_equal(
		text,
		"shared_sum(float*, float const*)\n"
		"100.0 % of busy time: 721 us in 7 launches; 721 samples\n"
		"stalls: long_scoreboard 55 % (42 % exposed), barrier 28 % (28 % exposed), "
		"short_scoreboard 11 %\n"
		"\n"
		"shared_sum: 100.0 % of its samples; sm_90, 640 bytes\n"
		"\n"
		" 86.0 %  #####   kernels.cu:13 (inner)\n"
		" 13.9 %  #       kernels.cu:45\n"
		"\n"
		" 0.14 %          ...      14 instructions\n"
		"                 +0x00e0  BAR\n"
		"kernels.cu:13 (inner)\n"
		" 27.7 %  ##      +0x00f0  LDG          barrier 100 % waits for +0x00e0 BAR\n"
		"                 +0x0100  LDG\n"
		"                 ...      2 instructions\n"
		"                 +0x0130  LDS\n"
		" 58.3 %  ###     +0x0140  FMUL         long_scoreboard 95 % waits for +0x00f0 LDG\n"
		"                 +0x0150  FFMA\n"
		"kernels.cu:45\n"
		" 13.9 %  #       +0x0160  FADD         short_scoreboard 80 % waits for +0x0130 LDS\n"
		"                 +0x0170  STG\n"
		"                 ...      16 instructions\n");
	free(text);
	/* In full, with all that a disassembler knows. */
	text = annotate(&w, (struct aif_annotate_opts){.disassemble = golden_listing});
	assert_non_null(strstr(text, "  +0x0050  LDG.E R0, desc[UR6][R2.64]\n"));
	assert_non_null(
		strstr(text, "+0x0140  FMUL R9, R9, 3                   long_scoreboard 95 %"));
	assert_non_null(strstr(text, "  +0x0270  NOP\n"));
	assert_null(strstr(text, "..."));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 104);
	free(text);
	world_finish(&w);
}

static void test_annotate_odd(void **state)
{
	struct world w;
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;
	uint32_t stray;

	(void)state;
	world_init(&w);
	samples(&w);
	/* calls: hotter, no code of it; a sample outside of all code; a called function's module. */
	row(&w, w.calls, frame(&w, w.calls_module, CALLS, 0x20), "wait", 2000);
	stray = frame(&w, w.shared_module, SHARED, 0x10);
	w.p.frames[stray].address = UINT64_MAX;
	row(&w, w.shared, stray, "misc", 279);
	free((void *)(uintptr_t)w.p.codes[1].bytes);
	w.p.codes[1].bytes = NULL;
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_ptr_equal(strstr(text, "calls(float*, float const*, int)\n"), text);
	assert_non_null(strstr(text, "its code is not in the profile\n"));
	assert_non_null(strstr(text, "100.0 %  ######  +0x0020               wait 100 %\n"));
	assert_non_null(strstr(text, "\n\n\nshared_sum("));
	assert_non_null(strstr(text, "\nshared_sum: 27.9 % of its samples; its "
				     "code is not in the profile\n"));
	free(text);
	/* An instruction set that is not known here. */
	w.p.codes[0].arch = str(&w, "gfx90a");
	text = annotate(&w, (struct aif_annotate_opts){.kernel = "^shared"});
	assert_non_null(strstr(text, "; which nothing here disassembles\n"));
	assert_non_null(strstr(text, "+0x0140"));
	free(text);
	assert_int_equal(aif_annotate_write(&w.p, &w.a,
					    &(struct aif_annotate_opts){.kernel = "nothing"}, &out,
					    &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "matches 'nothing'; one is 'calls(float*"));
	assert_int_equal(aif_annotate_write(&w.p, &w.a, &(struct aif_annotate_opts){.kernel = "("},
					    &out, &err),
			 -EINVAL);
	aif_buf_finish(&out);
	world_finish(&w);
}

/* The text of lines comes from the program that the line table means. */
static void test_annotate_source(void **state)
{
	struct world w;
	char *text;

	(void)state;
	world_init(&w);
	samples(&w);
	FIXTURE_ADD(&w.p, programs, .process = AIF_NONE, .options = AIF_NONE,
		    .source = str(&w, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n\tthe line\r\n14\n"),
		    .source_name = str(&w, "/src/aiflame/kernels.cu"));
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_non_null(strstr(text, "kernels.cu:13 (inner)      the line\n"));
	assert_non_null(strstr(text, "kernels.cu:45\n")); /* behind its end */
	free(text);
	world_finish(&w);
}

static void test_listing(void **state)
{
	static const char text[] = "\t.headerflags\t@\"x\"\n"
				   "        /*0000*/                   LDC R1, c[0x0][0x28] ;\r\n"
				   "   /*0010*/  @!P0 EXIT;\n"
				   "/*0018*/ ODD ;\n/*0020*/ ;\n/*0040*/ BEHIND ;\n"
				   "/*fffffffffffffffff0*/ FAR ;\n/*0030*/ NOP";
	struct aif_sass_line lines[4];
	char *copy;

	(void)state;
	assert_int_equal(aif_sass_listing(text, sizeof(text) - 1, 16, lines, 4), 3);
	assert_int_equal(lines[0].len, strlen("LDC R1, c[0x0][0x28]"));
	assert_memory_equal(lines[0].text, "LDC R1, c[0x0][0x28]", lines[0].len);
	assert_int_equal(lines[1].len, strlen("@!P0 EXIT"));
	assert_null(lines[2].text);
	assert_memory_equal(lines[3].text, "NOP", 3);
	/* Cut anywhere, with nothing behind it. */
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		copy = malloc(AIF_MAX(n, 1));
		memcpy(copy, text, n);
		aif_sass_listing(copy, n, 16, lines, 4);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_towers),
		cmocka_unit_test(test_inside_of_instruction),
		cmocka_unit_test(test_called_function),
		cmocka_unit_test(test_tooltip),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_legend),
		cmocka_unit_test(test_annotate),
		cmocka_unit_test(test_waits_for_an_mbarrier),
		cmocka_unit_test(test_annotate_columns),
		cmocka_unit_test(test_annotate_odd),
		cmocka_unit_test(test_annotate_source),
		cmocka_unit_test(test_listing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
