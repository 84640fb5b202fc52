/* SPDX-License-Identifier: Apache-2.0 */
/* The listing of a function on CPUs: its lines and instructions with the CPU time that was sampled there. */
#include "report/annotate.h"

#include "analysis/traits.h"
#include "base/human.h"
#include "isa/disasm.h"
#include "names/code_index.h"
#include "names/cpu_functions.h"
#include "names/filter.h"
#include "report/annotate_calls.h"
#include "report/annotate_json.h"
#include "report/annotate_places.h"
#include "text/json.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JSON_CODE_MAX 65536 /* bytes of a function whose instructions a page has */

struct listing {
	const struct aif_profile *p;
	const struct aif_annotate_opts *o;
	const struct aif_cpu_functions *all;
	const struct aif_cpu_function *function;
	uint32_t *leaves; /* numbers of all->leaves, by function; for free() */
	struct aif_code_index codes;
	struct aif_places places;
	struct aif_buf *out, cell;
};

static bool is_cold(const struct listing *l, uint64_t ns)
{
	return aif_share_ppm(ns, l->function->self_ns) < l->o->min_ppm;
}

static void put_share(struct listing *l, uint64_t ns)
{
	aif_place_put_share(ns, l->function->self_ns, l->out);
}

static uint64_t leaf_key(const struct aif_cpu_functions *f, uint32_t leaf)
{
	return aif_cpu_function_key(f->leaves[leaf].name, f->leaves[leaf].module);
}

static int by_function(const void *pa, const void *pb, void *arg)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint64_t x = leaf_key(arg, a), y = leaf_key(arg, b);

	return x != y ? (x < y ? -1 : 1) : (a > b) - (a < b);
}

/* Finds the functions with CPU time, and orders their leaves. 0 or -errno with *err. */
static int functions_find(struct listing *l, const struct aif_names *names,
			  struct aif_cpu_functions *f, struct aif_err *err)
{
	int r = aif_cpu_functions_find(names, NULL, AIF_NAME_NORMAL, AIF_CPU_INNERMOST, f, err);

	if (r)
		return r;
	l->leaves = malloc((f->leaves_len + 1) * sizeof(*l->leaves));
	if (!l->leaves)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->leaves_len; i++)
		l->leaves[i] = i;
	qsort_r(l->leaves, f->leaves_len, sizeof(*l->leaves), by_function, f);
	return 0;
}

/* Finds the places of the function's samples. 0 or -ENOMEM. */
static int places_find(struct listing *l)
{
	uint64_t key = aif_cpu_function_key(l->function->name, l->function->module);
	size_t i = AIF_BISECT(mid, 0, l->all->leaves_len, leaf_key(l->all, l->leaves[mid]) < key);
	int r = 0;

	l->places.len = 0;
	for (; i < l->all->leaves_len && !r && leaf_key(l->all, l->leaves[i]) == key; i++) {
		const struct aif_cpu_leaf *leaf = &l->all->leaves[l->leaves[i]];

		r = aif_places_add(&l->places, leaf->frame, leaf->depth, leaf->ns);
	}
	return r;
}

static int by_address(const void *pa, const void *pb)
{
	const struct aif_place *a = pa, *b = pb;

	return AIF_ORDER(a->address, b->address);
}

static void insn_text(const struct aif_code *c, const struct aif_insn *insn, struct aif_buf *out)
{
	aif_buf_printf(out, "%s%s", insn->mnemonic, *insn->operands ? " " : "");
	if (insn->has_target && insn->target - c->address < c->size)
		aif_buf_printf(out, "%.*s+0x%04" PRIx64, (int)insn->target_at, insn->operands,
			       insn->target - c->address);
	else
		aif_buf_puts(out, insn->operands);
}

static void put_instruction(struct listing *l, const struct aif_code *c,
			    const struct aif_insn *insn, uint64_t ns)
{
	put_share(l, ns);
	aif_buf_printf(l->out, "  +0x%04" PRIx64 "  ", insn->address - c->address);
	insn_text(c, insn, l->out);
	aif_buf_putc(l->out, '\n');
}

/* Lists hot instructions with a neighbour on each side; places: by address, those of this code from *at on, which is moved
 * behind them. */
static void put_code(struct listing *l, const struct aif_code *c, struct aif_disasm *d, size_t *at)
{
	struct aif_insn insn, last = {0};
	bool was_shown = true, was_hot = false;
	uint64_t ns = 0;

	aif_buf_printf(l->out, "\n%s, %s, %" PRIu64 " bytes:\n",
		       c->name == AIF_NONE ? "" : aif_profile_str(l->p, c->name),
		       aif_profile_str(l->p, c->arch), c->size);
	for (uint64_t o = 0; o < c->size; o += insn.size, ns = 0) {
		bool is_hot;

		aif_disasm_one(d, c->bytes + o, c->size - o, c->address + o, &insn);
		while (*at < l->places.len &&
		       l->places.at[*at].address < c->address + o + insn.size)
			ns += l->places.at[(*at)++].ns;
		is_hot = !is_cold(l, ns) && (ns || !l->o->min_ppm);
		if (is_hot && !was_shown)
			put_instruction(l, c, &last, 0);
		if (is_hot || was_hot)
			put_instruction(l, c, &insn, ns);
		else if (was_shown && o)
			aif_buf_printf(l->out, "%*s  ...\n", AIF_PLACE_SHARE_COLUMNS, "");
		was_shown = is_hot || was_hot;
		was_hot = is_hot;
		last = insn;
	}
}

static int put_codes(struct listing *l)
{
	bool is_any = false;

	if (l->places.len)
		qsort(l->places.at, l->places.len, sizeof(*l->places.at), by_address);
	for (size_t i = 0; i < l->places.len;) {
		const struct aif_code *c =
			aif_code_index_find(&l->codes, l->p->frames[l->places.at[i].frame].module,
					    l->places.at[i].address);
		struct aif_disasm *d = NULL;
		int r = c && c->bytes ? aif_disasm_new(aif_profile_str(l->p, c->arch), &d)
				      : -ENOTSUP;

		if (r < 0 && r != -ENOTSUP)
			return r;
		if (r == 0) {
			size_t begin = i;

			put_code(l, c, d, &i);
			is_any = true;
			i = AIF_MAX(i, begin + 1);
		} else {
			i++;
		}
		aif_disasm_free(d);
	}
	if (!is_any && l->function->module != AIF_NONE)
		aif_buf_puts(l->out,
			     "its instructions are not in the profile: record with --cpu\n");
	return 0;
}

static void put_head(struct listing *l)
{
	const struct aif_cpu_function *f = l->function;
	const char *module = f->module < l->p->modules_len
				     ? aif_profile_str(l->p, l->p->modules[f->module].path)
				     : "";

	aif_buf_printf(l->out, "%s\n", aif_cpu_function_name(l->all, f));
	if (*module)
		aif_buf_printf(l->out, "%s\n", module);
	aif_human_share(l->out, aif_share_ppm(f->self_ns, l->all->weight_ns));
	aif_buf_printf(l->out, " of %s: ", aif_cpu_counts(l->p) ? "all" : "CPU time");
	aif_cpu_weight_say(l->p, f->self_ns, l->out);
	aif_buf_puts(l->out, " itself, ");
	aif_cpu_weight_say(l->p, f->total_ns, l->out);
	aif_buf_puts(l->out, " with what it calls; ");
	aif_human_counted(l->out, f->self_samples, "sample");
	if (*aif_profile_meta(l->p, "cpu_period"))
		aif_buf_puts(
			l->out,
			"\nlines and instructions are where interrupts came, mostly some instructions "
			"behind what made the event (skid)");
}

static int put_function(struct listing *l, const struct aif_cpu_calls *calls)
{
	bool is_above = aif_annotate_is_above(l->function);
	int r = places_find(l);

	if (r < 0)
		return r;
	put_head(l);
	aif_buf_puts(l->out, "\n\n");
	if (is_above) {
		aif_buf_puts(l->out, "lines with what they call:\n");
		aif_annotate_calls_put(l->p, l->all, (uint32_t)(l->function - l->all->at), calls,
				       l->o, l->out);
	}
	if (!l->function->self_ns)
		return 0;
	if (is_above)
		aif_buf_puts(l->out, "\nlines themselves:\n");
	r = aif_places_put_lines(&l->places, l->o, l->function->self_ns, l->out);
	return r < 0 ? r : put_codes(l);
}

/* Marks the functions that match. Returns how many, or -ENOMEM; *ret is for free(). */
static ssize_t find_wanted(const struct aif_cpu_functions *f, const struct aif_regex *wanted,
			   bool **ret)
{
	ssize_t n = 0;
	bool *is = calloc(f->len + 1, sizeof(*is));

	*ret = is;
	if (!is)
		return -ENOMEM;
	for (size_t i = 0; i < f->len; i++) {
		is[i] = f->at[i].total_ns &&
			aif_annotate_matches(wanted, aif_cpu_function_name(f, &f->at[i]));
		n += is[i];
	}
	return n;
}

/* Finds the calls of functions that are wanted and whose time is below them. */
static int find_calls(const struct aif_names *names, struct aif_cpu_functions *f,
		      const bool *wanted, struct aif_cpu_calls *ret, struct aif_err *err)
{
	for (size_t i = 0; i < f->len; i++)
		if (wanted[i] && aif_annotate_is_above(&f->at[i]))
			return aif_cpu_calls_find(names, f, wanted, ret, err);
	return 0;
}

int aif_annotate_cpu_write(const struct aif_names *names, const struct aif_annotate_opts *o,
			   struct aif_buf *out, struct aif_err *err)
{
	struct aif_cpu_functions f = {0};
	struct aif_cpu_calls calls = {0};
	struct listing l = {.p = names->p, .o = o, .all = &f, .places.p = names->p, .out = out};
	struct aif_regex wanted;
	bool *is_wanted = NULL;
	ssize_t n = 0;
	int r = aif_regex_init(&wanted, "annotate: FUNCTION", o->kernel, err);

	if (r < 0)
		return r;
	r = functions_find(&l, names, &f, err);
	if (!r)
		r = aif_code_index_init(&l.codes, names->p);
	if (!r) {
		n = find_wanted(&f, &wanted, &is_wanted);
		r = n < 0 ? (int)n : find_calls(names, &f, is_wanted, &calls, err);
	}
	for (size_t i = 0, shown = 0; i < f.len && !r; i++) {
		if (!is_wanted[i])
			continue;
		if (shown++)
			aif_buf_puts(out, "\n\n");
		l.function = &f.at[i];
		r = put_function(&l, &calls);
	}
	if (!r && !n)
		r = aif_err_set(
			err, -ENODATA,
			f.len && f.at[0].self_ns
				? "annotate: no function with CPU time matches '%s'; the one "
				  "with most is %s"
				: "annotate: no CPU samples match '%s'%s",
			o->kernel,
			f.len && f.at[0].self_ns ? aif_cpu_function_name(&f, &f.at[0])
						 : "; record with --cpu");
	else if (r < 0 && !err->code)
		aif_err_set(err, r, "annotate: %s", strerror(-r));
	aif_regex_finish(&wanted);
	aif_code_index_finish(&l.codes);
	aif_cpu_calls_finish(&calls);
	aif_cpu_functions_finish(&f);
	aif_buf_finish(&l.cell);
	free(l.places.at);
	free(l.leaves);
	free(is_wanted);
	return r;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_text(struct aif_buf *json, struct aif_buf *text)
{
	json->failed |= aif_buf_failed(text);
	aif_out_json_string(json, (const char *)text->data, text->len);
	aif_buf_clear(text);
}

/* All instructions of one code; *at: the first of its places, moved behind them. */
static void json_code(struct listing *l, const struct aif_code *c, struct aif_disasm *d, size_t *at,
		      struct aif_buf *json)
{
	struct aif_insn insn;
	int64_t row = -1;

	for (uint64_t o = 0; o < c->size; o += insn.size) {
		uint64_t ns = 0;

		aif_disasm_one(d, c->bytes + o, c->size - o, c->address + o, &insn);
		for (;
		     *at < l->places.len && l->places.at[*at].address < c->address + o + insn.size;
		     ++*at) {
			ns += l->places.at[*at].ns;
			row = l->places.at[*at].row;
		}
		aif_buf_printf(json, "%s[\"+0x%04" PRIx64 "\",", o ? "," : "", o);
		insn_text(c, &insn, &l->cell);
		json_text(json, &l->cell);
		aif_buf_printf(json, ",%" PRIu64 ",%" PRId64 "]", ns, row);
	}
}

/* A function of the list for each code that it has, the first with the lines. */
static int json_codes(struct listing *l, struct aif_buf *json)
{
	size_t n = 0;

	aif_buf_putc(json, '{');
	if (aif_places_json(&l->places, l->function->self_ns, json) < 0)
		return -ENOMEM;
	aif_buf_puts(json, ",\"code\":[");
	if (l->places.len)
		qsort(l->places.at, l->places.len, sizeof(*l->places.at), by_address);
	for (size_t i = 0, begin; i < l->places.len; i = AIF_MAX(i, begin + 1)) {
		const struct aif_code *c =
			aif_code_index_find(&l->codes, l->p->frames[l->places.at[i].frame].module,
					    l->places.at[i].address);
		struct aif_disasm *d = NULL;
		int r = c && c->bytes ? aif_disasm_new(aif_profile_str(l->p, c->arch), &d)
				      : -ENOTSUP;

		begin = i;
		if (r < 0 && r != -ENOTSUP)
			return r;
		if (r == 0 && c->size <= JSON_CODE_MAX) {
			if (n++)
				aif_buf_puts(json, "]},{\"head\":[],\"lines\":[],\"code\":[");
			json_code(l, c, d, &i, json);
		}
		aif_disasm_free(d);
	}
	aif_buf_puts(json, "]}");
	return 0;
}

/* True if a line or an instruction of the function is known. */
static bool has_places(const struct listing *l)
{
	for (size_t i = 0; i < l->places.len; i++) {
		const struct aif_place *at = &l->places.at[i];
		const struct aif_code *c;

		if (at->file != AIF_NONE)
			return true;
		c = aif_code_index_find(&l->codes, l->p->frames[at->frame].module, at->address);
		if (c && c->bytes && c->size <= JSON_CODE_MAX)
			return true;
	}
	return false;
}

int aif_annotate_cpu_json(const struct aif_names *names, size_t most, struct aif_strset *used,
			  struct aif_buf *functions, struct aif_buf *json)
{
	struct aif_cpu_functions f = {0};
	struct aif_buf head = {0};
	struct aif_err err = {0};
	struct listing l = {.p = names->p, .all = &f, .places.p = names->p, .out = &head};
	int r = functions_find(&l, names, &f, &err);

	if (!r)
		r = aif_code_index_init(&l.codes, names->p);
	for (size_t i = 0; i < f.len && most && !r && f.at[i].self_ns; i++) {
		l.function = &f.at[i];
		r = places_find(&l);
		if (r)
			break;
		if (!has_places(&l))
			continue;
		most--;
		aif_annotate_json_name(functions, used, aif_cpu_function_name(&f, &f.at[i]),
				       "CPU time");
		aif_buf_puts(json, json->data[json->len - 1] == '[' ? "" : ",");
		aif_buf_puts(json, "{\"head\":");
		put_head(&l);
		aif_annotate_json_lines(json, &head);
		aif_buf_clear(&head);
		aif_buf_printf(json, ",\"all\":%" PRIu64 ",\"unit\":\"ns\",\"functions\":[",
			       f.at[i].self_ns);
		r = json_codes(&l, json);
		aif_buf_puts(json, "]}");
	}
	aif_code_index_finish(&l.codes);
	aif_cpu_functions_finish(&f);
	aif_buf_finish(&l.cell);
	aif_buf_finish(&head);
	free(l.places.at);
	free(l.leaves);
	return r;
}
