/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of a comparison, read at once and compared. */
#include "compare/side.h"

#include "runbook/run_config.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int aif_unit_arg(const char *word, struct aif_compare_opts *ret, struct aif_err *err)
{
	static const struct {
		const char *word;
		enum aif_compare_unit unit;
		const char *range;
	} units[] = {{"auto", AIF_UNIT_AUTO, NULL},      {"step", AIF_UNIT_STEP, NULL},
		     {"token", AIF_UNIT_RANGE, "token"}, {"launch", AIF_UNIT_LAUNCH, NULL},
		     {"second", AIF_UNIT_SECOND, NULL},  {"run", AIF_UNIT_RUN, NULL},
		     {"cycles", AIF_UNIT_CYCLES, NULL}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(units); i++) {
		if (word && strcmp(word, units[i].word) != 0)
			continue;
		ret->unit = units[i].unit;
		ret->range = units[i].range;
		return 0;
	}
	if (strncmp(word, "range:", 6) != 0 || !word[6])
		return aif_err_set(err, -EINVAL,
				   "--unit: '%.200s' is not understood; use auto, step, token, "
				   "range:NAME, launch, second, run or cycles",
				   word);
	if (aif_run_range_stem(word + 6) != strlen(word + 6))
		return aif_err_set(
			err, -EINVAL,
			"--unit '%.200s': ranges are counted without the number at their "
			"end: range:%.*s",
			word, (int)AIF_MIN(aif_run_range_stem(word + 6), (size_t)200), word + 6);
	ret->unit = AIF_UNIT_RANGE;
	ret->range = word + 6;
	return 0;
}

static int to_cycles(struct aif_side *s, struct aif_err *err)
{
	int r = 0;

	for (size_t i = 0; i < s->len && !r; i++)
		r = aif_run_to_cycles(&s->runs[i], err);
	return r;
}

/* Keeps freed memory for the next profile: else a fifth of the time goes to pages that the kernel clears again. */
static void keep_memory(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 16 << 20);
#endif
}

struct side_thread {
	const char *spec;
	const struct aif_side_opts *from;
	struct aif_side *ret;
	struct aif_err err;
	int r;
};

static void *side_main(void *arg)
{
	struct side_thread *t = arg;

	t->r = aif_side_arg(t->spec, t->from, t->ret, &t->err);
	return NULL;
}

/* True if the sides are two different files. Files that both sides have are read one after the other: locks of a process on a
 * file end when any thread closes it. */
static bool are_two_files(char **words)
{
	struct stat a, b;

	return stat(words[0], &a) == 0 && stat(words[1], &b) == 0 && S_ISREG(a.st_mode) &&
	       S_ISREG(b.st_mode) && (a.st_dev != b.st_dev || a.st_ino != b.st_ino);
}

/* Reads both sides, each in a thread where that is faster. Errors are those of A if it has any. */
static int read_sides(char **words, const struct aif_side_opts *from, struct aif_sides *ret,
		      struct aif_err *err)
{
	struct side_thread b = {.spec = words[1], .from = from, .ret = &ret->b};
	pthread_t thread;
	bool at_once = are_two_files(words) && sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
		       pthread_create(&thread, NULL, side_main, &b) == 0;
	int r = aif_side_arg(words[0], from, &ret->a, err);

	if (at_once)
		pthread_join(thread, NULL);
	else if (!r)
		side_main(&b);
	if (r || !b.r)
		return r;
	*err = b.err;
	return b.r;
}

/* Compares again what `read` then has of each run: all of it, or whole steps. */
static int compare_again(int (*read)(struct aif_side *, struct aif_err *),
			 const struct aif_compare_opts *o, struct aif_sides *ret,
			 struct aif_err *err)
{
	int r = read(&ret->a, err);

	aif_comparison_finish(&ret->c);
	if (!r)
		r = read(&ret->b, err);
	return r ? r : aif_compare(&ret->a, &ret->b, o, &ret->c, err);
}

/* Appends the directory of a run's file. */
static void put_directory(const struct aif_run *r, struct aif_buf *out)
{
	const char *slash = strrchr(r->path, '/');

	if (slash)
		aif_buf_append(out, r->path, (size_t)(slash - r->path));
	else
		aif_buf_putc(out, '.');
}

static const struct aif_run *run_of(const struct aif_sides *s, size_t i)
{
	return i < s->a.len ? &s->a.runs[i] : &s->b.runs[i - s->a.len];
}

/* Looks for a run that is of another configuration than the first, by the run directories that they lie in. */
static void compare_configs(const struct aif_sides *s, bool any_machine, struct aif_buf *problem)
{
	struct aif_buf first = {0}, dir = {0}, why = {0};
	bool differs = false;

	for (size_t i = 0; i < s->a.len + s->b.len && !differs; i++) {
		aif_buf_clear(&dir);
		put_directory(run_of(s, i), i ? &dir : &first);
		differs = i && strcmp(aif_buf_str(&first), aif_buf_str(&dir)) &&
			  aif_runbook_config_differs(aif_buf_str(&first), aif_buf_str(&dir),
						     any_machine, &why);
	}
	if (differs)
		aif_buf_printf(problem, "configurations of %s and %s differ: %s\n",
			       aif_buf_str(&first), aif_buf_str(&dir), aif_buf_str(&why));
	aif_buf_finish(&first);
	aif_buf_finish(&dir);
	aif_buf_finish(&why);
}

int aif_sides_compare(char **words, const struct aif_side_opts *from,
		      const struct aif_compare_opts *opts, struct aif_sides *ret,
		      struct aif_err *err)
{
	struct aif_compare_opts with_problem = *opts, *o = &with_problem;
	struct aif_buf problem = {0};
	int r;

	keep_memory();
	r = read_sides(words, from, ret, err);
	if (!r)
		r = aif_sides_agree(&ret->a, &ret->b, aif_side_reduce_again, err);
	if (!r)
		compare_configs(ret, o->any_machine, &problem);
	with_problem.problem = aif_buf_str(&problem);
	if (!r && o->unit == AIF_UNIT_CYCLES)
		r = to_cycles(&ret->a, err);
	if (!r && o->unit == AIF_UNIT_CYCLES)
		r = to_cycles(&ret->b, err);
	if (!r)
		r = aif_compare(&ret->a, &ret->b, o, &ret->c, err);
	if (!r && aif_compare_lacks_whole(&ret->c) && !aif_side_has_loops_alone(&ret->a) &&
	    !aif_side_has_loops_alone(&ret->b))
		r = compare_again(aif_side_read_whole, o, ret, err);
	if (!r && aif_compare_cuts_steps(&ret->c))
		r = compare_again(aif_side_read_steps, o, ret, err);
	aif_buf_finish(&problem);
	return r;
}

void aif_sides_finish(struct aif_sides *s)
{
	aif_comparison_finish(&s->c);
	aif_side_finish(&s->a);
	aif_side_finish(&s->b);
}
