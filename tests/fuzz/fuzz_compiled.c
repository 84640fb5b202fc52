/* SPDX-License-Identifier: Apache-2.0 */
#include "names/compiled.h"

#include <stdlib.h>
#include <string.h>

/* A generated file and the lines of the program for it, which may be anything: what is found lies within them, each line has
 * one call at most. The first byte says how much is the file's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_profile p = {0};
	size_t cut = size ? 1 + (size - 1) * data[0] / 255 : 0;
	struct aif_program programs[] = {
		{.source = aif_strset_put(&p.strings, data + !!size, cut - !!size),
		 .source_name = aif_strset_put(&p.strings, "a.py", 4)},
		{.source = aif_strset_put(&p.strings, data + cut, size - cut),
		 .source_name = aif_strset_put(&p.strings, "a.py" AIF_COMPILED_LINES, 10)}};
	struct aif_compiled *c;
	const char *text, *lines;
	size_t len, lines_len;

	p.programs = programs;
	p.programs_len = AIF_ARRAY_LEN(programs);
	if (aif_compiled_new(&p, &c))
		abort();
	text = aif_strset_get(&p.strings, programs[0].source, &len);
	lines = aif_strset_get(&p.strings, programs[1].source, &lines_len);
	for (uint32_t line = 0; line < 200; line++) {
		const struct aif_compiled_call *call =
			aif_compiled_find(c, programs[0].source_name, line);

		if (!call)
			continue;
		if (call->first > line || call->last < line || call->aten < text ||
		    call->aten + call->aten_len > text + len)
			abort();
		if (call->nodes_len &&
		    (call->nodes < text || call->nodes + call->nodes_len > text + len))
			abort();
		if (call->place.line &&
		    (call->place.file < lines || call->place.function < lines ||
		     call->place.file + call->place.file_len > lines + lines_len ||
		     call->place.function + call->place.function_len > lines + lines_len))
			abort();
	}
	aif_compiled_free(c);
	aif_strset_finish(&p.strings);
	return 0;
}
