/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/cpu_totals.h"
#include "flame/build.h"

/* Errors of flame graphs without anything to draw: the reason, and what else to ask for. */

/* Device work; is_filtered: expressions left out what there was. Returns -ENODATA with *err. */
int aif_flame_empty(const struct aif_profile *p, const struct aif_attribution *a,
		    const struct aif_flame_opts *o, bool is_filtered, struct aif_err *err);

/* CPU samples, or times off CPU. Returns -ENODATA with *err. */
int aif_flame_empty_cpu(const struct aif_profile *p, const struct aif_cpu_totals *cpu,
			const struct aif_flame_opts *o, struct aif_err *err);

/* Idle time. Returns -ENODATA with *err. */
struct aif_idle_blame;
int aif_flame_empty_idle(const struct aif_idle_blame *idle, const struct aif_flame_opts *o,
			 struct aif_err *err);
