/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/agent_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGENT "libaiflame-agent.so"

void aif_agent_path(char *to, size_t size)
{
	static const char *const places[] = {"/agent/" AGENT, "/../" AIF_LIBDIR "/aiflame/" AGENT,
					     "/../lib/aiflame/" AGENT};
	const char *given = getenv("AIFLAME_AGENT");
	char exe[PATH_MAX], path[PATH_MAX + 64], real[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (strrchr(exe, '/'))
		*strrchr(exe, '/') = '\0';
	snprintf(to, size, "%s%s", exe, places[1]);
	if (given && *given) {
		snprintf(to, size, "%s", realpath(given, real) ? real : given);
		return;
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(places); i++) {
		snprintf(path, sizeof(path), "%s%s", exe, places[i]);
		if (access(path, R_OK) == 0 && realpath(path, real)) {
			snprintf(to, size, "%s", real);
			return;
		}
	}
}
