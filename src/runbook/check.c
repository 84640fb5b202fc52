/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/check.h"

#include "base/name_sanitize.h"
#include "runbook/require.h"
#include "runbook/run_dir.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Takes away what an earlier check found, which is none of this state, also from the index. 0 or -errno with *err. */
static int forget(const char *dir, struct aif_err *err)
{
	int e = aif_runbook_dir_drop(dir, "perf_gate_report.json", err);
	struct aif_buf index = {0};

	aif_buf_printf(&index, "%s/run_index.json", dir);
	if (!e && access(aif_buf_str(&index), F_OK) == 0)
		e = aif_runbook_dir_put_index(dir, err);
	aif_buf_finish(&index);
	return e;
}

static int check_status(const struct aif_runbook_check_opts *o, enum aif_runbook_verdict verdict)
{
	if (verdict == AIF_RUNBOOK_CANNOT_TELL)
		verdict = o->cannot_tell == 1                 ? AIF_RUNBOOK_PASS
			  : o->cannot_tell == 0 || o->v7_exit ? AIF_RUNBOOK_FAIL
							      : verdict;
	switch (verdict) {
	case AIF_RUNBOOK_PASS:
		return AIF_EXIT_OK;
	case AIF_RUNBOOK_FAIL:
		return o->v7_exit ? 1 : AIF_EXIT_REGRESSION;
	case AIF_RUNBOOK_CANNOT_TELL:
		break;
	}
	return AIF_EXIT_CANNOT_TELL;
}

/* Appends names, which a file of somebody else's may hold. */
static void put_names(const struct aif_buf *names, struct aif_buf *out)
{
	struct aif_buf shown = {0};

	aif_name_sanitize(names->data, names->len, &shown);
	aif_buf_printf(out, "             %s\n", aif_buf_str(&shown));
	aif_buf_finish(&shown);
}

void aif_runbook_put_signal(const struct aif_runbook_signal *s, const struct aif_runbook_values *v,
			    struct aif_buf *out)
{
	struct aif_buf key = {0};

	aif_name_sanitize(s->key, s->key_len, &key);
	aif_buf_printf(out, "signal       %s: %s is %.4g, beyond %.4g: %s; %s\n", s->signal,
		       aif_buf_str(&key), s->value, s->threshold, s->means, s->action);
	if (s->of == AIF_RUNBOOK_OUTSIDE && v && v->outside.len)
		put_names(&v->outside, out);
	aif_buf_finish(&key);
}

void aif_runbook_put_signals(const struct aif_runbook_judged *j, struct aif_buf *out)
{
	for (size_t i = 0; i < j->signals_len; i++)
		aif_runbook_put_signal(&j->signals[i], &j->values, out);
}

static void put_checks(const struct aif_runbook_judged *j, struct aif_buf *out)
{
	for (size_t i = 0; i < AIF_RUNBOOK_BUDGETS; i++) {
		const struct aif_runbook_check *c = &j->checks[i];

		aif_buf_printf(out, "%-12s %s ", aif_runbook_verdict_word(c->verdict), c->metric);
		if (isnan(c->value))
			aif_buf_printf(out, "is missing; %s %g is asked for\n", c->comparison,
				       c->threshold);
		else
			aif_buf_printf(out, "%.6g %s %g\n", c->value, c->comparison, c->threshold);
	}
}

/* Writes perf_gate_report.json and the index. 0 or -errno with *err. */
static int put_report(const struct aif_runbook_check_opts *o, const struct aif_runbook_judged *j,
		      struct aif_err *err)
{
	char *path = realpath(o->dir, NULL);
	struct aif_buf text = {0};
	const struct aif_runbook_gate g = {.dir = path ? path : o->dir,
					   .family = j->family,
					   .values = &j->values,
					   .budgets = j->budgets,
					   .checks = j->checks,
					   .verdict = j->verdict,
					   .signals = j->signals,
					   .signals_len = j->signals_len,
					   .missing_passes = o->cannot_tell == 1};
	int e;

	aif_runbook_gate_json(&g, &text);
	e = aif_runbook_dir_put(o->dir, "perf_gate_report.json", &text, err);
	if (!e)
		e = aif_runbook_dir_put_index(o->dir, err);
	aif_buf_finish(&text);
	free(path);
	return e;
}

int aif_runbook_check(const struct aif_runbook_check_opts *o, struct aif_buf *out,
		      struct aif_err *err)
{
	struct aif_runbook_judged j = {0};
	int lock = -1, e = aif_require_check(o->who, o->require, err);

	if (e)
		return o->v7_exit ? 2 : AIF_EXIT_USAGE;
	for (size_t i = 0; o->require[i]; i++)
		if (aif_require(o->who, o->require[i], o->dir, o->say, NULL)) {
			if (forget(o->dir, err))
				return o->v7_exit ? 2 : AIF_EXIT_FAILURE;
			return o->v7_exit ? 1 : AIF_EXIT_REQUIRED;
		}
	e = aif_runbook_dir_lock(o->dir, &lock, err);
	if (!e)
		e = aif_runbook_dir_judge(o->dir, o->family, o->expect, &j, err);
	if (!e)
		e = put_report(o, &j, err);
	if (!e) {
		put_checks(&j, out);
		aif_runbook_put_signals(&j, out);
		if (aif_buf_failed(out))
			e = aif_err_set(err, -ENOMEM, "out of memory");
	}
	if (lock >= 0)
		close(lock);
	aif_buf_finish(&j.values.outside);
	return !e ? check_status(o, j.verdict) : o->v7_exit ? 2 : AIF_EXIT_FAILURE;
}
