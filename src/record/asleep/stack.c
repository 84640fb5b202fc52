/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process_read.h"

#include "base/sort.h"
#include "record/asleep/asleep.h"
#include "remote/python.h"
#include "remote/walk.h"
#include "unwind/interleave.h"

#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 256
#define MAPS_MAX   (UINT64_C(4) << 20)
/* Bytes of a stack that are copied in one call; what lies beyond is read as it is needed. */
#define STACK_BYTES 16384
/* Pages of a process that are read between two looks at its interpreter. */
#define PAGES_MAX 65536
/* Maps, and the interpreter's threads and code objects, are read again at most so often: maps of 2,000 lines take 1 ms. */
#define MAPS_NS   (10 * AIF_NS_PER_S)
#define PYTHON_NS AIF_NS_PER_S

struct aif_asleep {
	int pid;
	struct aif_remote_memory *memory;
	struct aif_remote_modules modules;
	struct aif_remote_python python;
	struct aif_map states; /* thread -> its PyThreadState */
	uint64_t maps_ns, python_ns;
	bool with_python, has_modules, has_python;
	bool lacks_code; /* a stack had code that the maps did not have */
	uint8_t stack[STACK_BYTES];
};

/* Frames of one thread. */
struct frames {
	uint64_t pcs[FRAMES_MAX], sps[FRAMES_MAX];
	struct aif_remote_walk native;
	struct aif_python_frame python[FRAMES_MAX];
	unsigned python_len;
	bool python_whole;
};

static void forget_python(struct aif_asleep *a)
{
	if (a->has_python)
		aif_remote_python_finish(&a->python);
	a->has_python = false;
	aif_map_clear(&a->states);
}

static void forget_modules(struct aif_asleep *a)
{
	forget_python(a);
	if (a->has_modules)
		aif_remote_modules_finish(&a->modules);
	free(a->memory);
	a->memory = NULL;
	a->has_modules = false;
}

static void read_maps(struct aif_asleep *a, uint64_t now)
{
	struct aif_buf maps = {0};

	forget_modules(a);
	a->maps_ns = now;
	a->python_ns = 0;
	a->lacks_code = false;
	a->memory = aif_remote_memory_new(a->pid, PAGES_MAX);
	(void)aif_process_text(a->pid, "maps", MAPS_MAX, &maps);
	aif_buf_putc(&maps, '\0');
	a->has_modules = a->memory && !aif_buf_failed(&maps) &&
			 !aif_remote_modules_init(&a->modules, a->memory, (char *)maps.data);
	aif_buf_finish(&maps);
}

/* Finds the interpreter's threads. Its code objects are read anew: one may lie where another one was. */
static void find_python(struct aif_asleep *a, const uint32_t *tids, size_t len, uint64_t now)
{
	uint32_t *sorted = malloc((len + 1) * sizeof(*sorted));

	forget_python(a);
	a->python_ns = now;
	a->memory->pages_left = PAGES_MAX;
	if (!sorted)
		return;
	memcpy(sorted, tids, len * sizeof(*sorted));
	qsort(sorted, len, sizeof(*sorted), aif_by_u32);
	a->has_python = true;
	(void)aif_remote_python_find(&a->python, &a->modules, sorted, len);
	for (size_t i = 0; i < a->python.threads_len; i++)
		if (a->python.threads[i].tid && aif_map_put(&a->states, a->python.threads[i].tid,
							    a->python.threads[i].state) < 0)
			break;
	free(sorted);
}

static void read_frames(struct aif_asleep *a, const struct aif_asleep_thread *thread,
			struct frames *f)
{
	const struct aif_remote_regs regs = {.regs = {thread->call->pc, thread->call->sp, 0}};
	uint64_t at = thread->call->sp - AIF_ARCH_RED_ZONE, state;
	int64_t copied = aif_remote_copy(a->pid, at, a->stack, sizeof(a->stack));
	const struct aif_remote_stack stack = {.at = at,
					       .len = (size_t)AIF_MAX(copied, 0),
					       .bytes = a->stack,
					       .may_read = true,
					       .may_search = true};

	f->python_len = 0;
	f->python_whole = true;
	f->native = aif_remote_unwind(&a->modules, &regs, &stack, f->pcs, f->sps, FRAMES_MAX);
	if (aif_map_get(&a->states, thread->tid, &state))
		f->python_len = aif_remote_python_walk(&a->python, state, thread->call->sp,
						       f->python, FRAMES_MAX, &f->python_whole);
}

/* ---- the store ---- */

static uint32_t python_frame(struct aif_asleep *a, struct aif_drainer *d,
			     const struct aif_python_frame *frame)
{
	const struct aif_remote_python_code *code =
		aif_remote_python_resolve(&a->python, frame->code);
	size_t name, file, lines;
	struct aif_wire_pycode head;
	struct aif_buf b = {0};
	uint32_t ret = AIF_NONE;

	if (!code || code->hidden)
		return AIF_NONE;
	name = strlen(code->name);
	file = strlen(code->file);
	lines = code->lines_len;
	if (name > UINT16_MAX || file > UINT16_MAX || lines > UINT16_MAX)
		return AIF_NONE;
	/* The same bytes as the agent's, so that it is the same function. */
	head = (struct aif_wire_pycode){.first_line = code->first_line,
					.name_len = (uint16_t)name,
					.file_len = (uint16_t)file,
					.lines_len = (uint16_t)lines,
					.minor = a->python.layout.minor};
	aif_buf_append(&b, &head, sizeof(head));
	aif_buf_append(&b, code->name, name);
	aif_buf_append(&b, code->file, file);
	aif_buf_append(&b, code->lines, lines);
	if (!aif_buf_failed(&b))
		ret = aif_pycodes_frame(
			&d->pycodes, d->store,
			aif_pycodes_add(&d->pycodes, d->store, (const void *)b.data), frame->lasti);
	aif_buf_finish(&b);
	return ret;
}

static uint32_t native_frame(struct aif_asleep *a, struct aif_drainer *d, struct aif_target *t,
			     uint64_t pc)
{
	uint64_t now = aif_now_ns();
	const struct aif_address_range *range = aif_target_range(d, t, pc, now);

	if (!range || range->module == AIF_NONE) {
		a->lacks_code = true;
		return AIF_NONE;
	}
	if (range->module == t->jit.modules[0])
		aif_jit_names_seen(&t->jit, &t->files, now);
	return aif_store_frame(d->store, range->is_kernel ? AIF_FRAME_DEVICE : AIF_FRAME_NATIVE,
			       range->module, pc - range->base);
}

static uint32_t put_stack(struct aif_asleep *a, struct aif_drainer *d, struct aif_target *t,
			  const struct frames *f)
{
	const struct aif_interleave in = {.pcs = f->pcs,
					  .sps = f->sps,
					  .native_len = f->native.depth,
					  .native_cut = f->native.end != AIF_REMOTE_END,
					  .frames = f->python,
					  .python_len = f->python_len,
					  .python_cut = !f->python_whole,
					  .eval_lo = a->python.eval_lo,
					  .eval_hi = a->python.eval_hi};
	uint32_t order[2 * FRAMES_MAX], stack = AIF_NONE, flags = 0;

	if (aif_interleave(&in, order) == AIF_INTERLEAVE_BLOCK || f->native.guessed)
		flags |= AIF_STACK_GUESSED;
	if (in.native_cut || in.python_cut)
		flags |= AIF_STACK_TRUNCATED;
	for (unsigned i = in.native_len + in.python_len; i-- > 0;) {
		uint32_t frame =
			order[i] & AIF_INTERLEAVE_PYTHON
				? python_frame(a, d, &f->python[order[i] & ~AIF_INTERLEAVE_PYTHON])
				: native_frame(a, d, t, f->pcs[order[i]] - (order[i] > 0));
		uint32_t next = frame == AIF_NONE
					? AIF_NONE
					: aif_store_stack(d->store, stack, frame, i ? 0 : flags);

		stack = next == AIF_NONE ? stack : next;
	}
	return stack;
}

uint32_t aif_asleep_stack(struct aif_asleep *a, struct aif_drainer *d, struct aif_target *t,
			  const struct aif_asleep_thread *thread, const uint32_t *tids,
			  size_t tids_len, bool (*is_asleep)(void *arg), void *arg)
{
	uint64_t now = aif_now_ns();
	struct frames f;

	if (!a->has_modules ? !a->maps_ns || now - a->maps_ns >= AIF_NS_PER_S
			    : a->lacks_code && now - a->maps_ns >= MAPS_NS)
		read_maps(a, now);
	if (!a->has_modules || !thread->call->sp)
		return AIF_NONE;
	aif_remote_forget(a->memory);
	if (a->with_python && now - a->python_ns >= PYTHON_NS)
		find_python(a, tids, tids_len, now);
	read_frames(a, thread, &f);
	return is_asleep(arg) ? put_stack(a, d, t, &f) : AIF_NONE;
}

struct aif_asleep *aif_asleep_new(int pid, bool with_python)
{
	struct aif_asleep *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->pid = pid;
	a->with_python = with_python;
	return a;
}

void aif_asleep_free(struct aif_asleep *a)
{
	if (!a)
		return;
	forget_modules(a);
	aif_map_finish(&a->states);
	free(a);
}
