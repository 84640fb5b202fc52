/* SPDX-License-Identifier: Apache-2.0 */
#include "names/compiled.h"

#include <stdlib.h>
#include <string.h>

/* A generated file, which may be anything: what is found lies within it, each line has one call at most. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_profile p = {0};
	struct aif_program program = {.source = aif_strset_put(&p.strings, data, size),
				      .source_name = aif_strset_put(&p.strings, "a.py", 4)};
	struct aif_compiled *c;
	const char *text;
	size_t len;

	p.programs = &program;
	p.programs_len = 1;
	if (aif_compiled_new(&p, &c))
		abort();
	text = aif_strset_get(&p.strings, program.source, &len);
	for (uint32_t line = 0; line < 200; line++) {
		const struct aif_compiled_call *call =
			aif_compiled_find(c, program.source_name, line);

		if (!call)
			continue;
		if (call->first > line || call->last < line || call->aten < text ||
		    call->aten + call->aten_len > text + len)
			abort();
		if (call->nodes_len &&
		    (call->nodes < text || call->nodes + call->nodes_len > text + len))
			abort();
	}
	aif_compiled_free(c);
	aif_strset_finish(&p.strings);
	return 0;
}
