/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/gate.h"

#include "base/name_sanitize.h"
#include "compare/json.h"
#include "compare/words.h"
#include "text/elide.h"
#include "text/json.h"
#include "text/svg_text.h"

#include <math.h>
#include <string.h>

/* CI shows no more of a kind. */
#define MOST_ANNOTATIONS 10
/* Columns of a text in XML. */
#define MOST_COLUMNS 1000

/* Says the answer and why nobody can tell, where neither stands beside it. */
static void say_alone(const struct aif_gate *g, const struct aif_gate_row *row, struct aif_buf *out)
{
	if (row->answer == AIF_GATE_UNKNOWN)
		aif_buf_printf(out, "%s: ", aif_gate_word(row->answer));
	aif_gate_say(g, row, out);
	if (row->answer != AIF_GATE_UNKNOWN || !g->c || !g->c->problems.len)
		return;
	aif_buf_puts(out, "; ");
	for (size_t i = 0; i < g->c->problems.len && g->c->problems.data[i] != '\n'; i++)
		aif_buf_putc(out, (char)g->c->problems.data[i]);
}

/* True if a budget alone makes the gate fail. */
static bool is_failure(const struct aif_gate *g, const struct aif_gate_row *row)
{
	return row->answer == AIF_GATE_EXCEEDED ||
	       (row->answer == AIF_GATE_UNKNOWN && g->unknown_fails);
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *verdict(const struct aif_gate *g)
{
	return g->is_required                   ? "not judged"
	       : g->answer == AIF_GATE_KEPT     ? "fine"
	       : g->answer == AIF_GATE_EXCEEDED ? "regression"
						: "cannot tell";
}

static void put_head(const struct aif_gate *g, struct aif_buf *out)
{
	if (!g->c) {
		aif_buf_printf(out, "A  %s\nB  %s\n", g->a, g->b);
		aif_words_lines(&g->problem, g->is_required ? "" : "not compared: ", out);
		return;
	}
	aif_words_side(g->c->a, 'A', out);
	aif_buf_putc(out, '\n');
	aif_words_side(g->c->b, 'B', out);
	aif_buf_putc(out, '\n');
	aif_words_unit(g->c, out);
	aif_buf_putc(out, '\n');
	aif_words_lines(&g->c->problems, "no verdict: ", out);
	aif_words_lines(&g->c->notes, "note: ", out);
}

#define LOOK_AT "look at "
/* No stack is cut to fewer columns. */
#define LEAST_STACK 40

/* Puts a stack that shares a line with `beside` other columns, its middle cut where it has no room. */
static void put_cut(const struct aif_buf *stack, size_t beside, size_t columns, struct aif_buf *out)
{
	size_t room = columns > beside + LEAST_STACK ? columns - beside : LEAST_STACK;

	if (stack->len)
		aif_elide(stack->data, stack->len, room, out);
}

/* The stack to look at first, where something was exceeded. */
static void put_first(const struct aif_gate *g, size_t columns, struct aif_buf *out)
{
	struct aif_buf stack = {0}, rest = {0};

	if (!g->c || g->answer != AIF_GATE_EXCEEDED)
		return;
	for (size_t i = 0; i < g->c->findings_len; i++) {
		const struct aif_finding *f = &g->c->findings[i];

		if (f->delta <= 0)
			continue;
		aif_compare_stack(g->c, f->node, 0, &stack);
		aif_buf_puts(&rest, ": ");
		aif_words_signed_ns(g->c, f->delta, &rest);
		aif_buf_puts(&rest, ", ");
		aif_words_how(g->c, f, &rest);
		aif_buf_puts(out, LOOK_AT);
		if (columns)
			put_cut(&stack,
				strlen(LOOK_AT) + aif_elide_width(aif_buf_str(&rest), rest.len),
				columns, out);
		else
			aif_buf_append(out, stack.data, stack.len);
		aif_buf_append(out, rest.data, rest.len);
		aif_buf_putc(out, '\n');
		break;
	}
	out->failed |= aif_buf_failed(&stack) || aif_buf_failed(&rest);
	aif_buf_finish(&stack);
	aif_buf_finish(&rest);
}

void aif_gate_text(const struct aif_gate *g, struct aif_buf *out)
{
	size_t width = 0;

	put_head(g, out);
	for (size_t i = 0; i < g->len; i++)
		width = AIF_MAX(width, strlen(g->rows[i].budget->text));
	for (size_t i = 0; i < g->len; i++) {
		const struct aif_gate_row *row = &g->rows[i];

		aif_buf_printf(out, "%-11s  %-*s  ", aif_gate_word(row->answer), (int)width,
			       row->budget->text);
		aif_gate_say(g, row, out);
		aif_buf_putc(out, '\n');
	}
	put_first(g, g->columns, out);
	aif_buf_printf(out, "gate: %s\n", verdict(g));
}

void aif_gate_markdown(const struct aif_gate *g, struct aif_buf *out)
{
	struct aif_buf said = {0};

	aif_buf_printf(out, "## aiflame gate: %s\n\n", verdict(g));
	put_head(g, &said);
	aif_compare_markdown_lines(&said, out);
	if (g->len)
		aif_buf_puts(out, "\n| | budget | |\n|---|---|---|\n");
	for (size_t i = 0; i < g->len; i++) {
		aif_buf_clear(&said);
		aif_gate_say(g, &g->rows[i], &said);
		aif_buf_printf(out, "| %s | ", aif_gate_word(g->rows[i].answer));
		aif_compare_markdown(g->rows[i].budget->text, strlen(g->rows[i].budget->text), out);
		aif_buf_puts(out, " | ");
		aif_compare_markdown(aif_buf_str(&said), said.len, out);
		aif_buf_puts(out, " |\n");
	}
	aif_buf_putc(out, '\n');
	aif_buf_clear(&said);
	put_first(g, 0, &said);
	aif_compare_markdown_lines(&said, out);
	out->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_json_row(const struct aif_gate *g, const struct aif_gate_row *row,
			 struct aif_buf *b)
{
	struct aif_buf said = {0};

	aif_gate_say(g, row, &said);
	aif_buf_puts(b, b->data && b->data[b->len - 1] == '[' ? "{" : ",{");
	aif_compare_json_text(b, "budget", row->budget->text);
	aif_compare_json_text(b, "metric", row->budget->name);
	aif_compare_json_text(b, "result", aif_gate_word(row->answer));
	aif_compare_json_text(b, "text", aif_buf_str(&said));
	if (row->is_missing) {
		aif_compare_json_text(b, "missing", aif_buf_str(&said));
	} else if (row->budget->kind == AIF_BUDGET_CHANGE) {
		aif_compare_json_compared(b, &row->of);
	} else {
		aif_compare_json_number(b, "b", row->mean);
		aif_compare_json_number(b, "b_low", row->low);
		aif_compare_json_number(b, "b_high", row->high);
		aif_compare_json_number(b, "limit", row->budget->limit);
	}
	aif_buf_putc(b, '}');
	b->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

void aif_gate_json(const struct aif_gate *g, struct aif_buf *out)
{
	static const struct aif_buf none;

	aif_buf_putc(out, '{');
	aif_gate_json_answer(g, verdict(g), out);
	aif_compare_json_text(out, "result", verdict(g));
	aif_compare_json_lines(out, "not_compared", &g->problem);
	aif_compare_json_lines(out, "no_verdict", g->c ? &g->c->problems : &none);
	aif_compare_json_lines(out, "notes", g->c ? &g->c->notes : &none);
	if (g->c) {
		aif_compare_json_side(out, "a", g->c->a);
		aif_compare_json_side(out, "b", g->c->b);
		aif_compare_json_text(out, "unit", aif_compare_unit_name(g->c));
		aif_compare_json_text(out, "times_in",
				      aif_compare_run(g->c, 0)->in_cycles ? "cycles" : "ns");
	}
	aif_out_json_key(out, "budgets");
	aif_buf_putc(out, '[');
	for (size_t i = 0; i < g->len; i++)
		put_json_row(g, &g->rows[i], out);
	aif_buf_puts(out, "]}\n");
}

static void put_attribute(const char *name, const char *value, struct aif_buf *out)
{
	struct aif_buf text = {0};

	aif_svg_text(&text, value, strlen(value), MOST_COLUMNS);
	aif_buf_printf(out, " %s=\"", name);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '"')
			aif_buf_puts(out, "&quot;");
		else
			aif_buf_putc(out, (char)text.data[i]);
	aif_buf_putc(out, '"');
	out->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

static size_t count_failures(const struct aif_gate *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->len; i++)
		n += is_failure(g, &g->rows[i]);
	return n;
}

static size_t count_kept(const struct aif_gate *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->len; i++)
		n += g->rows[i].answer == AIF_GATE_KEPT;
	return n;
}

void aif_gate_junit(const struct aif_gate *g, struct aif_buf *out)
{
	bool is_error = g->problem.len || !g->len;
	size_t failures = count_failures(g);
	struct aif_buf said = {0};

	aif_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite "
			  "name=\"aiflame gate\"");
	aif_buf_printf(out, " tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" errors=\"%d\">\n",
		       g->len + is_error, failures, g->len - failures - count_kept(g), is_error);
	if (is_error) {
		aif_buf_printf(out, "<testcase classname=\"aiflame\" name=\"%s\"><error",
			       g->is_required ? "require" : "comparison");
		put_attribute("message",
			      g->problem.len ? aif_buf_str((struct aif_buf *)&g->problem)
					     : "no budget",
			      out);
		aif_buf_puts(out, "/></testcase>\n");
	}
	for (size_t i = 0; i < g->len; i++) {
		const struct aif_gate_row *row = &g->rows[i];

		aif_buf_clear(&said);
		say_alone(g, row, &said);
		aif_buf_puts(out, "<testcase classname=\"aiflame\"");
		put_attribute("name", row->budget->text, out);
		aif_buf_puts(out, row->answer == AIF_GATE_KEPT ? "><system-out>"
				  : is_failure(g, row)         ? "><failure"
							       : "><skipped");
		if (row->answer == AIF_GATE_KEPT) {
			aif_svg_text(out, aif_buf_str(&said), said.len, MOST_COLUMNS);
			aif_buf_puts(out, "</system-out></testcase>\n");
			continue;
		}
		put_attribute("message", aif_buf_str(&said), out);
		aif_buf_puts(out, "/></testcase>\n");
	}
	aif_buf_puts(out, "</testsuite>\n</testsuites>\n");
	out->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

/* A workflow command's text: one line, with the escapes that its reader undoes, and without orders to other readers. */
static void put_command(const char *kind, const char *title, const char *text, struct aif_buf *out)
{
	struct aif_buf said = {0};
	size_t begin;

	for (unsigned part = 0; part < 2; part++) {
		for (const char *s = part ? text : title; *s; s++) {
			if (*s == '%')
				aif_buf_puts(&said, "%25");
			else if (*s == '\n' || *s == '\r')
				aif_buf_puts(&said, *s == '\n' ? "%0A" : "%0D");
			else
				aif_buf_putc(&said, *s);
		}
		aif_buf_puts(&said, part ? "" : ": ");
	}
	aif_buf_printf(out, "::%s title=aiflame gate::", kind);
	begin = out->len;
	aif_name_sanitize(said.data, said.len, out);
	aif_name_break_orders(out, begin);
	aif_buf_putc(out, '\n');
	out->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

void aif_gate_annotations(const struct aif_gate *g, struct aif_buf *out)
{
	static const enum aif_gate_answer order[] = {AIF_GATE_EXCEEDED, AIF_GATE_UNKNOWN};
	struct aif_buf said = {0};
	size_t n = 0;

	if (g->problem.len) {
		put_command(g->unknown_fails || g->is_required ? "error" : "warning",
			    g->is_required ? verdict(g) : "not compared",
			    aif_buf_str((struct aif_buf *)&g->problem), out);
		n++;
	}
	for (size_t o = 0; o < AIF_ARRAY_LEN(order); o++)
		for (size_t i = 0; i < g->len && n < MOST_ANNOTATIONS; i++) {
			if (g->rows[i].answer != order[o])
				continue;
			aif_buf_clear(&said);
			say_alone(g, &g->rows[i], &said);
			put_command(is_failure(g, &g->rows[i]) ? "error" : "warning",
				    g->rows[i].budget->text, aif_buf_str(&said), out);
			n++;
		}
	out->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}
