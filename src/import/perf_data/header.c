/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/perf_data.h"

#include <errno.h>
#include <string.h>

/* The most that may stand before the first record, or behind the last: attributes with an id for each CPU, and features. */
#define HEADER_MAX    (64u << 20)
#define FILE_HEADER   104 /* as it is since 2010; more may follow in it */
#define PIPE_HEADER   16
#define ATTR_MIN      64 /* PERF_ATTR_SIZE_VER0 */
#define ATTRS_MAX     4096
#define CALL_STACK    (UINT64_C(1) << 11) /* of branch_sample_type: the CPU's own call chain */
#define BUILD_ID_HEAD 36                  /* of its record, before the path */

bool aif_perf_is_data(const uint8_t *head, size_t len)
{
	return len >= PIPE_HEADER && (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8));
}

static void byte_order(struct aif_perf_data *x, const uint8_t *head)
{
	x->is_big = *head == '2';
	x->is_swapped = x->is_big != AIF_IS_BIG;
}

/* ---- attributes ---------------------------------------------------------------------------------- */

/* Reads the attributes at p, of at most n bytes. False: they are none. */
static bool attr_read(const struct aif_perf_data *x, const uint8_t *p, size_t n,
		      struct aif_perf_attr *ret)
{
	uint32_t size = n >= ATTR_MIN ? aif_perf_u32(x, p + 4) : 0;
	uint64_t bits;

	if (!size) /* as the first kernels wrote it */
		size = ATTR_MIN;
	if (n < ATTR_MIN || size < ATTR_MIN)
		return false;
	bits = aif_perf_u64(x, p + 40);
	/* Compilers lay out bit fields from the other end there. */
#define BIT(i) (bits >> (x->is_big ? 63 - (i) : (i)) & 1)
	*ret = (struct aif_perf_attr){
		.type = aif_perf_u32(x, p),
		.config = aif_perf_u64(x, p + 8),
		.period = aif_perf_u64(x, p + 16),
		.sample_type = aif_perf_u64(x, p + 24),
		.read_format = aif_perf_u64(x, p + 32),
		.branches = size >= 80 && n >= 80 ? aif_perf_u64(x, p + 72) : 0,
		.is_freq = BIT(10),
		.is_id_all = BIT(18),
		.name = AIF_STR_NONE,
	};
#undef BIT
	return true;
}

const char *aif_perf_attr_name(const struct aif_perf_attr *a)
{
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"},
				 *const software[] = {"cpu-clock",        "task-clock",
						      "page-faults",      "context-switches",
						      "cpu-migrations",   "minor-faults",
						      "major-faults",     "alignment-faults",
						      "emulation-faults", "dummy",
						      "bpf-output",       "cgroup-switches"};

	/* The upper half of a hardware event's number says of which kind of CPU it is. */
	if (a->type == 0 && (uint32_t)a->config < AIF_ARRAY_LEN(hardware))
		return hardware[(uint32_t)a->config];
	if (a->type == 1 && a->config < AIF_ARRAY_LEN(software))
		return software[a->config];
	return a->type == 2 ? "tracepoint:" : a->type == 3 ? "cache-event" : "raw-event";
}

static const char *attr_needs_perf(const struct aif_perf_attr *a)
{
	if (a->sample_type & AIF_PERF_HAS_STACK)
		return "copies of stacks (--call-graph dwarf)";
	if (a->sample_type & AIF_PERF_HAS_BRANCHES && a->branches & CALL_STACK)
		return "call chains of branches (--call-graph lbr)";
	return NULL;
}

const char *aif_perf_needs_perf(const uint8_t *head, size_t len)
{
	struct aif_perf_data x = {0};
	struct aif_perf_attr a;
	uint64_t at, each, size, i;
	const char *why = NULL;

	if (!aif_perf_is_data(head, len))
		return NULL;
	byte_order(&x, head);
	if (aif_perf_u64(&x, head + 8) == PIPE_HEADER) {
		for (at = PIPE_HEADER; !why && at + 8 + ATTR_MIN <= len; at += size) {
			size = aif_perf_u16(&x, head + at + 6);
			if (size < 8 || aif_perf_u32(&x, head + at) < AIF_PERF_HEADER_ATTR)
				break;
			if (aif_perf_u32(&x, head + at) == AIF_PERF_HEADER_ATTR &&
			    attr_read(&x, head + at + 8, len - at - 8, &a))
				why = attr_needs_perf(&a);
		}
		return why;
	}
	if (len < FILE_HEADER)
		return NULL;
	if (aif_perf_u64(&x, head + 72) >> AIF_PERF_FEATURE_COMPRESSED & 1)
		return "packed records (-z)";
	each = aif_perf_u64(&x, head + 16);
	at = aif_perf_u64(&x, head + 24);
	size = aif_perf_u64(&x, head + 32);
	for (i = 0; each >= ATTR_MIN && i < size / each && !why && at < len && len - at >= each;
	     i++, at += each)
		if (attr_read(&x, head + at, each, &a))
			why = attr_needs_perf(&a);
	return why;
}

static struct aif_perf_attr *attr_add(struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	struct aif_perf_attr a;

	if (!attr_read(x, p, n, &a) || x->attrs_len >= ATTRS_MAX)
		return NULL;
	if (aif_grow(&x->attrs, &x->attrs_cap, x->attrs_len + 1, sizeof(a)) < 0) {
		x->is_memory = true;
		return NULL;
	}
	x->has_stacks |= attr_needs_perf(&a) != NULL;
	x->attrs[x->attrs_len++] = a;
	return &x->attrs[x->attrs_len - 1];
}

/* Joins the ids at p to the last event. */
static void ids_add(struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8)
		x->is_memory |= aif_map_put(&x->ids, aif_perf_u64(x, p + i), x->attrs_len - 1) < 0;
}

void aif_perf_attr_record(struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	size_t size = n >= 8 ? aif_perf_u32(x, p + 4) : 0;

	if (!attr_add(x, p, n))
		aif_perf_bad(x);
	else if (size >= ATTR_MIN && size < n)
		ids_add(x, p + size, n - size);
}

/* ---- features ------------------------------------------------------------------------------------ */

void aif_perf_build_id_record(struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	uint32_t path, id;
	size_t size;

	if (n < BUILD_ID_HEAD) {
		aif_perf_bad(x);
		return;
	}
	/* The id's size is behind it, where the record says so; else the id is of SHA-1. */
	size = aif_perf_u16(x, p + 4) & 1 << 15 ? p[32] : 20;
	path = aif_perf_text_at(x, p + BUILD_ID_HEAD, n - BUILD_ID_HEAD);
	id = aif_perf_build_id_at(x, p + 12, size);
	if (id != AIF_STR_NONE)
		x->is_memory |= aif_map_put(&x->build_ids, path, id) < 0;
}

static void build_ids_read(struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	while (n >= 8) {
		size_t size = aif_perf_u16(x, p + 6);

		if (size < 8 || size > n) {
			aif_perf_bad(x);
			return;
		}
		aif_perf_build_id_record(x, p, size);
		p += size;
		n -= size;
	}
}

/* Reads the events' names, which are in the order of their attributes. */
static void names_read(struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	uint32_t events, size;
	size_t at = 8;

	if (n < 8)
		return;
	events = aif_perf_u32(x, p);
	size = aif_perf_u32(x, p + 4);
	for (uint32_t i = 0; i < events && i < x->attrs_len; i++) {
		uint32_t ids, len;

		if (size > n - at || n - at - size < 8)
			return;
		at += size;
		ids = aif_perf_u32(x, p + at);
		len = aif_perf_u32(x, p + at + 4);
		at += 8;
		if (len > n - at)
			return;
		x->attrs[i].name = aif_perf_text_at(x, p + at, len);
		at += len;
		if (ids > (n - at) / 8)
			return;
		at += ids * 8;
	}
}

static void feature_read(struct aif_perf_data *x, uint64_t which, const uint8_t *p, size_t n)
{
	if (which == AIF_PERF_FEATURE_BUILD_ID)
		build_ids_read(x, p, n);
	else if (which == AIF_PERF_FEATURE_EVENT_DESC)
		names_read(x, p, n);
}

void aif_perf_feature_record(struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	if (n >= 8)
		feature_read(x, aif_perf_u64(x, p), p + 8, n - 8);
}

int aif_perf_features_read(struct aif_perf_data *x, struct aif_err *err)
{
	uint64_t begin = x->offset;
	size_t all, table = 0;
	int r;

	if (x->is_pipe || x->data_end == UINT64_MAX || x->offset != x->data_end)
		return 0;
	r = aif_perf_want(x, HEADER_MAX, err);
	if (r < 0)
		return r;
	all = AIF_MIN(x->buf.len - x->at, HEADER_MAX);
	for (unsigned i = 0; i < 256; i++) {
		const uint8_t *p = aif_perf_next(x);
		uint64_t at, size;

		if (!(x->features[i / 64] >> i % 64 & 1))
			continue;
		if (all - table < 16) {
			x->is_torn = true;
			return 0;
		}
		at = aif_perf_u64(x, p + table) - begin;
		size = aif_perf_u64(x, p + table + 8);
		table += 16;
		if (at <= all && size <= all - at)
			feature_read(x, i, p + at, size);
		else
			x->is_torn |= i == AIF_PERF_FEATURE_BUILD_ID;
	}
	return 0;
}

/* ---- the header ---------------------------------------------------------------------------------- */

static int torn(struct aif_perf_data *x, struct aif_err *err)
{
	return aif_err_set(err, -EBADMSG,
			   "%s: ends within its header, or says what cannot be: "
			   "perf record did not finish it; copy it again",
			   aif_input_name(x->source->input));
}

int aif_perf_header_read(struct aif_perf_data *x, struct aif_err *err)
{
	uint64_t each, attrs, size, data;
	const uint8_t *p;
	int r = aif_perf_want(x, PIPE_HEADER, err);

	if (r <= 0)
		return r < 0 ? r : torn(x, err);
	byte_order(x, aif_perf_next(x));
	x->data_end = UINT64_MAX;
	if (aif_perf_u64(x, aif_perf_next(x) + 8) == PIPE_HEADER) {
		x->is_pipe = true;
		aif_perf_skip(x, PIPE_HEADER);
		return 0;
	}
	r = aif_perf_want(x, FILE_HEADER, err);
	if (r <= 0)
		return r < 0 ? r : torn(x, err);
	p = aif_perf_next(x);
	each = aif_perf_u64(x, p + 16);
	attrs = aif_perf_u64(x, p + 24);
	size = aif_perf_u64(x, p + 32);
	data = aif_perf_u64(x, p + 40);
	if (aif_perf_u64(x, p + 48)) /* else perf record was killed: all that there is */
		x->data_end = data + aif_perf_u64(x, p + 48);
	else
		x->is_torn = true;
	for (unsigned i = 0; i < 4; i++)
		x->features[i] = aif_perf_u64(x, p + 72 + 8 * i);
	if (data < FILE_HEADER || data > HEADER_MAX || x->data_end < data || each < ATTR_MIN + 16 ||
	    attrs > data || size > data - attrs)
		return torn(x, err);
	r = aif_perf_want(x, data, err);
	if (r <= 0)
		return r < 0 ? r : torn(x, err);
	p = aif_perf_next(x);
	for (uint64_t i = 0; i < size / each; i++) {
		const uint8_t *at = p + attrs + i * each;
		uint64_t ids = aif_perf_u64(x, at + each - 16),
			 len = aif_perf_u64(x, at + each - 8);

		if (!attr_add(x, at, each - 16))
			aif_perf_bad(x);
		else if (ids <= data && len <= data - ids)
			ids_add(x, p + ids, len);
	}
	aif_perf_skip(x, data);
	return 0;
}
