/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/perf_samples.h"

/*
 * perf's own file (perf.data), as the kernel's perf_event.h and perf's perf.data-file-format.txt describe it: a header
 * with the events' attributes, records of mappings, names and samples in the order of the CPUs' buffers, features
 * behind them. What `perf record -o -` writes has the attributes as records. Records are kept as numbers until all were
 * read, since they are not in the order of time; then one pass in that order gives each sample the address space and the
 * name that its process had.
 */
enum aif_perf_type {
	AIF_PERF_MMAP = 1,
	AIF_PERF_LOST = 2,
	AIF_PERF_COMM = 3,
	AIF_PERF_THROTTLE = 5,
	AIF_PERF_FORK = 7,
	AIF_PERF_SAMPLE = 9,
	AIF_PERF_MMAP2 = 10,
	AIF_PERF_LOST_SAMPLES = 13,
	AIF_PERF_HEADER_ATTR = 64,
	AIF_PERF_HEADER_TRACING = 66,
	AIF_PERF_HEADER_BUILD_ID = 67,
	AIF_PERF_AUXTRACE = 71,
	AIF_PERF_HEADER_FEATURE = 80,
	AIF_PERF_COMPRESSED = 81,
	AIF_PERF_COMPRESSED2 = 83,
};
enum aif_perf_feature {
	AIF_PERF_FEATURE_BUILD_ID = 2,
	AIF_PERF_FEATURE_EVENT_DESC = 12,
	AIF_PERF_FEATURE_COMPRESSED = 27,
};
/* Bits of sample_type. */
enum {
	AIF_PERF_HAS_IP = 1 << 0,
	AIF_PERF_HAS_TID = 1 << 1,
	AIF_PERF_HAS_TIME = 1 << 2,
	AIF_PERF_HAS_ADDR = 1 << 3,
	AIF_PERF_HAS_READ = 1 << 4,
	AIF_PERF_HAS_CALLCHAIN = 1 << 5,
	AIF_PERF_HAS_ID = 1 << 6,
	AIF_PERF_HAS_CPU = 1 << 7,
	AIF_PERF_HAS_PERIOD = 1 << 8,
	AIF_PERF_HAS_STREAM = 1 << 9,
	AIF_PERF_HAS_BRANCHES = 1 << 11,
	AIF_PERF_HAS_STACK = 1 << 13,
	AIF_PERF_HAS_IDENTIFIER = 1 << 16,
};

struct aif_perf_attr {
	uint64_t config, period, sample_type, read_format, branches;
	uint32_t type;
	bool is_freq, is_id_all;
	uint32_t name; /* a string, AIF_STR_NONE */
	uint32_t event;
};
/* A record that changes an address space, or a name. */
struct aif_perf_change {
	uint64_t time, start, len, offset;
	enum aif_perf_type type;
	uint32_t pid, tid, from, from_tid; /* from: the process and thread that forked */
	uint32_t name, build_id;           /* strings, AIF_STR_NONE */
	bool is_exec;
};
/* A place of code and what called it, as they lie in memory. */
struct aif_perf_place {
	uint64_t address;
	uint32_t parent;
	bool is_os;
};
struct aif_perf_raw {
	uint64_t time, period;
	uint32_t pid, tid, place;
	uint16_t attr;
	bool has_period;
};

struct aif_perf_data {
	struct aif_import_source *source;
	struct aif_buf buf; /* of the file: what is next begins at `at`, the file's byte `offset` */
	size_t at;
	uint64_t offset;
	bool is_eof, is_pipe, is_big, is_swapped;
	uint64_t data_end, features[4]; /* UINT64_MAX: the file's end */
	AIF_TABLE(aif_perf_attr, attrs);
	AIF_TABLE(aif_perf_change, changes);
	AIF_TABLE(aif_perf_place, places);
	AIF_TABLE(aif_perf_raw, raws);
	struct aif_strset strings;
	struct aif_map ids, place_ids, build_ids; /* build_ids: path -> build id, strings */
	uint64_t last_time, lost, lost_samples, bad, others, first_bad;
	uint64_t throttled; /* times that the kernel stopped samples, which came too fast */
	bool is_memory, is_torn, has_stacks; /* has_stacks: copies, which perf would unwind */
};

/* ---- file.c: its bytes ---- */
/* Makes the next n bytes be there: 1; 0: the file ends before; -errno with *err. */
int aif_perf_want(struct aif_perf_data *x, size_t n, struct aif_err *err);
const uint8_t *aif_perf_next(const struct aif_perf_data *x);
void aif_perf_skip(struct aif_perf_data *x, size_t n); /* that are there */
/* Passes n bytes. As aif_perf_want(). */
int aif_perf_pass(struct aif_perf_data *x, uint64_t n, struct aif_err *err);
/* Numbers, in the file's byte order. */
uint16_t aif_perf_u16(const struct aif_perf_data *x, const uint8_t *p);
uint32_t aif_perf_u32(const struct aif_perf_data *x, const uint8_t *p);
uint64_t aif_perf_u64(const struct aif_perf_data *x, const uint8_t *p);
uint32_t aif_perf_text_at(struct aif_perf_data *x, const uint8_t *p, size_t max);
/* Returns a build id of at most 20 bytes in hexadecimal, a string; AIF_STR_NONE for one of no bytes. */
uint32_t aif_perf_build_id_at(struct aif_perf_data *x, const uint8_t *p, size_t size);
void aif_perf_bad(struct aif_perf_data *x); /* what is next is damaged */

/* ---- header.c: what says how to read it ---- */
bool aif_perf_is_data(const uint8_t *head, size_t len);
/* Returns why perf has to read this file, or NULL. */
const char *aif_perf_needs_perf(const uint8_t *head, size_t len);
/* Reads up to the first record. 0 or -errno with *err. */
int aif_perf_header_read(struct aif_perf_data *x, struct aif_err *err);
/* Reads what stands behind the last record. 0 or -errno with *err. */
int aif_perf_features_read(struct aif_perf_data *x, struct aif_err *err);
/* The same as records. */
void aif_perf_attr_record(struct aif_perf_data *x, const uint8_t *p, size_t n);
void aif_perf_feature_record(struct aif_perf_data *x, const uint8_t *p, size_t n);
/* A record of a module's build id, with its header. */
void aif_perf_build_id_record(struct aif_perf_data *x, const uint8_t *p, size_t n);
/* "cpu-clock", by the attribute alone. */
const char *aif_perf_attr_name(const struct aif_perf_attr *a);

/* ---- records.c ---- */
/* Reads all records. 0 or -errno with *err. */
int aif_perf_records_read(struct aif_perf_data *x, struct aif_err *err);

/* ---- replay.c ---- */
/* Gives the samples, in the order of time, with names. 0 or -errno with *err. */
int aif_perf_replay(struct aif_perf_data *x, struct aif_perf_samples *to, struct aif_err *err);
