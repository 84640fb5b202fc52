/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/agent.h"

/*
 * Observers of PyTorch's operators and ranges: PyTorch calls them at the begin and end of each, in the thread that runs it;
 * torch.profiler is one of them. What PyTorch must have for it, since 1.13 (2022): the functions of observer.c, and observers as
 * at::RecordFunctionCallback was then. A version that lacks one of the functions is left alone.
 */

/* at::RecordScope: what is observed. */
enum aif_torch_scope { AIF_TORCH_OPERATOR = 0, AIF_TORCH_RANGE = 7 };

/* Stores an observer's state, std::unique_ptr<at::ObserverContext>: none. */
typedef void **aif_torch_start(void **ret_state, const void *range);
typedef void aif_torch_end(const void *range, void *state);
typedef const char *aif_torch_name(const void *range);

/* at::RecordFunction::name() const, or NULL: nothing can be observed. */
aif_torch_name *aif_torch_name_function(void);

/* Registers an observer of all threads and returns its handle; 0: none was registered. */
uint64_t aif_torch_observe(enum aif_torch_scope scope, aif_torch_start *start, aif_torch_end *end);
/* Takes it away again. What is under way in a thread still ends in the observer. */
void aif_torch_unobserve(uint64_t handle);
