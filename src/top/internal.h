/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "top/model.h"

/* Shared by the files that analyse a window; not for others. */

struct aif_top {
	const struct aif_profile *p;
	struct aif_names names;
	struct aif_stack_names *stacks;
	size_t named[6]; /* sizes of the tables of which names were made */
	struct aif_selection sel;
	bool *keep; /* of .sel */
	struct aif_attribution a;
	struct aif_top_model m;
};

/* Makes the rows of a view. 0 or -errno; *err is set but for -ENOMEM. */
int aif_top_make_rows(struct aif_top *t, enum aif_top_view v, struct aif_err *err);
