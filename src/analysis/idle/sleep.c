/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/sleep.h"

#include "analysis/cpu_totals.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Libraries of the C library, by the beginning of their file's name. */
static const char *const c_libraries[] = {"libc.so", "libc-", "libpthread", "ld-musl", "libc.musl"};
/* Libraries in which a wait is for a device, or for its peers. */
static const char *const runtimes[] = {"libcuda",  "libcudart",  "libOpenCL",  "libpocl",
				       "libze_",   "libhsa",     "libamdhip",  "libnccl",
				       "librccl",  "libnvidia-", "libigdrcl",  "libaiflame",
				       "libcudnn", "libcublas",  "libmkl_sycl"};

static bool is_library(const struct aif_profile *p, uint32_t module, const char *const *names,
		       size_t len)
{
	const char *path, *name;

	if (module == AIF_NONE)
		return false;
	path = aif_profile_str(p, p->modules[module].path);
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	for (size_t i = 0; i < len; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

bool aif_idle_is_runtime(const struct aif_profile *p, uint32_t module)
{
	return is_library(p, module, runtimes, AIF_ARRAY_LEN(runtimes));
}

/* Returns a function's name without what the C library puts in front of it. */
static const char *plain(const char *name)
{
	static const char *const prefixes[] = {"_", "GI_", "libc_", "new_"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) {
			name += strlen(prefixes[i]);
			i = SIZE_MAX;
		}
	return name;
}

/* Looks a function up: "__GI___poll" and "__libc_accept" are poll and accept; a version may follow, "@@GLIBC_2.3.2". */
static enum aif_idle_sleep sleep_in(const char *name)
{
	static const struct {
		enum aif_idle_sleep kind;
		const char *name;
	} sleeps[] = {
#define AIF_IDLE_SLEEP(kind, name) {AIF_IDLE_SLEEP_##kind, name},
#include "analysis/idle/sleeps.def"
#undef AIF_IDLE_SLEEP
	};
	size_t len;

	name = plain(name);
	len = strcspn(name, "@");
	for (size_t i = 0; i < AIF_ARRAY_LEN(sleeps); i++)
		if (strlen(sleeps[i].name) == len && !strncmp(name, sleeps[i].name, len))
			return sleeps[i].kind;
	return AIF_IDLE_SLEEP_NONE;
}

/* True for the functions in which the C library waits for any of its locks, threads and conditions: __futex_abstimed_wait64. */
static bool is_futex_wait(const char *name)
{
	return !strncmp(plain(name), "futex_", strlen("futex_"));
}

/* Looks up what the recorder saw a thread in: "in epoll_wait]", "in read of a socket]" (record/sources/sleep_calls.h). */
static enum aif_idle_sleep sleep_seen(const char *text)
{
	enum aif_idle_sleep found;
	const char *of;
	char name[64];

	if (strncmp(text, "in ", 3) != 0)
		return AIF_IDLE_SLEEP_NONE;
	text += 3;
	of = strstr(text, " of ");
	snprintf(name, sizeof(name), "%.*s", (int)(of ? of - text : (ptrdiff_t)strcspn(text, "]")),
		 text);
	found = sleep_in(name);
	if (of && !strcmp(of, " of Python's GIL]"))
		return AIF_IDLE_SLEEP_GIL;
	if (!of || found == AIF_IDLE_SLEEP_SERVE || found == AIF_IDLE_SLEEP_PEER ||
	    found == AIF_IDLE_SLEEP_HANDED)
		return found ? found : AIF_IDLE_SLEEP_ASLEEP;
	/* Another thread writes to an eventfd, a child process to a pipe. */
	if (!strcmp(of, " of an eventfd]"))
		return AIF_IDLE_SLEEP_HANDED;
	if (!strncmp(name, "read", 4) && !strcmp(of, " of a socket]"))
		return AIF_IDLE_SLEEP_PEER;
	return (found == AIF_IDLE_SLEEP_OUTSIDE || !strncmp(name, "read", 4)) &&
			       (!strcmp(of, " of a socket]") || !strcmp(of, " of a terminal]"))
		       ? AIF_IDLE_SLEEP_OUTSIDE
		       : AIF_IDLE_SLEEP_ASLEEP;
}

static bool is_in_c_library(const struct aif_profile *p, const struct aif_frame *f)
{
	return f->kind == AIF_FRAME_NATIVE &&
	       is_library(p, f->module, c_libraries, AIF_ARRAY_LEN(c_libraries));
}

/* Returns the name of a frame's function, not of what is inlined into it; NULL if all that is known is where it begins:
 * "[libc.so.6+0x98d70]". */
static const char *name_of(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);
	const char *name;

	while (n && n > p->frame_names && n[-1].frame == frame && n->inline_depth)
		n--;
	name = n && n->name != AIF_NONE ? aif_profile_str(p, n->name) : NULL;
	return name && *name != '[' ? name : NULL;
}

int aif_idle_sleeping_init(struct aif_idle_sleeping *ret, const struct aif_profile *p)
{
	ret->is_frame = calloc(p->frames_len + 1, sizeof(*ret->is_frame));
	if (!ret->is_frame)
		return -ENOMEM;
	for (size_t i = 0; i < p->stacks_len; i++) {
		uint32_t frame = p->stacks[i].frame, parent = p->stacks[i].parent, caller;
		const char *name;

		caller = parent == AIF_NONE ? AIF_NONE : p->stacks[parent].frame;
		if (frame == AIF_NONE || caller == AIF_NONE || ret->is_frame[frame] ||
		    !is_in_c_library(p, &p->frames[frame]) ||
		    !is_in_c_library(p, &p->frames[caller]) || name_of(p, frame))
			continue;
		name = name_of(p, caller);
		ret->is_frame[frame] = name && sleep_in(name);
	}
	return 0;
}

void aif_idle_sleeping_finish(struct aif_idle_sleeping *s)
{
	free(s->is_frame);
	s->is_frame = NULL;
}

/* True if the innermost code of a stack that is not the C library's is a runtime's. */
static bool is_of_runtime(const struct aif_profile *p, uint32_t stack)
{
	for (uint32_t s = stack; s != AIF_NONE; s = p->stacks[s].parent) {
		uint32_t frame = p->stacks[s].frame;

		if (frame == AIF_NONE || p->frames[frame].kind == AIF_FRAME_MARK ||
		    is_in_c_library(p, &p->frames[frame]))
			continue;
		return p->frames[frame].kind == AIF_FRAME_NATIVE &&
		       aif_idle_is_runtime(p, p->frames[frame].module);
	}
	return false;
}

enum aif_idle_sleep aif_idle_sleep_of(const struct aif_profile *p,
				      const struct aif_idle_sleeping *sleeping, uint32_t stack)
{
	enum aif_idle_sleep found = AIF_IDLE_SLEEP_NONE;
	bool is_asleep = false; /* in a function without a name */
	bool in_library = true;
	const char *seen = aif_cpu_seen(p, stack);

	if (aif_cpu_is_runnable(p, stack))
		return AIF_IDLE_SLEEP_READY;
	if (seen)
		return is_of_runtime(p, stack) ? AIF_IDLE_SLEEP_ASLEEP : sleep_seen(seen);
	for (uint32_t s = stack; s != AIF_NONE; s = p->stacks[s].parent) {
		uint32_t frame = p->stacks[s].frame, module;
		const struct aif_frame *f;
		const char *name;

		if (frame == AIF_NONE)
			continue;
		f = &p->frames[frame];
		if (f->kind != AIF_FRAME_NATIVE)
			continue;
		module = f->module;
		if (module != AIF_NONE && p->modules[module].kind == AIF_MODULE_OS)
			continue;
		if (found && is_library(p, module, runtimes, AIF_ARRAY_LEN(runtimes)))
			return AIF_IDLE_SLEEP_ASLEEP;
		in_library = in_library && is_in_c_library(p, f);
		is_asleep |= s == stack && sleeping->is_frame[frame];
		name = in_library && !found ? name_of(p, frame) : NULL;
		if (name) {
			found = sleep_in(name);
			is_asleep |= s == stack && is_futex_wait(name);
		}
		/* A program's own function does not sleep: it was seen on a CPU. */
		if (!in_library && !found)
			return is_asleep ? AIF_IDLE_SLEEP_ASLEEP : AIF_IDLE_SLEEP_NONE;
	}
	return found || !is_asleep ? found : AIF_IDLE_SLEEP_ASLEEP;
}

const char *aif_idle_sleep_call(const struct aif_profile *p, uint32_t stack)
{
	const char *call = "";

	for (uint32_t s = stack; s != AIF_NONE; s = p->stacks[s].parent) {
		uint32_t frame = p->stacks[s].frame;
		const char *name;

		if (frame == AIF_NONE || p->frames[frame].kind == AIF_FRAME_MARK ||
		    (p->frames[frame].module != AIF_NONE &&
		     p->modules[p->frames[frame].module].kind == AIF_MODULE_OS))
			continue;
		if (!is_in_c_library(p, &p->frames[frame]))
			break;
		name = name_of(p, frame);
		call = name ? plain(name) : call;
	}
	return call;
}
