/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/target.h"

/*
 * GPUs by their address on the bus (wire.h). The recorder's own sources know a card's address and no name; agents know
 * both. A card that was sampled before any agent defined it (-a) is thus one device of the profile, not two. All
 * functions need the store's lock.
 */

/* Returns the device of the card at `pci`, made if no agent has defined it yet. AIF_NONE: there are too many. */
uint32_t aif_gpu_device(struct aif_drainer *d, uint32_t pci);
/* Returns the device of the card at `pci`, or AIF_NONE if there is none yet. */
uint32_t aif_gpu_find(const struct aif_drainer *d, uint32_t pci);
/* Defines a GPU as an agent describes it; pci 0: its address is not known. Returns its device. */
uint32_t aif_gpu_define(struct aif_drainer *d, uint32_t pci, const struct aif_device *device);
