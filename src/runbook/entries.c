/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a mode and what their time was spent in. */
#include "runbook/runbook.h"

#include "names/host_stacks.h"
#include "names/spin_waits.h"
#include "query/query.h"
#include "runbook/classes.h"
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
	unsigned within; /* bits of the classes of its path */
	uint32_t entry;  /* the first of .whats of this name and layer */
};
struct turn {
	int64_t at_ns, ns;
};
struct finder {
	struct aif_runbook_entries *to;
	const struct aif_profile *p;
	sqlite3 *db;
	struct spent *spent;
	size_t spent_len, spent_cap;
	struct turn *turns;
	size_t turns_len, turns_cap;
	struct what *whats;
	size_t whats_len, whats_cap;
	struct aif_map what_ids, entry_ids, path_ids;
	unsigned *within; /* by node of .stacks: 1 + its bits; 0: not known yet */
	size_t within_cap;
	struct aif_runbook_layers layers;
	struct aif_host_stacks stacks;
	bool is_device;
	double *sums;       /* ns of each of .whats in the turn */
	double *entry_sums; /* the same of those that .entry names */
};

static int intern(struct finder *f, const char *text, int64_t layer, unsigned within, uint32_t *ret)
{
	uint32_t name = aif_strset_puts(&f->to->names, text && *text ? text : "[unknown]");
	uint64_t entry = (uint64_t)name << 32 | (uint32_t)(layer + 1), first = f->whats_len, id;

	if (name == AIF_STR_NONE)
		return -ENOMEM;
	if (!aif_map_get(&f->entry_ids, entry, &first) &&
	    aif_map_put(&f->entry_ids, entry, first) < 0)
		return -ENOMEM;
	if (!aif_map_get(&f->what_ids, first << AIF_RUNBOOK_CLASSES | within, &id)) {
		id = f->whats_len;
		if (aif_grow(&f->whats, &f->whats_cap, id + 1, sizeof(*f->whats)) < 0 ||
		    aif_map_put(&f->what_ids, first << AIF_RUNBOOK_CLASSES | within, id) < 0)
			return -ENOMEM;
		f->whats[f->whats_len++] = (struct what){name, layer, within, (uint32_t)first};
	}
	*ret = (uint32_t)id;
	return 0;
}

/* Returns the classes of the frames from a node to the root, but for those that every name has; 1 + bits in .within keeps
 * them. */
static int within_of(struct finder *f, uint32_t node, unsigned *ret)
{
	size_t before = f->within_cap;
	unsigned bits = 0;

	if (aif_grow(&f->within, &f->within_cap, f->stacks.len, sizeof(*f->within)) < 0)
		return -ENOMEM;
	for (size_t i = before; i < f->within_cap; i++)
		f->within[i] = 0;
	for (uint32_t n = node; f->stacks.nodes[n].depth; n = f->stacks.nodes[n].parent) {
		size_t len;
		const char *label = aif_host_name(&f->stacks, n, &len);

		if (f->within[n]) {
			bits |= f->within[n] - 1;
			break;
		}
		bits |= 1u << aif_runbook_class_of_frame(label, len);
	}
	bits &= ~(1u << AIF_RUNBOOK_GLUE | 1u << AIF_RUNBOOK_NONE);
	f->within[node] = 1 + bits;
	*ret = bits;
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

/* Adds a row: its time, length, name and launch stack, and when it was launched. */
static int spent_add(struct finder *f, sqlite3_stmt *st)
{
	struct spent s = {sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1), 0};
	int64_t layer = sqlite3_column_type(st, 4) == SQLITE_NULL
				? -1
				: aif_runbook_layer_at(&f->layers, sqlite3_column_int64(st, 4));
	uint32_t stack = sqlite3_column_type(st, 3) == SQLITE_NULL
				 ? AIF_NONE
				 : (uint32_t)sqlite3_column_int64(st, 3),
		 node = aif_host_stacks_node(&f->stacks, stack);
	unsigned within = 0;
	int e = node ? within_of(f, node, &within) : -ENOMEM;

	if (!e)
		e = intern(f, (const char *)sqlite3_column_text(st, 2), layer, within, &s.what);
	if (!e)
		e = aif_grow(&f->spent, &f->spent_cap, f->spent_len + 1, sizeof(s));
	if (!e)
		f->spent[f->spent_len++] = s;
	return e;
}

/* Interns what a CPU sample stands under: the innermost function that the flame graph shows of its stack (of Python's, not
 * the interpreter's), or that its thread spins until others are done. */
static int sample_intern(struct finder *f, uint32_t stack, uint32_t node, int64_t layer,
			 uint32_t *ret)
{
	uint32_t module = stack == AIF_NONE ? AIF_NONE : aif_spin_wait(f->p, stack);
	struct aif_buf spins = {0};
	unsigned within = 0;
	size_t n;
	int e;

	if (module == AIF_NONE) {
		e = within_of(f, node, &within);
		return e ? e : intern(f, aif_host_name(&f->stacks, node, &n), layer, within, ret);
	}
	aif_spin_wait_note(f->p, module, &spins);
	e = aif_buf_failed(&spins) ? -ENOMEM : intern(f, aif_buf_str(&spins), layer, 0, ret);
	aif_buf_finish(&spins);
	return e;
}

static int sample_add(struct finder *f, sqlite3_stmt *st)
{
	struct spent s = {sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1), 0};
	uint32_t stack = sqlite3_column_type(st, 2) == SQLITE_NULL
				 ? AIF_NONE
				 : (uint32_t)sqlite3_column_int64(st, 2),
		 node = aif_host_stacks_node(&f->stacks, stack);
	int e = node ? sample_intern(f, stack, node, aif_runbook_layer_at(&f->layers, s.at_ns),
				     &s.what)
		     : -ENOMEM;

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

/* Adds time to what was spent in a function on paths of the same classes. */
static int path_add(struct finder *f, uint32_t what, double ns)
{
	struct aif_runbook_entries *to = f->to;
	const struct what *w = &f->whats[what];
	uint64_t key = (uint64_t)w->name << AIF_RUNBOOK_CLASSES | w->within, i = to->paths_len;

	if (!aif_map_get(&f->path_ids, key, &i)) {
		if (aif_grow(&to->paths, &to->paths_cap, i + 1, sizeof(*to->paths)) < 0 ||
		    aif_map_put(&f->path_ids, key, i) < 0)
			return -ENOMEM;
		to->paths[to->paths_len++] = (struct aif_runbook_path){w->name, w->within, 0};
	}
	to->paths[i].us += ns / 1e3;
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
		f->entry_sums[f->whats[f->spent[i].what].entry] += (double)f->spent[i].ns;
		sum += (double)f->spent[i].ns;
	}
	/* Kernels that overlap, or end behind the turn, take no more than the turn has. */
	scale = sum > 0 && (!f->is_device || sum > (double)t->ns) ? (double)t->ns / sum : 1;
	for (size_t i = from; i < to && !e; i++) {
		uint32_t what = f->spent[i].what, entry = f->whats[what].entry;
		double *of = &f->sums[what], *of_entry = &f->entry_sums[entry];

		if (*of > 0)
			e = path_add(f, what, *of * scale);
		if (*of_entry > 0 && !e)
			e = entry_add(f, entry, token, *of_entry * scale);
		*of = *of_entry = 0;
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
	int e = intern(f, f->is_device ? "(no kernel)" : "(no samples)", -1, 0, &rest);

	if (!e && !is_marked)
		e = whole_run(f);
	f->to->tokens = is_marked ? f->turns_len : 0;
	if (f->turns_len) {
		f->to->from_ns = f->turns[0].at_ns;
		f->to->to_ns = f->turns[f->turns_len - 1].at_ns + f->turns[f->turns_len - 1].ns;
	}
	f->sums = calloc(f->whats_len + 1, sizeof(*f->sums));
	f->entry_sums = calloc(f->whats_len + 1, sizeof(*f->entry_sums));
	if (!f->sums || !f->entry_sums)
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
		"SELECT e.start_ns AS at, e.dur_ns, k.short, e.stack, NULL FROM executions e JOIN kernels k "
		"ON k.id = e.kernel UNION ALL SELECT start_ns, dur_ns, name, stack, NULL FROM copies ORDER "
		"BY at";
	/* A device runs a layer's kernels later than the program launches them. */
	static const char launched[] =
		"SELECT e.start_ns AS at, e.dur_ns, k.short, e.stack, l.time_ns FROM executions e JOIN "
		"kernels k ON k.id = e.kernel LEFT JOIN launches l ON l.launch = e.launch UNION "
		"ALL SELECT c.start_ns, c.dur_ns, c.name, c.stack, l.time_ns FROM copies c LEFT JOIN "
		"launches l ON l.launch = c.launch ORDER BY at";
	static const char samples[] = "SELECT time_ns, weight_ns, stack FROM cpu_samples WHERE "
				      "weight_ns > 0 ORDER BY time_ns";
	struct finder f = {.to = ret, .p = names->p};
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
		e = aif_host_stacks_init(&f.stacks, names, AIF_NAME_NORMAL);
	if (!e)
		e = each(&f, f.layers.len ? launched : executions, spent_add, err);
	ret->is_device = f.is_device = f.spent_len;
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
	free(f.entry_sums);
	free(f.within);
	free(f.whats);
	free(f.layers.at);
	aif_map_finish(&f.what_ids);
	aif_map_finish(&f.entry_ids);
	aif_map_finish(&f.path_ids);
	aif_host_stacks_finish(&f.stacks);
	aif_query_free(q);
	return e;
}

void aif_runbook_entries_finish(struct aif_runbook_entries *e)
{
	aif_strset_finish(&e->names);
	free(e->at);
	free(e->paths);
	*e = (struct aif_runbook_entries){0};
}

const char *aif_runbook_kernel(const struct aif_runbook_entries *e, uint32_t kernel, size_t *len)
{
	return aif_strset_get(&e->names, kernel, len);
}
