/* SPDX-License-Identifier: Apache-2.0 */
/* Tests doctor on machines with Intel's GPUs: the kernel's files are made here. */
#include "fixture_doctor.h"

#include "probe/doctor_intel.h"

static bool ask(const struct aif_intel *n)
{
	aif_buf_clear(&said);
	return aif_doctor_intel(n, say);
}

static void has(const char *text)
{
	if (!strstr(aif_buf_str(&said), text))
		fail_msg("nowhere: %s\n%s", text, aif_buf_str(&said));
}

static struct aif_intel machine(const char *root)
{
	static char loader[] = "/usr/lib/libze_loader.so.1.17.6",
		    layer[] = "/usr/lib/libze_tracing_layer.so.1.17.6",
		    driver[] = "/usr/lib/libze_intel_gpu.so.1.6", iga[] = "/usr/lib/libiga64.so.2";

	return (struct aif_intel){.root = root,
				  .release = "6.15.2-generic",
				  .loader = loader,
				  .layer = layer,
				  .driver = driver,
				  .iga = iga};
}

static void put_card(const char *root, int i, const char *driver)
{
	char path[80], text[120];

	snprintf(path, sizeof(path), "/sys/class/drm/card%d/device/uevent", i);
	snprintf(text, sizeof(text), "DRIVER=%s\nPCI_CLASS=30000\nPCI_ID=8086:0BD%d\n", driver, i);
	put(root, path, text);
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", 128 + i);
	put(root, path, "");
}

static void nothing_is_missing_where_there_is_no_gpu(void **state)
{
	put_card(*state, 0, "amdgpu");
	assert_true(ask(&(struct aif_intel){.root = *state}));
	assert_string_equal(
		aif_buf_str(&said),
		"ok Intel GPUs: none, so no Level Zero programs to record; for one are missing: "
		"libze_loader.so.1 (libze1), libze_tracing_layer.so.1 (libze1), "
		"libze_intel_gpu.so.1 (intel-opencl-icd), "
		"for --counters libigdmd.so.1 (Metrics Discovery, libigdmd1), "
		"for --counters libigdml.so.1 (Metrics Library, libigdml1)\n");
}

static void what_a_gpu_to_come_lacks_is_said(void **state)
{
	struct aif_intel n = machine(*state);

	n.metrics = (char *)"/usr/lib/libigdmd.so.1.6";
	assert_true(ask(&n));
	assert_string_equal(
		aif_buf_str(&said),
		"ok Intel GPUs: none, so no Level Zero programs to record; for one are missing: "
		"for --counters libigdml.so.1 (Metrics Library, libigdml1)\n");
	n.library = (char *)"/usr/lib/libigdml.so.1.0";
	assert_true(ask(&n));
	has("; what one needs is installed\n");
}

static void a_machine_with_all_of_it(void **state)
{
	struct aif_intel n = machine(*state);

	put_card(*state, 0, "xe");
	put_card(*state, 1, "xe");
	put(*state, "/sys/class/drm/card0-DP-1/device/uevent", "DRIVER=xe\nPCI_ID=8086:FFFF\n");
	put(*state, "/proc/sys/dev/xe/observation_paranoid", "0\n");
	n.loader_is_late = true;
	assert_true(ask(&n));
	assert_string_equal(
		aif_buf_str(&said),
		"ok Intel GPUs: 2 of the xe driver, 0 of i915 (8086:0BD0, 8086:0BD1), Linux 6.15.2-generic\n"
		"ok render nodes: /dev/dri/renderD* can be opened\n"
		"ok EU stalls: for everybody (dev.xe.observation_paranoid = 0)\n"
		"ok Level Zero: /usr/lib/libze_loader.so.1.17.6, traces programs that run already\n"
		"ok tracing layer: /usr/lib/libze_tracing_layer.so.1.17.6\n"
		"ok Level Zero driver: /usr/lib/libze_intel_gpu.so.1.6\n"
		"ok metrics library: libigdmd.so.1 (libigdmd1) is not installed: no --counters, and no EU "
		"stalls through Level Zero, which serve where the xe driver's stream cannot be opened\n"
		"ok libiga64: /usr/lib/libiga64.so.2\n");
}

static void metrics_through_level_zero(void **state)
{
	struct aif_intel n = machine(*state);

	put_card(*state, 0, "xe");
	n.metrics = (char *)"/usr/lib/libigdmd.so.1.6";
	ask(&n);
	has("ok metrics library: /usr/lib/libigdmd.so.1.6: --counters (record --counters help lists them), and EU stalls through Level Zero where");
	has("; record sets ZET_ENABLE_METRICS=1\n");
	has("ok Metrics Library: libigdml.so.1 (libigdml1) is not installed: drivers need it for --counters\n");
	n.metrics_set = true;
	ask(&n);
	has("; ZET_ENABLE_METRICS is set here, and stays as it is\n");
	n.metrics_off = true;
	assert_false(ask(&n));
	has("MISSING metrics library: ZET_ENABLE_METRICS=0 is set: no --counters");
	n.metrics_off = false;
	n.metrics = NULL;
	assert_false(ask(&n));
	has("programs do not start; unset ZET_ENABLE_METRICS, or");
}

static void who_may_sample(void **state)
{
	struct aif_intel n = machine(*state);

	put_card(*state, 0, "xe");
	put(*state, "/proc/sys/dev/xe/observation_paranoid", "1\n");
	assert_false(ask(&n));
	has("MISSING EU stalls: for administrators only (dev.xe.observation_paranoid = 1): stacks");
	has("; sysctl dev.xe.observation_paranoid=0, or setcap cap_perfmon+ep");
	n.may_monitor = true;
	assert_true(ask(&n));
	has("ok EU stalls: allowed by CAP_PERFMON\n");
	strcpy(n.release, "6.14.0");
	assert_false(ask(&n));
	has("MISSING EU stalls: the xe driver of Linux 6.14 has no EU-stall sampling");
	has("; Linux 6.15 or newer\n");
	strcpy(n.release, "7.0.1");
	assert_true(ask(&n));
}

static void the_older_driver(void **state)
{
	struct aif_intel n = machine(*state);

	put_card(*state, 0, "i915");
	put(*state, "/proc/sys/dev/i915/perf_stream_paranoid", "1\n");
	assert_false(ask(&n));
	has("MISSING i915 metrics: for administrators only (dev.i915.perf_stream_paranoid = 1); "
	    "sysctl dev.i915.perf_stream_paranoid=0, or run with CAP_PERFMON\n");
	assert_null(strstr(aif_buf_str(&said), "observation_paranoid"));
	put(*state, "/proc/sys/dev/i915/perf_stream_paranoid", "0\n");
	/* From nowhere else. */
	assert_false(ask(&n));
	has("MISSING metrics library: libigdmd.so.1 is not installed: no EU stalls, no --counters; apt-get");
	n.metrics = (char *)"/usr/lib/libigdmd.so.1.6";
	assert_true(ask(&n));
}

static void halves_of_it(void **state)
{
	struct aif_intel n = machine(*state);
	char path[512];

	put_card(*state, 0, "xe");
	put(*state, "/proc/sys/dev/xe/observation_paranoid", "0\n");
	n.layer = (char[]){"/usr/lib/libze_tracing_layer.so.1.9.0"};
	assert_false(ask(&n));
	has("MISSING tracing layer: /usr/lib/libze_tracing_layer.so.1.9.0, but the loader is 1.17.6; "
	    "install loader and layer of one version\n");
	n.layer = NULL;
	assert_false(ask(&n));
	has("MISSING tracing layer: libze_tracing_layer.so.1 was not found");
	n.loader = n.driver = NULL;
	assert_false(ask(&n));
	has("MISSING Level Zero: libze_loader.so.1 was not found; apt-get install libze1");
	n = machine(*state);
	n.driver = NULL;
	assert_false(ask(&n));
	has("MISSING Level Zero driver: libze_intel_gpu.so.1 was not found");
	n = machine(*state);
	snprintf(path, sizeof(path), "%s/dev/dri/renderD128", (char *)*state);
	unlink(path);
	assert_false(ask(&n));
	has("MISSING render nodes: no /dev/dri/renderD*; in a container");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_missing_where_there_is_no_gpu),
		CASE(what_a_gpu_to_come_lacks_is_said),
		CASE(a_machine_with_all_of_it),
		CASE(metrics_through_level_zero),
		CASE(who_may_sample),
		CASE(the_older_driver),
		CASE(halves_of_it),
	};

	return cmocka_run_group_tests_name("doctor_intel", tests, NULL, NULL);
}
