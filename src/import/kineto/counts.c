/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/counts.h"

#include <stdio.h>
#include <string.h>

void kineto_leave_out(struct kineto_left_out *l, const char *what, size_t len, uint64_t n)
{
	char text[sizeof(l->what)];
	size_t i = 0;

	len = AIF_MIN(len, sizeof(text) - 1);
	for (size_t k = 0; k < len; k++) /* a terminal's escapes are no category */
		text[k] = what[k] > ' ' && what[k] < 0x7f ? what[k] : ' ';
	text[len] = '\0';
	while (i < KINETO_LEFT_OUT_MAX - 1 && l[i].count && strcmp(l[i].what, text))
		i++;
	if (!l[i].count)
		snprintf(l[i].what, sizeof(l[i].what), "%s",
			 i < KINETO_LEFT_OUT_MAX - 1 ? text : "others");
	l[i].count += n;
}

void kineto_counts_report(const struct kineto_counts *c, struct aif_builder *b, const char *file)
{
	static const struct {
		enum aif_reason reason;
		size_t at;
	} counts[] = {
		{AIF_REASON_IMPORT_EVENT, offsetof(struct kineto_counts, bad)},
		{AIF_REASON_IMPORT_UNENDED, offsetof(struct kineto_counts, unended)},
		{AIF_REASON_IMPORT_OVERLAP, offsetof(struct kineto_counts, partial)},
		{AIF_REASON_IMPORT_DEPTH, offsetof(struct kineto_counts, too_deep)},
		{AIF_REASON_IMPORT_THREAD, offsetof(struct kineto_counts, guessed_threads)},
		{AIF_REASON_IMPORT_NUMBER, offsetof(struct kineto_counts, duplicates)},
		{AIF_REASON_IMPORT_OWNER, offsetof(struct kineto_counts, guessed_owners)},
		{AIF_REASON_IMPORT_EARLY, offsetof(struct kineto_counts, misjoined)},
		{AIF_REASON_IMPORT_REPEATED, offsetof(struct kineto_counts, repeated)},
	};
	uint32_t name = aif_builder_puts(b, file);
	char text[512];

	if (c->errors) {
		snprintf(text, sizeof(text), "%s, first: %s", file, c->first_error);
		aif_builder_loss(b, AIF_REASON_IMPORT_TEXT, AIF_NONE, aif_builder_puts(b, text),
				 c->errors);
	}
	if (c->is_torn) {
		snprintf(text, sizeof(text), "%s: %s", file,
			 *c->end_error ? c->end_error : "its packing ends early");
		aif_builder_loss(b, AIF_REASON_IMPORT_TORN, AIF_NONE, aif_builder_puts(b, text), 1);
	}
	if (c->overflowed) {
		snprintf(text, sizeof(text), "%s: trace_buffer_overflowed", file);
		aif_builder_loss(b, AIF_REASON_IMPORT_WARNED, AIF_NONE, aif_builder_puts(b, text),
				 c->overflowed);
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(counts); i++)
		aif_builder_loss(b, counts[i].reason, AIF_NONE, name,
				 *(const uint64_t *)((const char *)c + counts[i].at));
}
