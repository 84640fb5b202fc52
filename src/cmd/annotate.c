/* SPDX-License-Identifier: Apache-2.0 */
#include "export/annotate.h"

#include "cmd/choice.h"
#include "cmd/command.h"
#include "cmd/iga.h"
#include "cmd/nvdisasm.h"
#include "cmd/profile_arg.h"
#include "export/disasm.h"
#include "profile/file.h"

#include <errno.h>
#include <stdio.h>

struct values {
	const char *input;
	uint32_t min_ppm;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0, "the profile (aiflame.data)"},
	{0, "min", "PCT", AIF_OPT_PERCENT, AT(min_ppm), 0,
	 "leave out what has less of the kernel's samples; 0 shows all (0.5)"},
	{0},
};
static const struct values defaults = {.min_ppm = 5000};

struct disassemblers {
	struct aif_nvdisasm nvdisasm;
	struct aif_iga iga;
};

static void disassemble(void *arg, const struct aif_code *code, const char *arch,
			struct aif_buf *ret)
{
	struct disassemblers *d = arg;
	unsigned sm = aif_disasm_sm(arch);

	if (sm)
		aif_nvdisasm_text(&d->nvdisasm, code, sm, ret);
	else
		aif_iga_text(&d->iga, code, arch, ret);
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_view view = {0};
	struct aif_buf out = {0};
	struct disassemblers d = {.nvdisasm.p = &view.profile, .iga.p = &view.profile};
	struct aif_annotate_opts o = {.min_ppm = v->min_ppm,
				      .columns = aif_view_columns(),
				      .disassemble = disassemble,
				      .arg = &d};
	const char *path;
	int status = AIF_EXIT_FAILURE;

	if (words_len == 2)
		aif_view_put_in_order(&words[1], &words[0]);
	o.kernel = words[0];
	path = aif_view_path(v->input, words + 1, words_len - 1, err);
	if (!path)
		return AIF_EXIT_USAGE;
	if (aif_view_open(&view, path, err) == 0) {
		aif_view_tell_cut(path, &view.profile);
		if (aif_annotate_write(&view.profile, &view.attribution, &o, &out, err) == 0)
			status = aif_view_print_text(&out, err);
	}
	if (d.nvdisasm.is_missed && status == AIF_EXIT_OK)
		fputs("aiflame: names of instructions only: nvdisasm, which tells their operands, was not "
		      "found; put it into $PATH, it is in CUDA toolkits and in Triton\n",
		      stderr);
	if (d.iga.is_missed && status == AIF_EXIT_OK)
		fputs("aiflame: names of instructions only: IGA, which tells their operands, was not found or does "
		      "not know this device; install Intel's graphics compiler (Debian: libigc1)\n",
		      stderr);
	aif_nvdisasm_finish(&d.nvdisasm);
	aif_buf_finish(&out);
	aif_view_finish(&view);
	return status;
}

const struct aif_command aif_command_annotate = {
	.name = "annotate",
	.words = "KERNEL [FILE]",
	.summary = "a kernel's source and instructions with their samples",
	.description =
		"Lists the kernels whose name matches the expression KERNEL, most time first: the source lines\n"
		"that were sampled, then the instructions in the order of their addresses, each with its share of\n"
		"the kernel's samples and, on NVIDIA's and Intel's GPUs, with what the sampled threads waited for and the\n"
		"instruction behind that: `long_scoreboard 80 % waits for +0x0120 LDG`. aiflame report --stalls\n"
		"says what the reasons mean. `...` stands for instructions that have few samples: --min.\n"
		"\n"
		"The text of source lines is in the profile for programs that were built from source at run time.\n"
		"Operands of NVIDIA's instructions are shown where nvdisasm is found: in $PATH, $CUDA_HOME/bin,\n"
		"/usr/local/cuda/bin, or in the Triton package of a Python in $PATH; what it says is kept in the\n"
		"profile. Without it there are names only. Those of Intel's come from IGA (libiga64), a part of Intel's\n"
		"graphics compiler, in the same way. Long lines are cut where a terminal ends, not in pipes and files.",
	.examples =
		"aiflame annotate matmul\tthe kernels with matmul in their names\n"
		"aiflame annotate '^gemm$' run.data --min 0\tone kernel, each of its instructions\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 1,
	.max_words = 2,
	.run = run,
};
