/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory_rows.h"

#include "base/map.h"
#include "profile/model.h"

#include <errno.h>
#include <string.h>

/* Blocks of the runtime at one time that are followed; an allocator of PyTorch's has some hundred. */
#define MOST_OPEN 16384

/* Memory of the runtime in which no block of an allocator's was seen yet. */
struct open {
	uint64_t of, start, end; /* process << 32 | device */
	size_t row;
};

struct finding {
	struct aif_memory_moment *rows;
	struct aif_map summed; /* of process and device: an allocator says what it has */
	AIF_TABLE(open, open); /* sorted */
	struct aif_strset keys;
	size_t *owner; /* by process and address: the live block's row + 1 */
	size_t owner_cap;
};

static uint64_t place_of(const struct aif_memory_moment *m)
{
	return (uint64_t)m->process << 32 | m->device;
}

/* Returns how many begin before that address. */
static size_t below(const struct finding *f, uint64_t of, uint64_t start)
{
	return AIF_BISECT(mid, 0, f->open_len,
			  f->open[mid].of < of ||
				  (f->open[mid].of == of && f->open[mid].start < start));
}

static void close_at(struct finding *f, size_t i)
{
	memmove(&f->open[i], &f->open[i + 1], (f->open_len - i - 1) * sizeof(*f->open));
	f->open_len--;
}

static int open_add(struct finding *f, size_t row)
{
	const struct aif_memory_moment *m = &f->rows[row];
	uint64_t of = place_of(m), end;
	size_t i = below(f, of, m->block);

	if (f->open_len >= MOST_OPEN || __builtin_add_overflow(m->block, m->bytes, &end))
		return 0;
	if (aif_grow(&f->open, &f->open_cap, f->open_len + 1, sizeof(*f->open)) < 0)
		return -ENOMEM;
	memmove(&f->open[i + 1], &f->open[i], (f->open_len - i) * sizeof(*f->open));
	f->open[i] = (struct open){of, m->block, end, row};
	f->open_len++;
	return 0;
}

/* Returns the entry of live blocks; NULL: no memory. */
static size_t *owner_of(struct finding *f, const struct aif_memory_moment *m)
{
	uint64_t key[] = {m->process, m->block};
	uint32_t id = aif_strset_put(&f->keys, key, sizeof(key));
	size_t had = f->owner_cap;

	if (id == AIF_STR_NONE || aif_grow(&f->owner, &f->owner_cap, id + 1, sizeof(*f->owner)) < 0)
		return NULL;
	if (f->owner_cap > had)
		memset(f->owner + had, 0, (f->owner_cap - had) * sizeof(*f->owner));
	return &f->owner[id];
}

static int of_runtime(struct finding *f, size_t row)
{
	struct aif_memory_moment *m = &f->rows[row];
	size_t *owner = owner_of(f, m), i;
	uint64_t any;

	if (!owner)
		return -ENOMEM;
	/* The releasing thread may use another device at the time. */
	if (m->is_release && *owner)
		m->device = f->rows[*owner - 1].device;
	m->is_beside = aif_map_get(&f->summed, place_of(m), &any);
	m->is_segment = m->is_release && *owner && f->rows[*owner - 1].is_segment;
	*owner = m->is_release ? 0 : row + 1;
	if (!m->is_beside)
		return 0;
	/* A release, or the address anew: the release of the block before was lost. */
	i = below(f, place_of(m), m->block);
	if (i < f->open_len && f->open[i].of == place_of(m) && f->open[i].start == m->block)
		close_at(f, i);
	return m->is_release ? 0 : open_add(f, row);
}

static void of_allocator(struct finding *f, const struct aif_memory_moment *m)
{
	uint64_t of = place_of(m), end = m->block + AIF_MAX(m->bytes, 1);
	size_t i = below(f, of, m->block);

	if (i && f->open[i - 1].of == of && f->open[i - 1].end > m->block)
		i--;
	while (i < f->open_len && f->open[i].of == of && f->open[i].start < end) {
		f->rows[f->open[i].row].is_segment = true;
		close_at(f, i);
	}
}

int aif_memory_find_segments(struct aif_memory_moment *rows, size_t n)
{
	struct finding f = {.rows = rows};
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		if (rows[i].allocated != AIF_MEMORY_UNKNOWN && rows[i].block)
			r = aif_map_put(&f.summed, place_of(&rows[i]), 1);
	for (size_t i = 0; i < n && !r; i++) {
		if (!rows[i].block)
			continue;
		if (rows[i].allocated == AIF_MEMORY_UNKNOWN)
			r = of_runtime(&f, i);
		else if (!rows[i].is_release)
			of_allocator(&f, &rows[i]);
	}
	aif_map_finish(&f.summed);
	aif_strset_finish(&f.keys);
	free(f.open);
	free(f.owner);
	return r < 0 ? -ENOMEM : 0;
}
