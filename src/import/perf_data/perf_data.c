/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/perf_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int probe(const uint8_t *head, size_t len)
{
	return aif_perf_is_data(head, len) ? 10 : 0;
}

/* Names the events, when the features that have the names were read. */
static int events_name(struct aif_perf_data *x, struct aif_perf_samples *to)
{
	int r = 0;

	for (size_t i = 0; !r && i < x->attrs_len; i++) {
		struct aif_perf_attr *a = &x->attrs[i];
		struct aif_perf_text name;

		if (a->name != AIF_STR_NONE)
			name.p = aif_strset_get(&x->strings, a->name, &name.len);
		else
			name.len = strlen(name.p = aif_perf_attr_name(a));
		r = aif_perf_event(&to->events,
				   a->name != AIF_STR_NONE ? aif_perf_event_base(name) : name,
				   &a->event);
	}
	return r;
}

static void losses_report(const struct aif_perf_data *x, struct aif_builder *b)
{
	const char *file = aif_input_name(x->source->input);
	uint32_t name = aif_builder_puts(b, file);
	char text[400];

	snprintf(text, sizeof(text), "%s, first: byte %" PRIu64, file, x->first_bad);
	aif_builder_loss(b, AIF_REASON_IMPORT_TEXT, AIF_NONE, aif_builder_puts(b, text), x->bad);
	aif_builder_loss(b, AIF_REASON_IMPORT_TORN, AIF_NONE, name,
			 x->is_torn || aif_input_is_torn(x->source->input));
	aif_builder_loss(b, AIF_REASON_IMPORT_LOST, AIF_NONE, name,
			 AIF_MAX(x->lost, x->lost_samples));
	snprintf(text, sizeof(text), "%s: PERF_RECORD_THROTTLE, samples were not taken for a while",
		 file);
	aif_builder_loss(b, AIF_REASON_IMPORT_WARNED, AIF_NONE, aif_builder_puts(b, text),
			 x->throttled);
	aif_builder_loss(b, AIF_REASON_IMPORT_STACKS, AIF_NONE, name, x->has_stacks);
}

static void finish(struct aif_perf_data *x)
{
	aif_buf_finish(&x->buf);
	aif_strset_finish(&x->strings);
	aif_map_finish(&x->ids);
	aif_map_finish(&x->place_ids);
	aif_map_finish(&x->build_ids);
	free(x->attrs);
	free(x->changes);
	free(x->places);
	free(x->raws);
	free(x);
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct aif_perf_data *x = calloc(1, sizeof(*x));
	struct aif_perf_samples *to = calloc(1, sizeof(*to));
	int r = x && to ? 0 : aif_err_set(err, -ENOMEM, "out of memory");

	(void)state;
	if (!r) {
		x->source = to->source = s;
		to->b = b;
		r = aif_perf_header_read(x, err);
	}
	if (!r)
		r = aif_perf_records_read(x, err);
	if (!r)
		r = aif_perf_features_read(x, err);
	if (!r) {
		to->records = x->others;
		s->events = 0; /* counted again, as they become samples */
		if (events_name(x, to) < 0)
			r = aif_err_set(err, -ENOMEM, "out of memory");
	}
	if (!r)
		r = aif_perf_replay(x, to, err);
	if (!r)
		r = aif_perf_samples_rows(to, s->opts, err);
	if (!r)
		losses_report(x, b);
	if (to)
		aif_perf_samples_finish(to);
	free(to);
	if (x)
		finish(x);
	return r;
}

const struct aif_importer aif_importer_perf_data = {
	.name = "perf.data",
	.summary = "perf's own file: CPU samples with stacks",
	.uses = AIF_IMPORT_USES_COUNT | AIF_IMPORT_USES_EVENT,
	.probe = probe,
	.needs_perf = aif_perf_needs_perf,
	.read = read_file,
};
