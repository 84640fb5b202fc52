/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/handshake.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Parts of a wait for an answer: where the whole machine stood still, only one of them is over. */
#define WAIT_PARTS 4

static struct timeval timeval_of(int ms)
{
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

static int connect_to(const char *path, int timeout_ms)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval send = timeval_of(timeout_ms);
	struct timeval part = timeval_of(AIF_MAX(timeout_ms / WAIT_PARTS, 1));
	size_t len = strlen(path);
	int fd, r;

	if (len >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* The send timeout bounds connect() too, when the recorder's backlog is full. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &part, sizeof(part)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send)) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

/* Receives within timeout_ms, however often signals interrupt it. Length, or -errno. */
static ssize_t receive(int sock, struct msghdr *msg, int timeout_ms)
{
	uint64_t begin = aif_now_ns();

	for (unsigned parts = 0; parts < WAIT_PARTS;) {
		ssize_t n = recvmsg(sock, msg, MSG_CMSG_CLOEXEC);

		if (n >= 0)
			return n;
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
		/* A call that was interrupted has not waited for all of its part. */
		parts += errno == EAGAIN ||
			 aif_now_ns() - begin > (uint64_t)timeout_ms * UINT64_C(1000000);
	}
	return -EAGAIN;
}

/* ret_fd NULL: no descriptor is expected, but the status `done`. */
static int receive_welcome(int sock, uint32_t done, int timeout_ms, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct aif_hello_reply w;
	struct iovec iov = {.iov_base = &w, .iov_len = sizeof(w)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;
	int fd = -1;

	n = receive(sock, &msg, timeout_ms);
	if (n < 0)
		return (int)n;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (n == (ssize_t)sizeof(w) && w.magic == AIF_WIRE_MAGIC &&
	    w.status == AIF_HELLO_REPLY_OK && w.version == AIF_WIRE_VERSION && fd >= 0 && ret_fd) {
		*ret_fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	if (n != (ssize_t)sizeof(w) || w.magic != AIF_WIRE_MAGIC)
		return -EPROTO;
	return w.status == done                       ? (ret_fd ? -EPROTO : 0)
	       : w.status == AIF_HELLO_REPLY_TOKEN    ? -EACCES
	       : w.status == AIF_HELLO_REPLY_FULL     ? -EUSERS
	       : w.status == AIF_HELLO_REPLY_UNWANTED ? -ENOENT
	       : w.status == AIF_HELLO_REPLY_FAILED   ? -EIO
	       : w.status == AIF_HELLO_REPLY_ENDED    ? -ECANCELED
						      : -EPROTO;
}

int aif_hello_send(const char *path, const struct aif_hello *hello, int timeout_ms, int *ret_fd)
{
	size_t size = AIF_HELLO_FIXED + (hello->kind == AIF_HELLO_CARRIER ? hello->text_len : 0);
	int sock, r = 0;

	sock = connect_to(path, timeout_ms);
	if (sock < 0)
		return sock;
	if (send(sock, hello, size, MSG_NOSIGNAL) != (ssize_t)size)
		r = -errno;
	else if (hello->kind == AIF_HELLO_RUNTIME)
		r = receive_welcome(sock, AIF_HELLO_REPLY_DONE, timeout_ms, ret_fd);
	else if (hello->kind == AIF_HELLO_CONTROL)
		r = receive_welcome(sock,
				    hello->control == AIF_CONTROL_SYNC ? AIF_HELLO_REPLY_COMMITTED
								       : AIF_HELLO_REPLY_DONE,
				    timeout_ms,
				    hello->control == AIF_CONTROL_WATCH ||
						    hello->control == AIF_CONTROL_SNAPSHOT
					    ? ret_fd
					    : NULL);
	close(sock);
	return r;
}

int aif_hello_reply_send(int sock, enum aif_hello_status status, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.space = {0}};
	struct aif_hello_reply w = {
		.magic = AIF_WIRE_MAGIC, .version = AIF_WIRE_VERSION, .status = status};
	struct iovec iov = {.iov_base = &w, .iov_len = sizeof(w)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}
