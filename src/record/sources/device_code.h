/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ingest.h"
#include "record/sources/code_map.h"

/*
 * Agents' records of devices' own code (AIF_WIRE_CODE, REASON, PLACE): functions, names of stall reasons, and where the
 * functions lie in devices' memory. A device function is a module; what it is called and looks like, naming finds out
 * (device_names.h). Other sources join their samples to it. Everything needs the store's lock.
 */

/* A function of a device's own code that was sampled, or may be. */
struct aif_device_function {
	uint32_t module, name; /* of the store; name: a string, demangled */
};

/* Returns where the functions of all targets lie. */
struct aif_code_map *aif_device_code_map(const struct aif_drainer *d);
/* Returns the function of the agent's id, or NULL. */
const struct aif_device_function *aif_device_code_function(const struct aif_target *t, uint32_t id);
/* Returns the string of the agent's stall reason, or AIF_NONE. */
uint32_t aif_device_code_reason(const struct aif_target *t, uint64_t id);
/* Fills in where a record says that a function lies. False: it names no function or device that its agent has defined,
 * or a CPU. */
bool aif_device_code_place(const struct aif_ingest *in, const struct aif_wire_place *r,
			   struct aif_code_range *ret);

/* Links the function's module to the kernel of its name, if that exists by now: agents may define a kernel later than
 * its samples. */
void aif_device_code_link(struct aif_drainer *d, const struct aif_target *t,
			  const struct aif_device_function *function);
/* Does that for all functions of all targets. */
void aif_device_code_link_all(struct aif_drainer *d);
