/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "wire/handshake.h"
#include "wire/ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A target that speaks the agent's protocol itself, to say what no agent says.
 *
 *     hostile_app module PATH...    launches once from each of those files, at file address 0x1000 + 1
 *     hostile_app frames PATH...    launches from 19,200 places in those files, between 0x40000 and 0xbd000
 *     hostile_app terminal          calls a terminal of its own a module. 9 if that has become the recorder's
 *                                   controlling terminal
 *     hostile_app flood SECONDS     fills all its rings, all the time, with stacks never seen before
 */

#define SECOND_US   1000000
#define FRAMES      19200
#define MODULE_SIZE UINT64_C(0x200000)

static struct aif_shm *shm;
static struct aif_ring ring;

static void take_slot(uint32_t i)
{
	static uint8_t *rings[AIF_SHM_SLOTS];
	struct aif_slot *slot = aif_shm_slot(shm, i);

	if (!rings[i])
		rings[i] = aif_shm_map_ring(shm, shm->slots, shm->ring_size, i);
	if (!rings[i])
		exit(1);
	slot->owner = (uint32_t)getpid();
	slot->claims++;
	aif_ring_init(&ring, slot, rings[i], shm->ring_size);
}

static bool connect_to_recorder(void)
{
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_RUNTIME,
				  .runtime = "hostile"};
	const char *socket = getenv(AIF_ENV_SOCKET), *token = getenv(AIF_ENV_TOKEN);
	uint64_t size;
	int fd;

	if (!socket || !token || strlen(token) != AIF_TOKEN_LEN)
		return false;
	memcpy(hello.token, token, AIF_TOKEN_LEN);
	if (aif_hello_send(socket, &hello, 10000, &fd) < 0 || aif_shm_map(fd, &shm, &size) < 0)
		return false;
	close(fd);
	return true;
}

/* A record whose strings take `more` bytes; NULL when the ring is full. Its strings begin behind it. */
static void *begin(enum aif_wire_type type, size_t fixed, size_t more)
{
	size_t size = AIF_ALIGN_UP(fixed + more, 8);
	void *r = aif_ring_reserve(&ring, type, size);

	if (r)
		memset((char *)r + sizeof(struct aif_wire_head), 0,
		       size - sizeof(struct aif_wire_head));
	return r;
}

static void put_thread(void)
{
	struct aif_wire_thread *t = begin(AIF_WIRE_THREAD, sizeof(*t), 0);

	t->head.aux = (uint32_t)getpid();
	t->time = aif_now_ns();
	aif_ring_commit(&ring);
}

static void put_module(uint64_t base, const char *path)
{
	struct aif_wire_module *m = begin(AIF_WIRE_MODULE, sizeof(*m), strlen(path));

	m->base = m->lo = base;
	m->hi = base + MODULE_SIZE;
	m->path_len = (uint16_t)strlen(path);
	memcpy(m + 1, path, m->path_len);
	aif_ring_commit(&ring);
}

static void put_launch(uint32_t n, uint64_t pc)
{
	struct aif_wire_stack *s = begin(AIF_WIRE_STACK, sizeof(*s), sizeof(pc));
	struct aif_wire_launch *l;

	s->head.aux = n;
	s->depth = 1;
	s->pcs[0] = pc;
	aif_ring_commit(&ring);
	l = begin(AIF_WIRE_LAUNCH, sizeof(*l), 0);
	l->time = aif_now_ns();
	l->launch = n;
	l->stack = n;
	l->stream = l->kernel = l->shape = AIF_WIRE_NONE;
	ring.slot->launches = n + 1;
	aif_ring_commit(&ring);
}

static bool is_read(void)
{
	for (int i = 0; i < 100 && ring.slot->tail != ring.head; i++)
		usleep(SECOND_US / 10);
	return ring.slot->tail == ring.head;
}

static int modules(int n, char **paths)
{
	take_slot(0);
	put_thread();
	for (int i = 0; i < n; i++) {
		uint64_t base = MODULE_SIZE * (uint64_t)(i + 1);

		put_module(base, paths[i]);
		put_launch((uint32_t)i, base + 0x1000 + 1);
	}
	return is_read() ? 5 : 8;
}

static int frames(int n, char **paths)
{
	const uint32_t places = FRAMES / (uint32_t)n;

	take_slot(0);
	put_thread();
	for (int i = 0; i < n; i++)
		put_module(MODULE_SIZE * (uint64_t)(i + 1), paths[i]);
	/* Launches alternate between the modules, as in real programs. */
	for (uint32_t place = 0; place < places; place++) {
		for (int i = 0; i < n; i++)
			put_launch(place * (uint32_t)n + (uint32_t)i,
				   MODULE_SIZE * (uint64_t)(i + 1) + 0x40000 +
					   512000 / places * place + 1);
		if (place % 100 == 99 && !is_read())
			return 8;
	}
	return 5;
}

/* The number of a process's controlling terminal, 0 = none. */
static int terminal_of(int pid)
{
	char path[64], text[1024] = "";
	const char *at;
	int number = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return at && sscanf(at + 1, " %*c %*d %*d %*d %d", &number) == 1 ? number : -1;
}

static int terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), r;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return 7;
	r = modules(1, (char *[]){ptsname(master)});
	if (r == 5 && terminal_of(getppid()) != 0)
		r = 9;
	/* Twice: the recorder would end. */
	return write(master, "\x03\x03", 2) == 2 ? r : 7;
}

/* Fills the ring with stacks until no more fit. */
static void put_stacks(uint64_t *random)
{
	enum { DEPTH = 2040 };
	struct aif_wire_stack *s;

	while ((s = begin(AIF_WIRE_STACK, sizeof(*s), DEPTH * sizeof(*s->pcs))) != NULL) {
		s->head.aux = (uint32_t)*random;
		s->depth = DEPTH;
		for (int i = 0; i < DEPTH; i++) {
			*random = aif_mix64(*random + 1);
			s->pcs[i] = *random >> 17;
		}
		aif_ring_commit(&ring);
	}
}

static int flood(uint64_t seconds)
{
	uint64_t end = aif_now_ns() + seconds * AIF_NS_PER_S, random = 1;

	for (uint32_t i = 0; i < shm->slots; i++) {
		take_slot(i);
		put_thread();
	}
	while (aif_now_ns() < end)
		for (uint32_t i = 0; i < shm->slots; i++) {
			take_slot(i);
			put_stacks(&random);
		}
	return 5;
}

int main(int argc, char **argv)
{
	if (argc < 2 || !connect_to_recorder())
		return 6;
	if (!strcmp(argv[1], "module"))
		return modules(argc - 2, argv + 2);
	if (!strcmp(argv[1], "frames"))
		return frames(argc - 2, argv + 2);
	if (!strcmp(argv[1], "terminal"))
		return terminal();
	if (!strcmp(argv[1], "flood") && argc > 2)
		return flood(strtoull(argv[2], NULL, 10));
	return 6;
}
