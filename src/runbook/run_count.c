/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/run_count.h"

#include "probe/tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_FILES 4096

/* Appends a path with what callgrind would put something else in place of. */
static void put_escaped(const char *path, struct aif_buf *out)
{
	for (; *path; path++) {
		if (*path == '%')
			aif_buf_putc(out, '%');
		aif_buf_putc(out, *path);
	}
}

static int list_files(const char *dir, struct aif_runbook_count_run *r)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	r->paths = calloc(MOST_FILES, sizeof(*r->paths));
	while (d && r->paths && r->len < MOST_FILES && (entry = readdir(d))) {
		struct aif_buf path = {0};

		if (*entry->d_name == '.')
			continue;
		aif_buf_printf(&path, "%s/%s", dir, entry->d_name);
		r->paths[r->len] = strdup(aif_buf_str(&path));
		aif_buf_finish(&path);
		if (!r->paths[r->len])
			break;
		r->len++;
	}
	if (d)
		closedir(d);
	return d ? 0 : -errno;
}

static int run(const char *out, char *const *argv)
{
	const char *words[] = {"valgrind",
			       "-q",
			       "--tool=callgrind",
			       "--dump-instr=yes",
			       "--cache-sim=yes",
			       "--simulate-wb=yes",
			       "--trace-children=yes",
			       out,
			       "--"};
	size_t n = AIF_ARRAY_LEN(words), len = 0;
	char **all;
	int status;

	while (argv[len])
		len++;
	all = calloc(n + len + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all, words, sizeof(words));
	memcpy(all + n, argv, len * sizeof(*all));
	status = aif_tool_run(all, false);
	free(all);
	return status;
}

void aif_runbook_count_run(const char *dir, char *const *argv, struct aif_runbook_count_run *ret)
{
	struct aif_buf to = {0}, out = {0};
	int status;

	*ret = (struct aif_runbook_count_run){0};
	aif_buf_printf(&to, "%s/callgrind", dir);
	aif_buf_puts(&out, "--callgrind-out-file=");
	put_escaped(aif_buf_str(&to), &out);
	aif_buf_puts(&out, "/%p.out");
	if (mkdir(aif_buf_str(&to), 0777) < 0 && errno != EEXIST) {
		aif_buf_printf(&ret->why, "%s: %s", aif_buf_str(&to), strerror(errno));
	} else {
		status = run(aif_buf_str(&out), argv);
		if (status == 127)
			aif_buf_puts(&ret->why,
				     "valgrind is not in PATH: apt-get install valgrind");
		else if (status)
			aif_buf_printf(&ret->why, "the command ended with status %d under valgrind",
				       status);
		else if (list_files(aif_buf_str(&to), ret) < 0 || !ret->len)
			aif_buf_puts(&ret->why, "valgrind left no counts");
	}
	aif_buf_finish(&to);
	aif_buf_finish(&out);
}

void aif_runbook_count_run_finish(struct aif_runbook_count_run *r)
{
	for (size_t i = 0; i < r->len; i++)
		free(r->paths[i]);
	free(r->paths);
	aif_buf_finish(&r->why);
}
