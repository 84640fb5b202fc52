/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/range_index.h"
#include "base/buf.h"

/*
 * XLA's ranges, read. XLA names what it does by NVTX ranges of the domain "TSL" (xla/tsl/profiler, TraceMeEncode):
 *
 *   TSL:XlaModule:#hlo_module=jit_update,program_id=7958#
 *   TSL:Thunk:#name=jit(update)/jvp()/dot_general,hlo_op=cublas-lt-matmul.2,unique_hlo_op_id=34359738410#
 *   TSL:XlaPass:#name=algsimp,module=jit_update,program_id=7958#
 *
 * A thunk's payload has the field "Source locations", the merged Python stacks of the instruction's parts as a tree, one
 * frame a line, the depth as dashes, a leaf with the op_name behind that of the range:
 *
 *   - /work/train.py:28:19[update]
 *   -- /work/train.py:23:21[loss] mul
 *
 * All of it comes from the program and may be anything.
 */

/* Frames of a range; what is between the outermost and the innermost is left out. */
#define AIF_XLA_FRAMES 48
/* Lines of a tree of source locations, op_names of an instruction, and bytes of a text that are read. */
#define AIF_XLA_LINES 64
#define AIF_XLA_PATHS 16
#define AIF_XLA_TEXT  4096

struct aif_xla_frame {
	enum aif_range_kind kind;
	uint32_t at; /* the text in .text */
};

struct aif_xla_range {
	struct aif_buf text; /* terminated texts */
	struct aif_xla_frame frames[AIF_XLA_FRAMES];
	size_t len;
	bool is_thunk;
};

/* Reads a range's name and its payload ("": none). Sets *ret, outermost frame first: module; or scopes, source lines, op,
 * instruction; or the compiler's work. *ret is finished by the caller. 0; -ENOENT: no range of XLA's; -ENOMEM. */
int aif_xla_read(const char *name, const char *payload, struct aif_xla_range *ret);
void aif_xla_finish(struct aif_xla_range *r);

static inline const char *aif_xla_text(const struct aif_xla_range *r, size_t i)
{
	return (const char *)r->text.data + r->frames[i].at;
}
