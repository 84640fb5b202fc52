/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/scratch.h"

#include "agent/agent.h"

enum { PCS, FRAMES, SPS, PYTHON, ORDER, CODE, PARTS };
_Static_assert(PARTS == AIF_SCRATCH_PARTS, "all of them");

void aif_scratch_bytes(size_t bytes[AIF_SCRATCH_PARTS])
{
	bytes[PCS] = AIF_MEMO_MAX_DEPTH * sizeof(uint64_t);
	bytes[FRAMES] = (AIF_MEMO_MAX_DEPTH + 1) * sizeof(struct aif_unwind_frame);
	bytes[SPS] = AIF_MEMO_MAX_DEPTH * sizeof(uint64_t);
	bytes[PYTHON] = AIF_THREAD_PYTHON * sizeof(struct aif_python_frame);
	bytes[ORDER] = AIF_WIRE_MAX_DEPTH * sizeof(uint32_t);
	bytes[CODE] = AIF_PYTHON_CODE_BUFFER;
}

void aif_scratch_init(struct aif_scratch *s, void *const parts[AIF_SCRATCH_PARTS])
{
	s->pcs = parts[PCS];
	s->frames = parts[FRAMES];
	s->sps = parts[SPS];
	s->python = parts[PYTHON];
	s->order = parts[ORDER];
	s->code = parts[CODE];
}

struct aif_interleave aif_scratch_interleave(const struct aif_scratch *s,
					     const struct aif_python_stack *py)
{
	return (struct aif_interleave){.frames = s->python,
				       .python_len = py->depth,
				       .python_cut = py->stop != AIF_PYTHON_STOP_END,
				       .eval_lo = aif_agent.python->eval_lo,
				       .eval_hi = aif_agent.python->eval_hi};
}
