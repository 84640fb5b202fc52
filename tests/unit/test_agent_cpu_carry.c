/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_buffer.h"

#include "agent/emit.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The way of samples from a thread's queue to the ring. */

#define WORDS 256

struct aif_agent aif_agent;
static struct {
	unsigned samples;
	uint64_t first_ns, lost;
} it;

bool aif_emit_cpu_sample(struct aif_thread *t, uint32_t tid, uint64_t time, uint64_t weight,
			 uint32_t stack, unsigned flags)
{
	(void)t, (void)tid, (void)weight, (void)stack, (void)flags;
	if (!it.samples++)
		it.first_ns = time;
	return true;
}

bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t count, const char *detail)
{
	(void)t, (void)detail;
	if (reason == AIF_REASON_CPU_LOST)
		it.lost += count;
	return true;
}

bool aif_emit_pycode(struct aif_thread *t, uint32_t id, const struct aif_python_code *c)
{
	(void)t, (void)id, (void)c;
	return true;
}

bool aif_emit_stack_record(struct aif_thread *t, uint32_t id, const uint64_t *entries, unsigned len,
			   unsigned stop)
{
	(void)t, (void)id, (void)entries, (void)len, (void)stop;
	return true;
}

void aif_announce_modules(struct aif_thread *t, const uint64_t *pcs, unsigned depth)
{
	(void)t, (void)pcs, (void)depth;
}

bool aif_unwinder_hold(const struct aif_unwinder *u, void (*do_it)(void *), void *arg)
{
	(void)u;
	do_it(arg);
	return true;
}

bool aif_unwinder_stale(const struct aif_unwinder *u, uint64_t pc)
{
	(void)u, (void)pc;
	return false;
}

uint32_t aif_unwinder_generation(const struct aif_unwinder *u)
{
	(void)u;
	return 1;
}

bool aif_session_refresh(uint64_t now)
{
	(void)now;
	return false;
}

bool aif_thread_start_anew(struct aif_thread *t)
{
	(void)t;
	return false;
}

void aif_cpu_account_sample(struct aif_cpu *c, struct aif_cpu_thread *t, uint32_t owner,
			    uint64_t weight)
{
	(void)c, (void)t, (void)owner, (void)weight;
}

static void put(struct aif_cpu_thread *t, uint64_t time, uint32_t len)
{
	struct aif_cpu_sample *s =
		aif_cpu_reserve(t, AIF_CPU_SAMPLE, sizeof(*s) + len * sizeof(s->entries[0]));

	assert_non_null(s);
	s->time = time;
	s->weight = 1;
	s->len = len;
	s->stop = len ? 0 : AIF_CPU_UNKNOWN;
	for (uint32_t i = 0; i < len; i++)
		s->entries[i] = 0x1000 + i;
	aif_cpu_commit(t, s);
}

struct world {
	struct aif_cpu *c;
	struct aif_cpu_thread *t;
	struct aif_thread *self;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	it = (__typeof__(it)){0};
	w->c = calloc(1, sizeof(*w->c));
	w->t = calloc(1, sizeof(*w->t));
	w->self = calloc(1, sizeof(*w->self));
	w->t->words = calloc(WORDS, sizeof(w->t->words[0]));
	w->t->words_len = WORDS;
	aif_idtable_init(&w->self->stacks, calloc(1, aif_idtable_bytes(64)), 16, 64);
	w->self->entries = calloc(WORDS, sizeof(w->self->entries[0]));
	w->self->scratch.sps = calloc(WORDS, sizeof(w->self->scratch.sps[0]));
	w->c->at[0].thread = w->t;
	w->c->len = 1;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	free(w->self->stacks.memory);
	free(w->self->scratch.sps);
	free(w->self->entries);
	free(w->self);
	free(w->t->words);
	free(w->t);
	free(w->c);
	free(w);
	return 0;
}

/* A library was unloaded, and the thread that did it could not wait for samples to be carried: those from before may lie in
 * it, and would get the names of what comes to lie there. */
static void samples_from_before_an_unload_are_counted(void **state)
{
	struct world *w = *state;

	for (uint64_t time = 1; time <= 4; time++)
		put(w->t, time, 2);
	put(w->t, 5, 0); /* has no address */
	put(w->t, 6, 2);
	w->c->unloaded_ns = 4;
	aif_cpu_carry(w->c, w->self);
	assert_int_equal(it.samples, 2);
	assert_int_equal(it.first_ns, 5);
	assert_int_equal(it.lost, 4);
	/* Later ones are carried as ever. */
	put(w->t, 7, 2);
	aif_cpu_carry(w->c, w->self);
	assert_int_equal(it.samples, 3);
	assert_int_equal(it.lost, 4);
}

/* A thread loses its CPU in the handler, behind the clock and before the sample is in the queue, and has it again when another
 * session has begun. */
static void a_sample_that_comes_behind_its_sessions_end_is_none_of_the_next(void **state)
{
	struct world *w = *state;
	const uint64_t before = aif_now_ns();

	put(w->t, before, 2);
	aif_cpu_discard(w->c);
	put(w->t, before, 2);
	put(w->t, aif_now_ns(), 2);
	aif_cpu_carry(w->c, w->self);
	assert_int_equal(it.samples, 1);
	assert_true(it.first_ns > before);
	assert_int_equal(it.lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(samples_from_before_an_unload_are_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_sample_that_comes_behind_its_sessions_end_is_none_of_the_next, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
