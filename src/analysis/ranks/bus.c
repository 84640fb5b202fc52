/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/bus.h"

#include <string.h>

double aif_rank_bus_bytes(const struct aif_profile *p, const struct aif_collective *c)
{
	/* Tries the words in an operation's name in turn, the longer ones first: PyTorch has "_allgather_base", "reduce_scatter_tensor". */
	static const struct {
		const char *word;
		/* Bytes by what a rank gives: times (all + part * (n - 1) + share * (n - 1) / n). */
		double all, part, share;
	} operations[] = {
		{"allreduce", 0, 0, 2},  {"all_reduce", 0, 0, 2},    {"allgather", 0, 1, 0},
		{"all_gather", 0, 1, 0}, {"reducescatter", 0, 0, 1}, {"reduce_scatter", 0, 0, 1},
		{"alltoall", 0, 0, 1},   {"all_to_all", 0, 0, 1},    {"broadcast", 1, 0, 0},
		{"reduce", 1, 0, 0},
	};
	const char *name = c->operation == AIF_NONE ? "" : aif_profile_str(p, c->operation);
	double n = c->ranks;

	for (size_t i = 0; i < AIF_ARRAY_LEN(operations) && c->ranks > 1; i++)
		if (strcasestr(name, operations[i].word))
			return (double)c->bytes *
			       (operations[i].all + operations[i].part * (n - 1) +
				operations[i].share * (n - 1) / n);
	return 0;
}
