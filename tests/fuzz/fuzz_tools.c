/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_text.h"

#include "base/source_blocks.h"
#include "names/compiled_lines.h"
#include "names/cython_names.h"
#include "runbook/callgrind.h"
#include "runbook/run_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Texts of other tools: counts of callgrind, summaries and tables of VTune and Advisor, source code, Cython's names. The first
 * byte says which; what was read lies within what was given.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLGRIND, METRICS, TABLE, SOURCE, CYTHON, LINES, KINDS };

static void callgrind(char *text, size_t size)
{
	uint64_t counts[64] = {0};
	struct aif_callgrind_range range = {
		.path = "/bin/a", .address = 0x1000, .size = 64, .executions = counts};
	struct aif_callgrind_totals totals = {0};
	FILE *f = size ? fmemopen(text, size, "r") : NULL;

	if (!f)
		return;
	(void)aif_callgrind_read(f, &range, 1, &totals);
	if (strnlen(totals.cache, sizeof(totals.cache)) == sizeof(totals.cache))
		abort();
	fclose(f);
}

static void table(const char *text)
{
	struct aif_buf out = {0};

	aif_runbook_table_rows(text, &out);
	if (out.len < 2 || out.data[0] != '[' || out.data[out.len - 1] != ']')
		abort();
	aif_buf_finish(&out);
}

static void is_place(const struct aif_source_blocks *b, const struct aif_source_place *p)
{
	if (p->len > AIF_SOURCE_BLOCKS_DEPTH || p->statement > b->lines)
		abort();
	for (uint32_t i = 0; i < p->len; i++)
		if (!p->blocks[i] || p->blocks[i] > b->lines)
			abort();
}

static void source(const char *text, size_t size)
{
	struct aif_source_blocks b;
	struct aif_source_place first, place;
	bool has_first = false;
	uint8_t *marks;
	size_t len;

	if (aif_source_blocks_init(&b, text, size) < 0)
		return;
	marks = calloc((size_t)b.lines + 1, 1);
	for (uint32_t line = 1; line <= b.lines && line < 64; line++) {
		const char *at = aif_source_statement(&b, line, &len);

		if (at < text || at + len > text + size || aif_source_block(&b, line) > line ||
		    aif_source_branches(&b, line) > line)
			abort();
		(void)aif_source_is_loop(&b, line);
		aif_source_mark_around(&b, line, marks);
		if (!aif_source_place_find(&b, line, &place))
			continue;
		is_place(&b, &place);
		if (has_first) {
			if (aif_source_common_loop(&b, &first, &place) > b.lines)
				abort();
			(void)aif_source_are_branches(&b, &first, &place);
		}
		first = place;
		has_first = true;
	}
	free(marks);
	aif_source_blocks_finish(&b);
}

static void cython(const char *name, size_t size)
{
	struct aif_buf out = {0};

	if (!aif_cython_name(name, size, &out) && out.len)
		abort();
	aif_buf_finish(&out);
}

static void lines(const char *text, size_t size)
{
	struct aif_compiled_lines l = {0};
	struct aif_compiled_place p;

	if (aif_compiled_lines_read(&l, text, size) == 0)
		for (uint32_t line = 0; line < 64; line++)
			if (aif_compiled_lines_find(&l, line, &p) &&
			    (p.file < text || p.file + p.file_len > text + size ||
			     p.function < text || p.function + p.function_len > text + size))
				abort();
	aif_compiled_lines_finish(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_runbook_metric metrics[AIF_RUNBOOK_METRICS];
	char *text;

	if (!size)
		return 0;
	text = fuzz_text(data, size);
	switch (data[0] % KINDS) {
	case CALLGRIND:
		callgrind(text, size - 1);
		break;
	case METRICS:
		if (aif_runbook_vtune_metrics(text, metrics) > AIF_RUNBOOK_METRICS)
			abort();
		break;
	case TABLE:
		table(text);
		break;
	case SOURCE:
		source(text, size - 1);
		break;
	case CYTHON:
		cython(text, size - 1);
		break;
	default:
		lines(text, size - 1);
		break;
	}
	free(text);
	return 0;
}
