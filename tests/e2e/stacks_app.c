/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose stacks are known: stacks_app MODE. Writes a line once each thread is where it stays. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
		       third = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static int ends[2], ended;
static volatile double sum;

static void name(const char *text)
{
	prctl(PR_SET_NAME, text);
}

NOINLINE static void read_a_pipe(void)
{
	char c;

	if (read(ends[0], &c, 1) < 0)
		sum += 1;
}

NOINLINE static void wait_for_condition(void)
{
	pthread_mutex_lock(&third);
	pthread_cond_wait(&condition, &third);
	pthread_mutex_unlock(&third);
}

NOINLINE static void add_up(void)
{
	for (;;)
		sum += 0.5;
}

NOINLINE static void take_both(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(b);
	sum += 1;
}

NOINLINE static void wait_to_write(void)
{
	pthread_rwlock_wrlock(&rwlock);
	sum += 1;
}

static void *reader(void *arg)
{
	name("reader");
	read_a_pipe();
	sum += 1;
	return arg;
}

static void *waiter(void *arg)
{
	name("waiter");
	wait_for_condition();
	sum += 1;
	return arg;
}

static void *computer(void *arg)
{
	name("computer");
	add_up();
	return arg;
}

static void *left(void *arg)
{
	name("left");
	take_both(&first, &second);
	sum += 1;
	return arg;
}

static void *right(void *arg)
{
	name("right");
	take_both(&second, &first);
	sum += 1;
	return arg;
}

static void *writer(void *arg)
{
	name("writer");
	wait_to_write();
	sum += 1;
	return arg;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		exit(1);
	return thread;
}

/* Waits for events; says if a wait failed: stops shall not be seen. */
NOINLINE static int poll_again(int epoll)
{
	struct epoll_event event;
	int r = epoll_wait(epoll, &event, 1, 5);

	if (r < 0)
		printf("epoll_wait: %s\n", strerror(errno));
	return r;
}

static void *poller(void *arg)
{
	int epoll = epoll_create1(0);

	while (!ended)
		if (poll_again(epoll) < 0)
			exit(1);
	return arg;
}

static void *sleeper(void *arg)
{
	pause();
	return arg;
}

/* Threads that come and go. */
static void *short_lived(void *arg)
{
	return arg;
}

/* Waits on a stack that nobody serves: whoever reads it waits for as long as the program lives. */
static void *unserved(void *arg)
{
#if defined(__x86_64__)
	long number = SYS_pause;

	__asm__ volatile(
		"mov %%rsp, %%r12\n\tmov %%rbp, %%r13\n\tmov %1, %%rsp\n\tmov %1, %%rbp\n\t"
		"syscall\n\tmov %%r13, %%rbp\n\tmov %%r12, %%rsp"
		: "+a"(number)
		: "r"(arg)
		: "r12", "r13", "rcx", "r11", "cc", "memory");
#endif
	return arg;
}

/* Makes memory that nobody serves, and gives up root's rights, with which that is made. False: this kernel has none. */
static bool serve_nobody(void **ret)
{
	const size_t bytes = 1 << 20;
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {.api = UFFD_API};
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uintptr_t)at, bytes},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

	*ret = at + bytes / 2;
	return fd >= 0 && at != MAP_FAILED && !ioctl(fd, UFFDIO_API, &api) &&
	       !ioctl(fd, UFFDIO_REGISTER, &range) && !setresgid(65534, 65534, 65534) &&
	       !setresuid(65534, 65534, 65534);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (pipe(ends) < 0 || pthread_barrier_init(&both, NULL, 2))
		return 1;
	if (!strcmp(mode, "threads")) {
		pthread_rwlock_wrlock(&rwlock);
		start(reader);
		start(waiter);
		start(computer);
		start(writer);
	} else if (!strcmp(mode, "deadlock")) {
		start(left);
		start(right);
	} else if (!strcmp(mode, "poll")) {
		start(poller);
	} else if (!strcmp(mode, "many")) {
		pthread_attr_t attr;
		pthread_t thread;

		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 65536);
		for (int i = 0; i < atoi(argv[2]); i++)
			if (pthread_create(&thread, &attr, sleeper, NULL))
				return 1;
	} else if (!strcmp(mode, "come-and-go")) {
		puts("ready");
		fflush(stdout);
		for (;;) {
			pthread_t t = start(short_lived);

			pthread_join(t, NULL);
		}
	} else if (!strcmp(mode, "unserved")) {
		pthread_t thread;
		void *stack;

		if (!serve_nobody(&stack) || pthread_create(&thread, NULL, unserved, stack))
			return 1;
	} else if (!strcmp(mode, "secret")) {
		prctl(PR_SET_DUMPABLE, 0);
	} else if (!strcmp(mode, "exit")) {
		puts("ready");
		fflush(stdout);
		return 0;
	}
	puts("ready");
	fflush(stdout);
	/* A line ends it. */
	if (!fgets((char[16]){0}, 16, stdin))
		return 2;
	ended = 1;
	puts("end");
	return 0;
}
