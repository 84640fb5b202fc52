/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "flame/folded.h"
#include "export/trees.h"

#include <errno.h>

/* Makes the tree of device time; of CPU time where no device is in the profile. */
static int find_tree(const struct aif_export *x, struct aif_tree *ret, struct aif_err *err)
{
	int r = aif_trees_device(x, ret, err);

	if (r != -ENODATA || x->profile->devices_len || x->sel.devices || x->kernel)
		return r;
	*err = (struct aif_err){0};
	return aif_trees_cpu(x, ret, err);
}

/* Folded stacks, as `aiflame flame --format folded` writes them. */
static int folded_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct aif_tree t;
	int r = find_tree(x, &t, err);

	if (r == -ENODATA)
		return aif_export_nothing(err);
	if (r < 0)
		return r;
	aif_folded_write(&t, out);
	aif_tree_finish(&t);
	return 0;
}

const struct aif_exporter aif_exporter_folded = {
	.name = "folded",
	.output = "aiflame.folded",
	.suffixes = ".folded .txt",
	.is_text = true,
	.by_range = true,
	.write = folded_write,
};
