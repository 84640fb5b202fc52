/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Objects of device code that a vendor shows for the length of a callback only: left as files beside the
 * recorder's socket (wire/handshake.h), each once. No allocation, no lock; errno is kept. False: it could not
 * be left, or is too large, or the process has left this recorder AIF_OBJECTS_MAX bytes.
 */
bool aif_object_keep(uint64_t hash, const void *bytes, size_t n);
