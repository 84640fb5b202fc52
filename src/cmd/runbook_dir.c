/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/runbook_dir.h"

#include "base/open_regular.h"
#include "cmd/json_value.h"
#include "import/json_reader.h"
#include "text/json.h"
#include "text/out.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Functions outside the expected classes that are named as evidence. */
enum { OUTSIDE_NAMED = 5, OUTSIDE_KEPT = 256 };

/* ---- profile_summary.json -------------------------------------------------------------------- */

struct outside {
	char name[120];
	double us;
};
struct reader {
	struct aif_json j;
	const char *expect;
	struct aif_runbook_values *to;
	struct outside outside[OUTSIDE_KEPT];
	size_t outside_len;
	double all_us, outside_us;
	bool has_entries;
	long long last_token, last_step;
	double train_us, train_steps;
};

static bool is_expected(const char *expect, const char *op)
{
	size_t n = strlen(op);

	for (const char *at = expect; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, op, n) && (!at[n] || at[n] == ','))
			return true;
	return false;
}

static void outside_add(struct reader *r, const char *kernel, double us)
{
	size_t i = 0;

	r->outside_us += us;
	while (i < r->outside_len && strcmp(r->outside[i].name, kernel))
		i++;
	if (i == OUTSIDE_KEPT)
		return;
	if (i == r->outside_len) {
		snprintf(r->outside[i].name, sizeof(r->outside[i].name), "%s", kernel);
		r->outside[i].us = 0;
		r->outside_len++;
	}
	r->outside[i].us += us;
}

/* Adds an entry's time and, where it is the first of its token or step, that. */
static void count_turn(const char *token, double us, long long *last, double *all_us, double *turns)
{
	char *end;
	long long id = strtoll(token, &end, 10);

	*all_us += us;
	if (end != token && id > *last) {
		(*turns)++;
		*last = id;
	}
}

/* Reads an entry whose '{' was read. Tokens of a mode come in order. */
static bool read_entry(struct reader *r)
{
	char mode[64] = "", kernel[120] = "", op[64] = "", token[32] = "", us[48] = "";
	struct {
		const char *key;
		char *to;
		size_t size;
	} fields[] = {{"mode", mode, sizeof(mode)},
		      {"kernel", kernel, sizeof(kernel)},
		      {"op", op, sizeof(op)},
		      {"token_id", token, sizeof(token)},
		      {"time_us", us, sizeof(us)}};
	enum aif_json_token t;
	double time;
	char *end;

	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		size_t f = 0;

		while (f < 5 && (strlen(fields[f].key) != r->j.len ||
				 memcmp(fields[f].key, r->j.text, r->j.len)))
			f++;
		t = f < 5 ? aif_json_raw(&r->j) : aif_json_skip(&r->j);
		if (t == AIF_JSON_ERROR || t == AIF_JSON_END)
			return false;
		if (f < 5 && (t == AIF_JSON_STRING || t == AIF_JSON_NUMBER)) {
			const char *text = (const char *)r->j.text;
			size_t n = r->j.len;

			if (n && *text == '"') {
				text++;
				n -= 2;
			}
			n = AIF_MIN(n, fields[f].size - 1);
			memcpy(fields[f].to, text, n);
			fields[f].to[n] = '\0';
		}
	}
	time = strtod(us, &end);
	if (t != AIF_JSON_CLOSE || end == us || !(time >= 0) || isinf(time))
		return t == AIF_JSON_CLOSE;
	if (strcmp(op, "none"))
		r->all_us += time;
	if (strcmp(op, "none") && !is_expected(r->expect, op))
		outside_add(r, kernel, time);
	r->has_entries = true;
	if (!strcmp(mode, "decode"))
		count_turn(token, time, &r->last_token, &r->to->decode_us, &r->to->decode_tokens);
	if (!strcmp(mode, "train"))
		count_turn(token, time, &r->last_step, &r->train_us, &r->train_steps);
	return true;
}

static bool read_entries(struct reader *r)
{
	enum aif_json_token t = aif_json_next(&r->j);

	if (t != AIF_JSON_OBJECT)
		return false;
	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		bool is_it = r->j.len == 7 && !memcmp(r->j.text, "entries", 7);

		if (!is_it) {
			if (aif_json_skip(&r->j) == AIF_JSON_ERROR)
				return false;
			continue;
		}
		if (aif_json_next(&r->j) != AIF_JSON_ARRAY)
			return false;
		while ((t = aif_json_next(&r->j)) == AIF_JSON_OBJECT)
			if (!read_entry(r))
				return false;
		if (t != AIF_JSON_CLOSE)
			return false;
	}
	return t == AIF_JSON_CLOSE;
}

static int most_first(const void *pa, const void *pb)
{
	const struct outside *a = pa, *b = pb;

	return (a->us < b->us) - (a->us > b->us);
}

static void conclude(struct reader *r, double total_ms)
{
	struct aif_runbook_values *v = r->to;

	if (v->decode_tokens > 0 && v->decode_us > 0)
		v->of[AIF_RUNBOOK_TOK_S] = v->decode_tokens * 1e6 / v->decode_us;
	else if (total_ms > 0 && !r->has_entries) {
		/* A file of nothing but a sum is one token's, by v7's rule. */
		v->legacy_ms = total_ms;
		v->of[AIF_RUNBOOK_TOK_S] = 1e3 / total_ms;
	}
	if (r->train_steps > 0 && r->train_us > 0)
		v->of[AIF_RUNBOOK_STEPS_S] = r->train_steps * 1e6 / r->train_us;
	if (r->all_us <= 0)
		return;
	v->of[AIF_RUNBOOK_OUTSIDE] = r->outside_us / r->all_us;
	qsort(r->outside, r->outside_len, sizeof(*r->outside), most_first);
	for (size_t i = 0; i < r->outside_len && i < OUTSIDE_NAMED; i++)
		aif_buf_printf(&v->outside, "%s%s %.1f %%", i ? ", " : "", r->outside[i].name,
			       100 * r->outside[i].us / r->all_us);
}

static int read_profile(const char *path, const char *expect, struct aif_runbook_values *ret,
			struct aif_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int fd = aif_open_regular(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW), e = 0;
	double total_ms = 0;

	if (!r || fd < 0) {
		e = r ? fd : -ENOMEM;
		aif_err_set(err, e, "%s: %s; make it with aiflame runbook run", path,
			    e == -EINVAL || e == -ELOOP ? "is a link or no file" : strerror(-e));
	} else {
		struct aif_err none = {0};

		r->j = (struct aif_json){.read = aif_json_read_fd, .arg = &fd};
		r->to = ret;
		r->expect = expect;
		r->last_token = r->last_step = -1;
		aif_json_value(path, ".total_ms", &total_ms, &none);
		e = aif_json_init(&r->j);
		if (!e && !read_entries(r))
			e = aif_err_set(err, -EINVAL, "%s: at byte %" PRIu64 ": %s", path,
					r->j.why_at, r->j.why ? r->j.why : "not as expected");
		if (!e)
			conclude(r, total_ms);
		aif_json_finish(&r->j);
	}
	if (fd >= 0)
		close(fd);
	free(r);
	return e;
}

int aif_runbook_dir_values(const char *dir, const char *expect, struct aif_runbook_values *ret,
			   struct aif_err *err)
{
	struct aif_buf path = {0};
	int e;

	*ret = (struct aif_runbook_values){0};
	for (size_t i = 0; i < AIF_RUNBOOK_VALUES; i++)
		ret->of[i] = NAN;
	aif_buf_printf(&path, "%s/perf_stat_summary.json", dir);
	if (access(aif_buf_str(&path), R_OK) < 0)
		e = aif_err_set(err, -errno, "%s: %s; make it with aiflame runbook run",
				aif_buf_str(&path), strerror(errno));
	else {
		aif_buf_clear(&path);
		aif_buf_printf(&path, "%s/profile_summary.json", dir);
		e = read_profile(aif_buf_str(&path), expect, ret, err);
	}
	for (unsigned i = 0; i < AIF_RUNBOOK_VALUES && !e; i++) {
		const char *file = aif_runbook_value_file((enum aif_runbook_value)i);
		struct aif_err none = {0};

		if (!*file)
			continue;
		aif_buf_clear(&path);
		aif_buf_printf(&path, "%s/%s", dir, file);
		if (aif_json_value(aif_buf_str(&path),
				   aif_runbook_value_way((enum aif_runbook_value)i), &ret->of[i],
				   &none) < 0)
			ret->of[i] = NAN;
	}
	aif_buf_finish(&path);
	return e;
}

/* ---- files ----------------------------------------------------------------------------------- */

int aif_runbook_dir_lock(const char *dir, int *ret_fd, struct aif_err *err)
{
	*ret_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0 || flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		aif_err_set(err, -EWOULDBLOCK,
			    "runbook: another aiflame works in %s; wait for it, or give --dir",
			    dir);
	close(*ret_fd);
	*ret_fd = -1;
	return err->code;
}

static int put_file(const char *path, const struct aif_buf *text, struct aif_err *err)
{
	struct aif_out out;
	int e = aif_out_open_here(&out, path, err);

	if (e)
		return e;
	aif_buf_append(aif_out_buf(&out), text->data, text->len);
	return aif_out_commit(&out, err);
}

int aif_runbook_dir_put(const char *dir, const char *name, const struct aif_buf *text,
			struct aif_err *err)
{
	struct aif_buf path = {0};
	struct stat st;
	int e;

	if (aif_buf_failed(text))
		return aif_err_set(err, -ENOMEM, "runbook: out of memory");
	aif_buf_printf(&path, "%s/%s", dir, name);
	e = put_file(aif_buf_str(&path), text, err);
	aif_buf_clear(&path);
	aif_buf_printf(&path, "%s/.ck_build", dir);
	if (!e && stat(aif_buf_str(&path), &st) == 0 && S_ISDIR(st.st_mode)) {
		aif_buf_printf(&path, "/%s", name);
		e = put_file(aif_buf_str(&path), text, err);
	}
	aif_buf_finish(&path);
	return e;
}

/* Removes `name` under a directory, where it is. 0 or -errno with *err. */
static int drop(const char *dir, const char *name, struct aif_err *err)
{
	struct aif_buf path = {0};
	int e = 0;

	aif_buf_printf(&path, "%s/%s", dir, name);
	if (unlink(aif_buf_str(&path)) < 0 && errno != ENOENT && errno != ENOTDIR)
		e = aif_err_set(err, -errno, "%s: %s", aif_buf_str(&path), strerror(errno));
	aif_buf_finish(&path);
	return e;
}

int aif_runbook_dir_drop(const char *dir, const char *name, struct aif_err *err)
{
	struct aif_buf build = {0};
	int e = drop(dir, name, err);

	aif_buf_printf(&build, "%s/.ck_build", dir);
	if (!e)
		e = drop(aif_buf_str(&build), name, err);
	aif_buf_finish(&build);
	return e;
}

int aif_runbook_dir_read(const char *dir, const char *name, size_t max, struct aif_buf *ret,
			 struct aif_err *err)
{
	struct aif_buf path = {0};
	struct stat st;
	int fd, e = 0;

	aif_buf_printf(&path, "%s/%s", dir, name);
	fd = aif_open_regular(AT_FDCWD, aif_buf_str(&path), O_RDONLY | O_NOFOLLOW);
	if (fd < 0)
		e = aif_err_set(err, fd, "%s: %s", aif_buf_str(&path),
				fd == -EINVAL || fd == -ELOOP ? "is a link or no file"
							      : strerror(-fd));
	else if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > max ||
		 aif_read_regular(fd, (uint64_t)st.st_size, ret) < 0)
		e = aif_err_set(err, -EFBIG, "%s: cannot be read, or too large",
				aif_buf_str(&path));
	if (fd >= 0)
		close(fd);
	aif_buf_finish(&path);
	return e;
}

static void put_index(const char *dir, struct aif_buf *out)
{
	static const char *const names[] = {
		"train_e2e_latest.json",
		"training_loss_curve_latest.json",
		"training_parity_latest.json",
		"training_grad_norms_latest.json",
		"training_step_profile_latest.json",
		"training_checkpoint_policy_latest.json",
		"memory_diagnostic_latest.json",
		"memory_verification_latest.json",
		"layout_train.json",
		"layout_train_audit.json",
		"generated_train_runtime_summary_v7.json",
		"ir1_train_forward.json",
		"ir2_train_backward.json",
		"profile_summary.json",
		"perf_stat_summary.json",
		"flamegraph_manifest.json",
		"cachegrind_summary.json",
		"asan_summary.json",
		"vtune_summary.json",
		"advisor_summary.json",
		"run_index.json",
		"perf_gate_report.json",
	};
	char *whole = realpath(dir, NULL);
	struct aif_buf path = {0};

	if (whole)
		dir = whole;
	aif_buf_printf(out,
		       "{\n  \"schema\": \"ck.run.index.v1\",\n  \"generated_by\": \"aiflame\",\n"
		       "  \"generated_at_epoch\": %lld,\n  \"run_dir\": ",
		       (long long)time(NULL));
	aif_out_json_escaped_text(out, dir);
	aif_buf_puts(out, ",\n  \"files\": {");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct stat st = {0};
		bool is_there;

		aif_buf_clear(&path);
		aif_buf_printf(&path, "%s/%s", dir, names[i]);
		is_there = stat(aif_buf_str(&path), &st) == 0;
		aif_buf_printf(out, "%s\n    \"%s\": {\"path\": ", i ? "," : "", names[i]);
		aif_out_json_escaped_text(out, aif_buf_str(&path));
		aif_buf_printf(out, ", \"exists\": %s, \"size_bytes\": %lld}",
			       is_there ? "true" : "false", is_there ? (long long)st.st_size : 0);
	}
	aif_buf_puts(out, "\n  }\n}\n");
	aif_buf_finish(&path);
	free(whole);
}

int aif_runbook_dir_put_index(const char *dir, struct aif_err *err)
{
	struct aif_buf text = {0};
	int e;

	put_index(dir, &text);
	e = aif_runbook_dir_put(dir, "run_index.json", &text, err);
	aif_buf_finish(&text);
	return e;
}
