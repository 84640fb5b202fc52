/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/objects.h"

#include "base/proc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a table of sockets that are read: 20,000 sockets. */
#define TABLE_MAX (4u << 20)

/* Puts "127.0.0.1:80" from "0100007F:0050"; IPv6 in 32 digits. False: it is none, or of nobody. */
static bool put_address(const char *text, struct aif_buf *b)
{
	char shown[INET6_ADDRSTRLEN];
	uint32_t word[4];
	unsigned port;
	size_t digits = strcspn(text, ":");

	if ((digits != 8 && digits != 32) || sscanf(text + digits, ":%x", &port) != 1 || !port)
		return false;
	for (size_t i = 0; i < digits / 8; i++)
		if (sscanf(text + 8 * i, "%8" SCNx32, &word[i]) != 1)
			return false;
	if (!inet_ntop(digits == 8 ? AF_INET : AF_INET6, word, shown, sizeof(shown)))
		return false;
	aif_buf_printf(b, digits == 8 ? "%s:%u" : "[%s]:%u", shown, port);
	return true;
}

bool aif_stacks_find_socket(const char *table, const char *protocol, uint64_t inode,
			    struct aif_buf *b)
{
	const bool is_unix = !strcmp(protocol, "unix");

	for (const char *line = table, *next; *line; line = next) {
		size_t len = strcspn(line, "\n");
		char local[64], remote[64], copy[512];
		uint64_t at;
		int path = 0;

		next = line + len + (line[len] != '\0');
		snprintf(copy, sizeof(copy), "%.*s", (int)AIF_MIN(len, sizeof(copy) - 1), line);
		if (is_unix) {
			if (sscanf(copy, "%*x: %*x %*x %*x %*x %*x %" SCNu64 " %n", &at, &path) !=
				    1 ||
			    at != inode)
				continue;
			aif_buf_printf(b, "unix socket%s%s", path && copy[path] ? " " : "",
				       path ? copy + path : "");
			return true;
		}
		if (sscanf(copy, " %*d: %63s %63s %*x %*s %*s %*s %*u %*u %" SCNu64, local, remote,
			   &at) != 3 ||
		    at != inode)
			continue;
		aif_buf_printf(b, "%s ", protocol);
		if (!put_address(local, b))
			aif_buf_puts(b, "socket");
		at = b->len;
		aif_buf_puts(b, ", from ");
		if (!put_address(remote, b))
			b->len = at;
		return true;
	}
	return false;
}

static bool put_socket(int pid, uint64_t inode, struct aif_buf *b)
{
	static const char *const protocols[] = {"tcp", "tcp6", "unix", "udp", "udp6"};
	bool found = false;

	for (size_t i = 0; i < AIF_ARRAY_LEN(protocols) && !found; i++) {
		struct aif_buf table = {0};
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, protocols[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		while (fd >= 0 && table.len < TABLE_MAX) {
			char *to = aif_buf_reserve(&table, 65536);
			ssize_t n = to ? read(fd, to, 65536) : -1;

			if (n <= 0)
				break;
			table.len += (size_t)n;
		}
		if (fd >= 0)
			close(fd);
		found = aif_stacks_find_socket(aif_buf_str(&table), protocols[i], inode, b);
		aif_buf_finish(&table);
	}
	return found;
}

void aif_stacks_put_descriptor(int pid, int fd, struct aif_buf *b)
{
	char path[64], link[512];
	uint64_t number;
	ssize_t n;

	aif_buf_printf(b, "%d", fd);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return;
	link[n] = '\0';
	aif_buf_puts(b, " (");
	if (sscanf(link, "socket:[%" SCNu64, &number) == 1) {
		if (!put_socket(pid, number, b))
			aif_buf_printf(b, "socket %" PRIu64, number);
	} else if (sscanf(link, "pipe:[%" SCNu64, &number) == 1) {
		aif_buf_printf(b, "pipe %" PRIu64, number);
	} else if (!strncmp(link, "anon_inode:[", 12)) {
		aif_buf_printf(b, "%.*s", (int)strcspn(link + 12, "]"), link + 12);
	} else {
		aif_buf_puts(b, link);
	}
	aif_buf_puts(b, ")");
}

void aif_stacks_put_child(int pid, int parent, struct aif_buf *b)
{
	char path[64], name[64];

	if (pid <= 0) {
		aif_buf_puts(b, "the end of a child");
		/* A single child is the one. */
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
		if (aif_proc_read(path, name, sizeof(name)) <= 0 ||
		    sscanf(name, "%d %d", &pid, &parent) != 1)
			return;
		aif_buf_puts(b, ": ");
	} else {
		aif_buf_puts(b, "the end of ");
	}
	aif_buf_printf(b, "process %d", pid);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (aif_proc_read(path, name, sizeof(name)) > 0) {
		name[strcspn(name, "\n")] = '\0';
		aif_buf_printf(b, " (%s)", name);
	}
}
