/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the summary says of estimates and of what capture cost. */
#include "report/info.h"
#include "report/summary/parts.h"
#include "report/summary/summary.h"
#include "profile/file.h"
#include "analysis/untimed.h"
#include "fixture_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static void add_meta(struct aif_profile *p, const char *key, const char *value)
{
	assert_int_equal(aif_grow(&p->meta, &p->meta_cap, p->meta_len + 1, sizeof(*p->meta)), 0);
	p->meta[p->meta_len++] = (struct aif_meta){.key = aif_strset_puts(&p->strings, key),
						   .value = aif_strset_puts(&p->strings, value)};
}

/* The summary of an attribution in a profile of a second. */
static void summary_of(const struct aif_attribution *a, const char *cost_ppm,
		       struct aif_buf *screen, struct aif_buf *quality)
{
	struct aif_profile made = {.start_ns = 1}, read;
	struct aif_writer *w;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/aiflame-summary-%d", (int)getpid());
	add_meta(&made, "command", "x");
	add_meta(&made, "cost.agent_ns", "30000000");
	add_meta(&made, "overhead.asked_ppm", "20000");
	if (cost_ppm)
		add_meta(&made, "overhead.cost_ppm", cost_ppm);
	assert_int_equal(aif_writer_new(path, made.start_ns, &w, NULL), 0);
	assert_int_equal(aif_writer_tables(w, &made, NULL), 0);
	assert_int_equal(aif_writer_finish(w, 1 + 1000 * MS, NULL), 0);
	assert_int_equal(aif_profile_open(path, &read, NULL), 0);
	aif_summary_write(AIF_NAMES_OF(&read), a, path, screen);
	aif_summary_quality(&read, a, quality);
	aif_profile_finish(&read);
	aif_profile_finish(&made);
	unlink(path);
}

/* Writes the summary of two copies' times, of which the second has the error. */
static void summary(uint64_t error_ns, const char *cost_ppm, struct aif_buf *screen,
		    struct aif_buf *quality)
{
	struct aif_attribution_row rows[] = {
		{.device = AIF_NONE,
		 .kind = AIF_LAUNCH_WRITE,
		 .kernel = AIF_NONE,
		 .stack = AIF_NONE,
		 .frame = AIF_NONE,
		 .wall_ns = 300 * MS,
		 .time_ns = 300 * MS,
		 .launches = 10},
		{.device = AIF_NONE,
		 .kind = AIF_LAUNCH_READ,
		 .kernel = AIF_NONE,
		 .stack = AIF_NONE,
		 .frame = AIF_NONE,
		 .grade = AIF_GRADE_SAMPLED,
		 .wall_ns = 100 * MS,
		 .time_ns = 100 * MS,
		 .launches = 30,
		 .error_ns = error_ns},
	};
	struct aif_attribution a = {.rows = rows,
				    .rows_len = 2,
				    .conservation = {.elapsed_ns = 1000 * MS,
						     .devices = 1,
						     .busy_ns = 400 * MS,
						     .idle_ns = 600 * MS,
						     .error_ns = error_ns,
						     .idle_error_ns = error_ns,
						     .durations_ns = 400 * MS,
						     .launches = 40,
						     .joined = 10,
						     .uncaptured = 30}};

	summary_of(&a, cost_ppm, screen, quality);
}

static void has(struct aif_buf *b, const char *what)
{
	if (!strstr(aif_buf_str(b), what))
		fail_msg("no '%s' in: %s", what, aif_buf_str(b));
}

static void estimates_say_how_sure_they_are(void **state)
{
	struct aif_buf screen = {0}, quality = {0};

	(void)state;
	summary(20 * MS, "100000", &screen, &quality);
	has(&screen, "100 ms \u00b120.0 ms in   30");
	has(&screen, "300 ms in   10"); /* no estimate */
	has(&screen,
	    "busy     40.0 % \u00b12.00 % of the time from the first to the last device work");
	has(&screen, "idle 600 ms \u00b120.0 ms\n");
	has(&screen, "25.0 % of launches captured (totals \u00b15.00 %), 100.0 % of them timed");
	has(&quality, "25.0 % of launches captured (totals \u00b15.00 %), ");
	has(&screen, "\ncost     about 3.1 % slower while it worked: capture 3.1; allowed 2 %; "
		     "launches 10 % slower while captured, 25.0 % of them; ");
	assert_null(strstr(aif_buf_str(&screen), "in longer runs"));
	aif_buf_finish(&screen);
	aif_buf_finish(&quality);
}

/* Rows of a driver that gives no times, and of devices that sample themselves. */
static void without_times_samples_tell(void **state)
{
	struct aif_attribution_row rows[] = {
		{.kind = AIF_LAUNCH_WRITE,
		 .kernel = AIF_NONE,
		 .stack = AIF_NONE,
		 .frame = AIF_NONE,
		 .samples = 10},
		{.kind = AIF_LAUNCH_READ,
		 .kernel = AIF_NONE,
		 .stack = AIF_NONE,
		 .frame = AIF_NONE,
		 .samples = 30},
	};
	struct aif_attribution a = {
		.rows = rows,
		.rows_len = 2,
		.conservation = {
			.samples = 40, .sampled_attributed = 40, .launches = 3, .lost = 3}};
	struct aif_buf screen = {0}, quality = {0};

	(void)state;
	assert_true(aif_attribution_is_untimed(&a));
	summary_of(&a, NULL, &screen, &quality);
	has(&screen, "busy     not known: it has samples and no times");
	has(&screen, "kernels    75.0 %  Memcpy DtoH 30 samples\n");
	has(&screen, "           25.0 %  Memcpy HtoD 10 samples\n");
	has(&screen, "next: aiflame flame /");
	aif_buf_finish(&screen);
	aif_buf_finish(&quality);
	rows[1].wall_ns = 1;
	assert_false(aif_attribution_is_untimed(&a));
}

/* Writes `launches` launches, each with an execution, and makes the summary of them within `most` bytes of memory. */
static void summary_within(size_t launches, uint64_t most, struct aif_buf *ret_screen,
			   uint64_t *ret_need)
{
	struct aif_profile made = {0}, read;
	struct aif_writer *w;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/aiflame-within-%d", (int)getpid());
	fixture_profile(&made);
	assert_int_equal(aif_writer_new(path, made.start_ns, &w, NULL), 0);
	assert_int_equal(aif_writer_tables(w, &made, NULL), 0);
	for (size_t i = 0; i < launches; i++) {
		struct aif_launch_row l = fixture_launch(i);
		struct aif_exec_row x = fixture_exec(i);

		assert_int_equal(aif_writer_launches(w, &l, 1, NULL), 0);
		assert_int_equal(aif_writer_execs(w, &x, 1, NULL), 0);
	}
	assert_int_equal(aif_writer_finish(w, made.start_ns + 1000 * MS, NULL), 0);
	assert_int_equal(aif_profile_open(path, &read, NULL), 0);
	*ret_need = aif_attribution_memory(&read);
	assert_int_equal(aif_summary_within(AIF_NAMES_OF(&read), most, path, ret_screen, NULL), 0);
	aif_profile_finish(&read);
	aif_profile_finish(&made);
	unlink(path);
}

/* A recorder that stays within its bound on memory names what it leaves out, and the command that shows it. */
static void what_takes_too_much_memory_is_left_out(void **state)
{
	struct aif_buf whole = {0}, within = {0};
	uint64_t need, twice;

	(void)state;
	summary_within(10, UINT64_MAX, &whole, &need);
	assert_true(need > 0);
	has(&whole, "\nkernels ");
	has(&whole, "\nquality ");
	summary_within(20, need, &within, &twice);
	assert_int_equal(twice, 2 * need);
	has(&within,
	    "\nlaunches 20, with 20 executions; busy time, kernels and quality are left out");
	has(&within, " of memory: aiflame report /tmp/");
	has(&within, "; next: aiflame flame /tmp/");
	assert_null(strstr(aif_buf_str(&within), "\nkernels "));
	assert_null(strstr(aif_buf_str(&within), "\nquality "));
	aif_buf_finish(&whole);
	aif_buf_finish(&within);
}

static void too_few_blocks_are_called_that(void **state)
{
	struct aif_buf screen = {0}, quality = {0};

	(void)state;
	summary(300 * MS, NULL, &screen, &quality);
	has(&screen, "100 ms \u00b1300 ms (too few blocks to tell) in   30");
	has(&quality, "25.0 % of launches captured (too few blocks to tell totals), ");
	has(&screen, "about 3.1 % slower while it worked: capture 3.1; allowed 2 % in longer runs");
	aif_buf_finish(&screen);
	aif_buf_finish(&quality);
}

/* The summary of a recording whose rows --max-size has dropped; "attached" as it is given. */
static void summary_of_nothing(size_t launches_len, const char *attached, struct aif_buf *screen)
{
	struct aif_launch_row launches[100] = {0};
	struct aif_attribution a = {0};
	struct aif_profile made = {.start_ns = 1}, read;
	struct aif_writer *w;
	char path[64];

	for (size_t i = 0; i < launches_len; i++)
		launches[i] = (struct aif_launch_row){.launch = i + 1, .time = 10 * MS};
	snprintf(path, sizeof(path), "/tmp/aiflame-summary-%d", (int)getpid());
	add_meta(&made, "command", "x");
	add_meta(&made, "attached", attached);
	assert_int_equal(aif_grow(&made.processes, &made.processes_cap, 1, sizeof(*made.processes)),
			 0);
	made.processes[made.processes_len++] =
		(struct aif_process){.pid = 7,
				     .cmdline = aif_strset_puts(&made.strings, "x"),
				     .flags = AIF_PROCESS_AGENT | AIF_PROCESS_RUNTIME};
	assert_int_equal(aif_writer_new(path, made.start_ns, &w, NULL), 0);
	assert_int_equal(aif_writer_tables(w, &made, NULL), 0);
	if (launches_len) {
		assert_int_equal(aif_writer_launches(w, launches, launches_len, NULL), 0);
		assert_int_equal(aif_writer_trim(w, 1, 0, 1000 * MS, NULL), 0);
	}
	assert_int_equal(aif_writer_finish(w, 1 + 10 * MS, NULL), 0);
	assert_int_equal(aif_profile_open(path, &read, NULL), 0);
	aif_summary_write(AIF_NAMES_OF(&read), &a, path, screen);
	aif_profile_finish(&read);
	aif_profile_finish(&made);
	unlink(path);
}

static struct aif_launch_row launch_of(uint64_t launch, uint32_t thread, uint32_t stack)
{
	return (struct aif_launch_row){.launch = launch,
				       .time = 10 * MS,
				       .thread = thread,
				       .kernel = AIF_NONE,
				       .device = AIF_NONE,
				       .stream = AIF_NONE,
				       .stack = stack,
				       .shape = AIF_NONE};
}

/* Two processes of two launches each; the driver gives none of the first one's times, and one of the
 * second's, whose other is `lost` or else in flight. Of the rest `is_outside`: a third's, seen from outside. */
static void timeless(bool first, bool second, bool is_lost, bool is_outside,
		     struct aif_profile *read)
{
	struct aif_profile made = {.start_ns = 1};
	struct aif_launch_row launches[] = {launch_of(1, 0, AIF_NONE), launch_of(2, 0, AIF_NONE),
					    launch_of(3, 1, AIF_NONE), launch_of(4, 1, AIF_NONE),
					    launch_of(5, 2, 0)};
	struct aif_exec_row exec = {.launch = 3,
				    .start = 11 * MS,
				    .end = 12 * MS,
				    .clock = AIF_CLOCK_MONOTONIC,
				    .process = 1,
				    .kernel = AIF_NONE,
				    .device = 0,
				    .stream = AIF_NONE};
	struct aif_writer *w;
	struct aif_err err;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/aiflame-summary-%d", (int)getpid());
	add_meta(&made, "command", "x");
	for (uint32_t i = 0; i < 3; i++) {
		FIXTURE_ADD(&made, processes, .pid = i + 1, .exe = AIF_NONE, .host = AIF_NONE,
			    .cmdline = aif_strset_puts(&made.strings, "x"));
		FIXTURE_ADD(&made, threads, .process = i, .tid = i + 1, .name = AIF_NONE);
	}
	FIXTURE_ADD(&made, devices, .name = aif_strset_puts(&made.strings, "D"), .vendor = AIF_NONE,
		    .driver = AIF_NONE, .clock = AIF_CLOCK_MONOTONIC,
		    .runtime = aif_strset_puts(&made.strings, "x"));
	FIXTURE_ADD(&made, frames, .kind = AIF_FRAME_MARK, .module = AIF_NONE,
		    .address = aif_strset_puts(&made.strings, "f"));
	FIXTURE_ADD(&made, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1,
		    .flags = AIF_STACK_FRAME_POINTERS);
	if (is_lost)
		FIXTURE_ADD(&made, losses, .reason = AIF_REASON_NO_TIMES, .process = 1,
			    .thread = AIF_NONE, .count = 1, .detail = AIF_NONE);
	assert_int_equal(aif_writer_new(path, made.start_ns, &w, NULL), 0);
	assert_int_equal(aif_writer_tables(w, &made, NULL), 0);
	if (first)
		assert_int_equal(aif_writer_launches(w, launches, 2, NULL), 0);
	if (second) {
		assert_int_equal(aif_writer_launches(w, launches + 2, 2, NULL), 0);
		assert_int_equal(aif_writer_execs(w, &exec, 1, NULL), 0);
	}
	if (is_outside)
		assert_int_equal(aif_writer_launches(w, launches + 4, 1, NULL), 0);
	assert_int_equal(aif_writer_finish(w, 1 + 100 * MS, NULL), 0);
	assert_ok(aif_profile_open(path, read, &err), &err);
	aif_profile_finish(&made);
	unlink(path);
}

static void launches_without_times_are_counted(void **state)
{
	static const struct {
		bool first, second, is_lost, is_outside;
		uint64_t n;
		const char *said;
	} cases[] = {
		{true, false, false, false, 2,
		 "launches 2, times not known, as the program or the recording ended before they were read: "
		 "aiflame flame --by launches p.data\n"},
		{true, true, false, false, 2, "launches 2, times not known, as the program"},
		{false, true, false, false, 0, NULL}, /* in flight */
		{false, true, true, false, 1,
		 "launches 1, times not known, as the driver gave none: aiflame flame"},
		{false, false, false, true, 1,
		 "launches 1, times not known, as they were seen from outside"},
		{true, true, true, true, 4,
		 "launches 4, times not known, as the driver gave none: aiflame flame"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_attribution a = {0};
		struct aif_buf screen = {0};
		struct aif_profile p;

		timeless(cases[i].first, cases[i].second, cases[i].is_lost, cases[i].is_outside,
			 &p);
		assert_int_equal(aif_untimed_count(&p), cases[i].n);
		assert_int_equal(aif_attribution_compute(&p, NULL, &a, NULL), 0);
		aif_summary_write(AIF_NAMES_OF(&p), &a, "p.data", &screen);
		if (cases[i].said) {
			has(&screen, cases[i].said);
			assert_null(strstr(aif_buf_str(&screen), "nothing was executed"));
		} else {
			assert_null(strstr(aif_buf_str(&screen), "times not known"));
		}
		if (!cases[i].second)
			has(&screen, "next: aiflame flame --by launches p.data, aiflame report "
				     "--launches p.data");
		aif_buf_finish(&screen);
		aif_attribution_finish(&a);
		aif_profile_finish(&p);
	}
}

static void what_was_dropped_is_the_reason(void **state)
{
	struct aif_buf screen = {0};

	(void)state;
	summary_of_nothing(100, "", &screen);
	has(&screen, "nothing is left of what was executed: of 1 process seen, 1 carried");
	has(&screen, "reason   100 launches were recorded and dropped by --max-size or --keep: ");
	has(&screen, "trouble  100 rows dropped: older than --keep");
	assert_null(strstr(aif_buf_str(&screen), "the last 0 ns"));
	aif_buf_clear(&screen);
	summary_of_nothing(1, "", &screen);
	has(&screen, "reason   1 launch was recorded and dropped by ");
	has(&screen, "trouble  1 row dropped: older than --keep");
	aif_buf_clear(&screen);
	summary_of_nothing(0, "", &screen);
	has(&screen, "nothing was executed on any device: of 1 process seen, ");
	has(&screen, "reason   the program opened a device but launched nothing");
	aif_buf_finish(&screen);
}

static void trouble_of(const uint32_t *reasons, size_t n, bool has_told, struct aif_buf *out)
{
	struct aif_profile p = {0};

	for (size_t i = 0; i < n; i++)
		FIXTURE_ADD(&p, losses, .reason = reasons[i], .process = AIF_NONE,
			    .thread = AIF_NONE, .detail = AIF_NONE, .count = 10 + i);
	aif_buf_clear(out);
	aif_summary_trouble(&p, has_told, "p.data", out);
	aif_profile_finish(&p);
}

static void before(struct aif_buf *b, const char *first, const char *then)
{
	has(b, first);
	has(b, then);
	if (strstr(aif_buf_str(b), first) > strstr(aif_buf_str(b), then))
		fail_msg("'%s' behind '%s' in: %s", first, then, aif_buf_str(b));
}

static void what_was_refused_comes_first(void **state)
{
	static const uint32_t reasons[] = {AIF_REASON_XE_DENIED,     AIF_REASON_COUNTERS_NO_GPU,
					   AIF_REASON_XE_DENIED,     AIF_REASON_ZE_METRICS_OFF,
					   AIF_REASON_CLOCK_UNKNOWN, AIF_REASON_RING_FULL,
					   AIF_REASON_ZE_NO_TIMES,   AIF_REASON_NO_TIMES};
	static const uint32_t none[] = {AIF_REASON_ZE_NO_TIMES};
	struct aif_buf out = {0};

	(void)state;
	trouble_of(reasons, AIF_ARRAY_LEN(reasons), false, &out);
	before(&out, "trouble  no EU stalls through Level Zero",
	       "only administrators may read them; sysctl");
	before(&out, "only administrators may read them", "17 launches for which");
	before(&out, "no counters: nothing", "17 launches for which");
	/* Each reason comes first once; ZE_NO_TIMES, another number for the launches of NO_TIMES,
	 * is left out. */
	has(&out, "and 2 more: aiflame info p.data\n");
	assert_null(strstr(aif_buf_str(&out), "executions of command lists"));
	trouble_of(reasons, AIF_ARRAY_LEN(reasons), true, &out);
	before(&out, "only administrators may read them", "15 records dropped");
	assert_null(strstr(aif_buf_str(&out), "gave no times"));
	trouble_of(reasons + 4, 3, false, &out);
	has(&out, "12 executions of command lists for which");
	has(&out, "could not be mapped");
	trouble_of(none, 1, true, &out);
	assert_int_equal(out.len, 0);
	aif_buf_finish(&out);
}

/* BPF programs see more processes than those on standby; of many some are named. */
static void of_all_processes_some_are_named(void **state)
{
	static const char reason[] =
		"reason   in no process a launch was seen, with an agent or from outside\n";

	(void)state;
	for (uint32_t n = 4; n <= 6; n++) {
		struct aif_profile p = {.start_ns = 1};
		struct aif_attribution a = {0};
		struct aif_buf screen = {0};

		add_meta(&p, "command", "all processes");
		add_meta(&p, "attached", "all");
		if (n > 4)
			add_meta(&p, "ebpf", "all");
		for (uint32_t i = 0; i < n; i++)
			FIXTURE_ADD(&p, processes, .pid = 100 + i, .exe = AIF_NONE,
				    .host = AIF_NONE, .cmdline = aif_strset_puts(&p.strings, "x"));
		aif_summary_write(AIF_NAMES_OF(&p), &a, "p.data", &screen);
		has(&screen, "103 x: no agent\n");
		assert_null(strstr(aif_buf_str(&screen), "104 x"));
		if (n > 4)
			has(&screen,
			    n == 5 ? "         and 1 more\nreason" : "         and 2 more\nreason");
		else
			assert_null(strstr(aif_buf_str(&screen), " more\nreason"));
		if (n > 4)
			has(&screen, reason);
		else
			has(&screen, "reason   no process on standby has");
		aif_buf_finish(&screen);
		aif_profile_finish(&p);
	}
}

static void what_ran_already_was_recorded(void **state)
{
	static const char *const cases[][2] = {
		{"", "ran      x for "}, {"named", "recorded x for "}, {"all", "recorded x for "}};
	struct aif_buf screen = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		aif_buf_clear(&screen);
		summary_of_nothing(0, cases[i][0], &screen);
		assert_memory_equal(aif_buf_str(&screen), cases[i][1], strlen(cases[i][1]));
	}
	aif_buf_finish(&screen);
}

/* The first lines of a recording that ended so; meta: pairs of keys and values. */
static void screen_of_end(const char *const *meta, struct aif_buf *screen)
{
	struct aif_attribution a = {0};
	struct aif_profile p = {.start_ns = 1, .end_ns = 1 + 4300 * MS};

	add_meta(&p, "command", "python3 cupy_mix.py");
	for (; *meta; meta += 2)
		add_meta(&p, meta[0], meta[1]);
	aif_buf_clear(screen);
	aif_summary_write(AIF_NAMES_OF(&p), &a, "x.data", screen);
	aif_profile_finish(&p);
}

#define SCREEN(screen, ...) screen_of_end((const char *const[]){__VA_ARGS__, NULL}, screen)

static void begins(struct aif_buf *b, const char *what)
{
	if (strncmp(aif_buf_str(b), what, strlen(what)) != 0)
		fail_msg("not '%s' first in: %s", what, aif_buf_str(b));
}

static void an_end_by_a_signal_comes_first(void **state)
{
	static const struct {
		const char *signal, *line;
	} signals[] = {
		{"11",
		 "python3 cupy_mix.py was ended by SIGSEGV (signal 11) after 4.30 s; what was "
		 "recorded until then is kept\nran      python3"},
		{"2", "python3 cupy_mix.py was stopped by SIGINT (signal 2) after 4.30 s; what was "
		      "recorded until then is kept\nran      python3"},
		{"9",
		 "python3 cupy_mix.py was stopped by SIGKILL (signal 9) after 4.30 s, likely by "
		 "the kernel's out-of-memory killer (see dmesg), unless you sent it; what"},
		{"34", "python3 cupy_mix.py was ended by signal 34 after 4.30 s; what"},
		{"0", "ran      "},
		{"-11", "ran      "},
		{"65", "ran      "},
		{"x", "ran      "},
	};
	struct aif_buf screen = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(signals); i++) {
		SCREEN(&screen, "end.signal", signals[i].signal);
		begins(&screen, signals[i].line);
	}
	SCREEN(&screen, "end.signal", "11", "end.in", "libcupti.so.2025.3.1");
	begins(&screen, "python3 cupy_mix.py was ended by SIGSEGV (signal 11) in "
			"libcupti.so.2025.3.1 after 4.30 s; what");
	SCREEN(&screen, "end.signal", "9", "end.oom", "0");
	begins(&screen,
	       "python3 cupy_mix.py was stopped by SIGKILL (signal 9) after 4.30 s, which the program or "
	       "somebody else sent: the kernel's out-of-memory killer killed nothing meanwhile; what");
	SCREEN(&screen, "end.signal", "9", "end.oom", "1");
	begins(&screen,
	       "python3 cupy_mix.py was stopped by SIGKILL (signal 9) after 4.30 s, likely by the kernel's");
	SCREEN(&screen, "end.signal", "15", "exit_status", "143", "end.by", "--kill");
	begins(&screen, "ran      ");
	aif_buf_finish(&screen);
}

/* A shell's, and what recordings of before have. */
static void a_status_after_a_signal_comes_first(void **state)
{
	static const struct {
		const char *status, *line;
	} statuses[] = {
		{"139",
		 "python3 cupy_mix.py exited with status 139, as after SIGSEGV, after 4.30 s; what "},
		{"134",
		 "python3 cupy_mix.py exited with status 134, as after SIGABRT, after 4.30 s; what "},
		{"135",
		 "python3 cupy_mix.py exited with status 135, as after SIGBUS, after 4.30 s; what "},
		{"132",
		 "python3 cupy_mix.py exited with status 132, as after SIGILL, after 4.30 s; what "},
		{"136",
		 "python3 cupy_mix.py exited with status 136, as after SIGFPE, after 4.30 s; what "},
		{"130",
		 "python3 cupy_mix.py exited with status 130, as after SIGINT, after 4.30 s; what "},
		{"137",
		 "python3 cupy_mix.py exited with status 137, as after SIGKILL, after 4.30 s, likely "},
		{"129", "ran      "},
		{"128", "ran      "},
		{"255", "ran      "},
		{"-2147483648", "ran      "},
		{"99999999999999999999", "ran      "},
		{"1", "ran      "},
		{"0", "ran      "},
	};
	struct aif_buf screen = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(statuses); i++) {
		SCREEN(&screen, "exit_status", statuses[i].status);
		begins(&screen, statuses[i].line);
		assert_null(strstr(aif_buf_str(&screen), "--cupti"));
	}
	aif_buf_finish(&screen);
}

static void what_cupti_may_be_asked_instead_is_said(void **state)
{
	char home[] = "/tmp/aiflame-state-XXXXXX", path[128];
	struct aif_buf screen = {0};
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(home));
	setenv("XDG_STATE_HOME", home, 1);
	SCREEN(&screen, "end.signal", "11", "cupti.use", "blocks", "end.remembered", "libcupti");
	has(&screen,
	    "kept\ntry      does it also end without aiflame? If not, in this order: record "
	    "--cupti throughout, --device-rate 0, --all-launches; and please report it\nran ");
	/* The file has gone. */
	assert_null(strstr(aif_buf_str(&screen), "forget"));
	snprintf(path, sizeof(path), "%s/aiflame", home);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/aiflame/cupti-crashes", home);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	SCREEN(&screen, "exit_status", "139", "cupti.use", "blocks", "end.remembered", "suspected");
	has(&screen, "\n         the next recording with this libcupti asks less of it (--cupti "
		     "throughout); forget it with: rm /tmp/aiflame-state-");
	SCREEN(&screen, "end.signal", "6", "cupti.use", "launches", "end.remembered", "suspected");
	has(&screen,
	    "If not, please report it\n         the next recording with this libcupti asks no "
	    "more of it; forget");
	/* Three cases: nothing was remembered; somebody has sent the signal; the use is unknown. */
	SCREEN(&screen, "end.signal", "11", "cupti.use", "records");
	has(&screen, "record --cupti launches; and please");
	assert_null(strstr(aif_buf_str(&screen), "forget"));
	SCREEN(&screen, "end.signal", "15", "cupti.use", "blocks", "end.remembered", "libcupti");
	assert_null(strstr(aif_buf_str(&screen), "--cupti"));
	SCREEN(&screen, "end.signal", "11", "cupti.use", "all of it", "end.remembered", "libcupti");
	assert_null(strstr(aif_buf_str(&screen), "try "));
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(home);
	unsetenv("XDG_STATE_HOME");
	aif_buf_finish(&screen);
}

static void a_hypervisors_part_is_said(void **state)
{
	struct aif_buf screen = {0};

	(void)state;
	SCREEN(&screen, "cpus.stolen_ppm", "123456");
	has(&screen, "its hypervisor gave 12.3 % of the CPUs' time to others");
	SCREEN(&screen, "cpus.stolen_ppm", "9999");
	assert_null(strstr(aif_buf_str(&screen), "hypervisor"));
	SCREEN(&screen, "cpus.stolen_ppm", "no number");
	assert_null(strstr(aif_buf_str(&screen), "hypervisor"));
	aif_buf_finish(&screen);
}

static void info_has_a_line_of_cupti(void **state)
{
	static const char *const versions[][2] = {
		{"130000", "  CUPTI                           13.0 (build 1a2b), used: blocks\n"},
		{"120900", "  CUPTI                           12.9 (build 1a2b), used: blocks\n"},
		{"24",
		 "  CUPTI                           API version 24 (build 1a2b), used: blocks\n"}};
	struct aif_attribution a = {0};
	struct aif_buf text = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(versions); i++) {
		struct aif_profile p = {.start_ns = 1, .end_ns = 2};

		add_meta(&p, "cupti.use", "blocks");
		add_meta(&p, "cupti.version", versions[i][0]);
		add_meta(&p, "cupti.id", "1a2b");
		aif_buf_clear(&text);
		aif_info_write(&p, &a, "x.data", &text);
		has(&text, versions[i][1]);
		assert_null(strstr(aif_buf_str(&text), "cupti."));
		aif_profile_finish(&p);
	}
	aif_buf_finish(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_say_how_sure_they_are),
		cmocka_unit_test(without_times_samples_tell),
		cmocka_unit_test(what_takes_too_much_memory_is_left_out),
		cmocka_unit_test(too_few_blocks_are_called_that),
		cmocka_unit_test(launches_without_times_are_counted),
		cmocka_unit_test(what_was_dropped_is_the_reason),
		cmocka_unit_test(what_was_refused_comes_first),
		cmocka_unit_test(of_all_processes_some_are_named),
		cmocka_unit_test(what_ran_already_was_recorded),
		cmocka_unit_test(an_end_by_a_signal_comes_first),
		cmocka_unit_test(a_status_after_a_signal_comes_first),
		cmocka_unit_test(what_cupti_may_be_asked_instead_is_said),
		cmocka_unit_test(a_hypervisors_part_is_said),
		cmocka_unit_test(info_has_a_line_of_cupti),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
