/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/spaces.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

/* The kernel's own limit is 65,530 (vm.max_map_count); of all processes together forks copy them. */
#define RANGES_MAX     65536
#define ALL_RANGES_MAX (4u << 20)

struct aif_perf_space {
	struct aif_perf_range *ranges; /* sorted, without overlap */
	size_t len, cap;
	uint64_t epoch;
};

void aif_perf_spaces_finish(struct aif_perf_spaces *s)
{
	for (size_t i = 0; i < s->spaces_len; i++)
		free(s->spaces[i].ranges);
	free(s->spaces);
	aif_map_finish(&s->by_pid);
}

static struct aif_perf_space *space_of(struct aif_perf_spaces *s, uint32_t pid)
{
	uint64_t i;

	if (aif_map_get(&s->by_pid, pid, &i))
		return &s->spaces[i];
	if (aif_grow(&s->spaces, &s->spaces_cap, s->spaces_len + 1, sizeof(*s->spaces)) < 0 ||
	    aif_map_put(&s->by_pid, pid, s->spaces_len) < 0) {
		s->is_memory = true;
		return NULL;
	}
	s->spaces[s->spaces_len] = (struct aif_perf_space){0};
	return &s->spaces[s->spaces_len++];
}

/* Returns the number of the first range that ends behind the address. */
static size_t first_behind(const struct aif_perf_space *sp, uint64_t address)
{
	return AIF_BISECT(mid, 0, sp->len, !(sp->ranges[mid].end > address));
}

void aif_perf_spaces_map(struct aif_perf_spaces *s, uint32_t pid, const struct aif_perf_range *r)
{
	struct aif_perf_space *sp = space_of(s, pid);
	struct aif_perf_range parts[3];
	size_t from, to, n = 0;

	if (!sp || r->end <= r->start)
		return;
	if (sp->len + 2 > RANGES_MAX || s->ranges + 2 > ALL_RANGES_MAX) {
		s->left_out++;
		return;
	}
	if (aif_grow(&sp->ranges, &sp->cap, sp->len + 2, sizeof(*sp->ranges)) < 0) {
		s->is_memory = true;
		return;
	}
	from = to = first_behind(sp, r->start);
	while (to < sp->len && sp->ranges[to].start < r->end)
		to++;
	/* Ranges that it covers in part keep the rest. */
	if (from < to && sp->ranges[from].start < r->start) {
		parts[n] = sp->ranges[from];
		parts[n++].end = r->start;
	}
	parts[n++] = *r;
	if (from < to && sp->ranges[to - 1].end > r->end) {
		parts[n] = sp->ranges[to - 1];
		parts[n].offset += r->end - parts[n].start;
		parts[n++].start = r->end;
	}
	memmove(sp->ranges + from + n, sp->ranges + to, (sp->len - to) * sizeof(*sp->ranges));
	memcpy(sp->ranges + from, parts, n * sizeof(*parts));
	s->ranges += n - (to - from);
	sp->len += n - (to - from);
	sp->epoch = ++s->epochs;
}

static void clear(struct aif_perf_spaces *s, struct aif_perf_space *sp)
{
	s->ranges -= sp->len;
	sp->len = 0;
	sp->epoch = 0;
}

void aif_perf_spaces_fork(struct aif_perf_spaces *s, uint32_t pid, uint32_t from)
{
	struct aif_perf_space *sp, *parent;
	uint64_t i;

	if (pid == from || !aif_map_get(&s->by_pid, from, &i))
		return;
	sp = space_of(s, pid);
	if (!sp)
		return;
	parent = &s->spaces[i]; /* not before: the table may have moved */
	clear(s, sp);
	if (s->ranges + parent->len > ALL_RANGES_MAX) {
		s->left_out += parent->len;
		return;
	}
	if (parent->len && aif_grow(&sp->ranges, &sp->cap, parent->len, sizeof(*sp->ranges)) < 0) {
		s->is_memory = true;
		return;
	}
	if (parent->len)
		memcpy(sp->ranges, parent->ranges, parent->len * sizeof(*sp->ranges));
	sp->len = parent->len;
	sp->epoch = ++s->epochs; /* code of JIT compilers is another process's from now on */
	s->ranges += sp->len;
}

void aif_perf_spaces_exec(struct aif_perf_spaces *s, uint32_t pid)
{
	uint64_t i;

	if (aif_map_get(&s->by_pid, pid, &i))
		clear(s, &s->spaces[i]);
}

const struct aif_perf_range *aif_perf_spaces_find(const struct aif_perf_spaces *s, uint32_t pid,
						  uint64_t address)
{
	const struct aif_perf_space *sp;
	uint64_t i;
	size_t at;

	if (!aif_map_get(&s->by_pid, pid, &i))
		return NULL;
	sp = &s->spaces[i];
	at = first_behind(sp, address);
	return at < sp->len && sp->ranges[at].start <= address ? &sp->ranges[at] : NULL;
}

uint64_t aif_perf_spaces_epoch(const struct aif_perf_spaces *s, uint32_t pid)
{
	uint64_t i;

	return aif_map_get(&s->by_pid, pid, &i) ? s->spaces[i].epoch : 0;
}
