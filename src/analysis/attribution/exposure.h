/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/classify.h"

/*
 * Time that executions ran in the windows of a device that counts its samples. Windows of a
 * process on a device are a track: in order, without overlap. Where parts get too many, each
 * window is put together with the next ones.
 */
struct aif_exposure_part { /* what executions of a group had in a window */
	uint32_t family, window, group;
	double ns;
};
struct aif_exposure {
	const struct aif_scope *s;
	const struct aif_classified *c;
	struct aif_counted *counted;
	const uint32_t *family_of; /* of a group; AIF_NONE: nobody asks */
	unsigned shift;            /* 2^shift windows are one */
	struct aif_map tracks, ids;
	struct aif_map ambiguous; /* ids of windows whose samples may be of another process */
	struct aif_exposure_part *parts; /* sorted by family, window and group */
	size_t parts_len, parts_cap;
	uint32_t *last; /* of a group: its newest part + 1, 0 = none */
};

/* Sorts the windows into tracks; those that take no time are left out. 0 or -ENOMEM. */
int aif_exposure_init(struct aif_exposure *e, const struct aif_scope *s,
		      const struct aif_classified *c, struct aif_counted *counted);
void aif_exposure_finish(struct aif_exposure *e);
/* Returns the index of a sample's window, or AIF_NONE: it was lost, or left out. */
uint32_t aif_exposure_window(const struct aif_exposure *e, const struct aif_sample_row *s);
/* True if the samples of its window may be another process's. They lie in the window of those
 * that are certain. */
bool aif_exposure_is_ambiguous(const struct aif_exposure *e, const struct aif_sample_row *s);
/* True if part of the window is outside of the time asked for. */
bool aif_exposure_is_cut(const struct aif_exposure *e, uint32_t window);
/* Finds the parts. 0 or -ENOMEM. */
int aif_exposure_measure(struct aif_exposure *e, const uint32_t *family_of);
/* Returns the number of a window once parts are found: several may share one. */
uint32_t aif_exposure_number(const struct aif_exposure *e, uint32_t window);
