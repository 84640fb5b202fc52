/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/rows.h"

#include "record/ingest/ids.h"
#include "record/sources/cpu.h"
#include "symbolize/kallsyms.h"

#include <stdio.h>
#include <string.h>

/* Bits that mark a launch's number as ours: an agent counts each slot's from 0 (wire/wire.h), and
 * never that far. */
#define LAUNCH_OURS   (UINT64_C(0xff) << 40)
#define LAUNCH_NUMBER ((UINT64_C(1) << 40) - 1)

static uint32_t push(struct aif_store *s, uint32_t stack, uint32_t frame, uint32_t flags)
{
	uint32_t next = frame == AIF_NONE ? AIF_NONE : aif_store_stack(s, stack, frame, flags);

	return next == AIF_NONE ? stack : next;
}

static uint32_t kernel_frame(struct aif_store *s, uint64_t pc)
{
	uint32_t module =
		aif_store_module(s, AIF_MODULE_OS, AIF_OS_KERNEL, strlen(AIF_OS_KERNEL), NULL, 0);

	return module == AIF_NONE
		       ? AIF_NONE
		       : aif_store_frame(s, AIF_FRAME_OS, module, AIF_KALLSYMS_ADDRESS(pc));
}

/* Resolves the program's frames and returns how many lie in code: where the frame pointer was none
 * the chain leads anywhere. */
static uint32_t resolve(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			struct aif_ebpf_process *p, struct aif_target *t,
			const struct aif_ebpf_stack *stack, uint32_t *frames, uint64_t now)
{
	for (uint32_t i = 0; i < stack->user_len; i++) {
		uint64_t pc = stack->user[i] - (i > 0); /* inside the call instruction */
		const struct aif_address_range *range =
			aif_ebpf_process_range(d, ps, p, t, pc, now);

		if (!range || range->module == AIF_NONE)
			return i;
		if (range->module == t->jit.modules[0])
			aif_jit_names_seen(&t->jit, &t->files, now);
		frames[i] = aif_store_frame(d->store,
					    range->is_kernel ? AIF_FRAME_DEVICE : AIF_FRAME_NATIVE,
					    range->module, pc - range->base);
	}
	return stack->user_len;
}

uint32_t aif_ebpf_stack(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			struct aif_ebpf_process *p, struct aif_target *t, const char *comm,
			const struct aif_ebpf_stack *stack, uint64_t now)
{
	uint32_t frames[AIF_EBPF_FRAMES + 1], at = AIF_NONE, flags = 0, user_len, top;
	char text[AIF_EBPF_COMM + 8];

	user_len = resolve(d, ps, p, t, stack, frames, now);
	if (stack->user_len) {
		flags = AIF_STACK_FRAME_POINTERS;
		if (user_len < stack->user_len || user_len >= AIF_EBPF_FRAMES)
			flags |= AIF_STACK_TRUNCATED;
	}
	top = user_len + stack->kernel_len + (*stack->mark != '\0');
	if (!top && !ps->all)
		return AIF_NONE;
	if (ps->all) { /* whose it is: many programs have a main() */
		snprintf(text, sizeof(text), "%s", comm);
		at = push(d->store, at, aif_store_mark(d->store, text), top ? 0 : flags);
	}
	for (uint32_t i = user_len; i-- > 0;)
		at = push(d->store, at, frames[i], --top ? 0 : flags);
	for (uint32_t i = stack->kernel_len; i-- > 0;)
		at = push(d->store, at, kernel_frame(d->store, stack->kernel[i] - (i > 0)),
			  --top ? 0 : flags);
	if (*stack->mark)
		at = push(d->store, at, aif_store_mark(d->store, stack->mark), flags);
	return at;
}

/* Returns the target to which a wanted process's row goes, charging the process for its memory;
 * NULL: the process is not wanted. */
static struct aif_target *payer_of(struct aif_drainer *d, struct aif_ebpf_processes *ps,
				   uint32_t pid, const char *comm, uint64_t time,
				   struct aif_ebpf_process **ret)
{
	struct aif_ebpf_process *p = aif_ebpf_process(ps, pid, ps->all);
	struct aif_target *t =
		p && p->wanted ? aif_ebpf_process_target(d, ps, p, comm, time) : NULL;

	if (t)
		d->store->payer = &t->quota;
	*ret = p;
	return t;
}

/* Each account's refusals are said when it is closed; an agent's target says its own. */
static void paid(struct aif_drainer *d, struct aif_ebpf_process *p, struct aif_target *t)
{
	d->store->payer = NULL;
	if (t == p->t)
		aif_store_refused(d->store, &t->quota, t->process);
}

static bool put_cpu_row(struct aif_drainer *d, struct aif_target *t, const struct aif_cpu_row *from)
{
	struct aif_cpu_row *row = aif_batches_row(&d->store->batches, AIF_BATCH_CPU);

	if (!row) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "CPU samples"), 1);
		return false;
	}
	*row = *from;
	return true;
}

/* The agent samples its process itself (cpu.h). */
static bool is_agents(const struct aif_target *t)
{
	return t->shm && aif_cpu_is_sampled(t);
}

bool aif_ebpf_row_sample(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			 const struct aif_ebpf_read *r, uint64_t weight)
{
	struct aif_ebpf_stack stack = {.user = r->user,
				       .kernel = r->kernel,
				       .user_len = r->e.user_len,
				       .kernel_len = r->e.kernel_len,
				       .mark = ""};
	struct aif_cpu_row row = {.time = r->e.time, .weight = weight};
	struct aif_ebpf_process *p;
	struct aif_target *t = payer_of(d, ps, r->e.pid, r->e.comm, r->e.time, &p);
	bool kept = false;

	if (t && !is_agents(t)) {
		row.thread = aif_target_thread(d, t, r->e.tid, r->e.comm);
		row.stack = aif_ebpf_stack(d, ps, p, t, r->e.comm, &stack, r->e.time);
		kept = put_cpu_row(d, t, &row);
	}
	if (t)
		paid(d, p, t);
	return kept;
}

void aif_ebpf_row_waker(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			const struct aif_ebpf_waker *w, const char *comm,
			const struct aif_ebpf_stack *stack, struct aif_ebpf_woken *ret)
{
	struct aif_ebpf_process *p = NULL;
	struct aif_target *t = w->key.pid ? payer_of(d, ps, w->key.pid, comm, w->at, &p) : NULL;

	if (t) {
		ret->thread = aif_target_thread(d, t, w->key.tid, comm);
		if (ret->stack == AIF_NONE)
			ret->stack = aif_ebpf_stack(d, ps, p, t, comm, stack, aif_now_ns());
		paid(d, p, t);
		return;
	}
	if (ret->stack != AIF_NONE)
		return;
	if (w->key.pid)
		ret->stack = push(d->store, AIF_NONE, aif_store_mark(d->store, comm), 0);
	for (uint32_t i = stack->kernel_len; i-- > 0;)
		ret->stack = push(d->store, ret->stack,
				  kernel_frame(d->store, stack->kernel[i] - (i > 0)), 0);
}

bool aif_ebpf_row_off(struct aif_drainer *d, struct aif_ebpf_processes *ps,
		      const struct aif_ebpf_off *off, const struct aif_ebpf_stack *stack,
		      uint32_t *at)
{
	struct aif_cpu_row row = {
		.time = off->since, .waiting = off->ns, .is_whole = off->is_whole};
	struct aif_ebpf_process *p;
	struct aif_target *t = payer_of(d, ps, off->key.pid, off->comm, off->since, &p);
	bool kept = false;

	if (t) {
		row.thread = aif_target_thread(d, t, off->key.tid, off->comm);
		if (*at == AIF_NONE)
			*at = aif_ebpf_stack(d, ps, p, t, off->comm, stack, aif_now_ns());
		row.stack = *at;
		if (off->woken) {
			/* AIF_NONE + 1 is 0. */
			row.waker_thread = off->woken->thread + 1;
			row.waker = off->woken->stack + 1;
		}
		kept = off->ns && put_cpu_row(d, t, &row);
		paid(d, p, t);
	}
	return kept;
}

bool aif_ebpf_row_launch(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			 const struct aif_ebpf_read *r, uint64_t *number)
{
	uint64_t frames[AIF_EBPF_FRAMES + 1];
	struct aif_ebpf_stack stack = {.user = frames, .mark = ""};
	struct aif_ebpf_process *p;
	struct aif_target *t = payer_of(d, ps, r->e.pid, r->e.comm, r->e.time, &p);
	struct aif_launch_row *row;
	uint32_t shape, at;

	if (!t || t->shm) { /* the agent tells them */
		if (t)
			d->store->payer = NULL;
		return false;
	}
	/* The function, its caller, and from its caller's caller on the frame pointers. */
	for (uint32_t i = 0; i < r->e.user_len && stack.user_len < AIF_EBPF_FRAMES; i++) {
		frames[stack.user_len++] = r->user[i];
		if (!i && r->e.caller && stack.user_len < AIF_EBPF_FRAMES)
			frames[stack.user_len++] = r->e.caller;
	}
	shape = aif_store_shape(d->store, &(struct aif_shape){0});
	at = aif_ebpf_stack(d, ps, p, t, r->e.comm, &stack, r->e.time);
	row = aif_batches_row(&d->store->batches, AIF_BATCH_LAUNCH);
	if (row)
		*row = (struct aif_launch_row){
			.launch = aif_target_launch(t, LAUNCH_OURS | (*number & LAUNCH_NUMBER)),
			.time = r->e.time,
			.thread = aif_target_thread(d, t, r->e.tid, r->e.comm),
			.kind = AIF_LAUNCH_KERNEL,
			.kernel = AIF_NONE,
			.device = AIF_NONE,
			.stream = AIF_NONE,
			.stack = at,
			.shape = shape,
		};
	else
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "launches"), 1);
	*number += 1;
	paid(d, p, t);
	return row;
}

static struct aif_target *agents_target(const struct aif_drainer *d, uint32_t pid)
{
	struct aif_target *found = NULL;

	for (struct aif_target *t = d->targets; t; t = t->next)
		if (t->pid == (int)pid && t->shm && (!found || found->ended))
			found = t;
	return found;
}

/* Returns how many frames, innermost first, lie in front of the driver's caller: those of the BPF program. UINT32_MAX: the
 * function that it was called from is not there. */
static uint32_t above_driver(const struct aif_ebpf_syscalls *syscalls,
			     const struct aif_ebpf_read *r)
{
	if (r->e.kind == AIF_EBPF_DRIVER_SYSCALL)
		return aif_ebpf_syscalls_above(syscalls, r->kernel, r->e.kernel_len);
	for (uint32_t i = 0; i < r->e.kernel_len; i++)
		if (r->kernel[i] >= r->e.probed && r->kernel[i] - r->e.probed < 32)
			return i + (r->e.kind == AIF_EBPF_DRIVER_INSTEAD);
	return UINT32_MAX;
}

/* Finds the frames in front of the driver's function, innermost first: those of the event or, where it came without a stack,
 * of another ioctl(). False: they are not known. */
static bool outer_frames(struct aif_ebpf_syscalls *syscalls, const struct aif_ebpf_read *r,
			 const uint64_t **ret, uint32_t *ret_len)
{
	uint32_t above = above_driver(syscalls, r);
	bool is_same = r->e.kind != AIF_EBPF_DRIVER_BELOW;

	if (above != UINT32_MAX) {
		*ret = r->kernel + above;
		*ret_len = r->e.kernel_len - above;
		if (is_same && *ret_len <= AIF_EBPF_OUTER) {
			memcpy(syscalls->outer, *ret, *ret_len * sizeof(**ret));
			syscalls->outer_len = *ret_len;
		}
		return true;
	}
	*ret = syscalls->outer;
	*ret_len = syscalls->outer_len;
	return is_same && *ret_len;
}

/* Puts the OS kernel's frames behind those that are there, outermost first; returns how many there are then, 0: they are not
 * known, or too many. */
static uint32_t driver_frames(struct aif_store *s, struct aif_ebpf_syscalls *syscalls,
			      const struct aif_ebpf_read *r, uint32_t *frames, uint32_t n)
{
	const uint64_t *outer;
	uint32_t len;

	if (!r->e.caller || !outer_frames(syscalls, r, &outer, &len) ||
	    n + len + 2 > AIF_DRIVER_CALLS_FRAMES)
		return 0;
	while (len--)
		frames[n++] = kernel_frame(s, outer[len] - 1);
	if (r->e.kind == AIF_EBPF_DRIVER_SYSCALL)
		frames[n++] = kernel_frame(s, syscalls->ioctl);
	frames[n++] = kernel_frame(s, r->e.caller);
	return n;
}

void aif_ebpf_row_driver(struct aif_drainer *d, struct aif_driver_calls *calls,
			 struct aif_ebpf_syscalls *syscalls, const struct aif_ebpf_read *r)
{
	struct aif_target *t = agents_target(d, r->e.pid);
	uint32_t frames[AIF_DRIVER_CALLS_FRAMES], n;
	const struct aif_address_range *range;
	bool is_known = true;

	if (!t || !r->e.user_len)
		return;
	d->store->payer = &t->quota;
	/* The system call's own function is there always, or nothing is (analysis/ebpf_launches.h). */
	range = aif_target_range(d, t, r->user[0], r->e.time);
	frames[0] = range && range->module != AIF_NONE
			    ? aif_store_frame(d->store, AIF_FRAME_NATIVE, range->module,
					      r->user[0] - range->base)
			    : AIF_NONE;
	n = driver_frames(d->store, syscalls, r, frames, 1);
	d->store->payer = NULL;
	for (uint32_t i = 0; i < n; i++)
		is_known &= frames[i] != AIF_NONE;
	if (n && !(is_known &&
		   aif_driver_calls_add(calls, aif_target_launch(t, r->e.launch), frames, n)))
		aif_store_loss(d->store, AIF_REASON_EBPF_DRIVERS, t->process, AIF_NONE, 1);
}
