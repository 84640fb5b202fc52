/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/translate.h"

enum {
#define X(number, function, k, f) PLACE_##function,
	AIF_CUDA_CALLS(X)
#undef X
};

static const struct aif_cuda_call calls[] = {
#define X(number, function, k, f)                        \
	[PLACE_##function] = {.id = (number),            \
			      .kind = AIF_EMIT_##k,      \
			      .form = AIF_CUDA_FORM_##f, \
			      .name = #function},
	AIF_CUDA_CALLS(X)
#undef X
};

/* Place in `calls` plus 1, by the call's number. */
static const uint8_t places[AIF_CUDA_CALL_MAX] = {
#define X(number, function, k, f) [number] = PLACE_##function + 1,
	AIF_CUDA_CALLS(X)
#undef X
};
static_assert(AIF_ARRAY_LEN(calls) < UINT8_MAX, "places");

const struct aif_cuda_call *aif_cuda_call(uint32_t id)
{
	return id < AIF_CUDA_CALL_MAX && places[id] ? &calls[places[id] - 1] : NULL;
}

const struct aif_cuda_call *aif_cuda_call_at(unsigned i)
{
	return i < AIF_ARRAY_LEN(calls) ? &calls[i] : NULL;
}

static const uint32_t asides[] = {
#define X(number, function, s) (number),
	AIF_CUDA_ASIDES(X)
#undef X
};

/* Steps by the call's number: programs set attributes of kernels before each launch. */
static const int8_t steps[] = {
#define X(number, function, s) [number] = (s),
	AIF_CUDA_ASIDES(X)
#undef X
};

int aif_cuda_aside_step(uint32_t id)
{
	return id < AIF_ARRAY_LEN(steps) ? steps[id] : 0;
}

uint32_t aif_cuda_aside_at(unsigned i)
{
	return i < AIF_ARRAY_LEN(asides) ? asides[i] : 0;
}

/* Calls plus 1, by CUPTI's number. */
static const uint8_t host_calls[] = {
#define X(number, function) [number] = AIF_CALL_##function + 1,
	AIF_CUDA_ALLOCATIONS(X) AIF_CUDA_HOST_CALLS(X)
#undef X
};
static_assert(AIF_HOST_CALLS < UINT8_MAX, "host_calls");

enum aif_host_call_id aif_cuda_host_call(uint32_t id)
{
	return id < AIF_ARRAY_LEN(host_calls) && host_calls[id]
		       ? (enum aif_host_call_id)(host_calls[id] - 1)
		       : AIF_HOST_CALLS;
}

uint32_t aif_cuda_allocation_at(unsigned i)
{
	static const uint32_t ids[] = {
#define X(number, function) (number),
		AIF_CUDA_ALLOCATIONS(X)
#undef X
	};

	return i < AIF_ARRAY_LEN(ids) ? ids[i] : 0;
}

static enum aif_emit_kind copy_kind(unsigned copy)
{
	switch (copy) {
	case AIF_CUPTI_COPY_HTOD:
	case AIF_CUPTI_COPY_HTOA:
		return AIF_EMIT_WRITE;
	case AIF_CUPTI_COPY_DTOH:
	case AIF_CUPTI_COPY_ATOH:
		return AIF_EMIT_READ;
	case AIF_CUPTI_COPY_PTOP:
		return AIF_EMIT_PEER;
	default:
		return AIF_EMIT_COPY;
	}
}

static uint32_t sum(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

/* The node's number has the graph's in its upper half. */
static void of_graph(struct aif_cuda_record *r, uint32_t graph, uint64_t node)
{
	r->graph = graph;
	r->node = graph ? (uint32_t)node : 0;
}

bool aif_cuda_translate(const void *record, struct aif_cuda_record *ret)
{
	const struct aif_cupti_kernel *k = record;
	const struct aif_cupti_memcpy *c = record;
	const struct aif_cupti_memcpy_peer *p = record;
	const struct aif_cupti_memset *s = record;
	struct aif_cuda_record r;

	switch (k->kind) {
	case AIF_CUPTI_KIND_CONCURRENT_KERNEL:
		r = (struct aif_cuda_record){.kind = AIF_EMIT_KERNEL,
					     .correlation = k->correlation,
					     .device = k->device,
					     .context = k->context,
					     .stream = k->stream,
					     .start = k->start,
					     .end = k->end,
					     .name = k->name ? k->name : "",
					     .registers = k->registers,
					     .shared = sum(k->static_shared, k->dynamic_shared)};
		of_graph(&r, k->graph, k->graph_node);
		break;
	case AIF_CUPTI_KIND_MEMCPY:
		r = (struct aif_cuda_record){.kind = copy_kind(c->copy),
					     .correlation = c->correlation,
					     .device = c->device,
					     .context = c->context,
					     .stream = c->stream,
					     .start = c->start,
					     .end = c->end,
					     .bytes = c->bytes};
		of_graph(&r, c->graph, c->graph_node);
		break;
	case AIF_CUPTI_KIND_MEMCPY_PEER:
		r = (struct aif_cuda_record){.kind = AIF_EMIT_PEER,
					     .correlation = p->correlation,
					     .device = p->device,
					     .context = p->context,
					     .stream = p->stream,
					     .start = p->start,
					     .end = p->end,
					     .bytes = p->bytes};
		of_graph(&r, p->graph, p->graph_node);
		break;
	case AIF_CUPTI_KIND_MEMSET:
		r = (struct aif_cuda_record){.kind = AIF_EMIT_FILL,
					     .correlation = s->correlation,
					     .device = s->device,
					     .context = s->context,
					     .stream = s->stream,
					     .start = s->start,
					     .end = s->end,
					     .bytes = s->bytes};
		of_graph(&r, s->graph, s->graph_node);
		break;
	default:
		return false;
	}
	if (!r.start || r.end < r.start)
		return false;
	*ret = r;
	return true;
}

bool aif_cuda_shape(const struct aif_cuda_call *call, const void *parameters,
		    struct aif_emit_shape *ret)
{
	const struct aif_cuda_launch *l = parameters;
	const struct aif_cuda_launch_ex *ex = parameters;
	const struct aif_cuda_geometry *g;

	if (!parameters || call->form == AIF_CUDA_FORM_OTHER)
		return false;
	g = call->form == AIF_CUDA_FORM_LAUNCH ? &l->geometry : ex->config;
	if (!g)
		return false;
	for (unsigned i = 0; i < 3; i++) {
		/* A grid of more than 2^32 items in one dimension: what counts is that it is huge. */
		uint64_t items = (uint64_t)g->grid[i] * g->block[i];

		ret->grid[i] = (uint32_t)AIF_MIN(items, UINT32_MAX);
		ret->block[i] = g->block[i];
	}
	return true;
}
