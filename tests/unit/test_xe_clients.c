/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_clients.h"

#include "base/clock.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* after those */
#include <cmocka.h>

/* Example of the kernel's drm-usage-stats.rst. */
static const char file[] = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t561\n"
			   "drm-driver:\txe\n"
			   "drm-client-id:\t42\n"
			   "drm-pdev:\t0000:03:00.0\n"
			   "drm-total-system:\t0\n"
			   "drm-cycles-rcs:\t28257900\n"
			   "drm-total-cycles-rcs:\t7655183225\n"
			   "drm-cycles-bcs:\t5\n"
			   "drm-total-cycles-bcs:\t7655183225\n"
			   "drm-cycles-ccs:\t100\n"
			   "drm-total-cycles-ccs:\t7655183225\n"
			   "drm-engine-capacity-ccs:\t4\n";

static void a_file_says_card_client_and_cycles(void **state)
{
	static const char *const others[] = {
		"",
		"\n\n",
		"drm-driver:",
		"drm-driver:\txe",
		"drm-driver:\ti915\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n",
		"drm-driver:\txen\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n",
		"drm-driver:\txe\ndrm-client-id:\tx\ndrm-pdev:\t0000:03:00.0\n",
		"drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t03\n",
		"drm-drivers:\txe\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n"};
	struct aif_xe_client f;

	(void)state;
	assert_true(aif_xe_client_parse(file, &f));
	assert_int_equal(f.pci, 3 << 8);
	assert_int_equal(f.id, 42);
	assert_int_equal(f.cycles, 28258000);
	assert_int_equal(f.total, 7655183225);
	assert_true(aif_xe_client_parse("drm-pdev: 0001:ff:1f.7\ndrm-client-id: 0\ndrm-driver: xe",
					&f));
	assert_int_equal(f.pci, 1 << 16 | 0xffff);
	assert_int_equal(f.cycles, 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(others); i++)
		assert_false(aif_xe_client_parse(others[i], &f));
	/* Cut short anywhere it is another file, or the same with less in it. */
	for (size_t n = 0; n < sizeof(file); n++) {
		char text[sizeof(file)];

		memcpy(text, file, n);
		text[n] = '\0';
		if (aif_xe_client_parse(text, &f))
			assert_true(f.cycles <= 28258000 && (f.id == 4 || f.id == 42));
	}
}

static int forget(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct {
	char dir[32], before[4096];
} place;

static int enter(void **state)
{
	(void)state;
	strcpy(place.dir, "/tmp/xe_clients_XXXXXX");
	return getcwd(place.before, sizeof(place.before)) && mkdtemp(place.dir) &&
			       chdir(place.dir) == 0
		       ? mkdir("proc", 0700)
		       : -1;
}

static int leave(void **state)
{
	(void)state;
	return chdir(place.before) == 0 ? nftw(place.dir, forget, 8, FTW_DEPTH | FTW_PHYS) : -1;
}

/* proc/PID with a file of a card (fd 5) and others. */
static void process(int pid, const char *name, const char *node, unsigned client, unsigned cycles)
{
	char path[200], text[300];

	snprintf(path, sizeof(path), "proc/%d", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "proc/%d/fd", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "proc/%d/fdinfo", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	snprintf(text, sizeof(text), "%s\n", name);
	put(path, text);
	snprintf(path, sizeof(path), "proc/%d/fd/5", pid);
	assert_true(symlink(node, path) == 0 || errno == EEXIST);
	snprintf(path, sizeof(path), "proc/%d/fd/6", pid);
	assert_true(symlink("/dev/null", path) == 0 || errno == EEXIST);
	snprintf(
		text, sizeof(text),
		"drm-driver:\txe\ndrm-client-id:\t%u\ndrm-pdev:\t0000:03:00.0\ndrm-cycles-rcs:\t%u\ndrm-total-cycles-rcs:\t%u\n",
		client, cycles, 10 * cycles);
	snprintf(path, sizeof(path), "proc/%d/fdinfo/5", pid);
	put(path, text);
	snprintf(path, sizeof(path), "proc/%d/fdinfo/6", pid);
	put(path, text);
}

static void what_was_used_since_the_look_before(void **state)
{
	struct aif_xe_clients c = {.pids_len = 0};
	struct aif_xe_use u[4];
	uint64_t now = 100 * AIF_NS_PER_S;

	(void)state;
	mkdir("proc/self", 0700);
	process(10, "game", "/dev/dri/renderD128", 1, 1000);
	process(11, "idle", "/dev/dri/card0", 2, 5);
	process(12, "other", "/dev/tty", 3, 5);
	/* The first look has nothing to compare with. */
	assert_int_equal(aif_xe_clients_look(&c, "proc", now, u, 4), 0);
	process(10, "game", "/dev/dri/renderD128", 1, 1250);
	process(12, "other", "/dev/tty", 3, 50);
	now += AIF_NS_PER_S;
	assert_int_equal(aif_xe_clients_look(&c, "proc", now, u, 4), 1);
	assert_int_equal(u[0].pid, 10);
	assert_int_equal(u[0].pci, 3 << 8);
	assert_int_equal(u[0].cycles, 250);
	assert_int_equal(u[0].total, 2500);
	assert_string_equal(u[0].name, "game");
	/* A child has the same file. New processes are seen when all are gone through. */
	process(13, "child", "/dev/dri/renderD128", 1, 1250);
	process(14, "late", "/dev/dri/renderD128", 4, 77);
	now += AIF_NS_PER_S;
	assert_int_equal(aif_xe_clients_look(&c, "proc", now, u, 4), 0);
	now += 10 * AIF_NS_PER_S;
	assert_int_equal(aif_xe_clients_look(&c, "proc", now, u, 4), 1);
	assert_int_equal(u[0].pid, 14);
	assert_int_equal(u[0].cycles, 77);
	assert_int_equal(u[0].total, 0); /* since when it is not known */
	/* A count that went back is another's. */
	process(14, "late", "/dev/dri/renderD128", 4, 7);
	now += AIF_NS_PER_S;
	assert_int_equal(aif_xe_clients_look(&c, "proc", now, u, 4), 0);
	process(14, "late", "/dev/dri/renderD128", 4, 9);
	process(10, "game", "/dev/dri/renderD128", 1, 1251);
	assert_int_equal(aif_xe_clients_look(&c, "proc", now, u, 1), 1);
	assert_int_equal(aif_xe_clients_look(&c, "nowhere", now + 10 * AIF_NS_PER_S, u, 4), 0);
	aif_xe_clients_finish(&c);
}

/* Some of many processes are looked at each time, until all were. */
static void many_are_looked_at_by_and_by(void **state)
{
	enum { MANY = 2 * AIF_XE_CLIENTS_AT_ONCE };
	struct aif_xe_clients c = {.pids_len = 0};
	struct aif_xe_use u[4];
	uint64_t now = 100 * AIF_NS_PER_S;
	char path[64];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "proc/%d", 1000000 + i);
		mkdir(path, 0700);
	}
	process(999999, "first", "/dev/dri/card0", 1, 1000);
	process(2000000, "last", "/dev/dri/card0", 2, 1000);
	assert_int_equal(aif_xe_clients_look(&c, "proc", now, u, 4), 0);
	assert_int_equal(c.pids_len, 1);
	/* The first one is known by now. What the last one did is not: it may be older. */
	process(999999, "first", "/dev/dri/card0", 1, 1001);
	process(2000000, "last", "/dev/dri/card0", 2, 1500);
	assert_int_equal(aif_xe_clients_look(&c, "proc", ++now, u, 4), 1);
	assert_int_equal(u[0].pid, 999999);
	assert_false(c.has_looked);
	assert_int_equal(aif_xe_clients_look(&c, "proc", ++now, u, 4), 0);
	assert_true(c.has_looked);
	assert_int_equal(c.pids_len, 2);
	process(2000000, "last", "/dev/dri/card0", 2, 1600);
	assert_int_equal(aif_xe_clients_look(&c, "proc", ++now, u, 4), 1);
	assert_int_equal(u[0].pid, 2000000);
	assert_int_equal(u[0].cycles, 100);
	/* A process that has ended is forgotten. */
	assert_int_equal(nftw("proc/999999", forget, 8, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(aif_xe_clients_look(&c, "proc", ++now, u, 4), 0);
	assert_int_equal(c.pids_len, 1);
	aif_xe_clients_finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_says_card_client_and_cycles),
		cmocka_unit_test_setup_teardown(what_was_used_since_the_look_before, enter, leave),
		cmocka_unit_test_setup_teardown(many_are_looked_at_by_and_by, enter, leave),
	};

	return cmocka_run_group_tests_name("xe_clients", tests, NULL, NULL);
}
