/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/memfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* Programs that live in the kernel. */

/* Each thread sleeps in another call that nothing ends before the program's end. */
static int ends[THREADS][2];

static void *sleep_long(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	struct epoll_event ev = {.events = EPOLLIN};
	struct pollfd p = {.fd = ends[i][0], .events = POLLIN};
	char c = 0;

	if (i % 4 == 1) {
		int ep = epoll_create1(EPOLL_CLOEXEC);

		epoll_ctl(ep, EPOLL_CTL_ADD, ends[i][0], &ev);
		if (epoll_wait(ep, &ev, 1, -1) != 1)
			fail("epoll_wait");
	} else if (i % 4 == 2) {
		if (poll(&p, 1, -1) != 1)
			fail("poll");
	} else if (i % 4 == 3) {
		if (recv(ends[i][0], &c, 1, MSG_PEEK) != 1)
			fail("recv");
	}
	if (read(ends[i][0], &c, 1) != 1 || c != 'x')
		fail("read");
	return NULL;
}

static void *wake_at_end(void *arg)
{
	while (!over)
		pause_ns(5000000);
	for (unsigned i = 0; i < THREADS; i++)
		if (write(ends[i][1], "x", 1) != 1)
			fail("write");
	return arg;
}

static void long_calls(void)
{
	pthread_t t;

	for (unsigned i = 0; i < THREADS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]))
			fail("socketpair");
	pthread_create(&t, NULL, wake_at_end, NULL);
	in_threads(sleep_long);
	pthread_join(t, NULL);
}

/* Copies a file through a socket; each byte counts. */
static int copied[2];

static void *receive(void *arg)
{
	unsigned char *to = malloc(65536);
	uint64_t got = 0;
	ssize_t n;

	while ((n = read(copied[0], to, 65536)) > 0)
		for (ssize_t i = 0; i < n; i++, got++)
			if (to[i] != (unsigned char)(got % 251))
				fail("a byte");
	free(to);
	return arg;
}

static void sendfiles(void)
{
	const size_t len = 251 * 4096;
	int fd = (int)syscall(SYS_memfd_create, "data", MFD_CLOEXEC);
	unsigned char *data = malloc(len);
	pthread_t t;

	for (size_t i = 0; i < len; i++)
		data[i] = (unsigned char)(i % 251);
	if (write(fd, data, len) != (ssize_t)len || socketpair(AF_UNIX, SOCK_STREAM, 0, copied))
		fail("a file");
	pthread_create(&t, NULL, receive, NULL);
	while (!over)
		for (off_t at = 0; (size_t)at < len;)
			if (sendfile(copied[1], fd, &at, len - (size_t)at) <= 0)
				fail("sendfile");
	close(copied[1]);
	pthread_join(t, NULL);
}

/* Timers, events and signals as descriptors, in one loop. */
static void descriptors(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC), timer, signals, event;
	uint64_t number, ticks = 0, written = 0, got = 0;
	struct signalfd_siginfo info;
	unsigned long sent = 0, seen = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	event = eventfd(0, EFD_CLOEXEC);
	timerfd_settime(timer, 0, &(struct itimerspec){{0, 1000000}, {0, 1000000}}, NULL);
	for (int *fd = (int[]){timer, signals, event, -1}; *fd >= 0; fd++) {
		ev.data.fd = *fd;
		epoll_ctl(ep, EPOLL_CTL_ADD, *fd, &ev);
	}
	while (!over) {
		if (epoll_wait(ep, &ev, 1, -1) != 1)
			fail("epoll_wait");
		if (ev.data.fd == timer) {
			if (read(timer, &number, 8) != 8)
				fail("a timer");
			ticks += number;
			pthread_kill(pthread_self(), SIGUSR1);
			sent++;
			number = 3;
			if (write(event, &number, 8) != 8)
				fail("an event");
			written += 3;
		} else if (ev.data.fd == signals) {
			if (read(signals, &info, sizeof(info)) != sizeof(info) ||
			    info.ssi_signo != SIGUSR1)
				fail("a signal");
			seen++;
		} else {
			if (read(event, &number, 8) != 8)
				fail("an event");
			got += number;
		}
	}
	if (!ticks || seen > sent || got > written)
		fail("counts");
}

/* io_uring without a library: each entry is a timeout or a no-op, and each comes back once. */
static void rings(void)
{
	struct io_uring_params p = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &p);
	struct __kernel_timespec ms = {.tv_nsec = 1000000};
	struct io_uring_sqe *sqes;
	uint64_t sent = 0;
	char *sq, *cq;

	if (fd < 0) {
		printf("io_uring is off: "); /* in each run */
		while (!over)
			pause_ns(1000000);
		return;
	}
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	while (!over) {
		_Atomic unsigned *tail = (_Atomic unsigned *)(sq + p.sq_off.tail);
		_Atomic unsigned *head = (_Atomic unsigned *)(cq + p.cq_off.head);
		unsigned at = *tail & *(unsigned *)(sq + p.sq_off.ring_mask);
		const struct io_uring_cqe *cqe;

		sqes[at] = (struct io_uring_sqe){.opcode = sent % 2 ? IORING_OP_NOP
								    : IORING_OP_TIMEOUT,
						 .fd = -1,
						 .user_data = sent};
		if (sent % 2 == 0) {
			sqes[at].addr = (uintptr_t)&ms;
			sqes[at].len = 1;
		}
		((unsigned *)(sq + p.sq_off.array))[at] = at;
		++*tail;
		if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
			fail("io_uring_enter");
		cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes) +
		      (*head & *(unsigned *)(cq + p.cq_off.ring_mask));
		if (cqe->user_data != sent || cqe->res != (sent % 2 ? 0 : -ETIME))
			fail("an entry of io_uring");
		++*head;
		sent++;
	}
}

const struct mode system_modes[] = {
	{"long-calls", long_calls},
	{"sendfiles", sendfiles},
	{"descriptors", descriptors},
	{"rings", rings},
	{NULL, NULL},
};
