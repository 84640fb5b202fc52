/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "agent/children.h"
#include "agent/helper.h"
#include "agent/injection.h"
#include "agent/job.h"
#include "agent/memory/pages.h"
#include "agent/runtime.h"
#include "base/auxv.h"
#include "base/clock.h"
#include "base/proc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* The recorder hears of a process that carries the agent; waiting longer for a busy one would be
 * noticed where a script runs thousands of commands. */
#define CARRIER_TIMEOUT_MS 100

/* Symbol by which a second copy of this library finds the first. */
AIF_PUBLIC extern const char aif_agent_here[];
const char aif_agent_here[] = AIF_VERSION;

static bool is_first_copy(void)
{
	const void *first = dlsym(RTLD_DEFAULT, "aif_agent_here");

	/* Not found: only a loader of layers has opened us, for itself. */
	return !first || first == aif_agent_here;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && !strcmp(value, "1");
}

/* Memory of the start, mapped: a program's stack may have few KiB (RLIMIT_STACK). */
struct first {
	struct aif_hello hello;
	char status[4096];
};

/* True if the process has a filter of system calls that is not its recorder's: which calls it forbids cannot be seen, and
 * one of them may end the process. What is called here the loader has called just before. */
static bool is_filtered(uint32_t recorders, struct first *f)
{
	aif_proc_read("/proc/self/status", f->status, sizeof(f->status));
	return aif_proc_filters(f->status).len > recorders;
}

static bool read_environment(struct aif_environment *env, struct first *f)
{
	const char *path = getenv(AIF_ENV_SOCKET), *token = getenv(AIF_ENV_TOKEN),
		   *runtime = getenv(AIF_ENV_RUNTIME), *standby = getenv(AIF_ENV_STANDBY),
		   *level = getenv(AIF_ENV_LEVEL), *filters = getenv(AIF_ENV_FILTERS);

	if (path && token && strlen(path) < sizeof(env->socket) &&
	    strlen(token) == sizeof(env->token)) {
		strcpy(env->socket, path);
		memcpy(env->token, token, sizeof(env->token));
	}
	if (standby && *standby == '/' && strlen(standby) < sizeof(env->standby))
		strcpy(env->standby, standby);
	env->level = level && !strcmp(level, "off") ? AIF_LEVEL_OFF : AIF_LEVEL_GRAPHS;
	env->filters = filters ? (uint32_t)strtoul(filters, NULL, 10) : AIF_FILTERS_UNKNOWN;
	env->is_filtered = filters && is_filtered(env->filters, f);
	env->job = aif_job_number();
	env->at_once = is_set(AIF_ENV_CPU);
	env->children = env->at_once || is_set(AIF_ENV_CHILDREN);
	strncpy(env->runtime, runtime ? runtime : "", sizeof(env->runtime) - 1);
	return !env->is_filtered && (*env->socket || *env->standby);
}

/* The program and its arguments: a process that is over in a moment is not seen otherwise. */
static void introduce(struct aif_hello *h)
{
	ssize_t n = readlink("/proc/self/exe", h->text, sizeof(h->text) - 1);
	size_t len = n > 0 ? (size_t)n : 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	h->text[len++] = '\0';
	n = fd < 0 ? 0 : read(fd, h->text + len, sizeof(h->text) - len);
	if (fd >= 0)
		close(fd);
	h->text_len = (uint32_t)(len + (n > 0 ? (size_t)n : 0));
}

/* Says to the recorder, if there is one, that the process carries the agent. */
static void announce(struct aif_environment *env, struct first *f)
{
	int fd;

	if (!read_environment(env, f))
		return;
	env->carrier = true;
	if (*env->socket && is_set(AIF_ENV_NVTX))
		aif_injection_set();
	if (!*env->socket)
		return;
	f->hello.magic = AIF_WIRE_MAGIC;
	f->hello.version = AIF_WIRE_VERSION;
	f->hello.kind = AIF_HELLO_CARRIER;
	memcpy(f->hello.token, env->token, sizeof(f->hello.token));
	introduce(&f->hello);
	/* A recorder that has gone costs nothing: the runtime's hello will fail, too. */
	(void)aif_hello_send(env->socket, &f->hello, CARRIER_TIMEOUT_MS, &fd);
	if (env->children) {
		aif_children_watch_forks(true);
		aif_children_join_soon();
	}
}

void aif_agent_choose_clock(void)
{
	Dl_info found, own;

	if (dladdr((const void *)(uintptr_t)clock_gettime, &found) &&
	    dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &own) &&
	    found.dli_fbase != own.dli_fbase)
		atomic_store(&aif_clock_by_call, true);
}

__attribute__((constructor)) static void arrive(void)
{
	struct first *f = NULL;
	int saved = errno;

	/* A program with more rights than its caller must not obey the caller's environment. musl loads us,
	 * but we know glibc's threads and unwind tables only. */
	if (!aif_auxv(AT_SECURE) && dlsym(RTLD_DEFAULT, "gnu_get_libc_version") && is_first_copy())
		f = aif_pages(sizeof(*f));
	if (f) {
		aif_agent_choose_clock();
		aif_loader_find(&aif_agent.loader);
		announce(&aif_agent.env, f);
		munmap(f, sizeof(*f));
	}
	atomic_store(&aif_agent.env.is_read, true);
	errno = saved;
}

static void after_fork(void)
{
	aif_sampler_after_fork(&aif_agent.sampler);
	aif_cpu_after_fork(&aif_agent.cpu);
	aif_runtimes_after_fork();
}

static const struct aif_session_hooks hooks = {
	.start_helper = aif_helper_start,
	.after_fork = after_fork,
};

int aif_agent_start(enum aif_runtime_id runtime)
{
	return aif_session_start(runtime, &hooks);
}

int aif_agent_start_without_device(void)
{
	return aif_session_start_without_device(&hooks);
}

/* Shared memory needs no flushing, and the recorder sees our end by itself. Once: by the handler, else by
 * the destructor. */
__attribute__((destructor)) static void leave(void)
{
	struct aif_session *s = &aif_agent.session;

	if (atomic_exchange(&aif_agent.left, true))
		return;
	aif_session_at_exit();
	aif_runtimes_before_exit();
	if (!s->armed || !atomic_load_explicit(&s->armed->on, memory_order_acquire))
		return;
	aif_injection_at_exit();
	aif_runtimes_at_exit();
	aif_cpu_last(&aif_agent.cpu);
}

/* A preloaded library's destructor runs last, when a driver that was loaded later has been taken apart
 * already, while its threads may still be at work: each moment that we take then makes it likelier to
 * crash. Handlers run in the opposite order of their registration, so one that is registered when the
 * driver is there runs before that. */
void aif_agent_leave_before_driver(void)
{
	if (!atomic_exchange(&aif_agent.leaves_early, true))
		aif_agent_leave_first();
}

void aif_agent_leave_first(void)
{
	atexit(leave);
}

/*
 * Preloaded, this is everybody's dlclose. An unloaded library's addresses may soon be another's, so
 * what was learned about them is dropped before they can be free: another thread may load the next library
 * there before we are back from the real one. Afterwards again, for what its destructors made us
 * learn. dlopen is left alone: the loader resolves $ORIGIN by its caller, which would be us.
 */
AIF_PUBLIC int dlclose(void *handle);
int dlclose(void *handle)
{
	int (*real)(void *) = atomic_load_explicit(&aif_agent.real_dlclose, memory_order_acquire);
	bool counted;
	int r;

	if (!real) {
		real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
		if (!real)
			return -1;
		atomic_store_explicit(&aif_agent.real_dlclose, real, memory_order_release);
	}
	counted = aif_session_unload_begin();
	r = real(handle);
	aif_session_unload_end(counted);
	return r;
}
