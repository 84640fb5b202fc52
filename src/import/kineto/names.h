/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "import/kineto/events.h"

/* Names of events, and what they become in the profile, made at first use. */
struct kineto;

struct kineto_name {
	uint32_t frame;  /* of the profile, AIF_NONE: not made yet */
	uint32_t str;    /* of the profile, of an operator or call */
	uint32_t kernel; /* of the profile */
	uint8_t of;      /* the class that the frame was made for */
};

struct kineto_names {
	struct aif_strset texts;   /* as they stand in the file */
	struct kineto_name *known; /* by number */
	size_t known_cap;
	/* Names that were seen last, by a few of their bytes: most events have one of these, and hashing all of it
	 * costs more than comparing. AIF_STR_NONE: none yet. */
	uint32_t *recent;
	bool demangles; /* kernels' names may be the linker's, and are not printed so: not torch's traces */
};

/* Returns a name's number; AIF_STR_NONE when memory runs out. */
uint32_t kineto_name(struct kineto *k, const char *name, size_t len);
/* Returns its string in the profile. */
uint32_t kineto_name_str(struct kineto *k, uint32_t name);
/* Returns the frame of a span's name. */
uint32_t kineto_frame(struct kineto *k, uint32_t name, enum kineto_class class);
uint32_t kineto_kernel(struct kineto *k, uint32_t name);
void kineto_names_finish(struct kineto_names *n);
