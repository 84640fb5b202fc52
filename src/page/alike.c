/* SPDX-License-Identifier: Apache-2.0 */
#include "page/alike.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4, PARTS = AIF_PAGE_ALIKE_PARTS, FEATURES = KINDS * (PARTS + 1) };
/* Factor by which a greater difference is tried where there would be too many groups. */
#define MORE 1.3
/* The most that is written of whose a group's devices are. */
#define SAY_BYTES 120

/* Says in which part of a time a device did what, of that in which it was collected. */
static void shares_of(const struct aif_device_utilization *d, int64_t from, int64_t to, double *ret)
{
	struct aif_utilization_parts x = {0};
	double all;

	from = AIF_MAX(from, d->from);
	to = AIF_MIN(to, d->to);
	if (from < to)
		x = aif_utilization_parts(d, from, to);
	all = (double)(x.compute + x.communication_alone + x.memory_alone + x.idle);
	ret[0] = all > 0 ? (double)x.compute / all : 0;
	ret[1] = all > 0 ? (double)x.communication_alone / all : 0;
	ret[2] = all > 0 ? (double)x.memory_alone / all : 0;
	ret[3] = all > 0 ? (double)x.idle / all : 0;
}

static double difference(const double *a, const double *b)
{
	double most = 0;

	for (unsigned i = 0; i < FEATURES; i++)
		most = fmax(most, fabs(a[i] - b[i]));
	return most;
}

/* Gives each device the first one that is drawn and differs from it by no more than `within`; one without is drawn itself. Returns how many
 * are drawn, or more than AIF_PAGE_ALIKE_MAX. */
static size_t group(const double (*shares)[FEATURES], double within, struct aif_page_alike *ret)
{
	size_t drawn[AIF_PAGE_ALIKE_MAX], n = 0;

	for (size_t i = 0; i < ret->len; i++) {
		size_t k = 0;

		while (k < n && difference(shares[drawn[k]], shares[i]) > within)
			k++;
		if (k == n && n == AIF_PAGE_ALIKE_MAX)
			return n + 1;
		if (k == n)
			drawn[n++] = i;
		ret->as[i] = (uint32_t)drawn[k];
	}
	return n;
}

int aif_page_alike_make(const struct aif_utilization *u, struct aif_page_alike *ret)
{
	int64_t from = INT64_MAX, to = INT64_MIN;
	double(*shares)[FEATURES];

	*ret = (struct aif_page_alike){.len = u->len, .drawn = u->len};
	if (u->len <= AIF_PAGE_ALIKE_MAX)
		return 0;
	shares = calloc(u->len, sizeof(*shares));
	ret->as = calloc(u->len, sizeof(*ret->as));
	if (!shares || !ret->as) {
		free(shares);
		return -ENOMEM;
	}
	for (size_t i = 0; i < u->len; i++) {
		from = AIF_MIN(from, u->devices[i].from);
		to = AIF_MAX(to, u->devices[i].to);
	}
	for (size_t i = 0; i < u->len; i++) {
		double part = ((double)to - (double)from) / PARTS;

		shares_of(&u->devices[i], from, to, shares[i]);
		for (unsigned k = 0; k < PARTS; k++)
			shares_of(&u->devices[i], from + (int64_t)(k * part),
				  from + (int64_t)((k + 1) * part), &shares[i][KINDS * (k + 1)]);
	}
	ret->within = AIF_PAGE_ALIKE_LEAST;
	while ((ret->drawn = group(shares, ret->within, ret)) > AIF_PAGE_ALIKE_MAX)
		ret->within *= MORE;
	free(shares);
	return 0;
}

void aif_page_alike_finish(struct aif_page_alike *a)
{
	free(a->as);
	*a = (struct aif_page_alike){.as = NULL};
}

void aif_page_processes_drawn(const struct aif_page_alike *a, const struct aif_utilization *u,
			      bool *ret, size_t n)
{
	memset(ret, true, n * sizeof(*ret));
	for (size_t i = 0; a->as && i < u->len; i++)
		if (u->devices[i].process < n)
			ret[u->devices[i].process] = false;
	for (size_t i = 0; a->as && i < u->len; i++)
		if (u->devices[i].process < n && a->as[i] == i)
			ret[u->devices[i].process] = true;
}

size_t aif_page_alike_many(const struct aif_page_alike *a, size_t device)
{
	size_t n = 0;

	for (size_t i = 0; a->as && i < a->len; i++)
		n += a->as[i] == device;
	return a->as ? n : 1;
}

void aif_page_alike_say(const struct aif_page_alike *a, const struct aif_profile *p,
			const struct aif_utilization *u, size_t device, struct aif_buf *out)
{
	uint32_t *numbers = malloc((u->len + 1) * sizeof(*numbers));
	size_t n = 0, from = out->len;

	for (size_t i = 0; numbers && i < u->len; i++) {
		uint32_t process = u->devices[i].process;

		if (process != AIF_NONE && (a->as ? a->as[i] : i) == device)
			numbers[n++] = p->processes[process].rank ? p->processes[process].rank - 1
								  : p->processes[process].pid;
	}
	if (n)
		qsort(numbers, n, sizeof(*numbers), aif_by_u32);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && numbers[k] - numbers[k - 1] <= 1; k++)
			;
		if (out->len - from > SAY_BYTES) {
			aif_buf_puts(out, ", \xe2\x80\xa6");
			break;
		}
		aif_buf_printf(out, "%s%u", i ? ", " : "", numbers[i]);
		if (numbers[k - 1] != numbers[i])
			aif_buf_printf(out, "-%u", numbers[k - 1]);
	}
	free(numbers);
}
