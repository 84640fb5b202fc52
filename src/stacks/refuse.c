/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"
#include "base/process.h"
#include "stacks/stacks.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void aif_stacks_refused(const struct aif_stacks_refusal *r, struct aif_err *err)
{
	if (r->uid != r->our_uid && !r->has_ptrace)
		aif_err_set(
			err, -EPERM,
			"process %d may not be read: it belongs to user %u; run this as that user "
			"or as root (sudo)%s",
			r->pid, (unsigned)r->uid,
			r->our_uid ? ""
				   : ", with the capability CAP_SYS_PTRACE (in a container: "
				     "--cap-add SYS_PTRACE)");
	else if (r->tracer)
		aif_err_set(
			err, -EPERM,
			"a thread of process %d may not be stopped: process %d traces it; end that "
			"debugger first",
			r->pid, r->tracer);
	else if (r->scope == 3)
		aif_err_set(
			err, -EPERM,
			"process %d may not be read: kernel.yama.ptrace_scope is 3, which nobody "
			"can undo until the machine starts anew",
			r->pid);
	else if (!r->has_ptrace && r->scope == 2)
		aif_err_set(
			err, -EPERM,
			"process %d may not be read: kernel.yama.ptrace_scope is 2; run this as root "
			"(sudo), or set it to 0: sudo sysctl kernel.yama.ptrace_scope=0",
			r->pid);
	else if (!r->has_ptrace && !r->is_dumpable)
		aif_err_set(
			err, -EPERM,
			"process %d may not be read: it has forbidden that (it is not dumpable, or "
			"has more rights than you); run this as root (sudo)",
			r->pid);
	else if (!r->has_ptrace && r->scope == 1)
		aif_err_set(
			err, -EPERM,
			"process %d may not be read: kernel.yama.ptrace_scope is 1, so that only who "
			"started a process may; run this as root (sudo), or set it to 0: sudo sysctl "
			"kernel.yama.ptrace_scope=0",
			r->pid);
	else
		aif_err_set(
			err, -EPERM,
			"process %d may not be read: a security module, a seccomp filter or a user "
			"namespace forbids it; in a container run this with the capability "
			"CAP_SYS_PTRACE (--cap-add SYS_PTRACE), or outside of it as root",
			r->pid);
}

static long number_of(const char *path, const char *name, int base)
{
	char text[8192];
	const char *at = text;

	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return -1;
	if (name)
		at = strstr(text, name);
	return at ? (long)strtoull(at + (name ? strlen(name) : 0), NULL, base) : -1;
}

void aif_stacks_refused_by(int pid, struct aif_err *err)
{
	struct aif_stacks_refusal r = {.pid = pid, .our_uid = geteuid()};
	char path[64];
	struct stat st;
	long caps;

	aif_proc_user(pid, &r.uid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	r.tracer = (int)AIF_MAX(number_of(path, "\nTracerPid:", 10), 0);
	caps = number_of("/proc/self/status", "\nCapEff:", 16);
	r.has_ptrace = caps > 0 && (uint64_t)caps >> CAP_SYS_PTRACE & 1;
	r.scope = (int)number_of("/proc/sys/kernel/yama/ptrace_scope", NULL, 10);
	/* Files of such a process belong to root; the folder does not. */
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	r.is_dumpable = stat(path, &st) < 0 || st.st_uid == r.uid;
	aif_stacks_refused(&r, err);
}
