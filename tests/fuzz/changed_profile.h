/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Writes the profile of fixture_profile.h as process `pid`, with changed rows. The input is changes of eight bytes: a table or a
 * kind of bulk rows, a row, a column, a kind of value, four bytes of value.
 */
void changed_profile_write(const char *path, uint32_t pid, const uint8_t *data, size_t size);
