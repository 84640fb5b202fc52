/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Numbers for people. */

/* "3.0 days", "1.23 s", "45.6 ms", "789 us", "12 ns"; "4.0 MiB"; "12.3 %"; "1,234,567"; "1
 * launch", "2 launches". */
void aif_human_ns(struct aif_buf *b, uint64_t ns);
void aif_human_bytes(struct aif_buf *b, uint64_t bytes);
void aif_human_share(struct aif_buf *b, uint64_t ppm);
void aif_human_count(struct aif_buf *b, uint64_t n);
void aif_human_counted(struct aif_buf *b, uint64_t n, const char *noun);
/* Append numbers in torch.profiler's form: "102.424s", "0.333us"; "88.10%", "-1.50 Mb". */
void aif_human_torch_ns(struct aif_buf *b, double ns);
void aif_human_torch_share(struct aif_buf *b, uint64_t ppm);
void aif_human_torch_bytes(struct aif_buf *b, int64_t bytes);
/* "1.21 kJ", "513 J", "12.3 mJ". */
void aif_human_energy(struct aif_buf *b, double j);
/* Unit of energies that are whole numbers, as widths of frames are. */
#define AIF_ENERGY_UNIT "uJ"
/* Unit of sizes, which pictures show as "4.0 MiB". */
#define AIF_BYTES_UNIT "bytes"
