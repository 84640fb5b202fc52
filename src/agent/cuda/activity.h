/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;

/* 2 MiB hold 9,700 kernel records: 0.14 s of a fast decode. */
#define AIF_CUDA_BUFFER  (2u << 20)
#define AIF_CUDA_BUFFERS 32

/* Gives CUPTI our buffer functions. 0 or CUPTI's error. */
int aif_cuda_activity_init(struct aif_cuda *cuda);
/* Switches all kinds of records, now. Off only with the gate shut: aif_cuda_records_want(). 0 or
 * CUPTI's error. */
int aif_cuda_activity_switch(struct aif_cuda *cuda, bool on);
/* Reads the records that are complete. `last`: waits, not for long, until all of them are read. */
void aif_cuda_activity_flush(struct aif_cuda *cuda, bool last);
