/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/enter.h"
#include "agent/emit.h"
#include "agent/next_function.h"
#include "agent/torch/observer.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/*
 * PyTorch's operators with the shapes of their inputs, while the program has PyTorch's own profiler record them
 * (record_shapes=True). PyTorch then hands each operator's inputs to all observers. One of ours is registered when that profiler is
 * switched on, and taken away when it is switched off; of several, which threads may have of their own, with the last one. At all
 * other times operators stay on PyTorch's path without observers. An operator of which PyTorch hands over no inputs is left out:
 * nobody asked for shapes.
 *
 * Where the agent is preloaded the functions that switch the profiler are ours, and call PyTorch's own.
 */
#if defined(__x86_64__)

/* torch::autograd::profiler::enableProfiler(const ProfilerConfig &, const std::set<ActivityType> &,
 * const std::unordered_set<at::RecordScope> &) and disableProfiler(), which returns an object. */
#define PROFILER "_ZN5torch8autograd8profiler"
#define ENABLE                                                                               \
	PROFILER "14enableProfilerERKNS_8profiler4impl14ProfilerConfigERKSt3setINS3_"        \
		 "12ActivityTypeESt4lessIS8_ESaIS8_EERKSt13unordered_setIN2at11RecordScopeE" \
		 "St4hashISH_ESt8equal_toISH_ESaISH_EE"
#define DISABLE PROFILER "15disableProfilerEv"
/* torch::profiler::impl::inputSizes(const at::RecordFunction &, bool), operator delete(void *) */
#define SIZES  "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb"
#define DELETE "_ZdlPv"

typedef void enable_profiler(const void *config, const void *activities, const void *scopes);
typedef void *disable_profiler(void *ret);

/* std::vector<int64_t>, and a vector of these: one for each input, empty for what is no tensor. */
struct sizes {
	const int64_t *at, *end, *room;
};
struct all_sizes {
	struct sizes *at, *end, *room;
};
typedef void *input_sizes(struct all_sizes *ret, const void *range, bool has_lists_flattened);
typedef void free_memory(void *p);

AIF_PUBLIC enable_profiler aif_torch_enable_profiler __asm__(ENABLE);
AIF_PUBLIC disable_profiler aif_torch_disable_profiler __asm__(DISABLE);

/* Longest text of a mark: the operator's name, a zero, the shapes. */
enum { TEXT = 1000, OPEN = 32 };

/* Operators that the thread is in. */
static __thread const void *open_operators[OPEN] __attribute__((tls_model("initial-exec")));
static __thread uint32_t open_len __attribute__((tls_model("initial-exec")));
/* The observer's number when the thread's operators were begun: those of an observer before are over. */
static __thread uint32_t open_since __attribute__((tls_model("initial-exec")));
/* The thread asks PyTorch for shapes. Set at the next operator: PyTorch threw, as it does for nested tensors. */
static __thread bool is_asking __attribute__((tls_model("initial-exec")));

static struct {
	/* Written before .handle is. */
	aif_torch_name *name;
	input_sizes *sizes;
	free_memory *free;
	_Atomic uint64_t handle;    /* 0: no observer */
	_Atomic uint32_t profilers; /* those that are on: a thread may have one of its own */
	_Atomic uint32_t number;
	atomic_bool is_refused; /* PyTorch has no shapes for some of the program's operators */
} observer;

/* Appends to `text`; false: there is no room. */
static bool put(char *text, size_t *len, const char *add, size_t add_len)
{
	if (add_len > TEXT - *len)
		return false;
	memcpy(text + *len, add, add_len);
	*len += add_len;
	return true;
}

static bool put_number(char *text, size_t *len, int64_t n)
{
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
	char digits[21];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		digits[--at] = '-';
	return put(text, len, digits + at, sizeof(digits) - at);
}

/* Appends "[[2, 3], []]", as torch.profiler prints it. */
static bool put_shapes(char *text, size_t *len, const struct all_sizes *all)
{
	bool ok = put(text, len, "[", 1);

	for (const struct sizes *s = all->at; ok && s < all->end; s++) {
		ok = put(text, len, ", ", s == all->at ? 0 : 2) && put(text, len, "[", 1);
		for (const int64_t *n = s->at; ok && n < s->end; n++)
			ok = put(text, len, ", ", n == s->at ? 0 : 2) && put_number(text, len, *n);
		ok = ok && put(text, len, "]", 1);
	}
	return ok && put(text, len, "]", 1);
}

/* Writes the name and, where they have room, the shapes. Returns the length, 0: PyTorch hands over no inputs. */
static size_t describe(const void *range, char *text)
{
	struct all_sizes all = {NULL, NULL, NULL};
	const char *name = observer.name(range);
	size_t len = 0, name_len;

	is_asking = true;
	(void)observer.sizes(&all, range, false);
	is_asking = false;
	if (all.at != all.end && name && put(text, &len, name, strnlen(name, 200))) {
		name_len = len;
		if (!put(text, &len, "", 1) || !put_shapes(text, &len, &all))
			len = name_len;
	}
	for (struct sizes *s = all.at; s < all.end; s++)
		if (s->at)
			observer.free((void *)s->at);
	if (all.at)
		observer.free(all.at);
	return len;
}

static void mark(enum aif_wire_mark_kind kind, const char *text, size_t len)
{
	struct aif_thread *t;

	if (aif_thread_asleep())
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	(void)aif_emit_mark_text(t, &(struct aif_emit_mark){.kind = kind,
							    .time = aif_now_ns(),
							    .depth = open_len,
							    .text = text,
							    .text_len = len});
	aif_thread_leave(t);
}

/* PyTorch threw at the last operator, which its profiler reports as a warning: asks for no more shapes, so that there is one. */
static void refuse(void)
{
	struct aif_thread *t;

	is_asking = false;
	if (atomic_exchange(&observer.is_refused, true) || aif_thread_asleep())
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	(void)aif_emit_note(t, AIF_REASON_OPERATOR_SHAPES, 1, "");
	aif_thread_leave(t);
}

static void **start(void **ret_state, const void *range)
{
	uint32_t number = atomic_load_explicit(&observer.number, memory_order_relaxed);
	int saved = errno;
	char text[TEXT];
	size_t len;

	*ret_state = NULL;
	if (open_since != number) {
		open_len = 0;
		open_since = number;
	}
	if (is_asking)
		refuse();
	if (open_len == OPEN || atomic_load_explicit(&observer.is_refused, memory_order_relaxed) ||
	    !atomic_load_explicit(&aif_agent.session.armed, memory_order_acquire) ||
	    aif_thread_asleep() || (aif_agent.session.options & AIF_OPTION_NO_PYTHON))
		return ret_state;
	len = describe(range, text);
	if (len) {
		mark(AIF_MARK_OPERATOR, text, len);
		open_operators[open_len++] = range;
	}
	errno = saved;
	return ret_state;
}

/* Ends the operator and those inside of it. One that another thread ends is not among this thread's: it ends with the one
 * around it. */
static void end(const void *range, void *state)
{
	uint32_t i = open_len;
	int saved = errno;

	(void)state;
	while (i > 0 && open_operators[i - 1] != range)
		i--;
	if (i > 0) {
		open_len = i - 1;
		mark(AIF_MARK_OPERATOR_END, NULL, 0);
	}
	errno = saved;
}

/* PyTorch's libraries take what is visible to all first, as do we: the program may have an allocator of its own. */
static free_memory *deallocator(void)
{
	void *f = dlsym(RTLD_DEFAULT, DELETE);

	return (free_memory *)(f ? f : aif_next_function(DELETE));
}

static void unobserve(void)
{
	aif_torch_unobserve(atomic_exchange(&observer.handle, 0));
}

/* Registers the observer, where none is there. */
static void observe(void)
{
	uint64_t none = 0, handle;

	if (!aif_agent.env.carrier || atomic_load(&observer.is_refused) ||
	    atomic_load(&observer.handle))
		return;
	observer.name = aif_torch_name_function();
	observer.sizes = (input_sizes *)aif_next_function(SIZES);
	observer.free = deallocator();
	if (!observer.name || !observer.sizes || !observer.free)
		return;
	atomic_fetch_add(&observer.number, 1);
	handle = aif_torch_observe(AIF_TORCH_OPERATOR, start, end);
	/* Another thread has switched a profiler on, too. */
	if (!atomic_compare_exchange_strong(&observer.handle, &none, handle))
		aif_torch_unobserve(handle);
	/* The last profiler was switched off meanwhile, before there was an observer to take away. */
	if (!atomic_load(&observer.profilers))
		unobserve();
}

/* Counts a profiler as switched off. Returns true if others are on. */
static bool others_are_on(void)
{
	uint32_t n = atomic_load(&observer.profilers);

	while (n && !atomic_compare_exchange_weak(&observer.profilers, &n, n - 1))
		;
	return n > 1;
}

void aif_torch_enable_profiler(const void *config, const void *activities, const void *scopes)
{
	enable_profiler *real = (enable_profiler *)aif_next_function(ENABLE);
	int saved;

	if (real)
		real(config, activities, scopes); /* does not return where it refuses */
	saved = errno;
	atomic_fetch_add(&observer.profilers, 1);
	observe();
	errno = saved;
}

void *aif_torch_disable_profiler(void *ret)
{
	disable_profiler *real = (disable_profiler *)aif_next_function(DISABLE);
	void *r = real ? real(ret) : ret; /* does not return where the thread has no profiler */
	int saved = errno;

	if (!others_are_on()) {
		unobserve();
		/* Another thread has switched one on meanwhile, and found the observer that is gone. */
		if (atomic_load(&observer.profilers))
			observe();
	}
	errno = saved;
	return r;
}

#endif
