/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampling.h"

#include "agent/dir.h"
#include "agent/emit.h"
#include "agent/memory/pages.h"
#include "unwind/arch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SCAN_EACH_NS AIF_NS_PER_S
/* A worker's samples of 250 ms at 10 kHz are 2,500; twice that, as a power of two. 64 KiB a thread. */
#define BUFFER_LEN 4096
#define MAX_RATE   20000

/* Clock id of one thread's CPU clock, as in linux/posix-timers.h. */
#define THREAD_CPU_CLOCK(tid) ((clockid_t)(~(tid) << 3 | 6))

/* Handler and helper share the buffer as a ring does: one writes, one reads. */
struct aif_sampler_thread {
	struct aif_sampler_thread *next; /* spare */
	uint32_t tid;
	bool is_worker, alive;
	int timer;
	uint64_t period_ns;
	uint64_t cpu_ns; /* the handler's: CPU time at the last sample */
	_Atomic uint32_t head, tail, lost;
	struct {
		uint64_t time, pc;
		uint32_t count;
	} at[BUFFER_LEN];
};

void aif_task_list_read(struct aif_task_list *list)
{
	struct aif_dir dir = {.fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	const char *name;

	list->len = 0;
	if (dir.fd < 0)
		return;
	while ((name = aif_dir_next(&dir)) != NULL) {
		uint32_t tid = (uint32_t)strtoul(name, NULL, 10);

		if (tid && list->len < AIF_SAMPLER_THREADS)
			list->tid[list->len++] = tid;
	}
	close(dir.fd);
}

static bool contains(const struct aif_task_list *list, uint32_t tid)
{
	for (uint32_t i = 0; i < list->len; i++)
		if (list->tid[i] == tid)
			return true;
	return false;
}

void aif_sampler_before(struct aif_task_list *list)
{
	int saved = errno;

	list->len = 0;
	if (aif_session_wanted())
		aif_task_list_read(list);
	if (list->len)
		atomic_fetch_add(&aif_agent.sampler.appearing, 1);
	errno = saved;
}

static void add_worker(struct aif_sampler *s, uint32_t tid)
{
	uint32_t at = atomic_load(&s->workers_len);

	/* Counts no further, so that threads that come and go for years cannot make it begin anew. */
	do
		if (at >= AIF_SAMPLER_THREADS)
			return;
	while (!atomic_compare_exchange_weak(&s->workers_len, &at, at + 1));
	atomic_store_explicit(&s->workers[at], tid, memory_order_release);
}

static void add_workers(struct aif_sampler *s, const struct aif_task_list *before)
{
	struct aif_task_list now;

	aif_task_list_read(&now);
	for (uint32_t i = 0; i < now.len; i++)
		if (!contains(before, now.tid[i]))
			add_worker(s, now.tid[i]);
}

void aif_sampler_after(const struct aif_task_list *list)
{
	struct aif_sampler *s = &aif_agent.sampler;
	int saved = errno;

	if (!list->len)
		return;
	if (aif_session_wanted())
		add_workers(s, list);
	atomic_fetch_sub(&s->appearing, 1);
	errno = saved;
}

bool aif_sampler_is_worker(struct aif_sampler *s, uint32_t tid)
{
	uint32_t len = AIF_MIN(atomic_load(&s->workers_len), (uint32_t)AIF_SAMPLER_THREADS);

	for (uint32_t i = 0; i < len; i++)
		if (atomic_load_explicit(&s->workers[i], memory_order_acquire) == tid)
			return true;
	return false;
}

void aif_sampler_see_worker(struct aif_sampler *s, uint32_t tid)
{
	if (!aif_sampler_is_worker(s, tid))
		add_worker(s, tid);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	struct aif_sampler_thread *t = info->si_value.sival_ptr;
	struct aif_regs_more more;
	struct aif_regs regs;
	int saved = errno;
	uint64_t cpu, used;
	uint32_t head;

	(void)signal;
	if (info->si_code != SI_TIMER || !t)
		return;
	cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	used = cpu - t->cpu_ns;
	t->cpu_ns = cpu;
	aif_regs_of_ucontext(context, &regs, &more);
	head = atomic_load_explicit(&t->head, memory_order_relaxed);
	if (used >= t->period_ns / 2) {
		if (head - atomic_load_explicit(&t->tail, memory_order_acquire) >= BUFFER_LEN) {
			atomic_fetch_add_explicit(&t->lost, 1, memory_order_relaxed);
		} else {
			uint32_t i = head % BUFFER_LEN,
				 overrun = info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;

			/* A wall-clock timer also expires while the thread waits for a CPU. */
			if (t->is_worker)
				overrun = (uint32_t)AIF_MIN(overrun, used / t->period_ns);
			t->at[i].time = aif_now_ns();
			t->at[i].pc = regs.pc;
			t->at[i].count = 1 + overrun;
			atomic_store_explicit(&t->head, head + 1, memory_order_release);
		}
	}
	errno = saved;
}

static bool is_ours(int signal)
{
	struct sigaction sa;

	return sigaction(signal, NULL, &sa) == 0 && (sa.sa_flags & SA_SIGINFO) &&
	       sa.sa_sigaction == on_signal;
}

static bool is_free(int signal)
{
	struct sigaction sa;

	return sigaction(signal, NULL, &sa) == 0 && !(sa.sa_flags & SA_SIGINFO) &&
	       sa.sa_handler == SIG_DFL;
}

/* The highest real-time signal that nobody has, else SIGPROF: an application that starts to use one
 * later would get ours for up to 250 ms, and SIGPROF is what profilers inside applications take. The
 * handler stays until the process ends: signals may be on their way. */
static bool signal_install(struct aif_sampler *s)
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_RESTART};
	int signal = SIGRTMAX;

	if (s->signal)
		return is_ours(s->signal);
	for (; !is_free(signal); signal = signal == SIGRTMIN ? SIGPROF : signal - 1)
		if (signal == SIGPROF)
			return false;
	sa.sa_sigaction = on_signal;
	sigfillset(&sa.sa_mask);
	if (sigaction(signal, &sa, NULL) < 0)
		return false;
	s->signal = signal;
	return true;
}

static int timer_start(struct aif_sampler *s, struct aif_sampler_thread *t)
{
	struct timespec period = {.tv_sec = (time_t)(s->period_ns / AIF_NS_PER_S),
				  .tv_nsec = (long)(s->period_ns % AIF_NS_PER_S)};
	struct itimerspec when = {.it_interval = period, .it_value = period};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = s->signal,
				 .sigev_value.sival_ptr = t};
	clockid_t clock = t->is_worker ? CLOCK_MONOTONIC : THREAD_CPU_CLOCK(t->tid);

	event._sigev_un._tid = (pid_t)t->tid;
	if (syscall(SYS_timer_create, clock, &event, &t->timer) < 0)
		return -errno;
	if (syscall(SYS_timer_settime, t->timer, 0, &when, NULL) < 0) {
		syscall(SYS_timer_delete, t->timer);
		return -EINVAL;
	}
	return 0;
}

static void carry(struct aif_sampler_thread *t)
{
	uint32_t head = atomic_load_explicit(&t->head, memory_order_acquire),
		 tail = atomic_load_explicit(&t->tail, memory_order_relaxed),
		 lost = atomic_exchange_explicit(&t->lost, 0, memory_order_relaxed);
	struct aif_thread *self;

	if (head == tail && !lost)
		return;
	self = aif_thread_enter();
	if (!self)
		return;
	for (; tail != head; tail++)
		aif_emit_sample(self, t->tid, t->at[tail % BUFFER_LEN].time,
				t->at[tail % BUFFER_LEN].pc, t->at[tail % BUFFER_LEN].count);
	atomic_store_explicit(&t->tail, tail, memory_order_release);
	if (lost)
		aif_emit_note(self, AIF_REASON_SAMPLE_LOST, lost, "timers");
	aif_thread_leave(self);
}

static void thread_add(struct aif_sampler *s, uint32_t tid)
{
	struct aif_sampler_thread *t = s->spare;

	if (s->len >= AIF_SAMPLER_THREADS)
		return;
	if (t)
		s->spare = t->next;
	else
		t = aif_pages_unlocked(sizeof(*t));
	if (!t)
		return;
	t->tid = tid;
	t->is_worker = aif_sampler_is_worker(s, tid);
	t->period_ns = s->period_ns;
	t->cpu_ns = 0;
	if (timer_start(s, t) < 0) {
		t->next = s->spare;
		s->spare = t;
		return;
	}
	s->thread[s->len++] = t;
}

static void thread_remove(struct aif_sampler *s, uint32_t i)
{
	struct aif_sampler_thread *t = s->thread[i];

	/* A signal that is on its way still finds the buffer: memory is never given back. */
	syscall(SYS_timer_delete, t->timer);
	carry(t);
	t->next = s->spare;
	s->spare = t;
	s->thread[i] = s->thread[--s->len];
}

static void scan(struct aif_sampler *s)
{
	struct aif_task_list now;
	uint32_t self = (uint32_t)syscall(SYS_gettid);

	aif_task_list_read(&now);
	for (uint32_t i = s->len; i-- > 0;)
		if (!contains(&now, s->thread[i]->tid))
			thread_remove(s, i);
	for (uint32_t k = 0; k < now.len; k++) {
		bool known = now.tid[k] == self;

		for (uint32_t i = 0; i < s->len && !known; i++)
			known = s->thread[i]->tid == now.tid[k];
		if (!known)
			thread_add(s, now.tid[k]);
	}
}

void aif_sampler_tick(struct aif_sampler *s, bool collect, uint64_t now)
{
	const struct aif_session *session = &aif_agent.session;
	bool wanted = collect && session->device_rate &&
		      atomic_load_explicit(&session->shm->sampling, memory_order_relaxed) ==
			      AIF_SAMPLING_TIMERS;

	if (wanted && !s->armed)
		s->period_ns = AIF_NS_PER_S / AIF_MIN(session->device_rate, (uint32_t)MAX_RATE);
	/* Also stops when the application has taken our signal for itself. */
	if (!wanted || !signal_install(s)) {
		while (s->len)
			thread_remove(s, s->len - 1);
		s->armed = false;
		return;
	}
	if (!s->armed || now - s->scanned_ns >= SCAN_EACH_NS ||
	    s->scanned_workers != atomic_load(&s->workers_len)) {
		s->armed = true;
		s->scanned_workers = atomic_load(&s->workers_len);
		s->scanned_ns = now;
		scan(s);
	}
	for (uint32_t i = 0; i < s->len; i++)
		carry(s->thread[i]);
}

void aif_sampler_after_fork(struct aif_sampler *s)
{
	/* Timers stay with the parent, and the buffers are copies of its. */
	int signal = s->signal;

	memset(s, 0, sizeof(*s));
	s->signal = signal;
}
