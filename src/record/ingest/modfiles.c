/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/modfiles.h"

#include "base/buf.h"
#include "base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int aif_modfiles_init(struct aif_modfiles *f)
{
	*f = (struct aif_modfiles){.objects = -1};
	return -pthread_mutex_init(&f->lock, NULL);
}

void aif_modfile_finish(struct aif_modfile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->build_id);
	free(file->function);
}

void aif_modfiles_finish(struct aif_modfiles *f)
{
	for (size_t i = 0; i < f->files_len; i++)
		aif_modfile_finish(&f->files[i]);
	free(f->files);
	if (f->objects >= 0)
		close(f->objects);
	for (unsigned i = 0; i < atomic_load(&f->others.len); i++)
		close(f->others.fd[i]);
	pthread_mutex_destroy(&f->lock);
}

void aif_modfiles_add_dir(struct aif_modfiles *f, int fd)
{
	const unsigned at = atomic_load(&f->others.len);
	int copy = at < AIF_OBJECT_DIRS_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (copy < 0)
		return;
	f->others.fd[at] = copy;
	atomic_store(&f->others.len, at + 1);
}

/* Another way to the same file would end the same. */
static bool is_final(int error)
{
	return error == -EINVAL || error == -ETIMEDOUT || error == -EREMOTE ||
	       aif_open_lacks_descriptors(error);
}

int aif_modfile_open(struct aif_process_files *of, uint64_t lo, uint64_t hi, const char *path)
{
	int fd = aif_process_open_mapped(of, lo, hi);

	/* Another file is seen by its build id, when it is taken. */
	if (fd < 0 && path[0] == '/' && !is_final(fd))
		fd = aif_process_open(of, path, 0);
	return aif_open_spare(fd);
}

static int add(struct aif_modfiles *f, struct aif_modfile *file)
{
	int r = 0;

	pthread_mutex_lock(&f->lock);
	if ((!file->path && !file->function && !file->spirv) ||
	    aif_grow(&f->files, &f->files_cap, f->files_len + 1, sizeof(*file)) < 0)
		r = -ENOMEM;
	else
		f->files[f->files_len++] = *file;
	pthread_mutex_unlock(&f->lock);
	if (r < 0)
		aif_modfile_finish(file);
	return r;
}

int aif_modfiles_add(struct aif_modfiles *f, uint32_t module, int fd, const char *path,
		     const char *build_id)
{
	struct aif_modfile file = {.module = module, .fd = fd, .path = strdup(path)};

	if (build_id && *build_id)
		file.build_id = strdup(build_id);
	return add(f, &file);
}

int aif_modfiles_add_function(struct aif_modfiles *f, uint32_t module, const char *name, size_t len,
			      uint64_t object, uint32_t symbol)
{
	struct aif_modfile file = {.module = module,
				   .fd = -1,
				   .function = strndup(name, len),
				   .object = object,
				   .symbol = symbol};

	return add(f, &file);
}

int aif_modfiles_add_perf_map(struct aif_modfiles *f, uint32_t module, int fd)
{
	struct aif_modfile file = {
		.module = module, .fd = fd, .path = strdup("[jit]"), .is_perf_map = true};

	return add(f, &file);
}

int aif_modfiles_add_spirv(struct aif_modfiles *f, uint64_t hash)
{
	struct aif_modfile file = {.module = UINT32_MAX, .fd = -1, .spirv = hash};

	return add(f, &file);
}

bool aif_modfiles_take(struct aif_modfiles *f, struct aif_modfile *ret)
{
	bool any;

	pthread_mutex_lock(&f->lock);
	any = f->files_len > 0;
	if (any)
		*ret = f->files[--f->files_len];
	pthread_mutex_unlock(&f->lock);
	return any;
}
