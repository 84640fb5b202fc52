/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "record/ingest/opts.h"

/* Checks and takes in what of a program's run is to be collected: --repeat, --activate, --steps (NULL: not given). False with *err. */
bool aif_record_windows_right(const char *steps, const char *activate, struct aif_record_opts *o,
			      struct aif_err *err);

/* Checks --reduce, and makes AIF_REDUCE_NOT_GIVEN none of it. False with *err. */
#define AIF_REDUCE_NOT_GIVEN UINT32_MAX
bool aif_record_reduce_right(struct aif_record_opts *o, struct aif_err *err);

/* Prints when collecting begins: a waits() of struct aif_record_observer. */
void aif_record_say_waits(void *arg, uint64_t due_ns);
