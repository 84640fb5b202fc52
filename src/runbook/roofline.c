/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/roofline.h"

#include "base/demangle.h"
#include "isa/insn_work.h"
#include "names/code_index.h"
#include "names/cpu_functions.h"
#include "text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A function whose memory is busy reaches this part of its roof at least; another is held up by something else. */
#define REACHES 0.4
/* Several CPUs were in use. */
#define SEVERAL 1.5

struct code {
	const struct aif_code *code;
	uint64_t ns;
};

static int by_time(const void *pa, const void *pb)
{
	const struct code *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return AIF_ORDER(a->code, b->code);
}

static int by_code(const void *pa, const void *pb)
{
	const struct code *a = pa, *b = pb;

	return AIF_ORDER(a->code, b->code);
}

/* Finds the codes that samples were in, with their time, most first. Returns how many; *ret is for free(). */
static size_t find_codes(const struct aif_profile *p, const struct aif_cpu_functions *f,
			 const struct aif_code_index *index, struct code *ret)
{
	size_t len = 0, n = 0;

	for (size_t i = 0; i < f->leaves_len; i++) {
		const struct aif_frame *frame;
		const struct aif_code *c;

		if (f->leaves[i].frame >= p->frames_len)
			continue;
		frame = &p->frames[f->leaves[i].frame];
		c = aif_code_index_find(index, frame->module, frame->address);
		if (c && c->bytes)
			ret[len++] = (struct code){c, f->leaves[i].ns};
	}
	qsort(ret, len, sizeof(*ret), by_code);
	for (size_t i = 0; i < len; i++) {
		if (n && ret[n - 1].code == ret[i].code)
			ret[n - 1].ns += ret[i].ns;
		else
			ret[n++] = ret[i];
	}
	qsort(ret, n, sizeof(*ret), by_time);
	return n;
}

/* Sums up what the executions of a code's instructions computed and moved. */
static int sum_up(const struct aif_profile *p, const struct aif_code *c,
		  const struct aif_callgrind_range *range, uint64_t line_bytes,
		  struct aif_runbook_point *ret)
{
	const char *arch = aif_profile_str(p, c->arch);
	struct aif_disasm *d = NULL;
	struct aif_insn insn;
	int e = aif_disasm_new(arch, &d);

	for (uint64_t o = 0; o < c->size && !e; o += insn.size) {
		double n = (double)range->executions[o];
		struct aif_insn_work work;

		aif_disasm_one(d, c->bytes + o, c->size - o, c->address + o, &insn);
		if (!range->executions[o] || !aif_insn_work(arch, &insn, &work))
			continue;
		ret->is_counted = true;
		ret->flops += n * work.flops;
		ret->access_bytes += n * (work.load_bytes + work.store_bytes);
	}
	ret->memory_bytes = (double)(range->fetched + range->written) * (double)line_bytes;
	aif_disasm_free(d);
	return e == -ENOTSUP ? 0 : e;
}

static int read_counts(char *const *paths, size_t paths_len, struct aif_callgrind_range *ranges,
		       size_t len, struct aif_callgrind_totals *totals, struct aif_err *err)
{
	int e = 0;

	for (size_t i = 0; i < paths_len && !e; i++) {
		FILE *f = fopen(paths[i], "re");

		e = f ? aif_callgrind_read(f, ranges, len, totals) : -errno;
		if (f)
			fclose(f);
		/* A process that was killed leaves an empty file. */
		e = e == -EINVAL ? 0 : e;
		if (e)
			aif_err_set(err, e, "%s: %s", paths[i], strerror(-e));
	}
	return e;
}

/* Finds the functions' codes as callgrind names them: its files are those that were mapped, a profile's paths may be
 * symbolic links. 0 or -ENOMEM; what was made is freed by ranges_finish(). */
static int ranges_make(const struct aif_profile *p, const struct code *codes, size_t len,
		       struct aif_callgrind_range *ret)
{
	for (size_t i = 0; i < len; i++) {
		const struct aif_code *c = codes[i].code;
		const char *path = aif_profile_str(p, p->modules[c->module].path);
		char *real = realpath(path, NULL);

		ret[i] = (struct aif_callgrind_range){
			.path = real ? real : strdup(path),
			.address = c->address,
			.size = c->size,
			.executions = calloc(c->size + 1, sizeof(uint64_t))};
		if (!ret[i].path || !ret[i].executions)
			return -ENOMEM;
	}
	return 0;
}

static void ranges_finish(struct aif_callgrind_range *ranges, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		free((void *)ranges[i].path);
		free(ranges[i].executions);
	}
}

static int put_point(const struct aif_profile *p, const struct code *c,
		     const struct aif_callgrind_range *range, uint64_t line_bytes,
		     struct aif_runbook_point *ret)
{
	struct aif_buf name = {0};
	int e;

	aif_demangle(aif_profile_str(p, c->code->name), &name);
	*ret = (struct aif_runbook_point){.symbol = strdup(aif_buf_str(&name)),
					  .seconds = (double)c->ns / 1e9};
	e = ret->symbol ? sum_up(p, c->code, range, line_bytes, ret) : -ENOMEM;
	aif_buf_finish(&name);
	return e;
}

int aif_runbook_roofline_find(const struct aif_names *names, char *const *paths, size_t paths_len,
			      double elapsed_s, struct aif_runbook_roofline *ret,
			      struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_callgrind_range ranges[AIF_RUNBOOK_POINTS] = {{0}};
	struct aif_cpu_functions f = {0};
	struct aif_code_index index = {0};
	struct code *codes = NULL;
	size_t len = 0;
	int e;

	*ret = (struct aif_runbook_roofline){.elapsed_s = elapsed_s};
	e = aif_cpu_functions_find(names, NULL, AIF_NAME_NORMAL, AIF_CPU_INNERMOST, &f, err);
	if (!e)
		e = aif_code_index_init(&index, p);
	if (!e) {
		ret->seconds = (double)f.weight_ns / 1e9;
		ret->at = calloc(AIF_RUNBOOK_POINTS, sizeof(*ret->at));
		codes = malloc((f.leaves_len + 1) * sizeof(*codes));
		e = codes && ret->at ? 0 : -ENOMEM;
	}
	if (!e)
		len = AIF_MIN(find_codes(p, &f, &index, codes), (size_t)AIF_RUNBOOK_POINTS);
	if (!e)
		e = ranges_make(p, codes, len, ranges);
	if (!e)
		e = read_counts(paths, paths_len, ranges, len, &ret->totals, err);
	for (size_t i = 0; i < len && !e; i++, ret->len++)
		e = put_point(p, &codes[i], &ranges[i], ret->totals.line_bytes, &ret->at[i]);
	ranges_finish(ranges, len);
	free(codes);
	aif_code_index_finish(&index);
	aif_cpu_functions_finish(&f);
	return e && !err->code ? aif_err_set(err, e, "runbook: %s", strerror(-e)) : e;
}

void aif_runbook_roofline_finish(struct aif_runbook_roofline *r)
{
	for (size_t i = 0; r->at && i < AIF_RUNBOOK_POINTS; i++)
		free(r->at[i].symbol);
	free(r->at);
	*r = (struct aif_runbook_roofline){0};
}

struct aif_runbook_roof aif_runbook_roof(const struct aif_runbook_roofline *r,
					 const struct aif_roofs *roofs)
{
	bool several = r->elapsed_s > 0 && r->seconds / r->elapsed_s >= SEVERAL;
	double part = several && roofs->threads ? roofs->threads : 1;
	const struct aif_spread *of = several ? roofs->all : roofs->one;
	const struct aif_spread *flops = &of[AIF_ROOF_FMA_DP], *memory = &of[AIF_ROOF_DRAM];

	return (struct aif_runbook_roof){flops->n ? flops->max / part : 0,
					 memory->n ? memory->max / part : 0};
}

enum aif_runbook_bound aif_runbook_bound(const struct aif_runbook_point *p,
					 const struct aif_runbook_roof *roof, double *ret_of)
{
	double flops_s, bytes_s;

	*ret_of = NAN;
	if (!p->is_counted || p->flops <= 0 || p->seconds <= 0 || roof->flops <= 0 ||
	    roof->memory <= 0)
		return AIF_RUNBOOK_BOUND_UNKNOWN;
	flops_s = p->flops / p->seconds;
	bytes_s = p->memory_bytes / p->seconds;
	if (p->flops * roof->memory < p->memory_bytes * roof->flops) {
		*ret_of = bytes_s / roof->memory;
		return AIF_RUNBOOK_BOUND_MEMORY;
	}
	*ret_of = flops_s / roof->flops;
	return AIF_RUNBOOK_BOUND_COMPUTE;
}

double aif_runbook_memory_bound(const struct aif_runbook_roofline *r,
				const struct aif_runbook_roof *roof)
{
	double counted = 0, bound = 0;

	if (r->seconds <= 0 || roof->memory <= 0)
		return NAN;
	for (size_t i = 0; i < r->len; i++) {
		const struct aif_runbook_point *p = &r->at[i];
		bool is_busy = p->memory_bytes >= REACHES * roof->memory * p->seconds;
		double of;

		counted += p->is_counted ? p->seconds : 0;
		/* A copy computes nothing: it has no intensity, and moves all that it may. */
		if (p->is_counted && is_busy &&
		    (p->flops <= 0 || aif_runbook_bound(p, roof, &of) == AIF_RUNBOOK_BOUND_MEMORY))
			bound += p->seconds;
	}
	return counted < r->seconds / 2 ? NAN : 100 * bound / r->seconds;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_number(const char *key, double value, struct aif_buf *out)
{
	if (isfinite(value))
		aif_buf_printf(out, ", \"%s\": %.6g", key, value);
	else
		aif_buf_printf(out, ", \"%s\": null", key);
}

static void put_json_point(const struct aif_runbook_point *p, const struct aif_runbook_roof *roof,
			   struct aif_buf *out)
{
	static const char *const words[] = {"null", "\"memory\"", "\"compute\""};
	double of;
	enum aif_runbook_bound bound = aif_runbook_bound(p, roof, &of);

	aif_buf_puts(out, "{\"routine\": ");
	aif_out_json_escaped_text(out, p->symbol);
	put_number("self_time_s", p->seconds, out);
	if (p->is_counted) {
		put_number("gflop", p->flops / 1e9, out);
		put_number("memory_gb", p->memory_bytes / 1e9, out);
		put_number("access_gb", p->access_bytes / 1e9, out);
		put_number("intensity", p->flops / p->memory_bytes, out);
		put_number("access_intensity", p->flops / p->access_bytes, out);
		put_number("gflops", p->flops / p->seconds / 1e9, out);
		put_number("memory_gb_s", p->memory_bytes / p->seconds / 1e9, out);
		aif_buf_printf(out, ", \"bound\": %s", words[bound]);
		put_number("of_roof", of, out);
	}
	aif_buf_putc(out, '}');
}

void aif_runbook_roofline_json(const struct aif_runbook_roofline *r, const struct aif_roofs *roofs,
			       struct aif_buf *out)
{
	const struct aif_runbook_roof roof = aif_runbook_roof(r, roofs);
	double lines = (double)(r->totals.fetched + r->totals.written);

	aif_buf_puts(out,
		     "{\"model\": \"callgrind's: executions of instructions, and the lines that "
		     "its caches fetch and write back\", \"last_cache\": ");
	aif_out_json_escaped_text(out, r->totals.cache);
	aif_buf_printf(out, ", \"processes\": %" PRIu64, r->totals.files);
	put_number("memory_gb", lines * (double)r->totals.line_bytes / 1e9, out);
	aif_buf_puts(out, ", \"roof_of_one_cpu\": {\"of\": \"dp_fma, dram\"");
	put_number("gflops", roof.flops > 0 ? roof.flops / 1e9 : NAN, out);
	put_number("memory_gb_s", roof.memory > 0 ? roof.memory / 1e9 : NAN, out);
	aif_buf_putc(out, '}');
	put_number("memory_bound_percent", aif_runbook_memory_bound(r, &roof), out);
	aif_buf_puts(out, ", \"points\": [");
	for (size_t i = 0; i < r->len; i++) {
		aif_buf_puts(out, i ? ",\n    " : "\n    ");
		put_json_point(&r->at[i], &roof, out);
	}
	aif_buf_puts(out, "]}");
}
