/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/store.h"

struct aif_drainer;
struct aif_target;

/*
 * Copies of the Python files that PyTorch's Inductor generates: stacks and line tables name them, and they vanish with the
 * program's temporary files. Each becomes a row of `programs`, whose source_name is the file's path.
 */

/* Bytes of one file, and of all files of a recording. */
#define AIF_GENERATED_FILE_MAX (UINT64_C(4) << 20)
#define AIF_GENERATED_ALL_MAX  (UINT64_C(64) << 20)
/* Files of a recording that are looked at. */
#define AIF_GENERATED_FILES 16384

struct aif_generated {
	struct aif_map known; /* hash of a path -> 1: looked at */
	uint64_t bytes;
	size_t files;
};
void aif_generated_finish(struct aif_generated *g);

/* True if Inductor's cache calls its files so: ".../ab/cabx...y.py", 52 characters of base32. */
bool aif_generated_is(const char *path, size_t len);
/* A stack of the target names this file: keeps it, and the files of the kernels that it names, where they are
 * Inductor's. What is too large, or cannot be read, is counted (GENERATED_SKIPPED). Needs the store's lock. */
void aif_generated_add(struct aif_drainer *d, struct aif_target *t, const char *path, size_t len);
