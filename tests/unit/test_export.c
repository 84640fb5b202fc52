/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_rows.h"

#include "export/event_ops.h"
#include "export/exporter.h"
#include "text/json.h"
#include "text/proto.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <zlib.h>

/* ---- pieces -------------------------------------------------------------------------------------- */

static void assert_text(struct aif_buf *b, const char *expected)
{
	assert_string_equal(aif_buf_str(b), expected);
	aif_buf_finish(b);
}

static void json_texts_and_numbers_are_escaped(void **state)
{
	struct aif_buf b = {0};

	(void)state;
	aif_out_json_string(&b, "a\"b\\c\n\x01\xff\xc3\xa4\0z", 12);
	assert_text(&b, "\"a\\\"b\\\\c\u240a\u2401\ufffd\u00e4\u2400z\"");
	aif_out_json_text(&b, "");
	assert_text(&b, "\"\"");
	aif_out_json_escaped(&b, "a\"b\\c\n\x01\xff\xc3\xa4\0z\t\r", 14);
	assert_text(&b, "\"a\\\"b\\\\c\\n\\u0001\ufffd\u00e4\\u0000z\\t\\r\"");
	aif_out_json_escaped_text(&b, "");
	assert_text(&b, "\"\"");
	aif_out_json_u64(&b, UINT64_MAX);
	assert_text(&b, "18446744073709551615");
	aif_out_json_i64(&b, INT64_MIN);
	assert_text(&b, "-9223372036854775808");
	aif_out_json_decimal(&b, 0, 3);
	assert_text(&b, "0");
	aif_out_json_decimal(&b, 1, 3);
	assert_text(&b, "0.001");
	aif_out_json_decimal(&b, -1050, 3);
	assert_text(&b, "-1.050");
	aif_out_json_decimal(&b, 7000, 3);
	assert_text(&b, "7");
	aif_out_json_decimal(&b, 1000010, 6);
	assert_text(&b, "1.000010");
	aif_out_json_decimal(&b, INT64_MIN, 6);
	assert_text(&b, "-9223372036854.775808");
}

static void assert_bytes(struct aif_buf *b, const char *expected, size_t n)
{
	assert_false(aif_buf_failed(b));
	assert_int_equal(b->len, n);
	assert_memory_equal(b->data, expected, n);
	aif_buf_finish(b);
}

static void protobuf_fields_are_encoded(void **state)
{
	struct aif_buf b = {0};
	size_t at, inner;

	(void)state;
	/* The examples of protobuf.dev's "Encoding". */
	aif_proto_u64(&b, 1, 150);
	assert_bytes(&b, "\x08\x96\x01", 3);
	aif_proto_text(&b, 2, "testing");
	assert_bytes(&b, "\x12\x07testing", 9);
	aif_proto_u64(&b, 1, UINT64_MAX - 1);
	assert_bytes(&b, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	aif_proto_fixed64(&b, 1, 2);
	assert_bytes(&b, "\x09\x02\0\0\0\0\0\0\0", 9);
	aif_proto_double(&b, 1, 1.0);
	assert_bytes(&b, "\x09\0\0\0\0\0\0\xf0\x3f", 9);
	aif_proto_string(&b, 1, "\xff", 1);
	assert_bytes(&b, "\x0a\x03\xef\xbf\xbd", 5);
	/* A field number that takes two bytes; lengths are padded. */
	at = aif_proto_begin_small(&b, 60);
	inner = aif_proto_begin(&b, 3);
	aif_proto_u64(&b, 1, 150);
	aif_proto_end(&b, inner);
	aif_proto_end_small(&b, at);
	assert_bytes(&b, "\xe2\x03\x89\x00\x1a\x83\x80\x80\x80\x00\x08\x96\x01", 13);
	/* A message too long for its small length is refused, not cut. */
	at = aif_proto_begin_small(&b, 1);
	assert_non_null(aif_buf_reserve(&b, 20000));
	memset(b.data + b.len, 'x', 20000);
	b.len += 16384;
	aif_proto_end_small(&b, at);
	assert_true(aif_buf_failed(&b));
	aif_buf_finish(&b);
}

static void names_of_files_choose_the_format(void **state)
{
	static const char *const names[][2] = {
		{"a.pb.gz", "pprof"},
		{"a.speedscope.json", "speedscope"},
		{"a.speedscope.json.gz", "speedscope"},
		{"a.json", "chrome"},
		{"b.trace.json.gz", "chrome"},
		{"x/y.pftrace", "perfetto"},
		{"a.firefox.json", "firefox"},
		{"a.otlp", "otlp"},
		{"a.folded", "folded"},
		{"a.iaprof", "iaprof"},
		{"a.sqlite", "sqlite"},
		{"a.png", NULL},
		{"a.gz", NULL},
		{".json", NULL}, /* a hidden file of that name */
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		const struct aif_exporter *e = aif_exporter_of(names[i][0]);

		if (!names[i][1])
			assert_null(e);
		else
			assert_string_equal(e->name, names[i][1]);
	}
	/* The default output name of each exporter selects that exporter. */
	for (size_t i = 0; aif_exporters[i]; i++)
		if (*aif_exporters[i]->suffixes)
			assert_ptr_equal(aif_exporter_of(aif_exporters[i]->output),
					 aif_exporters[i]);
}

static void calls_have_the_category_of_their_runtime(void **state)
{
	static const char *const cases[][3] = {
		{"cudaLaunchKernel", "cuda", "cuda_runtime"},
		{"cuLaunchKernelEx", "cuda", "cuda_driver"},
		{"cudaLaunchKernel", "", "cuda_runtime"},
		{"hipLaunchKernel", "hip", "cuda_runtime"}, /* as Kineto has it */
		{"aiuLaunchControlBlocks", "aiu", "privateuse1_runtime"},
		{"zeCommandListAppendLaunchKernel", "level_zero", "xpu_runtime"},
		{"clEnqueueNDRangeKernel", "opencl", "runtime"},
		{"custom", "opencl", "runtime"},
		{"cu", "", "runtime"},
		{"", "", "runtime"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
		assert_string_equal(
			aif_event_call_category(cases[i][0], strlen(cases[i][0]), cases[i][1]),
			cases[i][2]);
}

static void empty_output_is_a_valid_gzip_file(void **state)
{
	struct aif_out out;
	struct aif_err err = {0};
	char got[64] = "";
	uint64_t sum = 0;
	gzFile f;
	int n;

	(void)state;
	assert_ok(aif_out_open(&out, "q", &err), &err);
	assert_int_equal(aif_out_gzip(&out), 0);
	assert_ok(aif_out_commit(&out, &err), &err);
	f = gzopen("q", "rb");
	assert_int_equal(gzread(f, got, sizeof(got)), 0);
	assert_int_equal(gzdirect(f), 0);
	gzclose(f);

	assert_ok(aif_out_open(&out, "q", &err), &err);
	assert_int_equal(aif_out_gzip(&out), 0);
	for (unsigned i = 0; i < 300000; i++) {
		aif_out_json_u64(aif_out_buf(&out), i % 10);
		aif_out_flush_if_full(&out);
	}
	assert_ok(aif_out_commit(&out, &err), &err);
	f = gzopen("q", "rb");
	while ((n = gzread(f, got, sizeof(got))) > 0)
		for (int i = 0; i < n; i++, sum++)
			assert_int_equal(got[i], '0' + sum % 10);
	assert_int_equal(n, 0);
	assert_int_equal(sum, 300000);
	gzclose(f);
}

/* ---- a time line --------------------------------------------------------------------------------- */

/* Names of the profile that was opened last. */
static struct aif_names names;

/* Rows of the next profile. */
static struct aif_counter_row counters[40];
static size_t counters_len;
static struct aif_window_row blocks[8]; /* beside `windows` */
static size_t blocks_len;

static void profile_write(const struct aif_launch_row *l, size_t l_len,
			  const struct aif_exec_row *x, size_t x_len, const struct aif_cpu_row *c,
			  size_t c_len, const struct aif_op_row *o, size_t o_len,
			  struct aif_profile *ret)
{
	struct aif_profile p;
	struct aif_writer *w;
	struct aif_err err = {0};

	unlink("p");
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_launches(w, l, l_len, &err), &err);
	assert_ok(aif_writer_execs(w, x, x_len, &err), &err);
	assert_ok(aif_writer_samples(w, samples, AIF_MIN(l_len, (size_t)ROWS), &err), &err);
	assert_ok(aif_writer_windows(w, windows, WINDOWS, &err), &err);
	assert_ok(aif_writer_windows(w, blocks, blocks_len, &err), &err);
	assert_ok(aif_writer_cpu(w, c, c_len, &err), &err);
	assert_ok(aif_writer_ops(w, o, o_len, &err), &err);
	assert_ok(aif_writer_counters(w, counters, counters_len, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
	assert_ok(aif_profile_open("p", ret, &err), &err);
	aif_names_finish(&names);
	assert_int_equal(aif_names_make(&names, ret), 0);
}

/* Executions that overlap in every way, on two streams. */
static void overlapping_executions_get_lanes(void **state)
{
	static struct aif_exec_row x[ROWS];
	struct aif_profile p;
	struct aif_export e = {.profile = &p, .names = &names, .detail = AIF_NAME_NORMAL};
	struct aif_err err = {0};
	struct aif_events ev;
	struct aif_event_load load;
	uint64_t sum = 0, wanted = 0, running = 0;
	size_t seen = 0, several = 0;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		x[i] = execs[i];
		x[i].stream = i % 2;
		x[i].end = x[i].start + aif_mix64(i) % 700000;
		wanted += x[i].end - x[i].start;
	}
	profile_write(launches, ROWS, x, ROWS, NULL, 0, NULL, 0, &p);
	assert_ok(aif_events_init(&ev, &e, &err), &err);
	assert_int_equal(ev.execs_len, ROWS);
	assert_int_equal(ev.launches_len, ROWS);
	for (size_t t = 0; t < ev.tracks_len; t++) {
		const struct aif_event_track *track = &ev.tracks[t];
		int64_t end = INT64_MIN;

		several += track->lane > 0;
		assert_true(track->len > 0);
		for (size_t i = track->first; i < track->first + track->len; i++, seen++) {
			const struct aif_event_exec *r = &ev.execs[i];

			assert_int_equal(r->track, t);
			assert_true(r->start >= end);
			end = r->start + (int64_t)r->dur;
			sum += r->dur;
			assert_int_equal(ev.launches[r->by].launch, r->launch);
			assert_true(ev.launches[r->by].first_start <= r->start);
			/* A lane above the lowest is used only where the one below is busy then. */
			if (track->lane) {
				bool busy = false;

				assert_int_equal(ev.tracks[t - 1].lane, track->lane - 1);
				for (size_t k = ev.tracks[t - 1].first;
				     k < ev.tracks[t - 1].first + ev.tracks[t - 1].len; k++)
					busy |= ev.execs[k].start <= r->start &&
						ev.execs[k].start + (int64_t)ev.execs[k].dur >
							r->start;
				assert_true(busy);
			}
		}
	}
	assert_int_equal(seen, ROWS);
	assert_true(several > 0);
	assert_int_equal(sum, wanted);
	/* The curve has the same area, but for hundredths that are cut off. */
	assert_int_equal(aif_event_load_init(&load, &ev, 0), 0);
	for (size_t i = 0; i < load.len; i++)
		running += load.running[i] * load.interval_ns / 100;
	assert_in_range(wanted - running, 0, load.len * load.interval_ns / 100);
	assert_int_equal(load.queued[load.len - 1], 0);
	aif_event_load_finish(&load);
	aif_events_finish(&ev);
	aif_profile_finish(&p);
}

/* A stream with as many lanes as executions: what it costs to name a track must not hang on how many others there are. */
static void naming_a_track_costs_the_same_among_many(void **state)
{
	static struct aif_exec_row x[ROWS];
	struct aif_profile p;
	struct aif_export e = {.profile = &p, .names = &names, .detail = AIF_NAME_NORMAL};
	struct aif_err err = {0};
	struct aif_events ev;
	size_t end;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		x[i] = execs[i];
		x[i].end = execs[ROWS - 1].end + i;
		x[i].process = x[i].stream = i % 2; /* two processes share the device */
	}
	profile_write(launches, ROWS, x, ROWS, NULL, 0, NULL, 0, &p);
	assert_ok(aif_events_init(&ev, &e, &err), &err);
	assert_int_equal(ev.tracks_len, ROWS);
	assert_int_equal(aif_event_device_tracks(&ev, 0, &end), 0);
	assert_int_equal(end, ROWS);
	assert_int_equal(aif_event_device_tracks(&ev, 1, &end), ROWS);
	assert_int_equal(end, ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		/* A track alone: without those beside it. */
		struct aif_event_track alone = ev.tracks[i];
		struct aif_buf name = {0}, expected = {0};
		unsigned of = i >= ROWS / 2, lane = (unsigned)(i % (ROWS / 2));

		aif_event_track_name(&p, &alone, &name);
		aif_buf_printf(&expected, "stream %u of %u", of, 100 + of);
		if (lane)
			aif_buf_printf(&expected, " (%u)", lane + 1);
		assert_string_equal(aif_buf_str(&name), aif_buf_str(&expected));
		assert_int_equal(ev.tracks[i].len, 1);
		aif_buf_finish(&name);
		aif_buf_finish(&expected);
	}
	aif_events_finish(&ev);
	aif_profile_finish(&p);
}

#define AT(us) ((int64_t)(us)*1000)

static void block_add(uint32_t process, uint64_t from_us, uint64_t to_us, bool is_pause)
{
	blocks[blocks_len++] = (struct aif_window_row){
		.start = FIXTURE_START + from_us * 1000,
		.end = FIXTURE_START + to_us * 1000,
		.device = AIF_NONE,
		.process = process,
		.thread = AIF_NONE,
		.launches = is_pause ? 0 : 9,
		.p_ppm = is_pause ? 0 : 500000,
	};
}

/* The value of a curve at a time: false, it has none. */
static bool load_at(const struct aif_event_load *l, int64_t at, struct aif_event_load_point *ret)
{
	size_t i = 0;

	assert_true(l->points_len && l->points[0].at <= at);
	while (i + 1 < l->points_len && l->points[i + 1].at <= at)
		i++;
	*ret = l->points[i];
	return ret->is_known;
}

/* A device's activity is unknown where nothing was captured in a process that uses it. */
static void activity_is_unknown_where_nothing_was_captured(void **state)
{
	struct aif_profile p;
	struct aif_export e = {.profile = &p, .names = &names, .detail = AIF_NAME_NORMAL};
	bool only_first[] = {true, false};
	static struct aif_exec_row x[3];
	struct aif_err err = {0};
	struct aif_events ev;
	struct aif_event_load load;
	struct aif_event_load_point at;
	struct aif_buf name = {0};
	const struct aif_gap *gaps;
	uint64_t running = 0;
	size_t n;

	(void)state;
	/* Executions of two processes: the second runs into a gap of the first process, in which the third runs. */
	for (uint32_t i = 0; i < 3; i++) {
		x[i] = execs[i];
		x[i].process = x[i].stream = i == 2;
		x[i].start = FIXTURE_START + (1 + 2 * i) * 1000000;
		x[i].end = x[i].start + 1500000;
	}
	block_add(0, 4000, 6000, false); /* 500 us of the second execution are in it */
	block_add(0, 6000, 7000, false); /* touches the one before */
	block_add(0, 20000, 30000, true);
	block_add(1, 0, 500, true);
	profile_write(launches, 3, x, 3, NULL, 0, NULL, 0, &p);
	assert_ok(aif_events_init(&ev, &e, &err), &err);
	assert_int_equal(ev.tracks_len, 2);
	gaps = aif_event_gaps(&ev, 0, &n);
	assert_int_equal(n, 2);
	assert_int_equal(gaps[0].start, AT(4000));
	assert_int_equal(gaps[0].end, AT(7000));
	assert_int_equal(gaps[1].end, AT(30000));
	assert_non_null(aif_event_gaps(&ev, 1, &n));
	assert_int_equal(n, 1);
	assert_null(aif_event_gaps(&ev, 2, &n));
	assert_int_equal(ev.end_ns, AT(30000)); /* what is not known is shown to its end */
	assert_true(aif_event_track_has_gaps(&ev, 1));
	aif_event_gaps_name(&p, &ev.tracks[1], &name);
	assert_text(&name, "not collected of 101");

	/* The curve has no value in any process's; what ran there does not count elsewhere. */
	assert_int_equal(aif_event_load_init(&load, &ev, 0), 0);
	assert_false(load_at(&load, 0, &at));
	assert_false(load_at(&load, AT(499), &at));
	assert_true(load_at(&load, AT(500), &at));
	assert_int_equal(at.running, 0);
	assert_true(load_at(&load, AT(1200), &at));
	assert_int_equal(at.running, 100);
	assert_true(load_at(&load, AT(3999), &at));
	assert_int_equal(at.running, 100);
	assert_false(load_at(&load, AT(4000), &at));
	assert_false(load_at(&load, AT(6999), &at));
	assert_true(load_at(&load, AT(7000), &at));
	assert_int_equal(at.running, 0);
	assert_true(load_at(&load, AT(19999), &at));
	assert_false(load_at(&load, AT(20000), &at));
	assert_false(load_at(&load, AT(29999), &at));
	for (size_t i = 0; i < load.len; i++)
		running += load.running[i] * load.interval_ns / 100;
	/* 1.5 ms of the first, 1 ms of the second, none of the third. */
	assert_in_range(running, 2500000 - load.len * load.interval_ns / 100, 2500000);
	for (size_t i = 1; i < load.points_len; i++)
		assert_true(load.points[i - 1].at < load.points[i].at);
	aif_event_load_finish(&load);
	aif_events_finish(&ev);

	/* A selection has only the gaps within it. */
	e.sel = (struct aif_selection){
		.processes = only_first, .from_ns = AT(5000), .to_ns = AT(25000)};
	assert_ok(aif_events_init(&ev, &e, &err), &err);
	assert_null(aif_event_gaps(&ev, 1, &n));
	gaps = aif_event_gaps(&ev, 0, &n);
	assert_int_equal(n, 2);
	assert_int_equal(gaps[0].start, AT(5000));
	assert_int_equal(gaps[1].end, AT(25000));
	aif_events_finish(&ev);
	aif_profile_finish(&p);
	blocks_len = 0;
}

/* ---- what a damaged or hostile profile may hold -------------------------------------------------- */

static int forget(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static char *content(const char *path, size_t *len)
{
	gzFile f = gzopen(path, "rb");
	size_t cap = 1 << 22;
	char *text = malloc(cap);
	int n;

	assert_non_null(f);
	*len = 0;
	while ((n = gzread(f, text + *len, (unsigned)(cap - *len))) > 0)
		*len += (size_t)n;
	gzclose(f);
	return text;
}

static bool is_utf8_text(const char *text, size_t len)
{
	struct aif_buf clean = {0};
	bool same;

	/* Text that sanitizing changes is not fit to be shown; lines are. */
	aif_name_sanitize_lines(text, len, &clean);
	same = clean.len == len && !memcmp(clean.data, text, len);
	aif_buf_finish(&clean);
	return same;
}

static void hostile_profiles_are_exported_or_refused(void **state)
{
	enum { N = 40 };
	static struct aif_launch_row l[N];
	static struct aif_exec_row x[N];
	static struct aif_cpu_row c[N];
	static struct aif_op_row o[N];
	static const uint64_t stamps[] = {0,         1,         FIXTURE_START, FIXTURE_START + 5,
					  INT64_MAX, UINT64_MAX};
	struct aif_profile p;
	struct aif_export e = {.profile = &p, .names = &names};
	size_t written = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		l[i] = fixture_launch(i / 2); /* numbers twice */
		l[i].time = stamps[i % AIF_ARRAY_LEN(stamps)];
		x[i] = fixture_exec(i);
		x[i].launch = i % 5 ? l[i].launch : UINT64_MAX - i;
		x[i].start = stamps[i % AIF_ARRAY_LEN(stamps)];
		x[i].end = stamps[i / 3 % AIF_ARRAY_LEN(stamps)];
		x[i].kind = i % 11;
		x[i].clock = i % 3 ? AIF_CLOCK_MONOTONIC : AIF_CLOCK_DEVICE + i;
		x[i].graph = i % 4;
		x[i].bytes = UINT64_MAX;
		if (i % 7 == 0) {
			l[i].thread = l[i].kernel = l[i].device = l[i].stack = AIF_NONE;
			x[i].kernel = x[i].device = x[i].stream = x[i].process = AIF_NONE;
		}
		c[i] = (struct aif_cpu_row){.time = stamps[i % AIF_ARRAY_LEN(stamps)],
					    .weight = i % 3 ? 10101010 : 0,
					    .waiting = i % 3 ? 0 : 5,
					    .thread = i % 4 ? i % 2 : AIF_NONE,
					    .stack = i % 5 ? i % 4 : AIF_NONE};
		o[i] = (struct aif_op_row){.start = stamps[i % AIF_ARRAY_LEN(stamps)],
					   .end = stamps[i / 2 % AIF_ARRAY_LEN(stamps)],
					   .clock = x[i].clock,
					   .thread = c[i].thread,
					   .name = i % 6 ? i % 5 : AIF_NONE,
					   .kind = i % 8,
					   .shapes = i % 3 ? i % 5 : AIF_NONE,
					   .stack = c[i].stack,
					   .id = i % 2 ? UINT64_MAX : 0,
					   .sequence = i % 4 ? INT64_MIN : INT64_MAX};
		counters[i] = (struct aif_counter_row){.time = stamps[i % AIF_ARRAY_LEN(stamps)],
						       .value = i % 5 ? -1.5e308 * (i % 3)
								      : __builtin_nan(""),
						       .device = i % 7 ? 0 : AIF_NONE,
						       .name = i % 3 ? i % 5 : AIF_NONE,
						       .unit = i % 4 ? i % 6 : AIF_NONE,
						       .process = i % 3 ? AIF_NONE : 0};
	}
	counters_len = N;
	profile_write(l, N, x, N, c, N, o, N, &p);
	counters_len = 0;
	for (unsigned detail = AIF_NAME_BRIEF; detail <= AIF_NAME_FULL; detail++)
		for (size_t i = 0; aif_exporters[i]; i++) {
			struct aif_err err = {0};
			size_t len;
			char *text;

			e.detail = (enum aif_name_detail)detail;
			/* Times may not add up; that it says so is no crash. */
			if (aif_export_write(aif_exporters[i], &e, "q", &err) < 0) {
				assert_true(*err.text != 0);
				assert_int_equal(access("q", F_OK), -1);
				continue;
			}
			if (aif_exporters[i]->is_text) {
				text = content("q", &len);
				assert_true(len > 0);
				/* iaprof separates its fields by tabs. */
				for (size_t k = 0;
				     !strcmp(aif_exporters[i]->name, "iaprof") && k < len; k++)
					text[k] = text[k] == '\t' ? ' ' : text[k];
				assert_true(is_utf8_text(text, len));
				free(text);
			}
			written++;
			assert_int_equal(nftw("q", forget, 8, FTW_DEPTH | FTW_PHYS), 0);
		}
	/* Trees whose sums do not fit are refused; what has no sums is there. */
	assert_true(written >= 3 * 7);
	aif_profile_finish(&p);
}

static int count_files(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)at;
	return type == FTW_F && strcmp(path, "./p") ? 1 : 0;
}

/* Adds a device binary of the module that a function `name` is in. */
static void add_binary(struct aif_profile *p, const char *path, const char *name, const char *bytes)
{
	char prefixed[64];
	uint32_t module = (uint32_t)p->modules_len;
	struct aif_strset *s = &p->strings;

	snprintf(prefixed, sizeof(prefixed), AIF_BINARY_PREFIX "%s", path);
	FIXTURE_ADD(p, modules, .kind = AIF_MODULE_DEVICE, .path = aif_strset_puts(s, path),
		    .build_id = AIF_NONE, .kernel = AIF_NONE);
	FIXTURE_ADD(p, modules, .kind = AIF_MODULE_DEVICE, .path = aif_strset_puts(s, prefixed),
		    .build_id = AIF_NONE, .kernel = AIF_NONE);
	FIXTURE_ADD(p, codes, .module = module, .name = aif_strset_puts(s, name),
		    .arch = aif_strset_puts(s, "xe_hpc"), .size = 16);
	FIXTURE_ADD(p, codes, .module = module + 1, .name = aif_strset_puts(s, "device binary"),
		    .arch = aif_strset_puts(s, AIF_BINARY_ARCH), .size = bytes ? strlen(bytes) : 99,
		    .bytes = bytes ? (const uint8_t *)strdup(bytes) : NULL);
}

static void assert_binary(struct aif_export *e, const char *kernel, int status, const char *said)
{
	extern const struct aif_exporter aif_exporter_elf;
	struct aif_err err = {0};
	char text[64] = "";

	e->kernel = kernel;
	assert_int_equal(aif_export_write(&aif_exporter_elf, e, "q", &err), status);
	if (status) {
		assert_non_null(strstr(err.text, said));
		assert_int_equal(access("q", F_OK), -1);
	} else {
		int fd = open("q", O_RDONLY);

		assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
		close(fd);
		unlink("q");
		assert_string_equal(text, said);
	}
}

static void device_binaries_are_chosen_by_kernel(void **state)
{
	volatile sig_atomic_t stopped = SIGINT;
	struct aif_profile p;
	struct aif_export e = {.profile = &p, .names = &names};

	(void)state;
	profile_write(launches, ROWS, execs, ROWS, NULL, 0, NULL, 0, &p);
	assert_binary(&e, NULL, -ENODATA, "has no device binary");
	add_binary(&p, "zebin 01", "mm", "of mm");
	assert_binary(&e, NULL, 0, "of mm");
	add_binary(&p, "zebin 02", "mm_tiled", "of mm_tiled");
	add_binary(&p, "zebin 03", "huge", NULL);
	add_binary(&p, "zebin 01", "mm_again", "a second of that path");
	assert_binary(&e, "tiled", 0, "of mm_tiled");
	assert_binary(&e, NULL, -EINVAL, "4 device binaries, of mm, mm_tiled, huge, ");
	assert_binary(&e, "^mm$", -EINVAL, "2 device binaries, of mm, mm; ");
	assert_binary(&e, "huge", -ENODATA, "has 99 bytes and was not kept");
	assert_binary(&e, "absent", -ENODATA, "binaries of mm, mm_tiled, huge");
	e.stopped = &stopped;
	assert_binary(&e, "tiled", -EINTR, "stopped");
	aif_profile_finish(&p);
}

/* Told to stop, it leaves nothing behind, not even under another name. */
static void a_stopped_export_leaves_no_file(void **state)
{
	volatile sig_atomic_t stopped = SIGINT;
	struct aif_profile p;
	struct aif_export e = {
		.profile = &p, .names = &names, .detail = AIF_NAME_NORMAL, .stopped = &stopped};

	(void)state;
	profile_write(launches, ROWS, execs, ROWS, NULL, 0, NULL, 0, &p);
	for (size_t i = 0; aif_exporters[i]; i++) {
		struct aif_err err = {0};

		if (!strcmp(aif_exporters[i]->name,
			    "elf")) /* no binary is here: device_binaries_are_chosen_by_kernel() */
			continue;
		assert_int_equal(aif_export_write(aif_exporters[i], &e, "q", &err), -EINTR);
		assert_non_null(strstr(err.text, "stopped"));
		assert_int_equal(nftw(".", count_files, 8, FTW_PHYS), 0);
		assert_int_equal(access("q", F_OK), -1);
	}
	aif_profile_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_texts_and_numbers_are_escaped),
		cmocka_unit_test(protobuf_fields_are_encoded),
		cmocka_unit_test(names_of_files_choose_the_format),
		cmocka_unit_test(calls_have_the_category_of_their_runtime),
		cmocka_unit_test_setup_teardown(empty_output_is_a_valid_gzip_file, enter_directory,
						leave_directory),
		cmocka_unit_test_setup_teardown(overlapping_executions_get_lanes, enter_directory,
						leave_directory),
		cmocka_unit_test_setup_teardown(naming_a_track_costs_the_same_among_many,
						enter_directory, leave_directory),
		cmocka_unit_test_setup_teardown(activity_is_unknown_where_nothing_was_captured,
						enter_directory, leave_directory),
		cmocka_unit_test_setup_teardown(hostile_profiles_are_exported_or_refused,
						enter_directory, leave_directory),
		cmocka_unit_test_setup_teardown(device_binaries_are_chosen_by_kernel,
						enter_directory, leave_directory),
		cmocka_unit_test_setup_teardown(a_stopped_export_leaves_no_file, enter_directory,
						leave_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
