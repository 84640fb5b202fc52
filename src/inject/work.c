/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/work.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/program_held.h"
#include "inject/borrow.h"
#include "inject/refusal.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A program whose threads all compute, allocate or load sleeps again soon, as a rule. */
#define PATIENCE_NS (3 * AIF_NS_PER_S)
#define AGAIN_NS    5000000
/* The library is loaded within milliseconds, unless another thread has the loader. */
#define LOAD_NS (10 * AIF_NS_PER_S)
#define LOOK_NS 200000
#define AGENT   "libaiflame-agent"
#define NAME    AGENT ".so"
/* Enough for the agent, and some for the program. */
#define SPARE_DESCRIPTORS 64

bool aif_inject_is_possible(struct aif_err *err)
{
	unsigned a, b, c = 0, d;

	if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE))
		return true;
	aif_err_set(
		err, -ENOTSUP,
		"this processor has no XSAVE, without which no thread can be borrowed; start the "
		"process with the variables that `aiflame env` prints");
	return false;
}

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* ---- finding functions ----------------------------------------------------------------------- */

static uint64_t find(struct aif_image *im, const char *name)
{
	return aif_image_function(im, "libc.so.6", name);
}

/* The instruction `syscall` in the function of that name. */
static uint64_t find_syscall(struct aif_image *im)
{
	uint64_t at = find(im, "syscall");
	uint8_t code[64];

	if (!at || !aif_image_read(im, at, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + 1 < sizeof(code); i++)
		if (code[i] == 0x0f && code[i + 1] == 0x05)
			return at + i;
	return 0;
}

/* Finds the agent's function in a process that carries it: started with it, or forked by one that it was put into. */
static uint64_t find_agent(struct aif_image *im)
{
	uint64_t at = aif_image_function(im, AGENT, AIF_INJECTED_SYMBOL);

	return at ? at : aif_image_function(im, "memfd:" AGENT, AIF_INJECTED_SYMBOL);
}

static int find_functions(struct aif_image *im, struct aif_borrow_functions *fn,
			  struct aif_err *err)
{
	uint8_t byte;

	*fn = (struct aif_borrow_functions){
		.create = find(im, "pthread_create"),
		.attr_init = find(im, "pthread_attr_init"),
		.attr_size = find(im, "pthread_attr_setstacksize"),
		.dlopen = find(im, "dlopen"),
		.dlsym = find(im, "dlsym"),
		.dlerror = find(im, "dlerror"),
		.self = find(im, "pthread_self"),
		.detach = find(im, "pthread_detach"),
		.agent = find_agent(im),
		.syscall = find_syscall(im),
	};
	/* An agent that is loaded now is not in front of dlclose(), so the loader itself must tell which libraries are gone. */
	if (fn->create && fn->attr_init && fn->attr_size && fn->dlopen && fn->dlsym &&
	    fn->dlerror && fn->self && fn->detach && fn->syscall &&
	    (fn->agent || find(im, "_dl_find_object")))
		return 0;
	if (aif_proc_has_ended((int)im->pid))
		return aif_inject_why_not_traced(im->pid, ESRCH, err);
	/* With CAP_PERFMON alone the map can be read, and nothing of what is in it. */
	if (im->modules && !aif_image_read(im, im->module[0].lo, &byte, sizeof(byte)))
		return aif_inject_why_not_traced(im->pid, EPERM, err);
	return aif_err_set(
		err, -ENOTSUP,
		"process %d: its glibc is older than 2.35, where the agent could meet a library "
		"that has just been unloaded; start it with the variables that `aiflame env` "
		"prints",
		(int)im->pid);
}

/* ---- the new thread -------------------------------------------------------------------------- */

static bool read_state(const struct aif_borrow *b, struct aif_payload *p)
{
	return aif_image_read(b->im, b->memory + AIF_PAYLOAD_PAGE, p, AIF_PAYLOAD_AT_CONFIG);
}

/* Fills the descriptor that the new thread has made. It is the target's: another file in its place, which the target could
 * not write itself, is not written to either. */
static int fill_library(const struct aif_borrow *b, int fd, int agent)
{
	int pidfd = (int)syscall(SYS_pidfd_open, b->im->pid, 0), file = -1, r = 0;
	struct stat to, from;
	off_t at = 0;

	if (pidfd >= 0)
		file = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	r = file < 0 ? -errno : 0;
	if (pidfd >= 0)
		close(pidfd);
	if (r < 0)
		return r;
	if (fstat(file, &to) < 0 || fstat(agent, &from) < 0)
		r = -errno;
	else if (fcntl(file, F_GET_SEALS) < 0 || to.st_nlink || to.st_size)
		r = -EBADF;
	while (!r && at < from.st_size)
		if (sendfile(file, agent, &at, (size_t)(from.st_size - at)) <= 0)
			r = errno ? -errno : -EIO;
	close(file);
	return r;
}

static int hand_over(const struct aif_borrow *b, int fd, int agent)
{
	const uint32_t go = 1;
	char path[64];
	int r = fill_library(b, fd, agent);

	if (r < 0)
		return r;
	/* The loader knows libraries by the names that it was given: a name that nobody else gives. */
	snprintf(path, sizeof(path), "/proc/self/fd/../fd/././%d", fd);
	if (!aif_image_write(b->im, b->memory + AIF_PAYLOAD_PAGE + AIF_PAYLOAD_AT_PATH, path,
			     sizeof(path)) ||
	    !aif_image_write(b->im, b->memory + AIF_PAYLOAD_PAGE + AIF_PAYLOAD_AT_GO, &go,
			     sizeof(go)))
		return -ESRCH;
	return 0;
}

static int say_unloaded(pid_t pid, struct aif_payload *p, struct aif_err *err)
{
	p->text[sizeof(p->text) - 1] = '\0';
	for (char *c = p->text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return aif_err_set(
		err, -ENOEXEC,
		"process %d: its loader refuses the agent: %s; start it with the variables "
		"that `aiflame env` prints",
		(int)pid, *p->text ? p->text : "it gives no reason");
}

/* Says that it has no descriptor left. Its limit is not raised for the moment: another thread of it could then have a descriptor
 * that it takes for impossible. */
static int say_no_descriptor(pid_t pid, struct aif_err *err)
{
	unsigned long long now, soft, hard;
	struct rlimit limit = {0};

	(void)prlimit(pid, RLIMIT_NOFILE, NULL, &limit);
	now = limit.rlim_cur;
	soft = now + SPARE_DESCRIPTORS;
	hard = AIF_MAX(soft, (unsigned long long)limit.rlim_max);
	return aif_err_set(
		err, -EMFILE,
		"process %d: has no free descriptor: all %llu that its limit allows are open, and "
		"the agent needs a few, for a moment, whenever it is recorded; raise the limit%s: "
		"prlimit --pid %d --nofile=%llu:%llu",
		(int)pid, now, hard > limit.rlim_max ? " as root" : "", (int)pid, soft, hard);
}

/* Says why the agent, which is in the process, does not stay: recorders find it by a page in its directory. */
static int say_not_started(pid_t pid, int error, const char *standby, struct aif_err *err)
{
	if (error == -EMFILE)
		return say_no_descriptor(pid, err);
	if (error == -EPROTO)
		return aif_err_set(
			err, error,
			"process %d: carries the agent of another version; restart it with this "
			"version's",
			(int)pid);
	if (error == -ENOENT)
		return aif_err_set(
			err, -EIO,
			"process %d: its standby directory %s cannot be used: it must be its "
			"user's own, with mode 0700, on a disk with room; make it so, or start it "
			"with the variables that `aiflame env` prints",
			(int)pid, standby);
	return aif_err_set(
		err, -EIO,
		"process %d: the agent cannot start in it: %s; start it with the variables that "
		"`aiflame env` prints",
		(int)pid, strerror(error < 0 ? -error : error));
}

static int await_agent(const struct aif_borrow *b, int agent, const char *standby,
		       struct aif_err *err)
{
	uint64_t until = aif_now_ns() + LOAD_NS;
	const int n = (int)b->im->pid;
	bool has_handed = false;
	struct aif_payload p = {0};
	int r;

	while (aif_now_ns() < until) {
		if (!read_state(b, &p))
			return aif_err_set(
				err, -ESRCH,
				"process %d: has ended or become another program; see ps -e", n);
		if (p.state == AIF_PAYLOAD_WAITS && !has_handed) {
			r = hand_over(b, p.fd, agent);
			if (r < 0)
				return aif_err_set(
					err, r,
					"process %d: the agent cannot be handed over: %s; start "
					"it with the variables that `aiflame env` prints",
					n, strerror(-r));
			has_handed = true;
		} else if (p.state == AIF_PAYLOAD_UNLOADED) {
			return say_unloaded(b->im->pid, &p, err);
		} else if (p.state == AIF_PAYLOAD_FAILED ||
			   (p.state == AIF_PAYLOAD_JOINED && p.error)) {
			return say_not_started(b->im->pid, p.error, standby, err);
		} else if (p.state == AIF_PAYLOAD_JOINED) {
			return 0;
		}
		pause_ns(LOOK_NS);
	}
	return aif_err_set(
		err, -ETIMEDOUT,
		"process %d: another thread of it is loading a library and does not come to "
		"an end; the agent joins when it does: record then",
		n);
}

/* ---- the borrowed thread --------------------------------------------------------------------- */

static int say_none(const struct aif_borrow *b, struct aif_err *err)
{
	return aif_err_set(
		err, -EAGAIN,
		"process %d: none of its threads could be borrowed: %s; try again, or start it "
		"with the variables that `aiflame env` prints",
		(int)b->im->pid, aif_borrow_why_none(b));
}

static int say_failed(const struct aif_borrow *b, int r, struct aif_err *err)
{
	const int n = (int)b->im->pid;

	switch (r) {
	case -EAGAIN:
		return say_none(b, err);
	case -EPERM:
		return aif_inject_why_not_traced(b->im->pid, EPERM, err);
	case -ESRCH:
		return aif_err_set(err, r,
				   "process %d: has ended or become another program; see ps -e", n);
	case -EACCES:
		return aif_err_set(
			err, r,
			"process %d: may not have new code in its memory (SELinux, or "
			"MemoryDenyWriteExecute); start it with the variables that `aiflame "
			"env` prints",
			n);
	case -ENOSPC:
		return aif_err_set(err, r,
				   "process %d: cannot make one more thread: %s; raise its limits",
				   n, strerror(b->create_error));
	case -EFAULT:
		return aif_err_set(
			err, r,
			"process %d: a call of its C library faults in the thread that was borrowed: "
			"it was not made by that library (clone), or the library was replaced; "
			"start it with the variables that `aiflame env` prints",
			n);
	case -EMFILE:
		return say_no_descriptor(b->im->pid, err);
	case -EBUSY:
		return aif_err_set(
			err, -EAGAIN,
			"process %d: a thread of it does not stop within a second: it waits for a "
			"disk, or this machine is busy; try again",
			n);
	default:
		return aif_err_set(err, r, "process %d: %s; try again", n, strerror(-r));
	}
}

static int try_image(struct aif_borrow *b, pid_t pid, struct aif_err *err)
{
	struct aif_image im;
	int r = aif_image_init(&im, pid);

	b->im = &im;
	if (r < 0) {
		r = aif_inject_why_not_traced(pid, -r, err);
		goto out;
	}
	r = find_functions(&im, &b->fn, err);
	if (r < 0)
		goto out;
	b->payload->config[offsetof(struct aif_injected, was_there)] = b->fn.agent != 0;
	r = aif_borrow_start(b);
out:
	aif_image_finish(&im);
	b->im = NULL;
	return r;
}

int aif_inject_work(pid_t pid, int program, int agent, const struct aif_injected *about,
		    struct aif_inject_result *ret, struct aif_err *err)
{
	static struct aif_payload first; /* a page */
	struct aif_borrow b = {.program = program,
			       .payload = &first,
			       .memory = ret->left.memory,
			       .is_executable = ret->left.is_executable};
	uint64_t until = aif_now_ns() + PATIENCE_NS;
	struct aif_image plain = {.pid = pid};
	int r;

	static_assert(sizeof(*about) <= AIF_PAYLOAD_CONFIG, "it has its place");
	snprintf(first.name, sizeof(first.name), "%s", NAME);
	snprintf(first.symbol, sizeof(first.symbol), "%s", AIF_INJECTED_SYMBOL);
	memcpy(first.config, about, sizeof(*about));
	/* Modules come and go: each time anew. */
	do {
		r = try_image(&b, pid, err);
		if (r == -EAGAIN)
			pause_ns(AGAIN_NS);
	} while (r == -EAGAIN && aif_program_is_held(program) && aif_now_ns() < until);
	ret->times.stops = b.stops;
	ret->times.longest = b.longest;
	/* Keeps no memory in which a thread may run. */
	ret->left = (struct aif_inject_left){0};
	if (r == -EAGAIN || r == -EBUSY)
		ret->left = (struct aif_inject_left){b.memory, b.is_executable};
	b.im = &plain;
	if (r == 0) {
		r = await_agent(&b, agent, about->standby, err);
		ret->times.load_ns = aif_now_ns() - b.made_ns;
	}
	/* Another program faults, is static, or has none of what was put into the one before. */
	if (!aif_program_is_held(program)) {
		ret->left = (struct aif_inject_left){0};
		return say_failed(&b, -ESRCH, err);
	}
	return r < 0 && err->code != r ? say_failed(&b, r, err) : r;
}
