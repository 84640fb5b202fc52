/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/store.h"

#include <stdatomic.h>
#include <sys/types.h>

/*
 * Text of the program's own source, for `annotate` and the page: the lines that host frames stand
 * on, their neighbours, and the beginnings of the blocks around them (base/source_blocks.h), which say
 * what loops; no others. Each file becomes a row of `programs` whose source_name is
 * the file's path; lines of its source that are not kept are empty.
 *
 * The program's line tables say which files are read, so a hostile program chooses them. They are
 * read with the rights of the user whose program it is; those of a container's program in its root directory, while one
 * of its processes lives (ingest/homes.h): the same path leads elsewhere here. Only files that have not changed since the
 * first process began are read: a later text is not what ran. A file that is not there is no loss,
 * since most libraries were built elsewhere; any other that is left out is counted
 * (SOURCE_SKIPPED).
 */

/* Lines kept on each side of a line that a frame stands on. */
#define AIF_SOURCE_TEXT_CONTEXT 5
/* Bytes of a line; what is longer is cut. */
#define AIF_SOURCE_TEXT_LINE_MAX 1000
/* Bytes of one file, bytes read of all files, bytes kept of all files; files. */
#define AIF_SOURCE_TEXT_FILE_MAX (UINT64_C(4) << 20)
#define AIF_SOURCE_TEXT_READ_MAX (UINT64_C(64) << 20)
#define AIF_SOURCE_TEXT_KEPT_MAX (UINT64_C(8) << 20)
#define AIF_SOURCE_TEXT_FILES    4096

/* The user with whose rights a recorder that is root reads files. Zeroed: none is known. */
struct aif_source_reader {
	bool is_known; /* false: only files that everybody may read are read */
	uid_t uid;
	gid_t gid;
};
/* Notes that a process of that user is recorded. With processes of several users files are read as
 * nobody. */
void aif_source_reader_add(struct aif_source_reader *r, uid_t uid, gid_t gid);

/* Adds the text to the store, once all frames have their names. Takes the store's lock. Reads no
 * further file once *is_impatient is true. */
void aif_source_texts_add(struct aif_store *s, const struct aif_source_reader *reader,
			  const atomic_bool *is_impatient);
