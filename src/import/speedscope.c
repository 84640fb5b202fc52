/* SPDX-License-Identifier: Apache-2.0 */
#include "import/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void finish(struct speedscope *x)
{
	aif_json_finish(&x->json);
	aif_map_finish(&x->node_ids);
	free(x->frames);
	free(x->nodes);
	free(x->samples);
	free(x->profiles);
	free(x->stacks);
	free(x->weights);
	free(x->events);
	free(x);
}

static void losses_report(struct speedscope *x)
{
	struct aif_builder *b = x->b;
	const char *name = aif_input_name(x->source->input);
	uint32_t file = aif_builder_puts(b, name);
	enum speedscope_weighs weighs = x->profiles_len ? x->profiles[0].weighs : SPEEDSCOPE_TIME;
	bool is_untimed = weighs != SPEEDSCOPE_TIME, is_wall = false;
	char text[512];

	for (size_t i = 0; i < x->profiles_len; i++) {
		is_untimed |= !x->profiles[i].is_timed && x->profiles[i].weighs == weighs;
		/* aiflame's exports name a process's profile so where it was recorded with --wall. */
		is_wall |= strncmp(aif_profile_str(&b->p, x->profiles[i].name),
				   "wall clock: ", 12) == 0;
	}
	if (weighs != SPEEDSCOPE_TIME && b->waits_len)
		aif_weighted_stacks_count(b, weighs == SPEEDSCOPE_BYTES ? "bytes"
					     : *x->own_unit             ? x->own_unit
									: "counts");
	if (weighs == SPEEDSCOPE_TIME && is_wall && b->waits_len)
		aif_weighted_stacks_wall(b);
	aif_builder_loss(b, AIF_REASON_IMPORT_UNTIMED, AIF_NONE, file, is_untimed);
	aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE, file, x->bad);
	aif_builder_loss(b, AIF_REASON_IMPORT_UNENDED, AIF_NONE, file, x->unended);
	aif_builder_loss(b, AIF_REASON_IMPORT_OVERLAP, AIF_NONE, file, x->crossed);
	aif_builder_loss(b, AIF_REASON_IMPORT_OTHER_UNIT, AIF_NONE, file, x->other_unit);
	aif_builder_loss(b, AIF_REASON_IMPORT_DEPTH, AIF_NONE, file, x->too_deep);
	aif_builder_loss(b, AIF_REASON_IMPORT_NO_STACK, AIF_NONE, file, x->no_stack);
	aif_builder_loss(b, AIF_REASON_IMPORT_ROUNDED, AIF_NONE, file, x->rounded);
	if (!x->is_torn)
		return;
	snprintf(text, sizeof(text), "%s: %s", name,
		 *x->error ? x->error : "its packing ends early");
	aif_builder_loss(b, AIF_REASON_IMPORT_TORN, AIF_NONE, aif_builder_puts(b, text), 1);
}

static int probe(const uint8_t *head, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(" \t\r\n", head[at]) && head[at])
		at++;
	if (at == len || head[at] != '{')
		return 0;
	if (memmem(head, len, "speedscope.app/file-format-schema", 33))
		return 20;
	return memmem(head, len, "\"profiles\"", 10) && memmem(head, len, "\"frames\"", 8) &&
			       (memmem(head, len, "\"evented\"", 9) ||
				memmem(head, len, "\"sampled\"", 9))
		       ? 8
		       : 0;
}

static int read_file(struct aif_import_source *source, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct speedscope *x = calloc(1, sizeof(*x));
	const char *name = aif_input_name(source->input);
	int r;

	(void)state;
	if (!x)
		return aif_err_set(err, -ENOMEM, "out of memory");
	x->b = b;
	x->source = source;
	x->json.read = aif_import_read;
	x->json.arg = source;
	r = aif_json_init(&x->json);
	if (!r && !speedscope_read(x)) {
		x->is_torn = true;
		snprintf(x->error, sizeof(x->error), "%s, at byte %" PRIu64,
			 x->json.why ? x->json.why : "not as the format has it",
			 x->json.why ? x->json.why_at : aif_json_offset(&x->json));
	}
	if (!r && x->json.io) {
		r = x->json.io;
		if (err)
			*err = x->json.err;
		goto out;
	}
	x->is_torn |= aif_input_is_torn(source->input);
	if (!r)
		r = x->is_memory ? -ENOMEM : speedscope_rows(x);
	if (r < 0)
		aif_err_set(err, r, "%s: %s", name, strerror(-r));
	else if (!x->samples_len)
		r = aif_err_set(err, -ENODATA, "%s: it has no sample with a weight%s%s", name,
				*x->error ? "; what was left out: " : "", x->error);
	else
		losses_report(x);
out:
	finish(x);
	return r;
}

const struct aif_importer aif_importer_speedscope = {
	.name = "speedscope",
	.summary = "speedscope's JSON, sampled or evented",
	.uses = AIF_IMPORT_USES_AS | AIF_IMPORT_USES_COUNT,
	.probe = probe,
	.read = read_file,
	.finish = aif_weighted_stacks_finish,
};
