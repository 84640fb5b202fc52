/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * The simulated driver's metric queries. The k-th that is begun (from 1 on), executed for the r-th time, says 100 k + 10 r + m
 * of the group's metric m. Whoever reads one that the device has not written, or leaves one behind, is aborted.
 *
 * ZE_MOCK's words: no_queries (no pool of them), few_queries (1 in a pool), queries_fail (to be read), query_end_fails.
 */
struct mock_pool {
	void *group;
	uint32_t count, queries;
};
struct mock_query {
	struct mock_pool *pool;
	ze_event_handle_t event;
	unsigned number, runs;
	int written;
};

void mock_query_ran(struct mock_query *q)
{
	q->runs++;
	q->written = 1;
}

static ze_result_t pool_create(zet_context_handle_t c, zet_device_handle_t d,
			       zet_metric_group_handle_t g,
			       const zet_metric_query_pool_desc_t *desc,
			       zet_metric_query_pool_handle_t *ret)
{
	struct mock_pool *p;

	(void)c, (void)d;
	if (mock_has("no_queries"))
		return ZE_RESULT_ERROR_NOT_AVAILABLE;
	if (!mock_is_active(g) || desc->stype != ZET_STRUCTURE_TYPE_METRIC_QUERY_POOL_DESC ||
	    desc->type != ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	p = calloc(1, sizeof(*p));
	p->group = g;
	p->count = mock_has("few_queries") ? 1 : desc->count;
	*ret = (void *)p;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(zet_metric_query_pool_handle_t h)
{
	struct mock_pool *p = (struct mock_pool *)h;

	if (p->queries)
		abort();
	free(p);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t query_create(zet_metric_query_pool_handle_t h, uint32_t index,
				zet_metric_query_handle_t *ret)
{
	struct mock_pool *p = (struct mock_pool *)h;
	struct mock_query *q;

	if (index >= p->count)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	q = calloc(1, sizeof(*q));
	q->pool = p;
	p->queries++;
	*ret = (void *)q;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t query_destroy(zet_metric_query_handle_t h)
{
	((struct mock_query *)h)->pool->queries--;
	free(h);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t query_reset(zet_metric_query_handle_t h)
{
	((struct mock_query *)h)->written = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t query_data(zet_metric_query_handle_t h, size_t *size, uint8_t *to)
{
	struct mock_query *q = (struct mock_query *)h;

	if (!q->written || mock_event_status(q->event) != ZE_RESULT_SUCCESS)
		abort();
	if (mock_has("queries_fail"))
		return ZE_RESULT_ERROR_DEVICE_LOST;
	mock_counters_report(100 * q->number + 10 * q->runs, size, to);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_begin(zet_command_list_handle_t l, zet_metric_query_handle_t h)
{
	static _Atomic unsigned begun;
	struct mock_query *q = (struct mock_query *)h;

	(void)l;
	if (!mock_is_active(q->pool->group))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	q->number = ++begun;
	q->runs = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_end(zet_command_list_handle_t l, zet_metric_query_handle_t h,
			      ze_event_handle_t event, uint32_t n, ze_event_handle_t *waits)
{
	struct mock_query *q = (struct mock_query *)h;

	(void)n, (void)waits;
	if (mock_has("query_end_fails"))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	q->event = event;
	return mock_append(l, 0, event, q);
}

void mock_fill_queries(const char *name, void *at)
{
	const zet_metric_query_pool_dditable_t pools = {.pfnCreate = pool_create,
							.pfnDestroy = pool_destroy};
	const zet_metric_query_dditable_t queries = {.pfnCreate = query_create,
						     .pfnDestroy = query_destroy,
						     .pfnReset = query_reset,
						     .pfnGetData = query_data};
	const zet_command_list_dditable_t lists = {.pfnAppendMetricQueryBegin = append_begin,
						   .pfnAppendMetricQueryEnd = append_end};

	mock_fill_table(name, "zetGetMetricQueryPoolProcAddrTable", at, &pools, sizeof(pools));
	mock_fill_table(name, "zetGetMetricQueryProcAddrTable", at, &queries, sizeof(queries));
	mock_fill_table(name, "zetGetCommandListProcAddrTable", at, &lists, sizeof(lists));
}
