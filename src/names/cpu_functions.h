/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/cpu_totals.h"
#include "base/err.h"
#include "names/frame_labels.h"
#include "names/names.h"
#include "names/profile_names.h"
#include "names/tree.h"

/*
 * CPU samples by function, as the flame graph folds their stacks (frame_labels.h): the interpreter's frames stand for the
 * Python functions that they run.
 *
 *   self    weight of samples whose innermost frame that is shown is the function; of code inlined into another
 *           function, the inlined one has it
 *   total   weight of samples with the function anywhere on the stack, each once, however often it recurs
 *
 * With AIF_CPU_OF_PROGRAM code of a compiler's, a language's or the system's headers (caller_rules.def) that is inlined into
 * the program's is the program's: the innermost function with a source file of its own has it.
 *
 * One function is a name in a module: instances that are inlined and one that is called are the same. Time off CPU and
 * waits for devices are not of it.
 */
struct aif_cpu_function {
	uint32_t name;   /* name of .tree: aif_tree_text(), aif_tree_type_of() */
	uint32_t module; /* module of the profile; AIF_NONE: not known, or Python's */
	/* frame of the profile with the most self time, else one that is on a stack */
	uint32_t frame;
	uint32_t depth; /* inline depth of the function in that frame's names */
	uint64_t self_ns, total_ns, self_samples, total_samples;
	bool spins; /* no function, but all waits that spin in the module (spin_waits.h) */
};

/* The innermost place that is shown of a stack's samples. */
struct aif_cpu_leaf {
	uint32_t name, module; /* the function's */
	uint32_t frame, depth;
	uint64_t ns, samples;
};

struct aif_cpu_functions {
	struct aif_tree tree;        /* holds names only */
	struct aif_cpu_function *at; /* most self time first, then total */
	size_t len, cap;
	struct aif_cpu_leaf *leaves; /* in no order */
	size_t leaves_len, leaves_cap;
	uint64_t weight_ns, samples; /* totals, also of stacks that are not known */
	uint64_t spinning_ns;        /* CPU time of threads that spin until others are done */
	uint64_t unsampled_ns;  /* the part of it that is of no function: aif_cpu_is_unsampled() */
	uint64_t for_others_ns; /* same as of aif_cpu_totals */
	uint64_t whole_samples; /* samples whose stack reaches its thread's first function */
	uint64_t threads;
	uint64_t damaged; /* chunks that could not be read */
	enum aif_name_detail detail;
};

/* Returns the plain name of a function, whether it is inlined or not; AIF_STR_NONE when memory runs out. */
uint32_t aif_cpu_function_plain(struct aif_tree *t, const struct aif_frame_label *l);
/* Returns what tells functions apart: their plain name and module. */
static inline uint64_t aif_cpu_function_key(uint32_t name, uint32_t module)
{
	return name | ((uint64_t)module + 1) << 32; /* AIF_NONE + 1 fits: 33 bits are cut to 0 */
}

enum aif_cpu_inlined { AIF_CPU_INNERMOST, AIF_CPU_OF_PROGRAM };

/* Sums up what `sel` (NULL: all) chooses. *ret is finished by the caller, also after a failure. 0 or -errno with *err. */
int aif_cpu_functions_find(const struct aif_names *names, const struct aif_selection *sel,
			   enum aif_name_detail detail, enum aif_cpu_inlined inlined,
			   struct aif_cpu_functions *ret, struct aif_err *err);
void aif_cpu_functions_finish(struct aif_cpu_functions *f); /* a zeroed struct is allowed */

/* Returns the function's name. */
const char *aif_cpu_function_name(const struct aif_cpu_functions *f,
				  const struct aif_cpu_function *of);
/* Returns the name of a frame at an inline depth, or NULL when it has none. */
const struct aif_frame_name *aif_cpu_frame_name(const struct aif_profile *p, uint32_t frame,
						uint32_t depth);
/* Appends "train.c:12", the line with most of its time; nothing where no line is known. */
void aif_cpu_function_place(const struct aif_profile *p, const struct aif_cpu_function *of,
			    struct aif_buf *out);

/* Returns true if samples from outside are of Python programs, of which they have the interpreter's functions alone. */
bool aif_cpu_lacks_python(const struct aif_profile *p);
