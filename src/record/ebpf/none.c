/* SPDX-License-Identifier: Apache-2.0 */
/* In builds without libbpf. */
#include "record/ebpf/ebpf.h"

#include "record/sources/sources.h"

#include <errno.h>

int aif_ebpf_probe(struct aif_err *err)
{
	return aif_err_set(
		err, -ENOTSUP,
		"--ebpf: this aiflame was built without it; build it where libbpf-dev, clang "
		"and bpftool are installed");
}

static int init(struct aif_drainer *d, struct aif_err *err)
{
	return d->opts->ebpf ? aif_ebpf_probe(err) : 0;
}

const struct aif_source aif_source_ebpf = {.name = "ebpf", .init = init};
