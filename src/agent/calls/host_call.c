/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/calls/host_call.h"

#include "agent/capture.h"

#include <errno.h>
#include <string.h>

static bool is_captured_late(enum aif_host_call_id id)
{
	enum aif_host_call_kind kind = aif_host_call_kind(id);

	return kind == AIF_HOST_CALL_ALLOCATE || kind == AIF_HOST_CALL_FREE;
}

/* Shows the recorder the outermost open call, or that there is none. */
static void publish(struct aif_thread *t)
{
	const struct aif_open_call *c = t->calls.len ? &t->calls.at[0] : NULL;

	if (c) {
		atomic_store_explicit(&t->slot->call_id, c->id, memory_order_relaxed);
		atomic_store_explicit(&t->slot->call_stack, c->stack, memory_order_relaxed);
	}
	atomic_store_explicit(&t->slot->call_since, c ? c->since : 0, memory_order_release);
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

uint32_t aif_host_call_open(struct aif_thread *t, enum aif_host_call_id id, uint32_t least_ns,
			    uint64_t since, uint64_t sp, uint32_t stack)
{
	struct aif_open_calls *o = &t->calls;
	uint32_t was = o->len;

	/* Stacks grow downwards. */
	while (o->len && o->at[o->len - 1].sp <= sp)
		o->len--;
	count(&t->slot->left_calls, was - o->len);
	if (o->len == AIF_OPEN_CALLS)
		return 0;
	o->last_token += 1 + (o->last_token == UINT32_MAX);
	o->at[o->len++] = (struct aif_open_call){.since = since,
						 .sp = sp,
						 .stack = stack,
						 .id = id,
						 .token = o->last_token,
						 .least_ns = least_ns};
	if (o->len == 1)
		publish(t);
	return o->last_token;
}

static bool is_short(struct aif_open_calls *o, uint32_t least_ns, uint64_t ns, uint64_t now)
{
	if (ns >= AIF_HOST_CALL_BRIEF_NS)
		return false;
	if (ns < least_ns)
		return true;
	if (now - o->brief_since >= AIF_HOST_CALL_BRIEF_WINDOW_NS) {
		o->brief_since = now;
		o->brief = 0;
	}
	return o->brief++ >= AIF_HOST_CALL_BRIEF_MANY;
}

static void emit_joint(struct aif_thread *t, const struct aif_open_call *c, uint64_t now,
		       const struct aif_host_call_joint *joint)
{
	const char *name = aif_host_call_name(c->id);
	char text[64 + sizeof(*joint)];
	size_t len = strnlen(name, 63) + 1;

	memcpy(text, name, len);
	memcpy(text + len, joint, sizeof(*joint));
	(void)aif_emit_mark_text(t, &(struct aif_emit_mark){.kind = AIF_MARK_JOINT_CALL,
							    .time = now,
							    .number = c->since,
							    .depth = c->stack,
							    .text = text,
							    .text_len = len + sizeof(*joint)});
}

static void close_call(struct aif_thread *t, uint32_t token,
		       const struct aif_host_call_joint *joints, size_t n,
		       const struct aif_regs *regs, const struct aif_emit_api *api)
{
	uint64_t now = aif_now_ns();
	struct aif_open_calls *o = &t->calls;
	struct aif_open_call c;
	uint32_t i = o->len;
	size_t written = 0;

	while (i && o->at[i - 1].token != token)
		i--;
	if (!token || !i)
		return; /* a new session has begun meanwhile, or the thread's tables have */
	c = o->at[i - 1];
	count(&t->slot->left_calls, o->len - i);
	o->len = i - 1;
	if (!o->len)
		publish(t);
	if (!n)
		c.least_ns = AIF_MAX(c.least_ns, AIF_HOST_CALL_SHORT_NS);
	if (is_short(o, c.least_ns, now - c.since, now)) {
		o->shorts++;
		count(&t->slot->short_calls, 1);
		count(&t->slot->short_calls_ns, now - c.since);
		return;
	}
	o->shorts = now - c.since < AIF_HOST_CALL_SHORT_NS ? o->shorts + 1 : 0;
	if (c.stack == AIF_WIRE_NONE && regs)
		c.stack = aif_capture(t, regs, api);
	for (size_t k = 0; k < n; k++) {
		if (!joints[k].number)
			continue;
		emit_joint(t, &c, now, &joints[k]);
		written++;
	}
	if (!written)
		aif_emit_mark_at(t, AIF_MARK_CALL, c.stack, c.since, now, aif_host_call_name(c.id));
	aif_budget_add_cost(&aif_agent.budget, aif_budget_block(&aif_agent.budget, now),
			    AIF_MAX(written, 1) * AIF_HOST_CALL_WRITE_MOST_NS);
}

void aif_host_call_close(struct aif_thread *t, uint32_t token, const struct aif_regs *regs,
			 const struct aif_emit_api *api)
{
	close_call(t, token, NULL, 0, regs, api);
}

uint32_t aif_host_call_begin_slow(enum aif_host_call_id id, uint32_t least_ns,
				  const struct aif_regs *regs, const struct aif_emit_api *api)
{
	int saved = errno;
	struct aif_thread *t = aif_thread_enter();
	uint32_t token = 0, stack = AIF_WIRE_NONE;
	uint64_t now;

	if (t) {
		now = aif_now_ns();
		if (aif_budget_is_on(aif_budget_block(&aif_agent.budget, now))) {
			if (!is_captured_late(id) && t->calls.shorts < AIF_HOST_CALL_POLLS)
				stack = aif_capture(t, regs, api);
			token = aif_host_call_open(t, id, least_ns, now, regs->sp, stack);
		}
		aif_thread_leave(t);
	}
	errno = saved;
	return token;
}

void aif_host_call_end_joint(uint32_t token, const struct aif_host_call_joint *joints, size_t n,
			     const struct aif_regs *regs, const struct aif_emit_api *api)
{
	int saved = errno;
	struct aif_thread *t = token ? aif_thread_enter() : NULL;

	if (t) {
		close_call(t, token, joints, n, regs, api);
		aif_thread_leave(t);
	}
	errno = saved;
}

void aif_host_call_end_slow(uint32_t token, const struct aif_regs *regs,
			    const struct aif_emit_api *api)
{
	int saved = errno;
	struct aif_thread *t = aif_thread_enter();

	if (t) {
		aif_host_call_close(t, token, regs, api);
		aif_thread_leave(t);
	}
	errno = saved;
}
