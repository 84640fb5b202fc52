/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/process_open.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

/*
 * The files behind modules, opened at the moment a module is first seen, since they may be gone (or
 * replaced) when names are wanted. The drain thread adds, the naming thread takes.
 */
struct aif_modfile {
	uint32_t module; /* of the store */
	int fd;
	char *path;       /* as the target names it; for messages and separate debug files */
	char *build_id;   /* hexadecimal, NULL = unknown */
	bool is_perf_map; /* of a process that has ended: names of its code that is in no file */
	/* A function of a device's own code: mangled; and where it is, if its object was kept. */
	char *function;
	uint64_t object; /* hash (wire/handshake.h), 0 = not kept */
	uint32_t symbol;
	uint64_t spirv; /* != 0: what a program was made of, left under aif_object_source() of it */
};

/* Names of SPIR-V modules. */
#define AIF_SPIRV_NAME     "spirv %016" PRIx64
#define AIF_SPIRV_NAME_MAX 32

/* Directories of other users, and of containers, in which agents leave device code, too (record/attach/owners.h). Grows only: the main
 * thread adds, the naming thread reads. */
#define AIF_OBJECT_DIRS_MAX 256
struct aif_object_dirs {
	atomic_uint len;
	int fd[AIF_OBJECT_DIRS_MAX];
};

struct aif_modfiles {
	pthread_mutex_t lock;
	struct aif_modfile *files; /* not yet taken */
	size_t files_len, files_cap;
	int objects; /* the directory in which agents leave device code, -1 = none */
	struct aif_object_dirs others;
};

int aif_modfiles_init(struct aif_modfiles *f);
void aif_modfiles_finish(struct aif_modfiles *f); /* closes what nobody took */

/* Opens the file that a process has mapped at [lo, hi) under `path`: through
 * /proc/PID/map_files where the kernel lets us (right even for deleted files), else through the
 * process's own root directory. -errno when it cannot be opened: -EINVAL if it is not a regular file,
 * -EMFILE also while the last descriptors are kept for others. */
int aif_modfile_open(struct aif_process_files *of, uint64_t lo, uint64_t hi, const char *path);

/* Adds a directory to `others`; the descriptor stays the caller's. */
void aif_modfiles_add_dir(struct aif_modfiles *f, int fd);

/* Takes fd. 0 or -ENOMEM (fd is closed then). */
int aif_modfiles_add(struct aif_modfiles *f, uint32_t module, int fd, const char *path,
		     const char *build_id);
int aif_modfiles_add_function(struct aif_modfiles *f, uint32_t module, const char *name, size_t len,
			      uint64_t object, uint32_t symbol);
int aif_modfiles_add_perf_map(struct aif_modfiles *f, uint32_t module, int fd);
int aif_modfiles_add_spirv(struct aif_modfiles *f, uint64_t hash);
/* Moves one file to *ret; its fd and strings are then the caller's. False if there is none. */
bool aif_modfiles_take(struct aif_modfiles *f, struct aif_modfile *ret);
void aif_modfile_finish(struct aif_modfile *file);
