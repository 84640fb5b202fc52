/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "agent/next_function.h"
#include "agent/torch/observer.h"

#include <errno.h>

/*
 * Ranges that PyTorch programs mark with record_function(), and those of PyTorch itself by the same means: an optimizer's
 * step, a data loader's next batch, torch.profiler's ProfilerStep. PyTorch calls observers that are registered with
 * at::addGlobalCallback() at the begin and end of each; torch.profiler is one, we are another, of ranges only: operators
 * stay on PyTorch's path without observers.
 *
 * The observer is registered in a thread of the program, as PyTorch is imported: at a call of
 * c10::detail::LogAPIUsageFakeReturn(), by which PyTorch notes that, and the first use of some other things. Where the
 * agent is preloaded that function is ours, and calls PyTorch's own. It is called once in each of some dozen places.
 */
#if defined(__x86_64__)

/* c10::detail::LogAPIUsageFakeReturn(const std::string &), with the string of C++11 and with the one before. */
#define LOG_USAGE                               \
	"_ZN3c106detail21LogAPIUsageFakeReturn" \
	"ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define LOG_USAGE_OLD "_ZN3c106detail21LogAPIUsageFakeReturnERKSs"
typedef bool log_usage(const void *event);

AIF_PUBLIC log_usage aif_torch_log_usage __asm__(LOG_USAGE);
AIF_PUBLIC log_usage aif_torch_log_usage_old __asm__(LOG_USAGE_OLD);
/* program.c */
int aiflame_call(uint32_t what, const char *name);
enum { RANGE_BEGIN = 1, RANGE_END = 2 };

/* Times that functions are looked for: events are reported before PyTorch is loaded whole, too. */
#define TRIES 64

/* Ranges that the thread is in. One may be ended by another thread than began it, or below one that goes on. */
enum { OPEN = 16 };
static __thread const void *open_ranges[OPEN] __attribute__((tls_model("initial-exec")));
static __thread uint32_t open_len __attribute__((tls_model("initial-exec")));

/* Ranges that another thread has ended, as those of asynchronous operations: the thread that began one ends it at its next
 * begin or end. Numbers of places go round. */
enum { ELSEWHERE = 16 };
static _Atomic(const void *) ended_elsewhere[ELSEWHERE];
static _Atomic uint32_t elsewhere_next, elsewhere_len;

static _Atomic(aif_torch_name *) range_name;

static bool is_left_out(void)
{
	return aif_agent.session.options & AIF_OPTION_NO_PYTHON;
}

/* Ends those at the top that have ended: one below another ends with it. */
static void close_ended(void)
{
	while (open_len && !open_ranges[open_len - 1]) {
		open_len--;
		(void)aiflame_call(RANGE_END, NULL);
	}
}

static void note_elsewhere(const void *range)
{
	uint32_t at = atomic_fetch_add(&elsewhere_next, 1) % ELSEWHERE;

	if (!atomic_exchange(&ended_elsewhere[at], range))
		atomic_fetch_add(&elsewhere_len, 1);
}

/* Ends those of this thread that others have ended. */
static void end_elsewhere(void)
{
	for (uint32_t i = 0; i < open_len; i++) {
		for (uint32_t k = 0; k < ELSEWHERE && open_ranges[i]; k++) {
			const void *range = open_ranges[i];

			if (!atomic_compare_exchange_strong(&ended_elsewhere[k], &range, NULL))
				continue;
			atomic_fetch_sub(&elsewhere_len, 1);
			open_ranges[i] = NULL;
		}
	}
	close_ended();
}

static void **start(void **ret_state, const void *range)
{
	aif_torch_name *name = atomic_load_explicit(&range_name, memory_order_relaxed);
	int saved = errno;
	const char *text;

	*ret_state = NULL;
	if (open_len && atomic_load_explicit(&elsewhere_len, memory_order_relaxed))
		end_elsewhere();
	if (open_len == OPEN || is_left_out())
		return ret_state;
	text = name(range);
	open_ranges[open_len++] = range;
	(void)aiflame_call(RANGE_BEGIN, text ? text : "");
	errno = saved;
	return ret_state;
}

static void end(const void *range, void *state)
{
	int saved = errno;
	uint32_t i = open_len;

	(void)state;
	while (i > 0 && open_ranges[i - 1] != range)
		i--;
	if (i == 0) {
		note_elsewhere(range);
	} else {
		open_ranges[i - 1] = NULL;
		close_ended();
	}
	errno = saved;
}

static void observe(void)
{
	static _Atomic uint32_t tries;
	static atomic_flag is_done = ATOMIC_FLAG_INIT;
	aif_torch_name *name;

	if (!aif_agent.env.carrier || atomic_load(&range_name) ||
	    atomic_fetch_add(&tries, 1) >= TRIES)
		return;
	name = aif_torch_name_function();
	if (!name || atomic_flag_test_and_set(&is_done))
		return;
	atomic_store(&range_name, name);
	(void)aif_torch_observe(AIF_TORCH_RANGE, start, end);
}

static bool forward(log_usage *real, const void *event)
{
	int saved = errno;

	observe();
	errno = saved;
	return real ? real(event) : true;
}

bool aif_torch_log_usage(const void *event)
{
	return forward((log_usage *)aif_next_function(LOG_USAGE), event);
}

bool aif_torch_log_usage_old(const void *event)
{
	return forward((log_usage *)aif_next_function(LOG_USAGE_OLD), event);
}

#endif
