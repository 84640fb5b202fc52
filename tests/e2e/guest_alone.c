/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that count their threads, or give up what they may do while another thread in them would be held up. */
#include "guest_app.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int is_held;

static int hold_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	is_held = 1;
	while (is_held)
		pause();
	return 1;
}

static void *hold_loader_thread(void *arg)
{
	dl_iterate_phdr(hold_loader, NULL);
	return arg;
}

/* Forks while another thread has the lock of the loader's list: in the child it is nobody's, and locked. Its child gives
 * up what it may do by `drop`, after as long a time as another one may need to begin in it, and says what all have. */
static void fork_held(void (*drop)(void))
{
	pthread_t thread;
	pid_t child;

	guest_burn();
	guest_say("create", pthread_create(&thread, NULL, hold_loader_thread, NULL));
	while (!is_held)
		sched_yield();
	child = fork();
	if (!child) {
		for (int i = 0; i < 16; i++)
			guest_burn();
		drop();
		guest_credentials();
		guest_burn();
		guest_credentials();
		_exit(7);
	}
	guest_say("child", guest_status(child));
}

static void drop_user(void)
{
	guest_say("setresgid", setresgid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	guest_say("setresuid", setresuid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
}

static void drop_caps(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	guest_say("bounding", prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0));
	guest_say("capset", syscall(SYS_capset, &h, none));
}

void guest_fork_held_user(void)
{
	fork_held(drop_user);
}

void guest_fork_held_caps(void)
{
	fork_held(drop_caps);
}

/* Calls a function with each thread of a process but its first, until that returns true. Returns their number until then. */
static int each_other_thread(pid_t pid, bool (*call)(pid_t tid))
{
	char path[64];
	struct dirent *e;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = fdopendir(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)); /* opendir() is seen */
	while (dir && (e = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		n += tid > 0 && tid != pid;
		if (tid > 0 && tid != pid && call && call(tid))
			break;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Lists the threads again and again, as programs do that insist on being alone. */
void guest_counts_listed(void)
{
	for (int i = 0; i < 4; i++) {
		DIR *dir, *other;
		int n = 0;

		for (int k = 0; k < 4; k++)
			guest_burn();
		dir = opendir("/proc/self/task");
		other = opendir("/proc/self/task/");
		if (!dir || !other)
			_exit(98);
		closedir(other);
		guest_burn();
		while (readdir(dir))
			n++;
		guest_say("threads", n - 2);
		closedir(dir);
	}
	for (int k = 0; k < 4; k++)
		guest_burn();
}

static bool may_see(pid_t tid)
{
	char path[64], to[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/exe", getppid(), tid);
	if (readlink(path, to, sizeof(to)) <= 0)
		guest_say("another thread is not restricted", tid > 0);
	return false;
}

/* Restricts itself and what it makes from then on: a child may not look at what is not restricted in that way. */
void guest_landlock(void)
{
	struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_SOCK};
	long fd;
	pid_t child;

	for (int i = 0; i < 8; i++)
		guest_burn();
	guest_say("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	/* Lets another thread begin again, not yet restricted. */
	for (int i = 0; i < 32; i++)
		guest_burn();
	fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	guest_say("rules", fd < 0 ? fd : 0);
	guest_say("restrict", syscall(SYS_landlock_restrict_self, fd, 0));
	close((int)fd);
	child = fork();
	if (!child) {
		each_other_thread(getppid(), may_see);
		_exit(0);
	}
	guest_say("child", guest_status(child));
}

static bool hold_thread(pid_t tid)
{
	return ptrace(PTRACE_SEIZE, tid, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 &&
	       waitpid(tid, NULL, __WALL) == tid;
}

/* Another thread, should there be one, gets no CPU while the program gives up what its thread may do. Afterwards it does,
 * and must not go on as what it was. */
void guest_held_up(void)
{
	int held[2], let_go[2];
	pid_t child;
	char c = 0;

	guest_say("tracer", prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0));
	for (int i = 0; i < 16; i++)
		guest_burn();
	if (pipe(held) < 0 || pipe(let_go) < 0)
		_exit(98);
	child = fork();
	if (!child) {
		each_other_thread(getppid(), hold_thread);
		if (write(held[1], "", 1) != 1 || read(let_go[0], &c, 1) != 1)
			_exit(98);
		_exit(0); /* lets the thread go */
	}
	guest_say("held", read(held[0], &c, 1));
	guest_say("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	guest_say("let go", write(let_go[1], "", 1));
	guest_say("child", guest_status(child));
	for (int i = 0; i < 500 && each_other_thread(getpid(), NULL); i++)
		usleep(10000);
}
