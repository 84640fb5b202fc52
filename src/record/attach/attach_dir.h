/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/standby.h"

#include <sys/types.h>

/*
 * Reads a standby directory (wire/standby.h) for the recorder and for `ctl`. All of it is hostile:
 * its owner may be another user when root looks.
 */

#define AIF_STANDBY_ABOUT     "about"
#define AIF_STANDBY_ABOUT_NEW "about.new" /* not announced yet */

/* The directory that `aiflame env` prints: $AIFLAME_STANDBY, else one below $XDG_RUNTIME_DIR, else
 * /tmp/aiflame-UID. */
void aif_standby_default(char path[AIF_STANDBY_DIR_MAX]);

/* A page. fd is the visitor's: it may keep it by setting it to -1. */
struct aif_standby_entry {
	struct aif_standby_page page; /* texts are terminated, and may be printed */
	char name[AIF_STANDBY_NAME_MAX];
	ino_t inode;
	uid_t uid;
	int fd;
	int pid; /* here; 0: of another namespace */
};
/* Pages, and recordings, that are opened in one look: opening one and reading whose it is takes up to 0.1 ms, and its owner may
 * have made any number. */
#define AIF_STANDBY_PAGES_MAX 4096u
/* Calls fn for each page until it returns false. The pages of processes that have ended are taken away. `look_for`: of another
 * namespace's processes these are found; ends with 0. `until_ns`: of a directory of another user, or of a container,
 * the time (aif_now_ns()) when to leave off, and the first 16,384 names are read; 0: it is ours. Returns how many more than
 * AIF_STANDBY_PAGES_MAX there are. */
unsigned aif_standby_pages(int dir, const int *look_for, uint64_t until_ns,
			   bool (*fn)(void *arg, struct aif_standby_entry *entry), void *arg);

/* A recording. */
struct aif_standby_found {
	struct aif_standby_recording about; /* texts are terminated, and may be printed */
	char name[64];                      /* its directory */
	bool has_ended;
};
void aif_standby_recordings(int dir, bool (*fn)(void *arg, const struct aif_standby_found *found),
			    void *arg);
/* Takes away what a recorder left that has died. */
void aif_standby_remove(int dir, const char *recording);
/* Takes away what recorders and agents make in a recording's directory. */
void aif_standby_empty(int recording);

/* Facts from the memory map of a process. 0, -ETIMEDOUT (bounded.h) or -errno. */
struct aif_standby_maps {
	bool has_agent, has_page;      /* the page: a mapping of that inode; 0: of any */
	bool is_injected;              /* the agent was put into it (inject/inject.h) */
	bool has_runtime;              /* it has a runtime that lets no tool in later */
	bool has_driver;               /* it has the driver of one that does */
	bool has_loader;               /* it has OpenCL's loader */
	bool has_device;               /* it has mapped memory of a GPU's device node */
	char dir[AIF_STANDBY_DIR_MAX]; /* of the page, as the process sees it; "": not known */
};
int aif_standby_maps(int pid, ino_t page, struct aif_standby_maps *ret);
/* Adds what a text of /proc/PID/maps, which is changed, says of a process. */
void aif_standby_maps_read(char *text, ino_t page, struct aif_standby_maps *ret);

/* Processes here that are on standby in this directory, but have no page, since no runtime has started in them. Those
 * into which we do not see are left out. Returns how many could not be read in time (bounded.h). */
unsigned aif_standby_waiting(int dir, void (*fn)(void *arg, int pid), void *arg);

/* A variable of a process's environment when it was started. 0, -ENOENT (it is not there), -EAGAIN (there is no
 * environment at all: perhaps it calls exec), -EFBIG (no exec() made that), -ETIMEDOUT (bounded.h) or -errno. */
int aif_standby_environment(int pid, const char *name, char *ret, size_t size);
/* Finds a variable in a block of NAME=VALUE strings that end with a zero byte each, as /proc/PID/environ has them. 0 or -ENOENT. */
int aif_standby_variable(const char *block, size_t block_size, const char *name, char *ret,
			 size_t size);
