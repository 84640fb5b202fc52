/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what is read from a zebin: zebin_see FILE KERNEL CODE. A line "kernel NAME ARCH SIZE", then one for each
 * instruction: its offset, its name, its size, the scoreboard that it marks and the set that it waits for, the source
 * line of the innermost function. The instructions themselves go to the file CODE. */
#include "base/buf.h"
#include "isa/intel_eu.h"
#include "symbolize/device_object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void see(struct aif_device_object *o, const struct aif_device_function *f, FILE *to)
{
	const char *arch = aif_device_object_arch(o);
	enum aif_intel_eu gen = aif_intel_eu_of(arch);
	struct aif_device_level levels[8];
	char text[AIF_INTEL_EU_TEXT];
	struct aif_intel_eu_insn i;
	const uint8_t *code;
	size_t n;

	code = aif_device_elf_code(aif_device_object_elf(o), f, &n);
	fwrite(code, 1, n, to);
	printf("kernel %.*s %s %zu\n", (int)f->name_len, f->name, arch, n);
	for (size_t at = 0; at < n; at += i.size) {
		int depth = aif_device_object_resolve(o, f->symbol, at, levels, 8);

		aif_intel_eu_decode(code + at, n - at, gen, &i);
		aif_intel_eu_text(&i, text);
		printf("%zx %s %u %d %x %" PRIu32 "\n", at, text, i.size, i.marks, i.waits,
		       depth > 0 ? levels[depth - 1].line : 0);
	}
}

int main(int argc, char **argv)
{
	FILE *f = argc == 4 ? fopen(argv[1], "rb") : NULL,
	     *to = argc == 4 ? fopen(argv[3], "wb") : NULL;
	const struct aif_device_function *kernel;
	struct aif_device_object *o;
	struct aif_buf bytes = {0};
	size_t n;

	if (!f || !to)
		return 2;
	while ((n = fread(aif_buf_reserve(&bytes, 65536), 1, 65536, f)) > 0)
		bytes.len += n;
	fclose(f);
	if (aif_device_object_new(bytes.data, bytes.len, &o) < 0)
		return 1;
	kernel = aif_device_elf_by_name(aif_device_object_elf(o), argv[2]);
	if (kernel)
		see(o, kernel, to);
	aif_device_object_free(o);
	return fclose(to) == 0 && kernel ? 0 : 1;
}
