/* SPDX-License-Identifier: Apache-2.0 */
#include "text/out.h"

#include "base/clock.h"
#include "base/human.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/name_sanitize.h"
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define FLUSH_BYTES (256 * 1024)
#define NAME_TRIES  100

static void out_free(struct aif_out *o)
{
	if (o->gzip)
		deflateEnd(o->gzip);
	free(o->gzip);
	aif_scratch_take(o->scratch, o->temp_path);
	free(o->path);
	free(o->final_path);
	free(o->temp_path);
	aif_buf_finish(&o->buf);
	*o = (struct aif_out){.fd = -1};
}

/* A new file beside the final one. Not mkstemp(): its mode is 0600, ours the user's umask. */
static int temp_create(struct aif_out *o, mode_t mode)
{
	int e;

	for (unsigned i = 0; i < NAME_TRIES; i++) {
		uint64_t salt = aif_mix64(aif_now_ns() + (uint64_t)getpid() * 1000003 + i);

		if (asprintf(&o->temp_path, "%s.%06x.tmp", o->final_path,
			     (unsigned)(salt & 0xffffff)) < 0) {
			o->temp_path = NULL;
			return -ENOMEM;
		}
		aif_scratch_put(o->scratch, o->temp_path); /* no moment too late */
		o->fd = open(o->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (o->fd >= 0)
			return 0;
		e = errno;
		aif_scratch_take(o->scratch, o->temp_path);
		free(o->temp_path);
		o->temp_path = NULL;
		if (e != EEXIST)
			return -e;
	}
	return -EEXIST;
}

static int file_open(struct aif_out *o)
{
	struct stat st;
	int r;

	if (stat(o->path, &st) < 0) {
		/* A link to nothing is written through, which creates what it points to. */
		if (errno != ENOENT)
			return -errno;
		if (lstat(o->path, &st) == 0)
			goto in_place;
		o->final_path = strdup(o->path);
		return o->final_path ? temp_create(o, 0666) : -ENOMEM;
	}
	if (!S_ISREG(st.st_mode))
		goto in_place;
	o->final_path = realpath(o->path, NULL); /* a link stays a link */
	if (!o->final_path || access(o->final_path, W_OK) < 0)
		return -errno;
	r = temp_create(o, st.st_mode & 0777);
	if (r == 0 && fchmod(o->fd, st.st_mode & 0777) < 0)
		r = -errno;
	return r;
in_place:
	o->fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	return o->fd < 0 ? -errno : 0;
}

static const char *out_name(const char *path)
{
	return !strcmp(path, "-") ? "standard output" : path;
}

int aif_out_say_over(const char *path, uint64_t max, struct aif_err *err)
{
	struct aif_buf size = {0};
	int r;

	aif_human_bytes(&size, max);
	r = aif_err_set(err, -EFBIG,
			"%s: stopped: it would become larger than %s; select a part of the "
			"profile, or allow more with --max-size",
			out_name(path), aif_buf_str(&size));
	aif_buf_finish(&size);
	return r;
}

static int failed(const char *path, int r, struct aif_err *err)
{
	const char *what = out_name(path);

	switch (-r) {
	case ENOSPC:
	case EDQUOT:
		return aif_err_set(err, r, "%s: the disk is full; free space or write elsewhere",
				   what);
	case ENOENT:
		return aif_err_set(err, r, "%s: its directory does not exist; create it", what);
	case EACCES:
	case EPERM:
	case EROFS:
		return aif_err_set(err, r,
				   "%s: cannot be written here: %s; write elsewhere with -o", what,
				   strerror(-r));
	case EINTR:
		return aif_err_set(err, r, "%s: stopped", what);
	default:
		return aif_err_set(err, r, "%s: cannot be written: %s", what, strerror(-r));
	}
}

int aif_out_open(struct aif_out *o, const char *path, struct aif_err *err)
{
	return aif_out_open_stoppable(o, path, NULL, NULL, err);
}

int aif_out_open_here(struct aif_out *o, const char *path, struct aif_err *err)
{
	struct stat st;
	mode_t mode = 0666;
	int r = 0;

	*o = (struct aif_out){.fd = -1};
	if (lstat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return aif_err_set(err, -EINVAL,
					   "%s: is a link or no file, which aiflame does not "
					   "replace; remove it",
					   path);
		mode = st.st_mode & 0777;
	}
	o->path = strdup(path);
	o->final_path = strdup(path);
	r = o->path && o->final_path ? temp_create(o, mode) : -ENOMEM;
	if (r < 0) {
		aif_out_abort(o);
		return failed(path, r, err);
	}
	return 0;
}

int aif_out_open_stoppable(struct aif_out *o, const char *path,
			   const volatile sig_atomic_t *stopped, struct aif_scratch *scratch,
			   struct aif_err *err)
{
	int r = 0;

	*o = (struct aif_out){.fd = -1, .stopped = stopped, .scratch = scratch};
	o->path = strdup(path);
	if (!o->path)
		r = -ENOMEM;
	else if ((o->is_stdout = !strcmp(path, "-"))) {
		o->fd = STDOUT_FILENO;
		o->is_terminal = isatty(STDOUT_FILENO);
	} else {
		r = file_open(o);
	}
	if (r < 0) {
		aif_out_abort(o);
		return failed(path, r, err);
	}
	return 0;
}

static void write_all(struct aif_out *o, const uint8_t *bytes, size_t len)
{
	size_t at = 0;
	ssize_t n;

	while (!o->error && at < len) {
		if (o->stopped && *o->stopped) {
			o->error = -EINTR;
			break;
		}
		n = write(o->fd, bytes + at, len - at);
		if (n > 0)
			at += (size_t)n;
		else if (n == 0)
			o->error = -EIO;
		else if (errno != EINTR)
			o->error = -errno;
	}
	o->written += at;
}

int aif_out_gzip(struct aif_out *o)
{
	enum { GZIP = 16 }; /* added to the window's size: gzip's header, not zlib's */

	assert(!o->gzip && !o->written && !o->buf.len);
	o->gzip = calloc(1, sizeof(*o->gzip));
	if (o->gzip && deflateInit2(o->gzip, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP, 9,
				    Z_DEFAULT_STRATEGY) == Z_OK)
		return 0;
	free(o->gzip);
	o->gzip = NULL;
	return -ENOMEM;
}

/* zlib counts in unsigned int: a buffer of any length goes in by parts. */
static void write_gzip(struct aif_out *o, bool is_end)
{
	uint8_t part[65536];
	size_t at = 0;
	int r = Z_OK;

	do {
		size_t n = AIF_MIN(o->buf.len - at, (size_t)1 << 30);

		o->gzip->next_in = n ? o->buf.data + at : NULL; /* nothing: .data may be NULL */
		o->gzip->avail_in = (unsigned)n;
		at += n;
		do {
			o->gzip->next_out = part;
			o->gzip->avail_out = sizeof(part);
			r = deflate(o->gzip, is_end && at == o->buf.len ? Z_FINISH : Z_NO_FLUSH);
			write_all(o, part, sizeof(part) - o->gzip->avail_out);
		} while (!o->gzip->avail_out && !o->error);
	} while (at < o->buf.len && !o->error);
	if (is_end && r != Z_STREAM_END && !o->error)
		o->error = -EIO;
}

/* Text of any format, sanitized. What is not a whole line yet may end within a character: it waits. */
static void write_terminal(struct aif_out *o, bool is_end)
{
	const uint8_t *end = o->buf.len ? memrchr(o->buf.data, '\n', o->buf.len) : NULL;
	size_t whole = is_end ? o->buf.len : end ? (size_t)(end - o->buf.data) + 1 : 0;
	struct aif_buf text = {0};

	aif_name_sanitize_lines(o->buf.data, whole, &text);
	if (aif_buf_failed(&text))
		o->error = -ENOMEM;
	write_all(o, text.data, text.len);
	aif_buf_finish(&text);
	o->buf.len -= whole;
	if (o->buf.len)
		memmove(o->buf.data, o->buf.data + whole, o->buf.len);
}

static void flush(struct aif_out *o, bool is_end)
{
	size_t before = o->buf.len;

	if (o->max && o->made + before > o->max && !o->error) {
		o->error = -EFBIG;
		o->is_over = true;
	}
	if (o->is_terminal && !o->gzip) {
		write_terminal(o, is_end);
	} else {
		if (o->gzip)
			write_gzip(o, is_end);
		else
			write_all(o, o->buf.data, o->buf.len);
		o->buf.len = 0;
	}
	o->made += before - o->buf.len;
}

void aif_out_flush_if_full(struct aif_out *o)
{
	if (o->buf.len >= FLUSH_BYTES)
		flush(o, false);
}

int aif_out_commit(struct aif_out *o, struct aif_err *err)
{
	int r;

	if ((aif_buf_failed(&o->buf) || aif_memory_failed()) && !o->error)
		o->error = -ENOMEM;
	flush(o, true);
	if (o->stopped && *o->stopped && !o->error)
		o->error = -EINTR;
	r = o->error;
	/* Some file systems tell only now that there was no room. */
	if (!o->is_stdout) {
		if (close(o->fd) < 0 && r == 0)
			r = -errno;
		o->fd = -1;
	}
	if (r == 0 && o->temp_path && rename(o->temp_path, o->final_path) < 0)
		r = -errno;
	if (r < 0) {
		if (o->is_over)
			aif_out_say_over(o->path, o->max, err);
		else
			failed(o->path, r, err);
		aif_out_abort(o);
		return r;
	}
	out_free(o);
	return 0;
}

void aif_out_abort(struct aif_out *o)
{
	if (o->temp_path)
		unlink(o->temp_path);
	if (o->fd >= 0 && !o->is_stdout)
		close(o->fd);
	out_free(o);
}
