/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct kineto;

/*
 * Traces of Huawei's Ascend NPUs, as msprof and torch_npu write them (trace_view.json): work of a device has no category,
 * but "Task Type" among its args; its thread is the stream. Calls of CANN are "AscendCL@aclnnAdd", "Node@launch"; a call
 * and its work have the same "connection_id".
 */

/* Sets the class of k->event where it is one of these. Returns false where it is a device's wait for another stream. */
bool kineto_npu_classify(struct kineto *k);
