/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/modfiles.h"
#include "record/listener.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A recorder's desk, and agents that are slow to speak or to listen. */
struct world {
	struct aif_store store;
	struct aif_modfiles files;
	struct aif_record_opts opts;
	struct aif_attach attach;
	struct aif_listener listener;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->attach = (struct aif_attach){.dir = -1, .about = -1, .owner = geteuid()};
	assert_int_equal(aif_store_init(&w->store, 0), 0);
	assert_int_equal(aif_modfiles_init(&w->files), 0);
	assert_int_equal(aif_listener_open(&w->listener, &w->store, &w->opts, &w->attach, NULL), 0);
	assert_int_equal(
		aif_drain_thread_new(&w->store, &w->files, &w->opts, &w->listener.drain, NULL), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	struct aif_drain_stats stats;

	aif_drain_thread_finish(w->listener.drain, &stats);
	aif_listener_close(&w->listener);
	aif_attach_close(&w->attach);
	aif_modfiles_finish(&w->files);
	aif_store_finish(&w->store);
	free(w);
	return 0;
}

static int comes(struct world *w)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(addr.sun_path, w->listener.socket, sizeof(addr.sun_path));
	assert_int_equal(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

static void says(struct world *w, int sock, uint32_t kind)
{
	struct aif_hello hello = {
		.magic = AIF_WIRE_MAGIC, .version = AIF_WIRE_VERSION, .kind = kind};

	memcpy(hello.token, w->listener.token, sizeof(hello.token));
	assert_int_equal(send(sock, &hello, AIF_HELLO_FIXED, MSG_NOSIGNAL), AIF_HELLO_FIXED);
}

static void says_hello(struct world *w, int sock)
{
	says(w, sock, AIF_HELLO_RUNTIME);
}

static bool has_answer(int sock)
{
	struct aif_hello_reply answer;

	return recv(sock, &answer, sizeof(answer), MSG_DONTWAIT) == (ssize_t)sizeof(answer) &&
	       answer.status == AIF_HELLO_REPLY_OK;
}

static bool is_ready(struct world *w)
{
	return poll(&(struct pollfd){.fd = w->listener.fd, .events = POLLIN}, 1, 0) == 1;
}

/* Returns how often an agent could not reach us, with these words. */
static uint64_t failed(struct world *w, const char *why)
{
	uint64_t n = 0;

	pthread_mutex_lock(&w->store.lock);
	for (size_t i = 0; i < w->store.p.losses_len; i++) {
		const struct aif_loss *l = &w->store.p.losses[i];

		if (l->reason == AIF_REASON_HANDSHAKE_FAILED &&
		    !strcmp(aif_profile_str(&w->store.p, l->detail), why))
			n += l->count;
	}
	pthread_mutex_unlock(&w->store.lock);
	return n;
}

/* An agent that loses its CPU between connecting and its hello is answered when it speaks; others are answered
 * meanwhile. */
static void who_is_slow_to_speak_is_waited_for(void **state)
{
	struct world *w = *state;
	int slow = comes(w), quick;

	assert_true(is_ready(w));
	aif_listener_accept(&w->listener);
	assert_false(is_ready(w));
	quick = comes(w);
	says_hello(w, quick);
	aif_listener_accept(&w->listener);
	assert_true(has_answer(quick));
	usleep(150000);
	aif_listener_accept(&w->listener);
	assert_false(has_answer(slow));
	says_hello(w, slow);
	assert_true(is_ready(w)); /* it need not wait for the next look */
	aif_listener_accept(&w->listener);
	assert_true(has_answer(slow));
	assert_int_equal(w->listener.pending_len, 0);
	assert_int_equal(w->store.p.losses_len, 0);
	close(slow);
	close(quick);
}

/* An agent was given the memory and could not map it. */
static void what_an_agent_could_not_do_is_a_reason(void **state)
{
	struct world *w = *state;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_FAILED,
				  .error = ENOMEM};
	int given = comes(w);

	says_hello(w, given);
	aif_listener_accept(&w->listener);
	assert_true(has_answer(given));
	close(given);
	memcpy(hello.token, w->listener.token, sizeof(hello.token));
	assert_int_equal(aif_hello_send(w->listener.socket, &hello, 10000, NULL), 0);
	aif_listener_accept(&w->listener);
	assert_int_equal(failed(w, "Cannot allocate memory"), 1);
	assert_int_equal(w->store.p.processes_len, 1);
	hello.error = UINT32_MAX; /* nonsense is a number, and no more */
	assert_int_equal(aif_hello_send(w->listener.socket, &hello, 10000, NULL), 0);
	aif_listener_accept(&w->listener);
	assert_int_equal(failed(w, "Unknown error 4095"), 1);
}

/* A process whose first hello is read late, when it has said the second, is one process, and stays the one it was. */
static void two_hellos_of_a_process_are_heard_in_order(void **state)
{
	struct world *w = *state;
	int carrier = comes(w), runtime;

	aif_listener_accept(&w->listener);
	says(w, carrier, AIF_HELLO_CARRIER);
	runtime = comes(w);
	says_hello(w, runtime);
	aif_listener_accept(&w->listener);
	assert_true(has_answer(runtime));
	assert_int_equal(w->listener.pending_len, 0);
	assert_int_equal(aif_listener_processes(&w->listener), 1);
	close(carrier);
	close(runtime);
}

static void who_does_not_wait_for_the_answer_is_counted(void **state)
{
	struct world *w = *state;
	int sock = comes(w);

	says_hello(w, sock);
	close(sock);
	aif_listener_accept(&w->listener);
	assert_int_equal(failed(w, "it had stopped waiting"), 1);
	assert_int_equal(w->store.p.losses[0].process, 0);
}

static void who_never_speaks_is_counted(void **state)
{
	struct world *w = *state;
	int silent[AIF_PENDING_CONNECTIONS + 1], sock = comes(w);

	/* long enough ago */
	aif_listener_accept(&w->listener);
	assert_int_equal(w->listener.pending_len, 1);
	w->listener.pending[0].since_ns -= 11 * AIF_NS_PER_S;
	aif_listener_accept(&w->listener);
	assert_int_equal(w->listener.pending_len, 0);
	assert_int_equal(failed(w, "it connected and said nothing"), 1);
	close(sock);
	/* too many: the oldest makes room */
	for (unsigned i = 0; i < AIF_ARRAY_LEN(silent); i++)
		silent[i] = comes(w);
	aif_listener_accept(&w->listener);
	assert_int_equal(w->listener.pending_len, AIF_PENDING_CONNECTIONS);
	assert_int_equal(failed(w, "it connected and said nothing"), 2);
	/* A connection that closes without a word is no loss. */
	for (unsigned i = 0; i < AIF_ARRAY_LEN(silent); i++)
		close(silent[i]);
	aif_listener_accept(&w->listener);
	assert_int_equal(w->listener.pending_len, 0);
	assert_int_equal(failed(w, "it connected and said nothing"), 2);
}

/* A process with a runtime; where it is in the store. */
static size_t lives(struct world *w, pid_t *ret_pid)
{
	size_t at = aif_listener_processes(&w->listener);
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		says_hello(w, comes(w));
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	while (aif_listener_processes(&w->listener) == at) {
		poll(&(struct pollfd){.fd = w->listener.fd, .events = POLLIN}, 1, 10);
		aif_listener_accept(&w->listener);
	}
	*ret_pid = pid;
	return at;
}

static uint64_t end_of(struct world *w, size_t process)
{
	uint64_t end = 0;

	while (!end) {
		usleep(1000);
		pthread_mutex_lock(&w->store.lock);
		end = w->store.p.processes[process].end_ns;
		pthread_mutex_unlock(&w->store.lock);
	}
	return end;
}

/* Ends are seen at once, not at the next look, of which there is one each 100 ms: as the last look was when the end
 * before was seen, it would not find one within half of that. On a busy machine some of ours are not, either. */
static void an_end_is_seen_at_once(void **state)
{
	struct world *w = *state;
	bool prompt = false;

	for (int i = 0; i < 20 && !prompt; i++) {
		uint64_t killed, end;
		size_t at;
		pid_t pid;

		at = lives(w, &pid);
		killed = aif_now_ns();
		kill(pid, SIGKILL);
		end = end_of(w, at);
		waitpid(pid, NULL, 0);
		assert_true(end >= killed);
		prompt = i && end - killed < 50 * 1000 * 1000;
	}
	assert_true(prompt);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

/* Plays a process that is told what CUPTI may be asked, tells what it asks, and ends. False: it was told something
 * else. */
static bool uses_cupti(struct world *w)
{
	struct aif_hello hello = {
		.magic = AIF_WIRE_MAGIC, .version = AIF_WIRE_VERSION, .kind = AIF_HELLO_RUNTIME};
	struct aif_shm *shm;
	uint64_t size;
	int fd;

	memcpy(hello.token, w->listener.token, sizeof(hello.token));
	if (aif_hello_send(w->listener.socket, &hello, 10000, &fd) < 0 ||
	    aif_shm_map(fd, &shm, &size) < 0)
		return false;
	if (shm->cupti != AIF_CUPTI_USE_THROUGHOUT || shm->cupti_crashes[0].id[0] != 0xab ||
	    shm->cupti_crashes[0].use != AIF_CUPTI_USE_BLOCKS || shm->cupti_crashes[1].use)
		return false;
	shm->cupti_id[19] = 0xcd;
	shm->cupti_version = 130000;
	shm->cupti_use = AIF_CUPTI_USE_THROUGHOUT;
	return true;
}

static void what_cupti_is_asked_goes_to_and_fro(void **state)
{
	struct world *w = *state;
	struct aif_drain_stats stats;
	siginfo_t info = {0};
	pid_t pid;

	w->opts.cupti = AIF_CUPTI_USE_THROUGHOUT;
	w->listener.crashes[0] =
		(struct aif_cupti_crash){.id = {0xab}, .use = AIF_CUPTI_USE_BLOCKS};
	w->listener.crashes_len = 1;
	pid = fork();
	if (pid == 0)
		_exit(uses_cupti(w) ? 0 : 1);
	assert_true(pid > 0);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid) {
		poll(&(struct pollfd){.fd = w->listener.fd, .events = POLLIN}, 1, 10);
		aif_listener_accept(&w->listener);
	}
	assert_int_equal(info.si_status, 0);
	end_of(w, 0);
	waitpid(pid, NULL, 0);
	aif_drain_thread_finish(w->listener.drain, &stats);
	assert_int_equal(
		aif_drain_thread_new(&w->store, &w->files, &w->opts, &w->listener.drain, NULL), 0);
	assert_int_equal(stats.cupti_len, 1);
	assert_int_equal(stats.cupti[0].pid, pid);
	assert_int_equal(stats.cupti[0].process, 0);
	assert_true(stats.cupti[0].ended && stats.cupti[0].its.in_use);
	assert_int_equal(stats.cupti[0].its.use, AIF_CUPTI_USE_THROUGHOUT);
	assert_int_equal(stats.cupti[0].its.version, 130000);
	assert_int_equal(stats.cupti[0].its.id[19], 0xcd);
}

/* A process that says hello and lives until it is killed; with the number `wanted`, if that is not 0. */
static pid_t says_and_lives(struct world *w, uint32_t kind, pid_t wanted)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
	struct aif_hello hello = {
		.magic = AIF_WIRE_MAGIC, .version = AIF_WIRE_VERSION, .kind = kind};
	int said[2], fd, sock;
	pid_t pid;
	char one;

	assert_int_equal(pipe(said), 0);
	pid = wanted ? (pid_t)syscall(SYS_clone3, &args, sizeof(args)) : fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		memcpy(hello.token, w->listener.token, sizeof(hello.token));
		if (kind == AIF_HELLO_RUNTIME) {
			strcpy(hello.runtime, "opencl");
			aif_hello_send(w->listener.socket, &hello, 10000, &fd);
		} else {
			sock = comes(w);
			says(w, sock, kind);
		}
		_exit(write(said[1], "", 1) != 1 || pause());
	}
	close(said[1]);
	for (ssize_t n = -1; pid > 0 && n < 0;) {
		aif_listener_accept(&w->listener);
		n = poll(&(struct pollfd){.fd = said[0], .events = POLLIN}, 1, 1) == 1
			    ? read(said[0], &one, 1)
			    : -1;
	}
	close(said[0]);
	aif_listener_accept(&w->listener);
	return pid;
}

static void ends(pid_t pid)
{
	assert_true(pid > 1); /* else it would be others */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static uint64_t unlisted(struct world *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->store.p.losses_len; i++)
		if (w->store.p.losses[i].reason == AIF_REASON_PROCESSES_UNLISTED)
			n += w->store.p.losses[i].count;
	return n;
}

/* A script's many processes leave a place for the one that uses the device. */
static void who_has_no_device_takes_no_place_of_who_has(void **state)
{
	struct world *w = *state;
	pid_t pid;

	w->listener.carriers_max = 3;
	for (int i = 0; i < 5; i++)
		ends(says_and_lives(w, AIF_HELLO_CARRIER, 0));
	assert_int_equal(aif_listener_processes(&w->listener), 3);
	assert_int_equal(unlisted(w), 2);
	pid = says_and_lives(w, AIF_HELLO_RUNTIME, 0);
	assert_int_equal(aif_listener_processes(&w->listener), 4);
	assert_int_equal(w->store.p.processes[3].pid, pid);
	assert_true(w->store.p.processes[3].flags & AIF_PROCESS_RUNTIME);
	ends(pid);
	assert_int_equal(unlisted(w), 2);
}

/* Adds a process of that user, if there is a place for it. */
static bool takes_a_place(struct world *w, uid_t user)
{
	const struct aif_proc_clocks clocks = {0};
	struct aif_shm *shm;
	int fd;

	if (!aif_drain_thread_has_place(w->listener.drain, user))
		return false;
	assert_int_equal(aif_shm_create(1, 4096, &shm, &fd), 0);
	close(fd);
	assert_int_equal(aif_drain_thread_add(w->listener.drain, (int)getpid(), user, -1, 0,
					      &clocks, shm, 1, 4096),
			 0);
	return true;
}

static void a_user_with_many_processes_leaves_places_to_others(void **state)
{
	const uid_t greedy = geteuid() + 1000, late = greedy + 1;
	struct world *w = *state;
	unsigned n = 0;

	while (takes_a_place(w, greedy))
		n++;
	assert_int_equal(n, AIF_DRAIN_TARGETS_MAX / 2);
	assert_true(takes_a_place(w, late));
	assert_false(takes_a_place(w, greedy));
	assert_true(takes_a_place(w, geteuid()));
}

/* The kernel gives a number to another process when the first one is gone. */
static void a_number_that_is_used_again_is_another_process(void **state)
{
	struct world *w = *state;
	pid_t pid = says_and_lives(w, AIF_HELLO_CARRIER, 0), again;

	assert_int_equal(aif_listener_processes(&w->listener), 1);
	ends(pid);
	/* The next process starts at another tick of the clock that tells processes of one number
	 * apart. */
	usleep(20 * 1000);
	w->listener.swept_ns = aif_now_ns(); /* not asked whether it has ended */
	again = says_and_lives(w, AIF_HELLO_CARRIER, pid);
	if (again < 0)
		skip(); /* only administrators choose numbers */
	assert_int_equal(again, pid);
	assert_int_equal(aif_listener_processes(&w->listener), 2);
	assert_true(w->store.p.processes[0].end_ns);
	assert_false(w->store.p.processes[1].end_ns);
	ends(pid);
	/* The end is noted, so that nothing need be compared. */
	w->listener.swept_ns = 0;
	aif_listener_accept(&w->listener);
	assert_true(w->store.p.processes[1].end_ns);
	aif_map_finish(&w->listener.starts);
	again = says_and_lives(w, AIF_HELLO_CARRIER, pid);
	assert_int_equal(again, pid);
	assert_int_equal(aif_listener_processes(&w->listener), 3);
	ends(again);
}

/* Asks as `aiflame ctl sync` does, in two steps, as on a busy machine. Returns the socket. */
static int asks_to_sync(struct world *w)
{
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_CONTROL,
				  .control = AIF_CONTROL_SYNC};
	int sock = comes(w);

	aif_listener_accept(&w->listener);
	memcpy(hello.token, w->listener.token, sizeof(hello.token));
	assert_int_equal(send(sock, &hello, AIF_HELLO_FIXED, MSG_NOSIGNAL), AIF_HELLO_FIXED);
	aif_listener_accept(&w->listener);
	return sock;
}

/* Returns the status that came, or -1. */
static int sync_status(int sock)
{
	struct aif_hello_reply answer;

	return recv(sock, &answer, sizeof(answer), MSG_DONTWAIT) == (ssize_t)sizeof(answer)
		       ? (int)answer.status
		       : -1;
}

static void a_sync_is_answered_at_the_end(void **state)
{
	struct world *w = *state;
	int whole = asks_to_sync(w), failed_one;

	assert_int_equal(w->listener.syncs.len, 1);
	assert_int_equal(sync_status(whole), -1);
	aif_syncs_finish(&w->listener.syncs, 0);
	assert_int_equal(sync_status(whole), AIF_HELLO_REPLY_COMMITTED);
	failed_one = asks_to_sync(w);
	aif_syncs_finish(&w->listener.syncs, -ENOSPC);
	assert_int_equal(sync_status(failed_one), AIF_HELLO_REPLY_FAILED);
	close(whole);
	close(failed_one);
}

/* An asker that has gone does not keep the recorder's thread awake. */
static void a_sync_whose_asker_has_gone_is_quiet(void **state)
{
	struct world *w = *state;

	close(asks_to_sync(w));
	assert_int_equal(w->listener.syncs.len, 1);
	assert_false(is_ready(w));
	aif_syncs_finish(&w->listener.syncs, 0);
}

static void too_many_syncs_are_refused(void **state)
{
	struct world *w = *state;
	int socks[AIF_SYNCS + 1];

	for (unsigned i = 0; i <= AIF_SYNCS; i++)
		socks[i] = asks_to_sync(w);
	assert_int_equal(sync_status(socks[AIF_SYNCS - 1]), -1);
	assert_int_equal(sync_status(socks[AIF_SYNCS]), AIF_HELLO_REPLY_FULL);
	aif_syncs_finish(&w->listener.syncs, 0);
	for (unsigned i = 0; i <= AIF_SYNCS; i++)
		close(socks[i]);
}

/* Reads an empty recording: nothing is waited for. */
static void the_drain_thread_syncs_without_processes(void **state)
{
	struct world *w = *state;
	unsigned flushes = aif_batches_flushes(&w->store.batches);
	uint64_t ticket = aif_drain_thread_sync(w->listener.drain);

	while (!aif_drain_thread_is_synced(w->listener.drain, ticket))
		usleep(1000);
	assert_true(aif_batches_flushes(&w->store.batches) > flushes);
	assert_false(aif_drain_thread_is_synced(w->listener.drain, ticket + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_slow_to_speak_is_waited_for),
		TEST(what_an_agent_could_not_do_is_a_reason),
		TEST(two_hellos_of_a_process_are_heard_in_order),
		TEST(who_does_not_wait_for_the_answer_is_counted),
		TEST(who_never_speaks_is_counted),
		TEST(an_end_is_seen_at_once),
		TEST(what_cupti_is_asked_goes_to_and_fro),
		TEST(who_has_no_device_takes_no_place_of_who_has),
		TEST(a_user_with_many_processes_leaves_places_to_others),
		TEST(a_number_that_is_used_again_is_another_process),
		TEST(a_sync_is_answered_at_the_end),
		TEST(a_sync_whose_asker_has_gone_is_quiet),
		TEST(too_many_syncs_are_refused),
		TEST(the_drain_thread_syncs_without_processes),
	};

	setenv("XDG_STATE_HOME", "/nowhere", 1); /* the user's own is not read */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
