/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Returns the path of the modules that the functions of a device binary are in; NULL: the code is none. */
const char *aif_device_binary_path(const struct aif_profile *p, const struct aif_code *c);

/* Copies a device binary into *ret, c->size bytes of malloc(), with what the profile has of its functions in its place. 0,
 * -ENODATA: it was not kept, -EBADMSG: it is damaged, -ENOMEM. */
int aif_device_binary_read(const struct aif_profile *p, const struct aif_code *c, uint8_t **ret);
