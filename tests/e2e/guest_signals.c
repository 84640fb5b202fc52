/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xaa, 0)
#endif

/* Programs that look for the signals of a thread that blocks them, after it has computed for long enough to be sampled. */

#define ROUNDS 12
/* The longest that a signal which nobody sent may wait, where no function of the C library is called that could see it. */
#define RAW_S 20

static sigset_t all;

/* Number of signals in a set. */
static long count(const sigset_t *set)
{
	long n = 0;

	for (int i = 1; i < NSIG; i++)
		n += sigismember(set, i) == 1;
	return n;
}

static void burn_long(void)
{
	for (int i = 0; i < ROUNDS; i++)
		guest_burn();
}

static void block_all(void)
{
	burn_long();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void *waits_pending_thread(void *unused)
{
	long seen = 0;
	sigset_t set;

	block_all();
	for (int i = 0; i < ROUNDS; i++) {
		guest_burn();
		sigpending(&set);
		seen += count(&set);
	}
	guest_say("pending", seen);
	raise(SIGUSR1);
	kill(getpid(), SIGURG); /* the program's own */
	guest_burn();
	sigpending(&set);
	guest_say("pending", count(&set) * 10 + sigismember(&set, SIGURG));
	/* Takes away what the next thread would see. */
	sigtimedwait(&all, NULL, &(struct timespec){0});
	sigtimedwait(&all, NULL, &(struct timespec){0});
	return unused;
}

void guest_waits_pending(void)
{
	pthread_t thread;

	waits_pending_thread(NULL);
	pthread_create(&thread, NULL, waits_pending_thread, NULL);
	pthread_join(thread, NULL);
}

void guest_waits_timed(void)
{
	const struct timespec none = {0}, some = {.tv_nsec = 20000000};
	siginfo_t info;
	int signal = 0;

	block_all();
	/* In 50 ms, of a time that is longer than can be counted in ns. */
	guest_burn();
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 50000}, NULL);
	guest_say("sigtimedwait",
		  sigtimedwait(&all, &info, &(struct timespec){.tv_sec = LONG_MAX}));
	for (int i = 0; i < ROUNDS; i++) {
		guest_burn();
		guest_say("sigtimedwait", sigtimedwait(&all, &info, i % 4 ? &none : &some));
	}
	guest_burn();
	raise(SIGUSR1);
	guest_say("sigwait", sigwait(&all, &signal));
	guest_say("signal", signal);
	guest_burn();
	raise(SIGUSR2);
	guest_say("sigwaitinfo", sigwaitinfo(&all, &info));
	guest_burn();
	kill(getpid(), SIGURG);
	guest_say("sigwaitinfo", sigwaitinfo(&all, &info));
	guest_say("from", info.si_code == SI_USER && info.si_pid == getpid());
}

/* Waits with a mask of its own, in which no signal is blocked. */
void guest_waits_masked(void)
{
	const struct timespec some = {.tv_nsec = 5000000};
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	long interrupted = 0;
	sigset_t none;

	sigemptyset(&none);
	block_all();
	for (int i = 0; i < ROUNDS / 2; i++) {
		guest_burn();
		interrupted += ppoll(NULL, 0, &some, &none) < 0;
		guest_burn();
		interrupted += pselect(0, NULL, NULL, NULL, &some, &none) < 0;
		guest_burn();
		interrupted += epoll_pwait(set, &event, 1, 5, &none) < 0;
		guest_burn();
		interrupted += epoll_pwait2(set, &event, 1, &some, &none) < 0;
	}
	guest_say("interrupted", interrupted);
}

static void *waits_signalfd_thread(void *arg)
{
	struct pollfd p = {.fd = *(int *)arg, .events = POLLIN};
	long seen = 0;

	for (int i = 0; i < ROUNDS; i++) {
		guest_burn();
		seen += poll(&p, 1, 0);
	}
	guest_say("readable", seen);
	return NULL;
}

void guest_waits_signalfd(void)
{
	pthread_t thread;
	int fd;

	block_all();
	guest_burn();
	fd = signalfd(-1, &all, SFD_CLOEXEC);
	waits_signalfd_thread(&fd);
	pthread_create(&thread, NULL, waits_signalfd_thread, &fd);
	pthread_join(thread, NULL);
	close(fd);
}

static unsigned long raw_pending(void)
{
	unsigned long set = 0;
#if defined(__x86_64__)
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(SYS_rt_sigpending), "D"(&set), "S"(sizeof(set))
			 : "rcx", "r11", "memory");
#endif
	return set;
}

/* No function of the C library is asked: what waits is gone by itself, and does not come again. */
void guest_waits_raw(void)
{
	time_t until = time(NULL) + RAW_S;

	block_all();
	guest_burn();
	while (raw_pending() && time(NULL) < until)
		usleep(10000);
	burn_long();
	guest_say("pending", raw_pending() != 0);
}

/* Layout of the kernel. */
struct number_action {
	void (*handler)(int);
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

/* Makes the calls through syscall(), by their numbers. */
void guest_waits_numbers(void)
{
	const unsigned long every = ~0ul, none = 0;
	unsigned long seen = 0, set;
	const struct {
		const unsigned long *set;
		size_t bytes;
	} masked = {&none, sizeof(none)};
	long interrupted = 0, taken = 0, readable = 0;
	struct number_action action = {0};

	block_all();
	syscall(SYS_rt_sigaction, SIGURG, NULL, &action, sizeof(set));
	guest_say("handler", action.handler != SIG_DFL);
	for (int i = 0; i < ROUNDS; i++) {
		const struct timespec some = {.tv_nsec = 5000000};
		struct timespec left = some;

		guest_burn();
		syscall(SYS_rt_sigpending, &set, sizeof(set));
		seen |= set;
		guest_burn();
		taken += syscall(SYS_rt_sigtimedwait, &every, NULL, &some, sizeof(every)) >= 0;
		guest_burn();
		interrupted += syscall(SYS_ppoll, NULL, 0, &left, &none, sizeof(none)) < 0;
		guest_burn();
		left = some;
		interrupted += syscall(SYS_pselect6, 0, NULL, NULL, NULL, &left, &masked) < 0;
	}
	guest_say("pending", (long)seen);
	guest_say("taken", taken);
	guest_say("interrupted", interrupted);
	raise(SIGURG);
	guest_say("its own", syscall(SYS_rt_sigtimedwait, &every, NULL, NULL, sizeof(every)));
	for (int i = 0; i < ROUNDS; i++) {
		struct pollfd p = {.events = POLLIN};

		guest_burn();
		p.fd = (int)syscall(SYS_signalfd4, -1, &every, sizeof(every), SFD_CLOEXEC);
		readable += poll(&p, 1, 0);
		close(p.fd);
	}
	guest_say("readable", readable);
}

static volatile sig_atomic_t urgent;

static void count_urgent(int signal)
{
	(void)signal;
	urgent++;
}

/* Sets handlers by the number of the call once threads are sampled. */
void guest_handler_number(void)
{
	struct number_action action = {.handler = SIG_IGN}, now = {0}, mine;
	struct sigaction shown;

	/* Has the C library say to which address handlers return. */
	signal(SIGUSR1, count_urgent);
	syscall(SYS_rt_sigaction, SIGUSR1, NULL, &mine, sizeof(mine.mask));
	burn_long();
	guest_say("set", syscall(SYS_rt_sigaction, SIGURG, &mine, &now, sizeof(mine.mask)));
	guest_say("default before", now.handler == SIG_DFL);
	guest_say("flags before", (long)now.flags);
	burn_long();
	guest_say("signals", urgent);
	raise(SIGURG);
	guest_say("signals, one of them sent", urgent);
	syscall(SYS_rt_sigaction, SIGURG, NULL, &now, sizeof(now.mask));
	guest_say("the same", !memcmp(&now, &mine, sizeof(now)));
	sigaction(SIGURG, NULL, &shown);
	guest_say("the same, shown by the library", shown.sa_handler == count_urgent);
	guest_say("size", syscall(SYS_rt_sigaction, SIGURG, &mine, NULL, 4));

	burn_long();
	guest_say("set", syscall(SYS_rt_sigaction, SIGURG, &action, NULL, sizeof(action.mask)));
	burn_long();
	syscall(SYS_rt_sigaction, SIGURG, NULL, &now, sizeof(now.mask));
	guest_say("ignored", now.handler == SIG_IGN);
	guest_say("fault", syscall(SYS_rt_sigaction, SIGURG, 16, NULL, sizeof(now.mask)));
	guest_say("fault", syscall(SYS_sigaltstack, 16, NULL));
	guest_say("fault", syscall(SYS_sigaltstack, NULL, 16));
	guest_say("fault", syscall(SYS_rt_sigtimedwait, 16, NULL, NULL, sizeof(now.mask)));
}

/* A signal that waits in a thread is still there in the program that it becomes. */
static char grep[] = "/bin/grep", option[] = "-E",
	    pattern[] = "^(SigPnd|ShdPnd|SigBlk):", status[] = "/proc/self/status";
static char *grep_argv[] = {grep, option, pattern, status, NULL};

static void become(int way)
{
	switch (way) {
	case 0:
		execvp("grep", grep_argv);
		break;
	case 1:
		execvpe("grep", grep_argv, environ);
		break;
	case 2:
		fexecve(open(grep, O_RDONLY | O_CLOEXEC), grep_argv, environ);
		break;
	case 3:
		execveat(AT_FDCWD, grep, grep_argv, environ, 0);
		break;
	case 4:
		execl(grep, grep, option, pattern, status, NULL);
		break;
	case 5:
		execlp("grep", grep, option, pattern, status, NULL);
		break;
	case 6:
		execle(grep, grep, option, pattern, status, NULL, environ);
		break;
	case 7:
		execve(grep, grep_argv, environ);
		break;
	default:
		execv(grep, grep_argv);
	}
}

void guest_waits_exec(void)
{
	for (int way = 0; way < 9; way++) {
		pid_t child = fork();

		if (!child) {
			for (int i = 0; i < 3; i++)
				guest_burn();
			sigfillset(&all);
			pthread_sigmask(SIG_SETMASK, &all, NULL);
			guest_burn();
			become(way);
			_exit(98);
		}
		guest_say("ended", guest_status(child));
	}
}

/* A program that prints 1 if it ignores SIGURG, the 23rd signal. */
#define IGNORES_IT "echo $((0x$(sed -n 's/^SigIgn:\t//p' /proc/self/status) >> 22 & 1))"

/* Signals that are ignored are so in programs that this one becomes, or starts. */
void guest_ignored(void)
{
	static char look[] = IGNORES_IT, sh[] = "sh", c[] = "-c";
	char *const argv[] = {sh, c, look, NULL};
	struct sigaction sa;
	pid_t child;

	signal(SIGURG, SIG_IGN);
	burn_long();
	sigaction(SIGURG, NULL, &sa);
	guest_say("ignored", sa.sa_handler == SIG_IGN);
	guest_say("ended", guest_shell(look));
	posix_spawnp(&child, sh, NULL, NULL, argv, environ);
	guest_say("ended", guest_status(child));
	/* A shell that ignores it. */
	guest_say("ended", guest_shell("trap '' URG; " GUEST_LOOP IGNORES_IT));
	child = fork();
	if (!child) {
		burn_long();
		execvp(sh, argv);
	}
	guest_say("ended", guest_status(child));
}

/* ---- what the handler of samples relies on ------------------------------------------------------- */

/* Sets a handler of SIGURG once threads are sampled: nobody has sent one. */
void guest_handler_later(void)
{
	struct sigaction sa;

	for (int i = 0; i < 12; i++)
		guest_burn();
	sigaction(SIGURG, NULL, &sa);
	guest_say("handler before", sa.sa_handler != SIG_DFL);
	signal(SIGURG, count_urgent);
	sigaction(SIGURG, NULL, &sa);
	guest_say("handler of the program", sa.sa_handler == count_urgent);
	for (int i = 0; i < 12; i++)
		guest_burn();
	guest_say("signals", urgent);
	raise(SIGURG);
	guest_say("signals, one of them sent", urgent);
	guest_say("handler then", signal(SIGURG, SIG_IGN) == count_urgent);
}

/* Functions that set handlers, by their names: headers hide some, and call others obsolete. */
static const char *const handler_setters[] = {
	"signal", "ssignal", "bsd_signal", "sysv_signal", "__sysv_signal", "sigset", "sigignore"};

/* A child that sets a handler of SIGURG once it is sampled. Ends with 7, and more for what is not as it should be. */
static int set_handler_late(const char *setter)
{
	void *function = dlsym(RTLD_DEFAULT, setter);
	bool ignores = !strcmp(setter, "sigignore");
	int bad = 0;

	for (int i = 0; i < 8; i++)
		guest_burn();
	if (!function)
		return 1;
	if (ignores)
		bad |= 8 * (((int (*)(int))function)(SIGURG) != 0);
	else
		bad |= 8 * (((sighandler_t(*)(int, sighandler_t))function)(SIGURG, count_urgent) !=
			    SIG_DFL);
	for (int i = 0; i < 6; i++)
		guest_burn();
	bad |= 16 * (urgent != 0);
	raise(SIGURG);
	bad |= 32 * (urgent != !ignores);
	return 7 + bad;
}

void guest_handler_ways(void)
{
	enum { WAYS = sizeof(handler_setters) / sizeof(*handler_setters) };
	int (*interrupt)(int, int) = (int (*)(int, int))dlsym(RTLD_DEFAULT, "siginterrupt");
	pid_t child[WAYS];
	struct sigaction sa;

	for (unsigned i = 0; i < WAYS; i++) {
		child[i] = fork();
		if (!child[i])
			_exit(set_handler_late(handler_setters[i]));
	}
	for (unsigned i = 0; i < WAYS; i++)
		guest_say(handler_setters[i], guest_status(child[i]));
	for (int i = 0; i < 8; i++)
		guest_burn();
	if (interrupt)
		guest_say("interrupts", interrupt(SIGURG, 1));
	guest_burn();
	signal(SIGURG, count_urgent);
	sigaction(SIGURG, NULL, &sa);
	guest_say("restarts", sa.sa_flags & SA_RESTART);
}

/* Holds SIGURG, and sets a handler for it, by sigset(). */
void guest_handler_held(void)
{
	sighandler_t (*set)(int, sighandler_t) =
		(sighandler_t(*)(int, sighandler_t))dlsym(RTLD_DEFAULT, "sigset");
	sigset_t now;

	for (int i = 0; i < 8; i++)
		guest_burn();
	if (!set)
		return;
	guest_say("default before", set(SIGURG, SIG_HOLD) == SIG_DFL);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	guest_say("held", sigismember(&now, SIGURG));
	for (int i = 0; i < 6; i++)
		guest_burn();
	guest_say("held before", set(SIGURG, SIG_HOLD) == SIG_HOLD);
	guest_say("held before a handler", set(SIGURG, count_urgent) == SIG_HOLD);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	guest_say("held", sigismember(&now, SIGURG));
	for (int i = 0; i < 6; i++)
		guest_burn();
	guest_say("signals", urgent);
	guest_say("handler before", set(SIGURG, SIG_DFL) == count_urgent);
}

#if defined(__x86_64__)
/* Computes, and touches nothing of the thread's own. */
static void count_down(void)
{
	unsigned long n = 300000000;

	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n)::"cc");
}

/* Points the thread's own pointer elsewhere, as emulators do. */
static void set_thread_pointer(unsigned long to)
{
	long r = SYS_arch_prctl;

	__asm__ volatile("syscall" : "+a"(r) : "D"(0x1002L), "S"(to) : "rcx", "r11", "memory");
}

void guest_other_tls(void)
{
	const unsigned long elsewhere[] = {0, 0x10};
	unsigned long own;

	syscall(SYS_arch_prctl, 0x1003, &own);
	for (unsigned i = 0; i < 2; i++) {
		set_thread_pointer(elsewhere[i]);
		count_down();
		set_thread_pointer(own);
		guest_say("another thread pointer", i);
	}
}

/* A child, which has its handlers from its parent. */
void guest_other_tls_child(void)
{
	pid_t child;

	for (int i = 0; i < 12; i++)
		guest_burn();
	child = fork();
	if (!child) {
		for (int i = 0; i < 12; i++)
			guest_burn();
		guest_other_tls();
		_exit(7);
	}
	guest_say("another thread pointer in a child", guest_status(child));
}

/* Computes on a stack whose upper part waits for a thread that would serve it, and is never used. */
static void compute_served(int fd)
{
	const size_t bytes = 1 << 20, used = 65536;
	unsigned long turns = 600000000;
	struct uffdio_api api = {.api = UFFD_API};
	unsigned char *stack =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uintptr_t)stack, bytes},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_zeropage zero = {.range = {(uintptr_t)stack + bytes / 2 - used, used}};

	if (fd >= 0)
		guest_say("served", ioctl(fd, UFFDIO_API, &api) ||
					    ioctl(fd, UFFDIO_REGISTER, &range) ||
					    ioctl(fd, UFFDIO_ZEROPAGE, &zero));
	if (fd >= 0)
		__asm__ volatile(
			"mov %%rsp, %%r12\n\tmov %%rbp, %%r13\n\tmov %1, %%rsp\n\tmov %1, %%rbp\n\t"
			"1: dec %0\n\tjnz 1b\n\tmov %%r13, %%rbp\n\tmov %%r12, %%rsp"
			: "+r"(turns)
			: "r"(stack + bytes / 2 - 64)
			: "r12", "r13", "cc", "memory");
	guest_say("used", 1);
}

void guest_served_stack(void)
{
	compute_served((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
}

/* The descriptor is made by a device, for those who have not the right to make it by the system call. */
static int by_device(bool by_number)
{
	int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	long fd;

	if (device < 0)
		return -1;
	fd = by_number ? syscall(SYS_ioctl, device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK)
		       : ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	close(device);
	return (int)fd;
}

void guest_served_by_device(void)
{
	compute_served(by_device(false));
}

void guest_served_by_number(void)
{
	compute_served(by_device(true));
}

/* May not read the processor's clock. */
static void count_without_clock(void)
{
	guest_say("no clock", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	count_down();
	guest_say("a clock", prctl(PR_SET_TSC, PR_TSC_ENABLE));
}

void guest_no_clock(void)
{
	guest_burn();
	count_without_clock();
}

/* The same in a child, which has not met the recorder by then. */
void guest_no_clock_child(void)
{
	pid_t child;

	guest_burn();
	child = fork();
	if (!child) {
		count_without_clock();
		_exit(7);
	}
	guest_say("no clock in a child", guest_status(child));
}

/* Children begin, and the program ends, without it. */
void guest_no_clock_at_exit(void)
{
	pid_t child;

	guest_burn();
	guest_say("no clock", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	/* Calls that threads of ours make way for. */
	guest_say("keeps capabilities", prctl(PR_SET_KEEPCAPS, 1));
	guest_say("same user", setuid(getuid()));
	guest_say("no clock again", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	child = fork();
	if (!child) {
		count_down();
		exit(7);
	}
	guest_say("no clock when a child ends", guest_status(child));
	exit(7);
}

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

/* Has its system calls handed to itself, as emulators do: while it computes none is let through. */
void guest_own_calls(void)
{
	static volatile char lets_through;

	guest_burn();
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &lets_through))
		return;
	lets_through = 1;
	count_down();
	lets_through = 0;
	guest_say("its own calls", prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0));
}
#else
void guest_no_clock_child(void)
{
}

void guest_own_calls(void)
{
}

void guest_served_stack(void)
{
}

void guest_served_by_device(void)
{
}

void guest_served_by_number(void)
{
}

void guest_other_tls(void)
{
}

void guest_other_tls_child(void)
{
}

void guest_no_clock(void)
{
}

void guest_no_clock_at_exit(void)
{
}
#endif
