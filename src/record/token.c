/* SPDX-License-Identifier: Apache-2.0 */
#include "record/token.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

int aif_token_make(char token[AIF_TOKEN_LEN + 1])
{
	uint8_t random[AIF_TOKEN_LEN / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

bool aif_token_is_same(const char *a, const char *b)
{
	unsigned diff = 0;

	for (size_t i = 0; i < AIF_TOKEN_LEN; i++)
		diff |= (unsigned)(a[i] ^ b[i]);
	return diff == 0;
}
