/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

int aif_cpu_list(const char *who, const char *list, cpu_set_t *ret, struct aif_err *err)
{
	const char *at = list;

	CPU_ZERO(ret);
	while (*at) {
		char *end;
		unsigned long from = strtoul(at, &end, 10), to = from;

		if (end != at && isdigit((unsigned char)*at) && *end == '-') {
			at = end + 1;
			to = strtoul(at, &end, 10);
		}
		if (end == at || !isdigit((unsigned char)*at) || (*end && *end != ',') ||
		    from > to || to >= CPU_SETSIZE)
			return aif_err_set(err, -EINVAL,
					   "%s: --cpus: '%s' is no list of CPUs; give one as 0-3,8",
					   who, list);
		for (unsigned long i = from; i <= to; i++)
			CPU_SET(i, ret);
		at = end + (*end == ',');
	}
	return 0;
}
