/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Events of IBM's AIU (Spyre) in traces: aiu_events.def. */

enum aif_aiu_group {
	AIF_AIU_NONE, /* no call of its runtime */
	AIF_AIU_LAUNCH,
	AIF_AIU_WAIT,
	AIF_AIU_GRAPH,
	AIF_AIU_MEMORY,
	AIF_AIU_DMA,
	AIF_AIU_RDMA,
	AIF_AIU_RDMA_WAIT, /* for other AIUs */
	AIF_AIU_CACHE,
	AIF_AIU_COMPILE,
	AIF_AIU_CALIBRATION,
	AIF_AIU_OTHER, /* of its runtime, and not in the list */
	AIF_AIU_GROUP_COUNT
};

enum aif_aiu_group aif_aiu_group_of(const char *name, size_t len);
/* "launch", "RDMA wait" ... */
const char *aif_aiu_group_name(enum aif_aiu_group group);

/* Flex, the runtime's own traces: "add Cmpt Exec" is the kernel "add". What the event is, and how much of its name is the
 * node's; FLEX_NONE: no name of that dialect. */
enum aif_aiu_flex { AIF_FLEX_NONE, AIF_FLEX_KERNEL, AIF_FLEX_IN, AIF_FLEX_OUT, AIF_FLEX_PREPARE };
enum aif_aiu_flex aif_aiu_flex_of(const char *name, size_t len, size_t *ret_len);
