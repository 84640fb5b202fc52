/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile double x = 1;

void guest_burn(void)
{
	for (int i = 0; i < 6000000; i++)
		x = x * 1.0001 + .5;
}

void guest_say(const char *what, long r)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "  %s %ld %s\n", what, r,
			 r < 0 ? strerrorname_np(errno) : "");

	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

void *guest_short_thread(void *arg)
{
	for (int i = 0; i < 100000; i++)
		x = x * 1.0001;
	return arg;
}

/* ---- credentials --------------------------------------------------------------------------------- */

static void read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

void guest_credentials(void)
{
	static const char *const lines[] = {
		"Uid:",    "Gid:",    "Groups:", "NoNewPrivs:", "CapInh:",
		"CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
	char seen[8][2048];
	unsigned len = 0;
	/* opendir() would ask another one to hide. */
	DIR *dir = fdopendir(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *e;

	while (dir && (e = readdir(dir)) != NULL) {
		char path[300], text[4096], mine[2048] = "";
		unsigned i = 0;

		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		read_file(path, text, sizeof(text));
		for (unsigned k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
			const char *at = strstr(text, lines[k]);

			if (at && strlen(mine) + 300 < sizeof(mine))
				snprintf(mine + strlen(mine), 300, "  %.*s\n",
					 (int)strcspn(at, "\n"), at);
		}
		while (i < len && strcmp(seen[i], mine))
			i++;
		if (i == len && len < 8 && *text)
			strcpy(seen[len++], mine);
	}
	if (dir)
		closedir(dir);
	for (unsigned i = 0; i < len; i++)
		fputs(seen[i], stdout);
	fflush(stdout);
}

static long caps_set(uint32_t effective, uint32_t permitted)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{.effective = effective, .permitted = permitted}};

	return syscall(SYS_capset, &h, d);
}

static void keepcaps(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];

	/* Long enough for samples on a busy machine. */
	for (int i = 0; i < 4; i++)
		guest_burn();
	guest_say("keepcaps", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	guest_say("setresuid", setresuid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	syscall(SYS_capget, &h, d);
	for (int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted;
	guest_say("capset", syscall(SYS_capset, &h, d));
	guest_say("setresgid", setresgid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	for (int i = 0; i < 4; i++)
		guest_burn();
}

static void secbits(void)
{
	guest_burn();
	guest_say("securebits",
		  prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS | SECBIT_NO_SETUID_FIXUP));
	guest_say("setresuid", setresuid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	guest_say("setresgid", setresgid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	guest_burn();
}

static void dropcaps(void)
{
	guest_burn();
	guest_say("capset", caps_set(0, 0));
	guest_burn();
	guest_say("setgroups", setgroups(0, NULL));
	guest_say("setresuid", setresuid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
}

static void somecaps(void)
{
	guest_burn();
	guest_say("capset", caps_set(1u << CAP_SETUID | 1u << CAP_SETGID,
				     1u << CAP_SETUID | 1u << CAP_SETGID));
	guest_burn();
	guest_say("setgroups", setgroups(0, NULL));
	guest_say("setgid", setgid(GUEST_OTHER));
	guest_say("setuid", setuid(GUEST_OTHER));
}

/* Looks for address space that malloc() has reserved for other threads, 64 MiB each. */
static void no_arenas(void)
{
	char line[512];
	unsigned long lo, hi;
	int n = 0;
	FILE *f;

	for (int i = 0; i < 20; i++)
		guest_burn();
	f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		n += sscanf(line, "%lx-%lx ---p", &lo, &hi) == 2 &&
		     strstr(line, " ---p 00000000 00:00 0") && hi % (64ul << 20) == 0 &&
		     hi - lo > 32ul << 20;
	if (f)
		fclose(f);
	guest_say("arenas", n);
}

static void no_new_privileges(void)
{
	for (int i = 0; i < 4; i++)
		guest_burn();
	guest_say("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	for (int i = 0; i < 4; i++)
		guest_burn();
}

static void bounding(void)
{
	guest_burn();
	for (int i = 0; i < 10; i++)
		guest_say("drop", prctl(PR_CAPBSET_DROP, i, 0, 0, 0));
	guest_burn();
}

static void ambient(void)
{
	guest_burn();
	guest_say("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	guest_say("setuid", setuid(GUEST_OTHER));
	guest_burn();
}

static void drop_user(void)
{
	guest_burn();
	guest_say("setgroups", setgroups(0, NULL));
	guest_say("setgid", setgid(GUEST_OTHER));
	guest_say("setuid", setuid(GUEST_OTHER));
	guest_burn();
	guest_say("back", setuid(0));
}

static void init_groups(void)
{
	guest_burn();
	guest_say("initgroups", initgroups("daemon", 1));
	guest_say("setregid", setregid(GUEST_OTHER, GUEST_OTHER));
	guest_say("setreuid", setreuid(GUEST_OTHER, GUEST_OTHER));
	guest_burn();
}

static void to_and_fro(void)
{
	int bad = 0;

	for (int i = 0; i < 300; i++)
		bad += setegid(GUEST_OTHER) || seteuid(GUEST_OTHER) || seteuid(0) || setegid(0);
	guest_say("bad", getuid() ? 0 : bad);
	guest_burn();
}

/* Changes the user of this thread alone, as file servers do for each request. */
static void raw_user(void)
{
	guest_burn();
	guest_say("setresuid", syscall(SYS_setresuid, GUEST_OTHER, GUEST_OTHER, 0));
	guest_burn();
	guest_say("back", syscall(SYS_setresuid, 0, 0, 0));
	guest_say("setfsuid", setfsuid(GUEST_OTHER));
	setfsuid(0);
	guest_say("setuid", setuid(GUEST_OTHER));
}

void *guest_burn_thread(void *arg)
{
	guest_burn();
	return arg;
}

static void *drop_thread(void *arg)
{
	guest_burn();
	guest_say("setresgid", setresgid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	guest_say("setresuid", setresuid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	return arg;
}

static void drop_in_thread(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, guest_burn_thread, NULL);
	pthread_create(&b, NULL, drop_thread, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	guest_burn();
}

int guest_status(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int guest_shell(const char *command)
{
	int status = system(command);

	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void set_priv(void)
{
	guest_say("setpriv",
		  guest_shell("setpriv --reuid=1001 --regid=1001 --clear-groups sh -c '" GUEST_LOOP
			      "id' 2>&1"));
}

static void set_priv_caps(void)
{
	guest_say(
		"setpriv",
		guest_shell(
			"setpriv --reuid=1001 --regid=1001 --clear-groups --inh-caps=-all --bounding-set=-all "
			"--no-new-privs sh -c '" GUEST_LOOP "id' 2>&1"));
}

/* ---- namespaces ---------------------------------------------------------------------------------- */

static void share_no_user(void)
{
	guest_say("unshare", unshare(CLONE_NEWUSER));
}

static void share_no_user_late(void)
{
	guest_burn();
	guest_say("unshare", unshare(CLONE_NEWUSER));
	guest_burn();
}

static void share_no_user_raw(void)
{
	guest_burn();
	guest_say("unshare", syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS));
	guest_burn();
}

static void share_nothing(void)
{
	pid_t child;

	guest_burn();
	guest_say("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
				     CLONE_NEWIPC | CLONE_NEWUTS));
	guest_burn();
	child = fork();
	if (!child) {
		guest_burn();
		_exit(getpid() == 1 ? 7 : 8);
	}
	guest_say("child", guest_status(child));
}

/* A child of a fork does something before it has met a recorder, while its parent has. */
static int in_child(void (*run)(void))
{
	pid_t child;

	for (int i = 0; i < 8; i++)
		guest_burn();
	child = fork();
	if (!child) {
		run();
		_exit(0);
	}
	return guest_status(child);
}

static void unshare_at_once(void)
{
	guest_say("unshare", unshare(CLONE_NEWUSER | CLONE_NEWPID));
}

static void filter_at_once(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	guest_burn();
	syscall(SYS_exit, 3);
}

static void drop_at_once(void)
{
	guest_say("keepcaps", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	guest_say("setresuid", setresuid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
}

static void children_at_once(void)
{
	guest_say("child", in_child(unshare_at_once));
	guest_say("child", in_child(filter_at_once));
	guest_say("child", in_child(drop_at_once));
}

/* A child of a process whose inexact results trap computes with integers. */
static void trap_inexact(void)
{
#if defined(__x86_64__)
	unsigned before, traps;
	volatile unsigned n = 0;
	pid_t child;

	__asm__ volatile("stmxcsr %0" : "=m"(before));
	traps = before & ~0x1000u;
	__asm__ volatile("ldmxcsr %0" ::"m"(traps));
	child = fork();
	while (!child && n < 200000000)
		n++;
	if (!child)
		_exit(5);
	__asm__ volatile("ldmxcsr %0" ::"m"(before));
	guest_say("child", guest_status(child));
#else
	guest_say("child", 5);
#endif
}

/* Makes sure that it is alone, as Chromium's zygote does. */
static void count_threads(void)
{
	struct stat st;
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	guest_burn();
	guest_burn();
	guest_say("stat", fstatat(proc, "self/task/", &st, 0));
	guest_say("threads", (long)st.st_nlink - 2);
	close(proc);
	guest_burn();
	guest_say("stat", stat("/proc/self/task", &st));
	guest_say("threads", (long)st.st_nlink - 2);
}

static void share_no_time(void)
{
	guest_burn();
	guest_say("unshare", unshare(0x80));
	guest_burn();
}

static void share_no_mounts(void)
{
	guest_burn();
	guest_say("unshare", unshare(CLONE_NEWNS));
	guest_burn();
}

static void share_no_files(void)
{
	guest_burn();
	guest_say("unshare", unshare(CLONE_FILES | CLONE_FS));
	guest_burn();
}

static void enter(const char *which, int type)
{
	char path[64];
	int fd;

	guest_burn();
	snprintf(path, sizeof(path), "/proc/self/ns/%s", which);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	guest_say("setns", setns(fd, type));
	close(fd);
	guest_burn();
}

static void enter_mounts(void)
{
	enter("mnt", CLONE_NEWNS);
}

static void enter_user(void)
{
	enter("user", CLONE_NEWUSER);
}

static void enter_pid(void)
{
	enter("pid", CLONE_NEWPID);
}

static void unshare_command(void)
{
	guest_say("unshare", guest_shell("unshare -r sh -c '" GUEST_LOOP "id -u' 2>&1"));
}

static int cloned(void *arg)
{
	(void)arg;
	guest_burn();
	return getuid() == 65534 || getuid() == 0 ? 4 : 5;
}

static void clone_user(void)
{
	static char stack[1 << 18] __attribute__((aligned(16)));
	pid_t child = clone(cloned, stack + sizeof(stack), CLONE_NEWUSER | SIGCHLD, NULL);

	guest_say("clone", child < 0 ? -1 : 0);
	if (child > 0)
		guest_say("child", guest_status(child));
}

static void change_root(void)
{
	guest_burn();
	guest_say("chroot", chroot("/mnt"));
	guest_say("chdir", chdir("/"));
	guest_burn();
}

#define OTHER(name)                 \
	{                           \
#name, guest_##name \
	}
#define CASE(name)          \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	OTHER(plain),
	CASE(keepcaps),
	CASE(secbits),
	CASE(dropcaps),
	CASE(somecaps),
	CASE(no_new_privileges),
	CASE(no_arenas),
	CASE(bounding),
	CASE(ambient),
	CASE(drop_user),
	CASE(init_groups),
	CASE(to_and_fro),
	CASE(raw_user),
	CASE(drop_in_thread),
	CASE(set_priv),
	CASE(set_priv_caps),
	CASE(share_no_user),
	CASE(share_no_user_late),
	CASE(share_no_user_raw),
	CASE(share_nothing),
	CASE(count_threads),
	CASE(share_no_time),
	CASE(children_at_once),
	CASE(trap_inexact),
	CASE(share_no_mounts),
	CASE(share_no_files),
	CASE(enter_mounts),
	CASE(enter_user),
	CASE(enter_pid),
	CASE(unshare_command),
	CASE(clone_user),
	CASE(change_root),
	OTHER(filter_kill),
	OTHER(filter_as_root),
	OTHER(filter_kill_call),
	OTHER(filter_kill_all),
	OTHER(filter_kill_thread),
	OTHER(filter_no_handlers),
	OTHER(filter_no_handlers_prctl),
	OTHER(filter_error),
	OTHER(filter_error_all),
	OTHER(filter_trap),
	OTHER(filter_strict),
	OTHER(filter_harmless),
	OTHER(filter_two),
	OTHER(filter_refused),
	OTHER(filter_in_thread),
	OTHER(filter_all_threads),
	OTHER(filter_fork),
	OTHER(filter_fork_talks),
	OTHER(filter_fork_alone),
	OTHER(filter_user_alone),
	OTHER(filter_unload),
	OTHER(filter_exec),
	OTHER(close_all),
	OTHER(close_range_all),
	OTHER(no_dump),
	OTHER(stopped),
	OTHER(traced),
	OTHER(aborts),
	OTHER(faults),
	OTHER(little_memory),
	OTHER(closed_at_once),
	OTHER(few_files),
	OTHER(few_processes),
	OTHER(few_timers),
	OTHER(vforks),
	OTHER(vfork_user),
	OTHER(vfork_by_number),
	OTHER(spawns),
	OTHER(daemon_),
	OTHER(clone_memory),
	OTHER(raw_fork),
	OTHER(counts_listed),
	OTHER(landlock),
	OTHER(little_space),
	OTHER(some_space),
	OTHER(held_up),
	OTHER(fork_held_user),
	OTHER(fork_held_caps),
	OTHER(counts_plain),
	OTHER(counts_at),
	OTHER(counts_extended),
	OTHER(counts_number),
	OTHER(threads),
	OTHER(threads_fork),
	OTHER(threads_storm),
	OTHER(threads_small),
	OTHER(threads_end),
	OTHER(threads_outlive),
	OTHER(threads_refused),
	OTHER(short_children),
	OTHER(many_children),
	OTHER(handlers),
	OTHER(pending),
	OTHER(timers),
	OTHER(alternate),
	OTHER(no_environment),
	OTHER(no_libraries),
	OTHER(killed),
	OTHER(terminated),
	OTHER(leaves_main),
	OTHER(waits_pending),
	OTHER(waits_timed),
	OTHER(waits_masked),
	OTHER(waits_signalfd),
	OTHER(waits_raw),
	OTHER(waits_numbers),
	OTHER(handler_number),
	OTHER(waits_exec),
	OTHER(handler_later),
	OTHER(handler_ways),
	OTHER(handler_held),
	OTHER(handler_kinds),
	OTHER(handler_reset),
	OTHER(handler_many),
	OTHER(ignored),
	OTHER(other_tls),
	OTHER(other_tls_child),
	OTHER(no_clock),
	OTHER(no_clock_child),
	OTHER(no_clock_at_exit),
	OTHER(own_calls),
	OTHER(served_stack),
	OTHER(served_by_device),
	OTHER(served_by_number),
	OTHER(coroutine),
	OTHER(coroutines),
	OTHER(alternate_small),
	OTHER(alternate_tiny),
	OTHER(alternate_tiny_thread),
	OTHER(alternate_tiny_first),
	OTHER(alternate_replaced),
	OTHER(threads_own),
	OTHER(jumps),
	OTHER(handler_forks),
	OTHER(threads_raw),
	OTHER(stack_gone),
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "each";

	if (!strcmp(name, "each")) {
		const char *names[CASES];

		for (unsigned i = 0; i < CASES; i++)
			names[i] = cases[i].name;
		return guest_each(argv[0], names, CASES, argc > 2 ? (unsigned)atoi(argv[2]) : 4);
	}
	for (unsigned i = 0; i < CASES; i++)
		if (!strcmp(name, cases[i].name)) {
			cases[i].run();
			guest_credentials();
			return 0;
		}
	if (!strcmp(name, "depth")) /* a measurement, of which guest.sh judges nothing */
		guest_depth();
	if (!strcmp(name, "recorder_stopped"))
		guest_recorder_stopped();
	if (!strcmp(name, "recorder_stopped_blocked"))
		guest_recorder_stopped_blocked();
	return 96;
}
