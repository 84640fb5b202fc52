/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The places where libcupti is searched: by the agent, which takes one, and by `aiflame doctor`,
 * which lists them all. The agent's order: one that is loaded, that of the Python packages from
 * which the process has loaded other libraries of CUDA, what the loader finds by name, a toolkit's.
 */
static const char *const aif_cupti_names[] = {"libcupti.so.13", "libcupti.so.12",
					      "libcupti.so.11.8"};

/* Packages of Python: in DIRECTORY/nvidia, where the directory's name ends so (Debian:
 * dist-packages). */
#define AIF_CUPTI_PACKAGES "-packages/nvidia/"
static const char *const aif_cupti_in_packages[] = {"cu13/lib/libcupti.so.13",
						    "cuda_cupti/lib/libcupti.so.12"};

static const char *const aif_cupti_in_toolkits[] = {
	"/usr/local/cuda/lib64/libcupti.so.13",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
	"/usr/local/cuda/lib64/libcupti.so.12",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.11.8",
};
