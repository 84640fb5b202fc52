/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/store.h"

#include <stdatomic.h>
#include <sys/types.h>

/*
 * Text of the program's own source, for `annotate` and the page: the lines that host frames stand on and their neighbours, no
 * others. A row of `programs` for each file, whose source_name is the file's path; in its source, lines that are not kept are
 * empty.
 *
 * Which files are read is what line tables say, and these are the program's. They are read with the rights of the user whose
 * program it is, and only files that nobody has changed since before the first process began: a later text is not what ran.
 * Files that are not there are the rule (libraries were built elsewhere) and no loss.
 */

/* Lines kept on each side of a line that a frame stands on. */
#define AIF_SOURCE_TEXT_CONTEXT 5
/* Bytes of a line. */
#define AIF_SOURCE_TEXT_LINE_MAX 1000
/* Bytes of one file and of all that are read; bytes that are kept of all; files. */
#define AIF_SOURCE_TEXT_FILE_MAX (UINT64_C(4) << 20)
#define AIF_SOURCE_TEXT_READ_MAX (UINT64_C(64) << 20)
#define AIF_SOURCE_TEXT_KEPT_MAX (UINT64_C(8) << 20)
#define AIF_SOURCE_TEXT_FILES    4096

/* The user with whose rights files are read, if the recorder is root. */
struct aif_source_reader {
	bool is_known; /* false: what everybody may read is read */
	uid_t uid;
	gid_t gid;
};
/* A process of that user is recorded. Of several users nobody in particular reads. */
void aif_source_reader_add(struct aif_source_reader *r, uid_t uid, gid_t gid);

/* Adds the text to the store when all frames have their names. Ends early once *is_impatient is true. Takes the store's lock. */
void aif_source_texts_add(struct aif_store *s, const struct aif_source_reader *reader,
			  const atomic_bool *is_impatient);
