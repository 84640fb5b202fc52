/* SPDX-License-Identifier: Apache-2.0 */
#include "record/family.h"
#include "record/ingest/modfiles.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILDREN 5
#define PLACES   3

/* A recorded process, which is this one, and children that it has forked. */
struct world {
	struct aif_store store;
	struct aif_modfiles files;
	struct aif_record_opts opts;
	struct aif_attach attach;
	struct aif_listener listener;
	struct aif_family family;
	pid_t children[CHILDREN];
};

/* Maps the agent into this process, by which the recorder knows who carries it, and so into its children. */
static void map_agent(void)
{
	char dir[] = "/tmp/aiflame-family-XXXXXX", path[64];
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/libaiflame-agent.so", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
	assert_ptr_not_equal(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0), MAP_FAILED);
	close(fd);
	/* The name stays readable with " (deleted)" behind it. */
	unlink(path);
	rmdir(dir);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char name[] = "test_family", *argv[] = {name, NULL};

	assert_non_null(w);
	w->attach = (struct aif_attach){.dir = -1, .about = -1, .owner = geteuid()};
	assert_int_equal(aif_store_init(&w->store, 0), 0);
	assert_int_equal(aif_modfiles_init(&w->files), 0);
	assert_int_equal(aif_listener_open(&w->listener, &w->store, &w->opts, &w->attach, NULL), 0);
	assert_int_equal(
		aif_drain_thread_new(&w->store, &w->files, &w->opts, &w->listener.drain, NULL), 0);
	aif_listener_add_command(&w->listener, (int)getpid(), argv);
	aif_family_init(&w->family, &w->listener);
	map_agent();
	for (int i = 0; i < CHILDREN; i++) {
		w->children[i] = fork();
		assert_true(w->children[i] >= 0);
		if (w->children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	struct aif_drain_stats stats;

	for (int i = 0; i < CHILDREN; i++) {
		assert_true(w->children[i] > 1); /* else it would be others */
		kill(w->children[i], SIGKILL);
		waitpid(w->children[i], NULL, 0);
	}
	aif_family_finish(&w->family);
	aif_drain_thread_finish(w->listener.drain, &stats);
	aif_listener_close(&w->listener);
	aif_attach_close(&w->attach);
	aif_modfiles_finish(&w->files);
	aif_store_finish(&w->store);
	free(w);
	return 0;
}

static void look(struct world *w, int times)
{
	for (int i = 0; i < times; i++) {
		w->family.next_ns = 0;
		aif_family_look(&w->family, aif_now_ns());
	}
}

static uint64_t unlisted(struct world *w)
{
	const struct aif_loss *l = aif_profile_loss(&w->store.p, AIF_REASON_PROCESSES_UNLISTED);

	return l ? l->count : 0;
}

static void children_are_listed(void **state)
{
	struct world *w = *state;

	look(w, 1);
	assert_int_equal(aif_listener_processes(&w->listener), 1);
	look(w, 2);
	assert_int_equal(aif_listener_processes(&w->listener), 1 + CHILDREN);
	assert_int_equal(unlisted(w), 0);
}

static void those_without_a_place_are_counted_once(void **state)
{
	struct world *w = *state;

	w->family.members_max = PLACES;
	look(w, 5);
	assert_int_equal(aif_listener_processes(&w->listener), 1 + PLACES);
	assert_int_equal(unlisted(w), CHILDREN - PLACES);
}

/* The desk counts those itself. */
static void those_that_the_desk_does_not_list_are_counted_once(void **state)
{
	struct world *w = *state;

	w->listener.carriers_max = w->listener.carriers + PLACES;
	look(w, 5);
	assert_int_equal(aif_listener_processes(&w->listener), 1 + PLACES);
	assert_int_equal(unlisted(w), CHILDREN - PLACES);
}

static void use_cpu_until(uint64_t ns)
{
	while (aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < ns)
		;
}

static void cpu_time_before_the_recording_is_left_out(void **state)
{
	const uint64_t ms = AIF_NS_PER_S / 1000;
	struct world *w = *state;
	uint64_t begin;

	w->family.begin_ns =
		aif_clock_ns(CLOCK_BOOTTIME) + AIF_NS_PER_S; /* this process is older */
	use_cpu_until(200 * ms);
	begin = aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	look(w, 1);
	use_cpu_until(begin + 100 * ms);
	look(w, 1);
	assert_in_range(w->store.p.processes[0].cpu_ns, 50 * ms,
			aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - 100 * ms);
}

static void cpu_time_of_a_process_that_the_recording_saw_begin_is_all_of_it(void **state)
{
	const uint64_t ms = AIF_NS_PER_S / 1000;
	struct world *w = *state;

	w->family.begin_ns = 0;
	use_cpu_until(200 * ms);
	look(w, 1);
	assert_true(w->store.p.processes[0].cpu_ns >= 150 * ms);
}

/* exec() keeps the process, and the clock of its CPU time. */
static void cpu_time_of_a_program_is_not_that_of_the_one_that_follows_it(void **state)
{
	const uint64_t ms = AIF_NS_PER_S / 1000;
	struct world *w = *state;
	struct aif_process *p;

	w->family.begin_ns = 0;
	use_cpu_until(300 * ms);
	look(w, 1);
	w->store.p.processes[0].end_ns = aif_now_ns();
	aif_map_put(&w->listener.by_pid, (uint64_t)getpid(), AIF_NONE);
	aif_listener_add_process(&w->listener, (int)getpid());
	assert_int_equal(aif_listener_processes(&w->listener), 2);
	use_cpu_until(aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 100 * ms);
	look(w, 1);
	p = w->store.p.processes;
	assert_in_range(p[1].cpu_ns, 50 * ms, 250 * ms);
	assert_true(p[0].cpu_ns + p[1].cpu_ns <= aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 20 * ms);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(children_are_listed),
		TEST(those_without_a_place_are_counted_once),
		TEST(cpu_time_before_the_recording_is_left_out),
		TEST(cpu_time_of_a_process_that_the_recording_saw_begin_is_all_of_it),
		TEST(cpu_time_of_a_program_is_not_that_of_the_one_that_follows_it),
		TEST(those_that_the_desk_does_not_list_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
