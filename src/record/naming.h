/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/modfiles.h"
#include "record/opts.h"
#include "record/store.h"

/*
 * The naming thread gives names to frames as they are first seen, and keeps the machine code of device
 * functions that were sampled. Where others want its CPU it gives way. It owns the symbolizer.
 */
struct aif_naming;

int aif_naming_new(struct aif_store *s, struct aif_modfiles *files,
		   const struct aif_record_opts *opts, struct aif_naming **ret);
/* Names what is left, without giving way, and ends. Free: NULL is fine. */
void aif_naming_finish(struct aif_naming *n);
