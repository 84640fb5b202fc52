/* SPDX-License-Identifier: Apache-2.0 */
/* Begin and end of calls that hold a thread up: which are written, which only counted; nested ones and ones that were left. */
#include "agent/calls/host_call.h"

#include "agent/capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

static struct {
	struct aif_armed armed;
	struct aif_slot slot;
	struct aif_thread thread;
	unsigned written, captured;
	const char *name;
	uint64_t since, time;
	uint32_t stack;
	struct aif_host_call_joint joint;
} it;

struct aif_thread *aif_thread_enter_slow(void)
{
	return NULL;
}

bool aif_emit_mark_at(struct aif_thread *t, enum aif_wire_mark_kind kind, uint32_t depth,
		      uint64_t number, uint64_t time, const char *name)
{
	assert_ptr_equal(t, &it.thread);
	assert_int_equal(kind, AIF_MARK_CALL);
	it.written++;
	it.stack = depth;
	it.since = number;
	it.time = time;
	it.name = name;
	return true;
}

bool aif_emit_mark_text(struct aif_thread *t, const struct aif_emit_mark *m)
{
	const char *joint = memchr(m->text, '\0', m->text_len);

	assert_int_equal(m->kind, AIF_MARK_JOINT_CALL);
	assert_non_null(joint);
	assert_int_equal(m->text + m->text_len - joint - 1, sizeof(it.joint));
	memcpy(&it.joint, joint + 1, sizeof(it.joint));
	return aif_emit_mark_at(t, AIF_MARK_CALL, m->depth, m->number, m->time,
				aif_host_call_name(AIF_CALL_MPI_Barrier));
}

uint32_t aif_capture(struct aif_thread *t, const struct aif_regs *regs,
		     const struct aif_emit_api *api)
{
	(void)t, (void)regs, (void)api;
	errno = EIO;
	return 7 + it.captured++;
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	memset(&aif_agent, 0, sizeof(aif_agent));
	it.armed = (struct aif_armed){.on = 1, .recorder_alive = 1, .generation = 1};
	it.thread.generation = 1;
	it.thread.slot = &it.slot;
	aif_agent.session.armed = &it.armed;
	aif_agent.session.options = AIF_OPTION_CALLS;
	aif_budget_init(&aif_agent.budget, 0, 1, 1, aif_now_ns());
	aif_self = &it.thread;
	return 0;
}

static uint32_t begin(enum aif_host_call_id id, uint64_t sp)
{
	struct aif_regs regs = {.sp = sp};

	return aif_host_call_begin(id, AIF_OPTION_CALLS, AIF_HOST_CALL_SHORT_NS, &regs, NULL);
}

/* Ends a call as if it had begun so many ns earlier. */
static void end(uint32_t token, uint64_t ns)
{
	struct aif_regs regs = {0};
	struct aif_open_calls *o = &it.thread.calls;

	for (uint32_t i = 0; i < o->len; i++)
		if (o->at[i].token == token)
			o->at[i].since = aif_now_ns() - ns;
	aif_host_call_end(token, &regs, NULL);
}

static void a_call_is_written_when_it_returns(void **state)
{
	uint32_t token;

	(void)state;
	errno = 0;
	token = begin(AIF_CALL_clFinish, 1000);
	assert_int_equal(errno, 0);
	assert_true(token);
	assert_int_equal(it.captured, 1);
	assert_true(it.slot.call_since);
	assert_int_equal(it.slot.call_id, AIF_CALL_clFinish);
	assert_int_equal(it.slot.call_stack, 7);
	assert_int_equal(it.written, 0);
	end(token, 50000);
	assert_int_equal(it.written, 1);
	assert_string_equal(it.name, "clFinish");
	assert_int_equal(it.stack, 7);
	assert_true(it.time - it.since >= 50000);
	assert_false(it.slot.call_since);
	assert_int_equal(aif_agent.budget.last[1].more_ns, AIF_HOST_CALL_WRITE_MOST_NS);
	end(token, 50000); /* it is over */
	assert_int_equal(it.written, 1);
	assert_int_equal(aif_thread_busy(&it.thread), AIF_BUSY_NOT);
}

static void stacks_of_allocations_are_captured_at_the_end(void **state)
{
	uint32_t token = begin(AIF_CALL_clReleaseMemObject, 1000);

	(void)state;
	assert_int_equal(it.captured, 0);
	assert_int_equal(it.slot.call_stack, AIF_WIRE_NONE);
	end(token, 50000);
	assert_int_equal(it.captured, 1);
	assert_int_equal(it.stack, 7);
	/* The shortest are not captured at all. */
	aif_host_call_end(begin(AIF_CALL_clReleaseMemObject, 1000), &(struct aif_regs){0}, NULL);
	assert_int_equal(it.captured, it.written);
	assert_int_equal(it.written + it.slot.short_calls, 2);
}

static void a_thread_that_polls_is_captured_at_the_end(void **state)
{
	uint32_t token;

	(void)state;
	it.thread.calls.shorts = AIF_HOST_CALL_POLLS;
	token = begin(AIF_CALL_clFinish, 1000);
	assert_int_equal(it.captured, 0);
	end(token, 50000);
	assert_int_equal(it.captured, 1);
	assert_int_equal(it.stack, 7);
	assert_int_equal(it.thread.calls.shorts, 0);
	end(begin(AIF_CALL_clFinish, 1000), 50000);
	assert_int_equal(it.stack, 8);
}

static void calls_below_the_threshold_are_counted(void **state)
{
	uint64_t counted;

	(void)state;
	for (unsigned i = 0; i < AIF_HOST_CALL_BRIEF_MANY + 1000; i++) {
		/* Brief and many: from some on they are counted, too. */
		it.thread.calls.brief_since = aif_now_ns();
		end(begin(AIF_CALL_clFinish, 1000), AIF_HOST_CALL_SHORT_NS + 1000);
	}
	counted = it.slot.short_calls;
	assert_int_equal(it.written + counted, AIF_HOST_CALL_BRIEF_MANY + 1000);
	/* Some may have lost their CPU for so long that they are written. */
	assert_true(counted >= 100);
	assert_true(it.slot.short_calls_ns >= counted * (AIF_HOST_CALL_SHORT_NS + 1000));
	/* Not those that are long. */
	end(begin(AIF_CALL_clFinish, 1000), AIF_HOST_CALL_BRIEF_NS);
	assert_int_equal(it.slot.short_calls, counted);
	/* In the next window they are written again. */
	it.thread.calls.brief_since = aif_now_ns() - 2 * AIF_HOST_CALL_BRIEF_WINDOW_NS;
	for (unsigned i = 0; i < 1000 && it.thread.calls.brief > 1000; i++)
		end(begin(AIF_CALL_clFinish, 1000), AIF_HOST_CALL_SHORT_NS + 1000);
	assert_true(it.thread.calls.brief <= 1000);
	assert_int_equal(aif_agent.budget.last[1].more_ns,
			 AIF_HOST_CALL_WRITE_MOST_NS * it.written);
}

static uint32_t begin_long(uint64_t sp)
{
	struct aif_regs regs = {.sp = sp};

	return aif_host_call_begin(AIF_CALL_cuStreamSynchronize, AIF_OPTION_CALLS,
				   AIF_HOST_CALL_LONG_NS, &regs, NULL);
}

static void of_some_only_long_ones_are_written(void **state)
{
	(void)state;
	end(begin_long(1000), AIF_HOST_CALL_LONG_NS);
	assert_int_equal(it.written, 1);
	/* Some of a hundred calls may have lost their CPU. */
	for (unsigned i = 0; i < 100; i++)
		end(begin_long(1000), AIF_HOST_CALL_SHORT_NS);
	assert_int_equal(it.written + it.slot.short_calls, 101);
	assert_true(it.slot.short_calls > 50);
}

static void nested_calls_are_written(void **state)
{
	uint32_t outer = begin(AIF_CALL_clBuildProgram, 1000), inner;

	(void)state;
	inner = begin(AIF_CALL_clFinish, 900);
	assert_true(inner && inner != outer);
	assert_int_equal(it.slot.call_id, AIF_CALL_clBuildProgram);
	end(inner, 20000);
	assert_string_equal(it.name, "clFinish");
	assert_true(it.slot.call_since);
	end(outer, 50000);
	assert_string_equal(it.name, "clBuildProgram");
	assert_int_equal(it.written, 2);
	for (uint64_t sp = 1000; sp > 1000 - AIF_OPEN_CALLS; sp--)
		assert_true(begin(AIF_CALL_clFinish, sp));
	assert_false(begin(AIF_CALL_clFinish, 10));
	assert_int_equal(it.slot.left_calls, 0);
}

static void a_call_that_was_left_is_not_written(void **state)
{
	uint32_t left = begin(AIF_CALL_clFinish, 900), token;

	(void)state;
	begin(AIF_CALL_clFinish, 800);
	/* Further out: neither of them has a frame any more. */
	token = begin(AIF_CALL_clWaitForEvents, 1000);
	assert_int_equal(it.slot.left_calls, 2);
	assert_int_equal(it.slot.call_id, AIF_CALL_clWaitForEvents);
	end(left, 50000);
	assert_int_equal(it.written, 0);
	end(token, 50000);
	assert_int_equal(it.written, 1);
	assert_string_equal(it.name, "clWaitForEvents");
	/* An outer one returns: what was inside has been left. */
	token = begin(AIF_CALL_clBuildProgram, 1000);
	begin(AIF_CALL_clFinish, 900);
	end(token, 50000);
	assert_int_equal(it.slot.left_calls, 3);
	assert_int_equal(it.written, 2);
	assert_false(it.slot.call_since);
}

static void where_nobody_asks_nothing_is_done(void **state)
{
	(void)state;
	aif_agent.session.options = 0;
	assert_false(begin(AIF_CALL_clFinish, 1000));
	aif_agent.session.options = AIF_OPTION_CHILDREN;
	assert_false(begin(AIF_CALL_clFinish, 1000));
	aif_agent.session.options = AIF_OPTION_CALLS;
	it.armed.on = 0;
	assert_false(begin(AIF_CALL_clFinish, 1000));
	it.armed.on = 1;
	aif_thread_set_busy(&it.thread, AIF_BUSY_VENDOR); /* within an entry */
	assert_false(begin(AIF_CALL_clFinish, 1000));
	assert_int_equal(it.captured, 0);
	assert_false(it.slot.call_since);
}

static void a_call_of_ranks_has_its_number(void **state)
{
	struct aif_host_call_joint joint = {.communicator = 0xc0ffee, .number = 7};
	struct aif_regs regs = {.sp = 1000};
	uint32_t token;

	(void)state;
	token = aif_host_call_begin(AIF_CALL_MPI_Barrier, AIF_OPTION_CALLS, 0, &regs, NULL);
	aif_host_call_end_joint(token, &joint, 1, &regs, NULL);
	assert_int_equal(it.written, 1);
	assert_string_equal(it.name, "MPI_Barrier");
	assert_int_equal(it.joint.communicator, 0xc0ffee);
	assert_int_equal(it.joint.number, 7);
	/* Numbers that are not known make it a call as any other. */
	memset(&it.joint, 0, sizeof(it.joint));
	joint.number = 0;
	token = aif_host_call_begin(AIF_CALL_MPI_Wait, AIF_OPTION_CALLS, 0, &regs, NULL);
	aif_host_call_end_joint(token, &joint, 1, &regs, NULL);
	assert_int_equal(it.written, 2);
	assert_string_equal(it.name, "MPI_Wait");
	assert_int_equal(it.joint.communicator, 0);
	/* Calls that were not recorded. */
	aif_host_call_end_joint(0, &joint, 1, &regs, NULL);
	assert_int_equal(it.written, 2);
}

static void kinds_go_by_names(void **state)
{
	enum aif_host_call_kind kind;

	(void)state;
	assert_true(aif_host_call_kind_of("clFinish", &kind));
	assert_int_equal(kind, AIF_HOST_CALL_SYNCHRONISE);
	assert_true(aif_host_call_kind_of("cudaMemcpy_v3020", &kind));
	assert_int_equal(kind, AIF_HOST_CALL_COPY);
	assert_true(aif_host_call_kind_of("cuMemAlloc_v2", &kind));
	assert_int_equal(kind, AIF_HOST_CALL_ALLOCATE);
	assert_true(aif_host_call_kind_of("cuStreamSynchronize_ptsz", &kind));
	assert_false(aif_host_call_kind_of("cudaMemcpyAsync", &kind));
	assert_false(aif_host_call_kind_of("cudaMem", &kind));
	assert_false(aif_host_call_kind_of("", &kind));
	assert_false(aif_host_call_kind_of("_v2", &kind));
	assert_true(aif_host_call_kind_of("MPI_Allreduce", &kind));
	assert_int_equal(kind, AIF_HOST_CALL_COMMUNICATE);
	assert_false(aif_host_call_kind_of("MPI", &kind));
	assert_false(aif_host_call_kind_of("MPI_Comm_rank", &kind));
	for (unsigned i = 0; i < AIF_HOST_CALLS; i++) {
		assert_true(aif_host_call_kind_of(aif_host_call_name(i), &kind));
		assert_int_equal(kind, aif_host_call_kind((enum aif_host_call_id)i));
	}
	assert_null(aif_host_call_name(AIF_HOST_CALLS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_call_is_written_when_it_returns, setup),
		cmocka_unit_test_setup(stacks_of_allocations_are_captured_at_the_end, setup),
		cmocka_unit_test_setup(a_thread_that_polls_is_captured_at_the_end, setup),
		cmocka_unit_test_setup(calls_below_the_threshold_are_counted, setup),
		cmocka_unit_test_setup(of_some_only_long_ones_are_written, setup),
		cmocka_unit_test_setup(nested_calls_are_written, setup),
		cmocka_unit_test_setup(a_call_that_was_left_is_not_written, setup),
		cmocka_unit_test_setup(where_nobody_asks_nothing_is_done, setup),
		cmocka_unit_test_setup(a_call_of_ranks_has_its_number, setup),
		cmocka_unit_test(kinds_go_by_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
