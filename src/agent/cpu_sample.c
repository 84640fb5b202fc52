/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_buffer.h"

#include "agent/enter.h"
#include "agent/own_signal.h"
#include "agent/own_tls.h"
#include "agent/sandbox.h"
#include "agent/wait.h"
#include "base/clock.h"
#include "unwind/arch.h"
#include "unwind/python_read.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A thread samples itself, in a signal handler
 * ============================================
 *
 * The handler may have interrupted anything: malloc with its lock held, the loader, the interpreter
 * while it links a frame, an entry of our own while it writes a ring. So it
 *
 *   - calls nothing that locks or allocates: system calls, aif_unwind_interrupted_frames(), the Python
 *     walk (AIF_PYTHON_IN_SIGNAL), memcpy;
 *   - writes only to its thread's struct aif_cpu_thread, to the row map and the map of code objects,
 *     which are lock-free, and to the bits of `copied`. Never to a ring, a memo, or a stack table, all of
 *     which the interrupted code may be in the middle of;
 *   - keeps errno, and is masked against all signals while it runs;
 *   - has a stack of its own (cpu_signal.S); the kernel's frame lies on the interrupted one, or on the alternate one if
 *     the thread has that.
 *
 * What it reads of the stack is known to be there: see stack_of(), and reach.h of the unwinder. What it reads of Python
 * is probed.
 *
 * A Python function that was never told of is copied here, where its frame keeps it alive; later it may
 * be gone. The copy lies in the queue before any sample that names it.
 */

/* The largest stack of a thread's own: what ulimit -s gives to large recursive programs. */
#define STACK_MAX (UINT64_C(256) << 20)

AIF_NO_STACK_PROTECTOR static struct aif_cpu_thread *thread_of(struct aif_cpu *c, uint32_t tid)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_acquire);

	for (uint32_t i = 0; i < len; i++)
		if (atomic_load_explicit(&c->at[i].tid, memory_order_acquire) == tid)
			return atomic_load_explicit(&c->at[i].thread, memory_order_relaxed);
	return NULL;
}

struct aif_cpu_thread *aif_cpu_thread_here(struct aif_cpu *c)
{
	return thread_of(c, (uint32_t)syscall(SYS_gettid));
}

/* The end of what can be read from `at` on, at most `max`. */
static uint64_t readable_to(uint64_t at, uint64_t max)
{
	struct aif_python_reader r = {.probe = true};
	uint64_t page = at / AIF_PYTHON_PAGE;

	while (page * AIF_PYTHON_PAGE < max && aif_python_probe_page(&r, page))
		page++;
	return AIF_MIN(page * AIF_PYTHON_PAGE, max);
}

/*
 * Returns the thread's own stack, as far as it may hold what belongs to frames: from the red zone of the interrupted one
 * on; each page was found readable. Its end is known and lasts: glibc keeps the thread's descriptor, to which
 * pthread_self() points, above the stack; the main thread's has the kernel's random bytes above. So that is probed
 * once, and again only below. A stack pointer elsewhere, a coroutine's or a signal's, is the unwinder's to follow; what
 * lies between there and the next hole need not be probed again for being none of the own stack.
 */
static struct aif_stack_bounds stack_of(const struct aif_cpu *c, struct aif_cpu_thread *t,
					uint64_t sp)
{
	uint64_t tcb = (uint64_t)pthread_self(), lo, known, end;
	uint64_t top = t->tid == (uint32_t)getpid() ? c->stack_top : tcb;

	if (t->tcb != tcb) {
		t->tcb = tcb;
		t->bounds = (struct aif_stack_bounds){.may_leave = true};
		t->elsewhere = (struct aif_stack_bounds){0};
	}
	lo = readable_to(sp - AIF_ARCH_RED_ZONE, sp) == sp ? sp - AIF_ARCH_RED_ZONE : sp;
	known = t->bounds.hi ? t->bounds.lo : top;
	if (lo >= known || known - lo >= STACK_MAX ||
	    (sp >= t->elsewhere.lo && sp < t->elsewhere.hi))
		return t->bounds;
	end = readable_to(lo, known);
	if (end == known) {
		t->bounds.lo = lo;
		t->bounds.hi = top;
	} else {
		t->elsewhere = (struct aif_stack_bounds){.lo = lo, .hi = end};
	}
	return t->bounds;
}

struct native {
	unsigned depth, stop;
	bool guessed;
	bool exact; /* pcs[0] is where the thread was interrupted */
	/* Stack pointers of the innermost and the outermost frame. */
	uint64_t inner, outer;
};

static bool is_ours(const struct aif_cpu *c, uint64_t pc)
{
	return pc >= c->text_lo && pc < c->text_hi;
}

/* Leaves out our frames; and where the thread was at work for us, what we called, too. */
static void leave_ourselves_out(const struct aif_cpu *c, struct aif_cpu_thread *t, struct native *n)
{
	unsigned from = 0, kept = 0;

	if (t->is_for_us) {
		while (from < n->depth && !is_ours(c, t->scratch.pcs[from]))
			from++;
		if (from == n->depth)
			from = 0;
	}
	for (unsigned i = from; i < n->depth; i++) {
		if (is_ours(c, t->scratch.pcs[i]))
			continue;
		n->exact &= i == 0 || kept > 0;
		t->scratch.pcs[kept] = t->scratch.pcs[i];
		t->scratch.sps[kept++] = t->scratch.frames[i].sp;
	}
	n->depth = kept;
}

static void native_stack(struct aif_cpu *c, struct aif_cpu_thread *t, const struct aif_regs *regs,
			 const struct aif_regs_more *more, struct aif_stack_bounds bounds,
			 struct native *n)
{
	struct aif_unwind_result r = aif_unwind_interrupted_frames(
		aif_agent.session.unwinder, regs, more, bounds, t->scratch.pcs, AIF_MEMO_MAX_DEPTH,
		t->scratch.frames);

	*n = (struct native){.depth = r.depth,
			     .stop = r.stop,
			     .guessed = r.guessed,
			     .exact = true,
			     .inner = regs->sp,
			     .outer = t->scratch.frames[r.depth].sp};
	leave_ourselves_out(c, t, n);
}

/* The stack of the call that the thread waits in. Its innermost frame is the runtime's function, as a launch's
 * is (capture.c). */
static void waiting_stack(struct aif_cpu *c, struct aif_cpu_thread *t, const struct aif_waiting *w,
			  struct aif_stack_bounds bounds, struct native *n)
{
	const struct aif_emit_api *api = atomic_load_explicit(&w->api, memory_order_relaxed);
	struct aif_unwind_result r =
		aif_unwind_frames(aif_agent.session.unwinder, &w->regs, false, bounds,
				  t->scratch.pcs, AIF_MEMO_MAX_DEPTH, t->scratch.frames);

	*n = (struct native){.depth = r.depth,
			     .stop = r.stop,
			     .guessed = r.guessed,
			     .inner = w->regs.sp,
			     .outer = t->scratch.frames[r.depth].sp};
	leave_ourselves_out(c, t, n);
	if (!api->pc || n->depth == AIF_MEMO_MAX_DEPTH ||
	    (n->depth && t->scratch.pcs[0] > api->lo && t->scratch.pcs[0] <= api->hi))
		return;
	memmove(t->scratch.pcs + 1, t->scratch.pcs, n->depth * sizeof(t->scratch.pcs[0]));
	memmove(t->scratch.sps + 1, t->scratch.sps, n->depth * sizeof(t->scratch.sps[0]));
	t->scratch.pcs[0] = api->pc + 1;
	t->scratch.sps[0] = w->regs.sp;
	n->depth++;
}

/* Returns where marks of Python frames may lie: on the thread's own stack, unless the native frames leave it and do not
 * come back. */
static struct aif_stack_bounds python_bounds(struct aif_stack_bounds own, const struct native *n)
{
	if ((n->inner >= own.lo && n->inner < own.hi) || (n->outer >= own.lo && n->outer < own.hi))
		return own;
	return (struct aif_stack_bounds){.lo = n->inner, .hi = n->outer + AIF_PYTHON_PAGE};
}

static bool is_copied(const struct aif_cpu *c, uint32_t id)
{
	return id < AIF_CPU_CODES &&
	       (atomic_load_explicit(&c->copied[id / 64], memory_order_acquire) >> id % 64 & 1);
}

/* Copies what is to be told of a frame's function, under the number `id` or (0) a new one. Its number,
 * 0: it cannot be told; *ret_hidden: it is not to be shown. */
static uint32_t copy_code(struct aif_cpu *c, struct aif_cpu_thread *t, uint64_t address,
			  uint32_t id, bool *ret_hidden)
{
	struct aif_python_code code;
	struct aif_cpu_code *item;
	size_t len;
	int r = aif_python_code_read(aif_agent.python, address, t->scratch.code,
				     AIF_PYTHON_CODE_BUFFER, &code);

	*ret_hidden = r == -EEXIST;
	if (r < 0)
		return 0;
	if (id)
		code.id = id;
	if (code.id >= AIF_CPU_CODES)
		return 0;
	len = (size_t)code.name_len + code.file_len + code.lines_len;
	item = aif_cpu_reserve(t, AIF_CPU_CODE, sizeof(*item) + len);
	if (!item)
		return 0;
	*item = (struct aif_cpu_code){.head = item->head,
				      .id = code.id,
				      .first_line = code.first_line,
				      .name_len = code.name_len,
				      .file_len = code.file_len,
				      .lines_len = code.lines_len,
				      .minor = code.minor};
	memcpy(item->text, code.name, len); /* the three lie in a row */
	aif_cpu_commit(t, item);
	atomic_fetch_or_explicit(&c->copied[code.id / 64], UINT64_C(1) << code.id % 64,
				 memory_order_release);
	if (!id && aif_python_code_publish(aif_agent.python, &code) < 0)
		return 0;
	return code.id;
}

/* The frames into t->scratch.python, all of whose functions are told of. False: one could not be. */
static bool python_stack(struct aif_cpu *c, struct aif_cpu_thread *t,
			 struct aif_stack_bounds bounds, struct aif_python_stack *py)
{
	struct aif_python *python = aif_agent.python;
	bool new = false, hidden;

	aif_python_walk(python, AIF_PYTHON_IN_SIGNAL, bounds, t->scratch.python, AIF_THREAD_PYTHON,
			py);
	for (uint32_t i = 0; i < py->depth; i++) {
		const struct aif_python_frame *f = &t->scratch.python[i];
		uint32_t id = f->id;

		if (aif_likely(id && is_copied(c, id)))
			continue;
		if (!id) {
			new = true;
			/* The same function further in, perhaps. */
			id = aif_python_codes_find(&python->codes, f->code);
			if (id && is_copied(c, id))
				continue;
		}
		if (!copy_code(c, t, f->code, id, &hidden) && !hidden)
			return false;
	}
	if (new)
		aif_python_walk(python, AIF_PYTHON_IN_SIGNAL, bounds, t->scratch.python,
				AIF_THREAD_PYTHON, py);
	return !py->unknown;
}

static void keep(struct aif_cpu_thread *t, const struct native *n,
		 const struct aif_python_stack *py, uint64_t weight, unsigned flags)
{
	struct aif_interleave in = aif_scratch_interleave(&t->scratch, py);
	unsigned len = n->depth + py->depth, first = flags & AIF_CPU_IN_OS ? 1 : 0;
	struct aif_cpu_sample *s = aif_cpu_reserve(
		t, AIF_CPU_SAMPLE, sizeof(*s) + (len + first) * sizeof(s->entries[0]));

	if (!s) {
		atomic_fetch_add_explicit(&t->lost, 1, memory_order_relaxed);
		return;
	}
	flags |= n->stop | (n->guessed ? AIF_WIRE_STACK_GUESSED : 0u);
	in.pcs = t->scratch.pcs;
	in.sps = t->scratch.sps;
	in.native_len = n->depth;
	in.native_cut = n->stop != AIF_STOP_END;
	if (aif_interleave(&in, t->scratch.order) == AIF_INTERLEAVE_BLOCK)
		flags |= AIF_WIRE_STACK_BLOCK;
	if (in.python_cut)
		flags |= AIF_WIRE_STACK_CUT;
	if (first)
		s->entries[0] = AIF_WIRE_OS;
	for (unsigned i = 0; i < len; i++) {
		uint32_t at = t->scratch.order[i] & ~AIF_INTERLEAVE_PYTHON;

		/* The recorder looks up the address before: that of the call that returns here. */
		s->entries[first + i] = t->scratch.order[i] & AIF_INTERLEAVE_PYTHON
						? AIF_WIRE_PYTHON |
							  (uint64_t)t->scratch.python[at].id << 32 |
							  (uint32_t)t->scratch.python[at].lasti
						: t->scratch.pcs[at] + (n->exact && at == 0);
	}
	s->time = aif_now_ns();
	s->weight = weight;
	s->tid = t->tid;
	s->owner = t->owner;
	s->len = first + len;
	s->stop = flags;
	aif_cpu_commit(t, s);
}

/* Keeps CPU time without a stack. False: there is no room. */
static bool keep_bare(struct aif_cpu_thread *t, uint64_t ns, uint32_t flags)
{
	struct aif_cpu_sample *s = aif_cpu_reserve(t, AIF_CPU_SAMPLE, sizeof(*s));

	if (!s)
		return false;
	s->time = aif_now_ns();
	s->weight = ns;
	s->tid = t->tid;
	s->owner = t->owner;
	s->len = 0;
	s->stop = flags;
	aif_cpu_commit(t, s);
	return true;
}

/* Keeps CPU time whose stack is not known, once it is worth a row. */
static void keep_unknown(struct aif_cpu_thread *t, uint64_t ns)
{
	t->unknown_ns += ns;
	if (t->unknown_ns >= AIF_CPU_PERIODS_MAX * t->clocks.period_ns &&
	    keep_bare(t, t->unknown_ns, AIF_CPU_UNKNOWN))
		t->unknown_ns = 0;
}

/* Keeps what the thread used before its first sample. */
static void keep_before(struct aif_cpu_thread *t, uint64_t ns)
{
	if (!t->is_wall && keep_bare(t, t->found_ns + ns, AIF_CPU_BEFORE))
		t->found_ns = 0;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * AIF_NS_PER_S + (uint64_t)t->tv_usec * 1000;
}

/* Changes the clock of the thread as the helper has chosen by its context switches. */
static void follow_switches(struct aif_cpu_thread *t)
{
	bool is_often = atomic_load_explicit(&t->is_often, memory_order_acquire);

	if (t->is_wall || t->only_ticks || is_often == t->is_alone)
		return;
	t->is_alone = is_often;
	aif_cpu_clocks_change(&t->clocks,
			      is_often ? AIF_MAX(t->event_ns, t->clocks.tick_ns) : t->event_ns);
}

/* CPU time after which a thread that has begun its samples itself is sampled as all others are. Until then each tick is a
 * signal, of 3 us if it becomes no sample. */
#define YOUNG_NS (AIF_NS_PER_S / 10)

static void accounts_read(struct aif_cpu_signal *s)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u) < 0)
		return;
	s->user_ns = timeval_ns(&u.ru_utime);
	s->system_ns = timeval_ns(&u.ru_stime);
	s->faults = (uint64_t)(u.ru_minflt + u.ru_majflt);
	s->switches = (uint64_t)u.ru_nivcsw;
}

/* Goes on with samples a period of CPU time apart; the credit of ticks is of time that the next one has, too. */
static void grow_up(struct aif_cpu_thread *t, const struct aif_cpu_signal *s)
{
	aif_cpu_credit_end(&t->credit, s->cpu_ns);
	t->clocks.cpu_ns = s->cpu_ns - AIF_MIN(t->credit.ns, s->cpu_ns);
	t->credit.ns = 0;
	t->clocks.has_sample = true;
	t->clocks.user_ns = s->user_ns;
	t->clocks.system_ns = s->system_ns;
	t->clocks.faults = s->faults;
	t->clocks.switches = s->switches;
	t->clocks.tick_cpu_ns = s->cpu_ns;
	if (t->only_ticks) {
		t->clocks.tick_ns = t->clocks.period_ns;
	} else {
		t->clocks.period_ns = AIF_MAX(t->event_ns, t->clocks.tick_ns);
	}
	atomic_store_explicit(&t->is_young, false, memory_order_release);
	aif_cpu_timer_set(t);
}

static struct aif_cpu_weight weigh_young(struct aif_cpu_thread *t, const siginfo_t *info,
					 const ucontext_t *uc)
{
	struct aif_cpu_signal s = {.is_call_end = aif_is_system_call_end(uc),
				   .cpu_ns = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID)};
	struct aif_cpu_weight w;

	if (info->si_code != SI_TIMER)
		return (struct aif_cpu_weight){0};
	accounts_read(&s);
	w = aif_cpu_weigh_young(&t->clocks, &t->credit, t->event_ns, &s);
	if (s.cpu_ns >= YOUNG_NS)
		grow_up(t, &s);
	return w;
}

static struct aif_cpu_weight weigh(struct aif_cpu_thread *t, const siginfo_t *info,
				   const ucontext_t *uc)
{
	struct aif_cpu_signal s;

	if (t->is_wall)
		return (struct aif_cpu_weight){.ns = t->clocks.period_ns *
						     (1 + (uint64_t)AIF_MAX(info->si_overrun, 0))};
	if (atomic_load_explicit(&t->is_young, memory_order_relaxed))
		return weigh_young(t, info, uc);
	follow_switches(t);
	/* An event that came before it was closed: the next tick has that time. */
	if (t->is_alone && info->si_code != SI_TIMER)
		return (struct aif_cpu_weight){0};
	s = (struct aif_cpu_signal){.is_alone = t->is_alone,
				    .is_call_end = aif_is_system_call_end(uc),
				    .cpu_ns = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID)};
	accounts_read(&s);
	return info->si_code == SI_TIMER ? aif_cpu_weigh_tick(&t->clocks, &s)
					 : aif_cpu_weigh_event(&t->clocks, &s);
}

static void sample(struct aif_cpu *c, struct aif_cpu_thread *t, const siginfo_t *info,
		   const ucontext_t *uc)
{
	struct aif_cpu_weight weight = weigh(t, info, uc);
	const struct aif_waiting *waiting;
	struct aif_stack_bounds bounds;
	struct aif_regs_more more;
	struct aif_regs regs;
	struct aif_python_stack py;
	struct native n;
	unsigned flags = weight.in_kernel ? AIF_CPU_IN_OS : 0;

	if (weight.unknown_ns)
		keep_unknown(t, weight.unknown_ns);
	if (weight.before_ns)
		keep_before(t, weight.before_ns);
	if (!weight.ns)
		return;
	aif_regs_of_ucontext(uc, &regs, &more);
	bounds = stack_of(c, t, regs.sp);
	waiting = t->is_wall ? aif_wait_under_way(regs.sp) : NULL;
	if (t->is_wall && aif_is_interrupted_call(uc))
		atomic_fetch_add_explicit(&t->interrupted, 1, memory_order_relaxed);
	if (waiting) {
		waiting_stack(c, t, waiting, bounds, &n);
		flags |= AIF_CPU_WAITING;
	} else {
		native_stack(c, t, &regs, &more, bounds, &n);
		flags |= aif_wait_spins() ? AIF_CPU_WAITING : 0;
	}
	if (!python_stack(c, t, python_bounds(bounds, &n), &py)) {
		flags |= AIF_CPU_NO_CODE;
		py = (struct aif_python_stack){0};
	}
	keep(t, &n, &py, weight.ns, flags);
}

/* Time the kernel takes to deliver a signal and to return from it, with the interrupt of the timer: 5 to 20 us. */
#define SIGNAL_NS 10000

/* The most that a sample is said to take: it is measured on the wall clock, and more is another thread's time on the CPU. */
#define SAMPLE_MOST_NS UINT64_C(200000)

/* Samples a thread, in which no entry is entered meanwhile. What that costs threads of runtimes is summed up. */
static void sample_alone(struct aif_cpu *c, struct aif_cpu_thread *t, const siginfo_t *info,
			 const ucontext_t *uc)
{
	struct aif_thread *self = aif_self;
	enum aif_busy was = self ? aif_thread_busy(self) : AIF_BUSY_NOT;
	uint64_t begin = aif_now_ns();

	t->is_for_us = was == AIF_BUSY_ENTRY;
	if (self)
		aif_thread_set_busy(self, AIF_BUSY_ENTRY);
	sample(c, t, info, uc);
	if (self) {
		aif_thread_set_busy(self, was);
		atomic_fetch_add(&aif_agent.session.cpu_samples_ns,
				 AIF_MIN(aif_now_ns() - begin, SAMPLE_MOST_NS) + SIGNAL_NS);
	}
}

/* Handles the signal where thread-local variables are the C library's. */
static AIF_NOINLINE void handle(struct aif_cpu *c, struct aif_cpu_thread *t, const siginfo_t *info,
				const ucontext_t *uc)
{
	int saved = errno;

	/* Before any call that a preloaded library may stand in front of, the clock's, too: an entry would allocate, and the
	 * thread may be inside malloc(). */
	aif_in_handler = true;
	sample_alone(c, t, info, uc);
	aif_in_handler = false;
	errno = saved;
}

/*
 * Returns whether thread-local variables may be used: not while a thread that emulates another program has its own
 * pointer, whose time has no stack then. Finding out takes system calls. After PR_SET_NO_NEW_PRIVS, when a filter may come at
 * any time, the pointer is taken for the C library's.
 */
AIF_NO_STACK_PROTECTOR static bool can_use_tls(const struct aif_cpu *c)
{
	return atomic_load(&aif_agent.session.quiet_until_ns) || !c->sees_tls || aif_has_own_tls();
}

/* Looks at the clock whether a filter may come, after PR_SET_NO_NEW_PRIVS. */
static AIF_NOINLINE bool is_quiet(void)
{
	int saved = errno;
	bool is;

	aif_in_handler = true;
	is = aif_sandbox_may_be_on();
	aif_in_handler = false;
	errno = saved;
	return is;
}

/* Returns whether a filter may forbid system calls: none is made then. */
AIF_NO_STACK_PROTECTOR static bool may_be_forbidden(const struct aif_session *s)
{
	return aif_sandbox_is_on() || atomic_load(&s->installing) ||
	       (atomic_load(&s->quiet_until_ns) && is_quiet());
}

/* Goes to cpu_signal.S in two registers. */
struct aif_cpu_entry {
	struct aif_cpu_thread *thread; /* NULL: takes no sample */
	void *stack;
};

struct aif_cpu_entry aif_cpu_signal_begin(const siginfo_t *info);
void aif_cpu_signal_take(struct aif_cpu_thread *t, const siginfo_t *info, const ucontext_t *uc);

/* On the interrupted stack. SIGURG from others is ignored, as it would be without the agent. */
AIF_NO_STACK_PROTECTOR struct aif_cpu_entry aif_cpu_signal_begin(const siginfo_t *info)
{
	struct aif_cpu *c = &aif_agent.cpu;
	struct aif_cpu_thread *t;

	atomic_fetch_add(&c->handling, 1);
	if (atomic_load(&c->on) && aif_own_signal_is_ours(info) &&
	    !may_be_forbidden(&aif_agent.session)) {
		t = thread_of(c, (uint32_t)aif_bare_call(SYS_gettid, 0, 0, 0, 0, 0, 0));
		if (t && !atomic_exchange(&t->is_inside, true))
			return (struct aif_cpu_entry){t, t->stack};
	}
	atomic_fetch_sub(&c->handling, 1);
	return (struct aif_cpu_entry){0};
}

/* On the thread's own stack for samples. */
AIF_NO_STACK_PROTECTOR void aif_cpu_signal_take(struct aif_cpu_thread *t, const siginfo_t *info,
						const ucontext_t *uc)
{
	struct aif_cpu *c = &aif_agent.cpu;

	if (can_use_tls(c))
		handle(c, t, info, uc);
	atomic_store(&t->is_inside, false);
	atomic_fetch_sub(&c->handling, 1);
}
