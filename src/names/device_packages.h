/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * Installed packages of Python in which devices are used: below one of whose functions an accelerator's runtime was called
 * in some stack. Models and servers do that, and their functions say more than the script that calls them. What only
 * computes on the host (images, tables, archives) is what some line of the program uses, and that line says more.
 */
struct aif_device_packages {
	struct aif_map found; /* hash of a package's directory */
	bool is_ready;
};

/* 0 or -ENOMEM; finished by the caller in any case, a zeroed one too. */
int aif_device_packages_find(const struct aif_profile *p, struct aif_device_packages *ret);
void aif_device_packages_finish(struct aif_device_packages *d);

/* Returns false for a file of a package that uses no device, if any package does. True also for files of no package. */
bool aif_device_packages_has(const struct aif_device_packages *d, const char *file);
