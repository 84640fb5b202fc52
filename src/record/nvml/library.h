/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"
#include "record/nvml/abi.h"

#include <stddef.h>

/* NVML, loaded where the driver is. Calls may take seconds: a thread of its own makes them (reader.h). */
struct aif_nvml {
	void *lib;
#define AIF_NVML_CALL(field, symbol, parameters) int(*field) parameters;
#include "record/nvml/calls.def"
};

/* Loads libnvidia-ml.so.1. Returns NULL, or why not, a literal; then nothing is loaded. Does not initialise it. */
const char *aif_nvml_load(struct aif_nvml *ret);
void aif_nvml_unload(struct aif_nvml *n);

/* Returns a result's meaning, a literal: "no permission". */
const char *aif_nvml_result_text(int result);
