/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for programs. Times in ns a unit, or cycles (times_in); changes as parts, 0.05 is 5 %; null where there is none. */
#include "compare/json.h"

#include "compare/words.h"

#include "text/json.h"

#include <math.h>

static uint8_t last(const struct aif_buf *b)
{
	return b->len ? b->data[b->len - 1] : 0;
}

void aif_compare_json_number(struct aif_buf *b, const char *name, double value)
{
	aif_out_json_key(b, name);
	if (isfinite(value))
		aif_buf_printf(b, "%.9g", value);
	else
		aif_buf_puts(b, "null");
}

void aif_compare_json_text(struct aif_buf *b, const char *name, const char *value)
{
	aif_out_json_key(b, name);
	if (value)
		aif_out_json_text(b, value);
	else
		aif_buf_puts(b, "null");
}

static void item(struct aif_buf *b)
{
	aif_buf_puts(b, last(b) == '[' ? "{" : ",{");
}

static const char *answer_key(enum aif_change_answer a)
{
	static const char *const keys[] = {
		[AIF_CHANGE_UNKNOWN] = "cannot tell",
		[AIF_CHANGE_SAME] = "same",
		[AIF_CHANGE_UP] = "up",
		[AIF_CHANGE_DOWN] = "down",
	};

	return keys[a];
}

void aif_compare_json_compared(struct aif_buf *b, const struct aif_compared *of)
{
	const struct aif_change *c = &of->change;
	size_t needed = aif_change_needed(c);
	double none = NAN;

	aif_compare_json_number(b, "a", c->a);
	aif_compare_json_number(b, "b", c->b);
	aif_compare_json_number(b, "change", c->is_ratio ? c->estimate : none);
	aif_compare_json_number(b, "low", c->is_ratio && c->has_interval ? c->low : none);
	aif_compare_json_number(b, "high", c->is_ratio && c->has_interval ? c->high : none);
	aif_compare_json_number(b, "p", c->has_interval ? of->p : none);
	aif_compare_json_text(b, "answer", answer_key(of->answer));
	if (of->answer != AIF_CHANGE_UNKNOWN || !c->has_interval)
		return;
	/* The runs that are there do not tell, among so many rows. */
	aif_compare_json_number(b, "runs_needed",
				needed ? (double)AIF_MAX(needed, AIF_MIN(c->a_len, c->b_len) + 1)
				       : none);
}

void aif_compare_json_lines(struct aif_buf *b, const char *name, const struct aif_buf *lines)
{
	aif_out_json_key(b, name);
	aif_buf_putc(b, '[');
	for (size_t at = 0, end; at < lines->len; at = end + 1) {
		for (end = at; end < lines->len && lines->data[end] != '\n'; end++)
			;
		if (at)
			aif_buf_putc(b, ',');
		aif_out_json_string(b, (const char *)lines->data + at, end - at);
	}
	aif_buf_putc(b, ']');
}

void aif_compare_json_side(struct aif_buf *b, const char *name, const struct aif_side *s)
{
	aif_out_json_key(b, name);
	aif_buf_putc(b, '{');
	aif_compare_json_text(b, "name", s->name);
	aif_out_json_key(b, "runs");
	aif_buf_putc(b, '[');
	for (size_t i = 0; i < s->len; i++) {
		const struct aif_run *r = &s->runs[i];

		item(b);
		aif_compare_json_text(b, "path", r->path);
		aif_compare_json_text(b, "command", aif_run_text(r, AIF_RUN_COMMAND));
		aif_compare_json_text(b, "machine", aif_run_text(r, AIF_RUN_MACHINE));
		aif_compare_json_number(b, "steps", (double)r->steps);
		aif_compare_json_number(b, r->in_cycles ? "elapsed_cycles" : "elapsed_ns",
					(double)r->amount[AIF_RUN_ELAPSED]);
		if (r->amount[AIF_RUN_CLOCK])
			aif_compare_json_number(b, "clock_khz", (double)r->amount[AIF_RUN_CLOCK]);
		aif_buf_putc(b, '}');
	}
	aif_buf_puts(b, "]}");
}

static void put_stack(const struct aif_comparison *c, uint32_t node, const char *name,
		      struct aif_buf *b)
{
	struct aif_buf text = {0};

	aif_compare_stack(c, node, 0, &text);
	aif_compare_json_text(b, name, aif_buf_str(&text));
	b->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

static void put_finding(const struct aif_comparison *c, const struct aif_finding *f,
			struct aif_buf *b)
{
	static const char *const kinds[] = {"changed", "new", "gone", "moved", "steps"};

	item(b);
	put_stack(c, f->node, "stack", b);
	aif_compare_json_text(b, "kind", kinds[f->kind]);
	aif_compare_json_text(b, "of", f->is_idle ? "idle" : "device");
	aif_out_json_key(b, "changed");
	aif_buf_puts(b, f->is_change ? "true" : "false");
	aif_compare_json_number(b, "delta_ns", f->delta);
	aif_compare_json_number(b, "more_often_ns", f->often);
	aif_compare_json_number(b, "longer_ns", f->longer);
	aif_compare_json_number(b, "a_launches", f->a_launches);
	aif_compare_json_number(b, "b_launches", f->b_launches);
	aif_compare_json_compared(b, &f->time);
	aif_out_json_key(b, "moves");
	aif_buf_putc(b, '[');
	for (size_t i = f->moves; i < f->moves + f->moves_len; i++) {
		item(b);
		put_stack(c, c->moves[i].node, "stack", b);
		aif_compare_json_number(b, "delta_ns", c->moves[i].delta);
		aif_buf_putc(b, '}');
	}
	aif_buf_puts(b, "]}");
}

static void put_kernel(const struct aif_compared_kernel *k, struct aif_buf *b)
{
	static const char *const by[] = {"same", "name", "stack", "none"};

	item(b);
	aif_compare_json_text(b, "a_kernel", k->a);
	aif_compare_json_text(b, "b_kernel", k->b);
	aif_compare_json_text(b, "matched_by", by[k->matched_by]);
	aif_compare_json_number(b, "a_launches", k->a_launches);
	aif_compare_json_number(b, "b_launches", k->b_launches);
	aif_compare_json_text(b, "launches_answer", answer_key(k->launches));
	aif_compare_json_compared(b, &k->time);
	aif_buf_putc(b, '}');
}

void aif_comparison_json(const struct aif_comparison *c, struct aif_buf *out)
{
	struct aif_buf *b = out;

	aif_buf_putc(b, '{');
	aif_compare_json_answer(c, b);
	aif_compare_json_side(b, "a", c->a);
	aif_compare_json_side(b, "b", c->b);
	aif_compare_json_text(b, "unit", aif_compare_unit_name(c));
	aif_compare_json_text(b, "times_in",
			      c->by_share                        ? "ppm"
			      : aif_compare_run(c, 0)->in_cycles ? "cycles"
								 : "ns");
	aif_compare_json_number(b, "margin", c->margin);
	aif_compare_json_lines(b, "no_verdict", &c->problems);
	aif_compare_json_lines(b, "notes", &c->notes);
	aif_out_json_key(b, "metrics");
	aif_buf_putc(b, '[');
	for (unsigned m = 0; m < AIF_METRICS; m++) {
		if (!c->has_metric[m])
			continue;
		item(b);
		aif_compare_json_text(b, "metric", aif_metric_key(m));
		aif_compare_json_compared(b, &c->metric[m]);
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
	aif_out_json_key(b, "stacks");
	aif_buf_putc(b, '[');
	for (size_t i = 0; i < c->findings_len; i++)
		put_finding(c, &c->findings[i], b);
	aif_buf_putc(b, ']');
	aif_out_json_key(b, "kernels");
	aif_buf_putc(b, '[');
	for (size_t i = 0; i < c->kernels_len; i++)
		put_kernel(&c->kernels[i], b);
	aif_buf_puts(b, "]}\n");
}
