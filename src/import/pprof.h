/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/proto_reader.h"
#include "import/weighted_stacks.h"

/*
 * pprof's profile.proto (github.com/google/pprof, proto/profile.proto): stacks of locations, the innermost first, with
 * values and labels; locations, functions and strings stand behind the samples that name them, so all of it is held
 * in memory. Numbers in it are looked up, never trusted.
 *
 * Of several values the profile's default counts, else the last, as pprof itself chooses. aiflame's own exports have
 * device time, CPU time and waiting, and each is what it was.
 */

#define PPROF_DEPTH_MAX 8192
#define PPROF_TYPES_MAX 64

enum { /* fields of Profile */
       PPROF_SAMPLE_TYPE = 1,
       PPROF_SAMPLE = 2,
       PPROF_MAPPING = 3,
       PPROF_LOCATION = 4,
       PPROF_FUNCTION = 5,
       PPROF_STRING = 6,
       PPROF_DEFAULT_SAMPLE_TYPE = 14,
};

struct pprof_bytes {
	const uint8_t *p;
	size_t len;
};
struct pprof_string {
	struct pprof_bytes text;
	uint32_t id; /* of the profile, AIF_NONE: not yet */
};
struct pprof_mapping {
	uint64_t id;
	uint32_t file; /* number in .strings */
};
struct pprof_function {
	uint64_t id;
	uint32_t name, file;
};
struct pprof_line {
	uint32_t function, line; /* function: its place in .functions */
	uint32_t frame;          /* of the profile */
};
struct pprof_location {
	uint64_t id, address, mapping;
	struct pprof_bytes bytes;
	size_t first, lines; /* in .lines, the innermost first */
	bool is_known;
};

struct pprof {
	struct aif_builder *b;
	struct aif_import_source *source;
	struct aif_synthetic_timeline timeline;
	struct aif_host host;
	struct aif_buf text; /* the file */
	AIF_TABLE(pprof_string, strings);
	AIF_TABLE(pprof_mapping, mappings);
	AIF_TABLE(pprof_function, functions);
	AIF_TABLE(pprof_location, locations);
	AIF_TABLE(pprof_line, lines);
	struct aif_map mapping_ids, function_ids, location_ids, threads, devices;
	struct {
		uint32_t type, unit; /* numbers of strings */
	} types[PPROF_TYPES_MAX];
	size_t types_len;
	uint64_t default_type;
	size_t value_at, device_at, cpu_at, wait_at; /* SIZE_MAX: there is none */
	uint64_t unit_ns;                            /* what one of value_at is; 0: a count */
	uint64_t bad;
	uint64_t too_deep, crowded, no_stack; /* samples */
	bool is_memory, is_torn;

	/* The sample at hand. */
	struct pprof_line stack[PPROF_DEPTH_MAX]; /* the innermost first */
	size_t stack_len;
	bool is_deep; /* it has more frames */
	uint64_t values[PPROF_TYPES_MAX];
	uint32_t kernel, instruction, stall, thread,
		device; /* labels: numbers of strings, 0: none */
};

/* Appends a row to a table, or sets .is_memory. */
#define PPROF_ADD(x, table, ...)                                                                 \
	(aif_grow(&(x)->table, &(x)->table##_cap, (x)->table##_len + 1, sizeof(*(x)->table)) < 0 \
		 ? (void)((x)->is_memory = true)                                                 \
		 : (void)((x)->table[(x)->table##_len++] = (__VA_ARGS__)))

/* Reads all but the samples. */
void pprof_tables_read(struct pprof *x);
/* Chooses which of a sample's values count. */
void pprof_values_choose(struct pprof *x);
/* Returns true if what is chosen for CPU samples is wall-clock time. */
bool pprof_is_wall(const struct pprof *x);

/* Returns a string of the file; empty where there is none. */
struct pprof_bytes pprof_string(const struct pprof *x, uint64_t number);
/* Returns the same as a string of the profile. */
uint32_t pprof_string_id(struct pprof *x, uint64_t number);
bool pprof_is(struct pprof_bytes s, const char *text);
