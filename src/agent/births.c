/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/births.h"

#include "agent/agent.h"
#include "agent/next_function.h"
#include "agent/sandbox.h"

#include <errno.h>

/* Entries that are looked at before a thread goes without. */
#define TRIES 16

typedef __typeof__(pthread_create) create_fn;

static create_fn *next_create(void)
{
	static _Atomic(void *) next;
	void *found = atomic_load_explicit(&next, memory_order_relaxed);

	if (!found) {
		found = aif_next_function("pthread_create");
		atomic_store_explicit(&next, found, memory_order_relaxed);
	}
	return (create_fn *)found;
}

static struct aif_birth *take(void)
{
	struct aif_births *births = &aif_agent.births;
	uint32_t first = atomic_fetch_add_explicit(&births->hint, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < TRIES; i++) {
		struct aif_birth *b = &births->at[(first + i) % AIF_BIRTHS];
		bool is_used = false;

		if (!atomic_load_explicit(&b->is_used, memory_order_relaxed) &&
		    atomic_compare_exchange_strong_explicit(&b->is_used, &is_used, true,
							    memory_order_acquire,
							    memory_order_relaxed))
			return b;
	}
	return NULL;
}

static void give_back(struct aif_birth *b)
{
	atomic_store_explicit(&b->is_used, false, memory_order_release);
}

static bool has_room(const pthread_attr_t *attr)
{
	size_t bytes;

	return !attr || pthread_attr_getstacksize(attr, &bytes) || bytes >= AIF_BIRTH_STACK_MIN;
}

/* Goes to birth_start.S in two registers. */
struct aif_birth_call {
	void *(*start)(void *);
	void *arg;
};

/* birth_start.S */
void *aif_birth_start(void *birth);
struct aif_birth_call aif_birth_begin(struct aif_birth *b);

/* In the new thread. Returns what it is to call. */
struct aif_birth_call aif_birth_begin(struct aif_birth *b)
{
	struct aif_birth_call call = {.start = b->start, .arg = b->arg};
	int saved = errno;

	give_back(b);
	aif_cpu_arm_here(&aif_agent.cpu);
	errno = saved;
	return call;
}

AIF_PUBLIC create_fn pthread_create;
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	create_fn *create = next_create();
	struct aif_birth *b = NULL;
	int saved = errno, r;

	if (!create)
		return EAGAIN;
	if (aif_cpu_arms(&aif_agent.cpu) && has_room(attr))
		b = take();
	errno = saved;
	if (!b)
		return create(thread, attr, start, arg);
	b->start = start;
	b->arg = arg;
	r = create(thread, attr, aif_birth_start, b);
	if (r)
		give_back(b);
	return r;
}

int aif_birth_create_own(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			 void *arg)
{
	create_fn *create = next_create();

	return create ? create(thread, attr, start, arg) : EAGAIN;
}
