/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/run_plan.h"

#include "base/buf.h"
#include "base/open_named.h"
#include "text/json_reader.h"
#include "text/json_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_NUMBER 100000

struct reader {
	struct aif_json j;
	const char *path;
	struct aif_err *err;
	int r; /* the first error */
};

/* Keeps the first error: what is wrong, and where. Returns false. */
static bool wrong(struct reader *r, const char *what)
{
	if (!r->r)
		r->r = aif_err_set(r->err, -EINVAL, "%s: at byte %" PRIu64 ": %s", r->path,
				   r->j.why ? r->j.why_at : aif_json_offset(&r->j),
				   r->j.why ? r->j.why : what);
	return false;
}

static bool memory(struct reader *r)
{
	if (!r->r)
		r->r = aif_err_set(r->err, -ENOMEM, "out of memory");
	return false;
}

/* Returns the text of the string or key at hand, for free(). NULL: an error was kept. */
static char *text(struct reader *r)
{
	struct aif_buf out = {0};
	char *ret = NULL;

	aif_json_text(&r->j, &out);
	if (aif_buf_failed(&out) || !(ret = strdup(aif_buf_str(&out))))
		memory(r);
	else if (strlen(ret) != out.len || !out.len) {
		wrong(r, "a text is empty, or has a zero byte");
		free(ret);
		ret = NULL;
	}
	aif_buf_finish(&out);
	return ret;
}

static bool add(struct reader *r, struct aif_runbook_words *to, char *word)
{
	if (!word)
		return memory(r);
	if (to->len == AIF_RUNBOOK_PLAN_LIST) {
		free(word);
		return wrong(r, "a list has more than 64 texts");
	}
	to->at[to->len++] = word;
	return true;
}

/* Reads a text in place of *to. */
static bool read_text(struct reader *r, void *to)
{
	char **at = to;

	if (aif_json_next(&r->j) != AIF_JSON_STRING)
		return wrong(r, "a text is wanted here");
	free(*at);
	return (*at = text(r));
}

static bool read_number(struct reader *r, void *to)
{
	uint64_t n;

	if (aif_json_next(&r->j) != AIF_JSON_NUMBER || aif_json_u64(&r->j, &n) < 0 ||
	    n > MOST_NUMBER)
		return wrong(r, "a number from 0 to 100000 is wanted here");
	*(uint32_t *)to = (uint32_t)n;
	return true;
}

/* Reads a text, or an array of texts. */
static bool read_words(struct reader *r, void *to)
{
	enum aif_json_token t = aif_json_next(&r->j);

	if (t == AIF_JSON_STRING)
		return add(r, to, text(r));
	if (t != AIF_JSON_ARRAY)
		return wrong(r, "a list of texts is wanted here");
	while ((t = aif_json_next(&r->j)) == AIF_JSON_STRING)
		if (!add(r, to, text(r)))
			return false;
	return t == AIF_JSON_CLOSE || wrong(r, "a list of texts is wanted here");
}

/* Reads an object of texts as "KEY=TEXT". */
static bool read_pairs(struct reader *r, void *to)
{
	enum aif_json_token t = aif_json_next(&r->j);

	if (t != AIF_JSON_OBJECT)
		return wrong(r, "an object of texts is wanted here");
	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		struct aif_buf pair = {0};
		char *key = text(r), *word = NULL;
		bool ok = key && !strchr(key, '=') && read_text(r, &word);

		if (ok)
			aif_buf_printf(&pair, "%s=%s", key, word);
		ok = ok ? add(r, to, aif_buf_failed(&pair) ? NULL : strdup(aif_buf_str(&pair)))
			: wrong(r, "a name of a pair has a '='");
		aif_buf_finish(&pair);
		free(key);
		free(word);
		if (!ok)
			return false;
	}
	return t == AIF_JSON_CLOSE || wrong(r, "an object of texts is wanted here");
}

/* Reads pairs whose values are metrics: another would have no value in any run, without a word. */
static bool read_metrics(struct reader *r, void *to)
{
	const struct aif_runbook_words *metrics = to;
	bool ok = read_pairs(r, to);

	for (size_t i = 0; i < metrics->len && ok; i++)
		ok = aif_runbook_is_metric(metrics->at[i]) ||
		     wrong(r,
			   "a metric is FILE:.WAY, as in {}/train.json:.loss, or range:NAME, and 'higher' "
			   "or 'lower'");
	return ok;
}

/* Reads names of tools. */
static bool read_tools(struct reader *r, void *to)
{
	struct aif_runbook_plan *p = to;
	struct aif_runbook_words words = {0};
	bool ok = read_words(r, &words);

	for (size_t i = 0; i < words.len; i++) {
		ok = ok && (aif_runbook_plan_tool(p, words.at[i], strlen(words.at[i])) ||
			    wrong(r, "a tool is vtune or advisor"));
		free(words.at[i]);
	}
	return ok;
}

struct field {
	const char *key;
	bool (*read)(struct reader *r, void *to);
	void *to;
};

/* Reads an object of known keys. */
static bool read_fields(struct reader *r, const struct field *fields, size_t len)
{
	enum aif_json_token t = aif_json_next(&r->j);

	if (t != AIF_JSON_OBJECT)
		return wrong(r, "an object is wanted here");
	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		size_t f = 0;

		while (f < len && !aif_json_is(&r->j, fields[f].key, strlen(fields[f].key)))
			f++;
		if (f == len)
			return wrong(r, "this key is not known; docs/runbook.md has all");
		if (!fields[f].read(r, fields[f].to))
			return wrong(r, "damaged");
	}
	return t == AIF_JSON_CLOSE || wrong(r, "damaged");
}

static bool read_pin(struct reader *r, void *to)
{
	struct aif_runbook_plan *p = to;
	const struct field fields[] = {{"threads", read_number, &p->threads},
				       {"thread_env", read_words, &p->thread_env},
				       {"cpus", read_text, &p->cpus},
				       {"env", read_pairs, &p->env}};

	return read_fields(r, fields, AIF_ARRAY_LEN(fields));
}

static const struct aif_runbook_plan_mode *find(const struct aif_runbook_plan *p, const char *name)
{
	for (size_t i = 0; i < p->modes_len; i++)
		if (!strcmp(p->modes[i].name, name))
			return &p->modes[i];
	return NULL;
}

static bool read_modes(struct reader *r, void *to)
{
	struct aif_runbook_plan *p = to;
	enum aif_json_token t = aif_json_next(&r->j);

	if (t != AIF_JSON_OBJECT)
		return wrong(r, "an object of modes is wanted here");
	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		struct aif_runbook_plan_mode *m = &p->modes[p->modes_len];
		const struct field fields[] = {{"cli", read_words, &m->cli},
					       {"python", read_words, &m->python}};

		if (p->modes_len == AIF_RUNBOOK_MODES)
			return wrong(r, "there are more than 16 modes");
		m->name = text(r);
		if (m->name && find(p, m->name)) {
			free(m->name);
			return wrong(r, "this mode stands twice");
		}
		p->modes_len++;
		if (!m->name || !read_fields(r, fields, AIF_ARRAY_LEN(fields)))
			return false;
	}
	return t == AIF_JSON_CLOSE || wrong(r, "an object of modes is wanted here");
}

static bool read_expect(struct reader *r, void *to)
{
	struct aif_runbook_words words = {0};
	struct aif_buf all = {0};
	char **at = to;
	bool ok = read_words(r, &words);

	for (size_t i = 0; i < words.len; i++) {
		aif_buf_printf(&all, "%s%s", i ? "," : "", words.at[i]);
		free(words.at[i]);
	}
	free(*at);
	*at = ok ? strdup(aif_buf_str(&all)) : NULL;
	aif_buf_finish(&all);
	return ok && (*at || memory(r));
}

int aif_runbook_plan_read(const char *path, struct aif_runbook_plan *ret, struct aif_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	char *schema = NULL;
	const struct field fields[] = {{"schema", read_text, &schema},
				       {"family", read_text, &ret->family},
				       {"pin", read_pin, ret},
				       {"modes", read_modes, ret},
				       {"metrics", read_metrics, &ret->metrics},
				       {"require", read_words, &ret->require},
				       {"runs", read_number, &ret->runs},
				       {"warmup", read_number, &ret->warmup},
				       {"tools", read_tools, ret},
				       {"expect", read_expect, &ret->expect}};
	int fd = aif_open_named(path, err), e;

	*ret = (struct aif_runbook_plan){0};
	if (fd < 0) {
		e = fd;
	} else if (!r) {
		e = aif_err_set(err, -ENOMEM, "%s: out of memory", path);
	} else {
		*r = (struct reader){.j = {.read = aif_json_read_fd, .arg = &fd, .strict = true},
				     .path = path,
				     .err = err};
		if (aif_json_init(&r->j) < 0)
			memory(r);
		else if (read_fields(r, fields, AIF_ARRAY_LEN(fields)) &&
			 aif_json_next(&r->j) != AIF_JSON_END)
			wrong(r, "something stands behind the object");
		if (!r->r && (!schema || strcmp(schema, "aiflame.runbook.v1")))
			wrong(r, "its \"schema\" is not \"aiflame.runbook.v1\"");
		e = r->r;
		aif_json_finish(&r->j);
	}
	if (fd >= 0)
		close(fd);
	free(schema);
	free(r);
	return e;
}

static void words_finish(struct aif_runbook_words *w)
{
	for (size_t i = 0; i < w->len; i++)
		free(w->at[i]);
}

bool aif_runbook_plan_tool(struct aif_runbook_plan *p, const char *name, size_t len)
{
	if (len == 5 && !memcmp(name, "vtune", 5))
		p->with_vtune = true;
	else if (len == 7 && !memcmp(name, "advisor", 7))
		p->with_advisor = true;
	else
		return false;
	return true;
}

void aif_runbook_plan_finish(struct aif_runbook_plan *p)
{
	free(p->family);
	free(p->expect);
	free(p->cpus);
	words_finish(&p->thread_env);
	words_finish(&p->env);
	words_finish(&p->require);
	words_finish(&p->metrics);
	for (size_t i = 0; i < p->modes_len; i++) {
		free(p->modes[i].name);
		words_finish(&p->modes[i].cli);
		words_finish(&p->modes[i].python);
	}
}

/* ---- the command --------------------------------------------------------------------------------- */

static bool same(const struct aif_runbook_words *a, const struct aif_runbook_words *b)
{
	for (size_t i = 0; i < a->len && i < b->len; i++)
		if (strcmp(a->at[i], b->at[i]))
			return false;
	return a->len == b->len;
}

int aif_runbook_plan_command(const struct aif_runbook_plan *p,
			     const char *modes[AIF_RUNBOOK_MODES + 1], char ***ret,
			     struct aif_err *err)
{
	const char *runtime = getenv("V7_PERF_RUNTIME");
	bool is_python = runtime && !strcmp(runtime, "python");
	const struct aif_runbook_words *first = NULL;

	for (size_t i = 0; i < p->modes_len && (i || !modes[0]); i++)
		modes[i] = p->modes[i].name;
	for (size_t i = 0; modes[i]; i++) {
		const struct aif_runbook_plan_mode *m = find(p, modes[i]);
		const struct aif_runbook_words *of = !m ? NULL : is_python ? &m->python : &m->cli;

		if (!of || !of->len)
			return aif_err_set(err, -EINVAL,
					   "runbook: " AIF_RUNBOOK_PLAN
					   " has no %s command of mode %s; give one behind --",
					   is_python ? "python" : "cli", modes[i]);
		if (first && !same(first, of))
			return aif_err_set(err, -EINVAL,
					   "runbook: modes %s and %s have two commands: run each "
					   "with --mode, into a directory of its own",
					   modes[0], modes[i]);
		first = of;
	}
	if (!first)
		return aif_err_set(err, -EINVAL,
				   "runbook: " AIF_RUNBOOK_PLAN " has no mode; give a command "
				   "behind --");
	*ret = (char **)first->at;
	return 0;
}
