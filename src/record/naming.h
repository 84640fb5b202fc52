/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/modfiles.h"
#include "record/ingest/opts.h"
#include "record/ingest/store.h"

#include <stdatomic.h>

/*
 * The naming thread gives names to frames as they are first seen, and keeps the machine code of device
 * functions that were sampled. Where others want its CPU it gives way. It owns the symbolizer.
 */
struct aif_naming;

int aif_naming_new(struct aif_store *s, struct aif_modfiles *files,
		   const struct aif_record_opts *opts, struct aif_naming **ret);
/* True if the first n frames of the store have been looked at. */
bool aif_naming_has(const struct aif_naming *n, size_t frames);
/* Names what is left, without giving way, ends, and frees: NULL is fine. Once *is_impatient is true what is left
 * gets no names, and is counted. False if even then the thread does not end, inside a library that cannot be
 * interrupted: it goes on using the store and the files, which must stay until the process ends. */
bool aif_naming_finish(struct aif_naming *n, const atomic_bool *is_impatient);
