/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/ranges.h"

#include "agent/emit.h"
#include "agent/memory/pages.h"
#include "agent/sandbox.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

__thread uint32_t aif_nvtx_below __attribute__((tls_model("initial-exec")));

struct aif_nvtx *aif_nvtx_get(void)
{
	struct aif_nvtx *x = aif_nvtx_now(), *first = NULL;

	if (x)
		return x;
	x = aif_pages(sizeof(*x));
	if (!x)
		return NULL;
	aif_nvtx_tables_init(&x->tables);
	if (!atomic_compare_exchange_strong(&aif_agent.nvtx, &first, x)) {
		int saved = errno;

		munmap(x, sizeof(*x));
		errno = saved;
		return first;
	}
	return x;
}

/* The thread's stack, as far as its memory is this thread's. NULL: there is none. */
static struct aif_nvtx_thread *stack_of(struct aif_thread *t)
{
	struct aif_nvtx_thread *s = t ? t->nvtx : NULL;

	if (s && s->takes != t->takes) {
		s->takes = t->takes;
		s->len = s->over = 0;
	}
	return s;
}

/* The same of a thread that is inside an entry: made if there is none. NULL: no memory. */
static struct aif_nvtx_thread *stack_make(struct aif_thread *t)
{
	if (!t->nvtx) {
		struct aif_nvtx_thread *s = aif_sandbox_may_be_on() ? NULL : aif_pages(sizeof(*s));

		if (!s)
			return NULL;
		s->takes = t->takes;
		s->announcements = t->announcements - 1;
		t->nvtx = s;
	}
	return stack_of(t);
}

/* Writes the name into the thread's ring unless it has it. False: the ring is full. */
static bool name_define(struct aif_thread *t, struct aif_nvtx_thread *s, uint32_t name)
{
	uint64_t bit = UINT64_C(1) << name % 64;
	const char *text;
	size_t len;

	if (s->announcements != t->announcements) {
		memset(s->defined, 0, sizeof(s->defined));
		s->announcements = t->announcements;
	}
	if (s->defined[name / 64] & bit)
		return true;
	text = aif_nvtx_name_text(&aif_nvtx_now()->tables, name, &len);
	if (!aif_emit_name(t, name, text, len))
		return false;
	s->defined[name / 64] |= bit;
	return true;
}

static bool begin_write(struct aif_thread *t, struct aif_nvtx_thread *s,
			enum aif_wire_mark_kind kind, const struct aif_nvtx_event *e,
			struct aif_emit_mark *m)
{
	if (e->name == AIF_NVTX_NAME_OTHER)
		aif_emit_count(&t->slot->unnamed_ranges);
	if (!name_define(t, s, e->name) || (e->payload && !name_define(t, s, e->payload)))
		return false;
	m->kind = kind;
	m->time = aif_now_ns();
	m->text = e->text;
	m->text_len = e->text_len;
	return aif_emit_mark_text(t, m);
}

/* The names of an event as a record has them. */
static uint64_t names_of(const struct aif_nvtx_event *e)
{
	return e->name | (uint64_t)e->payload << 32;
}

int aif_nvtx_push(struct aif_thread *t, uint32_t domain, const struct aif_nvtx_event *e)
{
	struct aif_nvtx_thread *s = e ? stack_make(t) : stack_of(aif_self);
	struct aif_emit_mark m = {0};
	uint32_t i;

	if (!s)
		return (int)AIF_MIN(aif_nvtx_below++, (uint32_t)INT32_MAX);
	if (s->len == AIF_NVTX_OPEN) {
		s->over++;
		if (e)
			aif_emit_count(&t->slot->deep_ranges);
		return (int)(aif_nvtx_below + s->len + s->over - 1);
	}
	/* A signal's handler may push in between: it then uses the next place. */
	i = s->len++;
	atomic_signal_fence(memory_order_seq_cst);
	s->open[i].domain = (uint16_t)domain;
	s->open[i].is_closed = false;
	s->open[i].start = 0;
	if (e) {
		m.depth = i;
		m.number = names_of(e);
		if (begin_write(t, s, AIF_MARK_OPEN, e, &m))
			s->open[i].start = m.time;
	}
	return (int)(aif_nvtx_below + i);
}

/* The place of the thread's innermost range of that domain, or its length. */
static uint32_t innermost(const struct aif_nvtx_thread *s, uint32_t domain)
{
	for (uint32_t i = s->len; i-- > 0;)
		if (!s->open[i].is_closed && s->open[i].domain == domain)
			return i;
	return s->len;
}

/* The thread's state while somebody records, to be given back by aif_thread_leave_callback(). */
static struct aif_thread *enter(enum aif_busy *ret_was)
{
	*ret_was = AIF_BUSY_NOT;
	return aif_nvtx_is_asleep() ? NULL : aif_thread_enter_callback(ret_was);
}

static AIF_NOINLINE void count_unbegun(void)
{
	enum aif_busy was;
	struct aif_thread *t = enter(&was);

	if (t) {
		aif_emit_count(&t->slot->unbegun_ranges);
		aif_thread_leave_callback(t, was);
	}
}

int aif_nvtx_pop(uint32_t domain, const char *text, size_t text_len)
{
	struct aif_nvtx_thread *s = stack_of(aif_self);
	struct aif_emit_mark m = {.kind = AIF_MARK_CLOSE, .text = text, .text_len = text_len};
	uint32_t i = s ? innermost(s, domain) : 0;
	struct aif_thread *t;
	enum aif_busy was;

	if (s && s->over) {
		s->over--;
		return (int)(aif_nvtx_below + s->len + s->over);
	}
	if (!s || i == s->len) {
		if (aif_nvtx_below)
			return (int)--aif_nvtx_below;
		count_unbegun();
		return -1;
	}
	m.number = s->open[i].start;
	m.depth = i;
	s->open[i].is_closed = true;
	while (s->len && s->open[s->len - 1].is_closed)
		s->len--;
	if (!m.number)
		return (int)(aif_nvtx_below + i);
	t = enter(&was);
	if (t) {
		m.time = aif_now_ns();
		aif_emit_mark_text(t, &m);
		aif_thread_leave_callback(t, was);
	}
	return (int)(aif_nvtx_below + i);
}

void aif_nvtx_mark(struct aif_thread *t, const struct aif_nvtx_event *e)
{
	struct aif_nvtx_thread *s = stack_make(t);
	struct aif_emit_mark m = {.number = names_of(e)};

	if (s)
		begin_write(t, s, AIF_MARK_INSTANT, e, &m);
}

/* Bits of a range's number: 0 says that its begin was recorded, the uppermost 16 in which session. */
static uint64_t session_bits(const struct aif_thread *t)
{
	return (uint64_t)t->generation << 48;
}

uint64_t aif_nvtx_start(struct aif_thread *t, const struct aif_nvtx_event *e)
{
	struct aif_nvtx *x = aif_nvtx_now();
	uint64_t number = (x ? atomic_fetch_add(&x->spans, 1) + 1 : 1) << 17 >> 16;
	struct aif_nvtx_thread *s = t ? stack_make(t) : NULL;
	struct aif_nvtx_event inline_text;
	struct aif_emit_mark m = {0};

	if (!s)
		return number;
	inline_text = *e;
	m.number = number | session_bits(t) | 1;
	m.depth = e->name;
	/* The record has room for one name. */
	if (e->payload) {
		inline_text.payload = AIF_NVTX_NAME_OTHER;
		inline_text.text =
			aif_nvtx_name_text(&x->tables, e->payload, &inline_text.text_len);
		inline_text.text_len = aif_nvtx_length_within(inline_text.text, AIF_NVTX_TEXT - 1);
	}
	return begin_write(t, s, AIF_MARK_START, &inline_text, &m) ? m.number : number;
}

void aif_nvtx_end(uint64_t range, const char *text, size_t text_len)
{
	struct aif_emit_mark m = {
		.kind = AIF_MARK_FINISH, .number = range, .text = text, .text_len = text_len};
	enum aif_busy was;
	struct aif_thread *t;

	if (!(range & 1))
		return;
	t = enter(&was);
	if (t && range >> 48 == session_bits(t) >> 48) {
		m.time = aif_now_ns();
		aif_emit_mark_text(t, &m);
	}
	if (t)
		aif_thread_leave_callback(t, was);
}
