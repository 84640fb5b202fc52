/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/memo.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Preloaded into a PyTorch program beside the agent: makes launches deep inside PyTorch. Its CPU operators call
 * posix_memalign() once for each output, below the dispatcher, mostly with the GIL released. Each such
 * call does what hook_mode() says:
 *
 *     LAUNCH   a launch on the agent's fake runtime: the agent as it is, recorded as ever
 *     CAPTURE  the agent's capture alone, where the agent is bench/torch.sh's
 *     CHECK    as LAUNCH; and the stack of that moment is kept as glibc's backtrace() and Python's own
 *              interface tell it, for torch_compare.py
 *     others   one way of taking a stack, measured: hook_times()
 */
enum mode { OFF, EMPTY, LAUNCH, CAPTURE, MEMO, PLAIN, LIBUNWIND, GLIBC, MODES, CHECK };

#define PUBLIC __attribute__((visibility("default")))
PUBLIC void hook_mode(int mode);
PUBLIC int hook_times(int mode, double ret_ns[4]); /* p10, median, p90, p99; their number */
PUBLIC void hook_memo(double ret[2]);              /* share of hits, resident bytes */
PUBLIC int hook_write(const char *path);           /* with the GIL held */

#define DEPTH    512
#define TIMES    (1u << 18)
#define LAUNCHES (1u << 20)
#define STACKS   (1u << 15) /* different ones of a kind; a power of two */

struct py_frame {
	void *code;
	int64_t line;
};

struct stack {
	uint32_t len; /* bytes; 0: free */
	uint32_t id;
	void *bytes;
};

struct launch {
	uint32_t tid, native, python;
};

static struct {
	_Atomic int mode;
	int (*real)(void **, size_t, size_t);
	void (*fake_launch)(uint32_t stream, uint32_t kernel);
	void (*capture)(void);
	int (*glibc)(void **, int), (*libunwind)(void **, int);
	struct aif_unwinder *unwinder;
	struct aif_memo *memo;
	struct aif_stack_bounds bounds;
	pthread_t measured; /* the thread that set the mode */
	uint64_t pcs[DEPTH];
	uint32_t *times[MODES], times_len[MODES];
	pthread_mutex_t lock; /* of what follows */
	struct stack *natives, *pythons;
	uint32_t natives_len, pythons_len, launches_len;
	struct launch *launches;
	struct {
		int (*ensure)(void);
		void (*release)(int), (*incref)(void *), (*decref)(void *);
		void *(*this_thread)(void), *(*frame)(void), *(*back)(void *), *(*code)(void *);
		int (*line)(void *);
		void *(*attribute)(void *, const char *);
		const char *(*text)(void *);
	} py;
} hook = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread bool inside __attribute__((tls_model("initial-exec")));

static void *pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- checking ---------------------------------------------------------------------------------- */

static uint32_t stack_id(struct stack *table, uint32_t *len, const void *bytes, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word;

		memcpy(&word, (const char *)bytes + i, 8);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (uint32_t i = (uint32_t)hash;; i++) {
		struct stack *s = &table[i & (STACKS - 1)];

		if (!s->bytes) {
			if (*len >= STACKS / 2)
				return UINT32_MAX;
			s->bytes = malloc(n + 1);
			if (!s->bytes)
				return UINT32_MAX;
			memcpy(s->bytes, bytes, n);
			s->len = (uint32_t)n;
			s->id = (*len)++;
			return s->id;
		}
		if (s->len == n && !memcmp(s->bytes, bytes, n))
			return s->id;
	}
}

/* The frames of this thread as the interpreter's interface has them. The GIL is taken for it. */
static unsigned python_frames(struct py_frame *frames)
{
	unsigned n = 0;
	void *frame;
	int gil;

	if (!hook.py.ensure || !hook.py.this_thread())
		return 0;
	gil = hook.py.ensure();
	frame = hook.py.frame();
	if (frame)
		hook.py.incref(frame);
	while (frame && n < DEPTH) {
		void *back = hook.py.back(frame);

		/* The reference to the code object is kept: its address stays this function's. */
		frames[n].code = hook.py.code(frame);
		frames[n++].line = hook.py.line(frame);
		hook.py.decref(frame);
		frame = back;
	}
	hook.py.release(gil);
	return n;
}

static AIF_NOINLINE void check(void)
{
	struct py_frame frames[DEPTH];
	void *pcs[DEPTH];
	int depth = hook.glibc(pcs, DEPTH);
	unsigned python = python_frames(frames);
	struct launch l = {.tid = (uint32_t)syscall(SYS_gettid)};

	/* pcs[0] and [1] are in here and in posix_memalign(). */
	pthread_mutex_lock(&hook.lock);
	l.native = stack_id(hook.natives, &hook.natives_len, pcs + 2,
			    (size_t)(depth - 2) * sizeof(pcs[0]));
	l.python = stack_id(hook.pythons, &hook.pythons_len, frames, python * sizeof(frames[0]));
	if (hook.launches_len < LAUNCHES)
		hook.launches[hook.launches_len++] = l;
	pthread_mutex_unlock(&hook.lock);
}

static void write_native(FILE *f, const struct stack *s)
{
	const uint64_t *pcs = s->bytes;

	fprintf(f, "N %u", s->id);
	for (uint32_t i = 0; i < s->len / sizeof(pcs[0]); i++) {
		struct link_map *map = NULL;
		Dl_info info;

		if (dladdr1((void *)(uintptr_t)(pcs[i] - 1), &info, (void **)&map, RTLD_DL_LINKMAP))
			fprintf(f, " %s+%lx", map->l_name[0] ? map->l_name : "/proc/self/exe",
				(unsigned long)(pcs[i] - 1 - map->l_addr));
		else
			fprintf(f, " ?+%lx", (unsigned long)pcs[i]);
	}
	fprintf(f, "\n");
}

static void write_python(FILE *f, const struct stack *s)
{
	const struct py_frame *frames = s->bytes;

	fprintf(f, "P %u", s->id);
	for (uint32_t i = 0; i < s->len / sizeof(frames[0]); i++)
		fprintf(f, "\t%s\t%s\t%ld",
			hook.py.text(hook.py.attribute(frames[i].code, "co_qualname")),
			hook.py.text(hook.py.attribute(frames[i].code, "co_filename")),
			(long)frames[i].line);
	fprintf(f, "\n");
}

int hook_write(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	for (uint32_t i = 0; i < STACKS; i++)
		if (hook.natives[i].bytes)
			write_native(f, &hook.natives[i]);
	for (uint32_t i = 0; i < STACKS; i++)
		if (hook.pythons[i].bytes)
			write_python(f, &hook.pythons[i]);
	for (uint32_t i = 0; i < hook.launches_len; i++)
		fprintf(f, "L %u %u %u\n", hook.launches[i].tid, hook.launches[i].native,
			hook.launches[i].python);
	return fclose(f) ? -1 : (int)hook.launches_len;
}

/* ---- measuring --------------------------------------------------------------------------------- */

static AIF_NOINLINE void measured(enum mode mode)
{
	struct aif_unwind_result plain;
	struct aif_memo_result memo;
	struct aif_regs regs;

	switch (mode) {
	case LAUNCH:
	case CHECK:
		hook.fake_launch(1, 2);
		break;
	case CAPTURE:
		hook.capture();
		break;
	case MEMO:
		AIF_REGS_HERE(&regs);
		memo = aif_memo_capture(hook.memo, &regs);
		__asm__ volatile("" ::"r"(memo.depth));
		break;
	case PLAIN:
		AIF_REGS_HERE(&regs);
		plain = aif_unwind(hook.unwinder, &regs, false, hook.bounds, hook.pcs, DEPTH);
		__asm__ volatile("" ::"r"(plain.depth));
		break;
	case LIBUNWIND:
		__asm__ volatile("" ::"r"(hook.libunwind((void **)hook.pcs, DEPTH)));
		break;
	case GLIBC:
		__asm__ volatile("" ::"r"(hook.glibc((void **)hook.pcs, DEPTH)));
		break;
	default:
		break;
	}
}

int posix_memalign(void **ret, size_t alignment, size_t size);
PUBLIC int posix_memalign(void **ret, size_t alignment, size_t size)
{
	int mode = hook.mode;

	if (mode && !inside && (mode == CHECK || pthread_equal(hook.measured, pthread_self()))) {
		uint64_t begin, end;

		inside = true;
		begin = __builtin_ia32_rdtsc();
		measured((enum mode)mode);
		end = __builtin_ia32_rdtsc();
		if (mode == CHECK)
			check();
		else if (hook.times_len[mode] < TIMES)
			hook.times[mode][hook.times_len[mode]++] =
				(uint32_t)AIF_MIN(end - begin, UINT32_MAX);
		inside = false;
	}
	if (!hook.real)
		hook.real = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
	return hook.real(ret, alignment, size);
}

void hook_mode(int mode)
{
	if (!hook.memo) {
		hook.unwinder = pages(aif_unwinder_size());
		hook.memo = pages(aif_memo_size());
		aif_unwinder_init(hook.unwinder);
		aif_stack_bounds_here(&hook.bounds);
		aif_memo_init(hook.memo, hook.unwinder, hook.bounds, DEPTH);
		hook.measured = pthread_self();
		hook.fake_launch =
			(void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");
		hook.capture = (void (*)(void))dlsym(RTLD_DEFAULT, "aif_bench_capture");
	}
	/* Not there: nothing is measured, and hook_times() says so. */
	if ((mode == LIBUNWIND && !hook.libunwind) || (mode == CAPTURE && !hook.capture) ||
	    ((mode == LAUNCH || mode == CHECK) && !hook.fake_launch))
		mode = OFF;
	hook.mode = mode;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Cycles of the counter a nanosecond. */
static double frequency(void)
{
	const struct timespec nap = {.tv_nsec = 50000000};
	struct timespec a, b;
	uint64_t begin;

	clock_gettime(CLOCK_MONOTONIC, &a);
	begin = __builtin_ia32_rdtsc();
	nanosleep(&nap, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (double)(__builtin_ia32_rdtsc() - begin) /
	       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec));
}

int hook_times(int mode, double ret_ns[4])
{
	static const double at[4] = {0.1, 0.5, 0.9, 0.99};
	uint32_t n = hook.times_len[mode];
	double f = frequency();

	qsort(hook.times[mode], n, sizeof(uint32_t), compare);
	for (unsigned i = 0; n && i < 4; i++)
		ret_ns[i] = hook.times[mode][(uint32_t)(at[i] * n)] / f;
	hook.times_len[mode] = 0;
	return (int)n;
}

void hook_memo(double ret[2])
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (aif_memo_size() + page - 1) / page;
	unsigned char resident[4096] = {0};
	struct aif_memo_counts c;

	aif_memo_counts(hook.memo, &c);
	ret[0] = (double)(c.predicted + c.found) /
		 (double)AIF_MAX(c.predicted + c.found + c.missed + c.refused + c.passed, 1u);
	ret[1] = 0;
	if (n <= sizeof(resident) && !mincore(hook.memo, n * page, resident))
		for (size_t i = 0; i < n; i++)
			ret[1] += (double)((resident[i] & 1u) * page);
}

__attribute__((constructor)) static void begin(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW), *libunwind = dlopen("libunwind.so.8", RTLD_NOW);
	void *pcs[4];

	hook.glibc = (int (*)(void **, int))dlsym(libc, "backtrace");
	hook.libunwind =
		libunwind ? (int (*)(void **, int))dlsym(libunwind, "unw_backtrace") : NULL;
	hook.glibc(pcs, 4); /* loads what it needs */
	for (unsigned i = 0; i < MODES; i++)
		hook.times[i] = pages(TIMES * sizeof(uint32_t));
	hook.natives = pages(STACKS * sizeof(struct stack));
	hook.pythons = pages(STACKS * sizeof(struct stack));
	hook.launches = pages(LAUNCHES * sizeof(struct launch));
	hook.py.ensure = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
	hook.py.release = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
	hook.py.this_thread = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	hook.py.incref = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_IncRef");
	hook.py.decref = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_DecRef");
	hook.py.frame = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_GetFrame");
	hook.py.back = (void *(*)(void *))dlsym(RTLD_DEFAULT, "PyFrame_GetBack");
	hook.py.code = (void *(*)(void *))dlsym(RTLD_DEFAULT, "PyFrame_GetCode");
	hook.py.line = (int (*)(void *))dlsym(RTLD_DEFAULT, "PyFrame_GetLineNumber");
	hook.py.attribute =
		(void *(*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyObject_GetAttrString");
	hook.py.text = (const char *(*)(void *))dlsym(RTLD_DEFAULT, "PyUnicode_AsUTF8");
}
