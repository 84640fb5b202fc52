/* SPDX-License-Identifier: Apache-2.0 */
#include "changed_profile.h"

#include "profile/chunk.h"
#include "profile/schema.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/fixture_profile.h"

enum { CHANGE = 8, CHANGES_MAX = 64, ROWS = 12, KINDS = 8 };

struct rows {
	struct aif_launch_row launches[ROWS];
	struct aif_exec_row execs[ROWS];
	struct aif_sample_row samples[ROWS];
	struct aif_window_row windows[ROWS];
	struct aif_cpu_row cpu[ROWS];
	struct aif_op_row ops[ROWS];
	struct aif_counter_row counters[ROWS];
	struct aif_memory_row memory[ROWS];
	struct aif_step_sum_row step_sums[ROWS];
};

static void make_rows(struct rows *r)
{
	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < ROWS; i++) {
		r->launches[i] = fixture_launch(i);
		r->execs[i] = fixture_exec(i);
		r->samples[i] = fixture_sample(i);
		r->windows[i] = fixture_window(i);
		r->ops[i] = fixture_op(i, ROWS);
		r->counters[i] = fixture_counter(i);
		r->cpu[i].time = r->memory[i].time = fixture_launch(i).time;
		/* Three places, whose fourth step takes longer. */
		r->step_sums[i] =
			(struct aif_step_sum_row){.start = FIXTURE_START + i % 4 * 1000,
						  .end = FIXTURE_START + i % 4 * 1000 + 900,
						  .ns = i % 4 == 3 ? 800 : 100,
						  .executions = 1,
						  .first = 1 + i % 4,
						  .steps = 1,
						  .sum = 1 + i / 4,
						  .stack = AIF_NONE};
	}
}

static uint64_t value_of(uint8_t kind, uint32_t raw)
{
	static const uint64_t special[] = {0,
					   1,
					   UINT32_MAX,
					   UINT64_MAX,
					   INT64_MAX,
					   UINT64_C(1) << 63,
					   UINT64_C(1) << 61,
					   FIXTURE_START};

	if (kind < AIF_ARRAY_LEN(special))
		return special[kind] + raw;
	return kind % 2 ? (uint64_t)raw << 32 : raw;
}

static void change_rows(struct rows *r, const uint8_t *c, uint64_t value)
{
	const struct {
		void *rows;
		size_t size;
	} kinds[KINDS + 1] = {
		{r->launches, sizeof(r->launches[0])},
		{r->execs, sizeof(r->execs[0])},
		{r->samples, sizeof(r->samples[0])},
		{r->windows, sizeof(r->windows[0])},
		{r->cpu, sizeof(r->cpu[0])},
		{r->ops, sizeof(r->ops[0])},
		{r->counters, sizeof(r->counters[0])},
		{r->memory, sizeof(r->memory[0])},
		{r->step_sums, sizeof(r->step_sums[0])},
	};
	/* Inputs found before there were sums keep their meaning. */
	size_t k = (c[0] & 0x78) == 0x78 ? KINDS : c[0] % KINDS, size = kinds[k].size,
	       at = c[2] % (size / 4) * 4, len = c[3] % 2 && at + 8 <= size ? 8 : 4;

	memcpy((uint8_t *)kinds[k].rows + c[1] % ROWS * size + at, &value, len);
}

static void change_table(struct aif_profile *p, const uint8_t *c, uint64_t value)
{
	const struct aif_schema_table *s = &aif_schema_tables[c[0] % AIF_TABLE_COUNT];
	size_t n = *aif_schema_len(p, s);
	const struct aif_schema_column *col = &s->columns[c[2] % s->columns_len];
	uint8_t *row = (uint8_t *)aif_schema_rows(p, s);

	if (!n || col->type == AIF_TYPE_BYTES || col->type == AIF_TYPE_PACKED ||
	    /* A function's bytes are as long as it says. */
	    (c[0] % AIF_TABLE_COUNT == AIF_TABLE_CODE &&
	     col->offset == offsetof(struct aif_code, size)))
		return;
	memcpy(row + c[1] % n * s->row_size + col->offset, &value,
	       col->type == AIF_TYPE_U64 ? 8 : 4);
}

/* Writes the fixture as process `pid`, changed. */
void changed_profile_write(const char *path, uint32_t pid, const uint8_t *data, size_t size)
{
	struct aif_profile p;
	struct rows r;
	struct aif_err err = {0};
	struct aif_writer *w;

	unlink(path);
	fixture_profile(&p);
	p.processes[0].pid = pid;
	make_rows(&r);
	for (size_t i = 0; i + CHANGE <= size && i < (size_t)CHANGES_MAX * CHANGE; i += CHANGE) {
		uint32_t raw;
		uint64_t value;

		memcpy(&raw, data + i + 4, sizeof(raw));
		value = value_of(data[i + 3], raw);
		if (data[i] & 0x80)
			change_rows(&r, data + i, value);
		else
			change_table(&p, data + i, value);
	}
	if (aif_writer_new(path, p.start_ns, &w, &err) < 0)
		abort();
	if (aif_writer_launches(w, r.launches, ROWS, &err) < 0 ||
	    aif_writer_execs(w, r.execs, ROWS, &err) < 0 ||
	    aif_writer_samples(w, r.samples, ROWS, &err) < 0 ||
	    aif_writer_windows(w, r.windows, ROWS, &err) < 0 ||
	    aif_writer_cpu(w, r.cpu, ROWS, &err) < 0 || aif_writer_ops(w, r.ops, ROWS, &err) < 0 ||
	    aif_writer_counters(w, r.counters, ROWS, &err) < 0 ||
	    aif_writer_memory(w, r.memory, ROWS, &err) < 0 ||
	    aif_writer_step_sums(w, r.step_sums, ROWS, &err) < 0)
		abort();
	/* Tables that no file can have are no concern. */
	(void)aif_writer_tables(w, &p, &err);
	(void)aif_writer_finish(w, p.end_ns, NULL);
	aif_profile_finish(&p);
}
