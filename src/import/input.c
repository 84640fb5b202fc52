/* SPDX-License-Identifier: Apache-2.0 */
#include "import/input.h"

#include "base/open_named.h"
#include "import/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKED (256u << 10)

struct aif_input {
	char name[256];
	const char *path; /* the caller's */
	int fd;
	bool is_eof, is_torn, is_limit_asked;
	uint64_t size, in, out, limit;
	const struct aif_unpacker *unpacker; /* NULL: plain */
	void *state;
	uint8_t *packed; /* what was read and not yet used: [at, len) */
	size_t at, len;
};

static ssize_t read_some(struct aif_input *in, void *buf, size_t n, struct aif_err *err)
{
	ssize_t got = read(in->fd, buf, n);

	/* Only the handler that stops the import interrupts a read. */
	if (got < 0 && errno == EINTR)
		return aif_err_set(err, -EINTR, "%s: stopped", in->name);
	if (got < 0)
		return aif_err_set(err, -errno, "%s: %s", in->name, strerror(errno));
	in->in += (uint64_t)got;
	return got;
}

static int fill(struct aif_input *in, struct aif_err *err)
{
	ssize_t n;

	if (in->at == in->len)
		in->at = in->len = 0;
	n = read_some(in, in->packed + in->len, PACKED - in->len, err);
	if (n < 0)
		return (int)n;
	in->is_eof = n == 0;
	in->len += (size_t)n;
	return 0;
}

/* True for a directory that VTune collected into: NAME.vtune, and data.0 or sqlite-db beside it. */
static bool is_vtune(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	bool is_it = false;

	if (!list && fd >= 0)
		close(fd);
	for (struct dirent *d; list && !is_it && (d = readdir(list));) {
		size_t n = strlen(d->d_name);

		is_it = n > 6 && !strcmp(d->d_name + n - 6, ".vtune");
	}
	if (list)
		closedir(list);
	return is_it;
}

int aif_input_open(const char *path, uint64_t limit, struct aif_input **ret, struct aif_err *err)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : aif_open_named_or_pipe(path, err);

	if (fd == -EISDIR) { /* perhaps a result of VTune, which is said */
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			fd = aif_err_set(err, -errno, "%s: %s", path, strerror(errno));
	}
	if (fd < 0)
		return fd;
	return aif_input_open_fd(fd, is_stdin ? "standard input" : path, limit, ret, err);
}

int aif_input_open_fd(int fd, const char *path, uint64_t limit, struct aif_input **ret,
		      struct aif_err *err)
{
	struct aif_input *in = calloc(1, sizeof(*in));
	struct stat st;
	int r;

	if (!in) {
		if (fd > STDERR_FILENO)
			close(fd);
		return aif_err_set(err, -ENOMEM, "out of memory");
	}
	snprintf(in->name, sizeof(in->name), "%s", path);
	in->path = path;
	in->is_limit_asked = limit != 0;
	in->limit = limit ? limit : AIF_INPUT_LIMIT;
	in->packed = malloc(PACKED);
	in->fd = fd;
	if (!in->packed) {
		r = aif_err_set(err, -ENOMEM, "%s: out of memory", in->name);
		goto fail;
	}
	if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		r = is_vtune(fd)
			    ? aif_err_set(err, -EISDIR,
					  "%s: is a result of VTune, which only VTune reads; "
					  "import what vtune -report hotspots -format csv "
					  "-csv-delimiter comma -r %s -report-output hotspots.csv "
					  "writes",
					  path, path)
			    : aif_err_set(err, -EISDIR, "%s: is a directory; name the files in it",
					  path);
		goto fail;
	}
	if (S_ISREG(st.st_mode))
		in->size = (uint64_t)st.st_size;
	/* The first bytes of a pipe may come one by one. */
	do
		r = fill(in, err);
	while (!r && !in->is_eof && in->len < AIF_UNPACK_MAGIC);
	if (r < 0)
		goto fail;
	in->unpacker = aif_unpacker_of(in->packed, in->len);
	if (in->unpacker) {
		in->state = in->unpacker->new ();
		if (!in->state) {
			r = aif_err_set(err, -ENOMEM, "%s: out of memory", in->name);
			goto fail;
		}
	}
	*ret = in;
	return 0;
fail:
	aif_input_close(in);
	return r;
}

void aif_input_close(struct aif_input *in)
{
	if (!in)
		return;
	if (in->state)
		in->unpacker->free(in->state);
	if (in->fd > STDERR_FILENO)
		close(in->fd);
	free(in->packed);
	free(in);
}

static ssize_t plain(struct aif_input *in, void *buf, size_t n, struct aif_err *err)
{
	size_t left = AIF_MIN(in->len - in->at, n);

	if (!left)
		return in->is_eof ? 0 : read_some(in, buf, n, err);
	memcpy(buf, in->packed + in->at, left);
	in->at += left;
	return (ssize_t)left;
}

static ssize_t unpack(struct aif_input *in, void *buf, size_t n, struct aif_err *err)
{
	size_t out = 0;

	while (!out) {
		size_t used = in->len - in->at;
		int r;

		if (!used && in->is_eof) {
			in->is_torn |= !in->unpacker->is_whole(in->state);
			return 0;
		}
		if (!used) {
			r = fill(in, err);
			if (r < 0)
				return r;
			continue;
		}
		out = n;
		r = in->unpacker->run(in->state, in->packed + in->at, &used, buf, &out);
		in->at += used;
		if (r == -ENODATA) { /* whole, and something else behind it */
			in->at = in->len = 0;
			in->is_eof = true;
			return (ssize_t)out;
		}
		if (r < 0)
			return aif_err_set(
				err, r, "%s: damaged %s data at byte %" PRIu64 "%s", in->name,
				in->unpacker->name, in->in - (in->len - in->at),
				r == -ENOMEM ? " (or out of memory)" : "; fetch it again");
		if (!used && !out && in->len == PACKED)
			return aif_err_set(err, -EBADMSG, "%s: damaged %s data", in->name,
					   in->unpacker->name);
		if (!used && !out) {
			r = fill(in, err);
			if (r < 0)
				return r;
			if (in->is_eof)
				in->at = in->len; /* no more than this */
		}
	}
	return (ssize_t)out;
}

static int bomb(const struct aif_input *in, struct aif_err *err)
{
	bool by_ratio = !in->is_limit_asked && in->unpacker && in->out <= in->limit;

	if (by_ratio)
		return aif_err_set(err, -EFBIG,
				   "%s: unpacks to more than %d times its size, more than %" PRIu64
				   " MB: no trace does; if it is one, allow more with --limit",
				   in->name, AIF_INPUT_RATIO, in->out >> 20);
	return aif_err_set(err, -EFBIG,
			   "%s: holds more than %" PRIu64 " bytes; raise --limit if that is right",
			   in->name, in->limit);
}

ssize_t aif_input_read(struct aif_input *in, void *buf, size_t n, struct aif_err *err)
{
	ssize_t got = in->unpacker ? unpack(in, buf, n, err) : plain(in, buf, n, err);

	if (got <= 0)
		return got;
	in->out += (uint64_t)got;
	if (in->out > in->limit ||
	    (in->unpacker && !in->is_limit_asked && in->out > AIF_INPUT_RATIO_MIN &&
	     in->out / AIF_INPUT_RATIO > in->in))
		return bomb(in, err);
	return got;
}

bool aif_input_is_torn(const struct aif_input *in)
{
	return in->is_torn;
}

const char *aif_input_name(const struct aif_input *in)
{
	return in->name;
}

const char *aif_input_path(const struct aif_input *in)
{
	struct stat st;

	return in->fd != STDIN_FILENO && !in->unpacker && fstat(in->fd, &st) == 0 &&
			       S_ISREG(st.st_mode)
		       ? in->path
		       : NULL;
}

void aif_input_progress(const struct aif_input *in, uint64_t *ret_done, uint64_t *ret_size)
{
	*ret_done = in->in;
	*ret_size = in->size;
}
