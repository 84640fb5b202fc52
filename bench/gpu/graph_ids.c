/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks that CUPTI makes for the nodes of graphs, their numbers, and those that its records have: the
 * ground that agent/cuda/graphs.c stands on. Nothing of aiflame runs here. Built where it runs:
 *
 *     cc -shared -fPIC -O2 -o graph_ids.so graph_ids.c -I$CUDA/include -L$CUDA/lib64 -lcupti -I../../src
 *     nvcc -O2 -Xlinker --export-dynamic -o graphs ../../tests/gpu/graphs.cu
 *     CUDA_INJECTION64_PATH=$PWD/graph_ids.so ./graphs plain 3 1       # few nodes: each callback and record
 *     CUDA_INJECTION64_PATH=$PWD/graph_ids.so ./graphs plain 1000 3    # many: how many were followed to their stacks
 */
#include "agent/cuda/cupti_abi.h"

#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS (1 << 20)

static struct {
	CUpti_SubscriberHandle subscriber;
	volatile int *current;
	int instantiating, shown, most;
	/* Number of a node -> which node it is, plus 1; and the same by pointer. */
	struct {
		uint64_t key;
		int of;
	} ids[SLOTS], pointers[SLOTS];
	long created, created_inside, cloned, cloned_inside, others;
	long records, right, wrong, unknown, timeless;
	double id_ns;
} p;

static int *slot(void *table, uint64_t key)
{
	struct {
		uint64_t key;
		int of;
	} *t = table;
	uint64_t i = key * 0x9e3779b97f4a7c15u >> 44;

	while (t[i & (SLOTS - 1)].key && t[i & (SLOTS - 1)].key != key)
		i++;
	t[i & (SLOTS - 1)].key = key;
	return &t[i & (SLOTS - 1)].of;
}

static uint64_t id_of(CUgraphNode node)
{
	struct timespec a, b;
	uint64_t id = 0;

	if (!node)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (cuptiGetGraphNodeId(node, &id))
		id = UINT64_MAX;
	clock_gettime(CLOCK_MONOTONIC, &b);
	p.id_ns += (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	return id;
}

static unsigned graph_of(CUgraph graph)
{
	uint32_t id = 0;

	return graph && !cuptiGetGraphId(graph, &id) ? id : 0;
}

static const char *const names[] = {
	[9] = "graph created",    [11] = "graph cloned",  [13] = "node created",
	[17] = "exec starting",   [18] = "exec created",  [14] = "node destroyed",
	[20] = "node cloned",     [22] = "node updated",  [23] = "params set",
	[10] = "graph destroyed", [19] = "exec destroyed"};

static void launched(const CUpti_CallbackData *call)
{
	const cuGraphLaunch_params *of = call->functionParams;
	uint32_t graph = 0;

	if (call->callbackSite != CUPTI_API_ENTER || p.shown >= p.most)
		return;
	p.shown++;
	cuptiGetGraphExecId(of->hGraph, &graph);
	printf("  launch: correlation %u graph %u\n", call->correlationId, graph);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_ResourceData *r = data;
	const CUpti_GraphData *g = r->resourceDescriptor;
	uint64_t node = 0, original = 0;

	(void)user;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
		launched(data);
		return;
	}
	if (id == 17)
		p.instantiating++;
	if (id == 13 || id == 14 || id == 20 || id == 22 || id == 23) {
		node = id_of(g->node);
		original = id_of(g->originalNode);
	}
	if (p.shown < p.most) {
		p.shown++;
		printf("  %-15s graph %u original %u node %llx original %llx type %d current %d%s\n",
		       names[id], graph_of(g->graph), graph_of(g->originalGraph),
		       (unsigned long long)node, (unsigned long long)original, (int)g->nodeType,
		       *p.current, p.instantiating ? " (instantiating)" : "");
	}
	if (id == 18)
		p.instantiating--;
	if (id == 13) {
		p.created++;
		p.created_inside += p.instantiating > 0;
		if (*p.current >= 0) {
			*slot(p.ids, node) = *p.current + 1;
			*slot(p.pointers, (uintptr_t)g->node) = *p.current + 1;
		}
	} else if (id == 20) {
		p.cloned++;
		p.cloned_inside += p.instantiating > 0;
		*slot(p.ids, node) = *slot(p.ids, original);
		*slot(p.pointers, (uintptr_t)g->node) =
			*slot(p.pointers, (uintptr_t)g->originalNode);
	} else {
		p.others++;
	}
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 2 << 20;
	*buffer = malloc(*size);
	*max = 0;
}

static void CUPTIAPI complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	(void)c, (void)s, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		const struct aif_cupti_kernel *k = (const void *)r;
		int of;

		if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET ||
		    r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			const struct aif_cupti_memset *m = (const void *)r;
			const struct aif_cupti_memcpy *c = (const void *)r;
			bool set = r->kind == CUPTI_ACTIVITY_KIND_MEMSET;

			if (p.shown++ < 2 * p.most && (set ? m->graph : c->graph))
				printf("  record: %s of %llu bytes graph %u node %llx\n",
				       set ? "fill" : "copy",
				       (unsigned long long)(set ? m->bytes : c->bytes),
				       set ? m->graph : c->graph,
				       (unsigned long long)(set ? m->graph_node : c->graph_node));
			continue;
		}
		if (k->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		of = *slot(p.ids, k->graph_node);
		p.records++;
		p.timeless += !k->start || k->end < k->start;
		if (!of)
			p.unknown++;
		else if (of == (int)k->grid[0])
			p.right++;
		else
			p.wrong++;
		if (p.shown < 2 * p.most) {
			p.shown++;
			printf("  record: grid %u graph %u node %llx correlation %u from %llu to %llu, %s\n",
			       k->grid[0], k->graph, (unsigned long long)k->graph_node,
			       k->correlation, (unsigned long long)k->start % 1000000000000,
			       (unsigned long long)k->end % 1000000000000, k->name);
		}
	}
	free(buffer);
}

static void done(void)
{
	cuptiActivityFlushAll(1);
	printf("  created %ld (%ld instantiating), cloned %ld (%ld instantiating), others %ld; a number takes %.0f ns\n",
	       p.created, p.created_inside, p.cloned, p.cloned_inside, p.others,
	       p.id_ns / (double)(p.created + 2 * p.cloned + 1));
	printf("  records %ld: by number right %ld, wrong %ld, unknown %ld; without times %ld\n",
	       p.records, p.right, p.wrong, p.unknown, p.timeless);
}

int InitializeInjection(void);
int InitializeInjection(void)
{
	static const CUpti_CallbackId ids[] = {9, 10, 11, 13, 14, 17, 18, 19, 20, 22, 23};
	static volatile int none = -1;

	p.current = dlsym(RTLD_DEFAULT, "graphs_current");
	if (!p.current)
		p.current = &none;
	p.most = getenv("SHOW") ? atoi(getenv("SHOW")) : 0;
	cuptiSubscribe(&p.subscriber, callback, NULL);
	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (cuptiEnableCallback(1, p.subscriber, CUPTI_CB_DOMAIN_RESOURCE, ids[i]))
			printf("  callback %u is refused\n", ids[i]);
	cuptiEnableCallback(1, p.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
			    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
	cuptiActivityRegisterCallbacks(request, complete);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	atexit(done);
	return 1;
}
