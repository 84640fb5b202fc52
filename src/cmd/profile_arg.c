/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/profile_arg.h"

#include "export/kernel_names.h"
#include "export/names.h"

#include "cmd/command.h"
#include "cmd/tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

uint64_t aif_view_max_size(const char *path)
{
	return AIF_MAX(AIF_VIEW_OUTPUT, file_size(path) * AIF_VIEW_OUTPUT_PER_BYTE);
}

static uint64_t memory_bound; /* 0: none of ours */

bool aif_view_memory_bound(uint64_t *ret_bytes)
{
	*ret_bytes = memory_bound;
	return memory_bound != 0;
}

/* Sanitizers reserve terabytes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY 1
#else
#define HAS_SHADOW_MEMORY 0
#endif

/* A lower bound of the user's own stays, as it does for every program. */
static void bound_memory(const char *path)
{
	uint64_t bytes = AIF_VIEW_MEMORY + file_size(path) * AIF_VIEW_MEMORY_PER_BYTE;
	struct rlimit limit;

	if (HAS_SHADOW_MEMORY || getrlimit(RLIMIT_DATA, &limit) < 0 || limit.rlim_cur <= bytes)
		return;
	limit.rlim_cur = bytes;
	if (setrlimit(RLIMIT_DATA, &limit) == 0)
		memory_bound = bytes;
}

static int open_named(const char *path, struct aif_profile *ret, struct aif_err *err)
{
	int r;

	bound_memory(path);
	r = aif_profile_open(path, ret, err);

	if (!r && aif_kernel_names_make(ret) < 0)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	return r;
}

void aif_view_tell_cut(const char *path, const struct aif_profile *p)
{
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_tell("%s: the recording was cut short%s: what came after its last commit is "
			 "missing",
			 path,
			 p->notes & AIF_NOTE_NO_LOCKS
				 ? ", or goes on (its file system has no locks, which would tell)"
				 : "");
	if (p->notes & AIF_NOTE_DEEP_NAMES)
		aif_tell(
			"%s: more than %d functions are inlined at one place: the innermost are left out",
			path, AIF_FRAME_NAMES_MAX);
}

int aif_view_profile(const char *path, struct aif_profile *ret, struct aif_err *err)
{
	int r = open_named(path, ret, err);

	if (!r)
		aif_view_tell_cut(path, ret);
	return r;
}

const char *aif_view_path(const char *option, char **words, int words_len, struct aif_err *err)
{
	if (option && words_len) {
		aif_err_set(err, -EINVAL, "both '%s' and '%s' are given; give one FILE", option,
			    words[0]);
		return NULL;
	}
	return option ? option : words_len ? words[0] : AIF_DEFAULT_FILE;
}

static bool is_database(const char *path)
{
	static const char begin[] = "SQLite format 3";
	char head[sizeof(begin)] = "";
	struct stat st;
	FILE *f;
	bool is;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	is = f && fread(head, 1, sizeof(head), f) == sizeof(head) &&
	     !memcmp(head, begin, sizeof(begin));
	if (f)
		fclose(f);
	return is;
}

void aif_view_put_in_order(char **file, char **other)
{
	char *given = *file;

	if (access(given, F_OK) == 0 || !is_database(*other))
		return;
	*file = *other;
	*other = given;
}

/* Makes one line of a string. *source: the same string if a program's source, else AIF_NONE; then the string that has its
 * text as it was: a source has many lines, and any name may be the same string. */
static int sanitize_name(struct aif_profile *p, uint32_t id, uint32_t *source)
{
	struct aif_buf clean = {0}, text = {0};
	size_t len;
	const char *name = aif_strset_get(&p->strings, id, &len);
	int r = 0;

	aif_name_sanitize(name, len, &clean);
	if (!aif_buf_failed(&clean) && clean.len == len && (!len || !memcmp(clean.data, name, len)))
		goto out;
	if (*source != AIF_NONE)
		aif_buf_append(&text, name, len);
	if (aif_buf_failed(&clean) || aif_buf_failed(&text) ||
	    aif_strset_set(&p->strings, id, clean.data, clean.len) < 0)
		r = -ENOMEM;
	if (!r && *source != AIF_NONE) {
		*source = aif_strset_put(&p->strings, text.data, text.len);
		r = *source == AIF_STR_NONE ? -ENOMEM : 0;
	}
out:
	aif_buf_finish(&clean);
	aif_buf_finish(&text);
	return r;
}

/* So that no name is more than a line, wherever it is written; but programs' sources, which are several. */
static int sanitize_names(struct aif_profile *p)
{
	uint32_t n = (uint32_t)p->strings.len, *sources = malloc((n + 1) * sizeof(*sources));
	int r = sources ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !r; i++)
		sources[i] = AIF_NONE;
	for (size_t i = 0; i < p->programs_len && !r; i++)
		if (p->programs[i].source != AIF_NONE)
			sources[p->programs[i].source] = p->programs[i].source;
	for (uint32_t i = 0; i < n && !r; i++)
		r = sanitize_name(p, i, &sources[i]);
	for (size_t i = 0; i < p->programs_len && !r; i++)
		if (p->programs[i].source != AIF_NONE)
			p->programs[i].source = sources[p->programs[i].source];
	free(sources);
	return r;
}

int aif_view_profile_for_people(const char *path, struct aif_profile *ret, struct aif_err *err)
{
	int r = aif_view_profile(path, ret, err);

	if (!r && sanitize_names(ret) < 0)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	return r;
}

char *aif_view_path_for_people(const char *path)
{
	char *shown = strdup(path);

	if (shown)
		aif_name_sanitize_in_place(shown);
	return shown;
}

int aif_view_open(struct aif_view *v, const char *path, struct aif_err *err)
{
	int r = open_named(path, &v->profile, err);

	if (!r && sanitize_names(&v->profile) < 0)
		r = aif_err_set(err, -ENOMEM, "out of memory");

	return r ? r : aif_attribution_compute(&v->profile, NULL, &v->attribution, err);
}

void aif_view_finish(struct aif_view *v)
{
	aif_attribution_finish(&v->attribution);
	aif_profile_finish(&v->profile);
}

bool aif_view_is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && S_ISREG(x.st_mode);
}

uint32_t aif_view_columns(void)
{
	const char *given = getenv("COLUMNS");
	struct winsize size = {0};
	uint32_t columns = 0;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (!given || aif_parse_count(given, &columns) < 0 || !columns)
		columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
	return columns ? columns : UINT16_MAX; /* one that does not say it */
}

int aif_view_print(const struct aif_buf *b, struct aif_err *err)
{
	if (aif_buf_failed(b)) {
		aif_err_set(err, -ENOMEM, "out of memory");
		return AIF_EXIT_FAILURE;
	}
	errno = 0;
	if (fwrite(b->data, 1, b->len, stdout) == b->len && fflush(stdout) == 0)
		return AIF_EXIT_OK;
	if (errno != EPIPE) /* whoever read has seen enough */
		aif_err_set(err, -errno, "standard output: %s", strerror(errno));
	return AIF_EXIT_FAILURE;
}

int aif_view_print_text(const struct aif_buf *b, struct aif_err *err)
{
	struct aif_buf text = {0};
	int status;

	if (aif_buf_failed(b))
		return aif_view_print(b, err);
	aif_name_sanitize_lines(b->data, b->len, &text);
	status = aif_view_print(&text, err);
	aif_buf_finish(&text);
	return status;
}
