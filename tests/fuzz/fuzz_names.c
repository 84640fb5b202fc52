/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle.h"
#include "names/kernel_names.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

/* Names are any bytes. What is shortened is no longer than the limits say, what is sanitized stays as it
 * is when sanitized again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_buf one = {0}, two = {0};

	for (int detail = AIF_NAME_BRIEF; detail <= AIF_NAME_NORMAL; detail++) {
		aif_buf_clear(&one);
		aif_name_short((const char *)data, size, (enum aif_name_detail)detail, &one);
		if (one.failed || one.len > 256)
			abort();
	}
	for (unsigned room = 0; room < AIF_KERNEL_ROOMS; room++) {
		aif_buf_clear(&one);
		aif_kernel_name((const char *)data, size, room, &one);
		if (one.failed || one.len > 300)
			abort();
	}
	char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	aif_buf_clear(&one);
	aif_demangle_part(text, 5000, &one);
	free(text);
	if (one.failed || one.len > AIF_MAX(5000, size) + 100)
		abort();
	aif_buf_clear(&one);
	aif_name_sanitize(data, size, &one);
	aif_name_sanitize(one.data, one.len, &two);
	if (one.len != two.len || (one.len && __builtin_memcmp(one.data, two.data, one.len)))
		abort();
	aif_buf_finish(&one);
	aif_buf_finish(&two);
	return 0;
}
