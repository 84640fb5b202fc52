/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include "base/name_sanitize.h"

#include <stdarg.h>
#include <stdio.h>

int aif_err_set(struct aif_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	assert(code < 0);
	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	/* Names in it may come from a hostile file. */
	aif_name_sanitize_in_place(err->text);
	return code;
}
