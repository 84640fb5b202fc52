/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/occupancy.h"

#define WARP          32
#define QUARTERS      4
#define REGISTER_UNIT 256
#define SM_70         70 /* what was before had other units */
#define SM_80         80

static uint64_t up_to(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

double aif_occupancy(const struct aif_device *d, uint64_t block_threads, uint32_t registers,
		     uint32_t shared)
{
	uint64_t warps = (block_threads + WARP - 1) / WARP, most = d->unit_threads / WARP, blocks,
		 of_warp = up_to((uint64_t)registers * WARP, REGISTER_UNIT),
		 of_block = up_to((uint64_t)shared + d->block_shared, d->arch < SM_80 ? 256 : 128);

	if (d->arch < SM_70 || !warps || !registers || !most || !d->unit_blocks ||
	    !d->unit_registers || !d->unit_shared)
		return 0;
	blocks = AIF_MIN(most / warps, (uint64_t)d->unit_blocks);
	blocks = AIF_MIN(blocks, d->unit_registers / QUARTERS / of_warp * QUARTERS / warps);
	if (of_block)
		blocks = AIF_MIN(blocks, d->unit_shared / of_block);
	return (double)(blocks * warps) / (double)most;
}

double aif_exec_occupancy(const struct aif_profile *p, const struct aif_exec_row *exec,
			  const struct aif_launch_row *launch)
{
	const struct aif_shape *s;

	if (!launch || exec->graph || exec->kind != AIF_LAUNCH_KERNEL || exec->device == AIF_NONE ||
	    launch->shape == AIF_NONE)
		return 0;
	s = &p->shapes[launch->shape];
	if (!s->block[0] || !s->block[1] || !s->block[2] || s->block[0] > 1024 ||
	    s->block[1] > 1024 || s->block[2] > 1024)
		return 0;
	return aif_occupancy(&p->devices[exec->device],
			     (uint64_t)s->block[0] * s->block[1] * s->block[2], exec->registers,
			     exec->shared_bytes);
}
