/* SPDX-License-Identifier: Apache-2.0 */
#include "mock.h"

__attribute__((constructor)) static void load(void)
{
	mock_loading();
}
