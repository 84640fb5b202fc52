/* SPDX-License-Identifier: Apache-2.0 */
/* In builds without libbpf. */
#include "record/ebpf/ebpf.h"

#include <errno.h>

int aif_ebpf_probe(struct aif_err *err)
{
	return aif_err_set(
		err, -ENOTSUP,
		"--ebpf: this aiflame was built without; build it where libbpf-dev, clang "
		"and bpftool are");
}

int aif_ebpf_new(const struct aif_record_opts *opts, struct aif_ebpf **ret, struct aif_err *err)
{
	(void)opts, (void)ret;
	return aif_ebpf_probe(err);
}

void aif_ebpf_free(struct aif_drainer *d, struct aif_ebpf *e)
{
	(void)d, (void)e;
}

void aif_ebpf_drain(struct aif_drainer *d, struct aif_ebpf *e, uint64_t now, bool collect,
		    bool each_second)
{
	(void)d, (void)e, (void)now, (void)collect, (void)each_second;
}

void aif_ebpf_last(struct aif_drainer *d, struct aif_ebpf *e, uint64_t now, bool collect)
{
	(void)d, (void)e, (void)now, (void)collect;
}

uint64_t aif_ebpf_samples(const struct aif_ebpf *e)
{
	(void)e;
	return 0;
}

uint64_t aif_ebpf_launches(const struct aif_ebpf *e)
{
	(void)e;
	return 0;
}
