/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/side.h"

#include "base/name_sanitize.h"
#include "base/open_named.h"
#include "compare/run_file.h"
#include "flame/flame.h"
#include "flame/folded.h"
#include "names/selection_args.h"
#include "profile/file.h"

#include <dirent.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More runs are no better known, and their trees are in memory together. */
#define MOST_RUNS 200

static struct aif_run *new_run(struct aif_side *s, struct aif_err *err)
{
	if (s->len == MOST_RUNS) {
		aif_err_set(err, -E2BIG, "%s: more than %d runs on a side", s->name, MOST_RUNS);
		return NULL;
	}
	if (aif_grow(&s->runs, &s->cap, s->len + 1, sizeof(*s->runs)) < 0) {
		aif_err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	s->runs[s->len] = (struct aif_run){0};
	return &s->runs[s->len++];
}

static bool begins(const char *text, size_t len, const char *with, size_t with_len)
{
	return len >= with_len && !memcmp(text, with, with_len);
}

/* Returns what text looks like. */
static const char *kind_of_text(const char *path, const char *text, size_t len)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	size_t blank = 0;

	if (dot && !strcmp(dot, ".py"))
		return "a Python program";
	if (begins(text, len, "#!", 2))
		return "a script";
	while (blank < len && strchr(" \t\r\n", text[blank]))
		blank++;
	if (blank < len && strchr("[{", text[blank]))
		return "JSON (of a trace aiflame import makes a profile)";
	return NULL;
}

/* Returns what a file looks like that is no profile, by how it begins: "a program or library (ELF)"; NULL: nothing known.
 * *ret_is_text: it may be text. */
static const char *file_kind(const char *path, bool *ret_is_text)
{
	FILE *f = aif_fopen_named(path, NULL);
	char text[512];
	size_t len = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		fclose(f);
	*ret_is_text = false;
	if (begins(text, len, "\177ELF", 4))
		return "a program or library (ELF)";
	if (begins(text, len, "\x1f\x8b", 2) || begins(text, len, "PK\3\4", 4) ||
	    begins(text, len, "\x28\xb5\x2f\xfd", 4))
		return "a compressed file (of a trace aiflame import makes a profile)";
	if (memchr(text, '\0', len))
		return "a binary file";
	*ret_is_text = true;
	return kind_of_text(path, text, len);
}

/* Reads folded text of which all lines are stacks: what is of another kind has a few that look like some. */
static int read_folded(const char *path, struct aif_run *ret, struct aif_err *err)
{
	struct aif_folded_stats stats = {0};
	struct aif_tree t = {0};
	bool is_text;
	const char *kind = file_kind(path, &is_text);
	int fd = is_text ? aif_open_named(path, err) : -1, r = 0;

	if (is_text && fd < 0)
		r = fd;
	else if (is_text && aif_tree_init(&t, false) < 0)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	else if (is_text)
		r = aif_folded_read(fd, path, &t, &stats, err);
	if (!is_text || stats.bad)
		r = aif_err_set(err, -EINVAL,
				"%s: neither a profile nor folded text: it looks like %s", path,
				kind ? kind : "other text");
	if (stats.bad && !kind)
		aif_err_set(err, -EINVAL,
			    "%s: neither a profile nor folded text: line %" PRIu64
			    " is not \"frame;frame COUNT\"",
			    path, stats.first_bad);
	if (!r && (aif_tree_seal(&t) < 0))
		r = aif_err_set(err, -ENOMEM, "out of memory");
	if (!r && !t.nodes[0].total)
		r = aif_err_set(err, -ENODATA, "%s: nothing to compare: all counts are 0", path);
	if (!r)
		r = aif_run_of_folded(&t, path, ret, err);
	if (fd >= 0)
		close(fd);
	aif_tree_finish(&t);
	return r;
}

/* True for a reduced run: by how it begins. */
static bool is_reduced(const char *path)
{
	char begin[sizeof(AIF_RUN_FILE_BEGIN) - 1];
	FILE *f = aif_fopen_named(path, NULL);
	bool is = f && fread(begin, 1, sizeof(begin), f) == sizeof(begin) &&
		  !memcmp(begin, AIF_RUN_FILE_BEGIN, sizeof(begin));

	if (f)
		fclose(f);
	return is;
}

/* Refuses a baseline's file that is not what it is called by: the hash of what is in it. Other names are free. */
static int check_hash(const char *path, const struct aif_buf *b, struct aif_err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char is[32];

	if (strspn(name, "0123456789abcdef") != 16 || strcmp(name + 16, AIF_BASELINE_SUFFIX) != 0)
		return 0;
	snprintf(is, sizeof(is), "%016" PRIx64, aif_hash_bytes(b->data, b->len));
	if (!memcmp(is, name, 16))
		return 0;
	return aif_err_set(err, -EINVAL,
			   "%s: edited or damaged: what is in it is not what its name is the hash "
			   "of; restore it, or set the baseline again",
			   path);
}

static int read_reduced(const char *path, struct aif_run *ret, struct aif_err *err)
{
	FILE *f = aif_fopen_named(path, err);
	struct aif_buf b = {0};
	void *room = f ? aif_buf_reserve(&b, AIF_RUN_FILE_MAX + 1) : NULL;
	int r;

	if (!f)
		return err->code;
	if (room)
		b.len = fread(room, 1, AIF_RUN_FILE_MAX + 1, f);
	if (!room)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	else if (ferror(f) || b.len > AIF_RUN_FILE_MAX)
		r = aif_err_set(err, ferror(f) ? -EIO : -EFBIG, "%s: %s", path,
				ferror(f) ? "cannot be read" : "too large for a reduced run");
	else if (!(r = check_hash(path, &b, err)))
		r = aif_run_read((char *)b.data, b.len, path, ret, err);
	aif_buf_finish(&b);
	fclose(f);
	return r;
}

/* `loop`: where the turns begin that are steps; 0: to be found. `whole`: not the loop alone. */
static int read_profile(const struct aif_side *s, const char *path, const char *shown,
			const struct aif_run_part *time, uint64_t loop, bool whole,
			struct aif_run *ret, struct aif_err *err)
{
	const struct aif_selection_values values = {.time = *time};
	struct aif_selection_args choice = {0};
	struct aif_profile p = {0};
	struct aif_names names = {0};
	int r = s->open(path, &p, &names, err);

	if (!r)
		r = aif_selection_args_make(&values, &p, &choice, err);
	choice.sel.loop = loop;
	choice.sel.whole = whole;
	if (!r)
		r = aif_run_reduce(&names, &choice.sel, shown, ret, err);
	if (!r)
		r = aif_profile_check(&p, path, err);
	aif_selection_args_finish(&choice);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	return r;
}

/* Puts the path before an error of the profile's that does not have it. */
static int with_path(const char *path, int r, struct aif_err *err)
{
	struct aif_err why = err ? *err : (struct aif_err){0};

	if (r && *why.text && !strstr(why.text, path))
		aif_err_set(err, r, "%s: %.800s", path, why.text);
	return r;
}

/* Takes the last run away if the side has it already, under whatever name: it counts once. */
static int drop_repeated(struct aif_side *s, struct aif_err *err)
{
	struct aif_run *last = &s->runs[s->len - 1];

	if (aif_run_set_hash(last) < 0)
		return aif_err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i + 1 < s->len; i++) {
		if (s->runs[i].hash != last->hash)
			continue;
		aif_run_finish(last);
		s->len--;
		s->repeated++;
		break;
	}
	return 0;
}

/* A file, with its part behind the last '@' unless a file has that name. */
static int add_file(struct aif_side *s, const char *word, struct aif_err *err)
{
	struct aif_run_part time = {0};
	const char *at = access(word, F_OK) == 0 ? NULL : strrchr(word, '@');
	char *path = at ? strndup(word, (size_t)(at - word)) : strdup(word);
	struct aif_run *run;
	struct stat st;
	int r = 0;

	if (!path)
		return aif_err_set(err, -ENOMEM, "out of memory");
	if (at && aif_parse_span(at + 1, &time) == -ERANGE)
		r = aif_err_set(err, -EINVAL, "%s: '%s' ends before it begins", path, at + 1);
	else if (at && aif_parse_span(at + 1, &time) < 0)
		r = aif_err_set(err, -EINVAL,
				"%s: '%s' is no part of a run; give FROM,TO, loop, startup, tail, "
				"step:N or steps:N-M",
				path, at + 1);
	/* Pipes would wait for ever, devices never end. */
	if (!r && stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		r = aif_not_regular(path, st.st_mode, err);
	run = r ? NULL : new_run(s, err);
	if (!r && !run)
		r = err->code;
	else if (!r && is_reduced(path))
		r = at ? aif_err_set(err, -EINVAL,
				     "%s: a reduced run is that of one part and has no others",
				     path)
		       : read_reduced(path, run, err);
	else if (!r && aif_flame_is_folded(path))
		r = at ? aif_err_set(err, -EINVAL, "%s: folded text has no times to choose by",
				     path)
		       : read_folded(path, run, err);
	else if (!r)
		r = with_path(path, read_profile(s, path, word, &time, 0, false, run, err), err);
	if (!r)
		r = drop_repeated(s, err);
	/* Imported profiles may not say when they were made. */
	if (!r && run && s->len && !s->runs[s->len - 1].recording && at && stat(path, &st) == 0)
		s->runs[s->len - 1].recording =
			aif_mix64((uint64_t)st.st_ino + aif_mix64((uint64_t)st.st_dev + 1)) | 1;
	free(path);
	return r;
}

static int is_run(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && dot != d->d_name && *d->d_name != '.' &&
	       (!strcmp(dot, ".data") || !strcmp(dot, AIF_BASELINE_SUFFIX));
}

/* Says that a directory has no runs, and where those of a bench are. */
static int no_runs(const char *path, struct aif_err *err)
{
	struct aif_buf a = {0};
	struct stat st;
	bool is_bench;

	aif_buf_printf(&a, "%s/a", path);
	is_bench = !aif_buf_failed(&a) && stat(aif_buf_str(&a), &st) == 0 && S_ISDIR(st.st_mode);
	aif_err_set(err, -ENOENT,
		    "%s: no profile (*.data) and no reduced run in this directory%s%s", path,
		    is_bench ? "; give " : "", is_bench ? aif_buf_str(&a) : "");
	aif_buf_finish(&a);
	return -ENOENT;
}

/* All runs of a directory; of each the part behind `at`, "@steps:2-5", or NULL. */
static int add_directory(struct aif_side *s, const char *path, const char *at, struct aif_err *err)
{
	struct dirent **list = NULL;
	int n = scandir(path, &list, is_run, alphasort), r = 0;

	if (n < 0)
		return aif_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!n)
		r = no_runs(path, err);
	for (int i = 0; i < n; i++) {
		struct aif_buf file = {0};

		aif_buf_printf(&file, "%s/%s%s", path, list[i]->d_name, at ? at : "");
		if (!r)
			r = aif_buf_failed(&file) ? aif_err_set(err, -ENOMEM, "out of memory")
						  : add_file(s, aif_buf_str(&file), err);
		aif_buf_finish(&file);
		free(list[i]);
	}
	free(list);
	return r;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int is_baseline(const struct dirent *d)
{
	return *d->d_name != '.';
}

/* Says that there is no such baseline, and which there are. */
static int no_baseline(const char *baselines, const char *name, struct aif_err *err)
{
	enum { MOST_SHOWN = 8 };
	const char *dir = baselines ? baselines : AIF_BASELINES;
	struct dirent **list = NULL;
	struct aif_buf names = {0};
	int n = scandir(dir, &list, is_baseline, alphasort);

	for (int i = 0; i < n; i++) {
		if (i < MOST_SHOWN)
			aif_buf_printf(&names, "%s%s", i ? ", " : "", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	if (n > 0)
		aif_err_set(err, -ENOENT, "baseline:%s: no such baseline in %s, which has %s%s",
			    name, dir, aif_buf_str(&names), n > MOST_SHOWN ? " and more" : "");
	else
		aif_err_set(
			err, -ENOENT,
			"baseline:%s: no baseline in %s; make it by aiflame baseline set %s RUNS",
			name, dir, name);
	aif_buf_finish(&names);
	return -ENOENT;
}

static int add_word(struct aif_side *s, const char *word, const char *baselines,
		    struct aif_err *err)
{
	const char *at = access(word, F_OK) == 0 ? NULL : strrchr(word, '@');

	if (!strncmp(word, "baseline:", 9)) {
		char *path = aif_baseline_path(baselines, word + 9, err);
		int r = !path ? err->code
			: access(path, F_OK) < 0 && errno == ENOENT
				? no_baseline(baselines, word + 9, err)
				: add_directory(s, path, NULL, err);

		free(path);
		return r;
	}
	if (!*word)
		return aif_err_set(err, -EINVAL, "'%s': a name is missing between commas", s->name);
	if (is_directory(word))
		return add_directory(s, word, NULL, err);
	if (at) {
		char *path = strndup(word, (size_t)(at - word));
		int r;

		if (!path)
			return aif_err_set(err, -ENOMEM, "out of memory");
		r = is_directory(path) ? add_directory(s, path, at, err) : add_file(s, word, err);
		free(path);
		return r;
	}
	return add_file(s, word, err);
}

/* Returns the end of the first word: a comma that is not that of a part, "run.data@1.5,2". */
static size_t word_len(const char *spec)
{
	size_t len = strcspn(spec, ",");
	const char *at = memrchr(spec, '@', len);

	if (spec[len] && at && (at + 1 == spec + len || strchr("0123456789.", at[1])))
		len += 1 + strcspn(spec + len + 1, ",");
	return len;
}

int aif_side_reduce_again(const struct aif_side *s, const struct aif_run *run, uint64_t loop,
			  struct aif_run *ret, struct aif_err *err)
{
	static const struct aif_run_part all;

	*ret = (struct aif_run){0};
	if (run->is_part || is_reduced(run->path) || aif_flame_is_folded(run->path))
		return -ENODATA;
	return with_path(run->path,
			 read_profile(s, run->path, run->path, &all, loop, false, ret, err), err);
}

/* Reads a run again that is the loop alone: all of it, with the same steps. -ENODATA where there is no more of it. */
static int read_whole(const struct aif_side *s, const struct aif_run *run, struct aif_run *ret,
		      struct aif_err *err)
{
	static const struct aif_run_part all;
	int r;

	*ret = (struct aif_run){0};
	if (run->is_part || is_reduced(run->path))
		return aif_err_set(err, -ENODATA,
				   "%s: the loop alone is in it, not a whole run: give its profile",
				   run->path);
	r = with_path(run->path,
		      read_profile(s, run->path, run->path, &all, run->loop, true, ret, err), err);
	if (!r && run->in_cycles)
		r = aif_run_to_cycles(ret, err);
	if (r)
		return r;
	ret->hash = run->hash;
	ret->recording = run->recording;
	ret->steps_from = run->steps_from;
	ret->steps = run->steps;
	ret->loop = run->loop;
	ret->amount[AIF_RUN_LOOP] = run->amount[AIF_RUN_ELAPSED];
	return 0;
}

int aif_side_read_whole(struct aif_side *s, struct aif_err *err)
{
	struct aif_run whole;
	int r = 0;

	for (size_t i = 0; i < s->len && !r; i++) {
		if (!s->runs[i].is_loop)
			continue;
		r = read_whole(s, &s->runs[i], &whole, err);
		aif_run_finish(r ? &whole : &s->runs[i]);
		if (!r)
			s->runs[i] = whole;
	}
	return r;
}

/* Reads a part of a profile again: the whole steps in it. */
static int read_steps(const struct aif_side *s, const struct aif_run *run, struct aif_run *ret,
		      struct aif_err *err)
{
	const struct aif_run_part time = {.from_ns = run->steps_from_ns, .to_ns = run->steps_to_ns};
	const char *at = strrchr(run->path, '@');
	char *path = strndup(run->path, at ? (size_t)(at - run->path) : strlen(run->path));
	int r;

	*ret = (struct aif_run){0};
	if (!path)
		return aif_err_set(err, -ENOMEM, "out of memory");
	r = with_path(path, read_profile(s, path, run->path, &time, 0, false, ret, err), err);
	if (!r && run->in_cycles)
		r = aif_run_to_cycles(ret, err);
	ret->hash = run->hash;
	ret->recording = run->recording;
	free(path);
	return r;
}

int aif_side_read_steps(struct aif_side *s, struct aif_err *err)
{
	struct aif_run steps;
	int r = 0;

	for (size_t i = 0; i < s->len && !r; i++) {
		if (!s->runs[i].steps_to_ns)
			continue;
		r = read_steps(s, &s->runs[i], &steps, err);
		aif_run_finish(r ? &steps : &s->runs[i]);
		if (!r)
			s->runs[i] = steps;
	}
	return r;
}

bool aif_side_has_loops_alone(const struct aif_side *s)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->runs[i].is_loop && is_reduced(s->runs[i].path))
			return true;
	return false;
}

int aif_side_arg(const char *spec, const struct aif_side_opts *o, struct aif_side *ret,
		 struct aif_err *err)
{
	int r = 0;

	*ret = (struct aif_side){.name = strdup(spec), .open = o->open};
	if (!ret->name)
		return aif_err_set(err, -ENOMEM, "out of memory");
	aif_name_sanitize_in_place(ret->name);
	if (access(spec, F_OK) == 0) {
		r = add_word(ret, spec, o->baselines, err);
		return r ? r : aif_side_agree(ret, aif_side_reduce_again, err);
	}
	for (bool more = true; more && !r;) {
		size_t len = word_len(spec);
		char *word = strndup(spec, len);

		r = word ? add_word(ret, word, o->baselines, err)
			 : aif_err_set(err, -ENOMEM, "out of memory");
		free(word);
		more = spec[len] == ',';
		spec += len + more;
	}
	return r ? r : aif_side_agree(ret, aif_side_reduce_again, err);
}

char *aif_baseline_path(const char *baselines, const char *name, struct aif_err *err)
{
	char *path = NULL;
	size_t len = strlen(name);

	for (const char *s = name; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
			len = 0;
	if (!len || len > 200 || *name == '.')
		aif_err_set(err, -EINVAL,
			    "baseline '%.200s': a name has letters, digits, '.', '_' and '-' only",
			    name);
	else if (asprintf(&path, "%s/%s", baselines ? baselines : AIF_BASELINES, name) < 0) {
		path = NULL;
		aif_err_set(err, -ENOMEM, "out of memory");
	}
	return path;
}
