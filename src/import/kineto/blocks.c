/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>
#include <string.h>

/*
 * `aiflameBlocks`: of a recording that aiflame has exported, when launches were captured and when they were only counted,
 * as analysis/weights.h has it. They become the windows that they were, so that launches stand for as many as before, and
 * what was not collected is no idle time.
 */

/* Limit of a block's distance from the file's beginning, which is that of events. */
#define SPAN_MAX_NS UINT64_C(86400000000000)

/* Reads the object that was entered; false: the text is wrong there. */
static bool block_read(struct aif_json *j, struct kineto_block *b, bool *ret_is_whole)
{
	uint64_t held = 0, ppm = 0;
	int64_t pid = 0, tid = 0;
	struct {
		const char *key;
		uint64_t *to;
		int64_t *id;
		bool has;
	} keys[] = {
		{.key = "pid", .id = &pid},
		{.key = "start_ns", .to = &b->start},
		{.key = "dur_ns", .to = &b->dur},
		{.key = "held", .to = &held},
		{.key = "launches", .to = &b->launches},
		{.key = "ppm", .to = &ppm},
		{.key = "tid", .id = &tid},
	};
	const size_t n = AIF_ARRAY_LEN(keys);
	enum aif_json_token t;

	while ((t = aif_json_next(j)) == AIF_JSON_KEY) {
		size_t i = 0;

		while (i < n && !aif_json_is(j, keys[i].key, strlen(keys[i].key)))
			i++;
		t = i < n ? aif_json_raw(j) : aif_json_skip(j);
		if (t == AIF_JSON_ERROR)
			return false;
		if (i < n && t == AIF_JSON_NUMBER)
			keys[i].has = (keys[i].to ? aif_json_u64(j, keys[i].to)
						  : aif_json_i64(j, keys[i].id)) == 0;
	}
	*ret_is_whole =
		b->start <= SPAN_MAX_NS && b->dur && b->dur <= SPAN_MAX_NS && ppm <= 1000000;
	for (size_t i = 0; i < n - 1; i++) /* but for the thread */
		*ret_is_whole &= keys[i].has;
	b->pid = pid;
	b->tid = tid;
	b->has_tid = keys[n - 1].has;
	b->is_held = held;
	b->ppm = (uint32_t)ppm;
	return t == AIF_JSON_CLOSE;
}

int kineto_blocks_read(struct kineto *k)
{
	struct aif_json *j = &k->json;
	unsigned depth = aif_json_depth(j);
	enum aif_json_token t = aif_json_next(j);

	while (t != AIF_JSON_ERROR && aif_json_depth(j) > depth) {
		struct kineto_block b = {0};
		bool is_whole;

		t = aif_json_next(j);
		if (t != AIF_JSON_OBJECT || aif_json_depth(j) != depth + 2)
			continue;
		if (!block_read(j, &b, &is_whole))
			return 0;
		if (!is_whole) {
			k->counts.bad++;
			continue;
		}
		if (aif_grow(&k->blocks, &k->blocks_cap, k->blocks_len + 1, sizeof(b)) < 0)
			return -ENOMEM;
		k->blocks[k->blocks_len++] = b;
	}
	return 0;
}

int kineto_blocks(struct kineto *k)
{
	/* Skips a file without a valid date. */
	if (k->clock.base_ns < 0 || k->clock.base_ns > INT64_MAX / 2)
		return 0;
	for (size_t i = 0; i < k->blocks_len; i++) {
		const struct kineto_block *b = &k->blocks[i];
		struct kineto_id pid = {.number = b->pid}, tid = {.number = b->tid};
		struct aif_window_row *row = aif_builder_window(k->b);
		uint32_t thread = b->has_tid ? kineto_thread(k, pid, tid) : KINETO_THREADS_MAX;

		if (!row || (b->has_tid && thread == KINETO_THREADS_MAX))
			return -ENOMEM;
		*row = (struct aif_window_row){
			.start = (uint64_t)k->clock.base_ns + b->start,
			.end = (uint64_t)k->clock.base_ns + b->start + b->dur,
			.window = (uint32_t)k->b->windows_len,
			.device = AIF_NONE,
			.process = kineto_process(k, pid),
			.held = b->is_held ? AIF_HELD : AIF_NOT_HELD,
			.launches = b->launches,
			.thread = b->has_tid ? kineto_thread_row(k, thread) : AIF_NONE,
			.p_ppm = b->ppm,
		};
		if (row->process == AIF_NONE)
			return -ENOMEM;
	}
	return 0;
}
