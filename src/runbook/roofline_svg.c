/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a roofline: both axes by powers of two, a point for each function that was counted. */
#include "runbook/roofline.h"

#include "text/svg_text.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 420, LEFT = 60, RIGHT = 210, TOP = 20, BOTTOM = 46 };

/* Exponents of two at the ends of the axes. */
struct axes {
	double x0, x1, y0, y1;
};

static double at_x(const struct axes *a, double value)
{
	double of = (log2(value) - a->x0) / (a->x1 - a->x0);

	return LEFT + of * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct axes *a, double value)
{
	double of = (log2(value) - a->y0) / (a->y1 - a->y0);

	return HEIGHT - BOTTOM - of * (HEIGHT - TOP - BOTTOM);
}

static bool is_drawn(const struct aif_runbook_point *p)
{
	return p->is_counted && p->flops > 0 && p->memory_bytes > 0 && p->seconds > 0;
}

/* Widens the axes so that the roofs' corner and all points are inside. */
static struct axes find_axes(const struct aif_runbook_roofline *r,
			     const struct aif_runbook_roof *roof)
{
	double ridge = log2(roof->flops / roof->memory), peak = log2(roof->flops / 1e9);
	struct axes a = {ridge - 6, ridge + 4, peak - 8, peak + 1};

	for (size_t i = 0; i < r->len; i++) {
		const struct aif_runbook_point *p = &r->at[i];

		if (!is_drawn(p))
			continue;
		a.x0 = fmin(a.x0, log2(p->flops / p->memory_bytes) - 1);
		a.x1 = fmax(a.x1, log2(p->flops / p->memory_bytes) + 1);
		a.y0 = fmin(a.y0, log2(p->flops / p->seconds / 1e9) - 1);
		a.y1 = fmax(a.y1, log2(p->flops / p->seconds / 1e9) + 1);
	}
	a = (struct axes){floor(a.x0), ceil(a.x1), floor(a.y0), ceil(a.y1)};
	return a;
}

static void put_axes(const struct axes *a, struct aif_buf *out)
{
	double step_x = ceil((a->x1 - a->x0) / 12), step_y = ceil((a->y1 - a->y0) / 12);

	for (double x = a->x0; x <= a->x1; x += step_x)
		aif_buf_printf(out,
			       "<path class=\"g\" d=\"M%.1f %d V%d\"/><text x=\"%.1f\" y=\"%d\" "
			       "text-anchor=\"middle\">%.4g</text>\n",
			       at_x(a, exp2(x)), TOP, HEIGHT - BOTTOM, at_x(a, exp2(x)),
			       HEIGHT - BOTTOM + 15, exp2(x));
	for (double y = a->y0; y <= a->y1; y += step_y)
		aif_buf_printf(out,
			       "<path class=\"g\" d=\"M%d %.1f H%d\"/><text x=\"%d\" y=\"%.1f\" "
			       "text-anchor=\"end\">%.3g</text>\n",
			       LEFT, at_y(a, exp2(y)), WIDTH - RIGHT, LEFT - 6,
			       at_y(a, exp2(y)) + 4, exp2(y));
	aif_buf_printf(out,
		       "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">FLOP for each byte from and "
		       "to memory</text>\n<text transform=\"translate(14 %d) rotate(-90)\" "
		       "text-anchor=\"middle\">GFLOP/s of a CPU</text>\n",
		       (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, (TOP + HEIGHT - BOTTOM) / 2);
}

static void put_points(const struct aif_runbook_roofline *r, const struct axes *a,
		       struct aif_buf *out)
{
	double line = TOP + 10;

	for (size_t i = 0, n = 0; i < r->len; i++) {
		const struct aif_runbook_point *p = &r->at[i];
		double share = r->seconds > 0 ? p->seconds / r->seconds : 0;

		if (!is_drawn(p))
			continue;
		n++;
		aif_buf_puts(out, "<g><title>");
		aif_svg_text(out, p->symbol, strlen(p->symbol), 200);
		aif_buf_printf(out,
			       ": %.3g FLOP/byte, %.3g GFLOP/s, %.1f %% of the CPU time</title>"
			       "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/><text class=\"n\" "
			       "x=\"%.1f\" y=\"%.1f\">%zu</text></g>\n",
			       p->flops / p->memory_bytes, p->flops / p->seconds / 1e9, 100 * share,
			       at_x(a, p->flops / p->memory_bytes),
			       at_y(a, p->flops / p->seconds / 1e9), 4 + 8 * sqrt(share),
			       at_x(a, p->flops / p->memory_bytes) + 7,
			       at_y(a, p->flops / p->seconds / 1e9) - 7, n);
		if (line > HEIGHT - BOTTOM)
			continue;
		aif_buf_printf(out, "<text x=\"%d\" y=\"%.0f\">%zu ", WIDTH - RIGHT + 12, line, n);
		aif_svg_text(out, p->symbol, strlen(p->symbol), 26);
		aif_buf_puts(out, "</text>\n");
		line += 15;
	}
}

void aif_runbook_roofline_svg(const struct aif_runbook_roofline *r, const struct aif_roofs *roofs,
			      struct aif_buf *out)
{
	const struct aif_runbook_roof roof = aif_runbook_roof(r, roofs);
	struct axes a;
	double ridge;

	if (roof.flops <= 0 || roof.memory <= 0)
		return;
	a = find_axes(r, &roof);
	ridge = roof.flops / roof.memory;
	aif_buf_printf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n<title>Roofline"
		"</title><style>.g{stroke:#ddd;fill:none}.r{stroke:#b33;stroke-width:2;"
		"fill:none}circle{fill:#3a78b5;fill-opacity:.6;stroke:#234}</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_axes(&a, out);
	/* The roof of memory meets that of arithmetic; it begins where it enters the picture. */
	aif_buf_printf(out, "<path class=\"r\" d=\"M%.1f %.1f L%.1f %.1f H%d\"/>\n",
		       at_x(&a, fmax(exp2(a.x0), exp2(a.y0) * 1e9 / roof.memory)),
		       at_y(&a, fmax(exp2(a.x0) * roof.memory / 1e9, exp2(a.y0))), at_x(&a, ridge),
		       at_y(&a, roof.flops / 1e9), WIDTH - RIGHT);
	aif_buf_printf(out,
		       "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g GFLOP/s, "
		       "multiply-adds</text>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.3g "
		       "GB/s, memory</text>\n",
		       WIDTH - RIGHT - 4, at_y(&a, roof.flops / 1e9) - 6, roof.flops / 1e9,
		       at_x(&a, ridge / 4) - 8, at_y(&a, roof.flops / 4e9), roof.memory / 1e9);
	put_points(r, &a, out);
	aif_buf_puts(out, "</svg>\n");
}
