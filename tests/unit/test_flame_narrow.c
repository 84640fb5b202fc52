/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/narrow.h"
#include "fixture_svg.h"

#include <limits.h>
#include <math.h>

/* The frames of a file as a script reads them: drawn ones and narrow ones in the tree's order. */
struct narrow_reader {
	const struct seen *s;
	const char *line; /* the next narrow frame's */
	char *names[210000];
	size_t names_len, drawn;
	unsigned since;
};

static void narrow_begin(struct narrow_reader *r, const struct seen *s)
{
	char *at = s->narrow + 1;

	*r = (struct narrow_reader){.s = s, .names_len = 1};
	for (char *end; *at != '\n'; at = end + 1) {
		end = strchr(at, '\n');
		assert_non_null(end);
		*end = 0;
		assert_true(r->names_len < AIF_ARRAY_LEN(r->names));
		r->names[r->names_len++] = at;
	}
	r->line = at + 1;
}

/* The next frame's name, without what stands behind it; NULL: *ret_frames that there is only the width of. */
static const char *narrow_next(struct narrow_reader *r, unsigned *ret_depth, double *ret_width,
			       uint64_t *ret_frames, char name[64])
{
	char *at = (char *)r->line;
	unsigned long numbers[4] = {ULONG_MAX};
	size_t number;

	for (size_t i = 0; i < 4 && *r->line; i++)
		numbers[i] = strtoul(at, &at, 10);
	if (numbers[0] != r->since) {
		const struct frame *f = &r->s->frames[r->drawn++];

		assert_true(r->drawn <= r->s->len);
		r->since++;
		*ret_depth = f->depth;
		*ret_width = f->width;
		snprintf(name, 64, "%.*s", (int)strcspn(f->title, "\n"), f->title);
		return name;
	}
	*ret_depth = (unsigned)numbers[1];
	*ret_width = (double)numbers[2];
	number = numbers[3];
	r->since = 0;
	if (!number)
		*ret_frames = strtoull(at, NULL, 10);
	r->line = strchr(r->line, '\n') + 1;
	if (!number)
		return NULL;
	assert_true(number < r->names_len);
	return strchr(r->names[number], '\t') + 1;
}

/* With what is too narrow to draw the file has the whole tree, in order. */
static void narrow_frames_are_kept_in_the_file(void **state)
{
	struct narrow_reader *r = malloc(sizeof(*r));
	struct aif_tree t;
	struct aif_flame_layout all;
	struct seen s;

	(void)state;
	random_tree(&t, 23, 20000);
	draw(&t, &(struct aif_svg_opts){.title = "T", .width = 300}, &s);
	assert_true(s.len > 100 && s.len < t.len / 4 && t.len < 40000);
	assert_int_equal(aif_flame_layout(&t, 1, SIZE_MAX, 1000, &all), 0);
	narrow_begin(r, &s);
	assert_true(r->names_len <= 8); /* each once */
	for (size_t i = 0; i < all.len; i++) {
		const struct aif_tree_node *node = &t.nodes[all.boxes[i].node];
		unsigned depth;
		double width;
		uint64_t none;
		char space[64];
		size_t len;
		const char *name = narrow_next(r, &depth, &width, &none, space);

		assert_string_equal(name, aif_tree_text(&t, node->name, &len));
		assert_int_equal(depth, all.boxes[i].depth);
		assert_true(fabs(width - 1e9 * (double)node->total / (double)t.nodes[0].total) <=
			    1);
	}
	assert_int_equal(*r->line, 0);
	assert_int_equal(r->drawn, s.len);
	aif_flame_layout_finish(&all);
	seen_finish(&s);
	aif_tree_finish(&t);
	free(r);
}

/* More than 200,000 frames that are not drawn leave only the widths of the narrowest. */
static void test_too_many_narrow(void **state)
{
	struct narrow_reader *r = malloc(sizeof(*r));
	struct aif_tree t;
	struct seen s;
	uint64_t missing = 0, frames, known = 0;
	double sum = 0, at_depth_1 = 0;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	for (unsigned i = 0; i < 250000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i % 50);
		adds(&t, adds(&t, adds(&t, 0, name, 0), i % 3 ? "a" : "b", 0),
		     &"0123456789"[i % 10], 0);
		snprintf(name, sizeof(name), "%u", i / 1000);
		adds(&t, adds(&t, adds(&t, 0, &"0123456789"[i % 10], 0), name, 0),
		     i % 7 ? "x" : "y", 0);
		snprintf(name, sizeof(name), "%u", i);
		adds(&t, 0, name, 1 + i % 5);
	}
	assert_int_equal(aif_tree_seal(&t), 0);
	draw(&t, &(struct aif_svg_opts){.title = "T"}, &s);
	narrow_begin(r, &s);
	while (*r->line || r->drawn < s.len) {
		unsigned depth;
		double width;
		char space[64];

		if (narrow_next(r, &depth, &width, &frames, space))
			known++;
		else
			missing += frames;
		if (depth == 1)
			at_depth_1 += width;
		else if (depth == 0)
			sum = width;
	}
	assert_int_equal(known, s.len + 200000);
	assert_int_equal(known + missing, 250001); /* those with a value, and the root */
	assert_true(fabs(sum - at_depth_1) < 1e-4 * sum);
	seen_finish(&s);
	aif_tree_finish(&t);
	free(r);
}

/* Width of which no frame is drawn is a hole under its caller, whole and once. */
static void width_without_frames_is_a_hole_under_its_caller(void **state)
{
	struct aif_flame_layout l;
	struct aif_flame_hole *holes;
	struct aif_tree t;
	size_t len;
	uint64_t frames = 0, min = 0;

	(void)state;
	random_tree(&t, 29, 5000);
	assert_int_equal(aif_flame_layout(&t, t.nodes[0].total / 2000, SIZE_MAX, 100, &l), 0);
	assert_int_equal(aif_flame_holes(&t, &l, 1, &holes, &len), 0);
	assert_true(len > 10);
	for (size_t i = 0; i < len; i++) {
		const struct aif_tree_node *caller = &t.nodes[holes[i].caller];
		size_t k = 0;

		while (l.boxes[k].node != holes[i].caller)
			assert_true(++k < l.len);
		assert_int_equal(holes[i].depth, l.boxes[k].depth + 1);
		assert_true(holes[i].start >= l.boxes[k].start);
		assert_true(holes[i].start + holes[i].value <= l.boxes[k].start + caller->total);
		frames += holes[i].frames;
		min = AIF_MAX(min, holes[i].value);
	}
	assert_int_equal(frames, l.left_out);
	free(holes);
	assert_int_equal(aif_flame_holes(&t, &l, min, &holes, &len), 0);
	assert_true(len >= 1);
	free(holes);
	assert_int_equal(aif_flame_holes(&t, &l, min + 1, &holes, &len), 0);
	assert_int_equal(len, 0);
	free(holes);
	aif_flame_layout_finish(&l);
	aif_tree_finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(narrow_frames_are_kept_in_the_file),
		cmocka_unit_test(test_too_many_narrow),
		cmocka_unit_test(width_without_frames_is_a_hole_under_its_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
