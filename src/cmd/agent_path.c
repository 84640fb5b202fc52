/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/agent_path.h"

#include "record/attach_dir.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT "libaiflame-agent.so"

/*
 * LD_PRELOAD is split at spaces and colons and knows no quotes: an agent below such a name is given
 * another, in the user's own folder. It stays: processes that are started later may name it.
 */
static void without_separators(char *path, size_t size)
{
	char dir[AIF_STANDBY_DIR_MAX], link[PATH_MAX];
	struct stat st, there;
	int fd;

	if (!strpbrk(path, " :") || stat(path, &st) < 0)
		return;
	aif_standby_default(dir);
	fd = aif_standby_open(dir, geteuid(), true);
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "%s/libaiflame-agent-%jx.so", dir, (uintmax_t)st.st_ino);
	if (stat(link, &there) < 0 || there.st_dev != st.st_dev || there.st_ino != st.st_ino) {
		unlink(link);
		if (symlink(path, link) < 0)
			link[0] = '\0';
	}
	close(fd);
	if (link[0])
		snprintf(path, size, "%s", link);
}

static void find(char *to, size_t size)
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

void aif_agent_path(char *to, size_t size)
{
	find(to, size);
	without_separators(to, size);
}
