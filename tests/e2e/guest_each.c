/* SPDX-License-Identifier: Apache-2.0 */
/* Each case in a process of its own: what it says, how it ends, and where it is when it does not end. */
#include "guest_app.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CASE_LIMIT_S 300

struct running {
	pid_t pid; /* 0 when it has ended: the number may be another's soon */
	time_t since;
};

static pid_t start(const char *self, const char *name)
{
	char said[64];
	pid_t child = fork();
	int fd;

	if (child)
		return child;
	snprintf(said, sizeof(said), "%s.said", name);
	fd = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	dup2(fd, 1);
	execl(self, self, name, NULL);
	_exit(97);
}

/* Writes where each thread of a process is: its name, its system call with its arguments, what it waits in. */
static void write_threads(FILE *out, pid_t pid)
{
	static const char *const files[] = {"comm", "syscall", "wchan"};
	char path[128], text[256];
	struct dirent *thread;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (thread = readdir(dir)))
		for (unsigned i = 0; thread->d_name[0] != '.' && i < 3; i++) {
			FILE *in;

			snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", pid, thread->d_name,
				 files[i]);
			in = fopen(path, "r");
			if (in && fgets(text, sizeof(text), in))
				fprintf(out, "  %s %.20s %.*s\n", files[i], thread->d_name,
					(int)strcspn(text, "\n"), text);
			if (in)
				fclose(in);
		}
	if (dir)
		closedir(dir);
}

/* Adds how a case ended to what it said. One that does not end is killed. */
static void end_case(const char *name, pid_t pid, bool ended, int status)
{
	char said[64];
	FILE *f;

	snprintf(said, sizeof(said), "%s.said", name);
	f = fopen(said, "a");
	if (ended) {
		fprintf(f, "  %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	} else {
		fprintf(f, "  no end after %d s\n", CASE_LIMIT_S);
		write_threads(f, pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	fclose(f);
}

int guest_each(const char *self, const char *const *names, unsigned n, unsigned at_a_time)
{
	struct running *cases = calloc(n, sizeof(*cases));
	unsigned next = 0, running = 0;

	while (cases && (next < n || running)) {
		int status = 0;
		pid_t pid;

		if (next < n && running < at_a_time) {
			cases[next].since = time(NULL);
			cases[next].pid = start(self, names[next]);
			next++;
			running++;
			continue;
		}
		pid = waitpid(-1, &status, WNOHANG);
		if (pid <= 0)
			usleep(2000);
		for (unsigned i = 0; i < next; i++) {
			bool ended = pid > 0 && cases[i].pid == pid;

			if (!ended && (!cases[i].pid || time(NULL) - cases[i].since < CASE_LIMIT_S))
				continue;
			end_case(names[i], cases[i].pid, ended, status);
			cases[i].pid = 0;
			running--;
		}
	}
	free(cases);
	return 0;
}
