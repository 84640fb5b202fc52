/* SPDX-License-Identifier: Apache-2.0 */
#include "text/iaprof_text.h"

#include <string.h>

/* Any bytes read as iaprof's text; what was understood, written and read again, says the same. */
struct sums {
	uint64_t samples, counts, metrics, places;
	struct aif_iaprof_writer *w; /* NULL: not written */
};

static int on_sample(void *arg, const struct aif_iaprof_sample *s)
{
	struct sums *x = arg;

	x->samples++;
	for (unsigned i = 0; i < AIF_IAPROF_COUNTS; i++)
		x->counts = x->counts * 31 + s->counts[i];
	x->places = x->places * 31 + s->offset + s->address * 7 + s->pid * 5 + strlen(s->stack) +
		    3 * strlen(s->symbol);
	if (x->w)
		aif_iaprof_write_sample(x->w, s);
	return 0;
}

static int on_metric(void *arg, const struct aif_iaprof_metric *m)
{
	struct sums *x = arg;

	x->metrics = x->metrics * 31 + m->value;
	if (x->w)
		aif_iaprof_write_metric(x->w, m->name, m->value);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct aif_iaprof_writer w = {0};
	struct sums first = {.w = &w}, second = {0};
	struct aif_iaprof_reader r = {.sink = {on_sample, on_metric, &first}};
	size_t half = len ? data[0] % len : 0;

	if (aif_iaprof_read(&r, data, half) < 0 ||
	    aif_iaprof_read(&r, data + half, len - half) < 0 || aif_iaprof_read_end(&r) < 0)
		abort();
	r = (struct aif_iaprof_reader){.sink = {on_sample, on_metric, &second}};
	if (aif_iaprof_read(&r, w.out.data, w.out.len) < 0 || aif_iaprof_read_end(&r) < 0)
		abort();
	if (r.bad || first.samples != second.samples || first.counts != second.counts ||
	    first.metrics != second.metrics || first.places != second.places)
		abort();
	aif_iaprof_writer_finish(&w);
	return 0;
}
