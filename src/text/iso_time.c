/* SPDX-License-Identifier: Apache-2.0 */
#include "text/iso_time.h"

#include <time.h>

void aif_iso_time_now(struct aif_buf *out)
{
	struct timespec now;
	char text[32] = "";
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	if (gmtime_r(&now.tv_sec, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	aif_buf_printf(out, "%s.%06ld+00:00", text, now.tv_nsec / 1000);
}
