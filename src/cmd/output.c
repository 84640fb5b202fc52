/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/output.h"

#include "base/base.h"
#include "profile/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* The title comes before what says who made an SVG, a stack's names before its count, tables'
 * names behind SQLite's head. */
#define HEAD_BYTES 65536

static bool begins(const uint8_t *head, size_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(head, with, strlen(with));
}

static bool has(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

/* "main;work 42", the first line; a name that is too long for the head ends behind it. */
static bool is_folded(const uint8_t *head, size_t n)
{
	const uint8_t *end = memchr(head, '\n', n), *at = end;

	if (!end)
		return n == HEAD_BYTES && memchr(head, ';', n) && !memchr(head, 0, n);
	while (at > head && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at < end && at > head + 1 && at[-1] == ' ';
}

/* Messages of protobuf: pprof's first is short, the others' lengths take four bytes. */
static bool is_proto(const uint8_t *head, size_t n)
{
	return n > 2 && head[0] == '\n' && (head[1] == 4 || head[1] >= 0x80);
}

/* Counters of `aiflame stat`: text, whose first line is empty, JSON, and CSV, whose first event is task-clock unless others were
 * asked for. */
static bool is_counters(const uint8_t *head, size_t n)
{
	const uint8_t *end = memchr(head, '\n', n);

	return begins(head, n, "\n Performance counter stats for '") ||
	       begins(head, n, "\n Roofs of this machine") ||
	       (begins(head, n, "{\n  \"generated_at\": \"") && has(head, n, "\"cpu_topology\"")) ||
	       (end && has(head, (size_t)(end - head), "task-clock"));
}

static bool is_ours(const uint8_t *head, size_t n)
{
	static const uint8_t id[] = {
		AIF_FILE_APPLICATION_ID >> 24, AIF_FILE_APPLICATION_ID >> 16 & 0xff,
		AIF_FILE_APPLICATION_ID >> 8 & 0xff, AIF_FILE_APPLICATION_ID & 0xff};

	if (begins(head, n, "<?xml"))
		return has(head, n, "<!-- made by aiflame");
	if (begins(head, n, "<!doctype html>\n<!-- made by aiflame"))
		return true;
	if (begins(head, n, "SQLite format 3")) /* of which a profile is one, too */
		return n >= 72 && memcmp(head + 68, id, sizeof(id)) != 0 &&
		       has(head, n, "kernel_times");
	return begins(head, n, "{\"schemaVersion\":1,\"") ||
	       begins(head, n, "{\"$schema\":\"https://www.speedscope.app/") ||
	       begins(head, n, "{\"meta\":{\"") || begins(head, n, "interval\t") ||
	       is_proto(head, n) || is_folded(head, n) || is_counters(head, n);
}

/* Packed or plain. 0 or -errno. */
static int read_head(int fd, uint8_t *head, size_t *ret_len)
{
	gzFile g = gzdopen(fd, "r");
	int n;

	if (!g) {
		close(fd);
		return -ENOMEM;
	}
	n = gzread(g, head, HEAD_BYTES);
	gzclose(g);
	*ret_len = n > 0 ? (size_t)n : 0;
	return n < 0 ? -EEXIST : 0;
}

int aif_output_check(const char *path, struct aif_err *err)
{
	uint8_t *head;
	struct stat st;
	size_t n = 0;
	int fd, r;

	/* Only a file with content is checked here: errors of other places are reported when they
	 * are opened. */
	if (!strcmp(path, "-") || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	head = malloc(HEAD_BYTES);
	fd = head ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	r = !head ? -ENOMEM : fd < 0 ? -errno : read_head(fd, head, &n);
	if (!r && !is_ours(head, n))
		r = -EEXIST;
	free(head);
	if (r == -EEXIST)
		return aif_err_set(err, r,
				   "cannot write %s: it exists and is no picture or export of "
				   "aiflame's; choose another name with -o, or move it away",
				   path);
	return r < 0 ? aif_err_set(err, r,
				   "cannot write %s: it exists and cannot be read: %s; choose "
				   "another name with -o",
				   path, strerror(-r))
		     : 0;
}
