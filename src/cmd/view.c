/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/view.h"

#include "base/hash.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/output.h"
#include "cmd/profile_arg.h"
#include "cmd/stop.h"
#include "probe/disassembler.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes the directory, for nobody else to read. */
static int directory_make(const char *path)
{
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* A page in a directory of its own: without a home nothing is kept. For free(). 0 or -errno with *err. */
static int temporary_path(char **ret, struct aif_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char directory[PATH_MAX];
	int n = snprintf(directory, sizeof(directory), "%s/aiflame-XXXXXX",
			 tmp && *tmp == '/' ? tmp : "/tmp");

	if (n >= (int)sizeof(directory) || !mkdtemp(directory))
		return aif_err_set(err, n >= (int)sizeof(directory) ? -ENAMETOOLONG : -errno,
				   "%s: cannot be made; give the page a name with -o", directory);
	return asprintf(ret, "%s/page.html", directory) < 0
		       ? aif_err_set(err, -ENOMEM, "view: out of memory")
		       : 0;
}

/* The page of this profile in the user's cache directory: the same name for the same profile. For free(). 0 or -errno with
 * *err. */
static int cached_path(const char *profile, const char *kind, char **ret, struct aif_err *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *slash = strrchr(profile, '/'), *name = slash ? slash + 1 : profile;
	char *whole;
	struct aif_buf b = {0};
	int r;

	if (cache && *cache == '/')
		aif_buf_puts(&b, cache);
	else if (home && *home == '/')
		aif_buf_printf(&b, "%s/.cache", home);
	else
		return temporary_path(ret, err);
	r = directory_make(aif_buf_str(&b));
	aif_buf_puts(&b, "/aiflame");
	if (!r)
		r = directory_make(aif_buf_str(&b));
	if (r)
		aif_err_set(err, r, "%s: cannot be made: %s; give the page a name with -o",
			    aif_buf_str(&b), strerror(-r));
	whole = realpath(profile, NULL);
	aif_buf_printf(
		&b, "/%s-%s-%08" PRIx32 ".html", name, kind,
		(uint32_t)aif_hash_bytes(whole ? whole : profile, strlen(whole ? whole : profile)));
	free(whole);
	*ret = r ? NULL : strdup(aif_buf_str(&b));
	if (!r && (aif_buf_failed(&b) || !*ret))
		r = aif_err_set(err, -ENOMEM, "view: out of memory");
	aif_buf_finish(&b);
	return r;
}

/* Asks the desktop to show the file, and says what to do where there is none. */
static void show(const char *path)
{
	extern char **environ;
	const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY"),
		   *browser = getenv("BROWSER");
	char *argv[] = {(char *)"xdg-open", (char *)path, NULL};
	int status = -1;
	pid_t pid;

	printf("%s\n", path);
	fflush(stdout);
	if (!(display && *display) && !(wayland && *wayland) && !(browser && *browser)) {
		aif_message(
			"no display here: open this file in a browser, here or on another machine; "
			"it is complete in itself");
		return;
	}
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
	if (status != 0)
		aif_message(
			"xdg-open did not show it: open this file in a browser, or install xdg-utils");
}

static int page_write(const struct aif_page_values *v, bool is_scope, const char *profile,
		      const char *output, struct aif_err *err)
{
	/* A page is sent to others: whose directory the profile lay in is not for them. */
	const char *slash = strrchr(profile, '/');
	char *shown = aif_view_path_for_people(slash ? slash + 1 : profile);
	struct aif_disassemblers d = {0};
	struct aif_page_opts o = {.path = shown ? shown : "",
				  .title = v->title,
				  .first = is_scope ? "scope" : "overview",
				  .is_scope = is_scope,
				  .frames_max = v->frames,
				  .annotate.min_ppm = 0};
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct aif_out out = {.fd = -1};
	int r = aif_view_profile_for_people(profile, &p, &names, err);

	aif_stop_begin_at_once();
	if (!r)
		r = aif_out_open_stoppable(&out, output, NULL, aif_stop_scratch(), err);
	if (!r) {
		out.max = v->max_bytes ? v->max_bytes : aif_view_max_size(profile);
		aif_disassemblers_init(&d, &p);
		o.annotate.disassemble = aif_disassemblers_text;
		o.annotate.arg = &d;
		r = aif_page_write(&names, &o, &out, err);
		if (!r)
			r = aif_profile_check(&p, profile, err);
		if (r)
			aif_out_abort(&out);
		else
			r = aif_out_commit(&out, err);
		if (!r)
			aif_disassemblers_report_missed(&d, aif_message);
	}
	aif_stop_end();
	aif_disassemblers_finish(&d);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	free(shown);
	return r;
}

int aif_page_file(const struct aif_page_values *v, bool is_scope, char **words, int words_len,
		  struct aif_err *err)
{
	const char *path = aif_view_path(v->input, words, words_len, err);
	char *cached = NULL;
	const char *output = v->output;
	int r = 0;

	if (!path)
		return AIF_EXIT_USAGE;
	if (output && !*output) {
		aif_err_set(err, -EINVAL, "-o: the name is empty; give one");
		return AIF_EXIT_USAGE;
	}
	if (!output) {
		if (access(path, R_OK) < 0) {
			aif_err_set(err, -errno, "cannot open %s: %s%s", path, strerror(errno),
				    errno == ENOENT ? "; make one with: aiflame record COMMAND"
						    : "");
			return AIF_EXIT_FAILURE;
		}
		r = cached_path(path, is_scope ? "scope" : "view", &cached, err);
		output = cached;
	}
	if (!r && aif_view_is_same_file(path, output)) {
		aif_err_set(err, -EINVAL, "%s is the profile itself; choose another -o", path);
		free(cached);
		return AIF_EXIT_USAGE;
	}
	if (!r)
		r = aif_output_check(output, err);
	if (!r)
		r = page_write(v, is_scope, path, output, err);
	if (!r && cached)
		show(cached);
	free(cached);
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

/* ---- the command ------------------------------------------------------------------------------ */

static const struct aif_opt opts[] = {AIF_PAGE_OPTS};

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	return aif_page_file(values, false, words, words_len, err);
}

const struct aif_command aif_command_view = {
	.name = "view",
	.words = "[FILE]",
	.summary = "one interactive page for the whole profile, as a file",
	.description =
		"Writes a profile as one HTML file and opens it in a browser: what bounds the program,\n"
		"its devices over time, flame graphs, flame scopes, tables and listings of kernels. All\n"
		"views show the same selected time.\n\n"
		"The file has everything in it: it opens from disk, asks for nothing in the network, and\n"
		"runs no script but its own. With -o it is only written, for another machine, a ticket\n"
		"or a CI artefact. Its size grows with distinct stacks and with cells of time, not with\n"
		"launches or samples; what was joined to bound it is said in the page. docs/view.md has\n"
		"pictures and keys.",
	.examples = "aiflame view\topens a page of aiflame.data in a browser\n"
		    "aiflame view run.data -o run.html\twrites it, to send or to keep\n"
		    "aiflame view run.data -o small.html --frames 20000\ta smaller file\n",
	.opts = opts,
	.values_size = sizeof(struct aif_page_values),
	.max_words = 1,
	.run = run,
};
