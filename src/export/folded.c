/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "flame/folded.h"
#include "export/trees.h"

#include <errno.h>

/* In this command's words, not in those of what draws. */
static int nothing(const struct aif_export *x, struct aif_err *err)
{
	if (x->profile->devices_len)
		return aif_export_nothing(err);
	return aif_err_set(
		err, -ENODATA,
		"export: nothing in this profile ran on a device, and folded text has "
		"device time; see aiflame info, or write CPU time with aiflame flame --of "
		"cpu --format folded");
}

/* Folded stacks of all device time, as `aiflame flame --format folded` writes them. */
static int folded_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct aif_tree t;
	int r = aif_trees_device(x, &t, err);

	if (r == -ENODATA)
		return nothing(x, err);
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
	.write = folded_write,
};
