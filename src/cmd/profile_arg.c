/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/profile_arg.h"

#include "base/open_named.h"
#include "base/memory.h"
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "cmd/message.h"

#include <errno.h>
#include <malloc.h>
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

/* Gives arrays back to the system as soon as they are freed: else glibc keeps up to 32 MiB of each size for the next one, a 20th of
 * what a view of 3 million launches takes. */
static void return_memory(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static int open_named(const char *path, struct aif_profile *ret, struct aif_names *names,
		      struct aif_err *err)
{
	int r;

	bound_memory(path);
	return_memory();
	r = aif_profile_open(path, ret, err);
	if (!r && aif_names_make(names, ret) < 0)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* Names are made before: those that differ only in what is not shown keep different marks. */
static int sanitize(struct aif_profile *p, struct aif_names *names, struct aif_err *err)
{
	if (aif_names_sanitize(names) < 0 || aif_profile_sanitize(p) < 0)
		return aif_err_set(err, -ENOMEM, "out of memory");
	return 0;
}

void aif_view_report_cut(const char *path, const struct aif_profile *p)
{
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_message("%s: the recording was cut short%s: data after its last commit are "
			    "missing",
			    path,
			    p->notes & AIF_NOTE_NO_LOCKS
				    ? ", or is still running (its file system has no locks to "
				      "tell by)"
				    : "");
	if (p->notes & AIF_NOTE_DEEP_NAMES)
		aif_message(
			"%s: more than %d functions are inlined at one place: the innermost are left out",
			path, AIF_FRAME_NAMES_MAX);
}

int aif_view_profile(const char *path, struct aif_profile *ret, struct aif_names *names,
		     struct aif_err *err)
{
	int r = open_named(path, ret, names, err);

	if (!r)
		aif_view_report_cut(path, ret);
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
	f = aif_fopen_named(path, NULL);
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

int aif_view_profile_for_people(const char *path, struct aif_profile *ret, struct aif_names *names,
				struct aif_err *err)
{
	int r = aif_view_profile(path, ret, names, err);

	return r ? r : sanitize(ret, names, err);
}

char *aif_view_path_for_people(const char *path)
{
	char *shown = strdup(path);

	if (shown)
		aif_name_sanitize_in_place(shown);
	else
		aif_memory_fail();
	return shown;
}

int aif_view_open(struct aif_view *v, const char *path, struct aif_err *err)
{
	int r = open_named(path, &v->profile, &v->names, err);

	if (!r)
		r = sanitize(&v->profile, &v->names, err);
	return r ? r : aif_attribution_compute(&v->profile, NULL, &v->attribution, err);
}

void aif_view_finish(struct aif_view *v)
{
	aif_attribution_finish(&v->attribution);
	aif_names_finish(&v->names);
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
	if (aif_buf_failed(b) || aif_memory_failed()) {
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

int aif_view_show(const char *path, bool is_for_people,
		  int (*write)(const void *values, const char *path, const struct aif_names *names,
			       struct aif_buf *out, struct aif_err *err),
		  const void *values, struct aif_err *err)
{
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct aif_buf out = {0};
	int status = AIF_EXIT_FAILURE;

	if ((is_for_people ? aif_view_profile_for_people : aif_view_profile)(path, &p, &names,
									     err) == 0 &&
	    write(values, path, &names, &out, err) == 0 && aif_profile_check(&p, path, err) == 0)
		status = is_for_people ? aif_view_print_text(&out, err) : aif_view_print(&out, err);
	if (status != AIF_EXIT_OK && !err->code)
		aif_profile_check(&p, path, err);
	aif_buf_finish(&out);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	return status;
}
