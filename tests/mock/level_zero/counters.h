/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zet_ddi.h>

/* The part of the simulated driver's metrics that are performance counters; metrics.c has the rest and asks this first. */
int mock_has(const char *word);
void mock_say(const char *what, unsigned device, uint32_t number);

int mock_counters_groups(void); /* how many */
void *mock_counters_group(unsigned i);
int mock_counters_is(const void *handle); /* of a group, a metric, a streamer */
void mock_counters_properties(const void *group, zet_metric_group_properties_t *p);
void mock_counters_metrics(const void *group, uint32_t *n, zet_metric_handle_t *to);
void mock_counters_metric(const void *metric, zet_metric_properties_t *p);
ze_result_t mock_counters_open(unsigned device, void *group, zet_metric_streamer_desc_t *desc,
			       zet_metric_streamer_handle_t *ret);
void mock_counters_close(void *streamer);
ze_result_t mock_counters_read(void *streamer, size_t *size, uint8_t *to);
ze_result_t mock_counters_calculate(const void *group, size_t size, const uint8_t *raw,
				    uint32_t *sets, uint32_t *n, uint32_t *counts,
				    zet_typed_value_t *values);

/* A report of a query (queries.c), whose value of metric m is base + m. */
void mock_counters_report(unsigned base, size_t *size, uint8_t *to);
int mock_is_active(const void *group);

/* Queries on lists: the device says when it has written one. */
struct mock_query;
void mock_query_ran(struct mock_query *q);
ze_result_t mock_append(ze_command_list_handle_t list, uint64_t ns, ze_event_handle_t event,
			struct mock_query *q);
ze_result_t mock_event_status(ze_event_handle_t event);
void mock_fill_queries(const char *name, void *at);
void mock_fill_table(const char *name, const char *wanted, void *at, const void *table,
		     size_t size);
