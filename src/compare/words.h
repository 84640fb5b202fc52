/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/compare.h"

/* Pieces of what is said of a comparison, the same in all formats. */

/* "12.3 ms" of ns a unit, or a number where the comparison (NULL: of times) is one of counts; with a sign "+12.3 ms". */
void aif_words_ns(const struct aif_comparison *c, double ns, struct aif_buf *b);
void aif_words_signed_ns(const struct aif_comparison *c, double ns, struct aif_buf *b);
/* A metric's value: ns, bytes or a number. */
void aif_words_value(const struct aif_comparison *c, enum aif_metric m, double value,
		     struct aif_buf *b);
/* "+5.1 % (+3.9 to +6.2 %)"; without an interval "+5.1 %"; "new" where A has none. */
void aif_words_change(const struct aif_change *c, struct aif_buf *b);
/* "slower", "faster" of times, "more", "less" of numbers; "the same", "cannot tell". */
const char *aif_words_answer(enum aif_change_answer a, bool is_time);
/* Answers for a stack or a kernel: "more time", "less time". Slower and faster is the whole alone, of which nobody may be able
 * to tell. */
const char *aif_words_part(const struct aif_comparison *c, enum aif_change_answer a);
/* Answers for a metric, with what would tell: "cannot tell (about 12 runs a side would)". Time is slower or faster, all else
 * more or less. */
void aif_words_verdict(const struct aif_comparison *c, enum aif_metric m, struct aif_buf *b);
/* Says how a finding changed: "takes longer: 9.5 -> 10.1 ms a launch". */
void aif_words_how(const struct aif_comparison *c, const struct aif_finding *f, struct aif_buf *b);
/* Answers for a kernel: by its time, else by how often it was launched: "more launches". */
const char *aif_words_kernel(const struct aif_comparison *c, const struct aif_compared_kernel *k);
/* Says that no stack is known to have changed, as a sentence. */
const char *aif_words_no_stacks(const struct aif_comparison *c);
/* A line that sums up: "B is slower: +5.1 % (+3.9 to +6.2 %) a step, most of it f, which takes longer"; "cannot tell: 2 runs a side; 3 are
 * needed". */
void aif_words_summary(const struct aif_comparison *c, struct aif_buf *b);
/* True if that line is the first of c->problems. */
bool aif_words_summary_has_problem(const struct aif_comparison *c);
/* "per step: 100 in A, 100 in B". */
void aif_words_unit(const struct aif_comparison *c, struct aif_buf *b);
/* Appends lines with `before` at the beginning of each. */
void aif_words_lines(const struct aif_buf *lines, const char *before, struct aif_buf *out);
/* "A  base.data, 5 runs". */
void aif_words_side(const struct aif_side *s, char letter, struct aif_buf *b);

/* compare/text.c, json.c: the whole comparison. `most`: rows of kernels and findings, 0: all. columns: of the
 * terminal, to which stacks and kernels are cut in the middle; 0: none is cut. */
void aif_comparison_text(const struct aif_comparison *c, size_t most, size_t columns,
			 struct aif_buf *out);
void aif_comparison_markdown(const struct aif_comparison *c, size_t most, struct aif_buf *out);
void aif_comparison_json(const struct aif_comparison *c, struct aif_buf *out);
/* compare/svg.c: the colours of enum aif_compare_look, of verdicts or of differences that nobody knows to be more than chance. */
struct aif_palette_colour;
const struct aif_palette_colour *aif_compare_colours(bool decides);
/* compare/page.c: the page of both sides. title NULL: their names. 0 or -errno; the caller commits. */
struct aif_out;
int aif_comparison_page(const struct aif_comparison *c, const char *title, struct aif_out *out);
/* compare/svg.c: the differential flame graph. title NULL and width 0: the usual. 0 or -ENOMEM; the caller commits. */
int aif_comparison_svg(const struct aif_comparison *c, const char *title, uint32_t width,
		       struct aif_out *out);

/* Texts in Markdown: names in them may come from whoever made the profile. */

/* Puts text of one line so that Markdown shows it as it is. */
void aif_compare_markdown(const void *text, size_t len, struct aif_buf *out);
/* Puts lines so, each a line of the paragraph. */
void aif_compare_markdown_lines(const struct aif_buf *lines, struct aif_buf *out);
