/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/open_regular.h"
#include "base/proc.h"
#include "base/reasons.h"
#include "base/schedule.h"
#include "base/utf8.h"
#include "base/u64_of.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void map_keeps_every_key(void **state)
{
	struct aif_map m = {0};
	uint64_t v;

	(void)state;
	assert_false(aif_map_get(&m, 7, &v));
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(aif_map_put(&m, i * i, i), 0);
	for (uint64_t i = 0; i < 10000; i++) {
		assert_true(aif_map_get(&m, i * i, &v));
		assert_int_equal(v, i);
	}
	assert_int_equal(m.len, 10000);
	assert_false(aif_map_get(&m, 3, &v));
	aif_map_put(&m, UINT64_MAX, 1);
	aif_map_put(&m, UINT64_MAX, 2); /* replaces */
	assert_true(aif_map_get(&m, UINT64_MAX, &v));
	assert_int_equal(v, 2);
	assert_int_equal(m.len, 10001);
	aif_map_clear(&m);
	assert_false(aif_map_get(&m, 0, &v));
	aif_map_finish(&m);
}

static void strset_gives_dense_ids_once(void **state)
{
	struct aif_strset s = {0};
	char text[32];
	size_t len;

	(void)state;
	assert_int_equal(aif_strset_find(&s, "a", 1), AIF_STR_NONE);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			int n = snprintf(text, sizeof(text), "name%d", i);

			assert_int_equal(aif_strset_put(&s, text, (size_t)n), i);
		}
	assert_string_equal(aif_strset_get(&s, 4321, &len), "name4321");
	assert_int_equal(len, 8);
	assert_int_equal(aif_strset_put(&s, "a\0b", 3), 5000); /* zero bytes count */
	assert_int_equal(aif_strset_put(&s, "a\0c", 3), 5001);
	assert_int_equal(aif_strset_put(&s, NULL, 0), 5002);
	assert_string_equal(aif_strset_get(&s, 99999, &len), "");
	assert_int_equal(len, 0);
	assert_int_equal(aif_strset_set(&s, 4321, "longer than it was", 18), 0);
	assert_string_equal(aif_strset_get(&s, 4321, &len), "longer than it was");
	assert_int_equal(len, 18);
	for (int i = 0; i < 5000; i++) { /* all others are where they were */
		int n = snprintf(text, sizeof(text), "name%d", i);

		assert_int_equal(aif_strset_find(&s, text, (size_t)n),
				 i == 4321 ? AIF_STR_NONE : (uint32_t)i);
	}
	aif_strset_finish(&s);
}

static void buf_failure_is_sticky(void **state)
{
	struct aif_buf b = {0};

	(void)state;
	aif_buf_printf(&b, "%d-%s", 42, "x");
	aif_buf_putc(&b, '!');
	assert_string_equal(aif_buf_str(&b), "42-x!");
	assert_null(aif_buf_reserve(&b, SIZE_MAX / 2));
	assert_true(aif_buf_failed(&b));
	aif_buf_puts(&b, "later");
	assert_int_equal(b.len, 5);
	aif_buf_clear(&b);
	aif_buf_puts(&b, "again");
	assert_string_equal(aif_buf_str(&b), "again");
	aif_buf_finish(&b);
}

static void err_returns_its_code(void **state)
{
	struct aif_err e;

	(void)state;
	assert_int_equal(aif_err_set(&e, -ENOENT, "x: %s", "gone"), -ENOENT);
	assert_string_equal(e.text, "x: gone");
	assert_int_equal(aif_err_set(NULL, -EIO, "nobody listens"), -EIO);
}

static void reasons_are_unique_and_told(void **state)
{
	static const int numbers[] = {
#define AIF_REASON(number, name, class, sentence, fix) number,
#include "base/reasons.def"
#undef AIF_REASON
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(numbers); i++) {
		const struct aif_reason_info *info = aif_reason_info(numbers[i]);

		assert_non_null(info);
		assert_true(strlen(info->sentence) > 10);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(numbers[i], numbers[j]);
	}
	assert_null(aif_reason_info(1));
}

static void reasons_are_said_of_one_and_of_many(void **state)
{
	static const int numbers[] = {
#define AIF_REASON(number, name, class, sentence, fix) number,
#include "base/reasons.def"
#undef AIF_REASON
	};
	struct aif_buf b = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(numbers); i++) {
		struct aif_buf one = {0}, two = {0};
		const struct aif_reason_info *info = aif_reason_info(numbers[i]);

		aif_reason_say(info, 1, &one);
		aif_reason_say(info, 2, &two);
		assert_null(strpbrk(aif_buf_str(&one), "{|}"));
		assert_null(strpbrk(aif_buf_str(&two), "{|}"));
		/* Losses, and nothing else, have another text for two than for one. */
		assert_int_equal(info->is_loss, strcmp(aif_buf_str(&one), aif_buf_str(&two)) != 0);
		aif_buf_finish(&one);
		aif_buf_finish(&two);
	}
	aif_reason_say(aif_reason_info(AIF_REASON_STACK_TRUNCATED), 1, &b);
	assert_string_equal(aif_buf_str(&b), "stack that does not reach its thread's start");
	aif_buf_clear(&b);
	aif_reason_say(aif_reason_info(AIF_REASON_STACK_TRUNCATED), 0, &b);
	assert_string_equal(aif_buf_str(&b), "stacks that do not reach their thread's start");
	aif_buf_finish(&b);
}

static void words_are_quoted_for_the_shell(void **state)
{
	static const char *const words[][2] = {
		{"aiflame.data", "aiflame.data"},
		{"/x/r-1_a+b=c:@%,", "/x/r-1_a+b=c:@%,"},
		{"my rec", "'my rec'"},
		{"it's $1", "'it'\\''s $1'"},
		{"", "''"},
		{"a;b", "'a;b'"},
		{"~", "'~'"},
		{"\xc3\xa4", "'\xc3\xa4'"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++) {
		struct aif_buf b = {0};

		aif_buf_shell(&b, words[i][0]);
		assert_string_equal(aif_buf_str(&b), words[i][1]);
		aif_buf_finish(&b);
	}
}

static void a_file_is_no_option(void **state)
{
	struct aif_buf b = {0};

	(void)state;
	aif_buf_shell_path(&b, "-o x");
	aif_buf_putc(&b, ' ');
	aif_buf_shell_path(&b, "-");
	aif_buf_putc(&b, ' ');
	aif_buf_shell_path(&b, "a-b");
	assert_string_equal(aif_buf_str(&b), "'./-o x' - a-b");
	aif_buf_finish(&b);
}

static void build_ids_are_found_among_hostile_notes(void **state)
{
	static const uint8_t notes[] = {4, 0, 0,   0,   3,   0, 0,    0,    1, 0,
					0, 0, 'G', 'N', 'U', 0, 9,    9,    9, 0, /* another */
					4, 0, 0,   0,   2,   0, 0,    0,    3, 0,
					0, 0, 'G', 'N', 'U', 0, 0xab, 0x0c, 0, 0};
	uint8_t copy[sizeof(notes)];
	char text[8];
	size_t len = 0;

	(void)state;
	assert_ptr_equal(aif_build_id_find(notes, sizeof(notes), false, &len), notes + 36);
	assert_int_equal(len, 2);
	aif_build_id_text(notes, sizeof(notes), false, text, sizeof(text));
	assert_string_equal(text, "ab0c");
	aif_build_id_text(notes, sizeof(notes), false, text, 5);
	assert_string_equal(text, "ab0c");
	aif_build_id_text(notes, sizeof(notes), false, text, 4);
	assert_string_equal(text, "");
	/* The padding behind the last may be missing, what it is to hold may not. */
	for (size_t n = 0; n < sizeof(notes); n++)
		assert_int_equal(aif_build_id_find(notes, n, false, &len) != NULL, n >= 38);
	for (size_t at = 0; at < 36; at++) {
		memcpy(copy, notes, sizeof(notes));
		memset(copy + at, 0xff, at < 33 ? 4 : 1);
		(void)aif_build_id_find(copy, sizeof(copy), false, &len);
	}
}

static void stat_is_read_behind_any_name(void **state)
{
	static const char text[] = "12 (a) Z (b) S 7 8 9";
	char own[1024], little[8];

	(void)state;
	assert_string_equal(aif_proc_stat_field(text, 3), "S 7 8 9");
	assert_string_equal(aif_proc_stat_field(text, 6), "9");
	assert_null(aif_proc_stat_field(text, 7));
	assert_null(aif_proc_stat_field("", 3));
	assert_int_equal(aif_proc_cpus("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1").all, 36);
	assert_int_equal(aif_proc_cpus("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1").stolen, 8);
	assert_int_equal(aif_proc_cpus("cpu  1 2 3 4\ncpu0 1 2 3 4 5").all, 0);
	assert_int_equal(aif_proc_cpus("").all, 0);
	assert_true(aif_proc_read("/proc/self/stat", own, sizeof(own)) > 0);
	assert_int_equal(atoi(aif_proc_stat_field(own, 4)), getppid());
	assert_int_equal(aif_proc_read("/proc/self/stat", little, sizeof(little)), 7);
	assert_int_equal(strlen(little), 7);
	assert_int_equal(aif_proc_read("/proc/self/none", little, sizeof(little)), -ENOENT);
	assert_string_equal(little, "");
}

/* Whether the kernel's capable() says so follows from the capability and from which user namespace this is: the
 * machine's own has a fixed inode number. */
static bool may_administrate(void)
{
	struct stat ns;

	return stat("/proc/self/ns/user", &ns) == 0 && ns.st_ino == 0xEFFFFFFD &&
	       prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 1 && geteuid() == 0;
}

static void root_of_a_user_namespace_is_no_administrator(void **state)
{
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(aif_proc_is_admin(), may_administrate());
	child = fork();
	if (child == 0) {
		/* All capabilities, there. */
		if (unshare(CLONE_NEWUSER))
			_exit(77);
		_exit(aif_proc_is_admin());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Simulated clock, of which only the second read is quick. */
struct slow_clock {
	unsigned reads, fails_at;
};

static bool read_slowly(void *arg, uint64_t *ret_value)
{
	struct slow_clock *c = arg;

	if (++c->reads == c->fails_at)
		return false;
	if (c->reads != 2)
		usleep(30000);
	*ret_value = c->reads;
	return true;
}

static void a_clock_is_read_until_it_was_quick(void **state)
{
	struct aif_clock_reading r = {.value = 7};
	struct slow_clock c = {0};
	uint64_t began = aif_now_ns();

	(void)state;
	assert_true(aif_clock_read(read_slowly, &c, &r));
	assert_int_equal(r.value, 2);
	assert_in_range(r.before, began, r.after);
	assert_in_range(r.after, r.before, aif_now_ns());
	r.value = 7;
	c = (struct slow_clock){.fails_at = 3};
	assert_false(aif_clock_read(read_slowly, &c, &r));
	assert_int_equal(r.value, 7);
}

static void a_clock_that_is_gone_says_nothing(void **state)
{
	(void)state;
	/* A number that no thread has; the clock before has left its time behind. */
	assert_true(aif_clock_ns(CLOCK_REALTIME));
	assert_int_equal(aif_clock_ns((clockid_t)(~UINT32_C(0x3ffffff) << 3 | 6)), 0);
}

static void any_bytes_become_utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text; /* NULL: it is as it should be */
	} cases[] = {
		{"", 0, NULL},
		{"a,\n\x7f", 4, NULL},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, NULL},
		{"a\0b", 3, "a\u2400b"},
		{"\xff\xfe", 2, "\ufffd\ufffd"},
		{"a\xe2\x82", 3, "a\ufffd\ufffd"},                   /* cut */
		{"\xc0\x80z", 3, "\ufffd\ufffdz"},                   /* longer than it needs */
		{"\xed\xa0\x80", 3, "\ufffd\ufffd\ufffd"},           /* half of a pair */
		{"\xf4\x90\x80\x80", 4, "\ufffd\ufffd\ufffd\ufffd"}, /* beyond the last */
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const char *text = cases[i].text ? cases[i].text : cases[i].bytes;
		struct aif_buf b = {0};

		assert_int_equal(aif_utf8_is_text(cases[i].bytes, cases[i].len), !cases[i].text);
		aif_utf8_put(&b, cases[i].bytes, cases[i].len);
		assert_string_equal(aif_buf_str(&b), text);
		aif_buf_finish(&b);
	}
	assert_true(aif_utf8_is_text(NULL, 0));
}

/* Opening a terminal or a FIFO, or reading a kernel's file, has side effects on others. */
static void only_regular_files_are_opened(void **state)
{
	char dir[] = "/tmp/aif-test-XXXXXX", bytes[8];
	int at, fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(at >= 0);
	fd = openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	assert_int_equal(mkfifoat(at, "fifo", 0600), 0);
	assert_int_equal(symlinkat("file", at, "link"), 0);
	assert_int_equal(symlinkat("fifo", at, "to_fifo"), 0);
	for (int i = 0; i < 2; i++) {
		fd = aif_open_regular(at, i ? "link" : "file", O_RDONLY);
		assert_true(fd >= 0);
		assert_int_equal(read(fd, bytes, sizeof(bytes)), 4);
		close(fd);
	}
	fd = aif_open_regular(at, "file", O_RDWR | O_NOFOLLOW);
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
	assert_int_equal(aif_open_regular(at, "link", O_RDONLY | O_NOFOLLOW), -EINVAL);
	assert_int_equal(aif_open_regular(at, "fifo", O_RDONLY), -EINVAL);
	assert_int_equal(aif_open_regular(at, "to_fifo", O_RDONLY), -EINVAL);
	assert_int_equal(aif_open_regular(at, ".", O_RDONLY), -EINVAL);
	assert_int_equal(aif_open_regular(at, "none", O_RDONLY), -ENOENT);
	assert_int_equal(aif_open_regular(AT_FDCWD, "/dev/null", O_RDONLY), -EINVAL);
	assert_int_equal(aif_open_regular(AT_FDCWD, "/dev/ptmx", O_RDONLY), -EINVAL);
	assert_int_equal(aif_open_regular(AT_FDCWD, "/proc/version", O_RDONLY), -EINVAL);
	unlinkat(at, "file", 0);
	unlinkat(at, "fifo", 0);
	unlinkat(at, "link", 0);
	unlinkat(at, "to_fifo", 0);
	close(at);
	rmdir(dir);
}

static void the_last_descriptors_are_kept(void **state)
{
	struct rlimit limit, low;
	int fd, n = 0, fds[64];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	while ((fd = aif_open_spare(open("/dev/null", O_RDONLY | O_CLOEXEC))) >= 0)
		fds[n++] = fd;
	assert_int_equal(fd, -EMFILE);
	assert_true(n > 0);
	assert_true(fds[n - 1] < 56);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* there are some left */
	assert_true(fd >= 0);
	close(fd);
	while (n)
		close(fds[--n]);
	assert_int_equal(aif_open_spare(-ENOENT), -ENOENT);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The function of torch/profiler/profiler.py (2.7). RECORD_AND_SAVE, the last step of a cycle, is RECORD here. */
static enum aif_schedule_action torch_schedule(uint32_t wait, uint32_t warmup, uint32_t active,
					       uint32_t repeat, uint32_t skip_first, uint32_t step)
{
	uint32_t num_steps = wait + warmup + active, mod_step;

	if (step < skip_first)
		return AIF_SCHEDULE_NONE;
	step -= skip_first;
	if (repeat > 0 && (double)step / num_steps >= repeat)
		return AIF_SCHEDULE_NONE;
	mod_step = step % num_steps;
	if (mod_step < wait)
		return AIF_SCHEDULE_NONE;
	return mod_step < wait + warmup ? AIF_SCHEDULE_WARMUP : AIF_SCHEDULE_ACTIVE;
}

/* Checks all steps of a schedule, and that recording is on in each step that is not to be left out. */
static void check_schedule(const struct aif_schedule *s)
{
	uint64_t cycle = 0;

	for (uint32_t step = 0; step < 60; step++) {
		enum aif_schedule_action got = aif_schedule_action(s, step);

		assert_int_equal(got, torch_schedule(s->wait, s->warmup, s->active, s->repeat,
						     s->skip, step));
		assert_true(got == AIF_SCHEDULE_NONE || aif_schedule_is_on(s, step + 1));
		assert_true(got != AIF_SCHEDULE_ACTIVE || aif_schedule_is_on(s, step));
		assert_false(aif_schedule_is_over(s, step) && got != AIF_SCHEDULE_NONE);
		if (got == AIF_SCHEDULE_ACTIVE && step == aif_schedule_first(s, cycle))
			assert_int_equal(aif_schedule_cycle(s, step), cycle++);
	}
	assert_true(!s->repeat || cycle <= s->repeat);
	assert_true(cycle >= (s->repeat ? AIF_MIN(s->repeat, 4u) : 4));
}

static void schedules_are_those_of_torch(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4 * 4 * 4 * 4 * 4; i++)
		check_schedule(&(struct aif_schedule){.wait = i & 3,
						      .warmup = i >> 2 & 3,
						      .active = (i >> 4 & 3) + 1,
						      .repeat = i >> 6 & 3,
						      .skip = i >> 8 & 3});
	/* Without one all is recorded; until the program marks a step, what it may be found in. */
	assert_true(aif_schedule_is_on(&(struct aif_schedule){.active = 0}, 4711));
	assert_false(aif_schedule_is_on(&(struct aif_schedule){.wait = 5, .active = 1}, 0));
	assert_true(aif_schedule_is_on(
		&(struct aif_schedule){.wait = 5, .active = 1, .is_for_unmarked = 1}, 0));
	assert_false(aif_schedule_is_on(
		&(struct aif_schedule){.wait = 5, .active = 1, .is_for_unmarked = 1}, 1));
}

static void a_number_that_may_be_anything_has_a_whole_part(void **state)
{
	(void)state;
	assert_int_equal(aif_u64_of(2.9), 2);
	assert_int_equal(aif_u64_of(-1), 0);
	assert_int_equal(aif_u64_of(NAN), 0);
	assert_true(aif_u64_of(0x1p63) == UINT64_C(1) << 63);
	assert_true(aif_u64_of(0x1p64) == UINT64_MAX);
	assert_true(aif_u64_of(1e30) == UINT64_MAX);
	assert_true(aif_u64_of(INFINITY) == UINT64_MAX);
}

/* Asks for each index, with each one before it. */
static void an_index_is_found_from_near_and_far(void **state)
{
	(void)state;
	for (size_t n = 0; n < 20; n++)
		for (size_t at = 0; at <= n; at++)
			for (size_t near = 0; near < n + 3; near++)
				assert_int_equal(AIF_BISECT_NEAR(i, n, near, i < at), at);
}

static void an_index_near_the_one_before_takes_few_looks(void **state)
{
	size_t looks = 0, near = 0;

	(void)state;
	for (size_t at = 0; at < 1000000; at += 3)
		near = AIF_BISECT_NEAR(i, (size_t)1000000, near, (looks++, i < at));
	assert_int_equal(near, 999999);
	assert_true(looks < 6 * 1000000 / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_that_may_be_anything_has_a_whole_part),
		cmocka_unit_test(map_keeps_every_key),
		cmocka_unit_test(strset_gives_dense_ids_once),
		cmocka_unit_test(buf_failure_is_sticky),
		cmocka_unit_test(words_are_quoted_for_the_shell),
		cmocka_unit_test(a_file_is_no_option),
		cmocka_unit_test(err_returns_its_code),
		cmocka_unit_test(reasons_are_unique_and_told),
		cmocka_unit_test(reasons_are_said_of_one_and_of_many),
		cmocka_unit_test(build_ids_are_found_among_hostile_notes),
		cmocka_unit_test(stat_is_read_behind_any_name),
		cmocka_unit_test(root_of_a_user_namespace_is_no_administrator),
		cmocka_unit_test(a_clock_is_read_until_it_was_quick),
		cmocka_unit_test(a_clock_that_is_gone_says_nothing),
		cmocka_unit_test(any_bytes_become_utf8),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(the_last_descriptors_are_kept),
		cmocka_unit_test(schedules_are_those_of_torch),
		cmocka_unit_test(an_index_is_found_from_near_and_far),
		cmocka_unit_test(an_index_near_the_one_before_takes_few_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
