/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/thread.h"

#include "agent/emit.h"
#include "agent/memory/pages.h"
#include "agent/sandbox.h"
#include "base/map.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_ENTRIES 256

int64_t aif_launching_at(void)
{
	uintptr_t at;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(at));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(at));
#else
	at = (uintptr_t)__builtin_thread_pointer();
#endif
	return (int64_t)((uintptr_t)&aif_launching - at);
}

static void give_back(void *arg)
{
	struct aif_threads *threads = &aif_agent.threads;
	struct aif_thread *t = arg;
	uint32_t generation;

	aif_self = NULL;
	atomic_store_explicit(&t->waiting.api, NULL, memory_order_relaxed);
	/* The thread may have been cancelled inside a call that waits. */
	atomic_store_explicit(&t->spins, 0, memory_order_relaxed);
	aif_thread_set_busy(t, AIF_BUSY_ENTRY);
	generation = atomic_load(&aif_agent.session.armed->generation);
	/* A child that has not met the recorder again: no slot is there, and a thread that is not may hold
	 * the lock. */
	if (!generation)
		return;
	/* The slot is there only while the session that it belongs to is recorded. */
	if (t->slot && t->generation == generation) {
		aif_emit_block_ended(t, 0, aif_now_ns());
		atomic_store_explicit(&t->slot->owner, 0, memory_order_release);
	}
	t->slot = NULL;
	t->generation = 0;
	aif_thread_set_busy(t, AIF_BUSY_NOT);
	pthread_mutex_lock(&threads->lock);
	t->next = threads->pool;
	threads->pool = t;
	pthread_mutex_unlock(&threads->lock);
}

int aif_threads_init(struct aif_threads *threads)
{
	int r;

	if (atomic_load_explicit(&threads->have_key, memory_order_relaxed))
		return 0;
	pthread_mutex_init(&threads->lock, NULL);
	r = pthread_key_create(&threads->key, give_back);
	if (r)
		return -r;
	atomic_store_explicit(&threads->have_key, true, memory_order_release);
	return 0;
}

void aif_threads_after_fork(struct aif_threads *threads)
{
	pthread_mutex_init(&threads->lock, NULL);
}

static void *memo_new(struct aif_threads *threads)
{
	void *memo = NULL;

	pthread_mutex_lock(&threads->lock);
	if (threads->memos < AIF_THREAD_MEMOS) {
		memo = aif_pages_unlocked(aif_memo_size());
		threads->memos += memo != NULL;
	}
	pthread_mutex_unlock(&threads->lock);
	return memo;
}

static struct aif_thread *make(void)
{
	enum { SELF, STACKS, SHAPES, CODES, ENTRIES, SCRATCH, PARTS = SCRATCH + AIF_SCRATCH_PARTS };
	struct aif_thread *t;
	size_t bytes[PARTS] = {
		[SELF] = sizeof(*t),
		[STACKS] = aif_idtable_bytes(4 * AIF_THREAD_STACKS),
		[SHAPES] = aif_idtable_bytes(2 * AIF_THREAD_SHAPES),
		[CODES] = aif_idtable_bytes(2 * AIF_THREAD_CODES),
		[ENTRIES] = AIF_WIRE_MAX_DEPTH * sizeof(t->entries[0]),
	};
	void *at[PARTS];

	aif_scratch_bytes(bytes + SCRATCH);
	if (!aif_pages_shared(bytes, at, PARTS))
		return NULL;
	t = at[SELF];
	t->entries = at[ENTRIES];
	aif_scratch_init(&t->scratch, at + SCRATCH);
	aif_idtable_init(&t->stacks, at[STACKS], FIRST_ENTRIES, 4 * AIF_THREAD_STACKS);
	aif_idtable_init(&t->shapes, at[SHAPES], FIRST_ENTRIES / 4, 2 * AIF_THREAD_SHAPES);
	aif_idtable_init(&t->codes, at[CODES], FIRST_ENTRIES, 2 * AIF_THREAD_CODES);
	t->memo = memo_new(&aif_agent.threads);
	t->next_of_all = atomic_load_explicit(&aif_agent.threads.all, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&aif_agent.threads.all, &t->next_of_all, t))
		;
	return t;
}

bool aif_threads_use(struct aif_threads *threads, uint32_t generation, bool within_vendor)
{
	for (const struct aif_thread *t = atomic_load(&threads->all); t; t = t->next_of_all) {
		enum aif_busy busy = (enum aif_busy)atomic_load(&t->busy);

		if (busy != AIF_BUSY_NOT && (within_vendor || busy == AIF_BUSY_ENTRY) &&
		    atomic_load(&t->generation) == generation)
			return true;
	}
	return false;
}

struct aif_thread *aif_thread_take(void)
{
	struct aif_threads *threads = &aif_agent.threads;
	struct aif_thread *t;

	pthread_mutex_lock(&threads->lock);
	t = threads->pool;
	if (t)
		threads->pool = t->next;
	pthread_mutex_unlock(&threads->lock);
	if (!t)
		t = make();
	if (t)
		t->takes++;
	return t;
}

static bool claim_from(struct aif_thread *t, uint32_t first)
{
	const struct aif_attachment *a = t->joined;

	for (uint32_t i = 0; i < a->slots; i++) {
		uint32_t index = (first + i) % a->slots, free = 0;
		struct aif_slot *slot = aif_shm_slot(a->shm, index);

		if (atomic_compare_exchange_strong_explicit(&slot->owner, &free, t->tid,
							    memory_order_acquire,
							    memory_order_relaxed)) {
			t->slot = slot;
			t->slot_index = index;
			return true;
		}
	}
	return false;
}

static void give_back_slot(struct aif_thread *t)
{
	atomic_store_explicit(&t->slot->owner, 0, memory_order_release);
	t->slot = NULL;
}

/* The ring of the slot that is this thread's now. NULL: no address space. */
static uint8_t *ring_of(struct aif_thread *t)
{
	struct aif_attachment *a = t->joined;
	uint8_t **ring = &a->ring[t->slot_index];

	if (!*ring)
		*ring = aif_shm_map_ring(a->shm, a->slots, a->ring_size, t->slot_index);
	return *ring;
}

/* Threads that ended without their destructors (exit by system call) left slots behind. */
static bool scavenge(const struct aif_attachment *a)
{
	uint64_t now = aif_now_ns(),
		 last = atomic_load_explicit(&aif_agent.threads.scavenged_ns, memory_order_relaxed);
	bool found = false;

	if (now - last < AIF_NS_PER_S ||
	    !atomic_compare_exchange_strong(&aif_agent.threads.scavenged_ns, &last, now))
		return false;
	for (uint32_t i = 0; i < a->slots; i++) {
		struct aif_slot *slot = aif_shm_slot(a->shm, i);
		uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);

		if (owner && syscall(SYS_tgkill, getpid(), (pid_t)owner, 0) < 0 && errno == ESRCH)
			found |= atomic_compare_exchange_strong(&slot->owner, &owner, 0);
	}
	return found;
}

bool aif_thread_announce(struct aif_thread *t)
{
	struct aif_wire_thread *r = aif_ring_reserve(&t->ring, AIF_WIRE_THREAD, sizeof(*r));

	if (!r)
		return false;
	r->head.aux = t->tid;
	r->time = aif_now_ns();
	r->zero = 0;
	memset(r->name, 0, sizeof(r->name));
	prctl(PR_GET_NAME, r->name);
	aif_ring_commit(&t->ring);
	t->stacks.next = t->shapes.next = t->codes.next = 0;
	t->announced.len = 0;
	/* Calls that are open have stacks of before. */
	t->calls.len = 0;
	atomic_store_explicit(&t->slot->call_since, 0, memory_order_relaxed);
	t->announcements++;
	return true;
}

bool aif_thread_start_anew(struct aif_thread *t)
{
	aif_idtable_clear(&t->stacks);
	aif_idtable_clear(&t->shapes);
	aif_idtable_clear(&t->codes);
	return aif_thread_announce(t);
}

/* Says which session this busy thread is about to use, so that its memory stays. False: there is none. */
static bool hold_session(struct aif_thread *t)
{
	struct aif_session *s = &aif_agent.session;
	uint32_t generation;

	do {
		generation = atomic_load(&s->armed->generation);
		atomic_store(&t->generation, generation);
	} while (generation != atomic_load(&s->armed->generation));
	/* Published before that generation was. */
	t->joined = atomic_load_explicit(&s->attached, memory_order_acquire);
	return generation && generation < AIF_GENERATION_DORMANT && t->joined &&
	       t->joined->generation == generation;
}

bool aif_thread_join(struct aif_thread *t)
{
	struct aif_session *s = &aif_agent.session;
	const struct aif_attachment *a;
	uint8_t *ring;

	t->slot = NULL; /* of an older session, whose memory may have gone */
	if (aif_sandbox_may_be_on()) {
		t->refused = AIF_REFUSED_CALLS;
		return false;
	}
	if (!hold_session(t))
		return false;
	a = t->joined;
	t->tid = (uint32_t)syscall(SYS_gettid);
	/* The slot that this memory had last is likely free, and its ring's pages are there. */
	if (!claim_from(t, t->slot_index) && !(scavenge(a) && claim_from(t, 0))) {
		t->refused = AIF_REFUSED_SLOT;
		return false;
	}
	ring = ring_of(t);
	if (!ring) {
		give_back_slot(t);
		t->refused = AIF_REFUSED_MEMORY;
		return false;
	}
	atomic_fetch_add_explicit(&t->slot->claims, 1, memory_order_relaxed);
	aif_ring_init(&t->ring, t->slot, ring, a->ring_size);
	aif_idtable_clear(&t->stacks);
	aif_idtable_clear(&t->shapes);
	aif_idtable_clear(&t->codes);
	if (t->memo)
		aif_memo_init(t->memo, s->unwinder, t->bounds, AIF_MEMO_MAX_DEPTH);
	t->unwind_generation = aif_unwinder_generation(s->unwinder);
	t->block = 0;
	t->block_launches = 0;
	atomic_store_explicit(&t->slot->block_launches, 0, memory_order_relaxed);
	/* Any phase, so that first launches, which are dear, are measured as often as they occur. */
	t->countdown = (uint32_t)aif_mix64(t->tid) % AIF_EMIT_COST_EACH;
	if (!aif_thread_announce(t)) {
		give_back_slot(t);
		return false;
	}
	return true;
}
