/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/python_read.h"

/* Shared by the files of the Python walker. */

/* Numbers of code objects below this one say something else. */
#define AIF_PYTHON_ID_SKIP  1u /* not shown */
#define AIF_PYTHON_ID_FIRST 2u

/* Bytecode is far shorter. */
#define AIF_PYTHON_LASTI_MAX (1 << 30)

/* This thread's state, or 0: it has none, or the interpreter is going away. */
uint64_t aif_python_thread(const struct aif_python *py, struct aif_python_reader *r);

/* The frames of `thread`, read by *r, without their places on the stack. */
void aif_python_walk_thread(const struct aif_python *py, struct aif_python_reader *r,
			    uint64_t thread, struct aif_python_frame *frames, unsigned max,
			    struct aif_python_stack *ret);

/* The start-up check, by this thread's stack. True: passed. False: not, or this stack says nothing. */
bool aif_python_check(struct aif_python *py);

static inline bool aif_python_checked(struct aif_python *py)
{
	enum aif_python_state state = aif_python_state(py);

	return aif_likely(state == AIF_PYTHON_ON) ||
	       (state == AIF_PYTHON_CHECKING && aif_python_check(py));
}

/* Is there a code object at `code`, all of whose fields are what the layout says? With a probing
 * reader. */
bool aif_python_code_valid(const struct aif_python *py, struct aif_python_reader *r, uint64_t code,
			   int32_t lasti);

/* The watch over the deaths of code objects. One process has one. start: 0 or -EINVAL
 * (PyCode_Type is not as expected); again after stop, or twice, is fine. */
int aif_python_death_start(struct aif_python *py);
void aif_python_death_stop(struct aif_python *py);

/* Turns off for good: from `from` to OFF. */
static inline void aif_python_turn_off(struct aif_python *py, enum aif_python_state from,
				       enum aif_reason reason)
{
	uint32_t expected = from;

	atomic_store(&py->reason, reason);
	if (atomic_compare_exchange_strong(&py->state, &expected, AIF_PYTHON_OFF) &&
	    from != AIF_PYTHON_ABSENT)
		aif_python_death_stop(py);
}
