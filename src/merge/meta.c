/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/meta.h"

#include "base/human.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what the files say of themselves ---------------------------------------------------------------- */

/* Rules by which values of several files become one; of others the first file's counts. */
static const struct {
	const char *key;
	enum { SAME = 1, SUM, MOST, LIST, ALL, NONE } how;
} rules[] = {
	/* Rows would mean different things. */
	{"cpu_sampling", SAME},
	{"cpu_counts", SAME},
	{"cpu_period", SAME},
	{"imported", SAME},
	/* Lists of hosts and commands. */
	{"host", LIST},
	{"command", LIST},
	/* A call that is not there was not made: only where all files have all. */
	{"calls", ALL},
	{"short_calls", SUM},
	{"short_calls_ns", SUM},
	{"overhead.uncaptured", SUM},
	{"cost.recorder_cpu_ns", SUM},
	{"cost.drain_cpu_ns", SUM},
	{"cost.target_cpu_ns", SUM},
	{"cost.helper_cpu_ns", SUM},
	{"cost.cpu_known_ns", SUM},
	{"cost.cpu_unreaped_ns", SUM},
	{"cost.sampling_ns", SUM},
	{"cost.callbacks_ns", SUM},
	{"cost.records_ns", SUM},
	{"cost.block_records_ns", SUM},
	{"cost.cpu_samples_ns", SUM},
	{"cost.samples_ns", SUM},
	{"cost.worked_ns", SUM},
	{"cost.device_bytes", SUM},
	{"cost.agent_ns", SUM},
	{"cost.recorder_rss_kb", MOST},
	{"cost.capture_median_ns", MOST},
	{"cost.capture_p99_ns", MOST},
	{"cpus.stolen_ppm", MOST},
	{"exit_status", MOST},
	/* Times since the beginning of one file. */
	{"cycle", NONE},
	/* Made anew (input.c). */
	{"merged.recordings", NONE},
	{"start_realtime_ns", NONE},
};
#define LIST_MAX_BYTES 600

static unsigned rule_of(const char *key)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (!strcmp(rules[i].key, key))
			return rules[i].how;
	return 0;
}

int aif_merge_meta_set(struct aif_profile *p, const char *key, const char *value)
{
	struct aif_meta m = {.value = aif_strset_puts(&p->strings, value)};

	/* `value` may be of the profile: it has moved by now. */
	m.key = aif_strset_puts(&p->strings, key);
	if (m.key == AIF_STR_NONE || m.value == AIF_STR_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < p->meta_len; i++)
		if (p->meta[i].key == m.key) {
			p->meta[i].value = m.value;
			return 0;
		}
	if (aif_grow(&p->meta, &p->meta_cap, p->meta_len + 1, sizeof(m)) < 0)
		return -ENOMEM;
	p->meta[p->meta_len++] = m;
	return 0;
}

static void unset(struct aif_profile *p, const char *key)
{
	for (size_t i = 0; i < p->meta_len; i++)
		if (!strcmp(aif_profile_str(p, p->meta[i].key), key)) {
			memmove(&p->meta[i], &p->meta[i + 1],
				(--p->meta_len - i) * sizeof(p->meta[0]));
			return;
		}
}

static bool lists(const char *list, const char *value)
{
	size_t len = strlen(value);

	if (!len)
		return true;
	for (const char *at = list; (at = strstr(at, value)); at++)
		if ((at == list || (at - list >= 2 && !memcmp(at - 2, ", ", 2))) &&
		    (!at[len] || !strncmp(at + len, ", ", 2)))
			return true;
	return false;
}

static int set_sum(struct aif_profile *p, const char *key, uint64_t sum)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, sum);
	return aif_merge_meta_set(p, key, text);
}

static int add_to_list(struct aif_profile *p, const char *key, const char *was, const char *value)
{
	struct aif_buf list = {0};
	int r = 0;

	if (lists(was, value) || strlen(was) + strlen(value) > LIST_MAX_BYTES)
		return 0;
	aif_buf_printf(&list, "%s%s%s", was, *was ? ", " : "", value);
	r = aif_buf_failed(&list) ? -ENOMEM : aif_merge_meta_set(p, key, aif_buf_str(&list));
	aif_buf_finish(&list);
	return r;
}

static int add_value(struct aif_profile *p, const char *key, const char *value)
{
	const char *was = aif_profile_meta(p, key);
	uint64_t a = strtoull(was, NULL, 10), b = strtoull(value, NULL, 10), sum;

	switch (rule_of(key)) {
	case NONE:
		return 0;
	case SUM:
		return set_sum(p, key, __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum);
	case MOST:
		return a >= b && *was ? 0 : aif_merge_meta_set(p, key, value);
	case LIST:
		return add_to_list(p, key, was, value);
	default:
		return *was ? 0 : aif_merge_meta_set(p, key, value);
	}
}

static int check_same(const struct aif_profile *p, const struct aif_profile *from, const char *path,
		      struct aif_err *err)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules) && p->meta_len; i++) {
		const char *a = aif_profile_meta(p, rules[i].key),
			   *b = aif_profile_meta(from, rules[i].key);

		if (rules[i].how == SAME && strcmp(a, b))
			return aif_err_set(
				err, -EINVAL,
				"%s: its %s is '%.60s', that of the files before '%.60s': their "
				"numbers cannot be in one profile; leave it out",
				path, rules[i].key, b, a);
	}
	return 0;
}

int aif_merge_meta_add(struct aif_profile *p, const struct aif_profile *from, const char *path,
		       struct aif_err *err)
{
	bool is_first = !p->meta_len;
	int r = check_same(p, from, path, err);

	for (size_t i = 0; i < from->meta_len && !r; i++) {
		const char *key = aif_profile_str(from, from->meta[i].key);

		if (is_first || rule_of(key) != ALL)
			r = add_value(p, key, aif_profile_str(from, from->meta[i].value));
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules) && !r; i++)
		if (rules[i].how == ALL &&
		    strcmp(aif_profile_meta(p, rules[i].key), aif_profile_meta(from, rules[i].key)))
			unset(p, rules[i].key);
	return r == -ENOMEM ? aif_err_set(err, r, "%s: out of memory", path) : r;
}

/* Lines of each kind that people are shown. */
#define LINES_MAX 8

/* Adds the n-th line of a kind, from 1 on. */
static void add_line(struct aif_merge_sum *s, size_t n, const char *before, struct aif_buf *text,
		     const char *after)
{
	if (n <= LINES_MAX)
		aif_buf_printf(&s->notes, "%s%s%s\n", before, aif_buf_str(text), after);
	else if (n == LINES_MAX + 1)
		aif_buf_puts(&s->notes, "  and more such: see aiflame info\n");
}

/* ---- clocks ---------------------------------------------------------------------------------------- */

/* Bytes for clocks in a line of `info`. */
#define CLOCKS_MAX_BYTES 3000

static int add_loss(struct aif_profile *p, enum aif_reason reason, struct aif_buf *detail)
{
	struct aif_loss l = {
		.reason = (uint32_t)reason, .process = AIF_NONE, .thread = AIF_NONE, .count = 1};

	l.detail = aif_strset_puts(&p->strings, aif_buf_str(detail));
	if (aif_buf_failed(detail) || l.detail == AIF_STR_NONE ||
	    aif_grow(&p->losses, &p->losses_cap, p->losses_len + 1, sizeof(l)) < 0)
		return -ENOMEM;
	p->losses[p->losses_len++] = l;
	return 0;
}

/* Appends "HOST (FILE)". */
static void say_input(const struct aif_merge_input *in, struct aif_buf *out)
{
	aif_buf_printf(out, *in->host ? "%s (%s)" : "%s%s", in->host, in->path);
}

/* Appends how a file's clock was found, "b (b.data): related to a (a.data) by the ends of 800 operations, within 12 us". */
static void say_related(const struct aif_merge_input *x, const struct aif_merge_input *to,
			struct aif_buf *out)
{
	say_input(x, out);
	aif_buf_puts(out, ": related to ");
	say_input(to, out);
	aif_buf_puts(out, " by the ");
	aif_buf_puts(out,
		     x->relation.is == AIF_MERGE_BY_NUMBER ? "numbers and ends of " : "ends of ");
	aif_human_counted(out, x->relation.pairs, "operation");
	aif_buf_puts(out, ", within ");
	aif_human_ns(out, x->error_ns);
	if (x->clock.drift != 0)
		aif_buf_printf(out, "; it drifted by %.1f ppm", x->clock.drift * 1e6);
	if (x->relation.is == AIF_MERGE_BY_DATES)
		aif_buf_puts(out, "; several offsets fit, and this one is that of the dates");
}

static void say_apart(const struct aif_merge_input *x, struct aif_buf *out)
{
	say_input(x, out);
	if (!x->ends.len)
		aif_buf_puts(out, ": has no operation between ranks");
	else if (x->relation.is == AIF_MERGE_AMBIGUOUS)
		aif_buf_puts(
			out,
			": several offsets fit the ends of its operations, and dates do not say which");
	else
		aif_buf_puts(out, ": the ends of its operations agree with no other file's");
}

static int note_clocks(struct aif_profile *p, const struct aif_merge_input *in, size_t n,
		       struct aif_merge_sum *ret)
{
	struct aif_buf all = {0}, one = {0};
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		const struct aif_merge_input *x = &in[i];

		aif_buf_clear(&one);
		if (x->is == AIF_MERGE_CLOCK_RELATED) {
			ret->related++;
			ret->error_ns = AIF_MAX(ret->error_ns, x->error_ns);
			say_related(x, &in[x->related_to], &one);
			if (all.len < CLOCKS_MAX_BYTES)
				aif_buf_printf(&all, "%s%s", all.len ? "; " : "",
					       aif_buf_str(&one));
			add_line(ret, ret->related, "  clock: ", &one, "");
		} else if (x->is == AIF_MERGE_CLOCK_APART) {
			ret->apart++;
			say_apart(x, &one);
			add_line(ret, ret->apart, "Warning: not compared with other ranks: ", &one,
				 "");
			r = add_loss(p, AIF_REASON_MERGE_CLOCK_APART, &one);
		}
	}
	if (!r && all.len)
		r = aif_merge_meta_set(p, "merged.clocks", aif_buf_str(&all));
	aif_buf_finish(&all);
	aif_buf_finish(&one);
	return r;
}

/* ---- ranks and files --------------------------------------------------------------------------------- */

/* Notes two processes that used devices as one rank, and jobs of different size. */
static int note_ranks(struct aif_profile *p, struct aif_merge_sum *ret)
{
	struct aif_map first = {0};
	struct aif_buf text = {0};
	uint32_t world = 0;
	size_t worlds = 0, twice = 0;
	uint64_t other;
	int r = 0;

	for (size_t i = 0; i < p->processes_len && !r; i++) {
		const struct aif_process *x = &p->processes[i];

		if (!x->rank || !(x->flags & AIF_PROCESS_RUNTIME))
			continue;
		ret->ranks++;
		aif_buf_clear(&text);
		if (x->world && world && x->world != world) {
			aif_buf_printf(&text, "%" PRIu32 " and %" PRIu32, world, x->world);
			r = add_loss(p, AIF_REASON_IMPORT_WORLD, &text);
			add_line(ret, ++worlds, "Warning: jobs of ", &text,
				 " ranks are in one profile");
		} else if (aif_map_get(&first, x->rank, &other) &&
			   p->processes[other].host != x->host) {
			aif_buf_printf(&text, "rank %" PRIu32 " of %s and of %s", x->rank - 1,
				       aif_profile_str(p, p->processes[other].host),
				       aif_profile_str(p, x->host));
			r = add_loss(p, AIF_REASON_IMPORT_RANK_TWICE, &text);
			add_line(ret, ++twice, "Warning: two files have ", &text, "");
		}
		world = x->world ? x->world : world;
		if (!r)
			r = aif_map_put(&first, x->rank, i);
	}
	aif_map_finish(&first);
	aif_buf_finish(&text);
	return r;
}

static int note_files(struct aif_profile *p, const struct aif_merge_input *in, size_t n,
		      struct aif_merge_sum *ret)
{
	struct aif_strset hosts = {0};
	struct aif_buf cut = {0};
	size_t cuts = 0;
	int r = set_sum(p, "merged.files", n);

	for (size_t i = 0; i < n && !r; i++) {
		if (aif_strset_puts(&hosts, in[i].host) == AIF_STR_NONE)
			r = -ENOMEM;
		if (!(in[i].notes & AIF_NOTE_CUT_SHORT))
			continue;
		aif_buf_clear(&cut);
		say_input(&in[i], &cut);
		add_line(ret, ++cuts,
			 "Warning: cut short, so that it ends at its last commit: ", &cut, "");
		if (!r)
			r = add_loss(p, AIF_REASON_MERGE_CUT, &cut);
	}
	ret->files = n;
	ret->hosts = hosts.len;
	aif_strset_finish(&hosts);
	aif_buf_finish(&cut);
	return r;
}

int aif_merge_note(struct aif_profile *p, const struct aif_merge_input *in, size_t n,
		   struct aif_merge_sum *ret)
{
	int r = note_files(p, in, n, ret);

	if (!r)
		r = note_clocks(p, in, n, ret);
	return r ? r : note_ranks(p, ret);
}
