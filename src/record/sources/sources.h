/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/source.h"

/* The recorder's sources by number, and the table of them. */
enum aif_source_number {
#define AIF_SOURCE(NAME, name) AIF_SOURCE_##NAME,
#include "record/sources/sources.def"
	AIF_SOURCE_COUNT
};
static_assert(AIF_SOURCE_COUNT <= AIF_SOURCES_MAX, "states of struct aif_drainer and aif_target");

#define AIF_SOURCE(NAME, name) extern const struct aif_source aif_source_##name;
#include "record/sources/sources.def"

extern const struct aif_source *const aif_sources[AIF_SOURCE_COUNT];
