/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "wire/handshake.h"
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define SLOTS     2u
#define RING_SIZE (UINT64_C(128) << 10)

struct memory {
	struct aif_shm *shm;
	int fd;
	struct aif_ring ring;
	struct aif_drain drain;
	uint64_t scratch[AIF_WIRE_MAX_RECORD / 8];
};

static void memory_open(struct memory *m)
{
	memset(m, 0, sizeof(*m));
	assert_int_equal(aif_shm_create(SLOTS, RING_SIZE, &m->shm, &m->fd), 0);
	aif_ring_init(&m->ring, aif_shm_slot(m->shm, 1), aif_shm_ring(m->shm, SLOTS, RING_SIZE, 1),
		      RING_SIZE);
}

static void memory_close(struct memory *m)
{
	munmap(m->shm, aif_shm_size(SLOTS, RING_SIZE));
	close(m->fd);
}

static bool put_launch(struct aif_ring *ring, uint64_t n)
{
	struct aif_wire_launch *l = aif_ring_reserve(ring, AIF_WIRE_LAUNCH, sizeof(*l));

	if (!l)
		return false;
	l->time = n;
	l->launch = ~n;
	l->stack = l->stream = l->kernel = l->shape = 0;
	aif_ring_commit(ring);
	return true;
}

static bool put_stack(struct aif_ring *ring, uint32_t depth, uint64_t first)
{
	struct aif_wire_stack *s =
		aif_ring_reserve(ring, AIF_WIRE_STACK, sizeof(*s) + depth * sizeof(uint64_t));

	if (!s)
		return false;
	s->depth = depth;
	s->stop = 0;
	for (uint32_t i = 0; i < depth; i++)
		s->pcs[i] = first + i;
	aif_ring_commit(ring);
	return true;
}

struct counted {
	uint64_t launches, stacks, next, wrong;
};

static void count(void *arg, const void *record)
{
	const struct aif_wire_head *h = record;
	struct counted *c = arg;

	if (h->type == AIF_WIRE_LAUNCH) {
		const struct aif_wire_launch *l = record;

		c->wrong += l->time != c->next || l->launch != ~c->next;
		c->next++;
		c->launches++;
	} else if (h->type == AIF_WIRE_STACK) {
		const struct aif_wire_stack *s = record;

		for (uint32_t i = 0; i < s->depth; i++)
			c->wrong += s->pcs[i] != s->pcs[0] + i;
		c->stacks++;
	} else {
		c->wrong++;
	}
}

static size_t drain(struct memory *m, struct counted *c)
{
	return aif_ring_drain(&m->drain, aif_shm_slot(m->shm, 1),
			      aif_shm_ring(m->shm, SLOTS, RING_SIZE, 1), RING_SIZE, m->scratch,
			      sizeof(m->scratch), UINT64_MAX, count, c);
}

static void records_come_out_in_order_over_many_wraps(void **state)
{
	static struct memory m;
	struct counted c = {0};
	uint64_t n = 0, stacks = 0;

	(void)state;
	memory_open(&m);
	for (int round = 0; round < 400; round++) {
		while (put_launch(&m.ring, n)) {
			n++;
			if (n % 97 == 0)
				stacks += put_stack(&m.ring, 1 + (uint32_t)(n % 300), n);
		}
		drain(&m, &c);
	}
	assert_true(n > 100000);
	assert_int_equal(c.launches, n);
	assert_int_equal(c.stacks, stacks);
	assert_int_equal(c.wrong, 0);
	assert_int_equal(m.drain.bad, 0);
	memory_close(&m);
}

static void a_full_ring_refuses_and_recovers(void **state)
{
	static struct memory m;
	struct counted c = {0};
	uint64_t n = 0;

	(void)state;
	memory_open(&m);
	while (put_launch(&m.ring, n))
		n++;
	assert_true(n * sizeof(struct aif_wire_launch) <= RING_SIZE);
	assert_true((n + 2) * sizeof(struct aif_wire_launch) > RING_SIZE);
	drain(&m, &c);
	assert_true(put_launch(&m.ring, n));
	drain(&m, &c);
	assert_int_equal(c.launches, n + 1);
	assert_int_equal(c.wrong, 0);
	memory_close(&m);
}

/* Records of a hostile target: each must be survived, counted, and left behind. */
static void nonsense_is_skipped_and_counted(void **state)
{
	static struct memory m;
	struct counted c = {0};
	struct aif_slot *slot;
	uint8_t *body;

	(void)state;
	memory_open(&m);
	slot = aif_shm_slot(m.shm, 1);
	body = aif_shm_ring(m.shm, SLOTS, RING_SIZE, 1);

	atomic_store(&slot->head, 8 * RING_SIZE); /* more than a ring holds */
	drain(&m, &c);
	assert_int_equal(m.drain.bad, 1);
	atomic_store(&slot->head, 8 * RING_SIZE + 4); /* not a multiple of 8 */
	drain(&m, &c);
	assert_int_equal(m.drain.bad, 2);

	m.drain = (struct aif_drain){0};
	atomic_store(&slot->head, 0);
	atomic_store(&slot->tail, 0);
	aif_ring_init(&m.ring, slot, body, RING_SIZE);
	for (int kind = 0; kind < 5; kind++) {
		uint64_t at = m.ring.head & (RING_SIZE - 1), bad = m.drain.bad;
		struct aif_wire_head *h = (void *)(body + at);

		put_stack(&m.ring, 4, 100);
		switch (kind) {
		case 0:
			h->words = 0;
			break;
		case 1:
			h->words = 60000;
			break;
		case 2:
			h->type = AIF_WIRE_COUNT;
			break;
		case 3:
			((struct aif_wire_stack *)h)->depth = UINT32_MAX;
			break;
		default:
			((struct aif_wire_stack *)h)->depth = 3; /* disagrees with the size */
		}
		drain(&m, &c);
		assert_int_equal(m.drain.bad, bad + 1);
		assert_int_equal(c.stacks, 0);
	}
	assert_true(put_launch(&m.ring, 0)); /* and the ring works again */
	drain(&m, &c);
	assert_int_equal(c.launches, 1);
	assert_int_equal(c.wrong, 0);
	memory_close(&m);
}

static void *produce(void *arg)
{
	struct memory *m = arg;

	for (uint64_t n = 0; n < 300000;)
		if (put_launch(&m->ring, n))
			n++;
		else
			sched_yield();
	return NULL;
}

/* Also what ThreadSanitizer looks at. */
static void two_threads_agree(void **state)
{
	static struct memory m;
	struct counted c = {0};
	pthread_t producer;

	(void)state;
	memory_open(&m);
	pthread_create(&producer, NULL, produce, &m);
	while (c.launches < 300000)
		if (!drain(&m, &c))
			sched_yield();
	pthread_join(producer, NULL);
	assert_int_equal(c.wrong, 0);
	assert_int_equal(m.drain.bad, 0);
	memory_close(&m);
}

/* Linux can map a page's file once more; qemu, which runs programs of other processors, cannot. */
static bool can_map_again(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *again = mremap(page, 0, 4096, MREMAP_MAYMOVE);

	munmap(page, 4096);
	return again != MAP_FAILED && munmap(again, 4096) == 0;
}

static void memory_cannot_be_resized(void **state)
{
	static struct memory m;
	struct aif_shm *again;
	uint64_t size;
	int plain;

	(void)state;
	memory_open(&m);
	assert_int_equal(ftruncate(m.fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(m.fd, 1 << 30), -1);
	assert_int_equal(aif_shm_map(m.fd, &again, &size), 0);
	assert_true(size < RING_SIZE + aif_shm_rings_at(SLOTS)); /* the tables, no ring */
	memset(aif_shm_ring(m.shm, SLOTS, RING_SIZE, 1), 'r', RING_SIZE);
	for (int twice = 0; twice < 2 && can_map_again(); twice++) {
		uint8_t *ring = aif_shm_map_ring(again, SLOTS, RING_SIZE, 1);

		assert_non_null(ring);
		assert_int_equal(ring[0], 'r');
		assert_int_equal(ring[RING_SIZE - 1], 'r');
		ring[RING_SIZE / 2] = 'w';
		assert_int_equal(aif_shm_ring(m.shm, SLOTS, RING_SIZE, 1)[RING_SIZE / 2], 'w');
		munmap(ring, RING_SIZE);
	}
	munmap(again, size);
	m.shm->slots = 1000; /* disagrees with the file's size */
	assert_int_equal(aif_shm_map(m.fd, &again, &size), -EPROTO);
	m.shm->slots = SLOTS;
	m.shm->version++;
	assert_int_equal(aif_shm_map(m.fd, &again, &size), -EPROTO);
	plain = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (plain >= 0) { /* no seals: its pages could be taken away under us */
		assert_int_equal(ftruncate(plain, 1 << 20), 0);
		assert_true(aif_shm_map(plain, &again, &size) < 0);
		close(plain);
	}
	memory_close(&m);
}

static void every_record_is_judged_by_its_size(void **state)
{
	uint64_t space[AIF_WIRE_MAX_RECORD / 8 + 1];
	char text[512];

	(void)state;
	for (unsigned type = 0; type < AIF_WIRE_COUNT + 2; type++) {
		unsigned valid = 0;

		for (size_t words = 0; words <= 9; words++) {
			struct aif_wire_head *h = (void *)space;

			memset(space, 0, sizeof(space));
			h->type = (uint16_t)type;
			h->words = (uint16_t)words;
			if (!aif_wire_valid(space, words * 8))
				continue;
			valid++;
			assert_true(aif_wire_dump(space, text, sizeof(text)) > 0);
			assert_false(aif_wire_valid(space, words * 8 - 8));
			assert_false(aif_wire_valid(space, words * 8 + 8));
		}
		/* All lengths zero: exactly one size fits, but for padding, where any does. */
		assert_int_equal(valid, type == AIF_WIRE_PAD ? 9 : type < AIF_WIRE_COUNT);
	}
}

struct door {
	int listener, fd;
	enum aif_hello_status status;
	struct aif_hello got;
	ssize_t len;
};

static void *answer(void *arg)
{
	struct door *d = arg;
	int sock = accept(d->listener, NULL, NULL);

	d->len = recv(sock, &d->got, sizeof(d->got), 0);
	aif_hello_reply_send(sock, d->status, d->status == AIF_HELLO_REPLY_OK ? d->fd : -1);
	close(sock);
	return NULL;
}

static int highest_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void ignore(int sig)
{
	(void)sig;
}

static void hello_brings_the_memory(void **state)
{
	const struct itimerval often = {{.tv_usec = 3000}, {.tv_usec = 3000}};
	struct aif_hello hello = {
		.magic = AIF_WIRE_MAGIC, .version = AIF_WIRE_VERSION, .kind = AIF_HELLO_RUNTIME};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	static struct memory m;
	struct door d = {0};
	char dir[] = "/tmp/aiflame-test-XXXXXX";
	pthread_t t;
	int fd = -1, before;

	(void)state;
	memory_open(&m);
	assert_non_null(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", dir);
	assert_int_equal(aif_hello_send(addr.sun_path, &hello, 100, &fd), -ENOENT);
	d.listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(d.listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(d.listener, 1), 0);
	before = highest_fd();

	d.fd = m.fd;
	pthread_create(&t, NULL, answer, &d);
	assert_int_equal(aif_hello_send(addr.sun_path, &hello, 5000, &fd), 0);
	pthread_join(t, NULL);
	assert_int_equal(d.got.kind, AIF_HELLO_RUNTIME);
	assert_int_equal(d.len, AIF_HELLO_FIXED);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);

	d.status = AIF_HELLO_REPLY_TOKEN;
	pthread_create(&t, NULL, answer, &d);
	assert_int_equal(aif_hello_send(addr.sun_path, &hello, 5000, &fd), -EACCES);
	pthread_join(t, NULL);

	/* A hello without a request names the process, too. */
	hello.kind = AIF_HELLO_CARRIER;
	memcpy(hello.text, "/bin/x\0x\0y", 11);
	hello.text_len = 11;
	pthread_create(&t, NULL, answer, &d);
	assert_int_equal(aif_hello_send(addr.sun_path, &hello, 5000, &fd), 0);
	pthread_join(t, NULL);
	assert_int_equal(d.len, AIF_HELLO_FIXED + 11);
	assert_memory_equal(d.got.text, hello.text, 11);
	hello.kind = AIF_HELLO_RUNTIME;

	/* Without an answer the wait is bounded, and no descriptor stays. */
	assert_int_equal(aif_hello_send(addr.sun_path, &hello, 50, &fd), -EAGAIN);
	assert_int_equal(highest_fd(), before);
	/* Signals that come sooner than the wait is over do not prolong it without end. */
	assert_int_equal(sigaction(SIGALRM, &(struct sigaction){.sa_handler = ignore}, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(aif_hello_send(addr.sun_path, &hello, 200, &fd), -EAGAIN);
	assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){{0}, {0}}, NULL), 0);
	assert_int_equal(highest_fd(), before);
	close(d.listener);
	unlink(addr.sun_path);
	rmdir(dir);
	memory_close(&m);
}

static void *give_order(void *arg)
{
	struct memory *m = arg;

	usleep(50000);
	aif_shm_order(m->shm, AIF_COMMAND_STOP);
	return NULL;
}

static void an_order_is_learnt_of_at_once(void **state)
{
	uint64_t began;
	struct memory m;
	pthread_t recorder;

	(void)state;
	memory_open(&m);
	aif_shm_order(m.shm, AIF_COMMAND_RUN);
	began = aif_now_ns();
	aif_shm_await_order(m.shm, AIF_COMMAND_RUN, 20 * 1000 * 1000);
	assert_true(aif_now_ns() - began >= 20 * 1000 * 1000);
	assert_int_equal(pthread_create(&recorder, NULL, give_order, &m), 0);
	aif_shm_await_order(m.shm, AIF_COMMAND_RUN, 60 * AIF_NS_PER_S);
	assert_int_equal(atomic_load(&m.shm->command), AIF_COMMAND_STOP);
	aif_shm_await_order(m.shm, AIF_COMMAND_RUN, 60 * AIF_NS_PER_S);
	assert_true(aif_now_ns() - began < 30 * AIF_NS_PER_S);
	pthread_join(recorder, NULL);
	memory_close(&m);
}

/* Ranges follow one another without a hole, and each time is in its own. */
static void times_have_ranges(void **state)
{
	(void)state;
	assert_int_equal(aif_shm_time(0), 0);
	assert_int_equal(aif_shm_time(UINT64_MAX), AIF_SHM_TIMES - 1);
	for (unsigned i = 1; i < AIF_SHM_TIMES; i++) {
		assert_int_equal(aif_shm_time(aif_shm_time_from(i)), i);
		assert_int_equal(aif_shm_time(aif_shm_time_from(i) - 1), i - 1);
	}
	assert_int_equal(aif_shm_time_from(4 * 5), 1024);
	assert_int_equal(aif_shm_time_from(4 * 5 + 1), 1280);
}

static void stamps_are_shifted_and_nothing_else(void **state)
{
	struct aif_wire_launch launch = {
		.head = {.type = AIF_WIRE_LAUNCH}, .time = 500, .launch = 7, .bytes = 9};
	struct aif_wire_clock clock = {
		.head = {.type = AIF_WIRE_CLOCK}, .before = 1, .after = 2, .value = 3};
	struct aif_wire_exec exec = {
		.head = {.type = AIF_WIRE_EXEC}, .launch = 7, .start = 10, .end = 20};
	struct aif_wire_mark step = {.head = {.type = AIF_WIRE_MARK, .aux = AIF_MARK_STEP},
				     .time = 500,
				     .number = 4},
			     call = step;

	(void)state;
	call.head.aux = AIF_MARK_CALL;
	aif_wire_shift(&launch, (uint64_t)-100);
	assert_int_equal(launch.time, 400);
	assert_int_equal(launch.launch, 7);
	assert_int_equal(launch.bytes, 9);
	aif_wire_shift(&clock, 100);
	assert_int_equal(clock.before, 101);
	assert_int_equal(clock.after, 102);
	assert_int_equal(clock.value, 3);
	aif_wire_shift(&exec, 100);
	assert_int_equal(exec.start, 10);
	assert_int_equal(exec.end, 20);
	aif_wire_shift(&step, 100);
	assert_int_equal(step.time, 600);
	assert_int_equal(step.number, 4);
	aif_wire_shift(&call, 100);
	assert_int_equal(call.number, 104);
	call.head.aux = AIF_MARK_JOINT_CALL;
	aif_wire_shift(&call, 100);
	assert_int_equal(call.number, 204);
}

static uint64_t taken_time;

static void take_time(void *arg, const void *record)
{
	(void)arg;
	taken_time = ((const struct aif_wire_launch *)record)->time;
}

/* A drain that knows how far the producer's clock is away. */
static void drained_stamps_are_the_consumers(void **state)
{
	struct memory m;

	(void)state;
	memory_open(&m);
	m.drain.shift = 1000;
	assert_true(put_launch(&m.ring, 5));
	aif_ring_drain(&m.drain, aif_shm_slot(m.shm, 1), aif_shm_ring(m.shm, SLOTS, RING_SIZE, 1),
		       RING_SIZE, m.scratch, sizeof(m.scratch), UINT64_MAX, take_time, state);
	assert_int_equal(taken_time, 1005);
	memory_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_in_order_over_many_wraps),
		cmocka_unit_test(a_full_ring_refuses_and_recovers),
		cmocka_unit_test(nonsense_is_skipped_and_counted),
		cmocka_unit_test(two_threads_agree),
		cmocka_unit_test(memory_cannot_be_resized),
		cmocka_unit_test(every_record_is_judged_by_its_size),
		cmocka_unit_test(hello_brings_the_memory),
		cmocka_unit_test(an_order_is_learnt_of_at_once),
		cmocka_unit_test(times_have_ranges),
		cmocka_unit_test(stamps_are_shifted_and_nothing_else),
		cmocka_unit_test(drained_stamps_are_the_consumers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
