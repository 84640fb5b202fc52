/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/handshake.h"

/* Makes what agents show to be let in. 0 or -errno. */
int aif_token_make(char token[AIF_TOKEN_LEN + 1]);
/* Compares two of them in a time that says nothing of them. */
bool aif_token_is_same(const char *a, const char *b);
