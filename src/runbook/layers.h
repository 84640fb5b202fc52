/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * Layers of a model, which a program marks as ranges: "layer 3", "layers.3", "model.layers.3", "block_3", "transformer.h.3".
 */
struct aif_runbook_layer {
	int64_t from, to; /* ns */
	int64_t number;
};
struct aif_runbook_layers {
	struct aif_runbook_layer *at; /* by .from */
	size_t len, cap;
};

/* Returns the layer that a range is called as, -1 for another range. */
int64_t aif_runbook_layer_of(const char *name);
/* Adds a range if it is a layer; they come by their begin. 0 or -ENOMEM. */
int aif_runbook_layer_add(struct aif_runbook_layers *l, const char *name, int64_t from, int64_t to);
/* Returns the layer at a time, the innermost; -1: none. */
int64_t aif_runbook_layer_at(const struct aif_runbook_layers *l, int64_t ns);
