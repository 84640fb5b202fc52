/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_events.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LISTED       8 /* of a file's events: more say nothing */
#define NAME_MAX_LEN 200

void aif_perf_events_finish(struct aif_perf_events *e)
{
	aif_strset_finish(&e->names);
	free(e->list);
	*e = (struct aif_perf_events){0};
}

/* Returns the kind of an event by perf's own names (perf list); raw and vendors' ones are taken to go with time, as
 * most do that are sampled. */
static enum aif_perf_event_kind kind_of(struct aif_perf_text name)
{
	static const char *const counts[] = {"faults",   "switches",   "migrations", "instructions",
					     "inst_ret", "misses",     "references", "loads",
					     "stores",   "branch",     "prefetches", "bpf-output",
					     "dummy",    "mem-stores", ":"};

	if (aif_perf_is(name, "cpu-clock") || aif_perf_is(name, "task-clock"))
		return AIF_PERF_CLOCK;
	if (aif_perf_is(name, "cs"))
		return AIF_PERF_COUNT;
	for (size_t i = 0; i < AIF_ARRAY_LEN(counts); i++)
		if (name.len && memmem(name.p, name.len, counts[i], strlen(counts[i])))
			return AIF_PERF_COUNT;
	return AIF_PERF_TIME;
}

int aif_perf_event(struct aif_perf_events *e, struct aif_perf_text name, uint32_t *ret)
{
	char clean[NAME_MAX_LEN];
	size_t len = AIF_MIN(name.len, sizeof(clean));
	uint32_t id;

	/* Replaces bytes that are not printable: the name is shown. */
	for (size_t i = 0; i < len; i++)
		clean[i] = name.p[i] > ' ' && name.p[i] < 0x7f ? name.p[i] : '?';
	id = aif_strset_put(&e->names, clean, len);

	if (id == AIF_STR_NONE)
		return -ENOMEM;
	if (id == e->len) {
		if (aif_grow(&e->list, &e->cap, e->len + 1, sizeof(*e->list)) < 0)
			return -ENOMEM;
		e->list[e->len++] = (struct aif_perf_event){.name = id, .kind = kind_of(name)};
	}
	*ret = id;
	return 0;
}

const char *aif_perf_event_name(const struct aif_perf_events *e, const struct aif_perf_event *of)
{
	size_t len;
	const char *name = aif_strset_get(&e->names, of->name, &len);

	return len ? name : "unnamed";
}

const struct aif_perf_event *aif_perf_events_choose(struct aif_perf_events *e, const char *name)
{
	const struct aif_perf_event *best = NULL;
	struct aif_perf_text base = {0};

	if (name) /* with what modifies it, as perf prints it, is right, too */
		base = aif_perf_event_base((struct aif_perf_text){name, strlen(name)});
	for (size_t i = 0; i < e->len; i++) {
		const struct aif_perf_event *at = &e->list[i];

		if (!at->samples || (name && !aif_perf_is(base, aif_perf_event_name(e, at))))
			continue;
		if (!best || at->kind < best->kind ||
		    (at->kind == best->kind && at->samples > best->samples))
			best = at;
	}
	return best;
}

uint64_t aif_perf_events_others(const struct aif_perf_events *e, const struct aif_perf_event *kept,
				struct aif_buf *out)
{
	uint64_t samples = 0;
	size_t n = 0;

	for (size_t i = 0; i < e->len; i++) {
		const struct aif_perf_event *at = &e->list[i];

		if (at == kept || !at->samples)
			continue;
		samples += at->samples;
		if (n < LISTED)
			aif_buf_printf(out, "%s%.60s (%" PRIu64 ")", n ? ", " : "",
				       aif_perf_event_name(e, at), at->samples);
		else if (n == LISTED)
			aif_buf_puts(out, ", ...");
		n++;
	}
	return samples;
}

bool aif_perf_event_by_gap(const struct aif_perf_event *of)
{
	return of->is_weightless;
}

bool aif_perf_event_counts(const struct aif_perf_event *of)
{
	return of->kind == AIF_PERF_COUNT || (of->kind == AIF_PERF_TIME && !of->is_weightless);
}

uint64_t aif_perf_event_weight(const struct aif_perf_event *of, bool has_period, uint64_t period,
			       uint64_t count_ns)
{
	if (count_ns)
		return count_ns;
	if (aif_perf_event_by_gap(of))
		return 0;
	return of->kind == AIF_PERF_COUNT && !has_period ? 1 : period;
}
