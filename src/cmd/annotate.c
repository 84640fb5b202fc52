/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate.h"

#include "analysis/cpu_totals.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "cmd/selection.h"
#include "probe/disassembler.h"
#include "profile/file.h"

#include <errno.h>

enum { OF_NOT_GIVEN = -1, OF_DEVICE, OF_CPU, OF_HOST };

struct values {
	const char *input;
	int of;
	uint32_t min_ppm;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0, "the profile (aiflame.data)"},
	{0, "of", "device|cpu|host", AIF_OPT_CHOICE, AT(of), 0,
	 "kernels on devices; functions on CPUs; functions by the device time launched from "
	 "their lines (device, where anything ran on one; host, then cpu, where no kernel matches)"},
	{0, "min", "PCT", AIF_OPT_PERCENT, AT(min_ppm), 0,
	 "hide lines and instructions with a smaller share of the kernel's samples; 0 shows "
	 "all (0.5)"},
	{0},
};
static const struct values defaults = {.min_ppm = 5000, .of = OF_NOT_GIVEN};

static int listing_write(int of, const struct aif_view *view, const struct aif_annotate_opts *o,
			 struct aif_buf *out, struct aif_err *err)
{
	if (of == OF_CPU)
		return aif_annotate_cpu_write(&view->names, o, out, err);
	if (of == OF_HOST)
		return aif_annotate_host_write(&view->names, &view->attribution, o, out, err);
	return aif_annotate_write(&view->names, &view->attribution, o, out, err);
}

/* True if nothing ran on a device and threads were sampled. */
static bool has_only_cpu(const struct aif_view *view)
{
	struct aif_cpu_totals cpu = {0};
	bool has = !view->attribution.rows_len && !view->profile.devices_len &&
		   aif_cpu_totals(&view->profile, NULL, &cpu, NULL) == 0 && cpu.samples;

	aif_cpu_totals_finish(&cpu);
	return has;
}

/* Lists what was asked for; where no kernel matches a name alone, the host function that launches, or that has CPU time. */
static int listing_find(const struct values *v, const struct aif_view *view,
			const struct aif_annotate_opts *o, struct aif_buf *out, struct aif_err *err)
{
	static const int others[] = {OF_HOST, OF_CPU};
	struct aif_err none = {0};
	int of = v->of != OF_NOT_GIVEN ? v->of : has_only_cpu(view) ? OF_CPU : OF_DEVICE;
	int r = listing_write(of, view, o, out, err);

	if (r != -ENODATA || v->of != OF_NOT_GIVEN || of != OF_DEVICE)
		return r;
	for (size_t i = 0; i < AIF_ARRAY_LEN(others) && r; i++) {
		aif_buf_clear(out);
		none = (struct aif_err){0};
		r = listing_write(others[i], view, o, out, &none);
		if (r && r != -ENODATA)
			break;
	}
	if (!r)
		*err = (struct aif_err){0};
	else if (r != -ENODATA)
		*err = none;
	return r;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_view view = {0};
	struct aif_buf out = {0};
	struct aif_disassemblers d = {0};
	struct aif_annotate_opts o = {.min_ppm = v->min_ppm, .columns = aif_view_columns()};
	const char *path;
	int status = AIF_EXIT_FAILURE;

	if (words_len == 2)
		aif_view_put_in_order(&words[1], &words[0]);
	aif_disassemblers_init(&d, &view.profile);
	o.disassemble = aif_disassemblers_text;
	o.arg = &d;
	o.kernel = words[0];
	path = aif_view_path(v->input, words + 1, words_len - 1, err);
	if (!path)
		return AIF_EXIT_USAGE;
	aif_selection_note_name("annotate:", o.kernel);
	if (aif_view_open(&view, path, err) == 0) {
		aif_view_report_cut(path, &view.profile);
		if (listing_find(v, &view, &o, &out, err) == 0 &&
		    aif_profile_check(&view.profile, path, err) == 0)
			status = aif_view_print_text(&out, err);
	}
	if (status == AIF_EXIT_OK)
		aif_disassemblers_report_missed(&d, aif_message);
	if (status != AIF_EXIT_OK && !err->code)
		aif_profile_check(&view.profile, path, err);
	aif_disassemblers_finish(&d);
	aif_buf_finish(&out);
	aif_view_finish(&view);
	return status;
}

const struct aif_command aif_command_annotate = {
	.name = "annotate",
	.words = "KERNEL [FILE]",
	.summary = "a kernel's source and instructions with their samples",
	.description =
		"Lists the kernels whose names match the expression KERNEL, most time first: the\n"
		"source lines that were sampled, then the instructions by address, each with its\n"
		"share of the kernel's samples and, on NVIDIA's and Intel's GPUs, what the\n"
		"sampled threads waited for and the instruction that causes the wait:\n"
		"`long_scoreboard 80 % waits for +0x0120 LDG`. aiflame report --stalls explains\n"
		"the reasons. `...` stands for instructions with few samples (--min).\n\n"
		"Of a program that used no device, or with --of cpu, KERNEL names functions on CPUs:\n"
		"their lines and, recorded with --cpu, their instructions, with their CPU time; of a\n"
		"function that spends it in others also its lines with what each calls. With\n"
		"--of host it names functions that launch, Python's too, the program's own first:\n"
		"their lines, with the device time that each launched, by itself or by what it calls.\n"
		"Names of Python's functions match with \" (file.py)\" behind them and without.\n\n"
		"The profile has the text of lines of programs that were built from source at run\n"
		"time, and of files that had not changed since it began. Operands of NVIDIA's\n"
		"instructions come from nvdisasm, which is searched in $PATH, $CUDA_HOME/bin,\n"
		"/usr/local/cuda/bin and the Triton package of a Python in $PATH; its output is kept\n"
		"in the profile. Operands of Intel's come in the same way from IGA (libiga64), a part\n"
		"of Intel's graphics compiler.\n"
		"Without these tools only mnemonics are shown. Long lines are cut at the width of\n"
		"a terminal, not in pipes and files.",
	.examples =
		"aiflame annotate matmul\tthe kernels with matmul in their names\n"
		"aiflame annotate --of host forward run.data\twhich lines of forward() cost device time\n"
		"aiflame annotate --of cpu '^gemm' run.data\ta function of the program itself\n"
		"aiflame annotate '^gemm$' run.data --min 0\tone kernel, each of its instructions\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 1,
	.max_words = 2,
	.run = run,
};
