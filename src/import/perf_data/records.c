/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/perf_data.h"

#include <errno.h>
#include <string.h>

#define RECORD_HEAD 8
/* Bits of a record's misc. */
#define MODE_MASK     7
#define MODE_KERNEL   1
#define MODE_USER     2
#define MISC_DATA     (1 << 13) /* of a mapping: not executable */
#define MISC_EXEC     (1 << 13) /* of a name: by exec */
#define MISC_BUILD_ID (1 << 14)
/* In call chains: whose code follows. */
#define CONTEXT_FIRST  ((uint64_t)-4095)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER   ((uint64_t)-512)
/* Bits of read_format. */
#define READ_ENABLED 1
#define READ_RUNNING 2
#define READ_ID      4
#define READ_GROUP   8
#define READ_LOST    16

/* The part of a record that is still to be read. */
struct rest {
	const struct aif_perf_data *x;
	const uint8_t *p;
	size_t n;
	bool is_short;
};

static uint64_t take(struct rest *c)
{
	uint64_t v;

	if (c->n < 8) {
		c->is_short = true;
		c->n = 0;
		return 0;
	}
	v = aif_perf_u64(c->x, c->p);
	c->p += 8;
	c->n -= 8;
	return v;
}

/* Passes n numbers. */
static void pass(struct rest *c, uint64_t n)
{
	if (n > c->n / 8) {
		c->is_short = true;
		c->n = 0;
		return;
	}
	c->p += n * 8;
	c->n -= n * 8;
}

static void pass_if(struct rest *c, bool is_there)
{
	if (is_there)
		pass(c, 1);
}

static void pass_read(struct rest *c, uint64_t format)
{
	uint64_t each = 1 + !!(format & READ_ID) + !!(format & READ_LOST), n = 1;

	if (format & READ_GROUP)
		n = take(c);
	else
		pass(c, 1);
	pass_if(c, format & READ_ENABLED);
	pass_if(c, format & READ_RUNNING);
	if (!(format & READ_GROUP))
		pass(c, each - 1);
	else if (n <= c->n)
		pass(c, n * each);
	else
		c->is_short = true;
}

/* ---- samples ------------------------------------------------------------------------------------- */

/* Returns a sample's event, from its id; all events have the id at the same place. attrs_len: none. */
static size_t attr_of(const struct aif_perf_data *x, const uint8_t *p, size_t n)
{
	uint64_t type = x->attrs_len ? x->attrs[0].sample_type : 0, index = 0;
	struct rest c = {.x = x, .p = p, .n = n};

	if (x->attrs_len < 2)
		return 0;
	if (!(type & AIF_PERF_HAS_IDENTIFIER)) {
		if (!(type & AIF_PERF_HAS_ID))
			return 0;
		pass_if(&c, type & AIF_PERF_HAS_IP);
		pass_if(&c, type & AIF_PERF_HAS_TID);
		pass_if(&c, type & AIF_PERF_HAS_TIME);
		pass_if(&c, type & AIF_PERF_HAS_ADDR);
	}
	return aif_map_get(&x->ids, take(&c), &index) ? index : x->attrs_len;
}

static uint32_t place_of(struct aif_perf_data *x, uint32_t parent, uint64_t address, bool is_os)
{
	uint64_t key = aif_mix64(address + is_os) ^ aif_mix64((uint64_t)parent << 1), i;

	for (; aif_map_get(&x->place_ids, key, &i); key++)
		if (x->places[i].address == address && x->places[i].parent == parent &&
		    x->places[i].is_os == is_os)
			return (uint32_t)i;
	if (x->places_len >= AIF_NONE ||
	    aif_grow(&x->places, &x->places_cap, x->places_len + 1, sizeof(*x->places)) < 0 ||
	    aif_map_put(&x->place_ids, key, x->places_len) < 0) {
		x->is_memory = true;
		return AIF_NONE;
	}
	x->places[x->places_len] = (struct aif_perf_place){address, parent, is_os};
	return (uint32_t)x->places_len++;
}

/* Adds a call chain, the innermost first. Behind the first of each context are return addresses, which
 * lie behind their calls. */
static uint32_t chain_of(struct aif_perf_data *x, const struct rest *chain, uint64_t n, uint64_t ip,
			 unsigned mode)
{
	/* Has room for one frame too many, by which a stack is known to be cut. */
	uint64_t address[AIF_PERF_DEPTH_MAX + 1];
	bool is_os[AIF_PERF_DEPTH_MAX + 1], os = mode == MODE_KERNEL, is_first = true;
	uint32_t place = AIF_NONE;
	size_t len = 0;
	bool has_user = false;

	for (uint64_t i = 0; i < n && len <= AIF_PERF_DEPTH_MAX; i++) {
		uint64_t at = aif_perf_u64(x, chain->p + 8 * i);

		if (at >= CONTEXT_FIRST) {
			os = at == CONTEXT_KERNEL;
			has_user |= at == CONTEXT_USER;
			is_first = true;
			continue;
		}
		address[len] = at - (!is_first && at);
		is_os[len++] = os;
		is_first = false;
	}
	if (!len || (mode == MODE_USER && !has_user)) { /* no chain, or none of the program */
		len = 1;
		address[0] = ip;
		is_os[0] = mode == MODE_KERNEL;
	}
	while (len--)
		place = place_of(x, place, address[len], is_os[len]);
	return place;
}

static void sample(struct aif_perf_data *x, unsigned misc, const uint8_t *p, size_t size)
{
	size_t index = attr_of(x, p, size);
	struct rest c = {.x = x, .p = p, .n = size};
	const struct aif_perf_attr *a;
	struct aif_perf_raw raw = {.time = x->last_time, .attr = (uint16_t)index};
	uint64_t type, ip = 0, n = 0;

	if (index >= x->attrs_len) {
		aif_perf_bad(x);
		return;
	}
	a = &x->attrs[index];
	type = a->sample_type;
	pass_if(&c, type & AIF_PERF_HAS_IDENTIFIER);
	if (type & AIF_PERF_HAS_IP)
		ip = take(&c);
	if (type & AIF_PERF_HAS_TID && c.n >= 8) {
		raw.pid = aif_perf_u32(x, c.p);
		raw.tid = aif_perf_u32(x, c.p + 4);
	}
	pass_if(&c, type & AIF_PERF_HAS_TID);
	if (type & AIF_PERF_HAS_TIME)
		raw.time = take(&c);
	pass_if(&c, type & AIF_PERF_HAS_ADDR);
	pass_if(&c, type & AIF_PERF_HAS_ID);
	pass_if(&c, type & AIF_PERF_HAS_STREAM);
	pass_if(&c, type & AIF_PERF_HAS_CPU);
	raw.has_period = type & AIF_PERF_HAS_PERIOD || !a->is_freq;
	raw.period = type & AIF_PERF_HAS_PERIOD ? take(&c) : a->period;
	if (type & AIF_PERF_HAS_READ)
		pass_read(&c, a->read_format);
	if (type & AIF_PERF_HAS_CALLCHAIN)
		n = take(&c);
	if (c.is_short || n > c.n / 8) {
		aif_perf_bad(x);
		return;
	}
	raw.place = chain_of(x, &c, n, ip, misc & MODE_MASK);
	if (aif_grow(&x->raws, &x->raws_cap, x->raws_len + 1, sizeof(raw)) < 0) {
		x->is_memory = true;
		return;
	}
	x->last_time = raw.time;
	x->raws[x->raws_len++] = raw;
	x->source->events++;
}

/* ---- other records ------------------------------------------------------------------------------- */

/* Returns the time of a record that is no sample, which stands near its end; *n: how much is before
 * what all of them end with. */
static uint64_t time_of(const struct aif_perf_data *x, const uint8_t *p, size_t *n)
{
	uint64_t type = x->attrs_len && x->attrs[0].is_id_all ? x->attrs[0].sample_type : 0;
	size_t behind = 8u * (!!(type & AIF_PERF_HAS_ID) + !!(type & AIF_PERF_HAS_STREAM) +
			      !!(type & AIF_PERF_HAS_CPU) + !!(type & AIF_PERF_HAS_IDENTIFIER)),
	       all = behind + 8u * (!!(type & AIF_PERF_HAS_TIME) + !!(type & AIF_PERF_HAS_TID));
	uint64_t time = x->last_time;

	if (all > *n)
		return time;
	if (type & AIF_PERF_HAS_TIME)
		time = aif_perf_u64(x, p + *n - behind - 8);
	*n -= all;
	return time;
}

static void change(struct aif_perf_data *x, enum aif_perf_type type, unsigned misc,
		   const uint8_t *p, size_t size)
{
	size_t n = size, least = type == AIF_PERF_MMAP ? 32 : type == AIF_PERF_MMAP2 ? 64 : 8;
	struct aif_perf_change c = {.time = time_of(x, p, &n),
				    .type = type,
				    .name = AIF_STR_NONE,
				    .build_id = AIF_STR_NONE};

	if (type == AIF_PERF_FORK)
		least = 16;
	if (n < least) {
		aif_perf_bad(x);
		return;
	}
	c.pid = aif_perf_u32(x, p);
	c.tid = aif_perf_u32(x, p + 4);
	if (type == AIF_PERF_FORK) {
		c.from = c.tid; /* the parent's process stands where others have the thread */
		c.tid = aif_perf_u32(x, p + 8);
		c.from_tid = aif_perf_u32(x, p + 12);
	} else {
		c.name = aif_perf_text_at(x, p + least, n - least);
	}
	if (type == AIF_PERF_COMM)
		c.is_exec = misc & MISC_EXEC;
	if (type == AIF_PERF_MMAP || type == AIF_PERF_MMAP2) {
		if (misc & MISC_DATA)
			return;
		c.start = aif_perf_u64(x, p + 8);
		c.len = aif_perf_u64(x, p + 16);
		c.offset = aif_perf_u64(x, p + 24);
	}
	if (type == AIF_PERF_MMAP2 && misc & MISC_BUILD_ID)
		c.build_id = aif_perf_build_id_at(x, p + 36, p[32]);
	if (aif_grow(&x->changes, &x->changes_cap, x->changes_len + 1, sizeof(c)) < 0)
		x->is_memory = true;
	else
		x->changes[x->changes_len++] = c;
}

/* Counts what the kernel had no room for: records as it tells them, and samples, which perf 6.1 and later count once more at
 * the end. */
static void lost(struct aif_perf_data *x, enum aif_perf_type type, const uint8_t *p, size_t n)
{
	if (n < (type == AIF_PERF_LOST ? 16u : 8u))
		aif_perf_bad(x);
	else if (type == AIF_PERF_LOST)
		x->lost += aif_perf_u64(x, p + 8);
	else
		x->lost_samples += aif_perf_u64(x, p);
}

static int record(struct aif_perf_data *x, const uint8_t *p, size_t size, struct aif_err *err)
{
	uint32_t type = aif_perf_u32(x, p);
	unsigned misc = aif_perf_u16(x, p + 4);
	const uint8_t *body = p + RECORD_HEAD;
	size_t n = size - RECORD_HEAD;

	x->others += type != AIF_PERF_SAMPLE && type < AIF_PERF_HEADER_ATTR;
	switch (type) {
	case AIF_PERF_SAMPLE:
		sample(x, misc, body, n);
		break;
	case AIF_PERF_MMAP:
	case AIF_PERF_MMAP2:
	case AIF_PERF_COMM:
	case AIF_PERF_FORK:
		change(x, type, misc, body, n);
		break;
	case AIF_PERF_THROTTLE:
		x->throttled++;
		break;
	case AIF_PERF_LOST:
	case AIF_PERF_LOST_SAMPLES:
		lost(x, type, body, n);
		break;
	case AIF_PERF_HEADER_ATTR:
		aif_perf_attr_record(x, body, n);
		break;
	case AIF_PERF_HEADER_BUILD_ID:
		aif_perf_build_id_record(x, p, size);
		break;
	case AIF_PERF_HEADER_FEATURE:
		aif_perf_feature_record(x, body, n);
		break;
	case AIF_PERF_COMPRESSED:
	case AIF_PERF_COMPRESSED2:
		return aif_err_set(err, -ENOTSUP,
				   "%s: its records are packed (perf record -z), which only perf "
				   "unpacks: perf script -i FILE | aiflame import - -o FILE",
				   aif_input_name(x->source->input));
	default:
		break;
	}
	return x->is_memory ? aif_err_set(err, -ENOMEM, "out of memory") : 0;
}

/* Returns how many bytes stand behind a record that are not in its size. */
static uint64_t behind(const struct aif_perf_data *x, const uint8_t *p, size_t size)
{
	uint32_t type = aif_perf_u32(x, p);

	if (type == AIF_PERF_AUXTRACE && size >= RECORD_HEAD + 8)
		return aif_perf_u64(x, p + RECORD_HEAD);
	if (type == AIF_PERF_HEADER_TRACING && size >= RECORD_HEAD + 4)
		return (aif_perf_u32(x, p + RECORD_HEAD) + UINT64_C(7)) & ~UINT64_C(7);
	return 0;
}

int aif_perf_records_read(struct aif_perf_data *x, struct aif_err *err)
{
	while (x->offset < x->data_end) {
		int r = aif_perf_want(x, RECORD_HEAD, err);
		uint64_t more;
		size_t size;

		if (r < 0)
			return r;
		if (!r) {
			x->is_torn |= x->data_end != UINT64_MAX || x->buf.len > x->at;
			return 0;
		}
		size = aif_perf_u16(x, aif_perf_next(x) + 6);
		if (size < RECORD_HEAD || size > x->data_end - x->offset) {
			aif_perf_bad(x); /* where the next one begins is not known */
			return x->data_end == UINT64_MAX
				       ? 0
				       : AIF_MIN(aif_perf_pass(x, x->data_end - x->offset, err), 0);
		}
		r = aif_perf_want(x, size, err);
		if (r <= 0) {
			x->is_torn = true;
			return r;
		}
		more = behind(x, aif_perf_next(x), size);
		r = record(x, aif_perf_next(x), size, err);
		if (r < 0)
			return r;
		aif_perf_skip(x, size);
		r = aif_perf_pass(x, AIF_MIN(more, x->data_end - x->offset), err);
		if (r <= 0) {
			x->is_torn = true;
			return r;
		}
	}
	return 0;
}
