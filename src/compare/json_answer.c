/* SPDX-License-Identifier: Apache-2.0 */
/* The members that the JSON of diff and gate begins with (text/json_answer.h). */
#include "compare/gate.h"
#include "compare/json.h"

#include "compare/words.h"
#include "text/json_answer.h"

#include <string.h>

/* Stacks that are evidence; all of them are in "stacks". */
#define MOST_STACKS 10

/* Appends the runs of a side as a word of a command. */
static void put_side(const struct aif_side *s, struct aif_buf *out)
{
	struct aif_buf word = {0};

	for (size_t i = 0; i < s->len; i++)
		aif_buf_printf(&word, "%s%s", i ? "," : "", s->runs[i].path);
	aif_buf_shell_path(out, aif_buf_str(&word));
	out->failed |= aif_buf_failed(&word);
	aif_buf_finish(&word);
}

static void put_command(const struct aif_comparison *c, const char *options, struct aif_buf *out)
{
	aif_buf_printf(out, "aiflame diff%s ", options);
	put_side(c->a, out);
	aif_buf_putc(out, ' ');
	put_side(c->b, out);
}

static void abstain(struct aif_json_answer *head, const char *what, const struct aif_buf *lines)
{
	struct aif_buf line = {0};

	for (size_t at = 0, end; at < lines->len; at = end + 1) {
		for (end = at; end < lines->len && lines->data[end] != '\n'; end++)
			;
		aif_buf_clear(&line);
		aif_buf_append(&line, lines->data + at, end - at);
		aif_json_answer_abstain(head, what, aif_buf_str(&line));
	}
	aif_buf_finish(&line);
}

static void put_metrics(const struct aif_comparison *c, const char *command,
			struct aif_json_answer *head)
{
	struct aif_buf text = {0};

	for (unsigned m = 0; m < AIF_METRICS; m++) {
		const struct aif_compared *of = &c->metric[m];

		if (!c->has_metric[m] ||
		    (of->answer != AIF_CHANGE_UP && of->answer != AIF_CHANGE_DOWN))
			continue;
		aif_buf_clear(&text);
		aif_buf_printf(&text, "%s: ", aif_metric_name(m));
		aif_words_value(c, m, of->change.a, &text);
		aif_buf_puts(&text, " -> ");
		aif_words_value(c, m, of->change.b, &text);
		aif_buf_puts(&text, ", ");
		aif_words_change(&of->change, &text);
		aif_buf_puts(&text, ", ");
		aif_words_verdict(c, m, &text);
		aif_json_answer_evidence(head, aif_buf_str(&text), -1, command);
	}
	aif_buf_finish(&text);
}

static void put_stacks(const struct aif_comparison *c, const char *command,
		       struct aif_json_answer *head)
{
	struct aif_buf text = {0};

	for (size_t i = 0; i < c->findings_len && i < MOST_STACKS; i++) {
		const struct aif_finding *f = &c->findings[i];

		aif_buf_clear(&text);
		aif_words_signed_ns(c, f->delta, &text);
		aif_buf_putc(&text, ' ');
		aif_words_how(c, f, &text);
		aif_buf_puts(&text, ", ");
		aif_compare_stack(c, f->node, 0, &text);
		aif_json_answer_evidence(head, aif_buf_str(&text), -1, command);
	}
	aif_buf_finish(&text);
}

void aif_compare_json_answer(const struct aif_comparison *c, struct aif_buf *out)
{
	struct aif_json_answer head = {.verdict = {0}};
	struct aif_buf text = {0}, command = {0};

	aif_words_summary(c, &text);
	aif_json_answer_verdict(&head, aif_buf_str(&text));
	put_command(c, "", &command);
	put_metrics(c, aif_buf_str(&command), &head);
	put_stacks(c, aif_buf_str(&command), &head);
	abstain(&head, "verdict", &c->problems);
	aif_buf_clear(&command);
	put_command(c, " -o diff.svg", &command);
	aif_json_answer_next(&head, aif_buf_str(&command));
	aif_json_answer_put(&head, "diff", out);
	out->failed |= aif_buf_failed(&text) || aif_buf_failed(&command);
	aif_buf_finish(&text);
	aif_buf_finish(&command);
}

/* Says the result with the budget that decides it: the first that has it, or why nothing is judged. */
static void put_gate_verdict(const struct aif_gate *g, const char *result, struct aif_buf *out)
{
	const struct aif_buf *why = g->problem.len || !g->c ? &g->problem : &g->c->problems;
	const uint8_t *end = why->len ? memchr(why->data, '\n', why->len) : NULL;

	aif_buf_puts(out, result);
	if (why->len && g->answer != AIF_GATE_EXCEEDED) {
		aif_buf_puts(out, ": ");
		aif_buf_append(out, why->data, end ? (size_t)(end - why->data) : why->len);
		return;
	}
	for (size_t i = 0; i < g->len && g->answer != AIF_GATE_KEPT; i++) {
		if (g->rows[i].answer != g->answer)
			continue;
		aif_buf_printf(out, ": %s: ", g->rows[i].budget->text);
		aif_gate_say(g, &g->rows[i], out);
		return;
	}
}

void aif_gate_json_answer(const struct aif_gate *g, const char *result, struct aif_buf *out)
{
	struct aif_json_answer head = {.verdict = {0}};
	struct aif_buf text = {0}, command = {0};

	put_gate_verdict(g, result, &text);
	aif_json_answer_verdict(&head, aif_buf_str(&text));
	if (g->c)
		put_command(g->c, "", &command);
	for (size_t i = 0; i < g->len; i++) {
		const struct aif_gate_row *row = &g->rows[i];

		aif_buf_clear(&text);
		aif_buf_printf(&text, "%s: %s: ", aif_gate_word(row->answer), row->budget->text);
		aif_gate_say(g, row, &text);
		if (row->answer == AIF_GATE_KEPT || row->answer == AIF_GATE_EXCEEDED)
			aif_json_answer_evidence(&head, aif_buf_str(&text), -1,
						 g->c ? aif_buf_str(&command) : NULL);
		else
			aif_json_answer_abstain(&head, "budget", aif_buf_str(&text));
	}
	abstain(&head, "comparison", &g->problem);
	if (g->c) {
		abstain(&head, "verdict", &g->c->problems);
		aif_json_answer_next(&head, aif_buf_str(&command));
	}
	aif_json_answer_put(&head, "gate", out);
	out->failed |= aif_buf_failed(&text) || aif_buf_failed(&command);
	aif_buf_finish(&text);
	aif_buf_finish(&command);
}
