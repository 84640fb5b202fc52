/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "import/kineto/events.h"
#include "import/kineto/spans.h"

/*
 * Events in two parts: "B" begins one, the thread's next "E" of its name ends it. One that never ends lasts until the
 * one that it is in ends, or the trace. Its span gets its place at "B": of spans with the same times the first is the
 * caller.
 */
struct kineto;

struct kineto_open {
	/* Place of the next outer one of its thread, or of the next free one; + 1, 0: none. */
	uint32_t below;
	uint32_t name;
	uint32_t slot; /* of the file's spans */
	int64_t start;
	uint64_t correlation, external, bytes;
	struct kineto_reading readings;
	struct kineto_id pid, tid;
	int64_t until; /* when what it is in has ended, if has_until */
	uint8_t class;
	bool has_correlation, has_external, is_open, has_until;
};

struct kineto_open_events {
	AIF_TABLE(kineto_open, rows); /* "B" without an "E" yet, and places that are free */
	struct aif_map tops;          /* of a thread: place of its innermost + 1; 0: it has none */
	uint32_t free;                /* the first free place + 1 */
};

/* Opens k->event. 0 or -ENOMEM. */
int kineto_open_begin(struct kineto *k);
/* Makes k->event the next one that has not ended, from *at on, with an end. False: there is no other. */
bool kineto_open_next(struct kineto *k, size_t *at);
/* Makes k->event, which ends one, the whole: with its beginning. False in *ret_found: none is open. 0 or -ENOMEM. */
int kineto_open_end(struct kineto *k, bool *ret_found);
void kineto_open_finish(struct kineto_open_events *o);
