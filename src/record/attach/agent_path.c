/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/agent_path.h"

#include "base/proc.h"
#include "record/attach/attach_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT "libaiflame-agent.so"
#define LINK  "libaiflame-agent-" /* and the number of its file */

/* Links of ours whose agent is gone. */
static void remove_dead(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (e = readdir(dir)) != NULL)
		if (!strncmp(e->d_name, LINK, sizeof(LINK) - 1) &&
		    fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(st.st_mode) && fstatat(dirfd, e->d_name, &st, 0) < 0 &&
		    (errno == ENOENT || errno == ENOTDIR))
			unlinkat(dirfd, e->d_name, 0);
	if (dir)
		closedir(dir);
}

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
	snprintf(link, sizeof(link), "%s/" LINK "%jx.so", dir, (uintmax_t)st.st_ino);
	if (stat(link, &there) < 0 || there.st_dev != st.st_dev || there.st_ino != st.st_ino) {
		unlink(link);
		remove_dead(fd);
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

const char *aif_agent_why_none(void)
{
	static const char why[] = AIF_NO_AGENT;

	return *why ? why : aif_proc_why_none();
}

bool aif_agent_is_closed(const char *agent, char *to, size_t size)
{
	mode_t needed = S_IROTH;
	struct stat st;

	for (size_t len = strlen(agent); len > 1; needed = S_IXOTH) {
		snprintf(to, size, "%.*s", (int)len, agent);
		if (stat(to, &st) == 0 && !(st.st_mode & needed))
			return true;
		while (len && agent[len - 1] != '/')
			len--;
		while (len > 1 && agent[len - 1] == '/')
			len--;
	}
	return false;
}

void aif_agent_path(char *to, size_t size)
{
	find(to, size);
	without_separators(to, size);
}
