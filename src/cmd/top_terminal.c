/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/top_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Alternate screen, no cursor, no wrapping; and back. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave[] = "\033[?2026l\033[0m\033[?7h\033[?25h\033[?1049l";

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
static struct sigaction before[sizeof(faults) / sizeof(*faults)];
static struct termios as_it_was, raw;
static volatile sig_atomic_t is_taken;
static int tty = -1;

static void restore(void)
{
	ssize_t n;

	if (!is_taken)
		return;
	is_taken = 0;
	n = write(STDOUT_FILENO, leave, sizeof(leave) - 1);
	(void)n;
	tcsetattr(tty, TCSAFLUSH, &as_it_was);
}

static void on_fault(int number)
{
	restore();
	signal(number, SIG_DFL);
	raise(number); /* which comes when this returns */
}

int aif_top_terminal_check(struct aif_err *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return aif_err_set(err, -ENOTTY,
				   "top: standard output is no terminal; use --once, with --format "
				   "json for programs");
	if (!term || !*term || !strcmp(term, "dumb"))
		return aif_err_set(err, -ENOTTY,
				   "top: TERM is %s: a terminal that can place its cursor is "
				   "needed; use --once",
				   term && *term ? term : "not set");
	return 0;
}

static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

int aif_top_terminal_enter(struct aif_top_terminal *t, struct aif_err *err)
{
	const char *no_color = getenv("NO_COLOR");
	struct sigaction fault = {.sa_handler = on_fault};
	ssize_t n;

	t->out = STDOUT_FILENO;
	t->in = isatty(STDIN_FILENO) ? STDIN_FILENO
		: tty >= 0           ? tty
				     : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	t->has_colours = !no_color || !*no_color;
	t->is_utf8 = is_utf8();
	tty = t->in;
	if (tty < 0 || tcgetattr(tty, &as_it_was) < 0)
		return aif_err_set(err, -errno, "top: cannot read keys: %s; use --once",
				   strerror(errno));
	raw = as_it_was;
	raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | ISTRIP | IXON);
	raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | IEXTEN | ISIG);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		sigaction(faults[i], &fault, &before[i]);
	is_taken = 1;
	if (tcsetattr(tty, TCSAFLUSH, &raw) < 0) {
		aif_top_terminal_leave(t);
		return aif_err_set(err, -errno, "top: cannot set the terminal: %s; use --once",
				   strerror(errno));
	}
	n = write(STDOUT_FILENO, enter, sizeof(enter) - 1);
	(void)n;
	return 0;
}

void aif_top_terminal_resume(struct aif_top_terminal *t)
{
	ssize_t n;

	if (!is_taken)
		return;
	tcsetattr(t->in, TCSADRAIN, &raw);
	n = write(t->out, enter, sizeof(enter) - 1);
	(void)n;
}

void aif_top_terminal_leave(struct aif_top_terminal *t)
{
	(void)t;
	if (!is_taken)
		return;
	restore();
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		sigaction(faults[i], &before[i], NULL);
}

void aif_top_terminal_size(const struct aif_top_terminal *t, unsigned *ret_columns,
			   unsigned *ret_rows)
{
	struct winsize size = {0};

	if (ioctl(t->out, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){.ws_col = 80, .ws_row = 24};
	*ret_columns = size.ws_col;
	*ret_rows = size.ws_row;
}
