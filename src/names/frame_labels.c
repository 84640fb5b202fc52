/* SPDX-License-Identifier: Apache-2.0 */
#include "names/frame_labels.h"

#include "base/demangle.h"
#include "names/callers.h"
#include "names/code_index.h"
#include "names/compiled.h"
#include "isa/disasm.h"
#include "names/frame_type.h"
#include "names/insn_start.h"
#include "names/kernel_names.h"
#include "names/stall_rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A mangled name of a file's may stand for a text without end. */
#define DEMANGLED_MAX 4096

struct labelled {
	uint32_t first, len; /* in .labels; len 0: not looked at yet */
};

struct aif_frame_labels {
	const struct aif_profile *p;
	const struct aif_names *kernels;
	struct aif_tree *tree;
	struct aif_frame_labels_opts opts;
	struct labelled *frames;
	uint32_t *names; /* by frame: its first row of p->frame_names; frames_len + 1 of them */
	struct aif_frame_label *labels;
	size_t labels_len, labels_cap;
	struct aif_code_index codes;
	struct aif_compiled *compiled;
	bool has_python;
	uint8_t *owners;         /* by stack */
	uint8_t *with_python;    /* by stack, as aif_stacks_with_python(); NULL: of no matter */
	bool *cxx_modules;       /* that have a C++ function among the named ones */
	struct aif_strset brief; /* names of kernels in brief detail */
	uint32_t *brief_of;      /* by kernel; NULL in other details */
	struct aif_insn_starts starts;
	struct aif_disasm *disasm;
	uint32_t disasm_arch; /* string; what .disasm is for, NULL if there is none for it */
	struct aif_buf label, full, place, renamed, plain;
};

/* ---- a stack's walk -------------------------------------------------------------------------- */

unsigned aif_frame_labels_flavour(const struct aif_frame_labels *l, uint32_t stack)
{
	unsigned flags = l->p->stacks[stack].flags & (AIF_STACK_FLAGS - 1);

	return flags || !l->owners[stack] ? flags : AIF_STACK_FLAGS + l->owners[stack];
}

bool aif_frame_labels_is_bare(const struct aif_frame_labels *l, uint32_t stack)
{
	return l->with_python && stack != AIF_NONE && !l->with_python[stack];
}

/* ---- making ---------------------------------------------------------------------------------- */

static int names_index(struct aif_frame_labels *l)
{
	const struct aif_profile *p = l->p;
	size_t row = 0;

	l->names = malloc((p->frames_len + 1) * sizeof(*l->names));
	if (!l->names)
		return -ENOMEM;
	for (uint32_t f = 0; f <= p->frames_len; f++) {
		while (row < p->frame_names_len && p->frame_names[row].frame < f)
			row++;
		l->names[f] = (uint32_t)row;
	}
	return 0;
}

/* Bytes of a name in which C++ shows: a file that lies may give each frame 4 MiB. */
#define CXX_LOOK 4096

static void cxx_modules_find(struct aif_frame_labels *l)
{
	const struct aif_profile *p = l->p;

	for (size_t i = 0; i < p->frame_names_len; i++) {
		const struct aif_frame *f = &p->frames[p->frame_names[i].frame];
		const char *name = aif_profile_str(p, p->frame_names[i].name);

		if (f->kind == AIF_FRAME_NATIVE && f->module < p->modules_len &&
		    !l->cxx_modules[f->module] &&
		    aif_frame_type_native(name, strnlen(name, CXX_LOOK), "") == AIF_TREE_CXX)
			l->cxx_modules[f->module] = true;
	}
}

int aif_frame_labels_new(const struct aif_names *names, struct aif_tree *t,
			 const struct aif_frame_labels_opts *o, struct aif_frame_labels **ret)
{
	const struct aif_profile *p = names->p;
	struct aif_frame_labels *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct aif_frame_labels){
		.p = p, .kernels = names, .tree = t, .opts = *o, .disasm_arch = AIF_NONE};
	for (size_t i = 0; i < p->frames_len && !l->has_python; i++)
		l->has_python = p->frames[i].kind == AIF_FRAME_PYTHON;
	l->frames = calloc(p->frames_len + 1, sizeof(*l->frames));
	l->cxx_modules = calloc(p->modules_len + 1, sizeof(*l->cxx_modules));
	l->owners = aif_stack_owners(p);
	l->with_python = o->of_cpu ? aif_stacks_with_python(p) : NULL;
	if (!l->frames || !l->cxx_modules || !l->owners || (o->of_cpu && !l->with_python) ||
	    names_index(l) < 0 || aif_code_index_init(&l->codes, p) < 0 ||
	    aif_compiled_new(p, &l->compiled) < 0 ||
	    (o->detail == AIF_NAME_BRIEF && aif_names_brief(names, &l->brief, &l->brief_of) < 0)) {
		aif_frame_labels_free(l);
		return -ENOMEM;
	}
	cxx_modules_find(l);
	*ret = l;
	return 0;
}

void aif_frame_labels_free(struct aif_frame_labels *l)
{
	if (!l)
		return;
	aif_disasm_free(l->disasm);
	aif_buf_finish(&l->label);
	aif_buf_finish(&l->full);
	aif_buf_finish(&l->place);
	aif_buf_finish(&l->renamed);
	aif_buf_finish(&l->plain);
	free(l->frames);
	free(l->names);
	free(l->labels);
	aif_code_index_finish(&l->codes);
	aif_compiled_free(l->compiled);
	aif_insn_starts_finish(&l->starts);
	free(l->cxx_modules);
	free(l->owners);
	free(l->with_python);
	aif_strset_finish(&l->brief);
	free(l->brief_of);
	free(l);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *aif_source_name(const char *path)
{
	static const char *const of_many[] = {"__init__.py", "__main__.py"};
	const char *name = base_name(path), *before;
	bool is_of_many = false;

	for (size_t i = 0; i < AIF_ARRAY_LEN(of_many); i++)
		is_of_many |= !strcmp(name, of_many[i]);
	if (!is_of_many || name - path < 2)
		return name;
	before = memrchr(path, '/', (size_t)(name - 1 - path));
	return before ? before + 1 : path;
}

static const char *module_path(const struct aif_profile *p, uint32_t module)
{
	return module < p->modules_len ? aif_profile_str(p, p->modules[module].path) : "";
}

/* Code without a name: "[module+0xADDRESS]", or "[jit 0xADDRESS]" if it is in no file. */
static void place_put(struct aif_buf *b, const struct aif_profile *p, const struct aif_frame *f)
{
	const char *module = base_name(module_path(p, f->module));

	if (!strcmp(module, "[jit]")) {
		aif_buf_printf(b, "[jit 0x%llx]", (unsigned long long)f->address);
		return;
	}
	aif_buf_printf(b, "[%s%s0x%llx]", module, *module ? "+" : "",
		       (unsigned long long)f->address);
}

/* l->label and l->full are set: adds them. `full` that says the same as the label is not kept. */
static int label_add(struct aif_frame_labels *l, unsigned type, enum aif_fold_action action)
{
	struct aif_frame_label *to;
	uint32_t full = AIF_STR_NONE;

	if (aif_buf_failed(&l->label) || aif_buf_failed(&l->full) ||
	    aif_grow(&l->labels, &l->labels_cap, l->labels_len + 1, sizeof(*l->labels)) < 0)
		return -ENOMEM;
	if (l->full.len &&
	    (l->full.len != l->label.len || memcmp(l->full.data, l->label.data, l->full.len))) {
		full = aif_strset_put(&l->tree->full, l->full.data, l->full.len);
		if (full == AIF_STR_NONE)
			return -ENOMEM;
	}
	to = &l->labels[l->labels_len];
	*to = (struct aif_frame_label){
		.module = AIF_NONE,
		.name = aif_tree_name(l->tree, type, (const char *)l->label.data, l->label.len),
		.full = full,
		.action = action,
		.bare_action = action,
	};
	if (to->name == AIF_STR_NONE)
		return -ENOMEM;
	l->labels_len++;
	return 0;
}

/* A call to begin with: the label's buffers are empty then. */
static void label_begin(struct aif_frame_labels *l)
{
	aif_buf_clear(&l->label);
	aif_buf_clear(&l->full);
}

static void file_put(struct aif_buf *b, const char *file, uint32_t line, bool with_line)
{
	aif_buf_puts(b, file);
	if (with_line && line)
		aif_buf_printf(b, ":%u", line);
}

/* Asks the folding rules; a new name replaces the label. */
static enum aif_fold_action label_fold(struct aif_frame_labels *l, unsigned type, const char *name,
				       size_t len, const char *module)
{
	enum aif_fold_action action;

	aif_buf_clear(&l->renamed);
	action = aif_fold(l->opts.detail, l->has_python ? type | AIF_FOLD_WITH_PYTHON : type, name,
			  len, module, &l->renamed);
	if (action == AIF_FOLD_RENAME) {
		aif_buf_clear(&l->label);
		aif_buf_append(&l->label, l->renamed.data, l->renamed.len);
	}
	return action;
}

/* "<lambda>:11" has its line in its name: where "(file.py:11)" follows, once is enough. */
static void python_name_put(struct aif_buf *b, const char *name, uint32_t line_behind)
{
	const char *suffix = strrchr(name, '>');
	size_t len = strlen(name);
	char same[16];

	snprintf(same, sizeof(same), ">:%u", line_behind);
	if (suffix && !strcmp(suffix, same))
		len = (size_t)(suffix + 1 - name);
	aif_buf_append(b, name, len);
}

/* True if a Python file is an installed package's or the standard library's. */
static bool is_of_package(const char *file)
{
	return strstr(file, "-packages/") || !aif_caller_is_python(file);
}

static int python_add(struct aif_frame_labels *l, const struct aif_frame_name *n)
{
	const char *name = aif_profile_str(l->p, n->name), *file = aif_profile_str(l->p, n->file);
	int r;

	label_begin(l);
	python_name_put(&l->label, name, *file && l->opts.lines ? n->line : 0);
	python_name_put(&l->full, name, *file ? n->line : 0);
	if (*file) {
		aif_buf_puts(&l->label, " (");
		file_put(&l->label, aif_source_name(file), n->line, l->opts.lines);
		aif_buf_puts(&l->full, " (");
		file_put(&l->full, file, n->line, true);
		aif_buf_putc(&l->label, ')');
		aif_buf_putc(&l->full, ')');
	}
	r = label_add(l, AIF_TREE_PYTHON,
		      label_fold(l, AIF_TREE_PYTHON | (is_of_package(file) ? AIF_FOLD_PACKAGE : 0),
				 (const char *)l->label.data, l->label.len, ""));
	if (r == 0 && *file)
		l->labels[l->labels_len - 1].file = n->file + 1;
	return r;
}

/* Adds what the line's call computes, where Inductor generated it. */
static int compiled_add(struct aif_frame_labels *l, const struct aif_frame_name *n)
{
	const struct aif_compiled_call *c = aif_compiled_find(l->compiled, n->file, n->line);

	if (!c)
		return 0;
	label_begin(l);
	aif_compiled_put(c, &l->label, &l->full);
	return label_add(l, AIF_TREE_SYNTHETIC, AIF_FOLD_SHOW);
}

/* True for functions of C++; main() and those that are extern "C" do not show it in their names. */
static bool is_cxx(const struct aif_frame_labels *l, const struct aif_frame *f, const char *name,
		   const char *file)
{
	return aif_frame_type_is_cxx_file(file) ||
	       (!strcmp(name, "main") && f->module < l->p->modules_len &&
		l->cxx_modules[f->module]);
}

/* A name that was kept mangled, as other tools' are and those that no demangler read when it was
 * recorded. */
static const char *name_read(struct aif_frame_labels *l, const char *name)
{
	if (!aif_is_mangled(name, strlen(name)))
		return name;
	aif_buf_clear(&l->plain);
	aif_demangle_part(name, DEMANGLED_MAX, &l->plain);
	return aif_buf_str(&l->plain);
}

static int native_add(struct aif_frame_labels *l, const struct aif_frame *f, const char *mangled,
		      const struct aif_frame_name *n, bool is_inlined)
{
	const char *name = name_read(l, mangled);
	size_t len = strlen(name);
	unsigned type = f->kind == AIF_FRAME_OS
				? AIF_TREE_OS
				: aif_frame_type_native(name, len, module_path(l->p, f->module));
	const char *file = n ? aif_profile_str(l->p, n->file) : "";
	enum aif_fold_action action;
	int r;

	if (type == AIF_TREE_C && is_cxx(l, f, name, file))
		type = AIF_TREE_CXX;
	if (is_inlined)
		type |= AIF_TREE_INLINED;
	label_begin(l);
	/* A span's name is a program's own words: what is in parentheses tells it from others. */
	if (aif_tree_base_type(type) == AIF_TREE_OS ||
	    l->p->traits.cpu_weights == AIF_CPU_WEIGHTS_SPANS)
		aif_buf_append(&l->label, name, len);
	else
		aif_name_short(name, len, l->opts.detail, &l->label);
	action = label_fold(l, type, name, len, base_name(module_path(l->p, f->module)));
	if (l->opts.lines && n && n->line && *file) {
		aif_buf_puts(&l->label, " (");
		file_put(&l->label, aif_source_name(file), n->line, true);
		aif_buf_putc(&l->label, ')');
	}
	aif_buf_puts(&l->full, mangled);
	r = label_add(l, type, action);
	if (r < 0)
		return r;
	l->labels[l->labels_len - 1].module = f->module;
	if (l->with_python && action == AIF_FOLD_HIDE)
		l->labels[l->labels_len - 1].bare_action =
			aif_fold(l->opts.detail, type | AIF_FOLD_BARE, name, len,
				 base_name(module_path(l->p, f->module)), &l->renamed);
	return 0;
}

/* Adds the label of a frame that a trace knows by name: an operator counts as C++, as PyTorch's
 * are. */
static int named_add(struct aif_frame_labels *l, const struct aif_frame *f, const char *name)
{
	const char *part = module_path(l->p, f->module);
	size_t len = strlen(name);
	unsigned type = f->kind == AIF_FRAME_OP      ? AIF_TREE_CXX
			: f->kind == AIF_FRAME_RANGE ? AIF_TREE_RANGE
						     : AIF_TREE_API;
	enum aif_fold_action action;
	int r;

	label_begin(l);
	aif_buf_append(&l->label, name, len);
	aif_buf_append(&l->full, name, len);
	if (*part)
		aif_buf_printf(&l->full, " (%s)", part);
	action = label_fold(l, type, name, len, "");
	r = label_add(l, type, action);
	if (r == 0)
		l->labels[l->labels_len - 1].module = f->module;
	return r;
}

static int mark_add(struct aif_frame_labels *l, const char *text)
{
	label_begin(l);
	aif_buf_puts(&l->label, text);
	if (!strncmp(text, AIF_BACKWARD_MARK, strlen(AIF_BACKWARD_MARK)))
		aif_buf_puts(&l->full,
			     "of autograd: joined to the forward that made this node, as the "
			     "imported trace says");
	return label_add(l, AIF_TREE_SYNTHETIC, AIF_FOLD_SHOW);
}

static int host_add(struct aif_frame_labels *l, uint32_t frame)
{
	const struct aif_profile *p = l->p;
	const struct aif_frame *f = &p->frames[frame];
	int r = 0;

	if (f->kind == AIF_FRAME_MARK)
		return mark_add(l, f->address < p->strings.len
					   ? aif_profile_str(p, (uint32_t)f->address)
					   : "[?]");
	for (uint32_t i = l->names[frame]; r == 0 && i < l->names[frame + 1]; i++) {
		const struct aif_frame_name *n = &p->frame_names[i];

		if (f->kind == AIF_FRAME_PYTHON)
			r = python_add(l, n) < 0 ? -ENOMEM : compiled_add(l, n);
		else if (f->kind >= AIF_FRAME_OP && f->kind <= AIF_FRAME_CALL)
			r = named_add(l, f, aif_profile_str(p, n->name));
		else
			r = native_add(l, f, aif_profile_str(p, n->name), n, n->inline_depth > 0);
	}
	if (l->names[frame] == l->names[frame + 1]) {
		aif_buf_clear(&l->place);
		place_put(&l->place, p, f);
		r = native_add(l, f, aif_buf_str(&l->place), NULL, false);
	}
	return r;
}

/* ---- the device ------------------------------------------------------------------------------ */

/* Instruction sets that nothing here decodes, and code that was not kept, show as offsets. */
static int instruction_add(struct aif_frame_labels *l, const struct aif_frame *f, const char *name)
{
	const struct aif_code *c = aif_code_index_find(&l->codes, f->module, f->address);
	uint64_t offset;
	struct aif_insn insn;

	label_begin(l);
	if (!c && f->module < l->p->modules_len &&
	    l->p->modules[f->module].kind == AIF_MODULE_DEVICE) {
		/* The module is one function. */
		aif_buf_printf(&l->label, "%s%s+0x%llx", name ? name : "", name ? " " : "",
			       (unsigned long long)f->address);
		return label_add(l, AIF_TREE_INSTRUCTION, AIF_FOLD_SHOW);
	}
	if (!c) {
		place_put(&l->label, l->p, f);
		return label_add(l, AIF_TREE_INSTRUCTION, AIF_FOLD_SHOW);
	}
	offset = aif_insn_start(&l->starts, l->p, c, f->address - c->address);
	if (l->disasm_arch != c->arch) {
		aif_disasm_free(l->disasm);
		if (aif_disasm_new(aif_profile_str(l->p, c->arch), &l->disasm) < 0)
			l->disasm = NULL;
		l->disasm_arch = c->arch;
	}
	if (c->bytes && l->disasm) {
		aif_disasm_one(l->disasm, c->bytes + offset, c->size - offset, c->address + offset,
			       &insn);
		aif_buf_printf(&l->label, "%s +0x%llx", insn.mnemonic, (unsigned long long)offset);
		aif_buf_printf(&l->full, "%s%s%s%s%s  +0x%llx", insn.guard, *insn.guard ? " " : "",
			       insn.mnemonic, *insn.operands ? " " : "", insn.operands,
			       (unsigned long long)offset);
	} else {
		aif_buf_printf(&l->label, "+0x%llx", (unsigned long long)offset);
	}
	return label_add(l, AIF_TREE_INSTRUCTION, AIF_FOLD_SHOW);
}

/* The function that stands there, or one that is inlined into it. */
static int function_add(struct aif_frame_labels *l, const struct aif_frame_name *n)
{
	const char *name = aif_profile_str(l->p, n->name);

	label_begin(l);
	aif_name_short(name, strlen(name), l->opts.detail, &l->label);
	aif_buf_puts(&l->full, name);
	return label_add(l, n->inline_depth ? AIF_TREE_KERNEL | AIF_TREE_INLINED : AIF_TREE_KERNEL,
			 AIF_FOLD_SHOW);
}

/* The innermost line; its tooltip has those into which it is inlined. */
static int line_add(struct aif_frame_labels *l, uint32_t first, uint32_t end)
{
	const struct aif_profile *p = l->p;
	const char *between = "";

	label_begin(l);
	for (uint32_t i = end; i-- > first;) {
		const struct aif_frame_name *n = &p->frame_names[i];
		const char *file = aif_profile_str(p, n->file);

		if (!n->line || !*file)
			continue;
		if (!*between)
			file_put(&l->label, aif_source_name(file), n->line, true);
		aif_buf_printf(&l->full, "%s%s at %s:%u", between, aif_profile_str(p, n->name),
			       file, n->line);
		between = ", inlined into ";
	}
	return *between ? label_add(l, AIF_TREE_LINE, AIF_FOLD_SHOW) : 0;
}

/* Adds the labels of a place that has names only, as in imported stacks. */
static int names_add(struct aif_frame_labels *l, uint32_t first, uint32_t end)
{
	unsigned type = AIF_TREE_KERNEL;
	int r = 0;

	for (uint32_t i = first; r == 0 && i < end; i++) {
		const struct aif_frame_name *n = &l->p->frame_names[i];
		const char *name = aif_profile_str(l->p, n->name);

		type = aif_frame_type_inside(name, strlen(name), type);
		if (type == AIF_TREE_KERNEL) {
			r = function_add(l, n);
			continue;
		}
		label_begin(l);
		aif_buf_puts(&l->label, name);
		r = label_add(l, type, AIF_FOLD_SHOW);
	}
	return r == 0 ? line_add(l, first, end) : r;
}

static int device_add(struct aif_frame_labels *l, uint32_t frame)
{
	const char *name = aif_code_index_name(&l->codes, frame);
	uint32_t first = l->names[frame] + (name != NULL), end = l->names[frame + 1];
	int r = 0;

	if (l->p->frames[frame].address == AIF_ADDRESS_UNKNOWN)
		return names_add(l, first, end);
	for (uint32_t i = first; r == 0 && i < end; i++)
		r = function_add(l, &l->p->frame_names[i]);
	if (r == 0)
		r = line_add(l, first, end);
	if (r < 0)
		return r;
	return instruction_add(l, &l->p->frames[frame], name);
}

/* ---- asking ---------------------------------------------------------------------------------- */

const struct aif_frame_label *aif_frame_labels_get(struct aif_frame_labels *l, uint32_t frame,
						   size_t *ret_len)
{
	struct labelled *f;
	int r;

	assert(frame < l->p->frames_len);
	f = &l->frames[frame];
	if (!f->len) {
		f->first = (uint32_t)l->labels_len;
		r = l->p->frames[frame].kind == AIF_FRAME_DEVICE ? device_add(l, frame)
								 : host_add(l, frame);
		if (r < 0)
			return NULL;
		f->len = (uint32_t)(l->labels_len - f->first);
	}
	*ret_len = f->len;
	return &l->labels[f->first];
}

int aif_frame_labels_kept(struct aif_frame_labels *l, uint32_t stack, struct aif_frame_label *ret)
{
	const struct aif_stack *stacks = l->p->stacks;
	struct aif_frame_label kept;
	bool is_found = false;

	for (unsigned starts = 0; starts < 2 && !is_found; starts++)
		for (uint32_t at = stack; at != AIF_NONE; at = stacks[at].parent) {
			const struct aif_frame_label *labels;
			size_t n, len;

			if (stacks[at].frame == AIF_NONE)
				continue;
			labels = aif_frame_labels_get(l, stacks[at].frame, &n);
			if (!labels)
				return -ENOMEM;
			for (size_t i = n; i-- > 0;) {
				if (aif_tree_text(l->tree, labels[i].name, &len)[0] == '[' ||
				    (!starts && labels[i].action == AIF_FOLD_START))
					continue;
				kept = labels[i];
				is_found = true;
			}
		}
	if (!is_found)
		return -ENOENT;
	*ret = kept;
	return 0;
}

static const char *full_text(const struct aif_frame_labels *l, const struct aif_frame_label *label)
{
	size_t len;

	return label->full == AIF_STR_NONE ? aif_tree_text(l->tree, label->name, &len)
					   : aif_strset_get(&l->tree->full, label->full, &len);
}

const struct aif_frame_label *aif_frame_labels_inside(struct aif_frame_labels *l, uint32_t frame,
						      uint32_t kernel, size_t *ret_len)
{
	const struct aif_profile *p = l->p;
	const struct aif_frame_label *label = aif_frame_labels_get(l, frame, ret_len);

	if (label && (*ret_len > 1 || p->frames[frame].address == AIF_ADDRESS_UNKNOWN) &&
	    kernel < p->kernels_len && aif_tree_type_of(l->tree, label->name) == AIF_TREE_KERNEL &&
	    aif_kernel_is_itself(full_text(l, label),
				 aif_profile_str(p, p->kernels[kernel].name))) {
		label++;
		--*ret_len;
	}
	return label;
}

/* l->label and l->full are set: a label that is of no frame. */
static int label_make(struct aif_frame_labels *l, unsigned type, struct aif_frame_label *ret)
{
	size_t before = l->labels_len;
	int r = label_add(l, type, AIF_FOLD_SHOW);

	if (r == 0)
		*ret = l->labels[before];
	l->labels_len = before;
	return r;
}

int aif_frame_labels_kernel(struct aif_frame_labels *l, uint32_t kernel, unsigned kind,
			    struct aif_frame_label *ret)
{
	const struct aif_profile *p = l->p;
	unsigned type = AIF_TREE_KERNEL;
	const char *name;

	label_begin(l);
	if (kind != AIF_LAUNCH_KERNEL) {
		type = AIF_TREE_COPY;
		aif_buf_puts(&l->label, aif_names_work_full(l->kernels, kind, kernel));
	} else if (kernel < p->kernels_len) {
		const char *short_name = aif_names_short(l->kernels, kernel);

		name = aif_profile_str(p, p->kernels[kernel].name);
		if (l->opts.detail == AIF_NAME_NORMAL && short_name)
			aif_buf_puts(&l->label, short_name);
		else if (l->opts.detail == AIF_NAME_NORMAL)
			aif_kernel_name(name, strlen(name), 0, &l->label);
		else if (l->brief_of)
			aif_buf_puts(&l->label,
				     aif_strset_get(&l->brief, l->brief_of[kernel], NULL));
		else
			aif_name_short(name, strlen(name), l->opts.detail, &l->label);
		aif_buf_puts(&l->full, name);
	} else {
		aif_buf_puts(&l->label, "[unknown kernel]");
	}
	return label_make(l, type, ret);
}

int aif_frame_labels_backward(struct aif_frame_labels *l, const struct aif_backward *b,
			      const struct aif_backward_part *part, struct aif_frame_label *ret)
{
	static const char *const how[AIF_BACKWARD_HOWS] = {
		[AIF_BACKWARD_UNJOINED] = "of autograd: which forward it belongs to is not known",
		[AIF_BACKWARD_MATCHED] =
			"of autograd: joined to the forward that made this node, inferred from the "
			"order of operators",
		[AIF_BACKWARD_BETWEEN] =
			"of autograd: its operator launched nothing in the forward; inferred from "
			"the nodes before and after it, which belong here",
	};
	const char *node =
		part->name == AIF_STR_NONE ? "" : aif_strset_get(&b->names, part->name, NULL);

	label_begin(l);
	aif_buf_printf(&l->label, "[backward]%s%s", *node ? " " : "", node);
	aif_buf_puts(&l->full, how[part->how]);
	return label_make(l, AIF_TREE_SYNTHETIC, ret);
}

int aif_frame_labels_reason(struct aif_frame_labels *l, uint32_t reason,
			    struct aif_frame_label *ret)
{
	const char *text = aif_profile_str(l->p, reason);
	size_t len = strlen(text);

	label_begin(l);
	if (l->opts.detail != AIF_NAME_FULL)
		len = aif_stall_base(text, len, NULL);
	aif_buf_append(&l->label, text, len);
	aif_buf_puts(&l->full, aif_stall_find(text, len)->meaning);
	return label_make(l, AIF_TREE_STALL, ret);
}
