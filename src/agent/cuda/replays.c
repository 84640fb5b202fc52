/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/replays.h"

#include "agent/cuda/cuda.h"

#include <string.h>

/*
 * Bodies of conditional nodes run without a correlation id; their records come in buffers of their own, before or after
 * those of the other nodes (bench/results/h200-graphs.md). A graph runs one replay after another. So an execution belongs
 * to the last replay of which an execution with a call had begun by then. Where a graph has no such node, replays are
 * matched from the newest back: of an if's body each node runs at most once a replay, so where a node comes again another
 * replay begins. Where bodies are skipped while replays are queued, that may be a later replay than it was, of the same
 * graph.
 */

#define REPLAYS 4096
#define HELD    16384
#define NODES   65536 /* numbers of nodes are told apart up to here */

struct replay {
	_Atomic uint64_t number; /* from 1; 0 = being written */
	uint64_t launch, called;
	_Atomic uint64_t began; /* the first execution that names the call; 0 = not known */
	uint32_t graph, correlation;
};

struct held {
	struct aif_cuda_record r;
	struct aif_cuda_kernel *kernel;
	uint32_t round;
};

struct aif_cuda_replays {
	_Atomic uint64_t newest; /* number of a replay */
	struct replay ring[REPLAYS];
	_Atomic bool any; /* something was held, ever */
	uint64_t ran;     /* replay of the last execution */

	pthread_mutex_t lock; /* of what follows, and `ran` */
	struct held held[HELD];
	uint32_t len, round;
	uint32_t seen[NODES], group; /* group in which a node was seen last */
};

struct aif_cuda_replays *aif_cuda_replays_new(void)
{
	struct aif_cuda_replays *p = aif_pages(sizeof(*p));

	if (p)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

void aif_cuda_replay_called(struct aif_cuda_replays *p, uint32_t graph, uint32_t correlation,
			    uint64_t launch, uint64_t called)
{
	uint64_t number = atomic_fetch_add(&p->newest, 1) + 1;
	struct replay *e = &p->ring[number % REPLAYS];

	atomic_store(&e->number, 0);
	e->launch = launch;
	e->called = called;
	e->graph = graph;
	e->correlation = correlation;
	atomic_store_explicit(&e->began, 0, memory_order_relaxed);
	atomic_store_explicit(&e->number, number, memory_order_release);
}

/* NULL: it is not there any more, or not yet. */
static struct replay *replay_at(struct aif_cuda_replays *p, uint64_t number)
{
	struct replay *e = &p->ring[number % REPLAYS];

	return number && atomic_load_explicit(&e->number, memory_order_acquire) == number ? e
											  : NULL;
}

static uint64_t oldest(struct aif_cuda_replays *p)
{
	uint64_t newest = atomic_load(&p->newest);

	return newest >= REPLAYS ? newest - REPLAYS + 1 : 1;
}

void aif_cuda_replay_ran(struct aif_cuda_replays *p, const struct aif_cuda_record *r)
{
	struct replay *e;
	uint64_t i, began;

	/* Programs without conditional nodes pay nothing for them. */
	if (!atomic_load_explicit(&p->any, memory_order_relaxed))
		return;
	pthread_mutex_lock(&p->lock);
	e = replay_at(p, p->ran);
	if (!e || e->correlation != r->correlation) {
		for (i = atomic_load(&p->newest); i >= oldest(p); i--) {
			e = replay_at(p, i);
			if (e && e->correlation == r->correlation)
				break;
			e = NULL;
		}
		p->ran = e ? i : 0;
	}
	if (e) {
		began = atomic_load(&e->began);
		if (!began || r->start < began)
			atomic_store(&e->began, r->start);
	}
	pthread_mutex_unlock(&p->lock);
}

bool aif_cuda_replay_hold(struct aif_cuda_replays *p, const struct aif_cuda_record *r,
			  struct aif_cuda_kernel *k)
{
	bool fits;

	atomic_store_explicit(&p->any, true, memory_order_relaxed);
	pthread_mutex_lock(&p->lock);
	fits = p->len < HELD;
	if (fits)
		p->held[p->len++] = (struct held){.r = *r, .kernel = k, .round = p->round};
	pthread_mutex_unlock(&p->lock);
	return fits;
}

static bool is_before(const struct held *a, const struct held *b)
{
	return a->r.graph != b->r.graph ? a->r.graph < b->r.graph : a->r.start > b->r.start;
}

/* Sorts by graph, the last execution first. Shell's method: qsort() may take memory, which is the program's. */
static void sort(struct held *h, size_t n)
{
	static const size_t gaps[] = {10000, 4000, 1750, 701, 301, 132, 57, 23, 10, 4, 1};

	for (unsigned g = 0; g < AIF_ARRAY_LEN(gaps); g++)
		for (size_t i = gaps[g], k; i < n; i++) {
			struct held x = h[i];

			for (k = i; k >= gaps[g] && is_before(&x, &h[k - gaps[g]]); k -= gaps[g])
				h[k] = h[k - gaps[g]];
			h[k] = x;
		}
}

/* Goes back from *number to a replay of the graph that had been called by `time`; with by_device: that had begun on its
 * device. NULL: there is none. */
static const struct replay *replay_before(struct aif_cuda_replays *p, uint64_t *number,
					  uint32_t graph, uint64_t time, bool by_device)
{
	for (; *number >= oldest(p); --*number) {
		const struct replay *e = replay_at(p, *number);
		uint64_t began = e ? atomic_load(&e->began) : 0;

		if (e && e->graph == graph &&
		    (by_device ? began && began <= time : e->called <= time))
			return e;
	}
	return NULL;
}

/* Gives n executions of one graph, the last first, to its replays. */
static uint64_t settle_graph(struct aif_cuda *cuda, struct aif_thread *t, struct held *h, size_t n,
			     aif_cuda_body_fn *found)
{
	struct aif_cuda_replays *p = cuda->replays;
	uint64_t device = atomic_load(&p->newest), call = device, lost = 0;
	const struct replay *e;

	p->group++;
	for (size_t i = 0; i < n; i++) {
		const struct aif_cuda_record *r = &h[i].r;
		uint32_t *seen = &p->seen[r->node % NODES];

		e = replay_before(p, &device, r->graph, r->start, true);
		if (!e) {
			/* The node ran in an earlier replay once more. */
			if (*seen == p->group) {
				p->group++;
				call -= call > 0;
			}
			*seen = p->group;
			e = replay_before(p, &call, r->graph, r->start, false);
		}
		if (e)
			found(cuda, t, r, h[i].kernel, e->launch);
		else
			lost++;
	}
	return lost;
}

uint64_t aif_cuda_replays_settle(struct aif_cuda *cuda, struct aif_thread *t, bool last,
				 aif_cuda_body_fn *found)
{
	struct aif_cuda_replays *p = cuda->replays;
	uint64_t lost = 0;
	size_t ready = 0;

	if (!atomic_load_explicit(&p->any, memory_order_relaxed))
		return 0;
	pthread_mutex_lock(&p->lock);
	while (ready < p->len && (last || p->held[ready].round != p->round))
		ready++;
	p->round++;
	sort(p->held, ready);
	for (size_t i = 0, n; i < ready; i += n) {
		for (n = 1; i + n < ready && p->held[i + n].r.graph == p->held[i].r.graph;)
			n++;
		lost += settle_graph(cuda, t, &p->held[i], n, found);
	}
	p->len -= (uint32_t)ready;
	memmove(p->held, p->held + ready, p->len * sizeof(*p->held));
	pthread_mutex_unlock(&p->lock);
	return lost;
}
