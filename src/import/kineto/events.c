/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include "text/json_fast.h"

#include <string.h>

/* Keys of an event, most frequent first where they share a length. */
#define IS(word) AIF_JSON_IS(j, word)

bool kineto_is_first(const uint8_t *key, size_t len)
{
	static const char *const keys[] = {"ph",  "name", "cat", "pid",  "tid",  "ts",
					   "dur", "id",   "bp",  "args", "attr", "s"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(keys); i++)
		if (strlen(keys[i]) == len && !memcmp(keys[i], key, len))
			return true;
	return false;
}

/* A value that is no object or array; of those, which no value of ours is, NULL: they are passed. */
static enum aif_json_token scalar(struct aif_json *j)
{
	unsigned depth = aif_json_depth(j);
	enum aif_json_token t = aif_json_value(j);

	if (aif_likely(t != AIF_JSON_OBJECT && t != AIF_JSON_ARRAY))
		return t;
	while (aif_json_depth(j) > depth)
		if (aif_json_next(j) == AIF_JSON_ERROR)
			return AIF_JSON_ERROR;
	return AIF_JSON_NULL;
}

static bool is_number(enum aif_json_token t)
{
	return t == AIF_JSON_NUMBER || t == AIF_JSON_STRING;
}

static bool number(struct aif_json *j, uint64_t *ret, bool *ret_has)
{
	enum aif_json_token t = scalar(j);

	if (is_number(t) && aif_json_u64(j, ret) == 0 && ret_has)
		*ret_has = true;
	return t != AIF_JSON_ERROR;
}

static bool signed_number(struct aif_json *j, int64_t *ret, bool *ret_has)
{
	uint64_t v = (uint64_t)*ret;
	bool ok = number(j, &v, ret_has);

	*ret = (int64_t)v;
	return ok;
}

/* 7, "7" or "stream 7". */
static bool stream_of(struct aif_json *j, struct kineto_event *e)
{
	enum aif_json_token t = scalar(j);
	bool is_word = t == AIF_JSON_STRING && j->len > 7 && !memcmp(j->text, "stream ", 7);
	struct aif_json number = {.text = j->text + (is_word ? 7 : 0),
				  .len = j->len - (is_word ? 7 : 0)};
	uint64_t v;

	if (is_number(t) && aif_json_u64(&number, &v) == 0) {
		e->stream = (int64_t)v;
		e->has_stream = true;
	}
	return t != AIF_JSON_ERROR;
}

/* 0 where it is none, or has no room. */
static bool small_number(struct aif_json *j, uint32_t *ret)
{
	uint64_t v = 0;
	bool ok = number(j, &v, NULL);

	*ret = v < UINT32_MAX ? (uint32_t)v : 0;
	return ok;
}

static bool time_of(struct aif_json *j, struct kineto_event *e, int64_t *ret, bool *ret_has)
{
	enum aif_json_token t = scalar(j);

	if (is_number(t) && aif_json_thousandths(j, ret) == 0)
		*ret_has = true;
	else
		e->is_bad = true;
	return t != AIF_JSON_ERROR;
}

static bool text(struct aif_json *j, struct aif_buf *ret)
{
	enum aif_json_token t = scalar(j);

	aif_buf_clear(ret);
	if (is_number(t))
		aif_json_text(j, ret);
	return t != AIF_JSON_ERROR;
}

/* "[rank] 123". False: it has no such form. */
static bool ranked_pid(const uint8_t *text, size_t len, struct kineto_id *ret, struct aif_buf *rank)
{
	const uint8_t *end = len > 3 && *text == '[' ? memchr(text, ']', len) : NULL, *at;
	uint64_t number = 0;

	if (!end || end - text < 2 || end + 1 == text + len)
		return false;
	for (at = end + 1; at < text + len && *at == ' ';)
		at++;
	if (at == text + len || text + len - at > 18)
		return false;
	for (; at < text + len; at++) {
		if (*at < '0' || *at > '9')
			return false;
		number = number * 10 + (uint64_t)(*at - '0');
	}
	aif_buf_clear(rank);
	aif_buf_append(rank, text + 1, (size_t)(end - text - 1));
	ret->number = (int64_t)number;
	ret->group = (uint32_t)aif_hash_bytes(text, (size_t)(end - text)) | 1;
	return true;
}

static bool id(struct aif_json *j, struct kineto_id *ret)
{
	enum aif_json_token t = scalar(j);

	*ret = (struct kineto_id){0};
	if (is_number(t) && aif_json_u64(j, (uint64_t *)&ret->number) < 0) {
		ret->is_name = true;
		ret->number = (int64_t)aif_hash_bytes(j->text, j->len);
	}
	return t != AIF_JSON_ERROR;
}

static bool pid_of(struct aif_json *j, struct kineto_event *e)
{
	bool ok = id(j, &e->pid);

	e->is_function = ok && e->pid.is_name && AIF_JSON_IS(j, "CPU functions");
	if (ok && e->pid.is_name && ranked_pid(j->text, j->len, &e->pid, &e->rank))
		e->pid.is_name = false;
	return ok;
}

/* [x, y, z]: what is missing or none is 0. */
static bool triple(struct aif_json *j, uint32_t ret[3])
{
	unsigned depth = aif_json_depth(j), n = 0;
	enum aif_json_token t = aif_json_next(j);

	while (t != AIF_JSON_ERROR && aif_json_depth(j) > depth) {
		uint64_t v;

		t = aif_json_next(j);
		if (t == AIF_JSON_NUMBER && n < 3 && aif_json_u64(j, &v) == 0 && v < UINT32_MAX)
			ret[n] = (uint32_t)v;
		n++;
	}
	return t != AIF_JSON_ERROR;
}

/* "[[2, 3], []]", as torch prints it, however the file is indented: equal shapes are equal texts. */
static bool list(struct aif_json *j, struct aif_buf *ret)
{
	enum aif_json_token t = aif_json_raw(j);
	bool in_string = false;

	aif_buf_clear(ret);
	for (size_t i = 0; t == AIF_JSON_ARRAY && j->len > 2 && i < j->len; i++) {
		uint8_t c = j->text[i];

		if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
			continue;
		aif_buf_append(ret, &c, 1);
		if (c == ',' && !in_string)
			aif_buf_append(ret, " ", 1);
		if (c == '\\' && in_string && i + 1 < j->len)
			aif_buf_append(ret, &j->text[++i], 1);
		else if (c == '"')
			in_string = !in_string;
	}
	return t != AIF_JSON_ERROR;
}

static bool reading(struct aif_json *j, struct kineto_event *e, unsigned which)
{
	bool has = false, ok = number(j, &e->readings[which], &has);

	if (has)
		e->has_readings |= (uint8_t)(1u << which);
	return ok;
}

/* Reads a member of `args`. Keys are compared by length first: most are of no interest. */
static bool arg(struct aif_json *j, struct kineto_event *e)
{
	switch (j->len) {
	case 2:
		if (IS("id"))
			return number(j, &e->id, &e->has_id);
		break;
	case 3:
		if (!memcmp(j->text, "TS", 2) && j->text[2] >= '1' && j->text[2] <= '5')
			return reading(j, e, (unsigned)(j->text[2] - '1'));
		if (IS("Seq"))
			return number(j, &e->order, &e->has_order);
		break;
	case 4:
		if (IS("grid"))
			return triple(j, e->grid);
		if (IS("Addr"))
			return number(j, &e->address, NULL);
		if (IS("name"))
			return e->is_recorded || e->has_detail ? aif_json_pass(j)
							       : text(j, &e->text);
		break;
	case 5:
		if (IS("Power"))
			return reading(j, e, KINETO_READINGS - 1);
		if (IS("block"))
			return triple(j, e->block);
		if (IS("bytes") || IS("Bytes"))
			return number(j, &e->bytes, NULL);
		if (IS("dtype"))
			return text(j, &e->type);
		break;
	case 6:
		if (IS("avg ms"))
			e->is_sum = true;
		if (IS("stream"))
			return stream_of(j, e);
		if (IS("device"))
			return signed_number(j, &e->device, &e->has_device);
		e->has_detail |= IS("detail");
		if (IS("labels") || IS("detail"))
			return text(j, &e->text);
		break;
	case 8:
		if (IS("recorded")) {
			e->is_recorded = true;
			return text(j, &e->text);
		}
		if (IS("graph id"))
			return small_number(j, &e->graph);
		if (IS("launched")) {
			e->has_launched = true;
			return small_number(j, &e->launched);
		}
		break;
	case 9:
		if (IS("Task Type"))
			return text(j, &e->task_type);
		if (IS("Python id"))
			return small_number(j, &e->python);
		if (IS("Device Id"))
			return signed_number(j, &e->device, &e->has_device);
		break;
	case 10:
		if (IS("Input Dims") || IS("Input dims"))
			return list(j, &e->shapes);
		if (IS("Input type"))
			return list(j, &e->types);
		if (IS("Group size"))
			return small_number(j, &e->group_size);
		break;
	case 11:
		if (IS("recorded id"))
			return number(j, &e->recorded_id, &e->has_recorded_id);
		if (IS("External id") || IS("external id"))
			return number(j, &e->external, &e->has_external);
		if (IS("correlation"))
			return number(j, &e->correlation, &e->has_correlation);
		if (IS("Device Type"))
			return signed_number(j, &e->device_type, NULL);
		break;
	case 13:
		if (IS("connection_id")) /* Ascend's */
			return number(j, &e->correlation, &e->has_correlation);
		if (IS("shared memory"))
			return small_number(j, &e->shared_bytes);
		if (IS("graph node id"))
			return small_number(j, &e->node);
		if (IS("Fwd thread id"))
			return number(j, &e->forward_thread, NULL);
		if (IS("In msg nelems"))
			return number(j, &e->elements, NULL);
		break;
	case 14:
		if (IS("correlation_id")) /* XLA's */
			return number(j, &e->correlation, &e->has_correlation);
		if (IS("Total Reserved"))
			return number(j, &e->reserved, &e->has_reserved);
		break;
	case 15:
		if (IS("Total Allocated"))
			return number(j, &e->allocated, &e->has_allocated);
		if (IS("Sequence number"))
			return signed_number(j, &e->sequence, NULL);
		if (IS("Collective name"))
			return text(j, &e->collective);
		break;
	case 18:
		if (IS("Process Group Name"))
			return text(j, &e->group);
		break;
	case 19:
		if (IS("Process Group Ranks"))
			return text(j, &e->group_ranks);
		break;
	case 20:
		if (IS("registers per thread"))
			return small_number(j, &e->registers);
		break;
	default:
		break;
	}
	return aif_json_pass(j);
}

static bool args(struct aif_json *j, struct kineto_event *e)
{
	unsigned depth = aif_json_depth(j);
	enum aif_json_token t = aif_json_next(j);

	if (t != AIF_JSON_OBJECT) { /* of another type: nothing in it is known */
		while (t != AIF_JSON_ERROR && aif_json_depth(j) > depth)
			t = aif_json_next(j);
		return t != AIF_JSON_ERROR;
	}
	while ((t = aif_json_key(j)) == AIF_JSON_KEY)
		if (!arg(j, e))
			return false;
	return t == AIF_JSON_CLOSE;
}

static bool field(struct aif_json *j, struct kineto_event *e)
{
	switch (j->len) {
	case 2:
		if (IS("ts"))
			return time_of(j, e, &e->ts, &e->has_ts);
		if (IS("id"))
			return number(j, &e->flow, &e->has_flow);
		if (IS("sf"))
			return small_number(j, &e->frames);
		if (IS("ph")) {
			if (scalar(j) == AIF_JSON_STRING && j->len == 1)
				e->ph = (char)*j->text;
			return !j->why;
		}
		break;
	case 3:
		if (IS("cat"))
			return text(j, &e->cat);
		if (IS("asf"))
			return small_number(j, &e->full);
		if (IS("pid"))
			return pid_of(j, e);
		if (IS("tid"))
			return id(j, &e->tid);
		if (IS("dur"))
			return time_of(j, e, &e->dur, &e->has_dur);
		break;
	case 4:
		if (IS("name"))
			return text(j, &e->name);
		if (IS("tdur"))
			return time_of(j, e, &e->thread_dur, &e->has_thread_dur);
		if (IS("args") || IS("attr"))
			return args(j, e);
		break;
	default:
		break;
	}
	return aif_json_pass(j);
}

void kineto_event_clear(struct kineto_event *e)
{
	struct aif_buf name = e->name, cat = e->cat, shape = e->shapes, types = e->types,
		       label = e->text, rank = e->rank, collective = e->collective,
		       group = e->group, group_ranks = e->group_ranks, type = e->type,
		       task_type = e->task_type;

	*e = (struct kineto_event){.sequence = -1,
				   .name = name,
				   .cat = cat,
				   .shapes = shape,
				   .types = types,
				   .text = label,
				   .rank = rank,
				   .collective = collective,
				   .group = group,
				   .group_ranks = group_ranks,
				   .type = type,
				   .task_type = task_type};
	aif_buf_clear(&e->name);
	aif_buf_clear(&e->cat);
	aif_buf_clear(&e->shapes);
	aif_buf_clear(&e->types);
	aif_buf_clear(&e->text);
	aif_buf_clear(&e->rank);
	aif_buf_clear(&e->collective);
	aif_buf_clear(&e->group);
	aif_buf_clear(&e->group_ranks);
	aif_buf_clear(&e->type);
	aif_buf_clear(&e->task_type);
}

bool kineto_event_read(struct aif_json *j, struct kineto_event *e)
{
	enum aif_json_token t;

	kineto_event_clear(e);
	while ((t = aif_json_key(j)) == AIF_JSON_KEY)
		if (!field(j, e))
			return false;
	/* Some writers say only how long the thread was on a CPU. */
	if (!e->has_dur && e->has_thread_dur)
		e->dur = e->thread_dur;
	return t == AIF_JSON_CLOSE;
}

void kineto_classify(struct kineto_event *e)
{
	static const struct {
		const char *cat;
		uint8_t len, class;
	} cats[] = {
#define AIF_KINETO_CAT(cat, class) {cat, sizeof(cat) - 1, KINETO_##class},
#include "import/kineto/classes.def"
	};
	size_t len = e->cat.len;

	e->class = KINETO_NOT_KEPT;
	/* 84 of 100 events. */
	if (len == 15 && !memcmp(e->cat.data, "python_function", 15)) {
		e->class = KINETO_PYTHON;
		return;
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(cats); i++)
		if (cats[i].len == len && !memcmp(cats[i].cat, e->cat.data, len)) {
			e->class = cats[i].class;
			break;
		}
	if (e->class == KINETO_COMMUNICATION)
		e->class = e->has_device || e->has_stream ? KINETO_KERNEL : KINETO_RANGE;
}
