/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regularity of turns. Any of these makes them a loop:
 *
 * - a share of EXACT of the turns launches the same from the same places in the same order. Two sites at random have
 *   a quarter (A B), so that three standard errors of it are added: with few turns more must agree;
 * - of three tokens or more, runs of one taken for one launch, ALIKE of the turns have the same sequence, and the
 *   number of different sites varies little. Inner loops may have any number of turns;
 * - of two tokens, which can do nothing but alternate, the launches of one are the same in ALIKE of the turns, those of
 *   the other are from the same sites, and the length of turns varies less than it would at random: prefill and decode.
 */
#include "analysis/loop/internal.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>

#define EXACT 0.3
#define ALIKE 0.8
/* Standard deviation of the number of sites in a turn, over its mean. */
#define SITES_VARY 0.25
/* The same of launches. A geometric distribution, of random launches whose run is ended by a rarer one, has 0.7 to 1;
 * lengths of decodes between 10 and 60, evenly distributed, have 0.4. */
#define LAUNCHES_VARY 0.6
#define FEWEST_OF_TWO 10

enum { EXACTLY, RUNS, SITES, HEAD, TAIL, HASHES };

struct measures {
	uint32_t *hash[HASHES];    /* by turn */
	double sum[2], squares[2]; /* of launches, of sites */
	uint64_t few_runs;         /* turns that have less than three */
};

/* Returns the share of the most common; sorts. */
static double common_share(uint32_t *hash, size_t n)
{
	size_t most = 0, run = 0;

	qsort(hash, n, sizeof(*hash), aif_by_u32);
	for (size_t i = 0; i < n; i++) {
		run = i && hash[i] == hash[i - 1] ? run + 1 : 1;
		most = AIF_MAX(most, run);
	}
	return (double)most / (double)n;
}

static double variation(double sum, double squares, size_t n)
{
	double mean = sum / (double)n, variance = squares / (double)n - mean * mean;

	return variance > 0 ? sqrt(variance) / mean : 0;
}

/* `seen`, by site: the turn that had it last, counted from 1. */
static void measure(const struct aif_loop_set *s, const struct aif_loop_turn *turn, size_t n,
		    uint32_t *seen, struct measures *m)
{
	uint64_t exact = 0, part = 0, head = 0, runs = 0, sites = 0;
	size_t runs_len = 0, sites_len = 0, len = turn->next - turn->first;
	uint32_t last = AIF_NONE;

	for (uint32_t i = turn->first; i < turn->next; i++) {
		uint32_t site = s->calls->at[s->at[i]].site, token = s->token[site];

		if (token != last) {
			runs = aif_mix64(runs + token + 1);
			if (++runs_len == 2) {
				head = part;
				part = 0;
			}
			last = token;
		}
		exact = aif_mix64(exact + site + 1);
		part = aif_mix64(part + site + 1);
		if (seen[site] != n + 1) {
			seen[site] = (uint32_t)n + 1;
			sites += aif_mix64((uint64_t)site + 1);
			sites_len++;
		}
	}
	m->hash[EXACTLY][n] = (uint32_t)exact;
	m->hash[RUNS][n] = (uint32_t)runs;
	m->hash[SITES][n] = (uint32_t)aif_mix64(sites);
	m->hash[HEAD][n] = (uint32_t)head;
	m->hash[TAIL][n] = (uint32_t)part;
	m->sum[0] += (double)len;
	m->squares[0] += (double)len * (double)len;
	m->sum[1] += (double)sites_len;
	m->squares[1] += (double)sites_len * (double)sites_len;
	m->few_runs += runs_len < 3;
}

static bool resemble(struct measures *m, size_t n, size_t tokens)
{
	if (common_share(m->hash[EXACTLY], n) >= EXACT + 3 * sqrt(0.25 * 0.75 / (double)n))
		return true;
	if (tokens >= 3 && m->few_runs <= n / 5)
		return variation(m->sum[1], m->squares[1], n) <= SITES_VARY &&
		       common_share(m->hash[RUNS], n) >= ALIKE;
	return n >= FEWEST_OF_TWO && variation(m->sum[0], m->squares[0], n) <= LAUNCHES_VARY &&
	       common_share(m->hash[RUNS], n) >= ALIKE &&
	       common_share(m->hash[SITES], n) >= ALIKE &&
	       (common_share(m->hash[HEAD], n) >= ALIKE || common_share(m->hash[TAIL], n) >= ALIKE);
}

int aif_loop_is_regular(const struct aif_loop_set *s, const struct aif_loop_turn *turns, size_t len,
			size_t tokens, bool *ret)
{
	struct measures m = {0};
	uint32_t *hashes = calloc(AIF_MAX(len, 1), HASHES * sizeof(*hashes)),
		 *seen = calloc(s->calls->sites_len + 1, sizeof(*seen));

	if (!hashes || !seen) {
		free(hashes);
		free(seen);
		return -ENOMEM;
	}
	for (size_t i = 0; i < HASHES; i++)
		m.hash[i] = hashes + i * len;
	for (size_t i = 0; i < len; i++)
		measure(s, &turns[i], i, seen, &m);
	*ret = len && resemble(&m, len, tokens);
	free(hashes);
	free(seen);
	return 0;
}
