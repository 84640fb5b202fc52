/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cupti_crashes.h"

#include "base/signals.h"
#include "base/state.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE ((size_t)64 << 10)
#define MAX_LINE 512
/* Records of one look at the log: more than a program's end makes, less than a log that grows while
 * it is read. */
#define MAX_RECORDS 10000

/* ---- the file
 * ------------------------------------------------------------------------------------ */

void aif_cupti_id_text(const uint8_t id[AIF_SHM_CUPTI_ID], char ret[AIF_CUPTI_ID_TEXT])
{
	for (unsigned i = 0; i < AIF_SHM_CUPTI_ID; i++)
		snprintf(ret + (size_t)2 * i, 3, "%02x", id[i]);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_id(const char *text, uint8_t ret[AIF_SHM_CUPTI_ID])
{
	size_t len = strlen(text);
	bool any = false;

	if (!len || len % 2 || len > 2 * AIF_SHM_CUPTI_ID)
		return false;
	memset(ret, 0, AIF_SHM_CUPTI_ID);
	for (size_t i = 0; i < len; i++) {
		int d = digit(text[i]);

		if (d < 0)
			return false;
		ret[i / 2] = (uint8_t)(ret[i / 2] << 4 | d);
		any |= d;
	}
	return any;
}

static bool is_date(const char *text)
{
	static const char form[] = "dddd-dd-dd";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return false;
	return true;
}

static void put_command(char ret[81], const char *command)
{
	size_t n = strnlen(command, 80);

	/* A character of several bytes is not cut. */
	while (n && n < strlen(command) && ((unsigned char)command[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		ret[i] = iscntrl((unsigned char)command[i]) ? '?' : command[i];
	ret[n] = '\0';
}

static bool parse_line(const char *text, size_t len, struct aif_cupti_crash *ret)
{
	char line[MAX_LINE], *words[4], *at = line;
	uint32_t use = AIF_CUPTI_USE_BLOCKS;

	if (len >= sizeof(line) || memchr(text, '\0', len))
		return false;
	memcpy(line, text, len);
	line[len] = '\0';
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++) {
		words[i] = at;
		at += strcspn(at, " ");
		if (*at)
			*at++ = '\0';
	}
	while (use < AIF_CUPTI_USE_COUNT && strcmp(words[1], aif_cupti_use_name(use)) != 0)
		use++;
	if (use == AIF_CUPTI_USE_COUNT || !parse_id(words[0], ret->id) || !is_date(words[2]) ||
	    !aif_signal_number(words[3]))
		return false;
	ret->use = use;
	memcpy(ret->date, words[2], sizeof(ret->date));
	snprintf(ret->signal, sizeof(ret->signal), "%s", words[3]);
	put_command(ret->command, at);
	return true;
}

size_t aif_cupti_crashes_parse(const char *text, size_t len, struct aif_cupti_crash *ret,
			       size_t max)
{
	size_t n = 0;

	/* The last line first; one that has no end yet is being written. */
	while (len && text[len - 1] != '\n')
		len--;
	while (len) {
		size_t end = --len, i = 0;
		struct aif_cupti_crash crash;

		while (len && text[len - 1] != '\n')
			len--;
		if (!parse_line(text + len, end - len, &crash))
			continue;
		while (i < n && memcmp(ret[i].id, crash.id, sizeof(crash.id)) != 0)
			i++;
		if (i < n)
			ret[i].use = AIF_MAX(ret[i].use, crash.use);
		else if (n < max)
			ret[n++] = crash;
	}
	return n;
}

/* The descriptor if it is of a regular file of the user's, whoever can write to it otherwise; else
 * -1, and it is closed. */
static int only_own(int fd, struct stat *ret)
{
	if (fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_uid == geteuid())
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

size_t aif_cupti_crashes_load(struct aif_cupti_crash *ret, size_t max)
{
	struct aif_state_file file;
	size_t n = 0, crashes = 0;
	struct stat st;
	ssize_t got;
	char *text;
	off_t from;
	int fd;

	if (!aif_state_file(&file, AIF_STATE_CUPTI_CRASHES))
		return 0;
	fd = only_own(open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), &st);
	text = fd < 0 ? NULL : malloc(MAX_FILE);
	from = fd < 0 ? 0 : AIF_MAX(st.st_size - (off_t)MAX_FILE, 0);
	while (text && n < MAX_FILE &&
	       (got = pread(fd, text + n, MAX_FILE - n, from + (off_t)n)) > 0)
		n += (size_t)got;
	if (n) {
		/* A line that begins before is not whole. */
		const char *line = from ? memchr(text, '\n', n) : text;

		if (line)
			crashes =
				aif_cupti_crashes_parse(line, n - (size_t)(line - text), ret, max);
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return crashes;
}

static bool is_own_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Makes the directories of the file, each of which must be the user's own from $XDG_STATE_HOME or
 * $HOME on. */
static bool make_dirs(struct aif_state_file *file)
{
	char *at = file->path + file->base_len;
	bool own;

	for (bool is_base = true; at; at = strchr(at + 1, '/'), is_base = false) {
		*at = '\0';
		if (!is_base || file->is_xdg)
			mkdir(file->path, 0700);
		own = is_own_dir(file->path);
		*at = '/';
		if (!own)
			return false;
	}
	return true;
}

int aif_cupti_crashes_add(const struct aif_cupti_crash *crash)
{
	char line[MAX_LINE], id[AIF_CUPTI_ID_TEXT], command[81];
	const char *use = aif_cupti_use_name(crash->use);
	struct aif_state_file file;
	struct stat st;
	int fd, len, r;

	if (!use || crash->use == AIF_CUPTI_USE_AUTO)
		return -EINVAL;
	if (!aif_state_file(&file, AIF_STATE_CUPTI_CRASHES))
		return -ENOENT;
	if (!make_dirs(&file))
		return -EACCES;
	fd = only_own(open(file.path,
			   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			   0600),
		      &st);
	if (fd < 0)
		return -EACCES;
	aif_cupti_id_text(crash->id, id);
	put_command(command, crash->command);
	len = snprintf(line, sizeof(line), "%s %s %.10s %.11s %s\n", id, use, crash->date,
		       crash->signal, command);
	r = write(fd, line, (size_t)len) == len ? 0 : -EIO;
	close(fd);
	return r;
}

/* ---- the kernel's log
 * ---------------------------------------------------------------------------- */

bool aif_is_cupti_library(const char *library)
{
	static const char *const begins[] = {"libcupti.so", "libnvperf", "libcuda.so"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(begins); i++)
		if (!strncmp(library, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* "NAME[NUMBER]": where a thread is named; what follows it, or NULL. A name may hold anything,
 * brackets too. */
static const char *parse_thread(const char *text, struct aif_fault *ret)
{
	for (const char *open = strchr(text, '['); open; open = strchr(open + 1, '[')) {
		unsigned long long tid;
		char *end;

		if (!isdigit((unsigned char)open[1]))
			continue;
		tid = strtoull(open + 1, &end, 10);
		if (end[0] != ']' || (end[1] != ' ' && end[1] != ':') || tid > INT32_MAX)
			continue;
		ret->tid = (uint32_t)tid;
		snprintf(ret->name, sizeof(ret->name), "%.*s", (int)AIF_MIN(open - text, 15), text);
		return end + 1;
	}
	return NULL;
}

/*
 * A record is "PRIORITY,SEQUENCE,TIME,FLAGS;TEXT\n", then lines that begin with a blank. Texts of
 * x86 and arm64:
 *
 *     python3[1234]: segfault at 19 ip 00007f.. sp 00007f.. error 4 in libcupti.so.2025.3.1[7f..+25a000] likely on ...
 *     traps: python3[1234] general protection fault ip:7f.. sp:7f.. error:0 in libc.so.6[7f..+195000]
 *     traps: python3[1234] trap invalid opcode ip:7f.. sp:7f.. error:0 in libx.so[7f..+1000]
 *     python3[1234]: unhandled exception: DABT (lower EL), ESR 0x92000005, level 1 translation fault in libx.so[..]
 */
bool aif_fault_parse(const char *record, struct aif_fault *ret)
{
	static const char *const words[] = {"segfault at ", "general protection", "trap ",
					    "unhandled "};
	const char *text = strchr(record, ';'), *at, *in = NULL;
	struct aif_fault fault = {0};
	bool is_fault = false;
	char line[1024];
	size_t len;

	/* Priorities from 8 on are of other programs. */
	if (!text || !isdigit((unsigned char)*record) || record[1] != ',' || *record > '7')
		return false;
	text++;
	snprintf(line, sizeof(line), "%.*s", (int)AIF_MIN(strcspn(text, "\n"), sizeof(line) - 1),
		 text);
	at = line + (strncmp(line, "traps: ", 7) ? 0 : 7);
	at = parse_thread(at, &fault);
	for (size_t i = 0; at && i < AIF_ARRAY_LEN(words); i++)
		is_fault |= strstr(at, words[i]) != NULL;
	if (!is_fault)
		return false;
	for (const char *next = strstr(at, " in "); next; next = strstr(next + 1, " in "))
		in = next + 4;
	len = in ? strcspn(in, "[") : 0;
	if (len && in[len] == '[')
		snprintf(fault.library, sizeof(fault.library), "%.*s", (int)AIF_MIN(len, 63), in);
	*ret = fault;
	return true;
}

int aif_kernel_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_END) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

/* Is it of a thread that is looked for? A thread has the name of its program's file, or one of its
 * own. */
static bool is_of(const struct aif_fault *f, const struct aif_fault_of *of)
{
	for (size_t i = 0; i < of->tids_len; i++)
		if (of->tids[i] == f->tid)
			return true;
	for (size_t i = 0; i < AIF_ARRAY_LEN(of->names); i++) {
		const char *name = of->names[i], *slash = name ? strrchr(name, '/') : NULL;

		name = slash ? slash + 1 : name;
		/* python3 is a link to python3.11. */
		if (name && strlen(f->name) >= 3 && !strncmp(name, f->name, strlen(f->name)))
			return true;
	}
	return false;
}

enum aif_fault_place aif_kernel_log_find(int log, const struct aif_fault_of *of, char library[64])
{
	struct aif_fault fault, known = {0}, cupti = {0};
	char record[8192 + 1];

	*library = '\0';
	for (unsigned i = 0; log >= 0 && i < MAX_RECORDS; i++) {
		ssize_t n = read(log, record, sizeof(record) - 1);

		/* Records were overwritten before we could read them. */
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		record[n] = '\0';
		if (!aif_fault_parse(record, &fault) || !*fault.library)
			continue;
		if (aif_is_cupti_library(fault.library))
			cupti = fault;
		if (is_of(&fault, of) && !aif_is_cupti_library(known.library))
			known = fault;
	}
	/* A thread has a name of its own, and numbers are others in a container: who else would end
	 * in CUPTI now? */
	if (!*known.library)
		known = cupti;
	snprintf(library, 64, "%s", known.library);
	return !*library                       ? AIF_FAULT_UNKNOWN
	       : aif_is_cupti_library(library) ? AIF_FAULT_CUPTI
					       : AIF_FAULT_ELSEWHERE;
}
