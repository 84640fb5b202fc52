/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Starts a command below a seccomp filter whose listener is ours: what stands for a device or a counter answers the calls that
 * the filter hands over. The program that includes this names itself, for messages.
 */
extern const char supervisor_name[];

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", supervisor_name, what, strerror(errno));
	exit(125);
}

static inline void send_fd(int over, int fd)
{
	char byte = 'x', space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = space,
			   .msg_controllen = sizeof(space)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(over, &m, 0) != 1)
		die("sendmsg");
}

static inline int receive_fd(int over)
{
	char byte, space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = space,
			   .msg_controllen = sizeof(space)};
	int fd;

	if (recvmsg(over, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static inline int install_filter(const struct sock_fprog *filter)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    filter);
}

/* Returns the command's process; the filter's listener is *ret_listener. */
static inline pid_t supervisor_start(const struct sock_fprog *filter, char **argv,
				     int *ret_listener)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		int listener = install_filter(filter);

		if (listener < 0)
			die("seccomp");
		send_fd(pair[1], listener);
		close(listener);
		execvp(argv[0], argv);
		/* Exit handlers might open a file, a call that we would have to answer. */
		_exit(127);
	}
	close(pair[1]);
	*ret_listener = receive_fd(pair[0]);
	close(pair[0]);
	if (*ret_listener < 0)
		exit(125);
	return pid;
}
