/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/model.h"

static void check_marks(struct aif_profile *p)
{
	for (size_t i = 0; i < p->frames_len; i++)
		if (p->frames[i].kind == AIF_FRAME_MARK && p->frames[i].address >= p->strings.len)
			p->frames[i].address = AIF_NONE;
}

static int by_frame(const void *a, const void *b)
{
	const struct aif_frame_name *x = a, *y = b;

	return AIF_ORDER(x->frame, y->frame) ?: AIF_ORDER(x->inline_depth, y->inline_depth);
}

/* Names are written as they are found, in any order. */
static void sort_names(struct aif_profile *p)
{
	for (size_t i = 1; i < p->frame_names_len; i++)
		if (by_frame(&p->frame_names[i - 1], &p->frame_names[i]) > 0) {
			qsort(p->frame_names, p->frame_names_len, sizeof(*p->frame_names),
			      by_frame);
			return;
		}
}

/* Drops names beyond AIF_FRAME_NAMES_MAX of a frame; names are sorted. */
static void drop_deep_names(struct aif_profile *p)
{
	struct aif_frame_name *names = p->frame_names;
	size_t kept = 0, first = 0; /* first: of the frame at hand, among those that are kept */

	for (size_t i = 0; i < p->frame_names_len; i++) {
		if (!i || names[i].frame != names[i - 1].frame)
			first = kept;
		if (kept - first < AIF_FRAME_NAMES_MAX)
			names[kept++] = names[i];
	}
	if (kept < p->frame_names_len)
		p->notes |= AIF_NOTE_DEEP_NAMES;
	p->frame_names_len = kept;
}

void aif_profile_settle(struct aif_profile *p)
{
	check_marks(p);
	sort_names(p);
	drop_deep_names(p);
	p->traits = aif_traits_of(p);
}
