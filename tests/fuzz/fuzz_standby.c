/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/standby.h"
#include "record/attach/attach_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Feeds what another process can write where recorder and agent meet: a page, a recording's description, and the answer
 * to a hello. The first byte says how long the first of them is, whether they begin well, and whether a descriptor
 * comes with the answer; each is read by all that read it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define PAGE "7-7-7" AIF_STANDBY_SUFFIX

static char dir[] = "/tmp/fuzz-standby-XXXXXX", path[64];
static int dirfd, listener, null;
static pthread_t server;

/* Answer to whoever connects next: a copy, as the server may still be sending it when the input goes. */
static uint8_t answer[128];
static size_t answer_len;
static bool with_fd;

static void *serve(void *arg)
{
	char hello[sizeof(struct aif_hello)];
	int sock;

	(void)arg;
	while ((sock = accept(listener, NULL, NULL)) >= 0) {
		char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
		struct iovec iov = {.iov_base = answer, .iov_len = answer_len};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
		struct cmsghdr *c;

		if (with_fd) {
			msg.msg_control = space;
			msg.msg_controllen = sizeof(space);
			c = CMSG_FIRSTHDR(&msg);
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(c), &null, sizeof(null));
		}
		if (recv(sock, hello, sizeof(hello), 0) < 0 ||
		    sendmsg(sock, &msg, MSG_NOSIGNAL) < 0)
			errno = 0; /* it has lost patience */
		close(sock);
	}
	return NULL;
}

static void remove_all(void)
{
	unlinkat(dirfd, PAGE, 0);
	unlinkat(dirfd, "r-x/agent", 0);
	unlinkat(dirfd, "r-x/about", 0);
	unlinkat(dirfd, "r-x", AT_REMOVEDIR);
	rmdir(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	(void)argc, (void)argv;
	if (!mkdtemp(dir))
		abort();
	dirfd = aif_standby_open(dir, geteuid(), false);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/r-x/agent", dir);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (dirfd < 0 || null < 0 || mkdirat(dirfd, "r-x", 0700) < 0 || atexit(remove_all) ||
	    bind(listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(listener, 8) < 0 ||
	    pthread_create(&server, NULL, serve, NULL))
		abort();
	return 0;
}

/* With the head of something that is taken seriously, and as long, if `whole`. */
static size_t dress(uint8_t to[4096], bool whole, const uint8_t *data, size_t size, size_t usual,
		    uint32_t magic)
{
	const uint32_t head[] = {magic, AIF_WIRE_VERSION};
	size_t skip = whole ? sizeof(head) : 0, n = AIF_MIN(size, 4096 - skip);

	memset(to, 0, 4096);
	memcpy(to, head, skip);
	memcpy(to + skip, data, n);
	return whole ? usual : n;
}

static void put(const char *name, bool whole, const uint8_t *data, size_t size, size_t usual)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint8_t text[4096];
	size_t n = dress(text, whole, data, size, usual, AIF_STANDBY_MAGIC);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		abort();
	close(fd);
}

static void is_tame(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (len == size)
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			abort();
}

static bool see_page(void *arg, struct aif_standby_entry *e)
{
	(void)arg;
	is_tame(e->page.runtime, sizeof(e->page.runtime));
	is_tame(e->page.version, sizeof(e->page.version));
	is_tame(e->page.call.name, sizeof(e->page.call.name));
	if (strcmp(e->name, PAGE) != 0 || e->fd < 0)
		abort();
	return true;
}

static bool see_recording(void *arg, const struct aif_standby_found *f)
{
	(void)arg;
	is_tame(f->about.call.socket, sizeof(f->about.call.socket));
	is_tame(f->about.call.name, sizeof(f->about.call.name));
	is_tame(f->about.command, sizeof(f->about.command));
	is_tame(f->about.output, sizeof(f->about.output));
	return true;
}

static void see_call(const struct aif_call *call)
{
	size_t len = strnlen(call->path, sizeof(call->path));

	if (len == sizeof(call->path) || strncmp(call->path, dir, sizeof(dir) - 1) != 0 ||
	    memchr(call->name, 0, sizeof(call->name)) == NULL)
		abort();
}

static void read_page_as_agent(void)
{
	struct aif_standby s = {.shown = true, .owner = getpid(), .name = PAGE};
	struct aif_call call;
	struct stat st;

	if (fstatat(dirfd, PAGE, &st, 0) < 0)
		abort();
	s.inode = st.st_ino;
	if (aif_standby_answer(&s, dir, &call))
		see_call(&call);
}

static void hear_answer(void)
{
	const struct aif_hello runtime = {.kind = AIF_HELLO_RUNTIME},
			       control = {.kind = AIF_HELLO_CONTROL};
	struct aif_shm *shm;
	uint64_t shm_size;
	int fd = -1;

	if (aif_hello_send(path, &runtime, 1000, &fd) == 0) {
		if (fd < 0 || aif_shm_map(fd, &shm, &shm_size) == 0)
			abort(); /* it is /dev/null */
		close(fd);
	} else if (fd >= 0) {
		abort();
	}
	aif_hello_send(path, &control, 1000, NULL);
	/* No descriptor of all that is left: the next is as low as ever. */
	fd = dup(null);
	if (fd > null + 8)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int nobody[] = {1, 0};
	uint8_t text[4096];
	struct aif_call call;
	size_t first;
	bool whole;

	if (!size)
		return 0;
	with_fd = data[0] & 1;
	whole = data[0] & 2;
	first = AIF_MIN((size_t)(data[0] >> 2) * 8, size - 1);
	data++;
	size -= 1 + first;
	put(PAGE, whole, data, first, sizeof(struct aif_standby_page));
	data += first;
	read_page_as_agent();
	aif_standby_pages(dirfd, nobody, 0, see_page, NULL);
	put("r-x/about", whole, data, size, sizeof(struct aif_standby_recording));
	aif_standby_recordings(dirfd, see_recording, NULL);
	for (unsigned i = 0; aif_standby_asked(dir, i, &call); i++)
		see_call(&call);
	answer_len = AIF_MIN(
		dress(text, whole, data, size, sizeof(struct aif_hello_reply), AIF_WIRE_MAGIC),
		sizeof(answer));
	memcpy(answer, text, sizeof(answer));
	hear_answer();
	return 0;
}
