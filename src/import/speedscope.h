/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/weighted_stacks.h"
#include "text/json_reader.h"

/*
 * speedscope's own JSON (https://www.speedscope.app/file-format-schema.json): profiles of samples (stacks and weights)
 * or events (opened and closed), and the frames that they share, by number. Members are in any order: frames may come
 * last, until then a stack is a node of numbers, and each distinct one is kept once; and so may a profile's unit, until
 * which its numbers are kept as they were written.
 *
 * Each profile is a thread, and has its number, from 1. `evented` ones have times; of `sampled` ones weights follow one another. aiflame's own
 * exports say in a frame's `file` what is of the device, Python or the OS kernel.
 */
#define SPEEDSCOPE_DEPTH_MAX 4096
/* A frame's number, as no file has it: of a sample without frames. */
#define SPEEDSCOPE_NO_STACK (AIF_NONE - 1)

enum speedscope_unit {
	UNIT_NONE, /* counts, bytes */
	UNIT_NS,
	UNIT_US,
	UNIT_MS,
	UNIT_S,
};

struct speedscope_frame {
	uint32_t name, file, line; /* strings of the profile, AIF_NONE */
};
struct speedscope_node {
	uint32_t parent, frame;
};
struct speedscope_sample {
	uint64_t at, ns; /* at: of events */
	uint32_t node, profile;
};
/* v / 10^shift of a unit that may not be known yet. */
struct speedscope_number {
	int64_t v;
	uint8_t shift;
	bool is_bad;
};
struct speedscope_event {
	struct speedscope_number at;
	uint32_t frame;
	bool is_open;
};
enum speedscope_weighs { SPEEDSCOPE_TIME, SPEEDSCOPE_COUNTS, SPEEDSCOPE_BYTES };
struct speedscope_profile {
	uint32_t name;
	struct speedscope_number end; /* is_bad: not said */
	enum speedscope_weighs weighs;
	bool is_timed;
};

struct speedscope {
	struct aif_builder *b;
	struct aif_import_source *source;
	struct aif_json json;
	AIF_TABLE(speedscope_frame, frames);
	AIF_TABLE(speedscope_node, nodes);
	AIF_TABLE(speedscope_sample, samples);
	AIF_TABLE(speedscope_profile, profiles);
	struct aif_map node_ids;
	/* State of the profile at hand. */
	uint32_t *stacks;
	size_t stacks_len, stacks_cap;
	AIF_TABLE(speedscope_number, weights);
	AIF_TABLE(speedscope_event, events);
	enum speedscope_unit unit;
	bool is_bytes;     /* what it counts, without a unit of time */
	char own_unit[24]; /* that the format does not have */
	uint32_t open[SPEEDSCOPE_DEPTH_MAX];
	size_t open_len, too_deep_now;
	uint64_t last_at;
	bool has_at;
	uint64_t bad, too_deep, unended, crossed;
	uint64_t no_stack;   /* samples */
	uint64_t rounded;    /* weights */
	uint64_t other_unit; /* samples of profiles in another unit than the first one */
	bool is_memory, is_torn;
	char error[160];
};

/* Reads the file. False: its text is wrong somewhere (.json says where), or memory ran out; what was whole is kept. */
bool speedscope_read(struct speedscope *x);
/* Makes rows of its samples. 0 or -ENOMEM. */
int speedscope_rows(struct speedscope *x);
