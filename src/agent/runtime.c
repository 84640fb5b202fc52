/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtime.h"

#include "agent/agent.h"

static const struct {
	const struct aif_runtime *runtime;
	const char *name;
} all[] = {
#define AIF_RUNTIME(id, option, name) {&aif_runtime_##id, name},
#include "agent/runtimes.def"
#undef AIF_RUNTIME
};
static_assert(AIF_RUNTIMES <= 32, "bits of aif_session.runtimes");

const char *aif_runtime_name(enum aif_runtime_id id)
{
	return all[id].name;
}

static bool has_started(unsigned i)
{
	return aif_agent.session.runtimes & 1u << i;
}

const char *aif_runtimes_first(void)
{
	for (unsigned i = 0; i < AIF_RUNTIMES; i++)
		if (has_started(i))
			return all[i].name;
	return "";
}

uint64_t aif_runtimes_bound_ns(void)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < AIF_RUNTIMES; i++)
		if (has_started(i))
			ns = AIF_MAX(ns, all[i].runtime->bound_ns);
	return ns;
}

void aif_runtimes_start_late(void)
{
	for (unsigned i = 0; i < AIF_RUNTIMES; i++)
		if (all[i].runtime->start_late && !atomic_load(&aif_agent.runtime[i].state))
			all[i].runtime->start_late();
}

#define CALL_EACH(function, ...)                                \
	for (unsigned i = 0; i < AIF_RUNTIMES; i++)             \
		if (has_started(i) && all[i].runtime->function) \
	all[i].runtime->function(__VA_ARGS__)

void aif_runtimes_enable(bool on)
{
	CALL_EACH(enable, on);
}

void aif_runtimes_tick(uint64_t now)
{
	CALL_EACH(tick, now);
}

void aif_runtimes_detach(void)
{
	CALL_EACH(detach);
}

uint64_t aif_runtimes_poll(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < AIF_RUNTIMES; i++) {
		uint64_t at = has_started(i) && all[i].runtime->poll ? all[i].runtime->poll(now)
								     : UINT64_MAX;

		next = AIF_MIN(next, at);
	}
	return next;
}

void aif_runtimes_before_exit(void)
{
	CALL_EACH(before_exit);
}

void aif_runtimes_at_exit(void)
{
	CALL_EACH(at_exit);
}

void aif_runtimes_after_fork(void)
{
	CALL_EACH(after_fork);
}
