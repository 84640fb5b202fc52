/* SPDX-License-Identifier: Apache-2.0 */
/* --of memory: who holds a device's memory at its peak, as wide as it has bytes. */
#include "flame/towers.h"

#include "analysis/memory.h"

#include <errno.h>
#include <string.h>

/* The host's memory is drawn where no device has any. */
static bool is_drawn(const struct aif_memory *m, uint32_t device)
{
	if (device != AIF_NONE)
		return true;
	for (size_t i = 0; i < m->devices_len; i++)
		if (m->devices[i].device != AIF_NONE && m->devices[i].peak)
			return false;
	return true;
}

/* Begins a device: from now on stacks stand on its name, where there are several. */
static int device_begin(struct towers *t, uint32_t device, bool several)
{
	struct aif_buf text = {0};
	int r = 0;

	t->on = (struct place){.fold = AIF_FRAME_FOLD_ROOT, .known_on = t->on.known_on + 1};
	if (several) {
		aif_buf_printf(&text, "[%s]", aif_profile_str(t->p, t->p->devices[device].name));
		r = aif_towers_note(t, &text, &t->on);
		t->on.fold = AIF_FRAME_FOLD_ROOT;
	}
	return r;
}

static int bytes_add(struct towers *t, const struct place *at, uint64_t bytes, uint64_t row)
{
	if (!aif_filter_keeps(&t->filter, at->hits))
		return 0;
	if (__builtin_add_overflow(t->tree->nodes[at->node].self, bytes,
				   &t->tree->nodes[at->node].self))
		return -EOVERFLOW;
	return aif_flame_report_placed(t->o, row, at->node, 0, bytes, 0, 0);
}

/* Draws the device's blocks; is_beside: those that an allocator did not hand out. */
static int blocks_add(struct towers *t, const struct aif_memory *m,
		      const struct aif_memory_device *d, bool is_beside)
{
	struct aif_buf text = {0};
	struct place at = t->on;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->blocks_len; i++) {
		const struct aif_memory_block *b = &m->blocks[i];

		if (b->device != d->device || b->is_beside != is_beside ||
		    !aif_memory_is_at_peak(m, b))
			continue;
		r = aif_towers_stack(t, b->stack, &at);
		if (r == 0 && b->stack == AIF_NONE) {
			aif_buf_puts(&text, "[no stack]");
			r = aif_towers_note(t, &text, &at);
		}
		if (r == 0)
			r = bytes_add(t, &at, b->bytes, i);
	}
	if (r || !d->before || is_beside)
		return r;
	at = t->on;
	text = (struct aif_buf){0};
	aif_buf_puts(&text, "[allocated before the recording]");
	r = aif_towers_note(t, &text, &at);
	return r ? r : bytes_add(t, &at, d->before, m->blocks_len);
}

static int device_add(struct towers *t, const struct aif_memory *m,
		      const struct aif_memory_device *d, bool several)
{
	struct aif_buf text = {0};
	int r = device_begin(t, d->device, several);

	if (r == 0)
		r = blocks_add(t, m, d, false);
	if (r || !d->beside)
		return r;
	/* The others together are the allocator's own sum. */
	aif_buf_puts(&text, "[not by the allocator]");
	r = device_begin(t, d->device, several);
	if (r == 0)
		r = aif_towers_note(t, &text, &t->on);
	t->on.fold = AIF_FRAME_FOLD_ROOT;
	return r ? r : blocks_add(t, m, d, true);
}

static int memory_add(struct towers *t, const struct aif_memory *m, struct aif_err *err)
{
	size_t drawn = 0;
	int r = aif_towers_begin(t, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->devices_len; i++)
		drawn += m->devices[i].peak && is_drawn(m, m->devices[i].device);
	for (size_t i = 0; r == 0 && i < m->devices_len; i++) {
		const struct aif_memory_device *d = &m->devices[i];

		if (!d->peak || !is_drawn(m, d->device))
			continue;
		r = device_add(t, m, d, drawn > 1);
	}
	if (r == 0)
		r = aif_tree_seal(t->tree);
	if (r < 0)
		return aif_err_set(err, r, "flame: %s", strerror(-r));
	if (t->tree->nodes[0].total)
		return 0;
	if (!m->any)
		return aif_err_set(err, -ENODATA,
				   "flame: no allocations in this profile; record a program that "
				   "allocates a device's memory, or import a trace of "
				   "torch.profiler taken with profile_memory=True");
	return aif_err_set(err, -ENODATA,
			   "flame: no block is left; widen --time, --process, --tid, --device, "
			   "--focus and --ignore");
}

int aif_flame_build_memory(const struct aif_names *names, const struct aif_memory *m,
			   const struct aif_flame_opts *o, struct aif_tree *ret,
			   struct aif_err *err)
{
	struct aif_tree tree = {0};
	struct towers t = {.p = names->p, .names = names, .o = o, .tree = &tree, .on = ON_ROOT};

	return aif_towers_finish(&t, memory_add(&t, m, err), ret);
}
