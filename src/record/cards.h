/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/target.h"

/*
 * GPUs by their address on the bus (wire.h): what the recorder samples itself has that, and no name; what agents tell has both.
 * So a card that was sampled before any program told of it (-a) is one device of the profile, not two. Under the store's lock.
 */

/* The device of the card at pci, which an agent told of, or tells of later; AIF_NONE: there are too many. */
uint32_t aif_card_device(struct aif_drainer *d, uint32_t pci);
/* Is it known already? The device, or AIF_NONE. */
uint32_t aif_card_known(const struct aif_drainer *d, uint32_t pci);
/* An agent tells of a GPU, pci 0: not where. Its device. */
uint32_t aif_card_told(struct aif_drainer *d, uint32_t pci, const struct aif_device *device);
