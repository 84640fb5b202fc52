/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include "import/kineto/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int probe(const uint8_t *head, size_t len)
{
	static const struct {
		const char *word;
		int score;
	} signs[] = {
		{"\"schemaVersion\"", 4},
		{"\"deviceProperties\"", 4},
		{"\"traceEvents\"", 3},
		{"\"distributedInfo\"", 3},
		{"\"ph\"", 2},
	};
	size_t at = 0;
	int score = 0;

	while (at < len && strchr(" \t\r\n", head[at]) && head[at])
		at++;
	if (at == len || (head[at] != '{' && head[at] != '['))
		return 0;
	for (size_t i = 0; i < AIF_ARRAY_LEN(signs); i++)
		if (memmem(head, len, signs[i].word, strlen(signs[i].word)))
			score += signs[i].score;
	return score;
}

void kineto_free(struct kineto *k)
{
	aif_json_finish(&k->json);
	aif_buf_finish(&k->event.name);
	aif_buf_finish(&k->event.cat);
	aif_buf_finish(&k->event.shapes);
	aif_buf_finish(&k->event.types);
	aif_buf_finish(&k->event.text);
	aif_buf_finish(&k->event.rank);
	aif_buf_finish(&k->event.collective);
	aif_buf_finish(&k->event.group);
	aif_buf_finish(&k->event.group_ranks);
	aif_buf_finish(&k->event.type);
	aif_buf_finish(&k->event.task_type);
	kineto_names_finish(&k->names);
	kineto_threads_finish(&k->threads);
	kineto_machine_finish(&k->machine);
	kineto_open_finish(&k->open);
	kineto_owners_finish(&k->owners);
	kineto_stackframes_finish(&k->stackframes);
	kineto_backward_finish(&k->backward);
	kineto_memory_finish(&k->memory);
	kineto_execs_by_finish(&k->execs_by);
	free(k->chains.rows);
	free(k->chains.frames);
	free(k->spans);
	free(k->ops);
	free(k->calls);
	free(k->execs);
	free(k->details);
	free(k->readings);
	free(k->untimed);
	free(k->flows);
	free(k->blocks);
	free(k->order);
}

/* ---- the text ------------------------------------------------------------------------------------ */

/* Goes on behind damage; false: there is nothing more. */
static bool recover(struct kineto *k, unsigned depth)
{
	struct aif_json *j = &k->json;
	char text[sizeof(k->counts.first_error)];

	snprintf(text, sizeof(text), "%s, at byte %" PRIu64, j->why, j->why_at);
	if (!aif_json_resync(j, depth, kineto_is_first)) {
		/* The file ends in the damage. */
		memcpy(k->counts.end_error, text, sizeof(text));
		k->counts.is_torn = true;
		return false;
	}
	if (!k->counts.errors++)
		memcpy(k->counts.first_error, text, sizeof(text));
	return true;
}

/* The elements of the array that was entered. 0, or -ENOMEM. j->why is set if the file ends in it. */
static int read_events(struct kineto *k, struct aif_import_source *source)
{
	struct aif_json *j = &k->json;
	unsigned depth = aif_json_depth(j);
	int r = 0;

	while (!r) {
		enum aif_json_token t = aif_json_next(j);

		if (t == AIF_JSON_CLOSE)
			return 0;
		if (t == AIF_JSON_OBJECT && kineto_event_read(j, &k->event)) {
			r = kineto_collect(k);
			source->events++;
			continue;
		}
		if (t != AIF_JSON_ERROR && t != AIF_JSON_OBJECT && t != AIF_JSON_ARRAY) {
			k->counts.bad++; /* a number where an event should be */
			continue;
		}
		if (t == AIF_JSON_ARRAY) {
			k->counts.bad++;
			while (t != AIF_JSON_ERROR && aif_json_depth(j) > depth)
				t = aif_json_next(j);
			if (t != AIF_JSON_ERROR)
				continue;
		}
		if (!recover(k, depth))
			return 0;
	}
	return r;
}

static bool number_of(struct aif_json *j, int64_t *ret, bool *ret_has)
{
	enum aif_json_token t = aif_json_raw(j); /* which, unlike skip, has its text */

	if ((t == AIF_JSON_NUMBER) && aif_json_i64(j, ret) == 0)
		*ret_has = true;
	return t != AIF_JSON_ERROR;
}

/* {"rank": 3, ...}: whatever else is in it is passed. */
static bool read_distributed(struct kineto *k)
{
	struct aif_json *j = &k->json;
	unsigned depth = aif_json_depth(j);
	enum aif_json_token t = aif_json_next(j);

	while (t != AIF_JSON_ERROR && aif_json_depth(j) > depth) {
		t = aif_json_next(j);
		if (t != AIF_JSON_KEY || aif_json_depth(j) != depth + 1)
			continue;
		if (AIF_JSON_IS(j, "rank") && !number_of(j, &k->machine.rank, &k->machine.has_rank))
			return false;
		if (AIF_JSON_IS(j, "world_size") &&
		    !number_of(j, &k->machine.world, &k->machine.has_world))
			return false;
	}
	return t != AIF_JSON_ERROR;
}

static bool read_properties(struct kineto *k)
{
	struct aif_json *j = &k->json;
	unsigned depth = aif_json_depth(j);
	struct kineto_property p = {.name = AIF_NONE};
	enum aif_json_token t = aif_json_next(j);
	struct aif_buf text = {0};
	bool has;

	while (t != AIF_JSON_ERROR && aif_json_depth(j) > depth) {
		int64_t units = 0;

		t = aif_json_next(j);
		if (t == AIF_JSON_OBJECT)
			p = (struct kineto_property){.name = AIF_NONE};
		if (t == AIF_JSON_CLOSE && aif_json_depth(j) == depth + 1 &&
		    kineto_property_add(&k->machine, &p) < 0)
			k->is_failed = true;
		if (t != AIF_JSON_KEY)
			continue;
		if (AIF_JSON_IS(j, "id")) {
			if (!number_of(j, &p.number, &has))
				break;
		} else if (AIF_JSON_IS(j, "numSms") || AIF_JSON_IS(j, "maxComputeUnits")) {
			if (!number_of(j, &units, &has))
				break;
			p.units = units > 0 && units < INT32_MAX ? (uint32_t)units : 0;
		} else if (AIF_JSON_IS(j, "name")) {
			t = aif_json_next(j);
			aif_buf_clear(&text);
			if (t == AIF_JSON_STRING)
				aif_json_text(j, &text);
			p.name = aif_builder_str(k->b, text.data ? text.data : (uint8_t *)"",
						 text.len);
		}
	}
	aif_buf_finish(&text);
	return !j->why;
}

/* Counts the objects of an array, CPU samples that are not read, and passes it. */
static void samples_pass(struct kineto *k)
{
	static const char what[] = "CPU samples";
	struct aif_json *j = &k->json;
	unsigned depth = aif_json_depth(j);
	enum aif_json_token t = aif_json_next(j);
	uint64_t n = 0;

	while (t != AIF_JSON_ERROR && aif_json_depth(j) > depth) {
		t = aif_json_next(j);
		n += t == AIF_JSON_OBJECT && aif_json_depth(j) == depth + 2;
	}
	if (!n)
		return;
	k->counts.samples += n;
	k->counts.not_kept += n;
	kineto_leave_out(k->counts.left_out, what, sizeof(what) - 1, n);
}

/* Reads the value of a key of the outermost object. */
static int read_member(struct kineto *k, struct aif_import_source *source)
{
	struct aif_json *j = &k->json;
	int64_t version;
	bool has = false;

	if (AIF_JSON_IS(j, "traceEvents")) {
		enum aif_json_token t = aif_json_next(j);

		if (t == AIF_JSON_ARRAY)
			return read_events(k, source);
		while (t != AIF_JSON_ERROR && aif_json_depth(j) > 1)
			t = aif_json_next(j);
	} else if (AIF_JSON_IS(j, "baseTimeNanoseconds")) {
		number_of(j, &k->clock.base_ns, &k->clock.has_base);
	} else if (AIF_JSON_IS(j, "deviceProperties")) {
		read_properties(k);
	} else if (AIF_JSON_IS(j, "samples")) {
		samples_pass(k);
	} else if (AIF_JSON_IS(j, "stackFrames")) {
		return kineto_stackframes_read(k, false);
	} else if (AIF_JSON_IS(j, "aiflameStackFrames")) {
		return kineto_stackframes_read(k, true);
	} else if (AIF_JSON_IS(j, "aiflameBlocks")) {
		return kineto_blocks_read(k);
	} else if (AIF_JSON_IS(j, "distributedInfo")) {
		read_distributed(k);
	} else if (AIF_JSON_IS(j, "host_name")) {
		struct aif_buf text = {0};

		if (aif_json_next(j) == AIF_JSON_STRING) {
			aif_json_text(j, &text);
			k->machine.host = aif_builder_str(
				k->b, text.data ? text.data : (uint8_t *)"", text.len);
		}
		aif_buf_finish(&text);
	} else if (AIF_JSON_IS(j, "cuda_driver_version") || AIF_JSON_IS(j, "hip_driver_version")) {
		if (number_of(j, &version, &has) && has)
			snprintf(k->machine.driver, sizeof(k->machine.driver), "%" PRId64, version);
	} else {
		aif_json_skip(j);
	}
	return 0;
}

static int read_text(struct kineto *k, struct aif_import_source *source)
{
	struct aif_json *j = &k->json;
	enum aif_json_token t = aif_json_next(j);
	int r = 0;

	if (t == AIF_JSON_ARRAY)
		r = read_events(k, source);
	while (!r && t != AIF_JSON_ARRAY && !k->counts.is_torn) {
		t = aif_json_next(j);
		if (t == AIF_JSON_CLOSE || t == AIF_JSON_END)
			break;
		if (t == AIF_JSON_KEY)
			r = read_member(k, source);
		if (!r && j->why && !k->counts.is_torn) {
			/* Members behind damage are taken for events. */
			if (recover(k, 2)) {
				j->is_array[0] = false;
				j->is_array[1] = true;
				r = read_events(k, source);
			}
			t = AIF_JSON_NULL;
		}
	}
	if (j->io)
		return j->io;
	return r;
}

/* ---- the profile --------------------------------------------------------------------------------- */

/* All times become those since 1970, if the file says when it is of. */
static void add_base(struct kineto *k)
{
	int64_t least = INT64_MAX, base = k->clock.has_base ? k->clock.base_ns : 0, sum;

	for (size_t i = 0; i < k->spans_len; i++)
		least = AIF_MIN(least, k->spans[i].start);
	for (size_t i = 0; i < k->execs_len; i++)
		least = AIF_MIN(least, k->execs[i].start);
	for (size_t i = 0; i < k->memory.rows_len; i++)
		least = AIF_MIN(least, k->memory.rows[i].at);
	/* Times before 1970 are none, nor are those of the year 2116. */
	if (__builtin_add_overflow(least, base, &sum) || sum < 0 || sum > INT64_MAX / 2)
		base = least < 0 || least > INT64_MAX / 2 ? -least : 0;
	k->clock.base_ns = base;
	for (size_t i = 0; i < k->spans_len; i++) {
		k->spans[i].start += base;
		k->spans[i].end += base;
	}
	for (size_t i = 0; i < k->flows_len; i++)
		k->flows[i].at = (int64_t)((uint64_t)k->flows[i].at + (uint64_t)base);
	for (size_t i = 0; i < k->backward.arrows_len; i++)
		k->backward.arrows[i].at =
			(int64_t)((uint64_t)k->backward.arrows[i].at + (uint64_t)base);
	for (size_t i = 0; i < k->execs_len; i++) {
		k->execs[i].start += base;
		k->execs[i].end += base;
	}
	for (size_t i = 0; i < k->memory.rows_len; i++)
		k->memory.rows[i].at += base;
}

/* Drops events that are not of the day of most (clock.day_ts), and counts them. */
static void far_drop(struct kineto *k)
{
	size_t n = 0;

	if (!k->clock.has_far)
		return;
	for (size_t i = 0; i < k->spans_len; i++) {
		bool is_empty =
			k->spans[i].class == KINETO_NOT_KEPT; /* a place of what never ended */

		if (is_empty || kineto_is_same_day(k->spans[i].start, k->clock.day_ts))
			k->spans[n++] = k->spans[i];
	}
	k->counts.bad += k->spans_len - n;
	k->spans_len = n;
	n = 0;
	for (size_t i = 0; i < k->execs_len; i++)
		if (kineto_is_same_day(k->execs[i].start, k->clock.day_ts))
			k->execs[n++] = k->execs[i];
	k->counts.bad += k->execs_len - n;
	k->execs_len = n;
	n = 0;
	for (size_t i = 0; i < k->memory.rows_len; i++)
		if (kineto_is_same_day(k->memory.rows[i].at, k->clock.day_ts))
			k->memory.rows[n++] = k->memory.rows[i];
	k->counts.bad += k->memory.rows_len - n;
	k->memory.rows_len = n;
}

/* Drops spans of categories that nobody knows, unless there is nothing else, and places of those that are no spans. */
static void drop_others(struct kineto *k)
{
	static const char unknown[] = "of no known category";
	size_t n = 0;

	for (size_t i = 0; i < k->spans_len; i++) {
		if (k->spans[i].class == KINETO_NOT_KEPT)
			continue;
		if (k->is_known && k->spans[i].class == KINETO_OTHER) {
			k->counts.not_kept++;
			kineto_leave_out(k->counts.left_out, unknown, sizeof(unknown) - 1, 1);
		} else
			k->spans[n++] = k->spans[i];
	}
	k->spans_len = n;
}

/* Frees spans and what belongs to them: rows of executions, which come next, take as much. */
static void drop_spans(struct kineto *k)
{
	free(k->spans);
	free(k->ops);
	free(k->calls);
	k->spans = NULL;
	k->ops = NULL;
	k->calls = NULL;
	k->spans_cap = k->ops_cap = k->calls_cap = 0;
	kineto_execs_by_finish(&k->execs_by);
}

int kineto_build(struct kineto *k, void **state, struct aif_err *err)
{
	size_t memory = k->b->memory_len, execs = k->b->execs_len;
	int r;

	far_drop(k);
	drop_others(k);
	add_base(k);
	kineto_main_process_find(k);
	r = kineto_duplicates(k);
	if (!r)
		r = kineto_flows(k);
	if (!r)
		r = kineto_faults_find(k);
	if (!r)
		r = kineto_owners_find(k);
	if (!r)
		r = kineto_correlate(k);
	if (!r)
		r = kineto_ranks_begin(k, state);
	if (!r)
		r = kineto_stacks(k);
	drop_spans(k);
	if (!r)
		r = kineto_exec_rows(k);
	if (!r) {
		kineto_memory_devices(k, memory);
		r = kineto_memory_of_execs(k, execs);
	}
	if (!r)
		r = kineto_blocks(k);
	if (!r && (k->is_failed || k->b->failed))
		r = -ENOMEM;
	if (r < 0)
		return aif_err_set(err, r, "%s: %s", k->file, strerror(-r));
	if (!k->spans_len && !k->execs_len)
		return aif_err_set(
			err, -ENODATA, "%s: no event with a beginning and an end in it%s", k->file,
			k->counts.samples ? ", and its CPU samples are not read; speedscope "
					    "reads them, and import what it exports"
			: k->counts.errors || k->counts.is_torn ? " that is whole"
			: k->counts.bad                         ? " whose name and times are right"
								: "");
	kineto_counts_report(&k->counts, k->b, k->file);
	kineto_faults_report(k);
	r = kineto_ranks_end(k, state);
	return r < 0 ? aif_err_set(err, r, "%s: %s", k->file, strerror(-r)) : 0;
}

static int read_file(struct aif_import_source *source, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct kineto k = {.b = b,
			   .file = aif_input_name(source->input),
			   .json = {.read = aif_import_read, .arg = source},
			   .machine = {.host = AIF_NONE, .main_process = AIF_NONE}};
	int r = aif_json_init(&k.json);

	if (!r)
		r = read_text(&k, source);
	if (!r)
		r = kineto_collect_open(&k);
	if (r < 0 && k.json.io && err) {
		*err = k.json.err;
	} else if (r < 0) {
		aif_err_set(err, r, "%s: %s", k.file, strerror(-r));
	} else {
		k.counts.is_torn |= aif_input_is_torn(source->input);
		k.is_spent = !k.is_known || (!k.execs_len && !k.untimed_len);
		if (k.is_spent)
			aif_builder_meta(b, "cpu_sampling", "spans");
		if (!k.is_known)
			aif_builder_meta(b, "imported", "Chrome trace");
		r = kineto_build(&k, state, err);
	}
	kineto_free(&k);
	return r;
}

const struct aif_importer aif_importer_kineto = {
	.name = "kineto",
	.summary =
		"torch.profiler's JSON (CUDA, ROCm, XPU, HPU, MTIA, PrivateUse1), AIU's own, unitrace's, and "
		"other Chrome traces",
	.probe = probe,
	.read = read_file,
	.finish = kineto_ranks_finish,
};
