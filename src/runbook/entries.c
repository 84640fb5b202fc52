/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a mode and what their time was spent in. */
#include "runbook/runbook.h"

#include "names/host_stacks.h"
#include "query/query.h"
#include "runbook/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A program that marks more turns is recorded for a shorter time. */
#define MOST_TURNS   100000
#define MOST_ENTRIES 1000000

/* A CPU sample, or an execution on a device. */
struct spent {
	int64_t at_ns;
	int64_t ns;
	uint32_t what; /* of .whats */
};
struct what {
	uint32_t name;
	int64_t layer;
};
struct turn {
	int64_t at_ns, ns;
};
struct finder {
	struct aif_runbook_entries *to;
	sqlite3 *db;
	struct spent *spent;
	size_t spent_len, spent_cap;
	struct turn *turns;
	size_t turns_len, turns_cap;
	struct what *whats;
	size_t whats_len, whats_cap;
	struct aif_map what_ids;
	struct aif_runbook_layers layers;
	struct aif_host_stacks stacks;
	bool is_device;
	double *sums; /* ns of each of .whats in the turn */
};

static int intern(struct finder *f, const char *text, int64_t layer, uint32_t *ret)
{
	uint32_t name = aif_strset_puts(&f->to->names, text && *text ? text : "[unknown]");
	uint64_t key = (uint64_t)name << 32 | (uint32_t)(layer + 1), id;

	if (name == AIF_STR_NONE)
		return -ENOMEM;
	if (!aif_map_get(&f->what_ids, key, &id)) {
		id = f->whats_len;
		if (aif_grow(&f->whats, &f->whats_cap, id + 1, sizeof(*f->whats)) < 0 ||
		    aif_map_put(&f->what_ids, key, id) < 0)
			return -ENOMEM;
		f->whats[f->whats_len++] = (struct what){name, layer};
	}
	*ret = (uint32_t)id;
	return 0;
}

/* Calls row() for each row of a statement whose parameter, if it has one, is the mode. */
static int each(struct finder *f, const char *sql, int (*row)(struct finder *f, sqlite3_stmt *st),
		struct aif_err *err)
{
	sqlite3_stmt *st;
	int e = 0, step = SQLITE_ERROR;

	if (sqlite3_prepare_v2(f->db, sql, -1, &st, NULL) != SQLITE_OK)
		return aif_err_set(err, -EIO, "runbook: %s", sqlite3_errmsg(f->db));
	if (sqlite3_bind_parameter_count(st))
		sqlite3_bind_text(st, 1, f->to->mode, -1, SQLITE_STATIC);
	while (!e && (step = sqlite3_step(st)) == SQLITE_ROW)
		e = row(f, st);
	if (!e && step != SQLITE_DONE)
		e = aif_err_set(err, -EIO, "runbook: %s", sqlite3_errmsg(f->db));
	sqlite3_finalize(st);
	return e;
}

static int turn_add(struct finder *f, sqlite3_stmt *st)
{
	if (f->turns_len >= MOST_TURNS)
		return -EFBIG;
	if (aif_grow(&f->turns, &f->turns_cap, f->turns_len + 1, sizeof(*f->turns)) < 0)
		return -ENOMEM;
	f->turns[f->turns_len++] =
		(struct turn){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)};
	return 0;
}

static int layer_add(struct finder *f, sqlite3_stmt *st)
{
	int64_t from = sqlite3_column_int64(st, 0);
	const char *name = (const char *)sqlite3_column_text(st, 2);

	return aif_runbook_layer_add(&f->layers, name ? name : "", from,
				     from + sqlite3_column_int64(st, 1));
}

/* Adds a row: its time, length and name, and when it was launched or sampled. */
static int spent_add(struct finder *f, sqlite3_stmt *st)
{
	struct spent s = {sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1), 0};
	int64_t layer = sqlite3_column_type(st, 3) == SQLITE_NULL
				? -1
				: aif_runbook_layer_at(&f->layers, sqlite3_column_int64(st, 3));
	int e = intern(f, (const char *)sqlite3_column_text(st, 2), layer, &s.what);

	if (!e)
		e = aif_grow(&f->spent, &f->spent_cap, f->spent_len + 1, sizeof(s));
	if (!e)
		f->spent[f->spent_len++] = s;
	return e;
}

/* Adds a CPU sample under the innermost function that the flame graph shows of its stack: of Python's, not the
 * interpreter's. */
static int sample_add(struct finder *f, sqlite3_stmt *st)
{
	struct spent s = {sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1), 0};
	uint32_t stack = sqlite3_column_type(st, 2) == SQLITE_NULL
				 ? AIF_NONE
				 : (uint32_t)sqlite3_column_int64(st, 2),
		 node = aif_host_stacks_node(&f->stacks, stack);
	size_t n;
	int e = !node ? -ENOMEM
		      : intern(f, aif_host_name(&f->stacks, node, &n),
			       aif_runbook_layer_at(&f->layers, s.at_ns), &s.what);

	if (!e)
		e = aif_grow(&f->spent, &f->spent_cap, f->spent_len + 1, sizeof(s));
	if (!e)
		f->spent[f->spent_len++] = s;
	return e;
}

static int entry_add(struct finder *f, uint32_t what, int64_t token, double ns)
{
	struct aif_runbook_entries *to = f->to;

	if (to->len >= MOST_ENTRIES)
		return -EFBIG;
	if (aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0)
		return -ENOMEM;
	to->at[to->len++] = (struct aif_runbook_entry){f->whats[what].name, token,
						       f->whats[what].layer, ns / 1e3};
	return 0;
}

/* Shares a turn's time among what was spent in it: .spent[from..to). */
static int share(struct finder *f, const struct turn *t, int64_t token, size_t from, size_t to,
		 uint32_t rest)
{
	double sum = 0, scale;
	int e = 0;

	for (size_t i = from; i < to; i++) {
		f->sums[f->spent[i].what] += (double)f->spent[i].ns;
		sum += (double)f->spent[i].ns;
	}
	/* Kernels that overlap, or end behind the turn, take no more than the turn has. */
	scale = sum > 0 && (!f->is_device || sum > (double)t->ns) ? (double)t->ns / sum : 1;
	for (size_t i = from; i < to && !e; i++) {
		double *of = &f->sums[f->spent[i].what];

		if (*of > 0)
			e = entry_add(f, f->spent[i].what, token, *of * scale);
		*of = 0;
	}
	if (!e && sum * scale < (double)t->ns - 0.5)
		e = entry_add(f, rest, token, (double)t->ns - sum * scale);
	return e;
}

/* The whole run as one turn, from the first to the last thing that was seen. */
static int whole_run(struct finder *f)
{
	int64_t sum = 0, end = 0;
	int e;

	if (!f->spent_len)
		return 0;
	for (size_t i = 0; i < f->spent_len; i++) {
		sum += f->spent[i].ns;
		end = AIF_MAX(end, f->spent[i].at_ns + f->spent[i].ns);
	}
	e = aif_grow(&f->turns, &f->turns_cap, 1, sizeof(*f->turns));
	if (!e)
		f->turns[f->turns_len++] = (struct turn){
			f->spent[0].at_ns, f->is_device ? end - f->spent[0].at_ns : sum};
	return e;
}

static int share_all(struct finder *f)
{
	bool is_marked = f->turns_len;
	size_t from = 0;
	uint32_t rest;
	int e = intern(f, f->is_device ? "(no kernel)" : "(no samples)", -1, &rest);

	if (!e && !is_marked)
		e = whole_run(f);
	f->to->tokens = is_marked ? f->turns_len : 0;
	if (f->turns_len) {
		f->to->from_ns = f->turns[0].at_ns;
		f->to->to_ns = f->turns[f->turns_len - 1].at_ns + f->turns[f->turns_len - 1].ns;
	}
	f->sums = calloc(f->whats_len + 1, sizeof(*f->sums));
	if (!f->sums)
		e = -ENOMEM;
	for (size_t t = 0; t < f->turns_len && !e; t++) {
		const struct turn *turn = &f->turns[t];
		size_t to;

		f->to->ranges_ns += turn->ns;
		while (from < f->spent_len && f->spent[from].at_ns < turn->at_ns)
			from++;
		for (to = from; to < f->spent_len &&
				(!is_marked || f->spent[to].at_ns < turn->at_ns + turn->ns);)
			to++;
		e = share(f, turn, is_marked ? (int64_t)t : -1, from, to, rest);
		from = to;
	}
	return e;
}

int aif_runbook_entries_find(const struct aif_names *names, const char *mode,
			     struct aif_runbook_entries *ret, struct aif_err *err)
{
	static const char ranges[] = "SELECT start_ns, dur_ns FROM ops WHERE kind = 'range' AND "
				     "name = ?1 ORDER BY start_ns";
	static const char layers[] =
		"SELECT start_ns, dur_ns, name FROM ops WHERE kind = 'range' ORDER BY start_ns";
	static const char executions[] =
		"SELECT e.start_ns AS at, e.dur_ns, k.short, NULL FROM executions e JOIN kernels k "
		"ON k.id = e.kernel UNION ALL SELECT start_ns, dur_ns, name, NULL FROM copies ORDER "
		"BY at";
	/* A device runs a layer's kernels later than the program launches them. */
	static const char launched[] =
		"SELECT e.start_ns AS at, e.dur_ns, k.short, l.time_ns FROM executions e JOIN "
		"kernels k ON k.id = e.kernel LEFT JOIN launches l ON l.launch = e.launch UNION "
		"ALL SELECT c.start_ns, c.dur_ns, c.name, l.time_ns FROM copies c LEFT JOIN "
		"launches l ON l.launch = c.launch ORDER BY at";
	static const char samples[] = "SELECT time_ns, weight_ns, stack FROM cpu_samples WHERE "
				      "weight_ns > 0 ORDER BY time_ns";
	struct finder f = {.to = ret};
	struct aif_query *q = NULL;
	int e;

	*ret = (struct aif_runbook_entries){.mode = mode};
	e = aif_query_new(names, &q, err);
	if (!e) {
		f.db = aif_query_db(q);
		e = each(&f, ranges, turn_add, err);
	}
	if (!e)
		e = each(&f, layers, layer_add, err);
	if (!e)
		e = each(&f, f.layers.len ? launched : executions, spent_add, err);
	ret->is_device = f.is_device = f.spent_len;
	if (!e && !f.is_device)
		e = aif_host_stacks_init(&f.stacks, names, AIF_NAME_NORMAL);
	if (!e && !f.is_device)
		e = each(&f, samples, sample_add, err);
	if (!e)
		e = share_all(&f);
	if (e && !err->code)
		aif_err_set(err, e, "runbook: mode %s: %s", mode,
			    e == -EFBIG ? "too many ranges of it; record a shorter part"
					: strerror(-e));
	free(f.spent);
	free(f.turns);
	free(f.sums);
	free(f.whats);
	free(f.layers.at);
	aif_map_finish(&f.what_ids);
	aif_host_stacks_finish(&f.stacks);
	aif_query_free(q);
	return e;
}

void aif_runbook_entries_finish(struct aif_runbook_entries *e)
{
	aif_strset_finish(&e->names);
	free(e->at);
	*e = (struct aif_runbook_entries){0};
}

const char *aif_runbook_kernel(const struct aif_runbook_entries *e, uint32_t kernel, size_t *len)
{
	return aif_strset_get(&e->names, kernel, len);
}

const char *aif_runbook_class(const char *name, size_t len)
{
	/* The first that a name contains, whatever the case. */
	static const struct {
		const char *part, *class;
	} rules[] = {
		{"nccl", "communication"},
		{"allreduce", "communication"},
		{"all_reduce", "communication"},
		{"attention", "attention"},
		{"attn", "attention"},
		{"fmha", "attention"},
		{"softmax", "attention"},
		{"flash_", "attention"},
		{"gemm", "gemm"},
		{"gemv", "gemm"},
		{"matmul", "gemm"},
		{"sgemv", "gemm"},
		{"conv2d", "gemm"},
		{"linear", "gemm"},
		{"mat_vec", "gemm"},
		{"mul_mat", "gemm"},
		{"nvjet", "gemm"},
		{"cublas", "gemm"},
		{"norm", "norm"},
		{"memcpy", "copy"},
		{"memmove", "copy"},
		{"memset", "copy"},
		{"copy", "copy"},
		{"transpose", "copy"},
		{"elementwise", "elementwise"},
		{"relu", "elementwise"},
		{"gelu", "elementwise"},
		{"silu", "elementwise"},
		{"swiglu", "elementwise"},
		{"adam", "elementwise"},
		{"axpy", "elementwise"},
	};

	if (len && *name == '(') /* "(no samples)" */
		return "none";
	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules); r++) {
		size_t n = strlen(rules[r].part);

		for (size_t i = 0; i + n <= len; i++)
			if (!strncasecmp(name + i, rules[r].part, n))
				return rules[r].class;
	}
	return "glue";
}
