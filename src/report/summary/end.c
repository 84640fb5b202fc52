/* SPDX-License-Identifier: Apache-2.0 */
#include "report/summary/parts.h"

#include "base/cupti_faults.h"
#include "base/human.h"
#include "base/signals.h"
#include "base/state.h"
#include "text/elide.h"
#include "names/names.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The line goes on for some 90 characters. */
#define COMMAND_COLUMNS 60

/* Cheaper uses of CUPTI, in the order in which to try them, and the one of the next recording. */
static const struct less {
	const char *use, *options, *next;
} less[] = {
	{"blocks", "--cupti throughout, --device-rate 0, --all-launches", "throughout"},
	{"throughout", "--cupti records, --cupti launches", "records"},
	{"records", "--cupti launches", "launches"},
	{"launches", "", NULL},
};

static const struct less *less_than(const char *use)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(less); i++)
		if (!strcmp(less[i].use, use))
			return &less[i];
	return NULL;
}

/* A number from 0 to 255; 0: there is none, or it is another. */
static int meta_byte(const struct aif_profile *p, const char *key)
{
	unsigned long n = strtoul(aif_profile_meta(p, key), NULL, 10);

	return n <= 255 ? (int)n : 0;
}

/* The signal that a status of 129 or more stands for where a shell gives it. Some programs use 129
 * and 141 otherwise. */
static int signal_of_status(int status)
{
	int number = status - 128;

	return aif_signal_is_crash(number) || number == SIGINT || number == SIGKILL ||
			       number == SIGTERM
		       ? number
		       : 0;
}

static void put_command(const struct aif_profile *p, struct aif_buf *out)
{
	const char *command = aif_profile_meta(p, "command");
	struct aif_buf clean = {0}, cut = {0};

	aif_name_sanitize(command, strnlen(command, 4096), &clean);
	aif_elide(clean.data, clean.len, COMMAND_COLUMNS, &cut);
	aif_buf_puts(out, *command ? aif_buf_str(&cut) : "the command");
	aif_buf_finish(&clean);
	aif_buf_finish(&cut);
}

/* "PROGRAM was ended by SIGSEGV (signal 11) in libx.so after 4.3 s; what was recorded until then is
 * kept" */
static void put_end(const struct aif_profile *p, int number, bool by_signal, struct aif_buf *out)
{
	const char *name = aif_signal_name(number), *library = aif_profile_meta(p, "end.in");

	put_command(p, out);
	if (by_signal && name)
		aif_buf_printf(out, " was %s by %s (signal %d)",
			       aif_signal_is_crash(number) ? "ended" : "stopped", name, number);
	else if (by_signal)
		aif_buf_printf(out, " was ended by signal %d", number);
	else
		aif_buf_printf(out, " exited with status %d, as after %s,", 128 + number, name);
	if (*library) {
		aif_buf_puts(out, " in ");
		aif_name_sanitize(library, strnlen(library, 64), out);
	}
	aif_buf_puts(out, " after ");
	aif_human_ns(out, p->end_ns - p->start_ns);
	if (number == SIGKILL && !strcmp(aif_profile_meta(p, "end.oom"), "0"))
		aif_buf_puts(
			out,
			", which the program or somebody else sent: the kernel's out-of-memory killer killed "
			"nothing meanwhile");
	else if (number == SIGKILL)
		aif_buf_puts(out, ", likely by the kernel's out-of-memory killer (see dmesg), "
				  "unless you sent it");
	else if (by_signal && number == SIGSYS)
		aif_buf_puts(
			out,
			", as at a call that a filter of system calls (seccomp) forbids: perhaps one of "
			"the agent's, if the program installed the filter by an instruction of its own "
			"(docs/troubleshooting.md)");
	aif_buf_puts(out, "; what was recorded until then is kept\n");
}

unsigned aif_summary_cupti(const struct aif_profile *p, struct aif_buf *out)
{
	uint32_t version = (uint32_t)strtoul(aif_profile_meta(p, "cupti.version"), NULL, 10);
	const struct aif_cupti_fault *first = aif_cupti_fault_next(version, NULL), *fault = first,
				     *last = first;
	unsigned others = 0;

	if (!first)
		return 0;
	while ((fault = aif_cupti_fault_next(version, fault)) != NULL) {
		others++;
		if (fault->fixed > last->fixed)
			last = fault;
	}
	aif_buf_puts(out, "cupti    ");
	aif_cupti_version_text(version, out);
	aif_buf_printf(out, " is known for %s", first->what);
	if (others)
		aif_buf_printf(out, " and %u other fault%s", others, others > 1 ? "s" : "");
	aif_buf_printf(out, ", fixed in %s: aiflame info\n", last->fixed_in);
	return 1;
}

/* Appends what to try where CUPTI was in use. Returns the number of lines. */
static unsigned put_advice(const struct aif_profile *p, struct aif_buf *out)
{
	const struct less *l = less_than(aif_profile_meta(p, "cupti.use"));
	const char *remembered = aif_profile_meta(p, "end.remembered");
	struct aif_state_file file;

	if (!l)
		return 0;
	aif_buf_puts(out, "try      does it also end without aiflame? If not, ");
	if (*l->options)
		aif_buf_printf(out, "in this order: record %s; and ", l->options);
	aif_buf_puts(out, "please report it\n");
	/* Elsewhere, or later, it may not be so any more. The file is our own: a profile could name
	 * any. */
	if (!*remembered || !aif_state_file(&file, AIF_STATE_CUPTI_CRASHES) ||
	    access(file.path, F_OK) < 0)
		return 1;
	aif_buf_puts(out, "         the next recording with this libcupti asks ");
	if (l->next)
		aif_buf_printf(out, "less of it (--cupti %s)", l->next);
	else
		aif_buf_puts(out, "no more of it");
	aif_buf_puts(out, "; forget it with: rm ");
	aif_buf_shell_path(out, file.path);
	aif_buf_putc(out, '\n');
	return 2;
}

unsigned aif_summary_end(const struct aif_profile *p, struct aif_buf *out)
{
	int number = meta_byte(p, "end.signal");
	bool by_signal = number > 0;

	if (p->traits.is_imported || *aif_profile_meta(p, "end.by"))
		return 0;
	if (!by_signal)
		number = signal_of_status(meta_byte(p, "exit_status"));
	if (number <= 0 || number > 64)
		return 0;
	put_end(p, number, by_signal, out);
	return aif_signal_is_crash(number) ? 1 + put_advice(p, out) : 1;
}
