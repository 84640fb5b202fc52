/* SPDX-License-Identifier: Apache-2.0 */
#include "names/spin_waits.h"

#include "base/glob.h"

#include <string.h>

static const char *const runtimes[] = {"libgomp*.so*", "libomp*.so*", "libiomp5*.so*"};
/* Functions of theirs that wait, where they have names. MKL waits in the runtime that it was linked with. */
static const char *const waits[] = {"*wait*", "*barrier*", "*spin*", "*yield*", "*pause*"};
static const char *const yields[] = {"*sched_yield*"};

static const char *base_name(const struct aif_profile *p, uint32_t module)
{
	const char *path = aif_profile_str(p, p->modules[module].path), *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *frame_name(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);

	return n && n->name != AIF_NONE ? aif_profile_str(p, n->name) : "";
}

uint32_t aif_spin_wait(const struct aif_profile *p, uint32_t stack)
{
	for (; stack != AIF_NONE; stack = p->stacks[stack].parent) {
		uint32_t frame = p->stacks[stack].frame,
			 module = frame == AIF_NONE || p->frames[frame].kind != AIF_FRAME_NATIVE
					  ? AIF_NONE
					  : p->frames[frame].module;
		const char *name, *file;

		if (frame != AIF_NONE && p->frames[frame].module != AIF_NONE &&
		    p->modules[p->frames[frame].module].kind == AIF_MODULE_OS)
			continue;
		if (module == AIF_NONE)
			return AIF_NONE;
		name = frame_name(p, frame);
		file = base_name(p, module);
		if (aif_glob_any(yields, AIF_ARRAY_LEN(yields), name, strlen(name)))
			continue;
		return aif_glob_any(runtimes, AIF_ARRAY_LEN(runtimes), file, strlen(file)) &&
				       (*name == '\0' || *name == '[' ||
					aif_glob_any(waits, AIF_ARRAY_LEN(waits), name,
						     strlen(name)))
			       ? module
			       : AIF_NONE;
	}
	return AIF_NONE;
}

void aif_spin_wait_note(const struct aif_profile *p, uint32_t module, struct aif_buf *out)
{
	aif_buf_printf(out, AIF_SPIN_WAIT_NOTE "%s]", base_name(p, module));
}
