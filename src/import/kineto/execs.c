/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"
#include "import/kineto/kineto.h"

#include <errno.h>
#include <string.h>

/* A device's times may be a little off its host's; by more than this something else is wrong. */
#define LAG_MAX_NS INT64_C(1000000000)

const struct kineto_detail *kineto_exec_detail(const struct kineto *k, const struct kineto_exec *x)
{
	static const struct kineto_detail none;

	return x->detail ? &k->details[x->detail - 1] : &none;
}

/* ---- who has launched what ----------------------------------------------------------------------- */

static int chain(struct aif_map *m, uint64_t key, uint32_t exec, uint32_t *ret_next)
{
	uint64_t first;

	*ret_next = aif_map_get(m, key, &first) ? (uint32_t)first : AIF_NONE;
	return aif_map_put(m, key, exec);
}

static uint64_t key_of(const struct kineto *k, const struct kineto_exec *x)
{
	return kineto_owners_key(&k->owners, x->owner, x->correlation);
}

#define PLACES_OF_EXEC 8

/* Makes room for the numbers of the executions. 0 or -ENOMEM. */
static int numbers_init(struct kineto_numbers *n, const struct kineto *k)
{
	uint64_t least = UINT64_MAX, most = 0, execs = 0;

	for (size_t i = 0; i < k->execs_len; i++) {
		if (!k->execs[i].has_correlation)
			continue;
		least = AIF_MIN(least, key_of(k, &k->execs[i]));
		most = AIF_MAX(most, key_of(k, &k->execs[i]));
		execs++;
	}
	if (!execs || most - least >= execs * PLACES_OF_EXEC)
		return 0;
	n->least = least;
	n->len = (size_t)(most - least) + 1;
	n->at = malloc(n->len * sizeof(*n->at));
	if (!n->at)
		return -ENOMEM;
	memset(n->at, 0xff, n->len * sizeof(*n->at)); /* AIF_NONE */
	return 0;
}

bool kineto_numbers_get(const struct kineto_numbers *n, uint64_t number, uint64_t *ret_exec)
{
	uint64_t at = number - n->least;

	if (!n->at)
		return aif_map_get(&n->map, number, ret_exec);
	if (at >= n->len || n->at[at] == AIF_NONE)
		return false;
	*ret_exec = n->at[at];
	return true;
}

static int numbers_chain(struct kineto_numbers *n, uint64_t number, uint32_t exec,
			 uint32_t *ret_next)
{
	if (!n->at)
		return chain(&n->map, number, exec, ret_next);
	*ret_next = n->at[number - n->least];
	n->at[number - n->least] = exec;
	return 0;
}

void kineto_execs_by_finish(struct kineto_execs_by *by)
{
	free(by->correlation.at);
	aif_map_finish(&by->correlation.map);
	aif_map_finish(&by->external);
	*by = (struct kineto_execs_by){0};
}

uint64_t kineto_number_key(const struct kineto *k, uint32_t thread, uint64_t number)
{
	return kineto_owners_key(&k->owners, kineto_owners_of(&k->owners, thread), number);
}

int kineto_correlate(struct kineto *k)
{
	struct kineto_numbers *by = &k->execs_by.correlation;
	uint64_t first;
	int r = numbers_init(by, k);

	/* From the last on: each chain begins with its first. */
	for (size_t i = k->execs_len; !r && i-- > 0;)
		if (k->execs[i].has_correlation)
			r = numbers_chain(by, key_of(k, &k->execs[i]), (uint32_t)i,
					  &k->execs[i].next);
	for (size_t i = 0; !r && i < k->spans_len; i++) {
		const struct kineto_span *s = &k->spans[i];
		const struct kineto_call *c = s->class == KINETO_CALL ? &k->calls[s->ref] : NULL;

		if (c && c->has_correlation &&
		    kineto_numbers_get(by, kineto_number_key(k, s->thread, c->correlation), &first))
			k->execs[first].has_call = true;
	}
	/* Executions without a call, which was before the window, may still have their operator in
	 * it. */
	for (size_t i = k->execs_len; !r && i-- > 0;) {
		struct kineto_exec *x = &k->execs[i];

		if (x->has_external && x->external &&
		    !(x->has_correlation && kineto_numbers_get(by, key_of(k, x), &first) &&
		      k->execs[first].has_call))
			r = chain(&k->execs_by.external,
				  kineto_owners_key(&k->owners, x->owner, x->external), (uint32_t)i,
				  &x->next_external);
	}
	return r;
}

/* ---- rows of executions --------------------------------------------------------------------------- */

/* A device's clock that is behind its host's: AIU's are known to be. Moved by as much as it takes that nothing starts
 * before its launch call began. */
static int find_shifts(struct kineto *k)
{
	size_t d;

	for (size_t i = 0; i < k->execs_len; i++) {
		struct kineto_exec *x = &k->execs[i];
		int64_t device = k->machine.queues[x->queue].device, lag;

		if (!x->launch)
			continue;
		lag = (int64_t)k->b->launches[x->launch - 1].time - x->start;
		if (lag <= 0)
			continue;
		if (lag > LAG_MAX_NS) {
			x->launch = 0;
			k->counts.misjoined++;
			continue;
		}
		kineto_device(k, device); /* a launch may be of several */
		d = 0;
		while (d < k->machine.devices_len && k->machine.devices[d].number != device)
			d++;
		if (d == k->machine.devices_len) { /* one too many */
			x->launch = 0;
			k->counts.misjoined++;
			continue;
		}
		k->machine.devices[d].early++;
		k->machine.devices[d].shift = AIF_MAX(k->machine.devices[d].shift, lag);
	}
	for (d = 0; d < k->machine.devices_len; d++) {
		const struct kineto_device *dev = &k->machine.devices[d];
		struct aif_buf text = {0};

		if (!dev->shift)
			continue;
		aif_buf_puts(&text, aif_profile_str(&k->b->p, k->b->p.devices[dev->device].name));
		aif_buf_puts(&text, ": moved by ");
		aif_human_ns(&text, (uint64_t)dev->shift);
		aif_buf_puts(&text, "; ");
		aif_human_counted(&text, dev->early, "execution");
		aif_buf_puts(&text, dev->early == 1 ? " began before its launch"
						    : " began before their launches");
		aif_builder_loss(k->b, AIF_REASON_IMPORT_CLOCK, AIF_NONE,
				 aif_builder_puts(k->b, aif_buf_str(&text)), 1);
		aif_buf_finish(&text);
	}
	return 0;
}

static int64_t shift_of(const struct kineto *k, int64_t device)
{
	for (size_t d = 0; d < k->machine.devices_len; d++)
		if (k->machine.devices[d].number == device)
			return k->machine.devices[d].shift;
	return 0;
}

/* An AIU's fill allocates. */
static unsigned kind_of(const struct kineto *k, const struct kineto_exec *x)
{
	return k->machine.family == KINETO_AIU && x->kind == AIF_LAUNCH_FILL ? AIF_LAUNCH_ALLOCATE
									     : x->kind;
}

/* A transfer keeps a name that is torch's, "Memcpy HtoD (Pageable -> Device)": others say no more than its kind. */
static bool is_named(const struct kineto *k, const struct kineto_exec *x)
{
	size_t len;
	const char *name = aif_strset_get(&k->names.texts, x->name, &len);

	return x->kind == AIF_LAUNCH_KERNEL ||
	       (len > 3 && !memcmp(name, "Mem", 3) &&
		strcmp(name, aif_transfer_name(kind_of(k, x))) != 0);
}

/* Adds the readings of an execution as counters of its device, as they are in the file: cycles and charge that were counted
 * up to then. */
static int readings_add(struct kineto *k, const struct kineto_reading *g,
			const struct aif_exec_row *x)
{
	static const char *const names[KINETO_READINGS] = {"TS1", "TS2", "TS3",
							   "TS4", "TS5", "Power"};

	for (unsigned i = 0; i < KINETO_READINGS; i++) {
		struct aif_counter_row *row;

		if (!(g->has >> i & 1))
			continue;
		row = aif_builder_counter(k->b);
		if (!row)
			return -ENOMEM;
		*row = (struct aif_counter_row){.time = x->end,
						.value = (double)g->values[i],
						.device = x->device,
						.name = aif_builder_puts(k->b, names[i]),
						.unit = AIF_NONE,
						.process = x->process,
						.launch = 1 + x->launch};
		if (row->name == AIF_NONE)
			return -ENOMEM;
	}
	return 0;
}

_Static_assert(sizeof(struct aif_exec_row) <= sizeof(struct kineto_exec), "rows take their place");

int kineto_exec_rows(struct kineto *k)
{
	int r = find_shifts(k);
	const unsigned char *execs = (unsigned char *)k->execs;

	/* A row is written over the executions before its own, which has been copied, and over it. */
	if (!r && k->execs && aif_builder_execs_in(k->b, k->execs, k->execs_len))
		k->execs = NULL;
	for (size_t i = 0; !r && i < k->execs_len; i++) {
		struct kineto_exec of, *x = &of;
		const struct kineto_detail *d;
		struct kineto_stream *s;
		struct aif_exec_row *row;
		int64_t shift;

		memcpy(&of, execs + i * sizeof(of), sizeof(of));
		d = kineto_exec_detail(k, x);
		shift = shift_of(k, k->machine.queues[x->queue].device);
		s = kineto_stream_of(k, x->queue);
		row = aif_builder_exec(k->b);
		if (!s || !row)
			return -ENOMEM;
		*row = (struct aif_exec_row){
			/* Without a launch: a number that none has. */
			.launch = x->launch ? x->launch : (UINT64_C(1) << 40) + k->b->execs_len,
			.start = (uint64_t)(x->start + shift),
			.end = (uint64_t)(x->end + shift),
			.clock = AIF_CLOCK_MONOTONIC,
			.process = k->machine.main_process,
			.kind = kind_of(k, x),
			.kernel = is_named(k, x) ? kineto_kernel(k, x->name) : AIF_NONE,
			.device = s->of_device,
			.stream = s->id,
			.bytes = d->bytes,
			.graph = d->graph,
			.node = d->node,
			.registers = x->registers,
			.shared_bytes = x->shared_bytes,
			.collective = d->collective,
			.sequence = d->sequence,
		};
		k->faults.no_call += !x->launch;
		if (x->launch) {
			uint32_t thread = k->b->launches[x->launch - 1].thread;

			row->process = k->b->p.threads[thread].process;
		}
		if (d->readings)
			r = readings_add(k, &k->readings[d->readings - 1], row);
		/* Streams run in order; those that are seen not to do so, or are lanes of several, don't. */
		if (s->has_last && row->start < s->last_end)
			k->b->p.streams[s->id].out_of_order = 1;
		s->has_last = true;
		s->last_end = AIF_MAX(s->last_end, row->end);
	}
	return r;
}
