/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are cut to fit: how wide, and that what differs stays different. */
#include "text/elide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void one_alone_loses_its_middle(void **state)
{
	static const struct {
		size_t width;
		const char *text, *cut;
	} cases[] = {
		{26, "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"},
		{25, "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop\u2026stuvwxyz"},
		{10, "abcdefghijklmnopqrstuvwxyz", "abcdef\u2026xyz"},
		{0, "abcdefghijklmnopqrstuvwxyz", "abcde\u2026yz"}, /* narrower makes no sense */
		{10, "äöüäöüäöüä", "äöüäöüäöüä"},                   /* characters, not bytes */
		{10, "äöüäöüäöüäö", "äöüäöü\u2026üäö"},
		{10, "", ""},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf out = {0};

		aif_elide(cases[i].text, strlen(cases[i].text), cases[i].width, &out);
		assert_string_equal(aif_buf_str(&out), cases[i].cut);
		aif_buf_finish(&out);
	}
}

#define GEMM(what, tile) \
	"sm80_xmma_gemm_f32f32_f32f32_f32_" what "_n_tilesize" tile "_stage3_ffma__5x_cublas"

static void what_differs_is_shown(void **state)
{
	static const struct {
		size_t width;
		const char *texts[4], *cuts[4];
	} cases[] = {
		{28,
		 {GEMM("tn", "128x128x8"), GEMM("nn", "128x128x8"), "softmax"},
		 {"sm80_x\u2026tn_n_tilesize1\u2026cublas",
		  "sm80_x\u2026nn_n_tilesize1\u2026cublas", "softmax"}},
		/* the place where the first two differ does not tell the third */
		{28,
		 {GEMM("tn", "128x128x8"), GEMM("nn", "128x128x8"), GEMM("nn", "128x064x8")},
		 {"sm80_x\u2026tn_n_tilesize1\u2026cublas",
		  "sm80_x\u2026128x8_stage3_f\u2026cublas",
		  "sm80_x\u2026064x8_stage3_f\u2026cublas"}},
		/* others are as they would be alone */
		{28,
		 {GEMM("tn", "128x128x8"), "an_entirely_different_function_name"},
		 {"sm80_xmma_gemm_f32\u20265x_cublas", "an_entirely_differ\u2026tion_name"}},
		/* whole words, characters */
		{20,
		 {"äöü_common_beginning_forward_of_common_end",
		  "äöü_common_beginning_backward_of_common_end"},
		 {"äöü_\u2026forward_of\u2026_end", "äöü_\u2026backward_o\u2026_end"}},
		/* too alike to show how: they differ in a length only */
		{8,
		 {"aaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaa"},
		 {"a\u2026aaaaaa", "aaaaaa\u20262"}},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_elider c = {0};

		for (size_t j = 0; j < 4 && cases[i].texts[j]; j++)
			assert_int_equal(
				aif_elider_add(&c, cases[i].texts[j], strlen(cases[i].texts[j])),
				0);
		assert_int_equal(aif_elider_make(&c, cases[i].width), 0);
		for (size_t j = 0; j < 4 && cases[i].texts[j]; j++) {
			size_t len;
			const char *cut = aif_elider_get(&c, cases[i].texts[j],
							 strlen(cases[i].texts[j]), &len);

			assert_string_equal(cut, cases[i].cuts[j]);
			assert_int_equal(len, strlen(cut));
		}
		aif_elider_finish(&c);
	}
}

/* Any texts, however alike, of any bytes. */
static void what_differs_stays_different(void **state)
{
	uint64_t random = 0x9e3779b97f4a7c15;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct aif_strset all = {0}, seen = {0};
		struct aif_elider c = {0};
		size_t width = 1 + round % 40, most = AIF_MAX(width, AIF_ELIDE_LEAST);

		for (unsigned i = 0; i < 60; i++) {
			char text[128];
			size_t len = i % 5 ? 100 : round % 100;

			/* Single bytes differ here and there. */
			memset(text, round % 3 ? 'a' : 0xc3, sizeof(text));
			for (unsigned k = 0; k < 1 + round % 4; k++) {
				random = random * 6364136223846793005u + 1442695040888963407u;
				text[(random >> 33) % sizeof(text)] =
					round % 5 ? 'a' + (char)(random >> 60)
						  : (char)(random >> 56);
			}
			aif_strset_put(&all, text, len);
			assert_int_equal(aif_elider_add(&c, text, len), 0);
		}
		assert_int_equal(aif_elider_make(&c, width), 0);
		for (uint32_t id = 0; id < all.len; id++) {
			size_t len, cut_len;
			const char *text = aif_strset_get(&all, id, &len), *cut;

			cut = aif_elider_get(&c, text, len, &cut_len);
			assert_true(aif_elide_width(cut, cut_len) <= most);
			assert_int_equal(aif_strset_put(&seen, cut, cut_len), id);
			if (aif_elide_width(text, len) <= most) {
				assert_int_equal(cut_len, len);
				assert_memory_equal(cut, text, len);
			}
		}
		aif_strset_finish(&all);
		aif_strset_finish(&seen);
		aif_elider_finish(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_alone_loses_its_middle),
		cmocka_unit_test(what_differs_is_shown),
		cmocka_unit_test(what_differs_stays_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
