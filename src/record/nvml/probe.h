/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Tries NVML on a GPU (pci: as in wire.h, 0: the only one), for people: appends what it gives or why it gives nothing, "clocks, power, energy; GPM not
 * permitted". Calls of the driver may take a second. True: it can be read. */
bool aif_nvml_probe(uint32_t pci, struct aif_buf *out);
