/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Targets that end, each in its own way, in the middle of launching on the agent's fake runtime, and
 * the driver that runs many of them under one recorder. What a target launched is counted by itself
 * in a file that all share, so that it is known whatever the end was.
 *
 *     exit_app drive REPORT JOBS WAY:N...   N targets of each way, JOBS at a time; exits 0 when each ended as
 *                                           it should. REPORT: "PID WAY BEGUN DONE" per target, then
 *                                           "recorder FDS MEMFDS" as they are when all have ended
 *     exit_app one REPORT WAY [stop]        one target, in this process; stop: it stops the recorder first
 *     exit_app counts REPORT 1              writes the REPORT of `one` when that has ended
 *     exit_app hold REPORT N                N targets that launch 500 a second each. After 3 s it notes what they
 *                                           have done, a second later it kills the recorder, then looks what the
 *                                           agents' helper threads still do, and ends the targets
 */

#define MAX_TARGETS 20000
#define LAUNCHERS   2
#define ENOUGH      100 /* launches of each thread before the end may come */
#define DEADLINE_S  20  /* for a target; then it hangs */

struct target {
	_Atomic uint32_t pid;
	uint32_t way;
	_Atomic uint64_t begun, done; /* launches: before and after each call */
	_Atomic uint64_t
		helper_ns; /* CPU time of the agent's helper thread in the last 2 s, hold */
	uint64_t noted;
	time_t deadline;
};

static struct target *targets, *self;
static int (*fake_run)(const char *script);
static void (*fake_launch)(uint32_t stream, uint32_t kernel);
static atomic_bool terminated, stops_recorder;
static _Atomic unsigned ready;

static void nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static void launch(unsigned i)
{
	atomic_fetch_add(&self->begun, 1);
	fake_launch(i % 3, i % 20);
	atomic_fetch_add(&self->done, 1);
}

static void begin(void)
{
	fake_run = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	fake_launch = (void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");
	if (!fake_run || !fake_launch || fake_run("generate kernels=20 streams=3") < 0)
		_exit(120);
}

static void *launch_for_ever(void *arg)
{
	const struct timespec pause = {.tv_nsec = 20000};

	(void)arg;
	for (unsigned i = 0;; i++) {
		launch(i);
		if (i == ENOUGH)
			ready++;
		/* The end must find it anywhere, but rings are finite. */
		if (i > ENOUGH && i % 8 == 0)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void *launch_some(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 3 * ENOUGH; i++)
		launch(i);
	return NULL;
}

static void start_launchers(void *(*fn)(void *))
{
	pthread_t thread;

	for (int i = 0; i < LAUNCHERS; i++)
		if (pthread_create(&thread, NULL, fn, NULL) || pthread_detach(thread))
			_exit(121);
}

/* ---- the ways -------------------------------------------------------------------------------- */

static int way_return(void)
{
	return 41;
}

static int way_exit(void)
{
	exit(42);
}

static void *exit_here(void *arg)
{
	(void)arg;
	launch(0);
	exit(43);
}

static void *exit_at_once_here(void *arg)
{
	(void)arg;
	launch(0);
	_exit(44);
}

static int in_thread(void *(*fn)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, NULL))
		return 122;
	pthread_join(thread, NULL);
	return 123;
}

static int way_exit_thread(void)
{
	return in_thread(exit_here);
}

static int way__exit(void)
{
	_exit(44);
}

static int way__exit_thread(void)
{
	return in_thread(exit_at_once_here);
}

static int way_quick_exit(void)
{
	quick_exit(45);
}

static int way_abort(void)
{
	abort();
}

static int way_segv(void)
{
	volatile int *volatile nowhere = NULL;

	*nowhere = 1;
	return 124;
}

static int way_sigkill(void)
{
	kill(getpid(), SIGKILL);
	nap(10000);
	return 124;
}

static int way_sigterm(void)
{
	kill(getpid(), SIGTERM);
	nap(10000);
	return 124;
}

static void on_sigterm(int sig)
{
	(void)sig;
	terminated = true;
}

static int way_handled(void)
{
	struct sigaction sa = {.sa_handler = on_sigterm};

	sigaction(SIGTERM, &sa, NULL);
	kill(getpid(), SIGTERM);
	for (unsigned i = 0; !terminated; i++)
		launch(i);
	return 46;
}

static int way_exec(void)
{
	char index[16];

	snprintf(index, sizeof(index), "%d", (int)(self - targets));
	execl("/proc/self/exe", "exit_app", "after-exec", getenv("EXIT_APP_FILE"), index, NULL);
	return 125;
}

/* The process goes on until its other threads have ended. */
static int way_pthread_exit(void)
{
	pthread_exit(NULL);
}

static const struct way {
	const char *name;
	int (*end)(void);
	int code, sig;
	void *(*launcher)(void *);
} ways[] = {
	{"return", way_return, 41, 0, launch_for_ever},
	{"exit", way_exit, 42, 0, launch_for_ever},
	{"exit_thread", way_exit_thread, 43, 0, launch_for_ever},
	{"_exit", way__exit, 44, 0, launch_for_ever},
	{"_exit_thread", way__exit_thread, 44, 0, launch_for_ever},
	{"quick_exit", way_quick_exit, 45, 0, launch_for_ever},
	{"abort", way_abort, 0, SIGABRT, launch_for_ever},
	{"segv", way_segv, 0, SIGSEGV, launch_for_ever},
	{"sigkill", way_sigkill, 0, SIGKILL, launch_for_ever},
	{"sigterm", way_sigterm, 0, SIGTERM, launch_for_ever},
	{"handled", way_handled, 46, 0, launch_for_ever},
	{"exec", way_exec, 47, 0, launch_for_ever},
	{"pthread_exit", way_pthread_exit, 0, 0, launch_some},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static unsigned way_named(const char *name)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (!strcmp(ways[i].name, name))
			return i;
	fprintf(stderr, "exit_app: no such way: %s\n", name);
	exit(2);
}

static int run_target(const struct way *w)
{
	begin();
	if (stops_recorder)
		kill(getppid(), SIGSTOP);
	start_launchers(w->launcher);
	while (w->launcher == launch_for_ever && ready < LAUNCHERS)
		nap(1);
	return w->end();
}

/* ---- the driver ------------------------------------------------------------------------------ */

static void map_targets(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t size = MAX_TARGETS * sizeof(*targets);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		exit(2);
	targets = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (targets == MAP_FAILED)
		exit(2);
	setenv("EXIT_APP_FILE", file, 1);
}

static void spawn(unsigned i, const char *verb)
{
	char index[16];
	pid_t pid;

	snprintf(index, sizeof(index), "%u", i);
	targets[i].deadline = time(NULL) + DEADLINE_S;
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "exit_app", verb, getenv("EXIT_APP_FILE"), index, NULL);
		_exit(126);
	}
	if (pid < 0)
		exit(2);
	targets[i].pid = (uint32_t)pid;
}

static bool ended_well(const struct target *t, int status)
{
	const struct way *w = &ways[t->way];

	if (w->sig ? WIFSIGNALED(status) && WTERMSIG(status) == w->sig
		   : WIFEXITED(status) && WEXITSTATUS(status) == w->code)
		return true;
	printf("target %u (%s) ended with status %#x\n", t->pid, w->name, (unsigned)status);
	return false;
}

static unsigned count_lines(const char *command)
{
	FILE *f = popen(command, "r");
	unsigned n = 0;

	if (!f || fscanf(f, "%u", &n) != 1)
		n = 9999;
	if (f)
		pclose(f);
	return n;
}

static void report(const char *file, unsigned n, pid_t recorder)
{
	FILE *f = fopen(file, "we");
	char command[256];

	if (!f)
		exit(2);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%u %s %llu %llu\n", targets[i].pid, ways[targets[i].way].name,
			(unsigned long long)targets[i].begun, (unsigned long long)targets[i].done);
	if (recorder > 0) {
		nap(500);
		snprintf(command, sizeof(command), "ls /proc/%d/fd | wc -l", (int)recorder);
		fprintf(f, "recorder %u ", count_lines(command));
		snprintf(command, sizeof(command), "grep -c memfd:aiflame /proc/%d/maps",
			 (int)recorder);
		fprintf(f, "%u\n", count_lines(command));
	}
	fclose(f);
}

static int drive(const char *file, unsigned jobs, char **plan)
{
	unsigned n = 0, next = 0, running = 0, bad = 0;

	for (; *plan; plan++) {
		char *colon = strchr(*plan, ':');
		unsigned count = colon ? (unsigned)atoi(colon + 1) : 1;

		if (colon)
			*colon = '\0';
		for (unsigned way = way_named(*plan); count && n < MAX_TARGETS; count--)
			targets[n++].way = way;
	}
	while (next < n || running) {
		int status;
		pid_t pid;

		while (running < jobs && next < n) {
			spawn(next++, "target");
			running++;
		}
		pid = waitpid(-1, &status, WNOHANG);
		if (pid <= 0)
			nap(1);
		for (unsigned i = 0; i < next; i++) {
			struct target *t = &targets[i];

			if (!t->deadline)
				continue;
			if (pid > 0 && t->pid == (uint32_t)pid) {
				t->deadline = 0;
				running--;
				bad += !ended_well(t, status);
			} else if (time(NULL) > t->deadline) {
				printf("target %u (%s) hangs\n", t->pid, ways[t->way].name);
				kill((pid_t)t->pid, SIGKILL);
				t->deadline += DEADLINE_S;
			}
		}
	}
	report(file, n, getppid());
	return bad != 0;
}

/* ---- a recorder that dies -------------------------------------------------------------------- */

/* CPU time of the helper thread, from the scheduler's own count. */
static uint64_t helper_ns(void)
{
	FILE *f = popen(
		"for t in /proc/$PPID/task/*; do grep -qx aiflame $t/comm && cat $t/schedstat; "
		"done",
		"r");
	unsigned long long ns = 0;

	if (f && fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	if (f)
		pclose(f);
	return ns;
}

/* 3 s before the recorder is killed, 4 s after it, in the first of which the agent notices. */
static int hold_target(void)
{
	uint64_t before = 0;

	begin();
	for (unsigned i = 0; !terminated; i++) {
		launch(i);
		nap(2);
		if (i == 2500)
			before = helper_ns();
		if (i == 3000)
			break;
	}
	self->helper_ns = helper_ns() - before + (before == 0) * 1000000000;
	return 48;
}

static int hold(const char *file, unsigned n)
{
	pid_t recorder = getppid();
	unsigned bad = 0;
	FILE *f;
	int status;

	for (unsigned i = 0; i < n; i++)
		spawn(i, "held");
	nap(2500);
	for (unsigned i = 0; i < n; i++)
		targets[i].noted = targets[i].done;
	nap(1000);
	kill(recorder, SIGKILL);
	for (unsigned i = 0; i < n; i++) {
		waitpid((pid_t)targets[i].pid, &status, 0);
		bad += !WIFEXITED(status) || WEXITSTATUS(status) != 48;
	}
	f = fopen(file, "we");
	if (!f)
		return 2;
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%u %llu %llu %llu\n", targets[i].pid,
			(unsigned long long)targets[i].noted, (unsigned long long)targets[i].done,
			(unsigned long long)targets[i].helper_ns);
	fprintf(f, "bad %u\n", bad);
	return fclose(f) || bad;
}

int main(int argc, char **argv)
{
	static const struct rlimit no_core;
	const char *verb = argc > 3 ? argv[1] : "";
	char file[4096];

	setrlimit(RLIMIT_CORE, &no_core);
	if (!strcmp(verb, "target") || !strcmp(verb, "after-exec") || !strcmp(verb, "held")) {
		map_targets(argv[2]);
		self = &targets[atoi(argv[3])];
		if (!strcmp(verb, "target"))
			return run_target(&ways[self->way]);
		if (!strcmp(verb, "held"))
			return hold_target();
		begin();
		launch_some(NULL);
		return 47;
	}
	if (!*verb)
		return 2;
	snprintf(file, sizeof(file), "%s.counts", argv[2]);
	map_targets(file);
	if (!strcmp(verb, "drive") && argc > 4)
		return drive(argv[2], (unsigned)atoi(argv[3]), argv + 4);
	if (!strcmp(verb, "counts"))
		return report(argv[2], 1, 0), 0;
	if (!strcmp(verb, "one")) {
		self = targets;
		self->pid = (uint32_t)getpid();
		stops_recorder = argc > 4;
		return run_target(&ways[way_named(argv[3])]);
	}
	if (!strcmp(verb, "hold"))
		return hold(argv[2], (unsigned)atoi(argv[3]));
	return 2;
}
