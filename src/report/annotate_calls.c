/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the lines of a function on CPUs with what they call. */
#include "report/annotate_calls.h"

#include "report/annotate_places.h"
#include "report/source_lines.h"
#include "text/table.h"

struct listing {
	const struct aif_profile *p;
	const struct aif_cpu_functions *f;
	const struct aif_annotate_opts *o;
	uint64_t all_ns;
	struct aif_source_cursor cursor;
	struct aif_buf *out;
};

static bool is_cold(const struct listing *l, uint64_t ns)
{
	return aif_share_ppm(ns, l->all_ns) < l->o->min_ppm;
}

static void put_line(struct listing *l, const struct aif_cpu_call *c, uint64_t ns)
{
	const struct aif_frame_name *name = aif_cpu_frame_name(l->p, c->frame, c->depth);

	aif_place_put_share(ns, l->all_ns, l->out);
	aif_buf_puts(l->out, "  ");
	if (c->line && name) {
		struct aif_source_line line = {.file = name->file,
					       .line = c->line,
					       .function = AIF_NONE,
					       .frame = c->frame,
					       .weight = ns};

		aif_source_put(l->p, &line, &l->cursor, l->o->columns, AIF_PLACE_SHARE_COLUMNS + 2,
			       l->out);
	} else {
		aif_buf_puts(l->out, "line not known");
	}
	aif_buf_putc(l->out, '\n');
}

/* Appends what a line calls; nothing where all of its time is its own. */
static void put_callees(struct listing *l, const struct aif_cpu_call *c, size_t n)
{
	if (n == 1 && c->callee == AIF_NONE)
		return;
	for (size_t i = 0; i < n; i++) {
		if (is_cold(l, c[i].ns))
			continue;
		aif_place_put_share(c[i].ns, l->all_ns, l->out);
		if (c[i].callee == AIF_NONE)
			aif_buf_puts(l->out, "    itself\n");
		else
			aif_buf_printf(l->out, "    calls %s\n",
				       aif_cpu_function_name(l->f, &l->f->at[c[i].callee]));
	}
}

void aif_annotate_calls_put(const struct aif_profile *p, const struct aif_cpu_functions *f,
			    uint32_t function, const struct aif_cpu_calls *c,
			    const struct aif_annotate_opts *o, struct aif_buf *out)
{
	struct listing l = {.p = p, .f = f, .o = o, .all_ns = f->at[function].total_ns, .out = out};
	size_t begin = AIF_BISECT(mid, 0, c->len, c->at[mid].function < function), end;

	for (; begin < c->len && c->at[begin].function == function; begin = end) {
		uint64_t ns = 0;

		for (end = begin; end < c->len && c->at[end].function == function &&
				  c->at[end].line == c->at[begin].line;
		     end++)
			ns += c->at[end].ns;
		if (is_cold(&l, ns))
			continue;
		put_line(&l, &c->at[begin], ns);
		put_callees(&l, &c->at[begin], end - begin);
	}
}
