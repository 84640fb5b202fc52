/* SPDX-License-Identifier: Apache-2.0 */
#include "base/state.h"

#include <stdio.h>
#include <string.h>

bool aif_state_file(struct aif_state_file *ret, const char *name)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME"), *base;

	*ret = (struct aif_state_file){.is_xdg = xdg && *xdg == '/'};
	base = ret->is_xdg ? xdg : home;
	if (!base || *base != '/')
		return false;
	ret->base_len = strlen(base);
	return snprintf(ret->path, sizeof(ret->path), "%s%s/aiflame/%s", base,
			ret->is_xdg ? "" : "/.local/state", name) < (int)sizeof(ret->path);
}
