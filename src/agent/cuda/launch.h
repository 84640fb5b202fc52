/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;

/* CUPTI's callback. */
void aif_cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data);
/* Switches the callbacks of all calls that launch. 0 or CUPTI's error. */
int aif_cuda_callbacks_switch(struct aif_cuda *cuda, bool on);
/* Switches on what calls back for as long as we subscribe: calls that launch nothing, contexts, modules. */
void aif_cuda_callbacks_subscribe(struct aif_cuda *cuda);
