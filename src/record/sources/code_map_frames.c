/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/code_map_frames.h"

/* 8 MiB, and a table of 1.5 MiB: two million instructions that lie together. */
#define MAX_BLOCKS 32768
#define BYTES      8 /* of the smallest instruction */

void aif_code_map_frames_finish(struct aif_code_map_frames *f)
{
	aif_map_finish(&f->blocks);
	free(f->at);
	*f = (struct aif_code_map_frames){0};
}

/* The store's frames have 16 bits of module and 48 of address. */
static uint64_t key_of(uint32_t module, uint64_t address)
{
	return (uint64_t)(uint16_t)module << 48 | address / (BYTES * AIF_PLACE_FRAMES_BLOCK);
}

/* Neighbours are asked for one after another. */
void aif_code_map_frames_prefetch(struct aif_code_map_frames *f, uint32_t module, uint64_t address)
{
	uint64_t key = key_of(module, address);

	if (key != f->fetched)
		aif_map_prefetch(&f->blocks, key);
	f->fetched = key;
}

static struct aif_code_map_frames_block *block_of(struct aif_code_map_frames *f, uint64_t key)
{
	uint64_t i;

	if (f->len && f->last_key == key)
		return &f->at[f->last];
	f->last_key = key;
	if (aif_map_get(&f->blocks, key, &i)) {
		f->last = i;
		return &f->at[i];
	}
	if (f->len == MAX_BLOCKS) {
		aif_map_clear(&f->blocks);
		f->len = 0;
	}
	if (aif_grow(&f->at, &f->cap, f->len + 1, sizeof(*f->at)) < 0 ||
	    aif_map_put(&f->blocks, key, f->len) < 0) {
		f->last_key = ~key;
		return NULL;
	}
	f->last = f->len++;
	f->at[f->last] = (struct aif_code_map_frames_block){.frames = {0}};
	return &f->at[f->last];
}

uint32_t aif_code_map_frames_get(struct aif_code_map_frames *f, struct aif_store *s,
				 uint32_t module, uint64_t address)
{
	struct aif_code_map_frames_block *b = NULL;
	uint32_t *known, frame;

	if (module < UINT16_MAX && address % BYTES == 0 && !(address >> 48))
		b = block_of(f, key_of(module, address));
	if (!b)
		return aif_store_frame(s, AIF_FRAME_DEVICE, module, address);
	known = &b->frames[address / BYTES % AIF_PLACE_FRAMES_BLOCK];
	if (*known)
		return *known - 1;
	frame = aif_store_frame(s, AIF_FRAME_DEVICE, module, address);
	if (frame != AIF_NONE)
		*known = frame + 1;
	return frame;
}
