/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/layout.h"
#include "analysis/attribution.h"
#include "base/glob.h"
#include "flame/palette.h"
#include "text/svg_text.h"
#include "fixture_svg.h"

#include <math.h>

static void boxes_have_title_label_and_width(void **state)
{
	struct aif_svg_opts o = {.title = "T", .subtitle = "S", .unit = "samples"};
	struct aif_tree t;
	struct seen s;
	uint32_t main_node;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	main_node = adds(&t, 0, "main", 10);
	adds(&t, main_node, "b", 60);
	adds(&t, main_node, "a", 30);
	assert_int_equal(aif_tree_seal(&t), 0);
	for (int inverted = 0; inverted < 2; inverted++) {
		o.inverted = inverted;
		draw(&t, &o, &s);
		assert_string_equal(s.document_title, "T");
		assert_int_equal(s.len, 4);
		assert_string_equal(s.frames[0].title, "all\n100 samples \u00b7 100.00 % of all");
		assert_string_equal(s.frames[1].label, "main");
		assert_string_equal(s.frames[2].title,
				    "a\n30 samples \u00b7 30.00 % of all \u00b7 30.00 % of its "
				    "caller\nC");
		assert_true(s.frames[3].start == 3e8 && s.frames[3].width == 6e8);
		/* children beside each other, inside their caller, one row away */
		assert_true(fabs(s.frames[2].x - s.frames[1].x) < 0.01);
		assert_true(s.frames[2].x + s.frames[2].w <= s.frames[3].x);
		assert_true(s.frames[3].x + s.frames[3].w < s.frames[1].x + s.frames[1].w);
		assert_true(fabs(s.frames[3].w / s.frames[2].w - 2) < 0.01);
		assert_true(s.frames[2].y == s.frames[3].y);
		assert_true(s.frames[1].y - s.frames[2].y == (inverted ? -18 : 18));
		assert_true(s.frames[0].w > s.width - 30);
		seen_finish(&s);
	}
	aif_tree_finish(&t);
}

static void the_same_tree_gives_the_same_bytes(void **state)
{
	struct aif_svg_opts o = {.title = "T"};
	size_t len[2];
	char *text[2];

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		struct aif_tree t;

		assert_int_equal(aif_tree_init(&t, false), 0);
		for (int i = 0; i < 100; i++) {
			char name[8];

			snprintf(name, sizeof(name), "f%d", turn ? 99 - i : i);
			adds(&t, adds(&t, 0, name, 3), "g", 5);
		}
		assert_int_equal(aif_tree_seal(&t), 0);
		text[turn] = draw_text(&t, &o, &len[turn]);
		aif_tree_finish(&t);
	}
	assert_int_equal(len[0], len[1]);
	assert_memory_equal(text[0], text[1], len[0]);
	free(text[0]);
	free(text[1]);
}

static void hostile_names_are_escaped(void **state)
{
	static const char *const names[] = {
		"<&>\"'",
		"]]>",
		"--><!--",
		"</title></svg>",
		"&#0;",
		"a\nb\tc\r",
		"\x01\x02\x1f\x7f",
		"\xff\xfe\x80",
		"\xc0\x80",
		"\xed\xa0\x80",
		"\xf5\x80\x80\x80",
		"\xe2\x80\xae"
		"evil",
		"\xef\xbf\xbf",
		"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
		"",
		"\xf0\x9f",
		"<script>alert(1)</script>",
	};
	struct aif_tree t;
	struct seen s;
	char *longest = calloc(1, 20001);

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		adds(&t, 0, names[i], 10);
	/* and too narrow to draw */
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		adds(&t, adds(&t, 0, "wide", 2000), names[i], 1);
	add(&t, 0, "nul\0nul", 7, 10);
	memset(longest, '<', 20000);
	add(&t, 0, longest, 20000, 10);
	assert_int_equal(aif_tree_seal(&t), 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		struct aif_svg_opts o = {.title = names[i], .subtitle = names[i], .unit = names[i]};

		draw(&t, &o, &s);
		assert_int_equal(s.len, t.len - AIF_ARRAY_LEN(names));
		assert_non_null(s.narrow);
		seen_finish(&s);
	}
	draw(&t, &(struct aif_svg_opts){.title = longest, .unit = "x"}, &s);
	for (size_t i = 1; i < s.len; i++) {
		/* what stands in the file reads as the name did */
		if (!strncmp(s.frames[i].title, "<script>", 8))
			assert_non_null(strstr(s.frames[i].title, "alert(1)</script>\n10 x"));
		assert_true(strlen(s.frames[i].title) < 4000);
	}
	seen_finish(&s);
	free(longest);
	aif_tree_finish(&t);
}

/* Labels are fitted by columns: none is wider than its frame, and none is cut without need. */
static void labels_fit_into_their_frames(void **state)
{
	static const char long_name[] =
		"a_function_with_a_name_of_fifty_eight_letters_in_this_test";
	struct aif_tree t;
	struct seen s;
	unsigned cut = 0, whole = 0;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	for (unsigned i = 1; i <= 40; i++)
		adds(&t, adds(&t, 0, "x", 0), long_name + i, i * i);
	assert_int_equal(aif_tree_seal(&t), 0);
	draw(&t, &(struct aif_svg_opts){.title = "T"}, &s);
	for (size_t i = 0; i < s.len; i++) {
		const struct frame *f = &s.frames[i];
		size_t name_len = strcspn(f->title, "\n"), room = (size_t)((f->w - 5.5) / 7.24);
		size_t len = 0;

		if (!f->label) {
			assert_true(f->w < 6 + 3 * 7.24);
			continue;
		}
		for (const char *c = f->label; *c; c++)
			len += (*c & 0xc0) != 0x80;
		assert_true((double)len * 7.24 + 5 <= f->w);
		if (strstr(f->label, "\u2026")) {
			assert_true(name_len > room);
			cut++;
		} else {
			assert_int_equal(len, name_len);
			whole++;
		}
	}
	assert_true(cut > 5 && whole > 0);
	seen_finish(&s);
	aif_tree_finish(&t);
}

static void values_have_their_unit(void **state)
{
	struct aif_tree t;
	struct seen s;
	uint32_t n;

	(void)state;
	assert_int_equal(aif_tree_init(&t, true), 0);
	n = aif_tree_child(&t, 0, aif_tree_name(&t, AIF_TREE_KERNEL, "gemm", 4));
	t.nodes[n].self = 12345678;
	t.details[n] = (struct aif_tree_detail){
		.time_ns = 20000000,
		.samples = 12,
		.launches = 1,
		.bytes = 3 << 20,
		.grades = 1,
		.full = aif_strset_puts(&t.full, "void gemm<4>(float*)"),
	};
	assert_int_equal(aif_tree_seal(&t), 0);
	draw(&t, &(struct aif_svg_opts){.title = "T"}, &s);
	assert_string_equal(
		s.frames[1].title,
		"gemm\nvoid gemm<4>(float*)\n12.3 ms \u00b7 100.00 % of all \u00b7 100.00 "
		"% of its caller\n20.0 ms of durations \u00b7 12 samples \u00b7 1 launch "
		"\u00b7 3.0 MiB\ndevice kernel \u00b7 exact");
	assert_int_equal(s.frames[1].names, 2);
	seen_finish(&s);
	aif_tree_finish(&t);
}

/* Executions are measured; where a kernel was is a share of its samples. */
static void tooltips_say_measured_or_sampled(void **state)
{
	static const struct {
		enum aif_tree_type type;
		uint32_t grades;
		const char *told;
	} cases[] = {
		{AIF_TREE_KERNEL, 1 << AIF_GRADE_EXACT, "device kernel \u00b7 exact"},
		{AIF_TREE_KERNEL, 1 << AIF_GRADE_APPORTIONED, "device kernel \u00b7 exact"},
		{AIF_TREE_KERNEL, 1 << AIF_GRADE_SAMPLED, "device kernel \u00b7 sampled"},
		{AIF_TREE_INSTRUCTION, 1 << AIF_GRADE_EXACT, "instruction \u00b7 by samples"},
		{AIF_TREE_LINE, 1 << AIF_GRADE_EXACT | 1 << AIF_GRADE_APPORTIONED,
		 "source line \u00b7 by samples, apportioned"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_tree t;
		struct seen s;
		uint32_t n;

		assert_int_equal(aif_tree_init(&t, true), 0);
		n = aif_tree_child(&t, 0, aif_tree_name(&t, cases[i].type, "x", 1));
		t.nodes[n].self = 10;
		t.details[n] =
			(struct aif_tree_detail){.grades = cases[i].grades, .full = AIF_STR_NONE};
		assert_int_equal(aif_tree_seal(&t), 0);
		draw(&t, &(struct aif_svg_opts){.title = "T"}, &s);
		assert_string_equal(strrchr(s.frames[1].title, '\n') + 1, cases[i].told);
		seen_finish(&s);
		aif_tree_finish(&t);
	}
}

/* A subtitle that there is no room for is in the tooltip, and in wider windows. */
static void a_long_subtitle_is_in_the_tooltip(void **state)
{
	struct aif_svg_opts o = {.title = "T", .width = 300};
	struct aif_tree t;
	struct seen s;
	char text[501];

	(void)state;
	memset(text, 'x', 500);
	text[500] = 0;
	o.subtitle = text;
	assert_int_equal(aif_tree_init(&t, false), 0);
	adds(&t, 0, "main", 10);
	assert_int_equal(aif_tree_seal(&t), 0);
	draw(&t, &o, &s);
	assert_string_equal(s.subtitle_title, text);
	seen_finish(&s);
	aif_tree_finish(&t);
}

/* The quality stands behind a short subtitle on its line, and behind a long one on its own. */
static void the_quality_stands_where_the_subtitle_leaves_room(void **state)
{
	static const struct {
		uint32_t width;
		const char *lines, *tooltip;
	} cases[] = {
		{300, ">a long path of a trace, somewhere indeed</text>",
		 "somewhere indeed\nall joined</title>"},
		{300, ">all joined</text>", "<text id=\"quality\""},
		{900, "somewhere indeed; all joined</text>",
		 "somewhere indeed; all joined</title>"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_svg_opts o = {.title = "T",
					 .subtitle = "a long path of a trace, somewhere indeed",
					 .quality = "all joined",
					 .width = cases[i].width};
		struct aif_tree t;
		size_t len;
		char *text;

		assert_int_equal(aif_tree_init(&t, false), 0);
		adds(&t, 0, "main", 10);
		assert_int_equal(aif_tree_seal(&t), 0);
		text = draw_text(&t, &o, &len);
		if (!strstr(text, cases[i].lines) || !strstr(text, cases[i].tooltip))
			fail_msg("case %zu: %s", i, strstr(text, "told"));
		assert_int_equal(strstr(text, "id=\"quality\"") != NULL, cases[i].width == 300);
		free(text);
		aif_tree_finish(&t);
	}
}

static void an_empty_tree_is_drawn_without_frames(void **state)
{
	struct aif_tree t;
	struct seen s;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	assert_int_equal(aif_tree_seal(&t), 0);
	draw(&t, &(struct aif_svg_opts){0}, &s);
	assert_int_equal(s.len, 0);
	seen_finish(&s);
	aif_tree_finish(&t);
}

/* ---- layout -------------------------------------------------------------------------------------- */

static void check_layout(const struct aif_tree *t, const struct aif_flame_layout *l,
			 uint64_t min_value)
{
	uint8_t *drawn = calloc(t->len, 1);
	uint64_t *start = calloc(t->len, sizeof(*start));

	for (size_t i = 0; i < l->len; i++) {
		const struct aif_flame_box *b = &l->boxes[i];
		const struct aif_tree_node *node = &t->nodes[b->node];

		assert_true(node->total >= min_value);
		drawn[b->node] = 1;
		start[b->node] = b->start;
		if (!b->node)
			continue;
		assert_true(drawn[node->parent]);
		assert_true(b->start >= start[node->parent]);
		assert_true(b->start + node->total <=
			    start[node->parent] + t->nodes[node->parent].total);
		/* siblings in order do not overlap */
		for (uint32_t k = t->nodes[node->parent].first; k != b->node; k = t->nodes[k].next)
			if (drawn[k])
				assert_true(start[k] + t->nodes[k].total <= b->start);
	}
	free(drawn);
	free(start);
}

static void layouts_keep_the_widest_frames(void **state)
{
	struct aif_tree t;
	struct aif_flame_layout all, l;

	(void)state;
	random_tree(&t, 5, 3000);
	assert_int_equal(aif_flame_layout(&t, 1, SIZE_MAX, 100, &all), 0);
	assert_int_equal(all.len + all.left_out, t.len);
	assert_int_equal(all.left_out, 0);
	check_layout(&t, &all, 1);
	for (size_t max = 1; max < all.len; max += 97) {
		assert_int_equal(aif_flame_layout(&t, 1, max, 100, &l), 0);
		assert_int_equal(l.len, max);
		assert_int_equal(l.left_out, all.len - max);
		check_layout(&t, &l, 1);
		aif_flame_layout_finish(&l);
	}
	for (uint64_t min = 1; min < 200000; min *= 3) {
		assert_int_equal(aif_flame_layout(&t, min, SIZE_MAX, 100, &l), 0);
		check_layout(&t, &l, min);
		for (size_t i = 0, wide = 0; i <= t.len; i++) {
			if (i == t.len)
				assert_int_equal(l.len, wide);
			else
				wide += t.nodes[i].total >= min;
		}
		aif_flame_layout_finish(&l);
	}
	assert_int_equal(aif_flame_layout(&t, 1, SIZE_MAX, 3, &l), 0);
	assert_int_equal(l.depth, 3);
	/* Wide frames that are too deep leave their room to others. */
	for (size_t max = 1, shallow = l.len; max < shallow + 2; max += 1 + shallow / 5) {
		aif_flame_layout_finish(&l);
		assert_int_equal(aif_flame_layout(&t, 1, max, 3, &l), 0);
		assert_int_equal(l.len, AIF_MIN(max, shallow));
		check_layout(&t, &l, 1);
	}
	aif_flame_layout_finish(&l);
	aif_flame_layout_finish(&all);
	aif_tree_finish(&t);
}

/* All frames of one width: the limit still leaves a picture, callers first. */
static void test_layout_of_equals(void **state)
{
	struct aif_tree t;
	struct aif_flame_layout l;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	for (unsigned i = 0; i < 100; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%u", i);
		adds(&t, adds(&t, adds(&t, 0, name, 0), "x", 0), "y", 1);
	}
	assert_int_equal(aif_tree_seal(&t), 0);
	assert_int_equal(aif_flame_layout(&t, 1, 150, 100, &l), 0);
	assert_int_equal(l.len, 150);
	check_layout(&t, &l, 1);
	aif_flame_layout_finish(&l);
	aif_tree_finish(&t);
}

/* 100,000 deep: drawn as far as the limit, without recursion. */
static void deep_trees_are_drawn_to_the_limit(void **state)
{
	struct aif_tree t;
	struct seen s;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	for (unsigned i = 0; i < 100000; i++)
		n = adds(&t, n, "f", 0);
	t.nodes[n].self = 7;
	assert_int_equal(aif_tree_seal(&t), 0);
	draw(&t, &(struct aif_svg_opts){.title = "T"}, &s);
	assert_int_equal(s.len, 1000);
	assert_true(s.height < 20000);
	seen_finish(&s);
	aif_tree_finish(&t);
}

static void test_at_most_ten_thousand(void **state)
{
	struct aif_tree t;
	struct seen s;

	(void)state;
	random_tree(&t, 17, 60000);
	assert_true(t.len > 30000);
	/* Wide enough that width alone would draw more. */
	draw(&t, &(struct aif_svg_opts){.title = "T", .width = 60000}, &s);
	assert_int_equal(s.len, 10000);
	seen_finish(&s);
	aif_tree_finish(&t);
}

/* ---- text and colours ---------------------------------------------------------------------------- */

static void check_text(const char *in, size_t max, const char *out)
{
	struct aif_buf b = {0};

	aif_svg_text(&b, in, strlen(in), max);
	assert_string_equal(aif_buf_str(&b), out);
	aif_buf_finish(&b);
}

static void texts_are_cut_by_columns(void **state)
{
	(void)state;
	check_text("abcdef", 6, "abcdef");
	check_text("abcdef", 5, "abcd\u2026");
	check_text("abcdef", 1, "\u2026");
	check_text("abcdef", 0, "");
	check_text("<&>", 3, "&lt;&amp;&gt;");
	check_text("<&>", 2, "&lt;\u2026");
	check_text("\u65e5\u672c\u8a9e", 6, "\u65e5\u672c\u8a9e");
	check_text("\u65e5\u672c\u8a9e", 5, "\u65e5\u672c\u2026");
	check_text("\u65e5\u672c\u8a9e", 4, "\u65e5\u2026");
	check_text("e\u0301te\u0301", 3, "e\u0301te\u0301"); /* combining marks take no room */
	check_text("\xff", 3, "\ufffd");
}

static double luminance(const uint8_t rgb[3])
{
	static const double weight[] = {0.2126, 0.7152, 0.0722};
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		double c = rgb[i] / 255.0;

		sum += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static void colours_differ_and_text_is_legible(void **state)
{
	const struct aif_palette_colour *colours;
	size_t len;

	(void)state;
	colours = aif_palette(&len);
	for (size_t i = 0; i < len; i++) {
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(colours[i].letter, colours[k].letter);
			assert_string_not_equal(colours[i].name, colours[k].name);
		}
		for (unsigned shade = 0; shade < AIF_PALETTE_SHADES; shade++) {
			uint8_t rgb[3];

			aif_palette_rgb(&colours[i], shade, rgb);
			/* black text is legible on it (WCAG AA) */
			assert_true((luminance(rgb) + 0.05) / 0.05 >= 4.5);
		}
	}
	assert_string_equal(colours[aif_palette_of(AIF_TREE_STALL, "long_scoreboard", 15)].name,
			    "memory stall");
	assert_string_equal(colours[aif_palette_of(AIF_TREE_STALL, "barrier", 7)].name,
			    "sync stall");
	assert_string_equal(colours[aif_palette_of(AIF_TREE_STALL, "?", 1)].name, "other stall");
	assert_string_equal(colours[aif_palette_of(AIF_TREE_C | AIF_TREE_INLINED, "f", 1)].name,
			    "C");
	assert_string_equal(colours[aif_palette_of(AIF_TREE_SYNTHETIC, "[idle: wait]", 12)].name,
			    "idle: wait");
	assert_string_equal(
		colours[aif_palette_of(AIF_TREE_SYNTHETIC, "[idle before it: host]", 22)].name,
		"idle: host, launch");
	assert_string_equal(colours[aif_palette_of(AIF_TREE_SYNTHETIC, "[idle: ?]", 9)].name,
			    "note");
}

static void patterns_match_as_globs(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool is_match;
		const char *first;
	} cases[] = {
		{"abc", "abc", true, ""},
		{"abc", "abcd", false, ""},
		{"abc", "ab", false, ""},
		{"*", "", true, ""},
		{"*", "abc", true, "abc"},
		{"a*c", "abbc", true, "bb"},
		{"a*c", "abcbc", true, "bcb"},
		{"a*b*", "axbxb", true, "x"},
		{"a*c", "ab", false, ""},
		{"*a*a*a*b", "aaaaaaaaaaaaaaaa", false, ""},
		{"cl[A-Z]*", "close", false, ""},
		{"cl[A-Z]*", "clFlush", true, "lush"},
		{"a?c", "abc", true, ""},
		{"[[]x*", "[xy]", true, "y]"},
		{"at::_ops::*::call(*", "at::_ops::mm::call(int)", true, "mm"},
		{"", "", true, ""},
		{"", "a", false, ""},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const char *text = cases[i].text;
		struct aif_glob_part first = {0};

		assert_int_equal(aif_glob(cases[i].pattern, text, strlen(text), &first),
				 cases[i].is_match);
		if (!cases[i].is_match)
			continue;
		assert_int_equal(first.len, strlen(cases[i].first));
		assert_memory_equal(text + first.at, cases[i].first, first.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boxes_have_title_label_and_width),
		cmocka_unit_test(the_same_tree_gives_the_same_bytes),
		cmocka_unit_test(hostile_names_are_escaped),
		cmocka_unit_test(labels_fit_into_their_frames),
		cmocka_unit_test(values_have_their_unit),
		cmocka_unit_test(an_empty_tree_is_drawn_without_frames),
		cmocka_unit_test(tooltips_say_measured_or_sampled),
		cmocka_unit_test(a_long_subtitle_is_in_the_tooltip),
		cmocka_unit_test(the_quality_stands_where_the_subtitle_leaves_room),
		cmocka_unit_test(layouts_keep_the_widest_frames),
		cmocka_unit_test(test_layout_of_equals),
		cmocka_unit_test(deep_trees_are_drawn_to_the_limit),
		cmocka_unit_test(test_at_most_ten_thousand),
		cmocka_unit_test(texts_are_cut_by_columns),
		cmocka_unit_test(colours_differ_and_text_is_legible),
		cmocka_unit_test(patterns_match_as_globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
