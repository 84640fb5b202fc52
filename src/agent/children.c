/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/children.h"

#include "agent/agent.h"
#include "agent/next_function.h"
#include "agent/own_threads.h"
#include "agent/sandbox.h"
#include "unwind/module_function.h"

#include <dlfcn.h>
#include <errno.h>

/* The first interval between two looks at the loader's locks: a program has one for a moment with each library that it opens. */
#define LOADER_LOOK_NS 100000

/* Waits while the start would wait for a thread that has a lock of the loader's. A child goes on with what its parent has
 * learned. */
static void await_loader(void)
{
	uint64_t ns = LOADER_LOOK_NS;

	while (!atomic_load(&aif_agent.session.armed) && aif_loader_is_busy(&aif_agent.loader) &&
	       !aif_own_thread_is_to_leave()) {
		aif_own_thread_sleep(ns);
		ns = AIF_MIN(2 * ns, AIF_CHILD_AGE_NS);
	}
}

static bool join(void)
{
	aif_own_thread_sleep(aif_agent.env.at_once ? AIF_CHILD_AT_ONCE_NS : AIF_CHILD_AGE_NS);
	/* A filter of system calls may have come meanwhile, or be about to. */
	while (aif_sandbox_may_be_on() && !aif_sandbox_is_on() && !aif_own_thread_is_to_leave())
		aif_own_thread_sleep(AIF_CHILD_AGE_NS);
	await_loader();
	if (aif_own_thread_is_to_leave())
		return true;
	if (!aif_sandbox_is_on())
		(void)aif_agent_start_without_device();
	return false;
}

void aif_children_join_soon(void)
{
	int saved = errno;

	(void)aif_own_thread_start(AIF_OWN_JOINER, join);
	errno = saved;
}

/* Whether the recorder wants this child. The session is the parent's, which may be too young to have one. */
static bool is_wanted(const struct aif_session *s)
{
	if (atomic_load(&s->attached) && atomic_load(&s->helped))
		return s->options & AIF_OPTION_CHILDREN;
	return aif_agent.env.children && !atomic_load(&s->starting);
}

static void in_child(void)
{
	const struct aif_session *s = &aif_agent.session;

	aif_session_forget_start();
	if (is_wanted(s) && !atomic_load(&s->leaving) && !aif_sandbox_may_be_on())
		aif_children_join_soon();
}

/* Asks without dlsym(), which allocates a message for what is not there: in a thread of the agent's
 * malloc() would reserve 64 MiB of addresses. In a constructor the loader's lists are this thread's, and a
 * sanitizer that is not set up yet may stand in front of the C library; later they may change meanwhile. */
static bool is_defined(const char *function, bool in_constructor)
{
	return in_constructor ? aif_next_function(function) != NULL
			      : aif_is_function_anywhere(function);
}

/* True of a program with a race detector (-fsanitize=thread), as a library or with its functions in the program itself, before
 * ours: a child that it forks has but one thread which it knows, and another one would end the child. */
static bool has_race_detector(bool in_constructor)
{
	Dl_info theirs, ours;

	return is_defined("__tsan_init", in_constructor) ||
	       (!aif_agent.env.injected && /* else the C library's functions are before ours */
		dladdr(dlsym(RTLD_DEFAULT, "pthread_create"), &theirs) &&
		dladdr((const void *)(uintptr_t)has_race_detector, &ours) &&
		theirs.dli_fbase != ours.dli_fbase);
}

void aif_children_watch_forks(bool in_constructor)
{
	static atomic_bool watched;

	if (!atomic_exchange(&watched, true) && !has_race_detector(in_constructor))
		aif_session_at_fork(in_child);
}
