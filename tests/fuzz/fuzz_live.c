/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/file.h"
#include "profile/live.h"

#include <stdlib.h>
#include <string.h>

/*
 * The stream of a recording that goes on, as its watcher reads it. Behind a good beginning the input is messages, each of a
 * type, an id, a place, a count and a length of one byte each (AIF_LIVE_CHUNK: the kind), then its bytes; what a profile
 * of it has is read after each commit.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	const struct aif_profile *p = arg;

	for (size_t i = 0; i < n; i++)
		if (rows[i].stack != AIF_NONE && p->stacks[rows[i].stack].depth > p->stacks_len)
			abort();
	return 0;
}

static int on_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	const struct aif_profile *p = arg;

	for (size_t i = 0; i < n; i++)
		if (rows[i].device != AIF_NONE && rows[i].device >= p->devices_len)
			abort();
	return 0;
}

static void read_profile(const struct aif_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->frame_names_len; i++)
		if (p->frame_names[i].frame >= p->frames_len)
			abort();
	(void)aif_profile_launches(p, on_launches, (void *)(uintptr_t)p, NULL);
	(void)aif_profile_execs(p, on_execs, (void *)(uintptr_t)p, NULL);
}

/* Feeds one message; returns 0, or what the reader says. */
static int feed(struct aif_live_reader *r, const struct aif_live_head *h, const uint8_t *bytes)
{
	struct aif_err err = {0};
	unsigned commits;
	int e = aif_live_feed(r, h, sizeof(*h), &commits, &err);

	if (!e)
		e = aif_live_feed(r, bytes, h->size, &commits, &err);
	if (e < 0 && !err.code)
		abort();
	if (!e && commits)
		read_profile(aif_live_profile(r));
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_live_writer w = {0};
	struct aif_profile none = {.start_ns = 1};
	struct aif_live_reader *r;
	struct aif_err err = {0};
	unsigned commits;
	int e;

	if (aif_live_reader_new(2, 4096, &r) < 0)
		return 0;
	if (aif_live_tables(&w, &none) < 0 ||
	    aif_live_feed(r, w.out.data, w.out.len, &commits, &err) < 0)
		abort();
	aif_live_writer_finish(&w);
	e = 0;
	while (size >= 5 && !e) {
		struct aif_live_head h = {.type = data[0],
					  .id = data[1],
					  .at = data[2],
					  .count = data[3],
					  .size = data[4]};

		data += 5;
		size -= 5;
		/* Rows of tables and commits are longer than most inputs: they go on with zeroes. */
		if (h.size <= size) {
			e = feed(r, &h, data);
			data += h.size;
			size -= h.size;
		} else {
			uint8_t padded[256] = {0};

			memcpy(padded, data, size);
			size = 0;
			e = feed(r, &h, padded);
		}
	}
	aif_live_reader_free(r);
	return 0;
}
