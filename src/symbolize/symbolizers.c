/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolizer.h"

#include "symbolize/demangle.h"
#include "symbolize/plt.h"
#include "symbolize/pocl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

size_t aif_naming_text(struct aif_naming_result *r, const char *text, size_t n)
{
	size_t at = r->text.len;

	aif_buf_append(&r->text, text, n);
	aif_buf_putc(&r->text, 0);
	return at;
}

static size_t demangled(struct aif_naming_result *r, const char *name)
{
	size_t at = r->text.len;

	aif_demangle(name, &r->text);
	aif_buf_putc(&r->text, 0);
	return at;
}

/* The symbol's raw name in ret->scratch; "" if there is none. 0 or -ENOMEM. */
static int raw_name(const struct aif_elf_symbols *symbols, const struct aif_elf_function *f,
		    struct aif_naming_result *ret)
{
	char *to;

	aif_buf_clear(&ret->scratch);
	to = aif_buf_reserve(&ret->scratch, AIF_NAME_MAX);
	if (!to)
		return -ENOMEM;
	if (!f || aif_elf_symbols_name(symbols, f, to, AIF_NAME_MAX) < 0)
		to[0] = 0;
	return 0;
}

static void add_level(struct aif_naming_result *ret, size_t name, const char *file, uint32_t line)
{
	struct aif_naming_level *l = &ret->levels[ret->n++];

	l->name = name;
	l->file = file ? aif_naming_text(ret, file, strnlen(file, AIF_NAME_MAX)) : SIZE_MAX;
	l->line = line;
}

/*
 * Symbols and debug information. What stands there is named by debug information where that has the
 * linker's name; else by the symbol (which has the parameters of C++ functions that DWARF calls
 * just "operator()"); else by what DWARF has. Where neither has a name it is for the next to tell,
 * though a line may be known: code without a name is seldom worth it.
 */
static int elf_levels(struct aif_symbols_module *m, uint64_t address, const char *symbol,
		      struct aif_naming_result *ret)
{
	struct aif_dwarf_level levels[AIF_DWARF_MAX_LEVELS];
	struct aif_dwarf *dwarf;
	int n = 0, r;

	r = aif_module_dwarf(m, &dwarf);
	if (r < 0)
		return r;
	if (dwarf)
		n = aif_dwarf_resolve(dwarf, address, levels, ret->max);
	if (n == -ENOMEM)
		return n;
	if (n <= 0) {
		if (!*symbol)
			return 0;
		add_level(ret, demangled(ret, symbol), NULL, 0);
		return 1;
	}
	if (!*symbol && !levels[0].name)
		return 0;
	for (int i = 0; i < n; i++) {
		const struct aif_dwarf_level *l = &levels[i];
		const char *name = i == 0 && !l->linkage && *symbol ? symbol : l->name;

		add_level(ret, demangled(ret, name ? name : "?"), l->file, l->line);
	}
	return 1;
}

static int elf_resolve(struct aif_symbols_module *m, uint64_t address,
		       struct aif_naming_result *ret)
{
	const struct aif_elf_symbols *symbols;
	int r = aif_module_symbols(m, &symbols);

	if (r == 0)
		r = raw_name(symbols, aif_elf_symbols_find(symbols, address), ret);
	return r < 0 ? r : elf_levels(m, address, (const char *)ret->scratch.data, ret);
}

static int elf_extent(struct aif_symbols_module *m, uint64_t address, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	const struct aif_elf_function *f;
	const struct aif_elf_symbols *symbols;
	int r = aif_module_symbols(m, &symbols);

	if (r < 0 || !(f = aif_elf_symbols_find(symbols, address)))
		return r;
	*ret_start = f->start;
	*ret_end = f->end;
	return 1;
}

static const struct aif_symbolizer elf_symbolizer = {"elf", elf_resolve, elf_extent};

/* OpenCL kernels of PoCL: as the above, but what stands there is called by its kernel; so is the stub
 * through which the work group's function calls the kernel's when not optimised. */
static int pocl_resolve(struct aif_symbols_module *m, uint64_t address,
			struct aif_naming_result *ret)
{
	const struct aif_elf_symbols *symbols;
	const char *symbol, *kernel;
	uint64_t start, end;
	size_t n;
	int r;

	if (!m->is_kernel)
		return 0;
	r = aif_module_symbols(m, &symbols);
	if (r == 0)
		r = raw_name(symbols, aif_elf_symbols_find(symbols, address), ret);
	if (r < 0)
		return r;
	symbol = (const char *)ret->scratch.data;
	kernel = aif_pocl_kernel_name(symbol, m->path, &n);
	if (kernel) {
		r = elf_levels(m, address, symbol, ret);
		if (r > 0)
			ret->levels[0].name = aif_naming_text(ret, kernel, n);
		return r;
	}
	if (*symbol || aif_plt_name(&m->elf, address, (char *)ret->scratch.data, AIF_NAME_MAX,
				    &start, &end) <= 0)
		return 0;
	kernel = aif_pocl_kernel_name(symbol, m->path, &n);
	if (!kernel)
		return 0;
	add_level(ret, aif_naming_text(ret, kernel, n), NULL, 0);
	return 1;
}

static int pocl_extent(struct aif_symbols_module *m, uint64_t address, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	(void)m, (void)address, (void)ret_start, (void)ret_end;
	return 0; /* an ELF symbol like others */
}

static const struct aif_symbolizer pocl_symbolizer = {"pocl", pocl_resolve, pocl_extent};

static int plt_resolve(struct aif_symbols_module *m, uint64_t address,
		       struct aif_naming_result *ret)
{
	uint64_t start, end;
	ssize_t n;
	char *to;

	aif_buf_clear(&ret->scratch);
	to = aif_buf_reserve(&ret->scratch, AIF_NAME_MAX);
	if (!to)
		return -ENOMEM;
	n = m->have_elf ? aif_plt_name(&m->elf, address, to, AIF_NAME_MAX - 8, &start, &end) : -1;
	if (n <= 0)
		return 0;
	add_level(ret, ret->text.len, NULL, 0);
	aif_demangle(to, &ret->text);
	aif_naming_text(ret, "@plt", 4);
	return 1;
}

static int plt_extent(struct aif_symbols_module *m, uint64_t address, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	char name[256];

	return m->have_elf &&
	       aif_plt_name(&m->elf, address, name, sizeof(name), ret_start, ret_end) > 0;
}

static const struct aif_symbolizer plt_symbolizer = {"plt", plt_resolve, plt_extent};

static void made_up(struct aif_symbols_module *m, uint64_t address, struct aif_naming_result *ret)
{
	add_level(ret, ret->text.len, NULL, 0);
	aif_buf_printf(&ret->text, "[%.*s+0x%" PRIx64 "]", (int)m->label_len, m->label, address);
	aif_buf_putc(&ret->text, 0);
	ret->named = false;
}

static int fde_extent(struct aif_symbols_module *m, uint64_t address, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	const struct aif_fdes *fdes;
	const struct aif_fde *fde;
	int r = aif_module_fdes(m, &fdes);

	if (r < 0 || !(fde = aif_fdes_find(fdes, address)))
		return r;
	*ret_start = fde->start;
	*ret_end = fde->end;
	return 1;
}

static int fde_resolve(struct aif_symbols_module *m, uint64_t address,
		       struct aif_naming_result *ret)
{
	uint64_t start = 0, end;
	int r = fde_extent(m, address, &start, &end);

	if (r > 0)
		made_up(m, start, ret);
	return r;
}

static const struct aif_symbolizer fde_symbolizer = {"fde", fde_resolve, fde_extent};

static int address_resolve(struct aif_symbols_module *m, uint64_t address,
			   struct aif_naming_result *ret)
{
	made_up(m, address, ret);
	return 1;
}

static int address_extent(struct aif_symbols_module *m, uint64_t address, uint64_t *ret_start,
			  uint64_t *ret_end)
{
	(void)m, (void)address, (void)ret_start, (void)ret_end;
	return 0;
}

static const struct aif_symbolizer address_symbolizer = {"address", address_resolve,
							 address_extent};

const struct aif_symbolizer *const aif_symbolizers[] = {
	&pocl_symbolizer, &elf_symbolizer,     &plt_symbolizer,
	&fde_symbolizer,  &address_symbolizer, NULL,
};
