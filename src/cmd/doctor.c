/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "probe/doctor_intel.h"
#include "probe/doctor_nvidia.h"
#include "record/attach/agent_path.h"
#include "record/ebpf/ebpf.h"
#include "record/sources/cpu_clock.h"
#include "record/sources/perf_source.h"
#include "wire/handshake.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A probe answers in one line, with what to do where something is missing. */
static bool say(bool ok, const char *what, const char *found, const char *fix)
{
	struct aif_buf line = {0};

	aif_buf_printf(&line, "%s  %-22s %s%s%s", ok ? "ok     " : "MISSING", what, found,
		       ok || !*fix ? "" : "; ", ok ? "" : fix);
	aif_name_break_orders(&line, 0);
	puts(aif_buf_str(&line));
	aif_buf_finish(&line);
	return ok;
}

static bool probe_agent(void)
{
	char path[PATH_MAX];

	aif_agent_path(path, sizeof(path));
	return say(access(path, R_OK) == 0, "agent", path,
		   "install aiflame completely, or set AIFLAME_AGENT");
}

/* Does the loader load layers? It is asked for ours, which without a recorder stays asleep. */
static bool loads_layers(void *loader, const char *agent)
{
	int (*get_platforms)(unsigned, void *, unsigned *) =
		(int (*)(unsigned, void *, unsigned *))dlsym(loader, "clGetPlatformIDs");
	unsigned platforms;
	void *layer;

	if (!get_platforms || setenv("OPENCL_LAYERS", agent, 1) < 0)
		return false;
	if (get_platforms(0, NULL, &platforms) < 0 || access(agent, R_OK) < 0)
		return true; /* without drivers or agent there is nothing to see: told by others */
	layer = dlopen(agent, RTLD_LAZY | RTLD_NOLOAD);
	if (layer)
		dlclose(layer);
	return layer;
}

static bool probe_loader(void)
{
	void *lib = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
	char agent[PATH_MAX];

	if (!lib)
		return say(false, "OpenCL loader", "libOpenCL.so.1 was not found",
			   "apt-get install ocl-icd-libopencl1");
	aif_agent_path(agent, sizeof(agent));
	return say(loads_layers(lib, agent), "OpenCL loader", "libOpenCL.so.1, loads layers",
		   "but it did not load ours: use ocl-icd 2.3.0 or newer, or the Khronos loader");
}

static bool probe_drivers(void)
{
	char names[512] = "";
	struct dirent *e;
	bool pocl = false;
	size_t n = 0;
	DIR *dir = opendir("/etc/OpenCL/vendors");

	while (dir && (e = readdir(dir)) != NULL) {
		if (!strstr(e->d_name, ".icd"))
			continue;
		pocl |= strstr(e->d_name, "pocl") != NULL;
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
				      e->d_name);
		if (n >= sizeof(names))
			break;
	}
	if (dir)
		closedir(dir);
	if (!names[0])
		return say(false, "OpenCL drivers", "none in /etc/OpenCL/vendors",
			   "apt-get install pocl-opencl-icd for one that runs on the CPU");
	return say(true, "OpenCL drivers", names, "") &&
	       (pocl ||
		say(true, "PoCL", "not installed: no CPU device to sample instructions of", ""));
}

/* Reports what the kernel says of perf_event_open and, if it refused (r), what helps: its own
 * setting, or a container's filter may be why. */
static bool say_perf(int r, const char *what, const char *instead)
{
	char found[160], fix[256], paranoid[16] = "";
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	bool allowed;

	if (f) {
		if (fgets(paranoid, sizeof(paranoid), f))
			paranoid[strcspn(paranoid, "\n")] = '\0';
		fclose(f);
	}
	allowed = *paranoid && atoi(paranoid) <= 2;
	snprintf(found, sizeof(found), "perf_event_open %s%s (kernel.perf_event_paranoid = %s)",
		 r ? "is refused: " : "works", r ? strerror(-r) : "", *paranoid ? paranoid : "?");
	snprintf(fix, sizeof(fix), "%s; %s",
		 r == -ENOSYS || !f ? "this kernel has no perf_event"
		 : allowed ? "a filter of system calls forbids it: docker run --cap-add PERFMON, "
			     "or a seccomp profile that allows perf_event_open"
			   : "sysctl kernel.perf_event_paranoid=2, or run with CAP_PERFMON",
		 instead);
	return say(!r, what, found, fix);
}

static bool probe_perf(void)
{
	return say_perf(aif_perf_probe(), "device samples",
			"until then timers in the target sample CPU devices");
}

static bool probe_cpu(void)
{
	return say_perf(
		aif_cpu_probe(), "CPU samples",
		aif_cpu_ticks_are_safe()
			? "until then timers in the target take them, at most one in each of the kernel's ticks"
			: "until then only record --wall has any, whose signals may interrupt system "
			  "calls of the target");
}

/* Optional: nothing is missing without it. */
static void probe_ebpf(void)
{
	struct aif_err err = {0};
	FILE *f = fopen("/proc/sys/kernel/kptr_restrict", "re");
	int hidden = 0;

	if (f) {
		if (fscanf(f, "%d", &hidden) != 1)
			hidden = 0;
		fclose(f);
	}
	if (aif_ebpf_probe(&err) < 0)
		printf("no       %-22s %s\n", "eBPF (optional)", err.text);
	else
		say(true, "eBPF (optional)",
		    hidden > 1
			    ? "works, but OS kernel frames have no names: sysctl "
			      "kernel.kptr_restrict=1"
			    : "BPF programs load, sample and follow the scheduler: record --ebpf "
			      "--off-cpu",
		    "");
}

/* NVTX opens one tool. */
static void probe_nvtx(void)
{
	const char *theirs = getenv(AIF_ENV_NVTX_INJECTION);

	if (theirs && *theirs)
		printf("no       %-22s %s names %s, which is left alone; unset it for record --nvtx\n",
		       "NVTX (optional)", AIF_ENV_NVTX_INJECTION, theirs);
	else
		say(true, "NVTX (optional)",
		    "no other tool has it: record --nvtx shows the ranges of programs and libraries",
		    "");
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	struct aif_nvidia nvidia;
	struct aif_intel intel;
	bool ok;

	(void)values, (void)words, (void)words_len, (void)err;
	if (aif_agent_why_none()) {
		say(false, "recording", aif_agent_why_none(), "");
		return AIF_EXIT_FAILURE;
	}
	ok = probe_agent();
	ok &= probe_loader();
	ok &= probe_drivers();
	ok &= probe_perf();
	ok &= probe_cpu();
	probe_ebpf();
	probe_nvtx();
	aif_nvidia_init(&nvidia);
	ok &= aif_doctor_nvidia(&nvidia, say);
	aif_nvidia_finish(&nvidia);
	aif_intel_init(&intel);
	ok &= aif_doctor_intel(&intel, say);
	aif_intel_finish(&intel);
	puts("\nwith                               these frames are there\n"
	     "nothing                            stacks, kernels, times, copies; instructions by timers;\n"
	     "                                   CPU time with --wall\n"
	     "kernel.perf_event_paranoid <= 2    the same, instructions and CPU time without timers\n"
	     "CAP_PERFMON or root                the same, whatever the sysctl says\n"
	     "CAP_BPF and CAP_PERFMON, or root   with --ebpf also OS kernel frames, time off CPU, processes\n"
	     "                                   without the agent; names in the kernel with CAP_SYSLOG\n"
	     "NVIDIA's counters for everybody    instructions and stalls of NVIDIA's GPUs; stacks, kernels\n"
	     "                                   and times need nothing\n"
	     "dev.xe.observation_paranoid = 0    instructions and stalls of Intel's GPUs (CAP_PERFMON or\n"
	     "                                   root: the same)");
	return ok ? AIF_EXIT_OK : AIF_EXIT_FAILURE;
}

const struct aif_command aif_command_doctor = {
	.name = "doctor",
	.words = "",
	.summary = "what works here, what does not, and the fix for each",
	.description =
		"Tests what a recording needs and prints a line for each, with the exact fix\n"
		"where something is missing, and which privilege makes which frames available.\n"
		"With NVIDIA's driver also: its GPUs, the libcupti found, which of them\n"
		"recordings have crashed in, whether instructions may be sampled and which other\n"
		"program may use the GPU's counters, nvdisasm. With an Intel GPU also: driver and\n"
		"kernel, whether EU stalls may be sampled, Level Zero's loader, tracing layer and\n"
		"driver, the metrics library, libiga64. CUDA and Level Zero are not initialised\n"
		"for this. Exits with 1 if anything is missing.",
	.examples =
		"aiflame doctor\tbefore the first recording\naiflame doctor | grep MISSING\tonly "
		"what to mend\n",
	.max_words = 0,
	.run = run,
};
