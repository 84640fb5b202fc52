/* SPDX-License-Identifier: Apache-2.0 */
#include "query/temp_files.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

struct aif_temp_files {
	sqlite3_vfs vfs, *below;
	uint64_t bytes, max; /* of all files; 0 = no bound */
	bool over;
	char name[40];
};

/* Stands before the file of the file system below, in what SQLite allocates for one file. */
struct temp_file {
	sqlite3_file base;
	struct aif_temp_files *of;
	sqlite3_file *below;
	uint64_t size;
};

static struct temp_file *file_of(sqlite3_file *f)
{
	return (struct temp_file *)f;
}

static sqlite3_file *below(sqlite3_file *f)
{
	return file_of(f)->below;
}

static void resize(struct temp_file *f, uint64_t size)
{
	f->of->bytes += size - f->size;
	f->size = size;
}

static int file_close(sqlite3_file *f)
{
	resize(file_of(f), 0);
	return below(f)->pMethods->xClose(below(f));
}

static int file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	return below(f)->pMethods->xRead(below(f), to, n, at);
}

static int file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	struct temp_file *t = file_of(f);
	uint64_t end = (uint64_t)at + (uint64_t)n;
	int r;

	if (end > t->size && t->of->max && t->of->bytes + (end - t->size) > t->of->max) {
		t->of->over = true;
		return SQLITE_FULL;
	}
	r = below(f)->pMethods->xWrite(below(f), from, n, at);
	if (end > t->size)
		resize(t, end);
	return r;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	if ((uint64_t)size < file_of(f)->size)
		resize(file_of(f), (uint64_t)size);
	return below(f)->pMethods->xTruncate(below(f), size);
}

static int file_sync(sqlite3_file *f, int flags)
{
	return below(f)->pMethods->xSync(below(f), flags);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return below(f)->pMethods->xFileSize(below(f), ret);
}

static int file_lock(sqlite3_file *f, int lock)
{
	return below(f)->pMethods->xLock(below(f), lock);
}

static int file_unlock(sqlite3_file *f, int lock)
{
	return below(f)->pMethods->xUnlock(below(f), lock);
}

static int file_is_reserved(sqlite3_file *f, int *ret)
{
	return below(f)->pMethods->xCheckReservedLock(below(f), ret);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return below(f)->pMethods->xFileControl(below(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return below(f)->pMethods->xSectorSize(below(f));
}

static int file_traits(sqlite3_file *f)
{
	return below(f)->pMethods->xDeviceCharacteristics(below(f));
}

/* Version 1 has no mapping into memory, past which a file would grow. */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
};

/* A file with a name is one that is exported into, which has its own bound, and is the file system's below. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	struct aif_temp_files *t = vfs->pAppData;
	struct temp_file *file = file_of(f);
	int r;

	if (name)
		return t->below->xOpen(t->below, name, f, flags, ret_flags);
	*file = (struct temp_file){.of = t, .below = (sqlite3_file *)(file + 1)};
	r = t->below->xOpen(t->below, name, file->below, flags, ret_flags);
	if (file->below->pMethods)
		file->base.pMethods = &methods;
	return r;
}

struct aif_temp_files *aif_temp_files_new(void)
{
	struct aif_temp_files *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->below = sqlite3_vfs_find(NULL);
	if (t->below) {
		snprintf(t->name, sizeof(t->name), "aiflame-temp-%p", (void *)t);
		t->vfs = *t->below;
		t->vfs.pNext = NULL;
		t->vfs.zName = t->name;
		t->vfs.pAppData = t;
		t->vfs.szOsFile += (int)sizeof(struct temp_file);
		t->vfs.xOpen = vfs_open;
	}
	if (t->below && sqlite3_vfs_register(&t->vfs, 0) == SQLITE_OK)
		return t;
	free(t);
	return NULL;
}

void aif_temp_files_free(struct aif_temp_files *t)
{
	if (t)
		sqlite3_vfs_unregister(&t->vfs);
	free(t);
}

const char *aif_temp_files_vfs(const struct aif_temp_files *t)
{
	return t->name;
}

void aif_temp_files_bound(struct aif_temp_files *t, uint64_t max_bytes)
{
	t->max = max_bytes;
}

bool aif_temp_files_over(const struct aif_temp_files *t)
{
	return t->over;
}
