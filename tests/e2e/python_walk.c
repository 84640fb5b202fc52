/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "symbolize/pylines.h"
#include "unwind/interleave.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

/*
 * The Python walker as a library that Python loads itself (ctypes): CDLL releases the GIL around a call,
 * PyDLL keeps it. What the walker finds comes back as text, for Python to compare with what it knows.
 */

#define EXPORT __attribute__((visibility("default")))

enum { DEPTH = 2000, NATIVE = 4000, CODES = 1 << 20 };

struct known {
	char *name, *file;
	uint8_t *lines;
	uint32_t lines_len;
	int32_t first_line;
	uint8_t minor;
};

static struct aif_python python;
static struct aif_unwinder *unwinder;
static struct known *known; /* by id */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT int pw_start(void);
EXPORT int pw_state(void);
EXPORT const char *pw_reason(void);
EXPORT void pw_stop(void);
EXPORT int pw_walk(char *text, size_t size, unsigned max);
EXPORT int pw_walk_cut(char *text, size_t size);
EXPORT void pw_call(void (*callback)(void));
EXPORT int pw_sample(long us);
EXPORT void pw_samples(long *ret);
EXPORT uint64_t pw_hash(void);

int pw_start(void)
{
	if (!unwinder) {
		size_t size = (aif_unwinder_size() + 63) & ~(size_t)63;

		unwinder = aligned_alloc(64, size);
		known = calloc(CODES, sizeof(*known));
		if (!unwinder || !known)
			return -ENOMEM;
		memset(unwinder, 0, size);
		if (aif_unwinder_init(unwinder))
			return -EINVAL;
	}
	aif_unwinder_refresh(unwinder);
	aif_python_detect(&python);
	return pw_state();
}

int pw_state(void)
{
	return aif_python_state(&python);
}

const char *pw_reason(void)
{
	const struct aif_reason_info *info = aif_reason_info(aif_python_reason(&python));

	return info ? info->name : "";
}

void pw_stop(void)
{
	aif_python_stop(&python);
}

static char *dup_text(const char *p, size_t n)
{
	char *copy = malloc(n + 1);

	if (copy) {
		memcpy(copy, p, n);
		copy[n] = 0;
	}
	return copy;
}

/* Reads a code object and remembers its names: the agent's and the recorder's part in one. */
static int learn(uint64_t code)
{
	static _Thread_local char buffer[1 << 20];
	struct aif_python_code c;
	struct known k;
	int rc = aif_python_code_read(&python, code, buffer, sizeof(buffer), &c);

	if (rc)
		return rc == -EEXIST ? 0 : rc;
	if (c.id >= CODES || c.lines_cut)
		return -E2BIG;
	k = (struct known){
		.name = dup_text(c.name, c.name_len),
		.file = dup_text(c.file, c.file_len),
		.lines = (uint8_t *)dup_text((const char *)c.lines, c.lines_len),
		.lines_len = c.lines_len,
		.first_line = c.first_line,
		.minor = c.minor,
	};
	pthread_mutex_lock(&known_lock);
	known[c.id] = k;
	pthread_mutex_unlock(&known_lock);
	return aif_python_code_publish(&python, &c);
}

struct capture {
	struct aif_python_frame frames[DEPTH];
	struct aif_python_stack stack;
	uint64_t pcs[NATIVE], sps[NATIVE];
	struct aif_unwind_frame native[NATIVE + 1];
	uint32_t order[NATIVE + DEPTH], by_symbol[NATIVE + DEPTH];
	struct aif_unwind_result unwound;
};

static AIF_NOINLINE int take(struct capture *c, unsigned max, unsigned native_max)
{
	struct aif_stack_bounds bounds;
	struct aif_python_stack hash;
	struct aif_regs regs;
	int rc = aif_stack_bounds_here(&bounds);

	if (rc)
		return rc;
	AIF_REGS_HERE(&regs);
	c->unwound =
		aif_unwind_frames(unwinder, &regs, false, bounds, c->pcs, native_max, c->native);
	for (unsigned i = 0; i < c->unwound.depth; i++)
		c->sps[i] = c->native[i].sp;
	for (int tries = 0; tries < 3; tries++) {
		aif_python_walk(&python, AIF_PYTHON_AT_CALL, bounds, c->frames, max, &c->stack);
		aif_python_hash(&python, AIF_PYTHON_AT_CALL, max, &hash);
		if (hash.hash != c->stack.hash || hash.depth != c->stack.depth ||
		    hash.segments != c->stack.segments || hash.stop != c->stack.stop ||
		    hash.unknown != c->stack.unknown)
			return -EBADMSG;
		if (!c->stack.unknown)
			return 0;
		for (unsigned i = 0; i < c->stack.depth; i++)
			if (c->frames[i].id == 0 && (rc = learn(c->frames[i].code)))
				return rc;
	}
	return -ELOOP;
}

static const char *order_name(enum aif_interleave_how how)
{
	return how == AIF_INTERLEAVE_BY_ADDRESS  ? "address"
	       : how == AIF_INTERLEAVE_BY_SYMBOL ? "symbol"
						 : "block";
}

static int native_marks(struct capture *c, struct aif_buf *text)
{
	uint64_t call = (uint64_t)(uintptr_t)pw_call;

	/* pw_call() is our own callback: notes its place among the Python frames. */
	for (unsigned i = 0, k = 0; i < c->unwound.depth + c->stack.depth; i++) {
		if (c->order[i] & AIF_INTERLEAVE_PYTHON)
			k++;
		else if (c->pcs[c->order[i]] > call && c->pcs[c->order[i]] < call + 64)
			aif_buf_printf(text, " call@%u", k);
	}
	return 0;
}

/* First line: depth segments hash stop order(address|symbol|block) agreement, then places of pw_call; then
 * for each frame: name, file, first line, lasti, line, end of segment. */
static int describe(struct capture *c, char *to, size_t size)
{
	struct aif_interleave in = {
		.pcs = c->pcs,
		.sps = c->sps,
		.native_len = c->unwound.depth,
		.native_cut = c->unwound.stop != AIF_STOP_END,
		.frames = c->frames,
		.python_len = c->stack.depth,
		.python_cut = c->stack.stop != AIF_PYTHON_STOP_END,
		.eval_lo = python.eval_lo,
		.eval_hi = python.eval_hi,
	};
	enum aif_interleave_how how, other;
	struct aif_buf text = {0};
	int n;

	how = aif_interleave(&in, c->order);
	in.sps = NULL;
	other = aif_interleave(&in, c->by_symbol);
	aif_buf_printf(&text, "%u %u %016lx %u %s %s %d", c->stack.depth, c->stack.segments,
		       (unsigned long)c->stack.hash, (unsigned)c->stack.stop, order_name(how),
		       order_name(other),
		       memcmp(c->order, c->by_symbol,
			      (in.native_len + in.python_len) * sizeof(c->order[0])) == 0);
	native_marks(c, &text);
	aif_buf_putc(&text, '\n');
	for (unsigned i = 0; i < c->stack.depth; i++) {
		const struct aif_python_frame *f = &c->frames[i];
		const struct known *k = &known[f->id];

		aif_buf_printf(
			&text, "%s|%s|%d|%d|%d|%d\n", k->name, k->file, k->first_line, f->lasti,
			aif_pylines_find(k->minor, k->lines, k->lines_len, k->first_line, f->lasti),
			f->ends_segment);
	}
	n = (int)text.len;
	if (aif_buf_failed(&text) || text.len >= size)
		n = -ENOBUFS;
	else
		memcpy(to, aif_buf_str(&text), text.len + 1);
	aif_buf_finish(&text);
	return n;
}

static int walk(char *text, size_t size, unsigned max, unsigned native_max)
{
	struct capture *c = malloc(sizeof(*c));
	int rc = -ENOMEM;

	if (c)
		rc = take(c, AIF_MIN(max, DEPTH), native_max);
	if (rc == 0)
		rc = describe(c, text, size);
	free(c);
	return rc;
}

int pw_walk(char *text, size_t size, unsigned max)
{
	return walk(text, size, max, NATIVE);
}

/* The native stack is cut short. */
int pw_walk_cut(char *text, size_t size)
{
	return walk(text, size, DEPTH, 12);
}

uint64_t pw_hash(void)
{
	struct aif_python_stack stack;

	aif_python_hash(&python, AIF_PYTHON_AT_CALL, DEPTH, &stack);
	return stack.hash;
}

void pw_call(void (*callback)(void))
{
	callback();
	__asm__ volatile("" : : : "memory");
}

/* ---- at any instruction: a timer's signals ---- */

static _Atomic long samples, with_frames, broken, unreadable;

static void on_signal(int signo)
{
	static _Thread_local struct aif_python_frame frames[200];
	static _Thread_local char buffer[AIF_PYTHON_CODE_BUFFER];
	struct aif_python_stack stack;
	struct aif_python_code code;
	int saved = errno;

	(void)signo;
	aif_python_walk(&python, AIF_PYTHON_IN_SIGNAL, (struct aif_stack_bounds){0}, frames, 200,
			&stack);
	samples++;
	with_frames += stack.depth > 0;
	broken += stack.stop == AIF_PYTHON_STOP_BROKEN;
	for (unsigned i = 0; i < stack.depth; i++)
		if (frames[i].id == 0 && aif_python_code_read(&python, frames[i].code, buffer,
							      sizeof(buffer), &code) == -EINVAL)
			unreadable++;
	errno = saved;
}

/* Each `us`; 0: no more. */
int pw_sample(long us)
{
	struct itimerval every = {{0, us}, {0, us}};
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigemptyset(&act.sa_mask);
	if (us && sigaction(SIGALRM, &act, NULL))
		return -errno;
	return setitimer(ITIMER_REAL, &every, NULL) ? -errno : 0;
}

void pw_samples(long *ret)
{
	ret[0] = samples;
	ret[1] = with_frames;
	ret[2] = broken;
	ret[3] = unreadable;
}
