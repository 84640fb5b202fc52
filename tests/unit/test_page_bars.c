/* SPDX-License-Identifier: Apache-2.0 */
#include "page/bars.h"
#include "page/whole_steps.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct aif_page_event event_at(const void *arg, size_t i)
{
	return ((const struct aif_page_event *)arg)[i];
}

/* Says of an event only what the counting of bars needs. */
static struct aif_page_event span_at(const void *arg, size_t i)
{
	struct aif_page_event x = event_at(arg, i);

	return (struct aif_page_event){.start = x.start, .end = x.end, .lane = x.lane};
}

/* A column as a reader has it; .len 0: it was not written. */
struct column {
	uint64_t at[5000];
	size_t len;
};

static struct column *column_of(const struct aif_page_columns *c, const char *name)
{
	struct column *ret = calloc(1, sizeof(*ret));
	char key[40];
	size_t from, n, bytes, at;
	const char *found;

	assert_non_null(ret);
	snprintf(key, sizeof(key), "\"%s\":[\"v\",", name);
	found = strstr((const char *)c->index.data, key);
	if (!found)
		return ret;
	assert_int_equal(sscanf(found + strlen(key), "%zu,%zu,%zu", &from, &n, &bytes), 3);
	assert_true(n <= AIF_ARRAY_LEN(ret->at) && from + bytes <= c->bytes.len);
	at = from;
	for (; ret->len < n; ret->len++)
		for (unsigned shift = 0;; shift += 7) {
			uint8_t byte = (uint8_t)c->bytes.data[at++];

			ret->at[ret->len] |= (uint64_t)(byte & 127) << shift;
			if (byte < 128)
				break;
		}
	assert_int_equal(at, from + bytes);
	return ret;
}

static struct aif_page_bars write_bars(struct aif_page_columns *c, const struct aif_page_event *at,
				       size_t n, uint32_t lanes, size_t max,
				       const struct aif_page_span *whole, size_t whole_len)
{
	struct aif_page_events e = {.at = event_at,
				    .span_at = span_at,
				    .arg = at,
				    .len = n,
				    .whole = whole,
				    .whole_len = whole_len};
	struct aif_page_bars ret;

	aif_page_columns_init(c);
	assert_int_equal(aif_page_bars_write(&e, lanes, max, "x_", c, &ret), 0);
	aif_buf_putc(&c->index, '\0');
	return ret;
}

static void test_each_event_has_a_bar_where_there_is_room(void **state)
{
	static const struct aif_page_event events[] = {
		{.start = 100, .end = 300, .lane = 0, .what = 7, .waited = 51, .by = 2},
		{.start = 300, .end = 300, .lane = 0, .what = 8, .details = UINT64_C(1) << 40},
		/* The last of its lane has not ended when this begins. */
		{.start = 250, .end = 1000, .lane = 0, .what = 7},
		{.start = 50, .end = 60, .lane = 2, .what = 9},
	};
	static const uint64_t gap[] = {100, 0, 0, 50}, dur[] = {200, 0, 700, 10},
			      what[] = {7, 8, 7, 9}, waited[] = {51, 0, 0, 0},
			      details[] = {0, UINT64_C(1) << 40, 0, 0};
	static const struct {
		const char *name;
		const uint64_t *expected;
	} columns[] = {{"x_gap", gap},
		       {"x_dur", dur},
		       {"x_what", what},
		       {"x_waited", waited},
		       {"x_details", details}};
	struct aif_page_columns c;
	struct aif_page_bars b = write_bars(&c, events, 4, 3, 4, NULL, 0);
	struct column *found;

	(void)state;
	assert_int_equal(b.bars, 4);
	assert_int_equal(b.joined, 0);
	assert_int_equal(b.joined_ns, 0);
	for (size_t k = 0; k < AIF_ARRAY_LEN(columns); k++) {
		found = column_of(&c, columns[k].name);
		assert_int_equal(found->len, 4);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(found->at[i], columns[k].expected[i]);
		free(found);
	}
	found = column_of(&c, "x_n");
	assert_int_equal(found->len, 0);
	free(found);
	aif_page_columns_finish(&c);
}

/* Two lanes of events of 1 to 3 us, every 5 us; each hundredth takes 90 us. */
static size_t events_make(struct aif_page_event *e, size_t n, uint64_t *ret_busy)
{
	*ret_busy = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t start = (int64_t)(i % (n / 2)) * 5000;
		int64_t length = i % 100 == 7 ? 90000 : 1000 + (int64_t)(i * 37 % 2000);

		start += (int64_t)(i % (n / 2) / 100) * 100000 + (i % 100 > 7 ? 100000 : 0);
		e[i] = (struct aif_page_event){.start = start,
					       .end = start + length,
					       .lane = i >= n / 2,
					       .what = (uint32_t)(i % 100 == 7)};
		*ret_busy += (uint64_t)length;
	}
	return n;
}

static void test_joined_bars_keep_sums(void **state)
{
	static struct aif_page_event events[4000];
	uint64_t busy, n = 0, worked = 0, at = 0;
	size_t len = events_make(events, AIF_ARRAY_LEN(events), &busy), longest = 0;
	struct aif_page_columns c;
	struct aif_page_bars b = write_bars(&c, events, len, 2, 600, NULL, 0);
	struct column *many = column_of(&c, "x_n"), *took = column_of(&c, "x_busy"),
		      *dur = column_of(&c, "x_dur"), *gap = column_of(&c, "x_gap"),
		      *what = column_of(&c, "x_what");

	(void)state;
	assert_true(b.bars <= 600 && b.bars > 100);
	assert_int_equal(many->len, b.bars);
	assert_true(b.joined > 3000 && b.joined_ns > 0);
	for (size_t i = 0; i < b.bars; i++) {
		uint64_t w = took->at[i] ? took->at[i] : dur->at[i];

		assert_true(w <= dur->at[i]);
		assert_true(many->at[i] == 1 || dur->at[i] <= b.joined_ns);
		n += many->at[i];
		worked += w;
		at += gap->at[i] + dur->at[i];
		/* A bar is called like its longest event. */
		longest += what->at[i];
	}
	assert_int_equal(n, len);
	assert_int_equal(worked, busy);
	assert_int_equal(longest, len / 100);
	free(many);
	free(took);
	free(dur);
	free(gap);
	free(what);
	aif_page_columns_finish(&c);
}

static void test_chosen_spans_stay_whole(void **state)
{
	static struct aif_page_event events[4000];
	static const struct aif_page_span whole[] = {{100000, 200000}, {400000, 500000}};
	uint64_t busy, at = 0;
	size_t len = events_make(events, AIF_ARRAY_LEN(events), &busy), single = 0, inside = 0;
	struct aif_page_columns c;
	struct aif_page_bars b = write_bars(&c, events, len, 2, 600, whole, AIF_ARRAY_LEN(whole));
	struct column *many = column_of(&c, "x_n"), *dur = column_of(&c, "x_dur"),
		      *gap = column_of(&c, "x_gap");
	size_t second = 0;

	(void)state;
	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < 2; k++)
			inside += events[i].start < whole[k].to && events[i].end > whole[k].from;
	assert_true(inside > 20);
	for (uint64_t k = 0; second < b.bars && k < len / 2; second++)
		k += many->at[second];
	for (size_t i = 0; i < b.bars; i++) {
		at = i == second ? gap->at[i] : at + gap->at[i];
		for (size_t k = 0; k < 2; k++)
			if ((int64_t)at < whole[k].to &&
			    (int64_t)(at + dur->at[i]) > whole[k].from) {
				assert_int_equal(many->at[i], 1);
				single++;
			}
		at += dur->at[i];
	}
	assert_int_equal(single, inside);
	free(many);
	free(dur);
	free(gap);
	aif_page_columns_finish(&c);
}

/* Keeps half of the room for what is not whole, however much is: it was one bar between two spans. */
static void test_spans_that_stay_whole_leave_room(void **state)
{
	static struct aif_page_event events[4000];
	static const struct aif_page_span whole[] = {{0, 500000}};
	const size_t max = 40;
	uint64_t busy;
	size_t len = events_make(events, AIF_ARRAY_LEN(events), &busy), inside = 0;
	struct aif_page_columns c;
	struct aif_page_bars b = write_bars(&c, events, len, 2, max, whole, AIF_ARRAY_LEN(whole));

	(void)state;
	for (size_t i = 0; i < len; i++)
		inside += events[i].start < whole[0].to && events[i].end > whole[0].from;
	assert_true(inside > max);
	assert_true(b.bars <= inside + max / 2);
	assert_true(b.bars > inside + max / 8);
	assert_true(b.joined_ns < 10000000);
	aif_page_columns_finish(&c);
}

static void test_what_lies_in_others_is_counted(void **state)
{
	static const struct aif_page_event events[] = {
		{.start = 0, .end = 1000},
		{.start = 200, .end = 900},
		{.start = 900, .end = 1100},
	};
	struct aif_page_columns c;
	struct aif_page_bars b = write_bars(&c, events, 3, 1, 10, NULL, 0);
	struct column *many = column_of(&c, "x_n"), *dur = column_of(&c, "x_dur"),
		      *took = column_of(&c, "x_busy");

	(void)state;
	assert_int_equal(b.bars, 2);
	assert_int_equal(many->at[0], 2);
	assert_int_equal(dur->at[0], 1000);
	assert_int_equal(took->at[0], 0); /* as long as the bar: no time counts twice */
	assert_int_equal(dur->at[1], 100);
	free(many);
	free(dur);
	free(took);
	aif_page_columns_finish(&c);
}

static void test_whole_steps_have_room(void **state)
{
	struct aif_loop_step steps[100];
	struct aif_timeline_exec execs[1000];
	struct aif_phases f = {.steps = steps, .len = 100};
	struct aif_exec_timeline t = {.execs = execs, .execs_len = 1000};
	struct aif_page_span *spans;
	size_t n;

	(void)state;
	for (int64_t i = 0; i < 100; i++) /* the 43rd is the longest */
		steps[i] = (struct aif_loop_step){i * 1000, i * 1000 + (i == 42 ? 999 : 900)};
	for (int64_t i = 0; i < 1000; i++)
		execs[i] = (struct aif_timeline_exec){.start = i * 100, .end = i * 100 + 50};
	assert_int_equal(aif_page_whole_steps(&f, &t, 45, &spans, &n), 0);
	/* Ten executions each: the longest, one of middle length, the first and the last have room. */
	assert_int_equal(n, 4);
	assert_int_equal(spans[0].from, 0);
	assert_int_equal(spans[3].from, 99000);
	assert_true(spans[1].from == 42000 || spans[2].from == 42000);
	free(spans);
	f.len = 0;
	assert_int_equal(aif_page_whole_steps(&f, &t, 45, &spans, &n), 0);
	assert_int_equal(n, 0);
	free(spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_event_has_a_bar_where_there_is_room),
		cmocka_unit_test(test_joined_bars_keep_sums),
		cmocka_unit_test(test_chosen_spans_stay_whole),
		cmocka_unit_test(test_spans_that_stay_whole_leave_room),
		cmocka_unit_test(test_what_lies_in_others_is_counted),
		cmocka_unit_test(test_whole_steps_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
