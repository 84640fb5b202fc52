/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate_waits.h"

#include "isa/disasm.h"
#include "isa/sass.h"
#include "names/stall_rules.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* More reasons than any hardware has; of a file that has more the others are left out. */
#define REASONS_MAX 64
/* The least share of an instruction's or a kernel's samples that is shown. */
#define WORTH_PPM 250000
#define HEAD_PPM  50000
#define HEAD_MAX  5
/* The greatest distance of an instruction from the barrier before it at which its warp waits. */
#define BARRIER_BEFORE 2
#define PRODUCERS_MAX  16
/* The greatest distance of an instruction from one that it waits for: no loop is longer, and the
 * search in a hostile file is bounded. */
#define INSTRUCTIONS_BEFORE 4096

struct reasons {
	struct aif_wait of[REASONS_MAX];
	uint64_t exposed[REASONS_MAX];
	size_t len;
};

static void reasons_add(struct reasons *r, const struct aif_profile *p, const struct aif_hit *hit)
{
	const char *text;
	bool is_exposed;
	size_t len, i = 0;

	if (hit->reason == AIF_NONE)
		return;
	text = aif_profile_str(p, hit->reason);
	len = aif_stall_base(text, strlen(text), &is_exposed);
	while (i < r->len && (r->of[i].len != len || memcmp(r->of[i].reason, text, len)))
		i++;
	if (i == REASONS_MAX)
		return;
	if (i == r->len) {
		r->of[r->len] = (struct aif_wait){.reason = text, .len = len};
		r->exposed[r->len++] = 0;
	}
	r->of[i].samples += hit->samples;
	r->exposed[i] += is_exposed ? hit->samples : 0;
}

/* The most frequent one after `than` (NULL: of all) in order of samples, then of appearance. */
static const struct aif_wait *next_most(const struct reasons *r, const struct aif_wait *than)
{
	const struct aif_wait *best = NULL;

	for (size_t i = 0; i < r->len; i++) {
		const struct aif_wait *w = &r->of[i];

		if (than && (w == than || w->samples > than->samples ||
			     (w->samples == than->samples && w < than)))
			continue;
		if (!best || w->samples > best->samples)
			best = w;
	}
	return best;
}

static bool is_called(const struct aif_wait *w, const char *name)
{
	return w->len == strlen(name) && !memcmp(w->reason, name, w->len);
}

/* ---- the instructions behind a reason -------------------------------------------------------- */

/* Returns the kinds of instructions that raise this reason in those that need their results; 0:
 * none does. */
static unsigned producers(const struct aif_wait *w)
{
	if (is_called(w, "long_scoreboard"))
		return 1u << AIF_SASS_GLOBAL | 1u << AIF_SASS_LOCAL |
		       1u << AIF_SASS_BARRIER; /* SYNCS: of an mbarrier */
	if (is_called(w, "short_scoreboard"))
		return 1u << AIF_SASS_SHARED | 1u << AIF_SASS_MATH | 1u << AIF_SASS_CONSTANT |
		       1u << AIF_SASS_OTHER;
	if (is_called(w, "gmma") || is_called(w, "warpgroup_arrive"))
		return 1u << AIF_SASS_TENSOR;
	return 0;
}

int aif_waits_code_init(struct aif_waits_code *c, const struct aif_profile *p,
			const struct aif_code *code)
{
	const char *arch = code && code->bytes ? aif_profile_str(p, code->arch) : "";

	*c = (struct aif_waits_code){.sm = aif_disasm_sm(arch), .gen = aif_intel_eu_of(arch)};
	if (c->sm || c->gen)
		c->code = code;
	if (!c->gen)
		return 0;
	c->producers = malloc((code->size / AIF_INTEL_EU_LEAST + 1) * sizeof(*c->producers));
	if (!c->producers)
		return -ENOMEM;
	aif_intel_eu_producers(code->bytes, code->size, c->gen, c->producers);
	return 0;
}

void aif_waits_code_finish(struct aif_waits_code *c)
{
	free(c->producers);
	*c = (struct aif_waits_code){0};
}

static void gen_source_find(struct aif_waits *w, const struct aif_waits_code *c, uint64_t offset)
{
	struct aif_intel_eu_insn i;
	uint32_t at;

	if (!is_called(&w->top[0], "sbid") ||
	    offset / AIF_INTEL_EU_LEAST >= c->code->size / AIF_INTEL_EU_LEAST)
		return;
	at = c->producers[offset / AIF_INTEL_EU_LEAST];
	if (at == AIF_INTEL_EU_NOTHING)
		return;
	aif_intel_eu_decode(c->code->bytes + at, c->code->size - at, c->gen, &i);
	w->sources[0] = at;
	aif_intel_eu_text(&i, w->names[0]);
	w->sources_len = 1;
}

static void source_add(struct aif_waits *w, const struct aif_code *code, unsigned sm, size_t index)
{
	struct aif_sass s;

	if (w->sources_len == AIF_WAITS_SOURCES)
		return;
	aif_sass_decode(code->bytes + index * AIF_SASS_BYTES, sm, &s);
	w->sources[w->sources_len] = index * AIF_SASS_BYTES;
	if (s.mnemonic)
		snprintf(w->names[w->sources_len], sizeof(w->names[0]), "%s", s.mnemonic);
	else
		snprintf(w->names[w->sources_len], sizeof(w->names[0]), "0x%03x", s.opcode);
	w->sources_len++;
}

static void barrier_find(struct aif_waits *w, const struct aif_code *code, unsigned sm,
			 size_t index)
{
	for (size_t back = 0; back <= BARRIER_BEFORE && back <= index; back++) {
		struct aif_sass s;

		aif_sass_decode(code->bytes + (index - back) * AIF_SASS_BYTES, sm, &s);
		if (s.kind == AIF_SASS_BARRIER && s.mnemonic && !strcmp(s.mnemonic, "BAR")) {
			if (back)
				source_add(w, code, sm, index - back);
			return;
		}
	}
}

static void sources_find(struct aif_waits *w, const struct aif_code *code, unsigned sm,
			 size_t index)
{
	size_t n = code->size / AIF_SASS_BYTES, found, at[PRODUCERS_MAX],
	       from = index > INSTRUCTIONS_BEFORE ? index - INSTRUCTIONS_BEFORE : 0;
	unsigned kinds = producers(&w->top[0]);

	if (index >= n)
		return;
	if (is_called(&w->top[0], "barrier"))
		barrier_find(w, code, sm, index);
	if (!kinds)
		return;
	found = aif_sass_waits_for(code->bytes + from * AIF_SASS_BYTES, n - from, index - from, at,
				   PRODUCERS_MAX);
	for (size_t i = 0; i < found; i++) {
		struct aif_sass s;

		/* what nobody knows may be of any kind */
		if (!aif_sass_decode(code->bytes + (from + at[i]) * AIF_SASS_BYTES, sm, &s) ||
		    kinds >> s.kind & 1)
			source_add(w, code, sm, from + at[i]);
	}
}

void aif_waits_find(const struct aif_profile *p, const struct aif_hit *hits, size_t n,
		    const struct aif_waits_code *c, uint64_t offset, struct aif_waits *ret)
{
	struct reasons r;
	uint64_t all = 0;

	ret->len = ret->sources_len = r.len = 0;
	for (size_t i = 0; i < n; i++) {
		reasons_add(&r, p, &hits[i]);
		all += hits[i].samples;
	}
	for (const struct aif_wait *w = next_most(&r, NULL); w && ret->len < AIF_WAITS_MAX;
	     w = next_most(&r, w)) {
		if (aif_share_ppm(w->samples, all) < (ret->len ? WORTH_PPM : HEAD_PPM))
			break;
		if (aif_stall_find(w->reason, w->len)->of != AIF_STALL_ISSUE)
			ret->top[ret->len++] = *w;
	}
	if (!c->code || !ret->len)
		return;
	if (c->gen)
		gen_source_find(ret, c, offset);
	else
		sources_find(ret, c->code, c->sm, offset / AIF_SASS_BYTES);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void put_reason(const struct aif_wait *w, uint64_t samples, struct aif_buf *out)
{
	aif_buf_append(out, w->reason, w->len);
	aif_buf_printf(out, " %" PRIu64 " %%", (aif_share_ppm(w->samples, samples) + 5000) / 10000);
}

void aif_waits_put(const struct aif_waits *w, uint64_t samples, struct aif_buf *out)
{
	for (size_t i = 0; i < w->len; i++) {
		if (i)
			aif_buf_puts(out, ", ");
		put_reason(&w->top[i], samples, out);
		for (size_t k = 0; !i && k < w->sources_len; k++)
			aif_buf_printf(out, "%s+0x%04" PRIx64 " %s", k ? ", " : " waits for ",
				       w->sources[k], w->names[k]);
	}
}

int aif_waits_head(const struct aif_profile *p, const struct aif_hits *h,
		   const struct aif_hit_kernel *k, struct aif_buf *out)
{
	struct reasons *r = calloc(1, sizeof(*r));
	const struct aif_wait *w;
	size_t put = 0;

	if (!r)
		return -ENOMEM;
	for (size_t f = k->first; f < k->first + k->len; f++)
		for (size_t i = 0; i < h->functions[f].len; i++)
			reasons_add(r, p, &h->hits[h->functions[f].first + i]);
	for (w = next_most(r, NULL); w && put < HEAD_MAX; w = next_most(r, w)) {
		if (put && aif_share_ppm(w->samples, k->samples) < HEAD_PPM)
			break;
		aif_buf_puts(out, put++ ? ", " : "stalls: ");
		put_reason(w, k->samples, out);
		if (r->exposed[w - r->of]) {
			aif_buf_printf(out, " (%" PRIu64 " %% exposed)",
				       (aif_share_ppm(r->exposed[w - r->of], k->samples) + 5000) /
					       10000);
		}
	}
	if (put)
		aif_buf_putc(out, '\n');
	free(r);
	return 0;
}
