/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/budgets.h"
#include "compare/run_file.h"

#include <stdlib.h>
#include <string.h>

/* Any bytes as a reduced run, and as budgets. What is read is written and read again as the same bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void budgets(const uint8_t *data, size_t size)
{
	struct aif_budgets b = {0};
	struct aif_err err = {0};
	char *text = strndup((const char *)data, size);

	if (text && size < 4096 && aif_budgets_add_text(&b, text, "x", &err) < 0 && !*err.text)
		abort();
	aif_budgets_finish(&b);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_run r = {0}, again = {0};
	struct aif_err err = {0};
	struct aif_buf first = {0}, second = {0};

	budgets(data, size);
	if (aif_run_read((const char *)data, size, "x", &r, &err) == 0) {
		if (aif_run_write(&r, &first) < 0 ||
		    aif_run_read((char *)first.data, first.len, "x", &again, &err) < 0 ||
		    aif_run_write(&again, &second) < 0)
			abort();
		if (first.len <= AIF_RUN_FILE_BYTES &&
		    (first.len != second.len || memcmp(first.data, second.data, first.len) != 0))
			abort();
	} else if (!*err.text) {
		abort();
	}
	aif_run_finish(&r);
	aif_run_finish(&again);
	aif_buf_finish(&first);
	aif_buf_finish(&second);
	return 0;
}
