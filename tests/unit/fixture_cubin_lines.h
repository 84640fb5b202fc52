/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/cubin.h"
#include "symbolize/cubin_lines.h"

#include <setjmp.h>
#include <stdarg.h>
/* after those */
#include <cmocka.h>

#include "fixture_cubin.h"

#define SOURCE "/src/aiflame/kernels.cu"
#define CHAIN  "_Z5chainPfPKfi"
#define CALLS  "_Z5callsPfPKfi"
#define SHARED "_Z10shared_sumPfPKf"
#define APART  "_Z5apartfi"

struct opened {
	struct aif_buf bytes;
	struct aif_cubin cubin;
	struct aif_cubin_lines *lines;
};

static inline void open_golden(struct opened *o, const char *name)
{
	*o = (struct opened){0};
	golden_cubin(name, &o->bytes);
	assert_int_equal(aif_cubin_init(&o->cubin, o->bytes.data, o->bytes.len), 0);
	assert_int_equal(aif_cubin_lines_new(&o->cubin, &o->lines), 0);
}

static inline void close_all(struct opened *o)
{
	aif_cubin_lines_free(o->lines);
	aif_cubin_finish(&o->cubin);
	aif_buf_finish(&o->bytes);
}
