/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/sleep_calls.h"

#include "base/process_read.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum descriptors { NONE, FIRST, POLL, SELECT };

/* Limits: descriptors of a call that are looked at, and words of select()'s set. */
#define DESCRIPTORS 8
#define WORDS       16

bool aif_sleep_call_parse(const char *text, struct aif_sleep_call *ret)
{
	struct aif_sleep_call call = {0};
	char *end;

	call.number = strtol(text, &end, 10);
	if (end == text || call.number < -1 || *end != ' ')
		return false;
	for (unsigned i = 0; call.number >= 0 && i < AIF_ARRAY_LEN(call.args); i++) {
		text = end;
		call.args[i] = strtoull(text, &end, 16);
		if (end == text)
			return false;
	}
	text = end;
	call.sp = strtoull(text, &end, 16);
	text = end;
	call.pc = strtoull(text, &end, 16);
	*ret = call;
	return true;
}

/* Kinds of descriptors, by what /proc/PID/fd/N links to; the likeliest to bring work first. */
static const char *const kinds[] = {"a socket", "a terminal", "an eventfd",
				    "a pipe",   "a device",   "a file"};
enum { SOCKET, TERMINAL, EVENTFD, PIPE, DEVICE, OTHER };

static unsigned kind_of(const char *link)
{
	if (!strncmp(link, "socket:", 7))
		return SOCKET;
	if (!strncmp(link, "pipe:", 5))
		return PIPE;
	if (!strcmp(link, "anon_inode:[eventfd]"))
		return EVENTFD;
	if (!strncmp(link, "/dev/pts/", 9) || !strncmp(link, "/dev/tty", 8) ||
	    !strcmp(link, "/dev/console"))
		return TERMINAL;
	return !strncmp(link, "/dev/", 5) ? DEVICE : OTHER;
}

/* Reads memory of the target, which may be gone, or not ours to read. Returns the bytes. */
static size_t read_memory(int pid, uint64_t address, void *to, size_t len)
{
	ssize_t n = aif_process_memory(pid, address, to, len);

	return n > 0 ? (size_t)n : 0;
}

static unsigned polled(int pid, const struct aif_sleep_call *call, int *fds)
{
	struct pollfd polled[DESCRIPTORS];
	size_t len = (size_t)AIF_MIN(call->args[1], DESCRIPTORS) * sizeof(*polled);
	unsigned n = 0;

	len = len ? read_memory(pid, call->args[0], polled, len) : 0;
	for (size_t i = 0; i < len / sizeof(*polled); i++)
		if (polled[i].fd >= 0)
			fds[n++] = polled[i].fd;
	return n;
}

static unsigned selected(int pid, const struct aif_sleep_call *call, int *fds)
{
	unsigned long set[WORDS];
	const size_t bits = 8 * sizeof(*set);
	size_t len = (size_t)AIF_MIN(call->args[0], WORDS * bits), words = (len + bits - 1) / bits;
	unsigned n = 0;

	words = call->args[1] && words
			? read_memory(pid, call->args[1], set, words * sizeof(*set)) / sizeof(*set)
			: 0;
	for (size_t i = 0; i < words * bits && n < DESCRIPTORS; i++)
		if (set[i / bits] >> i % bits & 1)
			fds[n++] = (int)i;
	return n;
}

static unsigned descriptors_of(int pid, const struct aif_sleep_call *call, enum descriptors which,
			       int *fds)
{
	switch (which) {
	case FIRST:
		fds[0] = (int)call->args[0];
		return 1;
	case POLL:
		return polled(pid, call, fds);
	case SELECT:
		return selected(pid, call, fds);
	case NONE:
		break;
	}
	return 0;
}

/* True if a path is that of an interpreter, or of its library. */
static bool is_python(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len), *file = slash ? slash + 1 : path;

	len -= (size_t)(file - path);
	return (len > 7 && !strncmp(file, "python3", 7)) ||
	       (len > 10 && !strncmp(file, "libpython3", 10));
}

struct aif_sleep_python aif_sleep_python_find(const char *maps)
{
	struct aif_sleep_python ret = {0};

	for (const char *line = maps, *next; *line; line = next) {
		size_t len = strcspn(line, "\n");
		uint64_t start, end;
		const char *path = memchr(line, '/', len);
		char access[5];
		int at = 0;

		next = line + len + (line[len] != '\0');
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %*u%n", &start, &end,
			   access, &at) != 3 ||
		    !at || access[1] != 'w')
			continue;
		if (path && is_python(path, len - (size_t)(path - line)))
			ret = (struct aif_sleep_python){.start = start, .end = end};
		/* Data without initial values follows, of no file. */
		else if (ret.end && start == ret.end && strspn(line + at, " ") + (size_t)at >= len)
			ret.end = end;
	}
	return ret;
}

void aif_sleep_call_name(int pid, const struct aif_sleep_call *call,
			 const struct aif_sleep_python *python, char ret[AIF_SLEEP_NAME])
{
	static const struct {
		long number;
		const char *name;
		enum descriptors descriptors;
	} calls[] = {
#define AIF_SLEEP_CALL(number, name, descriptors) {number, name, descriptors},
#include "record/sources/sleep_calls.def"
#undef AIF_SLEEP_CALL
	};
	int fds[DESCRIPTORS];
	unsigned best = AIF_ARRAY_LEN(kinds), n;
	size_t i = 0;

	while (i < AIF_ARRAY_LEN(calls) && calls[i].number != call->number)
		i++;
	if (call->number < 0)
		snprintf(ret, AIF_SLEEP_NAME, "a page fault");
	else if (i == AIF_ARRAY_LEN(calls))
		snprintf(ret, AIF_SLEEP_NAME, "system call %ld", call->number);
	if (call->number < 0 || i == AIF_ARRAY_LEN(calls))
		return;
	if (call->number == SYS_futex && python && call->args[0] >= python->start &&
	    call->args[0] < python->end) {
		snprintf(ret, AIF_SLEEP_NAME, "futex of Python's GIL");
		return;
	}
	n = descriptors_of(pid, call, calls[i].descriptors, fds);
	for (unsigned k = 0; k < n; k++) {
		char path[64], link[64];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fds[k]);
		len = readlink(path, link, sizeof(link) - 1);
		if (len <= 0)
			continue;
		link[len] = '\0';
		best = AIF_MIN(best, kind_of(link));
	}
	snprintf(ret, AIF_SLEEP_NAME, "%s%s%s", calls[i].name,
		 best < AIF_ARRAY_LEN(kinds) ? " of " : "",
		 best < AIF_ARRAY_LEN(kinds) ? kinds[best] : "");
}
