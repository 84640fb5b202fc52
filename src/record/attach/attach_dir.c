/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/attach_dir.h"

#include "base/clock.h"
#include "base/open_regular.h"
#include "base/process.h"
#include "base/process_open.h"
#include "base/process_read.h"
#include "wire/handshake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT "libaiflame-agent"
/* Names of another user's directory that are read in one look, some 10 ms: it may have any number of others. */
#define FOREIGN_NAMES_MAX 16384u
/* Files that are taken away with a recording: agents leave some thousands, and its owner may have made any number. */
#define REMOVED_MAX 65536u
/* Prefix that the kernel puts before it where the file is an injector's (inject/inject.h). */
#define INJECTED "memfd:"

void aif_standby_default(char path[AIF_STANDBY_DIR_MAX])
{
	const char *given = getenv(AIF_ENV_STANDBY), *run = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (given && *given == '/' && strlen(given) < AIF_STANDBY_DIR_MAX)
		snprintf(path, AIF_STANDBY_DIR_MAX, "%s", given);
	else if (run && *run == '/' && strlen(run) + 9 < AIF_STANDBY_DIR_MAX &&
		 stat(run, &st) == 0 && st.st_uid == geteuid())
		snprintf(path, AIF_STANDBY_DIR_MAX, "%s/aiflame", run);
	else
		snprintf(path, AIF_STANDBY_DIR_MAX, "/tmp/aiflame-%u", (unsigned)geteuid());
}

static uint64_t namespace_of(const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* Did the process `pid` start when the page says? In another time namespace that is another number, and may be rounded
 * otherwise. */
static bool has_started_as(const struct aif_standby_page *page, int pid)
{
	const int64_t tick_ns = (int64_t)AIF_NS_PER_S / AIF_MAX(sysconf(_SC_CLK_TCK), 1);
	struct aif_proc_clocks clocks;
	char number[16];
	uint64_t started;
	int64_t off;

	snprintf(number, sizeof(number), "%d", pid);
	if (aif_standby_started(number, &started) < 0)
		return false;
	if (started == page->started)
		return true;
	if (!aif_proc_clocks(pid, &clocks) || !clocks.boottime)
		return false;
	off = (int64_t)(started - page->started) - (int64_t)clocks.boottime / tick_ns;
	return off >= -1 && off <= 1;
}

/* Is `pid` here what the page calls page->pid in its own namespace? */
static bool is_process(const struct aif_standby_page *page, int pid)
{
	char path[64], number[16], line[256];
	unsigned inner = 0;
	FILE *f;

	snprintf(number, sizeof(number), "%d", pid);
	if (!has_started_as(page, pid) || namespace_of(number) != page->pid_namespace)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6) && strrchr(line, '\t'))
			inner = (unsigned)strtoul(strrchr(line, '\t') + 1, NULL, 10);
	if (f)
		fclose(f);
	return inner == page->pid;
}

/* False: it has ended. */
static bool find_process(struct aif_standby_entry *e, uint64_t own_namespace, const int *look_for)
{
	const struct aif_standby_page *page = &e->page;
	struct aif_standby_maps maps;

	if (page->pid_namespace != own_namespace) {
		for (; look_for && *look_for && !e->pid; look_for++)
			if (is_process(page, *look_for))
				e->pid = *look_for;
		return true;
	}
	e->pid = (int)page->pid;
	/* The number may be another's by now, or the process another program's. */
	return has_started_as(page, e->pid) &&
	       (aif_standby_maps(e->pid, e->inode, &maps) < 0 || maps.has_page);
}

/* A text of another's: it ends, and does nothing to the terminal that it is printed on. */
static void tame(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = '?';
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

static bool is_page_name(const char *name)
{
	return strlen(name) < AIF_STANDBY_NAME_MAX && ends_with(name, AIF_STANDBY_SUFFIX);
}

static bool read_page(int dir, const char *name, struct aif_standby_entry *e)
{
	struct stat st;

	*e = (struct aif_standby_entry){.fd = -1};
	memcpy(e->name, name, strlen(name) + 1);
	e->fd = aif_open_regular_beside(dir, name, O_RDWR);
	if (e->fd < 0 || fstat(e->fd, &st) < 0 ||
	    pread(e->fd, &e->page, sizeof(e->page), 0) != (ssize_t)sizeof(e->page) ||
	    e->page.magic != AIF_STANDBY_MAGIC)
		return false;
	e->inode = st.st_ino;
	e->uid = st.st_uid;
	tame(e->page.runtime, sizeof(e->page.runtime));
	tame(e->page.version, sizeof(e->page.version));
	tame(e->page.call.socket, sizeof(e->page.call.socket));
	tame(e->page.call.name, sizeof(e->page.call.name));
	return true;
}

static DIR *list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static unsigned names_max(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_uid == geteuid() ? UINT_MAX : FOREIGN_NAMES_MAX;
}

unsigned aif_standby_pages(int dir, const int *look_for, uint64_t until_ns,
			   bool (*fn)(void *arg, struct aif_standby_entry *entry), void *arg)
{
	uint64_t own = namespace_of("self");
	unsigned pages = 0, names = until_ns ? FOREIGN_NAMES_MAX : UINT_MAX;
	struct dirent *d;
	bool more = true;
	DIR *at = list(dir);

	while (at && more && names-- && (d = readdir(at)) != NULL) {
		struct aif_standby_entry e;

		if (!is_page_name(d->d_name) || pages++ >= AIF_STANDBY_PAGES_MAX)
			continue;
		/* Each page may name a process whose maps take milliseconds to read. */
		if (until_ns && aif_now_ns() > until_ns)
			break;
		if (read_page(dir, d->d_name, &e)) {
			if (find_process(&e, own, look_for))
				more = fn(arg, &e);
			else if (flock(e.fd, LOCK_EX | LOCK_NB) == 0)
				unlinkat(dir, e.name, 0);
		}
		if (e.fd >= 0)
			close(e.fd);
	}
	if (at)
		closedir(at);
	return pages - AIF_MIN(pages, AIF_STANDBY_PAGES_MAX);
}

static bool is_recording_name(const char *name)
{
	return !strncmp(name, AIF_STANDBY_RECORDING, sizeof(AIF_STANDBY_RECORDING) - 1);
}

static bool read_recording(int dir, const char *name, struct aif_standby_found *f)
{
	struct aif_standby_recording *a = &f->about;
	char path[128];
	ssize_t n;
	int fd;

	*f = (struct aif_standby_found){.name = ""};
	if (strlen(name) >= sizeof(f->name))
		return false;
	memcpy(f->name, name, strlen(name) + 1);
	snprintf(path, sizeof(path), "%s/about", f->name);
	fd = aif_open_regular_beside(dir, path, O_RDONLY);
	if (fd < 0)
		return false;
	n = pread(fd, a, sizeof(*a), 0);
	/* A recorder that lives holds the lock. */
	f->has_ended = flock(fd, LOCK_SH | LOCK_NB) == 0;
	close(fd);
	if (n != (ssize_t)sizeof(*a) || a->magic != AIF_STANDBY_MAGIC)
		return false;
	tame(a->call.socket, sizeof(a->call.socket));
	tame(a->call.name, sizeof(a->call.name));
	tame(a->command, sizeof(a->command));
	tame(a->output, sizeof(a->output));
	return true;
}

void aif_standby_recordings(int dir, bool (*fn)(void *arg, const struct aif_standby_found *found),
			    void *arg)
{
	struct aif_standby_found found;
	unsigned recordings = 0, names = names_max(dir);
	struct dirent *d;
	bool more = true;
	DIR *at = list(dir);

	while (at && more && recordings < AIF_STANDBY_PAGES_MAX && names-- &&
	       (d = readdir(at)) != NULL) {
		if (!is_recording_name(d->d_name))
			continue;
		recordings++;
		if (read_recording(dir, d->d_name, &found))
			more = fn(arg, &found);
	}
	if (at)
		closedir(at);
}

void aif_standby_empty(int fd)
{
	static const char *const files[] = {"agent", AIF_STANDBY_ABOUT, AIF_STANDBY_ABOUT_NEW};
	unsigned left = REMOVED_MAX;
	struct dirent *d;
	DIR *at;

	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++)
		unlinkat(fd, files[i], 0);
	at = list(fd);
	while (at && left-- && (d = readdir(at)) != NULL)
		if (ends_with(d->d_name, AIF_OBJECT_SUFFIX) ||
		    ends_with(d->d_name, AIF_OBJECT_PART))
			unlinkat(fd, d->d_name, 0);
	if (at)
		closedir(at);
}

void aif_standby_remove(int dir, const char *recording)
{
	int fd = openat(dir, recording, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	aif_standby_empty(fd);
	close(fd);
	unlinkat(dir, recording, AT_REMOVEDIR);
}

static void maps_line(const char *line, ino_t page, struct aif_standby_maps *ret)
{
	static const char *const runtimes[] = {"libze_loader.so"}, *const drivers[] = {
									   "libcuda.so",
									   "libnvidia-opencl.so",
									   "libpocl.so",
									   "libigdrcl.so",
									   "libamdocl64.so"};
	static const char loader[] = "libOpenCL";
	unsigned long inode = 0;
	const char *path_of = strchr(line, '/'), *file = strrchr(line, '/');

	if (sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1 || !inode || !file)
		return;
	for (size_t i = 0; i < AIF_ARRAY_LEN(runtimes); i++)
		ret->has_runtime |= !strncmp(file + 1, runtimes[i], strlen(runtimes[i]));
	for (size_t i = 0; i < AIF_ARRAY_LEN(drivers); i++)
		ret->has_driver |= !strncmp(file + 1, drivers[i], strlen(drivers[i]));
	/* Wheels of Python have "libOpenCL-1a2b3c4d.so.1". */
	ret->has_loader |= !strncmp(file + 1, loader, sizeof(loader) - 1) &&
			   strchr(".-", file[sizeof(loader)]);
	ret->has_device |=
		!strncmp(path_of, "/dev/nvidia", 11) || !strncmp(path_of, "/dev/dri/", 9);
	if (!strncmp(file + 1, INJECTED AGENT, sizeof(INJECTED AGENT) - 1))
		ret->has_agent = ret->is_injected = true;
	ret->has_agent |= !strncmp(file + 1, AGENT, sizeof(AGENT) - 1);
	if ((page && inode != page) || !strstr(file, AIF_STANDBY_SUFFIX))
		return;
	ret->has_page = true;
	if ((size_t)(file - path_of) < sizeof(ret->dir))
		snprintf(ret->dir, sizeof(ret->dir), "%.*s", (int)(file - path_of), path_of);
}

void aif_standby_maps_read(char *text, ino_t page, struct aif_standby_maps *ret)
{
	char *line, *rest = NULL;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		maps_line(line, page, ret);
}

/* The kernel writes a path below the reader's root directory as from there, and else as from that of its mount namespace: of a
 * process in a chroot() of ours, takes away what is above its own. */
static void into_root(int pid, char dir[AIF_STANDBY_DIR_MAX])
{
	char path[64], root[AIF_STANDBY_DIR_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	len = readlink(path, root, sizeof(root));
	if (len > 1 && (size_t)len < sizeof(root) && !strncmp(dir, root, (size_t)len) &&
	    dir[len] == '/')
		memmove(dir, dir + len, strlen(dir + len) + 1);
}

int aif_standby_maps(int pid, ino_t page, struct aif_standby_maps *ret)
{
	struct aif_buf text = {0};
	int r = aif_process_text(pid, "maps", AIF_PROCESS_MAPS_MAX, &text);

	*ret = (struct aif_standby_maps){.has_agent = false};
	if (r == -EFBIG) /* looked at as far as it goes */
		r = 0;
	aif_buf_putc(&text, '\0');
	if (!r && aif_buf_failed(&text))
		r = -ENOMEM;
	if (!r)
		aif_standby_maps_read((char *)text.data, page, ret);
	if (*ret->dir)
		into_root(pid, ret->dir);
	aif_buf_finish(&text);
	return r;
}

int aif_standby_variable(const char *block, size_t block_size, const char *name, char *ret,
			 size_t size)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < block_size;) {
		const char *entry = block + at;
		size_t n = strnlen(entry, block_size - at);

		if (n > len && entry[len] == '=' && !strncmp(entry, name, len) &&
		    n - len - 1 < size) {
			memcpy(ret, entry + len + 1, n - len - 1);
			ret[n - len - 1] = '\0';
			return 0;
		}
		at += n + 1;
	}
	return -ENOENT;
}

int aif_standby_environment(int pid, const char *name, char *ret, size_t size)
{
	struct aif_buf text = {0};
	int r;

	/* A process may say that its environment is any part of its address space, at no cost to itself. */
	r = aif_process_text(pid, "environ", AIF_PROCESS_ENVIRON_MAX, &text);
	if (!r)
		r = text.len ? aif_standby_variable((const char *)text.data, text.len, name, ret,
						    size)
			     : -EAGAIN;
	aif_buf_finish(&text);
	return r;
}

/* 1: yes, 0: no; -ETIMEDOUT: it keeps us waiting. */
static int is_waiting(int pid, const struct stat *dir)
{
	char standby[AIF_STANDBY_DIR_MAX];
	struct aif_standby_maps maps;
	struct stat st;
	bool is_here;
	int fd, r;

	r = aif_standby_environment(pid, AIF_ENV_STANDBY, standby, sizeof(standby));
	if (r < 0)
		return r == -ETIMEDOUT ? r : 0;
	/* The path is the process's own, which may be in a container. */
	fd = aif_process_open_dir(pid, standby);
	if (fd < 0)
		return fd == -ETIMEDOUT ? fd : 0;
	is_here = fstat(fd, &st) == 0 && st.st_dev == dir->st_dev && st.st_ino == dir->st_ino;
	close(fd);
	if (!is_here)
		return 0;
	r = aif_standby_maps(pid, 0, &maps);
	return r == -ETIMEDOUT ? r : r == 0 && maps.has_agent && !maps.has_page;
}

unsigned aif_standby_waiting(int dir, void (*fn)(void *arg, int pid), void *arg)
{
	const struct dirent *d;
	unsigned unread = 0;
	struct stat st;
	DIR *proc;
	char *end;

	if (dir < 0 || fstat(dir, &st) < 0)
		return 0;
	proc = opendir("/proc");
	while (proc && (d = readdir(proc)) != NULL) {
		long pid = strtol(d->d_name, &end, 10);
		int r;

		if (*end || pid <= 0 || pid == getpid())
			continue;
		r = is_waiting((int)pid, &st);
		if (r > 0)
			fn(arg, (int)pid);
		unread += r < 0;
	}
	if (proc)
		closedir(proc);
	return unread;
}
