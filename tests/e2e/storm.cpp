/* SPDX-License-Identifier: Apache-2.0 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Everything at once that changes stacks, modules, threads and processes, while launching: storm.sh.
 *
 *     storm DIR WALKS SHORT_THREADS FORKS COUNTS
 *
 * Eight threads walk chains of functions that lay out their frames in different ways; at the end of each a
 * launch, after which the chain is left by return, longjmp or exception. Between walks they load one of three
 * libraries of DIR, which come to lie at the same addresses, walk through it and unload it. Meanwhile one
 * thread starts short threads of one walk each, and the first forks children that walk. Each function adds
 * its name to the walk's chain. What was launched from which chain, and by which child, is counted in memory
 * that all processes share, and written to COUNTS: "CHAIN LAUNCHES", "child PID LAUNCHES".
 */

enum leave { BY_RETURN, BY_LONGJMP, BY_EXCEPTION };

struct walk {
	char chain[512];
	unsigned len;
	uint8_t path[8];
	unsigned left; /* of path */
	enum leave leave;
	jmp_buf *jump;
	void (*next)(struct walk *); /* what a library is to call */
};

/* The compiler cannot tell that it is not looked at. */
#define TOUCH(p) __asm__ volatile("" ::"r"(p) : "memory")

#ifdef PLUGIN
/* Entry of one library: the libraries are of the same size, with frames of different sizes. */
extern "C" __attribute__((visibility("default"))) void PLUGIN(struct walk *w)
{
	char frame[FRAME];

	TOUCH(frame);
	w->next(w);
	TOUCH(frame);
}
#else

#ifdef __clang__
#define SITE extern "C" __attribute__((noinline))
#else
#define SITE extern "C" __attribute__((noipa)) /* no copies under other names */
#endif

#define WORKERS 8
#define CHAINS  (1u << 15)

struct count {
	int state; /* 0 free, 1 being made, 2 made */
	unsigned n;
	char chain[512];
};

struct child {
	pid_t pid;
	unsigned n;
};

static struct count *counts; /* shared with children, as are these */
static struct child *children, *this_child;
static void (*fake_launch)(uint32_t stream, uint32_t kernel);
static const char *dir;
static unsigned walks;
static unsigned reused, full;

/* ---- chains ---------------------------------------------------------------------------------- */

static unsigned push(struct walk *w, const char *name)
{
	unsigned was = w->len;

	w->len += (unsigned)snprintf(w->chain + was, sizeof(w->chain) - was, "%s%s", was ? ";" : "",
				     name);
	return was;
}

static void pop(struct walk *w, unsigned was)
{
	w->len = was;
	w->chain[was] = '\0';
}

#define ENTER(w) unsigned was = push(w, __func__)
#define LEAVE(w) pop(w, was)

static void add(const char *chain)
{
	uint64_t hash = 0;

	if (this_child)
		this_child->n++;
	for (const char *p = chain; *p; p++)
		hash = (hash ^ (uint8_t)*p) * UINT64_C(0x100000001b3) + 1;
	for (unsigned i = 0; i < CHAINS; i++) {
		struct count *c = &counts[(hash + i) % CHAINS];
		int free = 0;

		if (__atomic_compare_exchange_n(&c->state, &free, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			strcpy(c->chain, chain);
			__atomic_store_n(&c->state, 2, __ATOMIC_RELEASE);
		}
		while (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != 2)
			usleep(10);
		if (!strcmp(c->chain, chain)) {
			__atomic_fetch_add(&c->n, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	full = 1;
}

/* ---- sites ------------------------------------------------------------------------------------ */

/* A launch and its count, in the frame of the caller. */
#define LAUNCH(w)                       \
	do {                            \
		fake_launch(w->len, 0); \
		add(w->chain);          \
	} while (0)

typedef void (*site)(struct walk *);
extern const site sites[];
extern const unsigned n_sites;

SITE void site_leaf(struct walk *w)
{
	ENTER(w);
	LAUNCH(w);
	if (w->leave == BY_LONGJMP && w->jump)
		longjmp(*w->jump, 1);
	if (w->leave == BY_EXCEPTION)
		throw 1;
	LEAVE(w);
}

static inline __attribute__((always_inline)) void go(struct walk *w)
{
	if (w->left)
		sites[w->path[--w->left] % n_sites](w);
	else
		site_leaf(w);
}

SITE void site_plain(struct walk *w)
{
	ENTER(w);
	go(w);
	LEAVE(w);
}

SITE void site_alloca(struct walk *w)
{
	ENTER(w);
	char *p = (char *)alloca(16 + w->path[0] * 7u % 300);

	TOUCH(p);
	go(w);
	TOUCH(p);
	LEAVE(w);
}

SITE void site_aligned(struct walk *w)
{
	ENTER(w);
	alignas(64) char frame[100];

	TOUCH(frame);
	go(w);
	TOUCH(frame);
	LEAVE(w);
}

SITE void site_large(struct walk *w)
{
	ENTER(w);
	char frame[9000];

	TOUCH(frame);
	go(w);
	TOUCH(frame);
	LEAVE(w);
}

SITE long site_ten(struct walk *w, long a, long b, long c, long d, long e, long f, long g, long h,
		   long i)
{
	ENTER(w);
	go(w);
	LEAVE(w);
	return a + b + c + d + e + f + g + h + i;
}

SITE void site_arguments(struct walk *w)
{
	ENTER(w);
	volatile long x = site_ten(w, 1, 2, 3, 4, 5, 6, 7, 8, 9);

	(void)x;
	LEAVE(w);
}

SITE void site_twice(struct walk *w)
{
	ENTER(w);
	LAUNCH(w);
	go(w);
	LAUNCH(w);
	LEAVE(w);
}

static __thread struct walk *sorted;

SITE int site_compare(const void *a, const void *b)
{
	struct walk *w = sorted;
	ENTER(w);

	go(w);
	LEAVE(w);
	return *(const char *)a - *(const char *)b;
}

SITE void site_sort(struct walk *w)
{
	ENTER(w);
	char two[] = "ba";

	sorted = w;
	qsort(two, 2, 1, site_compare);
	TOUCH(two);
	LEAVE(w);
}

SITE void site_jump(struct walk *w)
{
	ENTER(w);
	jmp_buf here, *volatile outer = w->jump;

	w->jump = &here;
	if (!setjmp(here)) {
		go(w);
	} else {
		pop(w, was);
		push(w, __func__);
		LAUNCH(w);
	}
	w->jump = outer;
	LEAVE(w);
}

SITE void site_try(struct walk *w)
{
	ENTER(w);
	try {
		go(w);
	} catch (int) {
		pop(w, was);
		push(w, __func__);
		LAUNCH(w);
		w->leave = BY_RETURN;
		w->left = 0;
		go(w);
	}
	LEAVE(w);
}

SITE void site_destructor(struct walk *w)
{
	ENTER(w);
	LAUNCH(w);
	LEAVE(w);
}

struct guard {
	struct walk *w;
	unsigned was;
	~guard()
	{
		w->len =
			was; /* of the function whose local this is, if it is left by an exception */
		w->chain[was] = '\0';
		site_destructor(w);
	}
};

SITE void site_guard(struct walk *w)
{
	if (w->leave == BY_LONGJMP) { /* may not jump over a destructor */
		ENTER(w);
		go(w);
		LEAVE(w);
		return;
	}
	ENTER(w);
	{
		struct guard g = {w, w->len};

		go(w);
	}
	LEAVE(w);
}

const site sites[] = {site_plain, site_alloca, site_aligned, site_large, site_arguments,
		      site_twice, site_sort,   site_jump,    site_try,   site_guard};
const unsigned n_sites = sizeof(sites) / sizeof(sites[0]);

SITE void site_root(struct walk *w)
{
	ENTER(w);
	jmp_buf here;

	w->jump = &here;
	if (!setjmp(here)) {
		try {
			go(w);
		} catch (int) {
		}
	}
	LEAVE(w);
}

/* ---- threads ---------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Chooses one of 300 different walks. */
static void walk_init(struct walk *w, uint32_t random)
{
	uint32_t seed = random % 300;

	w->left = 1 + seed % 6;
	w->leave = (enum leave)(seed % 3);
	for (unsigned i = 0; i < sizeof(w->path); i++)
		w->path[i] = (uint8_t)next_random(&seed);
}

/* Loads one of the libraries, walks through it, unloads it. */
SITE void site_loads(struct walk *w, unsigned worker, uint32_t random)
{
	static __thread void *last_at;
	static __thread unsigned last;
	unsigned k = random % 3;
	char path[300], name[] = "plugin_a";
	void *lib;
	site fn;
	ENTER(w);

	name[7] = (char)('a' + k);
	snprintf(path, sizeof(path), "%s/%s%u.so", dir, name, worker);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	fn = lib ? (site)dlsym(lib, name) : NULL;
	if (!fn) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	if (last_at == (void *)fn && last != k)
		__atomic_fetch_add(&reused, 1, __ATOMIC_RELAXED);
	last_at = (void *)fn;
	last = k;
	push(w, name);
	w->next = site_root;
	fn(w);
	dlclose(lib);
	LEAVE(w);
}

SITE void *site_worker(void *arg)
{
	unsigned worker = (unsigned)(uintptr_t)arg;
	uint32_t seed = worker;

	for (unsigned i = 0; i < walks; i++) {
		struct walk w = {};
		ENTER(&w);

		walk_init(&w, next_random(&seed));
		if (i % 16)
			site_root(&w);
		else
			site_loads(&w, worker, next_random(&seed));
		LEAVE(&w);
	}
	return NULL;
}

SITE void *site_short(void *arg)
{
	struct walk w = {};
	ENTER(&w);

	walk_init(&w, (uint32_t)(uintptr_t)arg);
	site_root(&w);
	LEAVE(&w);
	return NULL;
}

/* Returns the process's anonymous resident memory, without what it shares, in KB. */
static long resident(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static long grown;

static void *short_threads(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;
	long early = 0;

	for (unsigned i = 0; i < n; i += WORKERS) {
		pthread_t threads[WORKERS];

		for (unsigned k = 0; k < WORKERS; k++)
			if (pthread_create(&threads[k], NULL, site_short,
					   (void *)(uintptr_t)(i + k)))
				exit(1);
		for (unsigned k = 0; k < WORKERS; k++)
			pthread_join(threads[k], NULL);
		if (!early && i >= n / 5)
			early = resident();
	}
	grown = resident() - early;
	return NULL;
}

SITE void site_child(unsigned n)
{
	for (unsigned i = 0; i < 50; i++) {
		struct walk w = {};
		ENTER(&w);

		walk_init(&w, n * 50 + i);
		site_root(&w);
		LEAVE(&w);
	}
}

static void fork_one(unsigned n)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		alarm(20); /* one that hangs is seen */
		this_child = &children[n];
		this_child->pid = getpid();
		site_child(n);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "child %u: status %x\n", n, child < 0 ? 0 : status);
		exit(1);
	}
}

static void *shared(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	int forks = argc == 6 ? atoi(argv[4]) : 0;
	int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	pthread_t workers[WORKERS], starter;
	FILE *f;

	fake_launch = (void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");
	if (argc != 6 || !run || !fake_launch || run("generate kernels=1 streams=200"))
		return 2;
	dir = argv[1];
	walks = (unsigned)atoi(argv[2]);
	counts = (struct count *)shared(CHAINS * sizeof(*counts));
	children = (struct child *)shared(((size_t)forks + 1) * sizeof(*children));
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, site_worker, (void *)(uintptr_t)i);
	pthread_create(&starter, NULL, short_threads, (void *)(uintptr_t)atoi(argv[3]));
	for (int i = 0; i < forks; i++)
		fork_one((unsigned)i);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(starter, NULL);
	f = fopen(argv[5], "w");
	for (unsigned i = 0; f && i < CHAINS; i++)
		if (counts[i].n)
			fprintf(f, "%s %u\n", counts[i].chain, counts[i].n);
	for (int i = 0; f && i < forks; i++)
		fprintf(f, "child %d %u\n", (int)children[i].pid, children[i].n);
	printf("addresses used again by another library: %u; memory grown by %ld KB\n", reused,
	       grown);
	return full || !f || fclose(f);
}
#endif
