/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_buffer.h"

#include "agent/emit.h"

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

/* A library was unloaded, and the thread that did it could not wait for samples to be carried: those from before may lie in
 * it, and would get the names of what comes to lie there. */
static void samples_from_before_an_unload_are_counted(void **state)
{
	struct aif_cpu *c = calloc(1, sizeof(*c));
	struct aif_cpu_thread *t = calloc(1, sizeof(*t));
	struct aif_thread *self = calloc(1, sizeof(*self));

	(void)state;
	t->words = calloc(WORDS, sizeof(t->words[0]));
	t->words_len = WORDS;
	aif_idtable_init(&self->stacks, calloc(1, aif_idtable_bytes(64)), 16, 64);
	self->entries = calloc(WORDS, sizeof(self->entries[0]));
	self->scratch.sps = calloc(WORDS, sizeof(self->scratch.sps[0]));
	c->at[0].thread = t;
	c->len = 1;
	for (uint64_t time = 1; time <= 4; time++)
		put(t, time, 2);
	put(t, 5, 0); /* has no address */
	put(t, 6, 2);
	c->unloaded_ns = 4;
	aif_cpu_carry(c, self);
	assert_int_equal(it.samples, 2);
	assert_int_equal(it.first_ns, 5);
	assert_int_equal(it.lost, 4);
	/* Later ones are carried as ever. */
	put(t, 7, 2);
	aif_cpu_carry(c, self);
	assert_int_equal(it.samples, 3);
	assert_int_equal(it.lost, 4);
	free(self->stacks.memory);
	free(self->scratch.sps);
	free(self->entries);
	free(self);
	free(t->words);
	free(t);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_from_before_an_unload_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
