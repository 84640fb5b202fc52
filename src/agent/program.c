/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "agent/emit.h"
#include "agent/sandbox.h"

#include <errno.h>
#include <string.h>

/* include/aiflame.h: what programs call, as a weak function. */
AIF_PUBLIC int aiflame_call(uint32_t what, const char *name);
enum {
	RANGE_BEGIN = 1,
	RANGE_END = 2,
	STEP = 3,
	STEPS_END = 4,
	START = 5,
	PAUSE = 6,
	RECORDING = 7,
	JOIN = 8,
};
#define CONTROL_TIMEOUT_MS 1000

/* Depth of the program's ranges that the thread is in, also where nobody records: a recorder that comes meanwhile must
 * not take the end of an old one for that of a new one. */
static __thread uint32_t depth __attribute__((tls_model("initial-exec")));

static void mark(enum aif_wire_mark_kind kind, uint64_t number, const char *name)
{
	struct aif_thread *t;
	int saved = errno;

	if (aif_thread_asleep())
		return;
	t = aif_thread_enter();
	if (t) {
		aif_emit_mark(t, kind, depth, number, name ? name : "");
		aif_thread_leave(t);
	}
	errno = saved;
}

static int control(enum aif_control what)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_CONTROL,
				  .control = what};
	struct aif_call call;
	int saved = errno, fd, r;

	if (!s->armed || !atomic_load(&s->attached) || !aif_call_get(&s->met, &call))
		return -ESRCH;
	memcpy(hello.token, call.token, sizeof(hello.token));
	r = aif_hello_send(call.path, &hello, CONTROL_TIMEOUT_MS, &fd);
	errno = saved;
	return r;
}

/* A program that marks its ranges from the start and uses no device would be recorded some ms later, when the thread that
 * meets the recorder has done so (children.h): it meets it here, as with the start of a runtime. Once. */
static void meet_recorder(void)
{
	if (aif_agent.env.at_once && aif_agent.env.carrier &&
	    !atomic_load_explicit(&aif_agent.session.started, memory_order_acquire) &&
	    !aif_sandbox_may_be_on())
		(void)aif_agent_start_without_device();
}

/* A program that uses no device is to be recordable: on standby in the directory that the environment names, or, where the
 * program has loaded this library itself, in `standby`. */
static int join(const char *standby)
{
	struct aif_injected about = {.magic = AIF_STANDBY_MAGIC,
				     .wire_version = AIF_WIRE_VERSION,
				     .level = AIF_LEVEL_GRAPHS};
	const struct aif_environment *env = &aif_agent.env;
	const struct aif_armed *armed =
		atomic_load_explicit(&aif_agent.session.armed, memory_order_acquire);

	if (aif_sandbox_may_be_on())
		return -EPERM;
	if (env->carrier && *env->socket)
		return 0;
	/* A forked child has its parent's start, and has met nobody. */
	if (env->carrier && atomic_load(&aif_agent.session.started) &&
	    (!armed || atomic_load_explicit(&armed->generation, memory_order_acquire)))
		return 0;
	if (env->carrier)
		return aif_agent_start_without_device();
	if (!standby || *standby != '/' || strlen(standby) >= sizeof(about.standby))
		return -EINVAL;
	strcpy(about.standby, standby);
	return aif_agent_injected(&about);
}

int aiflame_call(uint32_t what, const char *name)
{
	struct aif_armed *armed =
		atomic_load_explicit(&aif_agent.session.armed, memory_order_acquire);
	int saved = errno, r;

	switch (what) {
	case RANGE_BEGIN:
		meet_recorder();
		errno = saved;
		mark(AIF_MARK_BEGIN, 0, name);
		depth++;
		return 0;
	case RANGE_END:
		depth -= depth > 0;
		mark(AIF_MARK_END, 0, NULL);
		return 0;
	case STEP:
		meet_recorder();
		/* A child's are counted anew. */
		if (armed && !atomic_load_explicit(&armed->generation, memory_order_acquire))
			(void)aif_session_rearm(0);
		errno = saved;
		mark(AIF_MARK_STEP,
		     atomic_fetch_add(&aif_agent.steps_begun, 1) - aif_agent.session.steps_base,
		     NULL);
		return 0;
	case STEPS_END:
		mark(AIF_MARK_STEPS_END, 0, NULL);
		return 0;
	case START:
		return control(AIF_CONTROL_RUN);
	case PAUSE:
		return control(AIF_CONTROL_HOLD);
	case RECORDING:
		return armed ? (int)atomic_load_explicit(&armed->on, memory_order_acquire)
			     : -EAGAIN; /* no runtime has started yet */
	case JOIN:
		r = join(name);
		errno = saved;
		return r;
	default:
		return -ENOSYS;
	}
}
