/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/exporter.h"
#include "names/tree.h"

/* A profile as trees, as `aiflame flame` draws them: of each device and process with device time, then of each process
 * with CPU samples. fn returns 0, or -errno to stop. 0; -ENODATA when there is none; *err is set. */
int aif_trees_each(const struct aif_export *x,
		   int (*fn)(void *arg, const char *name, const char *unit,
			     const struct aif_tree *t),
		   void *arg, struct aif_err *err);

/* One tree of all device time, or of samples where there is none; finished by the caller. 0 or -errno with *err. */
int aif_trees_device(const struct aif_export *x, struct aif_tree *ret, struct aif_err *err);

/* One tree of all CPU time, without the threads' names; finished by the caller. 0 or -errno with *err; -ENODATA where
 * there is none. */
int aif_trees_cpu(const struct aif_export *x, struct aif_tree *ret, struct aif_err *err);
