/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "agent/loader.h"

#include "agent/next_function.h"
#include "base/clock.h"
#include "unwind/module_function.h"

#include <link.h>
#include <stdint.h>
#include <time.h>

/* A function that the loader alone defines. */
#define LOADERS "_dl_mcount"
/* Mutexes of which one is searched for: those that threads have at this moment. */
#define HELD_MAX 8
/* The loader's variables take 5 to 8 KiB. */
#define BYTES_MAX (256u << 10)

/* The longest wait for a thread that has a lock, and how often it is looked at: exceptions take one for microseconds. */
#define AWAIT_NS 20000000
#define LOOK_NS  100000

typedef int iterate_fn(int (*)(struct dl_phdr_info *, size_t, void *), void *);

struct search {
	iterate_fn *iterate;
	uintptr_t lo, hi; /* variables of the loader */
	struct {
		const pthread_mutex_t *mutex;
		int owner;
		unsigned count;
	} held[HELD_MAX];
	unsigned len;
	const pthread_mutex_t *found;
	unsigned more; /* found ones */
};

#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static bool is_held(const pthread_mutex_t *m)
{
	return READ(m->__data.__owner) > 0 && READ(m->__data.__lock) && READ(m->__data.__count) &&
	       READ(m->__data.__nusers) == 1 &&
	       READ(m->__data.__kind) == PTHREAD_MUTEX_RECURSIVE_NP;
}

static int compare(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)info, (void)size;
	for (unsigned i = 0; i < s->len; i++) {
		const pthread_mutex_t *m = s->held[i].mutex;

		if (is_held(m) && READ(m->__data.__owner) == s->held[i].owner &&
		    READ(m->__data.__count) == s->held[i].count + 1) {
			s->found = m;
			s->more++;
		}
	}
	return 1;
}

/* Finds the loader among modules, then its mutexes that threads have. */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)size;
	if (!aif_module_function(info, LOADERS))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || p->p_memsz > BYTES_MAX)
			continue;
		s->lo = (info->dlpi_addr + p->p_vaddr + _Alignof(pthread_mutex_t) - 1) &
			~(uintptr_t)(_Alignof(pthread_mutex_t) - 1);
		s->hi = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	for (uintptr_t at = s->lo; at + sizeof(pthread_mutex_t) <= s->hi && s->len < HELD_MAX;
	     at += _Alignof(pthread_mutex_t)) {
		const pthread_mutex_t *m =
			(const pthread_mutex_t *)at; /* NOLINT(performance-no-int-to-ptr) */

		if (is_held(m)) {
			s->held[s->len].mutex = m;
			s->held[s->len].owner = READ(m->__data.__owner);
			s->held[s->len++].count = READ(m->__data.__count);
		}
	}
	s->iterate(compare, s);
	return 1;
}

/* Returns the C library's own function: others may stand in front of it, a sanitizer that is not set up yet among them. */
static iterate_fn *find_iterate(void)
{
	for (const struct link_map *m = aif_modules(); m; m = m->l_next)
		if (aif_function_of(m, "__libc_start_main"))
			return (iterate_fn *)aif_function_of(m, "dl_iterate_phdr");
	return NULL;
}

void aif_loader_find(struct aif_loader *l)
{
	struct search s = {.iterate = find_iterate()};
	const pthread_mutex_t *open;

	if (s.iterate)
		s.iterate(look, &s);
	if (s.more != 1)
		return;
	l->list = s.found;
	open = s.found - 1;
	if ((uintptr_t)open >= s.lo && READ(open->__data.__kind) == PTHREAD_MUTEX_RECURSIVE_NP)
		l->open = open;
}

static bool is_locked(const pthread_mutex_t *m)
{
	return m && __atomic_load_n(&m->__data.__lock, __ATOMIC_ACQUIRE) != 0;
}

bool aif_loader_list_is_free(const struct aif_loader *l)
{
	return l->list && !is_locked(l->list);
}

bool aif_loader_await_list(const struct aif_loader *l)
{
	uint64_t until = aif_now_ns() + AWAIT_NS;

	while (is_locked(l->list)) {
		if (aif_now_ns() >= until)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return true;
}

bool aif_loader_is_busy(const struct aif_loader *l)
{
	return is_locked(l->list) || is_locked(l->open);
}
