/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Programs that an additional library, thread or block of memory could disturb. */

static void *load_and_unload(void *arg)
{
	static const char *const names[] = {"libm.so.6", "libz.so.1", "libresolv.so.2",
					    "libutil.so.1"};
	const char *name = names[(uintptr_t)arg % 4];

	while (!over) {
		void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		double (*cosine)(double) = lib ? (double (*)(double))dlsym(lib, "cos") : NULL;

		if (!lib)
			fail(name);
		if (cosine && cosine(0) != 1)
			fail("cos");
		dlclose(lib);
	}
	return NULL;
}

static void dlopens(void)
{
	in_threads(load_and_unload);
}

/* Thread-local memory, with destructors, of threads that come and go. */
static _Thread_local uint64_t local[4096];
static pthread_key_t key;
static atomic_ulong destroyed, made;

static void destroy(void *p)
{
	if (local[17] != (uintptr_t)p)
		fail("thread-local memory at the end");
	destroyed++;
	free(p);
}

static void *use_local(void *arg)
{
	uint64_t *p = malloc(64);

	for (unsigned i = 0; i < 4096; i++)
		if (local[i])
			fail("thread-local memory that is not zero");
	local[17] = (uintptr_t)p;
	pthread_setspecific(key, p);
	return arg;
}

static void *make_local_threads(void *arg)
{
	while (!over) {
		pthread_t t;

		if (pthread_create(&t, NULL, use_local, arg) || pthread_join(t, NULL))
			fail("a thread");
		made++;
	}
	return NULL;
}

static void thread_locals(void)
{
	pthread_key_create(&key, destroy);
	in_threads(make_local_threads);
	if (made != destroyed)
		fail("destructors");
}

static void *allocate(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;

	while (!over) {
		size_t n = 2 + (size_t)(seed >> 40) % 6000;
		uint64_t *p = malloc(n * sizeof(*p));

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (!p)
			fail("malloc");
		p[0] = p[n - 1] = seed;
		if (p[0] != p[n - 1])
			fail("a block");
		free(p);
	}
	return NULL;
}

/* There is room for what the program does, and for little more. */
static void limited_memory(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || fscanf(f, "%lu", &pages) != 1)
		fail("statm");
	fclose(f);
	pages = pages * 4096 + 900ul * 1024 * 1024;
	if (setrlimit(RLIMIT_AS, &(struct rlimit){pages, pages}))
		fail("RLIMIT_AS");
	in_threads(allocate);
}

/* Each descriptor that the program may have is open. */
static void limited_files(void)
{
	int last = -1, fd;

	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}))
		fail("RLIMIT_NOFILE");
	while ((fd = dup(1)) >= 0)
		last = fd;
	if (last != 63)
		fail("descriptors");
	while (!over) {
		if (dup(1) >= 0 || errno != EMFILE)
			fail("a descriptor that should not be there");
		close(last);
		if (dup(1) != last)
			fail("a descriptor that another has taken");
		pause_ns(2000000);
	}
}

static void locked_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		mlockall(MCL_CURRENT);
	in_threads(allocate);
}

/* A collector's write barrier: pages are protected, and opened by the handler of the fault. */
static char *heap;
static atomic_ulong faults;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;

	(void)sig, (void)context;
	if (page < (uintptr_t)heap || page >= (uintptr_t)heap + 64 * 4096)
		_exit(98);
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
	faults++;
}

static void barriers(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t ss = {.ss_size = 65536, .ss_sp = malloc(65536)};
	unsigned long expected = 0;

	heap = mmap(NULL, 64 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	while (!over) {
		mprotect(heap, 64 * 4096, PROT_READ);
		for (unsigned i = 0; i < 64; i++)
			((volatile char *)heap)[i * 4096] = (char)i;
		expected += 64;
		if (faults != expected)
			fail("faults");
	}
}

/* Two processes take turns in shared memory. */
struct shared {
	pthread_mutex_t lock;
	pthread_cond_t turned;
	uint64_t turns;
	bool over;
};

static void take_turns(struct shared *s, uint64_t mine)
{
	for (;;) {
		pthread_mutex_lock(&s->lock);
		while (s->turns % 2 != mine && !s->over)
			pthread_cond_wait(&s->turned, &s->lock);
		if (mine == 0 && over)
			s->over = true;
		s->turns++;
		pthread_cond_broadcast(&s->turned);
		if (s->over) {
			pthread_mutex_unlock(&s->lock);
			return;
		}
		pthread_mutex_unlock(&s->lock);
	}
}

static void shared_locks(void)
{
	struct shared *s =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	int status;
	pid_t pid;

	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&s->lock, &ma);
	pthread_condattr_init(&ca);
	pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&s->turned, &ca);
	pid = fork();
	if (pid == 0) {
		take_turns(s, 1);
		_exit(5);
	}
	take_turns(s, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
		fail("the other process");
}

/* Copies of the memory from before and after the attach are compared. */
static void forks_that_look(void)
{
	uint64_t *block = malloc(1 << 20);

	for (unsigned i = 0; i < (1 << 20) / 8; i++)
		block[i] = i * 0x9e3779b97f4a7c15u;
	while (!over) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			for (unsigned i = 0; i < (1 << 20) / 8; i++)
				if (block[i] != i * 0x9e3779b97f4a7c15u)
					_exit(1);
			exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			fail("a child's memory");
	}
}

const struct mode memory_modes[] = {
	{"dlopens", dlopens},
	{"thread-locals", thread_locals},
	{"limited-memory", limited_memory},
	{"limited-files", limited_files},
	{"locked-memory", locked_memory},
	{"barriers", barriers},
	{"shared-locks", shared_locks},
	{"forks-that-look", forks_that_look},
	{NULL, NULL},
};
