/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/message.h"

#include "base/name_sanitize.h"

#include <stdarg.h>
#include <stdio.h>

void aif_message(const char *fmt, ...)
{
	struct aif_buf shown = {0};
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	aif_name_sanitize(text, (size_t)len, &shown);
	fprintf(stderr, "aiflame: %s\n", aif_buf_str(&shown));
	aif_buf_finish(&shown);
	free(text);
}
