/* SPDX-License-Identifier: Apache-2.0 */
#include "record/nvml/reader.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Values that wait: six seconds of eight GPUs. The drain thread takes them 50 times a second. */
#define VALUES 8192
#define NOTES  32

struct schedule {
	uint64_t next, took; /* took: of a turn, smoothed; ns */
};

struct reading {
	struct aif_nvml_card card;
	struct schedule at[AIF_NVML_GROUPS];
	bool is_open;
	enum aif_nvml_gpm said_gpm;
};

struct aif_nvml_reader {
	pthread_t thread;
	/* The thread's. */
	struct aif_nvml lib;
	struct reading *cards[AIF_NVML_CARDS];
	unsigned cards_len;
	uint64_t call_began;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	unsigned owners; /* the thread, the caller */
	bool stops, rests, has_ended;
	struct {
		uint32_t pci, tag;
	} wanted[AIF_NVML_CARDS];
	unsigned wanted_len;
	struct aif_nvml_value values[VALUES];
	size_t values_len;
	uint64_t dropped;
	struct {
		struct aif_nvml_facts facts;
		uint32_t tag;
		bool is_new;
	} facts[AIF_NVML_CARDS];
	struct aif_nvml_note notes[NOTES];
	unsigned notes_len;
	const char *calling; /* the call in progress; NULL: none */
	struct aif_nvml_cost cost;
};

static void note(struct aif_nvml_reader *r, enum aif_reason reason, const char *detail)
{
	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i <= r->notes_len && i < NOTES; i++) {
		struct aif_nvml_note *n = &r->notes[i];

		if (i == r->notes_len) {
			*n = (struct aif_nvml_note){.reason = reason};
			snprintf(n->detail, sizeof(n->detail), "%s", detail);
			r->notes_len++;
		} else if (n->reason != reason || strcmp(n->detail, detail) != 0) {
			continue;
		}
		n->count++;
		break;
	}
	pthread_mutex_unlock(&r->lock);
}

/* ---- what cards say -------------------------------------------------------------------------- */

static void on_value(void *arg, const struct aif_nvml_card *c, uint64_t time,
		     enum aif_nvml_counter counter, double value)
{
	struct aif_nvml_reader *r = arg;

	pthread_mutex_lock(&r->lock);
	if (r->values_len < VALUES)
		r->values[r->values_len++] = (struct aif_nvml_value){
			.time = time, .value = value, .tag = c->tag, .counter = counter};
	else
		r->dropped++;
	pthread_mutex_unlock(&r->lock);
}

static void on_failed(void *arg, const struct aif_nvml_card *c, const char *call, int result)
{
	char text[160];

	(void)c;
	snprintf(text, sizeof(text), "%s: %s (%d)", call, aif_nvml_result_text(result), result);
	note(arg,
	     result == AIF_NVML_NO_PERMISSION ? AIF_REASON_NVML_DENIED : AIF_REASON_NVML_FAILED,
	     text);
}

static void on_back(void *arg, const struct aif_nvml_card *c)
{
	(void)c;
	note(arg, AIF_REASON_NVML_BACK, "");
}

static void on_call(void *arg, const struct aif_nvml_card *c, const char *call)
{
	struct aif_nvml_reader *r = arg;
	const char *was;
	uint64_t took;

	(void)c;
	pthread_mutex_lock(&r->lock);
	was = r->calling;
	r->calling = call;
	if (call) {
		r->call_began = aif_now_ns();
		pthread_mutex_unlock(&r->lock);
		return;
	}
	took = aif_now_ns() - r->call_began;
	r->cost.calls++;
	r->cost.calls_ns += took;
	r->cost.most_ns = AIF_MAX(r->cost.most_ns, took);
	pthread_mutex_unlock(&r->lock);
	if (took > AIF_NVML_SLOW_NS && was)
		note(r, AIF_REASON_NVML_SLOW, was);
}

static struct aif_nvml_sink sink_of(struct aif_nvml_reader *r)
{
	return (struct aif_nvml_sink){.arg = r,
				      .value = on_value,
				      .failed = on_failed,
				      .went_back = on_back,
				      .calling = on_call};
}

static void put_facts(struct aif_nvml_reader *r, unsigned i)
{
	pthread_mutex_lock(&r->lock);
	r->facts[i].facts = r->cards[i]->card.facts;
	r->facts[i].tag = r->cards[i]->card.tag;
	r->facts[i].is_new = true;
	r->cards[i]->said_gpm = r->cards[i]->card.facts.gpm;
	pthread_mutex_unlock(&r->lock);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void read_group(struct aif_nvml_reader *r, unsigned i, enum aif_nvml_group g)
{
	static const uint64_t periods[] = {AIF_NVML_QUICK_NS, AIF_NVML_GPM_NS, AIF_NVML_ENERGY_NS};
	struct aif_nvml_sink sink = sink_of(r);
	struct reading *c = r->cards[i];
	struct schedule *s = &c->at[g];
	uint64_t begin = aif_now_ns(), pause;

	aif_nvml_card_read(&r->lib, &c->card, g, &sink);
	s->took = (3 * s->took + (aif_now_ns() - begin)) / 4;
	pause = AIF_MIN(s->took * AIF_NVML_SHARE * r->cards_len, AIF_NVML_PAUSE_NS);
	s->next = begin + AIF_MAX(periods[g], pause);
	if (c->card.facts.gpm != c->said_gpm)
		put_facts(r, i);
}

static void open_card(struct aif_nvml_reader *r, uint32_t pci, uint32_t tag)
{
	struct aif_nvml_sink sink = sink_of(r);
	struct reading *c = calloc(1, sizeof(*c));
	int result;

	if (!c)
		return;
	r->cards[r->cards_len++] = c;
	c->card.tag = tag;
	result = aif_nvml_card_open(&r->lib, pci, &sink, &c->card);
	c->is_open = result == AIF_NVML_OK;
	if (!c->is_open) {
		on_failed(r, &c->card, "nvmlDeviceGetHandleByPciBusId", result);
		return;
	}
	put_facts(r, r->cards_len - 1);
	if (c->card.facts.is_mig)
		note(r, AIF_REASON_NVML_MIG, "");
	for (unsigned g = AIF_NVML_GROUPS; g-- > 0;)
		read_group(r, r->cards_len - 1, (enum aif_nvml_group)g);
}

/* Reads what is due; all: whatever is not slow, due or not. Returns when the next is. */
static uint64_t read_due(struct aif_nvml_reader *r, bool all)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < r->cards_len; i++)
		for (unsigned g = 0; g < AIF_NVML_GROUPS && r->cards[i]->is_open; g++) {
			struct schedule *s = &r->cards[i]->at[g];

			if (all ? s->took < AIF_NVML_SLOW_NS / 4 : aif_now_ns() >= s->next)
				read_group(r, i, (enum aif_nvml_group)g);
			next = AIF_MIN(next, s->next);
		}
	return next;
}

/* Opens cards that were added. True if the thread is to stop. */
static bool open_wanted(struct aif_nvml_reader *r)
{
	bool stops;

	pthread_mutex_lock(&r->lock);
	while (r->cards_len < r->wanted_len && !r->stops) {
		uint32_t pci = r->wanted[r->cards_len].pci, tag = r->wanted[r->cards_len].tag;
		unsigned before = r->cards_len;

		pthread_mutex_unlock(&r->lock);
		open_card(r, pci, tag);
		pthread_mutex_lock(&r->lock);
		if (r->cards_len == before)
			break; /* no memory */
	}
	stops = r->stops;
	pthread_mutex_unlock(&r->lock);
	return stops;
}

/* Waits until `next`, or until something has changed; while resting until that is over. */
static void await(struct aif_nvml_reader *r, uint64_t next)
{
	struct timespec until = {.tv_sec = (time_t)(next / AIF_NS_PER_S),
				 .tv_nsec = (long)(next % AIF_NS_PER_S)};
	int e = 0;

	pthread_mutex_lock(&r->lock);
	if (r->rests && !r->stops) {
		pthread_mutex_unlock(&r->lock);
		read_due(r, true);
		pthread_mutex_lock(&r->lock);
		while (r->rests && !r->stops)
			pthread_cond_wait(&r->changed, &r->lock);
	}
	while (!r->stops && !r->rests && r->cards_len == r->wanted_len && !e)
		e = next == UINT64_MAX ? pthread_cond_wait(&r->changed, &r->lock)
				       : pthread_cond_timedwait(&r->changed, &r->lock, &until);
	pthread_mutex_unlock(&r->lock);
}

static bool start_library(struct aif_nvml_reader *r)
{
	const char *why = aif_nvml_load(&r->lib);
	int result;

	if (why) {
		note(r, AIF_REASON_NVML_NONE, why);
		return false;
	}
	on_call(r, NULL, "init");
	result = r->lib.init();
	on_call(r, NULL, NULL);
	if (result == AIF_NVML_OK)
		return true;
	on_failed(r, NULL, "nvmlInit", result);
	aif_nvml_unload(&r->lib);
	return false;
}

static void drop_owner(struct aif_nvml_reader *r)
{
	bool is_last;

	pthread_mutex_lock(&r->lock);
	is_last = --r->owners == 0;
	pthread_mutex_unlock(&r->lock);
	if (!is_last)
		return;
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void *reader_main(void *arg)
{
	struct aif_nvml_reader *r = arg;

	if (start_library(r)) {
		while (!open_wanted(r))
			await(r, read_due(r, false));
		read_due(r, true);
		for (unsigned i = 0; i < r->cards_len; i++)
			aif_nvml_card_finish(&r->lib, &r->cards[i]->card);
		if (r->lib.shutdown)
			r->lib.shutdown();
		aif_nvml_unload(&r->lib);
	}
	for (unsigned i = 0; i < r->cards_len; i++)
		free(r->cards[i]);
	pthread_mutex_lock(&r->lock);
	r->cost.cpu_ns = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r->has_ended = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	drop_owner(r);
	return NULL;
}

/* ---- the caller's side ----------------------------------------------------------------------- */

struct aif_nvml_reader *aif_nvml_reader_new(void)
{
	struct aif_nvml_reader *r = calloc(1, sizeof(*r));
	pthread_condattr_t monotonic;

	if (!r)
		return NULL;
	r->owners = 2;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&r->thread, NULL, reader_main, r) == 0)
		return r;
	r->owners = 1;
	drop_owner(r);
	return NULL;
}

bool aif_nvml_reader_add(struct aif_nvml_reader *r, uint32_t pci, uint32_t tag)
{
	bool has_room;

	pthread_mutex_lock(&r->lock);
	has_room = r->wanted_len < AIF_NVML_CARDS;
	if (has_room) {
		r->wanted[r->wanted_len].pci = pci;
		r->wanted[r->wanted_len++].tag = tag;
	}
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return has_room;
}

void aif_nvml_reader_rest(struct aif_nvml_reader *r, bool rests)
{
	pthread_mutex_lock(&r->lock);
	if (r->rests != rests)
		pthread_cond_broadcast(&r->changed);
	r->rests = rests;
	pthread_mutex_unlock(&r->lock);
}

size_t aif_nvml_reader_take(struct aif_nvml_reader *r, struct aif_nvml_value *ret, size_t max)
{
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = AIF_MIN(max, r->values_len);
	memcpy(ret, r->values, n * sizeof(*ret));
	r->values_len -= n;
	memmove(r->values, r->values + n, r->values_len * sizeof(*ret));
	pthread_mutex_unlock(&r->lock);
	return n;
}

bool aif_nvml_reader_facts(struct aif_nvml_reader *r, uint32_t *ret_tag, struct aif_nvml_facts *ret)
{
	bool any = false;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < AIF_NVML_CARDS && !any; i++) {
		if (!r->facts[i].is_new)
			continue;
		any = true;
		r->facts[i].is_new = false;
		*ret = r->facts[i].facts;
		*ret_tag = r->facts[i].tag;
	}
	pthread_mutex_unlock(&r->lock);
	return any;
}

bool aif_nvml_reader_note(struct aif_nvml_reader *r, struct aif_nvml_note *ret)
{
	bool any;

	pthread_mutex_lock(&r->lock);
	any = r->notes_len || r->dropped;
	if (r->notes_len) {
		*ret = r->notes[--r->notes_len];
	} else if (r->dropped) {
		*ret = (struct aif_nvml_note){.reason = AIF_REASON_WRITER_BEHIND,
					      .count = r->dropped,
					      .detail = "values of counters"};
		r->dropped = 0;
	}
	pthread_mutex_unlock(&r->lock);
	return any;
}

bool aif_nvml_reader_stop(struct aif_nvml_reader *r, uint64_t ns, struct aif_nvml_cost *ret_cost)
{
	uint64_t end = aif_now_ns() + ns;
	struct timespec until = {.tv_sec = (time_t)(end / AIF_NS_PER_S),
				 .tv_nsec = (long)(end % AIF_NS_PER_S)};
	const char *calling;
	bool has_ended;
	int e = 0;

	pthread_mutex_lock(&r->lock);
	r->stops = true;
	pthread_cond_broadcast(&r->changed);
	while (!r->has_ended && !e)
		e = pthread_cond_timedwait(&r->changed, &r->lock, &until);
	has_ended = r->has_ended;
	calling = r->calling;
	*ret_cost = r->cost;
	pthread_mutex_unlock(&r->lock);
	if (has_ended) {
		pthread_join(r->thread, NULL);
		return true;
	}
	note(r, AIF_REASON_NVML_SLOW, calling ? calling : "loading the library");
	pthread_detach(r->thread);
	return false;
}

void aif_nvml_reader_free(struct aif_nvml_reader *r)
{
	if (r)
		drop_owner(r);
}
