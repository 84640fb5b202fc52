/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/source.h"

#include <errno.h>

int aif_sources_init(struct aif_drainer *d, const struct aif_source *const *table, unsigned len,
		     struct aif_err *err)
{
	assert(len <= AIF_SOURCES_MAX);
	for (unsigned i = 0; i < len; i++) {
		const struct aif_source *s = table[i];
		int r;

		d->source_state[i] = s->state_size ? calloc(1, s->state_size) : NULL;
		if (s->state_size && !d->source_state[i])
			return aif_err_set(err, -ENOMEM, "out of memory");
		d->sources = table;
		d->sources_len = i + 1;
		r = s->init ? s->init(d, err) : 0;
		if (r < 0)
			return r;
		d->source_records |= s->records;
	}
	return 0;
}

void aif_sources_finish(struct aif_drainer *d)
{
	AIF_SOURCES_CALL(d, finish, d);
	for (unsigned i = 0; i < d->sources_len; i++)
		free(d->source_state[i]);
	d->sources_len = 0;
}

bool aif_sources_target_new(const struct aif_drainer *d, struct aif_target *t)
{
	for (unsigned i = 0; i < d->sources_len; i++) {
		size_t size = d->sources[i]->target_state_size;

		t->source_state[i] = size ? calloc(1, size) : NULL;
		if (!size || t->source_state[i])
			continue;
		while (i-- > 0)
			free(t->source_state[i]);
		return false;
	}
	return true;
}

void aif_sources_target_free(const struct aif_drainer *d, struct aif_target *t)
{
	AIF_SOURCES_CALL(d, target_free, t);
	for (unsigned i = 0; i < d->sources_len; i++)
		free(t->source_state[i]);
}

bool aif_sources_take_launch(struct aif_drainer *d, const struct aif_launch_row *row)
{
	for (unsigned i = 0; i < d->sources_len; i++)
		if (d->sources[i]->take_launch && d->sources[i]->take_launch(d, row))
			return true;
	return false;
}

void aif_sources_record(struct aif_ingest *in, const struct aif_wire_head *record)
{
	const struct aif_drainer *d = in->drainer;
	uint32_t type = UINT32_C(1) << record->type;

	for (unsigned i = 0; (d->source_records & type) && i < d->sources_len; i++)
		if (d->sources[i]->records & type)
			d->sources[i]->on_record(in, record);
}
