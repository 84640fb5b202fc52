/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/grown.h"
#include "runbook/run_dir.h"
#include "runbook/run_plan.h"
#include "text/json_value.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Any bytes up to the first zero byte as profile_summary.json, those behind it as perf_stat_summary.json of a run
 * directory. A value is a number or missing; the judge and the decision table take what was read. The same two as folded
 * text before and after: what grew is an array of JSON, or nothing. The first also as runbook.json: it is refused with words, or has
 * a command or not.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(const char *dir, const char *name, const uint8_t *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void grow(const uint8_t *data, size_t first, size_t size)
{
	struct aif_buf before = {0}, after = {0}, out = {0};
	size_t skip = first < size;
	bool ok;

	aif_buf_append(&before, data, first);
	aif_buf_append(&after, data + first + skip, size - first - skip);
	ok = aif_runbook_grown(&before, &after, &out);
	if (ok ? out.len < 2 || out.data[0] != '[' || out.data[out.len - 1] != ']' : out.len != 0)
		abort();
	aif_buf_finish(&before);
	aif_buf_finish(&after);
	aif_buf_finish(&out);
}

static void plan(const char *path)
{
	const char *modes[AIF_RUNBOOK_MODES + 1] = {NULL};
	struct aif_runbook_plan p;
	struct aif_err err = {0};
	char **argv = NULL;
	size_t n;
	int r = aif_runbook_plan_read(path, &p, &err);

	if ((r < 0) != (err.code < 0))
		abort();
	for (size_t i = 0; !r && i < p.metrics.len; i++)
		aif_runbook_plan_metric(&p, i, "/nowhere", &n);
	if (!r && (aif_runbook_plan_command(&p, modes, &argv, &err) == 0) != (argv && *argv))
		abort();
	aif_runbook_plan_finish(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, '\0', size) : NULL;
	size_t first = zero ? (size_t)(zero - data) : size;
	struct aif_runbook_values v;
	struct aif_err err = {0};
	struct aif_buf text = {0}, scalar = {0};
	char dir[64], path[128];
	double number;
	bool is_number;
	int r;

	grow(data, first, size);
	snprintf(dir, sizeof(dir), "/dev/shm/fuzz_runbook.%d", (int)getpid());
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		abort();
	put(dir, "profile_summary.json", data, first);
	put(dir, "perf_stat_summary.json", zero ? zero + 1 : data, zero ? size - first - 1 : first);
	r = aif_runbook_dir_values(dir, "gemm,attention", &v, &err);
	if ((r < 0) != (err.code < 0))
		abort();
	if (!r) {
		double budgets[AIF_RUNBOOK_BUDGETS], outside = v.of[AIF_RUNBOOK_OUTSIDE];
		struct aif_runbook_check checks[AIF_RUNBOOK_BUDGETS];
		struct aif_runbook_signal signals[AIF_RUNBOOK_SIGNALS_MAX];

		if (!isnan(outside) && !(outside >= 0 && outside <= 1 + 1e-9))
			abort();
		for (size_t i = 0; i < AIF_RUNBOOK_VALUES; i++)
			if (isinf(v.of[i]))
				abort();
		aif_runbook_budgets("default", budgets);
		struct aif_runbook_gate gate = {.dir = dir,
						.family = "default",
						.values = &v,
						.budgets = budgets,
						.checks = checks,
						.verdict = aif_runbook_judge(&v, budgets, checks),
						.signals = signals};

		if (aif_runbook_signals(&v, NULL, signals) > AIF_RUNBOOK_SIGNALS_MAX)
			abort();
		gate.signals_len = aif_runbook_signals(&v, &v, signals);
		if (gate.signals_len > AIF_RUNBOOK_SIGNALS_MAX)
			abort();
		aif_runbook_gate_json(&gate, &text);
	}
	snprintf(path, sizeof(path), "%s/profile_summary.json", dir);
	plan(path);
	err = (struct aif_err){0};
	if (aif_json_scalar(path, ".entries[0].mode", &scalar, &is_number, &err) == 0 && err.code)
		abort();
	err = (struct aif_err){0};
	if (aif_json_value(path, ".total_ms", &number, &err) == 0 && !isfinite(number))
		abort();
	unlink(path);
	snprintf(path, sizeof(path), "%s/perf_stat_summary.json", dir);
	unlink(path);
	rmdir(dir);
	aif_buf_finish(&v.outside);
	aif_buf_finish(&text);
	aif_buf_finish(&scalar);
	return 0;
}
