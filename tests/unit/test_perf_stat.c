/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_stat_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Lines as perf 6.1 writes them, and what aiflame reads in them. */
static const struct {
	const char *line;
	enum aif_perf_stat_kind kind;
	const char *event, *unit, *place;
	double value, running;
	uint64_t time_ns;
	bool is_known;
} lines[] = {
#define COUNTER AIF_PERF_STAT_COUNTER
	{"         1,002.49 msec task-clock         #    0.998 CPUs utilized", COUNTER,
	 "task-clock", "msec", "", 1002.49, 1, 0, true},
	{"    3,001,234,567      cycles:u           #  2.9 GHz  ( +-  0.10% )  (74.95%)", COUNTER,
	 "cycles:u", "", "", 3001234567, 0.7495, 0, true},
	{"   <not supported>      instructions", COUNTER, "instructions", "", "", 0, 1, 0, false},
	{"CPU1             4,605      page-faults", COUNTER, "page-faults", "", "CPU1", 4605, 1, 0,
	 true},
	{"S0        2           5,753      page-faults   #  5 K/sec", COUNTER, "page-faults", "",
	 "S0", 5753, 1, 0, true},
	{"     0.106267280              19.85 msec task-clock   #  0.199 CPUs utilized", COUNTER,
	 "task-clock", "msec", "", 19.85, 1, 106267280, true},
	{"     0.208230024      <not counted> msec task-clock", COUNTER, "task-clock", "msec", "",
	 0, 1, 208230024, false},
	{"15.70,msec,task-clock,15695282,100.00,0.073,CPUs utilized", COUNTER, "task-clock", "msec",
	 "", 15.7, 1, 0, true},
	{"209;;page-faults;0.48%;28339632;25.00;7.958;K/sec", COUNTER, "page-faults", "", "", 209,
	 0.25, 0, true},
	{"<not supported>,,cycles,0,100.00,,", COUNTER, "cycles", "", "", 0, 1, 0, false},
	{"CPU0,7,,page-faults,100,100.00,,", COUNTER, "page-faults", "", "CPU0", 7, 1, 0, true},
	{"S0,2,7,,page-faults,100,100.00,,", COUNTER, "page-faults", "", "S0", 7, 1, 0, true},
	{"S0,2,<not supported>,,cycles,0,100.00,,", COUNTER, "cycles", "", "S0", 0, 1, 0, false},
	{"     0.102530173,133,,page-faults,12976657,100.00,10.265,K/sec", COUNTER, "page-faults",
	 "", "", 133, 1, 102530173, true},
	{"{\"interval\" : 0.5, \"cpu\" : \"3\", \"counter-value\" : \"12.5\", \"unit\" : \"msec\", "
	 "\"event\" : \"cpu-clock\", \"event-runtime\" : 12, \"pcnt-running\" : 50.00}",
	 COUNTER, "cpu-clock", "msec", "3", 12.5, 0.5, 500000000, true},
	{"{\"counter-value\" : \"<not counted>\", \"event\" : \"cycles\"}", COUNTER, "cycles", "",
	 "", 0, 1, 0, false},
	{" Performance counter stats for './train 5' (2 runs):", AIF_PERF_STAT_COMMAND, "./train 5",
	 "", "", 0, 1, 0, false},
	{"       0.215688456 seconds time elapsed", AIF_PERF_STAT_ELAPSED, "", "", "", 0.215688456,
	 1, 0, true},
	{"           0.24453 +- 0.00952 seconds time elapsed  ( +-  3.89% )", AIF_PERF_STAT_ELAPSED,
	 "", "", "", 0.24453, 1, 0, true},
	{"       0.003369000 seconds user", AIF_PERF_STAT_USER, "", "", "", 0.003369, 1, 0, true},
	{"       0.024305000 seconds sys", AIF_PERF_STAT_SYS, "", "", "", 0.024305, 1, 0, true},
	{"# started on Sat", AIF_PERF_STAT_PASSED, "", "", "", 0, 1, 0, false},
	{"{\"metric-value\" : 1.0, \"metric-unit\" : \"GHz\"}", AIF_PERF_STAT_PASSED, "", "", "", 0,
	 1, 0, false},
	{"what is this", AIF_PERF_STAT_BAD, "", "", "", 0, 1, 0, false},
	{"{\"counter-value\" : \"1\", \"event\" : \"cyc", AIF_PERF_STAT_BAD, "", "", "", 1, 1, 0,
	 true},
};

static void assert_text(struct aif_perf_text t, const char *wanted)
{
	assert_int_equal(t.len, strlen(wanted));
	assert_memory_equal(t.len ? t.p : "", wanted, t.len);
}

static void lines_of_each_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(lines); i++) {
		struct aif_perf_stat_line l;
		size_t len = strlen(lines[i].line);
		/* Just as long as it is: ASan sees who reads on. */
		char *copy = malloc(len);

		memcpy(copy, lines[i].line, len);
		print_message("%s\n", lines[i].line);
		aif_perf_stat_line((struct aif_perf_text){copy, len}, &l);
		assert_int_equal(l.kind, lines[i].kind);
		if (l.kind != AIF_PERF_STAT_BAD && l.kind != AIF_PERF_STAT_PASSED) {
			assert_text(l.event, lines[i].event);
			assert_text(l.unit, lines[i].unit);
			assert_text(l.place, lines[i].place);
			assert_true(l.is_known == lines[i].is_known);
			assert_true(!l.is_known || l.value == lines[i].value);
			assert_true(l.running == lines[i].running);
			assert_int_equal(l.time_ns, lines[i].time_ns);
		}
		/* Cuts the line everywhere: nothing is read outside of it. */
		for (size_t n = 0; n < len; n++)
			aif_perf_stat_line((struct aif_perf_text){copy + len - n, n}, &l);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_each_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
