/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a thread that a file has in several chunks, in exports. */
#include "fixture_rows.h"

#include "export/exporter.h"

#include <zlib.h>

static const char *text_of(const char *path)
{
	static char text[1 << 16];
	gzFile f = gzopen(path, "rb");
	int n = f ? gzread(f, text, sizeof(text) - 1) : -1;

	assert_true(n > 0);
	text[n] = '\0';
	gzclose(f);
	return text;
}

static void profile_write(const struct aif_cpu_row *rows, size_t n)
{
	struct aif_profile p;
	struct aif_writer *w;
	struct aif_err err = {0};

	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	for (size_t i = 0; i < n; i++) /* a chunk each */
		assert_ok(aif_writer_cpu(w, &rows[i], 1, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
}

/* Readers refuse samples of a thread that go back in time. */
static void samples_of_a_trace_are_in_the_order_of_time(void **state)
{
	static const uint64_t at[] = {3000, 5000, 2000, 4000};
	const struct aif_exporter *const *chrome = aif_exporters;
	struct aif_cpu_row rows[AIF_ARRAY_LEN(at)];
	struct aif_names names = {0};
	struct aif_profile p;
	struct aif_export e = {.profile = &p, .names = &names, .detail = AIF_NAME_NORMAL};
	struct aif_err err = {0};
	unsigned found = 0;
	double last = 0;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(at); i++)
		rows[i] = (struct aif_cpu_row){
			.time = FIXTURE_START + at[i], .weight = 1, .stack = AIF_NONE};
	profile_write(rows, AIF_ARRAY_LEN(rows));
	assert_ok(aif_profile_open("p", &p, &err), &err);
	assert_int_equal(aif_names_make(&names, &p), 0);
	while (strcmp((*chrome)->name, "chrome") != 0)
		chrome++;
	assert_ok(aif_export_write(*chrome, &e, "q", &err), &err);
	for (const char *text = strstr(text_of("q"), "\"samples\"");
	     text && (text = strstr(text, "\"ts\":")); found++) {
		double ts = strtod(text += 5, NULL);

		assert_true(ts >= last);
		last = ts;
	}
	assert_int_equal(found, AIF_ARRAY_LEN(at));
	aif_names_finish(&names);
	aif_profile_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(samples_of_a_trace_are_in_the_order_of_time,
						enter_directory, leave_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
