/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rights.h"

#include "base/proc.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OVERRIDES (UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH)

/* Reads "real effective saved file-system" behind `name`: the real one, or the last one if that is 0. */
static int read_id(const char *status, const char *name, unsigned *ret)
{
	const char *at = strstr(status, name);
	unsigned real, files;

	if (!at || sscanf(at + strlen(name), "%u %*u %*u %u", &real, &files) != 2)
		return -EPROTO;
	*ret = real ? real : files;
	return 0;
}

int aif_rights_of(int pid, struct aif_rights *ret)
{
	static const char groups[] = "\nGroups:", effective[] = "\nCapEff:";
	char path[64], status[8192], *end;
	unsigned uid, gid;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	n = aif_proc_read(path, status, sizeof(status));
	if (n < 0)
		return (int)n;
	if (read_id(status, "\nUid:", &uid) < 0 || read_id(status, "\nGid:", &gid) < 0)
		return -EPROTO;
	*ret = (struct aif_rights){.uid = uid, .gid = gid};
	at = strstr(status, groups);
	for (at = at ? at + sizeof(groups) - 1 : ""; ret->groups_len < AIF_RIGHTS_GROUPS;
	     at = end) {
		unsigned long group;

		at += strspn(at, "\t ");
		group = strtoul(at, &end, 10);
		if (end == at)
			break;
		ret->groups[ret->groups_len++] = (gid_t)group;
	}
	at = strstr(status, effective);
	ret->overrides =
		uid == 0 && at && strtoull(at + sizeof(effective) - 1, NULL, 16) & OVERRIDES;
	return 0;
}

/* Gets, and sets if `set`, the calling thread's effective capabilities. */
static int effective(bool set, uint64_t *caps)
{
	struct __user_cap_header_struct self = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &self, d) < 0)
		return -errno;
	if (!set) {
		*caps = (uint64_t)d[1].effective << 32 | d[0].effective;
		return 0;
	}
	d[0].effective = (uint32_t)*caps;
	d[1].effective = (uint32_t)(*caps >> 32);
	return syscall(SYS_capset, &self, d) < 0 ? -errno : 0;
}

void aif_rights_give_back(const struct aif_rights_before *b)
{
	uint64_t caps = b->effective;

	if (!b->changed)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	(void)effective(true, &caps);
	syscall(SYS_setgroups, b->groups_len, b->groups);
}

int aif_rights_take(const struct aif_rights *r, struct aif_rights_before *ret)
{
	uint64_t caps;
	int e;

	*ret = (struct aif_rights_before){0};
	if (geteuid() != 0 || r->overrides)
		return 0;
	e = effective(false, &ret->effective);
	ret->groups_len = getgroups(AIF_RIGHTS_GROUPS, ret->groups);
	if (e < 0 || ret->groups_len < 0)
		return e < 0 ? e : -errno;
	ret->changed = true;
	caps = ret->effective & ~OVERRIDES;
	if (syscall(SYS_setgroups, r->groups_len, r->groups) < 0)
		e = -errno;
	setfsgid(r->gid);
	setfsuid(r->uid);
	/* Setting -1 changes nothing, and returns the id. */
	if (!e && ((uid_t)setfsuid((uid_t)-1) != r->uid || (gid_t)setfsgid((gid_t)-1) != r->gid))
		e = -EPERM;
	/* The kernel takes these away from a user that is not root; a root that lacks them is left. */
	if (!e && r->uid == 0)
		e = effective(true, &caps);
	if (e < 0)
		aif_rights_give_back(ret);
	return e;
}
