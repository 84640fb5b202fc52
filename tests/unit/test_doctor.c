/* SPDX-License-Identifier: Apache-2.0 */
/* Tests doctor on machines with NVIDIA's GPUs: the driver's files are made here. */
#include "fixture_doctor.h"

#include "base/cupti_faults.h"
#include "probe/doctor_nvidia.h"
#include "probe/find_file.h"

static void put_driver(const char *root, const char *admin_only)
{
	char line[64];

	put(root, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
	    "GCC version:  gcc version 12.2.0\n");
	snprintf(line, sizeof(line), "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: %s\n",
		 admin_only);
	put(root, "/proc/driver/nvidia/params", line);
	for (int i = 0; i < 2; i++) {
		char path[80];

		snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/0000:%d4:00.0/information",
			 i);
		put(root, path, "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\n");
	}
}

static void asked(const struct aif_nvidia *n, bool all_there, const char *expected)
{
	aif_buf_clear(&said);
	assert_int_equal(aif_doctor_nvidia(n, say), all_there);
	assert_string_equal(aif_buf_str(&said), expected);
}

static void has(const char *text)
{
	if (!strstr(aif_buf_str(&said), text))
		fail_msg("nowhere: %s\n%s", text, aif_buf_str(&said));
}

static void nothing_is_missing_where_there_is_no_gpu(void **state)
{
	asked(&(struct aif_nvidia){.root = *state}, true,
	      "ok NVIDIA: no driver, so no CUDA programs to record\n");
}

static void a_machine_with_all_of_it(void **state)
{
	struct aif_nvidia n = {.root = *state,
			       .libcuda = true,
			       .libcupti = (char[]){"/x/libcupti.so.13"},
			       .nvdisasm = (char[]){"/x/nvdisasm"},
			       .nvml = (char[]){"clocks, power"},
			       .has_nvml = true};

	put_driver(*state, "0");
	asked(&n, true,
	      "ok NVIDIA driver: 580.95.05, 2 GPUs: NVIDIA H100 80GB HBM3\n"
	      "ok libcupti: /x/libcupti.so.13\n"
	      "ok GPU instructions: for everybody (RmProfilingAdminOnly: 0)\n"
	      "ok NVML (optional): clocks, power\n"
	      "ok nvdisasm: /x/nvdisasm\n");
	n.nvml = (char[]){"libnvidia-ml.so.1 was not found"};
	n.has_nvml = false;
	assert_true(aif_doctor_nvidia(&n, say)); /* optional */
	has("MISSING NVML (optional): libnvidia-ml.so.1 was not found; recordings have no clocks, power and energy");
}

static void who_may_sample_instructions(void **state)
{
	struct aif_nvidia n = {
		.root = *state, .libcuda = true, .libcupti = (char[]){"/x/libcupti.so.13"}};

	put_driver(*state, "1");
	aif_buf_clear(&said);
	assert_false(aif_doctor_nvidia(&n, say));
	has("MISSING GPU instructions: for administrators only (RmProfilingAdminOnly: 1)");
	has("NVreg_RestrictProfilingToAdminUsers=0");
	has("--cap-add SYS_ADMIN");
	has("ok nvdisasm: not installed");
	n.admin = true;
	aif_buf_clear(&said);
	assert_true(aif_doctor_nvidia(&n, say));
	has("ok GPU instructions: allowed by CAP_SYS_ADMIN");
}

static void halves_of_a_driver(void **state)
{
	struct aif_nvidia n = {.root = *state, .libcuda = true};

	aif_buf_clear(&said);
	assert_false(aif_doctor_nvidia(&n, say));
	has("MISSING NVIDIA driver: libcuda.so.1 is here, the kernel's module is not loaded; modprobe");
	has("MISSING libcupti: was not found; install the CUDA toolkit, or nvidia-cuda-cupti");
	put(*state, "/dev/dxg", "");
	aif_buf_clear(&said);
	aif_doctor_nvidia(&n, say);
	has("ok NVIDIA driver: libcuda.so.1, of Windows (WSL)");
	put(*state, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\n");
	aif_buf_clear(&said);
	assert_false(aif_doctor_nvidia(&n, say));
	has("MISSING NVIDIA driver: 535.129.03, 0 GPUs; in a container: docker run --gpus all\n");
	put_driver(*state, "0");
	n.libcuda = false;
	aif_buf_clear(&said);
	assert_false(aif_doctor_nvidia(&n, say));
	has("2 GPUs: NVIDIA H100 80GB HBM3, but no libcuda.so.1; in a container");
}

static void others_and_shares_are_named(void **state)
{
	struct aif_nvidia n = {
		.root = *state, .libcuda = true, .libcupti = (char[]){"/x/libcupti.so.12"}};

	put_driver(*state, "0");
	put(*state, "/proc/812/comm", "nv-hostengine\n");
	put(*state, "/proc/813/comm", "nv-hostengineer\n");
	put(*state, "/proc/self/comm", "ncu\n");
	put(*state, "/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", "");
	aif_buf_clear(&said);
	assert_true(aif_doctor_nvidia(&n, say));
	has("ok MIG: 1 instance;");
	put(*state, "/proc/driver/nvidia/capabilities/gpu0/mig/gi2/access", "");
	put(*state, "/proc/driver/nvidia/capabilities/mig/config", "");
	aif_buf_clear(&said);
	assert_true(aif_doctor_nvidia(&n, say));
	has("ok other profilers: nv-hostengine (process 812) may hold");
	has("dcgmi profile --pause");
	has("ok MIG: 2 instances");
	assert_null(strstr(aif_buf_str(&said), "813"));
	assert_null(strstr(aif_buf_str(&said), "ncu"));
	assert_null(strstr(aif_buf_str(&said), "vGPU"));
	put(*state, "/proc/driver/nvidia/gpus/0000:14:00.0/information",
	    "Model: \t\t NVIDIA A40-8Q\n");
	aif_buf_clear(&said);
	assert_true(aif_doctor_nvidia(&n, say));
	has("NVIDIA H100 80GB HBM3, NVIDIA A40-8Q");
	has("ok vGPU: ");
}

static void files_are_found_in_places(void **state)
{
	char dir[256], *found;

	put(*state, "/a[1]/lib/python3.12/site-packages/nvidia/x.so", "");
	put(*state, "/a[1]/bin/tool", "");
	snprintf(dir, sizeof(dir), "%s/a[1]/bin", (char *)*state);
	found = aif_find_file(dir, "tool", R_OK);
	assert_non_null(found);
	free(found);
	assert_null(aif_find_file(dir, "tool", X_OK));
	assert_null(aif_find_file("relative", "tool", F_OK));
	put(*state, "/b/lib/python3.12/dist-packages/nvidia/x.so", "");
	snprintf(dir, sizeof(dir), "%s/b/lib", (char *)*state);
	found = aif_find_file(dir, "python3*/*-packages/nvidia/x.so", R_OK);
	assert_non_null(found);
	assert_non_null(strstr(found, "/python3.12/dist-packages/"));
	free(found);
}

static void faults_of_cupti_are_listed(void **state)
{
	struct aif_nvidia n = {
		.root = *state,
		.libcuda = true,
		.libcupti = (char[]){"/x/libcupti.so.13"},
		.faults = (char[]){"13.0 is known for one: /x\n13.1 for another: /y\n"}};

	put_driver(*state, "0");
	(void)aif_doctor_nvidia(&n, say);
	has("ok CUPTI faults: 13.0 is known for one: /x\n"
	    "ok CUPTI faults: 13.1 for another: /y\n");
}

static void faults_are_of_versions(void **state)
{
	static const struct {
		uint32_t version;
		const char *want;
	} rows[] = {
		{26, ""},
		{130000,
		 "a hang or a crash when records are switched off or flushed, CPU use that grows in "
		 "long recordings, kernels under the names of a module that was unloaded, "
		 "fixed in CUPTI 13.4 Update 1"},
		{130001,
		 "CPU use that grows in long recordings, kernels under the names of a module that "
		 "was unloaded, fixed in CUPTI 13.4 Update 1"},
		{130401, ""},
		{130500, ""},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
		struct aif_buf text = {0};

		assert_true(aif_cupti_faults_text(rows[i].version, &text) == (*rows[i].want != 0));
		assert_string_equal(aif_buf_str(&text), rows[i].want);
		aif_buf_finish(&text);
	}
}

/* `pip install` puts libcupti there; but a package that lacks it is no place. */
static void libcupti_is_found_in_packages(void **state)
{
	char dir[256];
	struct aif_nvidia n;

	put(*state, "/venv/bin/python3", "");
	put(*state, "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
	put(*state, "/home/.local/lib/python3.9/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12",
	    "");
	put(*state, "/home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libcudart.so.13", "");
	snprintf(dir, sizeof(dir), "/nowhere:%s/venv/bin:relative", (char *)*state);
	setenv("PATH", dir, 1);
	snprintf(dir, sizeof(dir), "%s/home", (char *)*state);
	setenv("HOME", dir, 1);
	aif_nvidia_init(&n);
	assert_non_null(n.libcupti);
	assert_non_null(strstr(
		n.libcupti,
		"/venv/bin/../lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13, "));
	assert_non_null(strstr(
		n.libcupti,
		"/home/.local/lib/python3.9/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12"));
	assert_null(strstr(n.libcupti, "cudart"));
	aif_nvidia_finish(&n);
}

static void crashes_are_listed_with_the_file(void **state)
{
	struct aif_nvidia n = {.root = *state,
			       .libcuda = true,
			       .libcupti = (char[]){"/x/libcupti.so.13"},
			       .crashes = {{.id = {0x1a, 0x2b},
					    .use = AIF_CUPTI_USE_BLOCKS,
					    .date = "2026-11-20",
					    .signal = "SIGSEGV",
					    .command = "python3 a.py"},
					   {.id = {0xff},
					    .use = AIF_CUPTI_USE_RECORDS,
					    .date = "2026-11-19",
					    .signal = "SIGABRT",
					    .command = "x"}},
			       .crashes_len = 2,
			       .crashes_file = {.path = "/home/a b/cupti-crashes"}};

	put_driver(*state, "0");
	aif_buf_clear(&said);
	assert_true(aif_doctor_nvidia(&n, say));
	has("ok CUPTI crashes: build 1a2b000000000000000000000000000000000000, used as --cupti blocks, "
	    "ended a program by SIGSEGV on 2026-11-20: python3 a.py\n");
	has("used as --cupti records, ended a program by SIGABRT on 2026-11-19: x; forget all with: "
	    "rm '/home/a b/cupti-crashes'\n");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_missing_where_there_is_no_gpu),
		CASE(a_machine_with_all_of_it),
		CASE(who_may_sample_instructions),
		CASE(halves_of_a_driver),
		CASE(others_and_shares_are_named),
		CASE(crashes_are_listed_with_the_file),
		CASE(faults_of_cupti_are_listed),
		CASE(faults_are_of_versions),
		CASE(files_are_found_in_places),
		CASE(libcupti_is_found_in_packages),
	};

	return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
