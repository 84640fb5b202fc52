/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/sources.h"

const struct aif_source *const aif_sources[AIF_SOURCE_COUNT] = {
#define AIF_SOURCE(NAME, name) &aif_source_##name,
#include "record/sources/sources.def"
};
