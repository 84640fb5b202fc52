/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct kineto;
struct kineto_pid;

/*
 * Traces of JAX and TensorFlow, as XLA's profiler writes them: no event has a category. A process that is named
 * "/device:GPU:0" is a device, and its threads "Stream #14(Compute)" are queues; other threads of it sum up what the queues
 * did ("XLA Modules", "XLA Ops"). Names of processes and threads come before the events.
 */

/* Notes that a process is a device, by its name. */
void kineto_xla_name_process(struct kineto *k, struct kineto_pid *p, const char *name, size_t len);
/* Sets the class of k->event, and which device and queue it is of, where the trace is one of these and the event has no
 * category. Returns false where it only sums up others. */
bool kineto_xla_classify(struct kineto *k);
