/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <signal.h>
#include <ucontext.h>

/* Launches from stacks that are not the thread's own: 10 from main, 20 from a fiber (makecontext), 30 from a handler on
 * its own stack, 40 from such a handler that has interrupted a fiber; on x86-64 only, 50 from a fiber whose stack nobody
 * describes, 60 by a tail call in a fiber, and 70 by a tail call in a handler: other_stacks.sh. */

#define ENDED    __asm__ volatile("") /* behind a call: no tail call */
#define NOINLINE __attribute__((noinline))
#define ITEMS    64
#define SIZE     (UINT64_C(1) << 18)

static struct target t;
static cl_kernel kernel;

NOINLINE __attribute__((used)) static void launches(int n)
{
	for (int i = 0; i < n; i++)
		target_launch(t.queue, kernel, ITEMS);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

/* ---- a fiber ---- */

static ucontext_t main_context, fiber_context;

NOINLINE static void fiber_step(int n)
{
	launches(n);
	ENDED;
}

static void fiber_launches(void)
{
	fiber_step(20);
	ENDED;
}

static void fiber_raises(void)
{
	CHECK(!raise(SIGUSR2));
	ENDED;
}

NOINLINE static void in_fiber(void (*does)(void))
{
	CHECK(!getcontext(&fiber_context));
	fiber_context.uc_stack.ss_sp = malloc(SIZE);
	fiber_context.uc_stack.ss_size = SIZE;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, does, 0);
	CHECK(!swapcontext(&main_context, &fiber_context));
	free(fiber_context.uc_stack.ss_sp);
}

/* ---- handlers ---- */

NOINLINE static void from_handler(int number)
{
	launches(number == SIGUSR1 ? 30 : 40);
	ENDED;
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction a = {.sa_flags = SA_ONSTACK};

	a.sa_handler = handler;
	CHECK(!sigaction(number, &a, NULL));
}

NOINLINE static void raises(void)
{
	CHECK(!raise(SIGUSR1));
	ENDED;
}

/* ---- a stack that nobody describes ---- */

#if defined(__x86_64__)
void on_stack(void *stack, void (*does)(void));
__asm__(".text\n.globl on_stack\n.type on_stack, @function\n"
	"on_stack:\n\tpush %rbx\n\tmov %rsp, %rbx\n\tmov %rdi, %rsp\n\tcall *%rsi\n\tmov %rbx, %rsp\n\tpop %rbx\n\tret\n"
	".size on_stack, . - on_stack");

static void task(void)
{
	launches(50);
	ENDED;
}

/* Tail calls, as gcc -O2 makes them: a jump, which leaves no frame of who jumps. */
void tails(void);
void handler_tails(int number);
__asm__(".text\n.globl tails, handler_tails\n.type tails, @function\n.type handler_tails, @function\n"
	"tails:\n\t.cfi_startproc\n\tmov $60, %edi\n\tjmp launches\n\t.cfi_endproc\n.size tails, . - tails\n"
	"handler_tails:\n\t.cfi_startproc\n\tmov $70, %edi\n\tjmp launches\n\t.cfi_endproc\n"
	".size handler_tails, . - handler_tails");

static void fiber_tails(void)
{
	tails();
	ENDED;
}
#endif

int main(void)
{
	stack_t own = {.ss_sp = malloc(SIZE), .ss_size = SIZE};

	target_open(&t);
	kernel = target_kernel(&t, "add_one", target_buffer(&t, ITEMS), 1);
	launches(10);
	in_fiber(fiber_launches);
	CHECK(!sigaltstack(&own, NULL));
	handle(SIGUSR1, from_handler);
	handle(SIGUSR2, from_handler);
	raises();
	in_fiber(fiber_raises);
#if defined(__x86_64__)
	char *stack = malloc(SIZE);

	on_stack(stack + SIZE - 64, task);
	free(stack);
	in_fiber(fiber_tails);
	handle(SIGUSR1, handler_tails);
	raises();
#endif
	return 0;
}
