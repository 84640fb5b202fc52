/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/builder.h"
#include "import/input.h"

/*
 * Importers turn other profilers' files into profiles. To add a format: one file with a `const
 * struct aif_importer`, and a line in importers.def; the command's help and manual list it.
 */

struct aif_import_progress {
	uint64_t done, size; /* bytes of the file that is being read; size 0: not known */
	uint64_t events;
	const char *file;
};

/* The meanings of stacks with counts: folded ones, speedscope's, pprof's. */
enum aif_import_as {
	AIF_IMPORT_AS_MARKED, /* device time where a frame says so, else CPU time */
	AIF_IMPORT_AS_CPU,
	AIF_IMPORT_AS_DEVICE, /* device time; the last frame is the kernel where no frame is marked */
};

struct aif_import_opts {
	enum aif_import_as folded;
	uint64_t
		count_ns; /* time that one count or sample stands for; 0: 1 ns, or as the file says */
	uint64_t limit;   /* see input.h; 0: the default */
	const char *event;               /* name of perf's event; NULL: a clock, if there is one */
	const struct aif_importer *from; /* format of the files; NULL: found by their content */
	/* Called now and then; nonzero stops the import with -EINTR. May be NULL. */
	int (*progress)(void *arg, const struct aif_import_progress *p);
	/* Makes perf script's text of a file of perf's own: returns where it is read from, or -errno with *err.  Then
	 * perf_end is called, when no more is read of it; is_whole: all of it was. 0 or -errno with *err. NULL: there is no
	 * perf. */
	int (*perf_start)(void *arg, const char *path, struct aif_err *err);
	int (*perf_end)(void *arg, const char *path, bool is_whole, struct aif_err *err);
	void *arg;
	struct aif_scratch *scratch; /* for the profile while it is not whole; NULL: none */
};

struct aif_import_source {
	struct aif_input *input;
	const uint8_t *head; /* the first bytes, which are still to be taken: aif_import_read() */
	size_t head_len, head_at;
	const struct aif_import_opts *opts;
	uint64_t events; /* so far, for the progress */
};
/* Reports the progress. 0, or -EINTR with *err when the import is to stop. */
int aif_import_go_on(struct aif_import_source *s, struct aif_err *err);
/* The file's bytes from its beginning. As aif_input_read(), and -EINTR when it was stopped. */
ssize_t aif_import_read(void *source, void *buf, size_t n, struct aif_err *err);

/* Options that mean something to an importer; where they do not they are refused. */
enum aif_import_uses {
	AIF_IMPORT_USES_AS = 1 << 0,
	AIF_IMPORT_USES_COUNT = 1 << 1,
	AIF_IMPORT_USES_EVENT = 1 << 2,
};

struct aif_importer {
	const char *name, *summary;
	unsigned uses; /* enum aif_import_uses */
	/* Does the file begin like one of these? 0: no; else the best answer is the greatest. */
	int (*probe)(const uint8_t *head, size_t len);
	/* Returns what only perf reads of it, or NULL: then perf's text is read instead, where perf can be run. May be NULL. */
	const char *(*needs_perf)(const uint8_t *head, size_t len);
	/* Adds what is in the file. *state is NULL at first, then what the importer leaves there for the next file
	 * of the same run. 0 or -errno with *err. */
	int (*read)(struct aif_import_source *s, struct aif_builder *b, void **state,
		    struct aif_err *err);
	/* After the last file: what takes all of them together. Frees state. r: 0, or what stopped it all. */
	int (*finish)(struct aif_builder *b, void *state, int r, struct aif_err *err);
};

extern const struct aif_importer *const aif_importers[]; /* as in importers.def; ends with NULL */
#define AIF_IMPORT_HEAD 65536

/* Reads all files into one profile at `output`; it is whole or as it was before. *ret (may be NULL): the builder as it was
 * written, for a summary; finished by the caller. 0 or -errno with *err. */
int aif_import_files(const char *const *files, size_t n, const char *output,
		     const struct aif_import_opts *opts, struct aif_builder *ret,
		     struct aif_err *err);
