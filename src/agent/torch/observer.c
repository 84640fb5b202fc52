/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/torch/observer.h"

#include "agent/next_function.h"

/* at::addGlobalCallback(at::RecordFunctionCallback), at::removeCallback(uint64_t), at::RecordFunction::name() const */
#define ADD    "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
#define REMOVE "_ZN2at14removeCallbackEm"
#define NAME   "_ZNK2at14RecordFunction4nameEv"
/* at::getStepCallbacksUnlessEmpty(at::RecordScope): there since 1.13, when observers got their form of today. */
#define SINCE_1_13 "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE"

/* at::RecordFunctionCallback. Behind `scopes`, a bool for each scope, stand what the observer needs to be given: nothing.
 * The scopes are 10, so what is behind is false however many there are. */
struct callback {
	aif_torch_start *start;
	aif_torch_end *end;
	double sampling_prob;
	bool scopes[40];
};
typedef uint64_t add_callback(struct callback c);
typedef void remove_callback(uint64_t handle);

aif_torch_name *aif_torch_name_function(void)
{
	return aif_next_function(SINCE_1_13) ? (aif_torch_name *)aif_next_function(NAME) : NULL;
}

uint64_t aif_torch_observe(enum aif_torch_scope scope, aif_torch_start *start, aif_torch_end *end)
{
	add_callback *add = (add_callback *)aif_next_function(ADD);
	struct callback c = {.start = start, .end = end, .sampling_prob = 1};

	if (!add)
		return 0;
	c.scopes[scope] = true;
	return add(c);
}

void aif_torch_unobserve(uint64_t handle)
{
	remove_callback *remove = (remove_callback *)aif_next_function(REMOVE);

	if (handle && remove)
		remove(handle);
}
