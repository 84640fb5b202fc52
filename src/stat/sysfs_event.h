/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Finds the number of an event that the core PMU's driver names in sysfs. False: it does not name it. */
bool aif_stat_sysfs_event(const char *name, uint64_t *ret_config);

/* Parses the text of such a file: "event=0x00,umask=0x80". False: it has another field than these two. */
bool aif_stat_sysfs_parse(const char *text, uint64_t *ret_config);
