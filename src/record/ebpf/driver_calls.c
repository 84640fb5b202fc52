/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/driver_calls.h"

#include <string.h>

void aif_driver_calls_finish(struct aif_driver_calls *c)
{
	aif_map_finish(&c->recent);
	aif_map_finish(&c->older);
	aif_strset_finish(&c->paths);
	free(c->held);
	*c = (struct aif_driver_calls){0};
}

bool aif_driver_calls_add(struct aif_driver_calls *c, uint64_t launch, const uint32_t *frames,
			  uint32_t n)
{
	uint32_t path = aif_strset_find(&c->paths, frames, n * sizeof(*frames));

	if (path == AIF_STR_NONE && c->paths.len < AIF_DRIVER_CALLS_PATHS)
		path = aif_strset_put(&c->paths, frames, n * sizeof(*frames));
	return path != AIF_STR_NONE && aif_map_put(&c->recent, launch, path) == 0;
}

static struct aif_held_launch *held_at(struct aif_driver_calls *c, size_t i)
{
	return &c->held[(c->first + i) & (c->cap - 1)];
}

static bool make_room(struct aif_driver_calls *c)
{
	size_t cap = c->cap ? 2 * c->cap : 1024;
	struct aif_held_launch *held;

	if (c->len < c->cap)
		return true;
	held = malloc(cap * sizeof(*held));
	if (!held)
		return false;
	for (size_t i = 0; i < c->len; i++)
		held[i] = *held_at(c, i);
	free(c->held);
	c->held = held;
	c->first = 0;
	c->cap = cap;
	return true;
}

bool aif_driver_calls_hold(struct aif_driver_calls *c, const struct aif_launch_row *row,
			   uint64_t now)
{
	if (!make_room(c))
		return false;
	*held_at(c, c->len++) = (struct aif_held_launch){.since = now, .row = *row};
	return true;
}

/* Returns the stack with the frames of a path behind it. What is said of it as a whole is then said of the longer one. */
static uint32_t extended(struct aif_driver_calls *c, struct aif_store *s, uint32_t stack,
			 uint32_t path)
{
	uint32_t flags = s->p.stacks[stack].flags, at = stack, frame;
	size_t bytes;
	const char *frames = aif_strset_get(&c->paths, path, &bytes);

	for (size_t i = 0; i < bytes; i += sizeof(frame)) {
		memcpy(&frame, frames + i, sizeof(frame));
		at = aif_store_stack(s, at, frame, i + sizeof(frame) < bytes ? 0 : flags);
		if (at == AIF_NONE)
			return stack;
	}
	return at;
}

static void extend(struct aif_driver_calls *c, struct aif_store *s, struct aif_launch_row *row)
{
	uint64_t path;

	if (row->stack == AIF_NONE || !(aif_map_get(&c->recent, row->launch, &path) ||
					aif_map_get(&c->older, row->launch, &path)))
		return;
	row->stack = extended(c, s, row->stack, (uint32_t)path);
}

static void turn(struct aif_driver_calls *c, uint64_t now)
{
	struct aif_map older = c->older;

	if (now < c->turned_ns + AIF_DRIVER_CALLS_TURN_NS)
		return;
	c->turned_ns = now;
	aif_map_clear(&older);
	c->older = c->recent;
	c->recent = older;
}

/* True if the oldest row is to go now, a time that may lie before that at which it came. */
static bool is_due(struct aif_driver_calls *c, uint64_t now)
{
	return c->len && (c->len > AIF_DRIVER_CALLS_HELD || now == UINT64_MAX ||
			  now >= held_at(c, 0)->since + AIF_DRIVER_CALLS_HOLD_NS);
}

void aif_driver_calls_release(struct aif_driver_calls *c, struct aif_store *s, uint64_t now)
{
	struct aif_launch_row *row;

	s->payer = &c->quota;
	while (is_due(c, now)) {
		row = aif_batches_row(&s->batches, AIF_BATCH_LAUNCH);
		if (!row && now != UINT64_MAX && c->len <= AIF_DRIVER_CALLS_HELD)
			break; /* the writer is behind */
		if (row) {
			*row = held_at(c, 0)->row;
			extend(c, s, row);
		} else {
			aif_store_loss(s, AIF_REASON_WRITER_BEHIND, AIF_NONE,
				       aif_store_puts(s, "launches"), 1);
		}
		c->first = (c->first + 1) & (c->cap - 1);
		c->len--;
	}
	s->payer = NULL;
	aif_store_refused(s, &c->quota, AIF_NONE);
	if (now != UINT64_MAX)
		turn(c, now);
}
