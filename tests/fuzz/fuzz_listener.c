/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/modfiles.h"
#include "record/listener.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * Messages to a recorder's socket, of agents and of `aiflame ctl`, which may be of any bytes and lengths, also from who has the
 * token: each is answered or not, and no descriptor is left. The input, for each message: bits (a good head, and which kind
 * and order), its length, its bytes behind that.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Messages of one input; inputs of one recorder, whose tables grow. */
enum { MESSAGES = 8, INPUTS = 64, GOOD = 0x80 };

static struct world {
	struct aif_store store;
	struct aif_modfiles files;
	struct aif_record_opts opts;
	struct aif_attach attach;
	struct aif_listener listener;
	unsigned inputs;
} w;

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

static void set_up(void)
{
	w.attach = (struct aif_attach){.dir = -1, .about = -1, .owner = geteuid()};
	must(aif_store_init(&w.store, 0) == 0 && aif_modfiles_init(&w.files) == 0);
	must(aif_listener_open(&w.listener, &w.store, &w.opts, &w.attach, NULL) == 0);
	must(aif_drain_thread_new(&w.store, &w.files, &w.opts, &w.listener.drain, NULL) == 0);
	w.inputs = 0;
}

static void tear_down(void)
{
	struct aif_drain_stats stats;

	aif_syncs_finish(&w.listener.syncs, 0);
	aif_drain_thread_finish(w.listener.drain, &stats);
	aif_listener_close(&w.listener);
	aif_attach_close(&w.attach);
	aif_modfiles_finish(&w.files);
	aif_store_finish(&w.store);
}

static int connected(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(addr.sun_path, w.listener.socket, sizeof(addr.sun_path));
	must(sock >= 0 && connect(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	return sock;
}

/* Sends one message; returns how many bytes of the input it took. */
static size_t send_one(const uint8_t *data, size_t size)
{
	struct aif_hello hello;
	size_t n = AIF_MIN((size_t)data[1] * 32, size - 2), len = n;
	int sock = connected();

	memset(&hello, 0, sizeof(hello));
	if (data[0] & GOOD) {
		memcpy((uint8_t *)&hello + AIF_HELLO_FIXED, data + 2,
		       AIF_MIN(n, sizeof(hello) - AIF_HELLO_FIXED));
		hello.magic = AIF_WIRE_MAGIC;
		hello.version = AIF_WIRE_VERSION;
		memcpy(hello.token, w.listener.token, sizeof(hello.token));
		hello.kind = data[0] & 7;
		hello.control = hello.kind == AIF_HELLO_RUNTIME ? data[1] & 3u : data[0] >> 3 & 7u;
		len = AIF_MIN(n + AIF_HELLO_FIXED, sizeof(hello));
	} else {
		len = AIF_MIN(n, sizeof(hello));
		memcpy(&hello, data + 2, len);
	}
	if (send(sock, &hello, len, MSG_NOSIGNAL) < 0 && len)
		abort();
	aif_listener_accept(&w.listener);
	close(sock);
	return 2 + n;
}

/* Returns the lowest descriptor that is free. */
static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

/* Waits two seconds for descriptors that others of this process hold for a moment; those that leak stay. */
static bool comes_down_to(int before, int *ret)
{
	for (unsigned i = 0; i < 200; i++) {
		*ret = lowest();
		if (!before || *ret <= before)
			return true;
		usleep(10000);
	}
	return false;
}

/* Says what each descriptor is of. */
static void list_descriptors(void)
{
	for (int fd = 0; fd < 64; fd++) {
		char name[64], of[256];
		ssize_t n;

		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		n = readlink(name, of, sizeof(of) - 1);
		if (n > 0)
			fprintf(stderr, "%d: %.*s\n", fd, (int)n, of);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!w.listener.drain)
		set_up();
	for (unsigned i = 0; i < MESSAGES && size >= 2; i++) {
		size_t n = send_one(data, size);

		data += n;
		size -= n;
	}
	must(w.listener.pending_len <= AIF_PENDING_CONNECTIONS &&
	     w.listener.syncs.len <= AIF_SYNCS);
	if (++w.inputs == INPUTS || w.listener.syncs.len == AIF_SYNCS) {
		static int before;
		int fd;

		tear_down();
		memset(&w, 0, sizeof(w));
		if (!comes_down_to(before, &fd)) {
			fprintf(stderr, "%d descriptors are open, %d were\n", fd, before);
			list_descriptors();
			abort();
		}
		before = fd;
	}
	return 0;
}
