/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/generated.h"

#include "base/buf.h"
#include "base/open_regular.h"
#include "record/ingest/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The names are PyTorch's (torch/_inductor/codecache.py, get_path): "c", then a SHA-256 in base32, in a directory named by
 * its second and third characters. Which directory that is in, TORCHINDUCTOR_CACHE_DIR or another, says nothing.
 */

#define NAME_LEN    52 /* without ".py" */
#define KERNEL_PATH "# kernel path: "

void aif_generated_finish(struct aif_generated *g)
{
	aif_map_finish(&g->known);
}

bool aif_generated_is(const char *path, size_t len)
{
	const char *name = path + len - NAME_LEN - 3;

	/* "/ab/" before the name, and something before that. */
	if (len < NAME_LEN + 3 + 5 || len >= 4096 || path[0] != '/' ||
	    memcmp(path + len - 3, ".py", 3) || memchr(path, '\0', len))
		return false;
	for (unsigned i = 0; i < NAME_LEN; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '2' && name[i] <= '7')))
			return false;
	return name[0] == 'c' && name[-1] == '/' && name[-4] == '/' && name[-3] == name[1] &&
	       name[-2] == name[2];
}

static void skip(struct aif_drainer *d, struct aif_target *t, const char *path, const char *why)
{
	struct aif_buf detail = {0};

	aif_buf_printf(&detail, "%s: %s", path, why);
	if (!aif_buf_failed(&detail))
		aif_store_loss(d->store, AIF_REASON_GENERATED_SKIPPED, t->process,
			       aif_store_str(d->store, detail.data, detail.len), 1);
	aif_buf_finish(&detail);
}

/* The recorder may be root: who runs the program must be able to read the file as well. NULL: so it is. */
static const char *refusal(int fd, int pid, const struct aif_generated *g, uint64_t *ret_size)
{
	struct stat st, process;
	char proc[32];

	snprintf(proc, sizeof(proc), "/proc/%d", pid);
	if (fstat(fd, &st) < 0 || stat(proc, &process) < 0)
		return "its owner is not known";
	if (st.st_uid != process.st_uid && !(st.st_mode & S_IROTH))
		return "it is another user's";
	*ret_size = (uint64_t)st.st_size;
	if (*ret_size > AIF_GENERATED_FILE_MAX)
		return "larger than 4 MiB";
	return g->bytes + *ret_size > AIF_GENERATED_ALL_MAX ? "more than 64 MiB in all" : NULL;
}

/* Copies one file. must_be: that it is not there is counted. False: it is not kept, or was before. */
static bool copy(struct aif_drainer *d, struct aif_target *t, const char *path, bool must_be,
		 struct aif_buf *ret)
{
	struct aif_generated *g = &d->generated;
	struct aif_program row = {
		.process = t->process, .options = aif_store_puts(d->store, ""), .source = AIF_NONE};
	uint64_t key = aif_hash_bytes(path, strlen(path)), size = 0;
	const char *why;
	int fd;

	if (aif_map_get(&g->known, key, NULL) || g->files >= AIF_GENERATED_FILES ||
	    aif_map_put(&g->known, key, 1) < 0)
		return false;
	g->files++;
	fd = aif_open_spare(aif_process_open(&t->files, path, 0));
	if (fd < 0) {
		if (must_be || fd != -ENOENT)
			skip(d, t, path, strerror(-fd));
		return false;
	}
	why = refusal(fd, t->pid, g, &size);
	if (!why && aif_read_regular(fd, size, ret) < 0)
		why = "it could not be read";
	close(fd);
	if (why) {
		skip(d, t, path, why);
		return false;
	}
	g->bytes += size;
	row.source_name = aif_store_puts(d->store, path);
	row.source = aif_store_str(d->store, ret->data, ret->len);
	return row.source != AIF_NONE && row.source_name != AIF_NONE &&
	       aif_store_program(d->store, &row) != AIF_NONE;
}

/* Copies the files of kernels that a wrapper names in comments. Not each of them was written. */
static void add_kernels(struct aif_drainer *d, struct aif_target *t, const struct aif_buf *wrapper)
{
	const char *at = (const char *)wrapper->data, *end = at + wrapper->len, *stop;
	const size_t mark = strlen(KERNEL_PATH);
	struct aif_buf text = {0};
	char path[4096];

	for (; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		if ((size_t)(stop - at) <= mark || memcmp(at, KERNEL_PATH, mark) ||
		    !aif_generated_is(at + mark, (size_t)(stop - at) - mark))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)((size_t)(stop - at) - mark), at + mark);
		aif_buf_clear(&text);
		(void)copy(d, t, path, false, &text);
	}
	aif_buf_finish(&text);
}

void aif_generated_add(struct aif_drainer *d, struct aif_target *t, const char *path, size_t len)
{
	struct aif_buf text = {0};
	char terminated[4096];

	if (d->opts->no_source || !aif_generated_is(path, len))
		return;
	snprintf(terminated, sizeof(terminated), "%.*s", (int)len, path);
	if (copy(d, t, terminated, true, &text))
		add_kernels(d, t, &text);
	aif_buf_finish(&text);
}
