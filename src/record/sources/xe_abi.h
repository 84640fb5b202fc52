/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The part of Linux's xe driver's interface that we call, declared anew: distributions' headers are older than EU-stall
 * sampling (Linux 6.15). Numbers and shapes are those of the kernel's include/uapi/drm/xe_drm.h and drm.h; records:
 * xe_records.h.
 */

#define AIF_DRM_IOCTL_VERSION       UINT32_C(0xc0406400)
#define AIF_XE_IOCTL_DEVICE_QUERY   UINT32_C(0xc0286440)
#define AIF_XE_IOCTL_OBSERVATION    UINT32_C(0x4020644b)
#define AIF_XE_STREAM_IOCTL_ENABLE  UINT32_C(0x6900)
#define AIF_XE_STREAM_IOCTL_DISABLE UINT32_C(0x6901)

struct aif_drm_version {
	int32_t major, minor, patch, pad;
	uint64_t name_len;
	char *name;
	uint64_t date_len;
	char *date;
	uint64_t desc_len;
	char *desc;
};
static_assert(sizeof(struct aif_drm_version) == 64, "drm_version");

/* Asked with size 0, which is then told, and once more with `data` of that size. */
struct aif_xe_query {
	uint64_t extensions;
	uint32_t query, size; /* enum aif_xe_query_kind; bytes */
	uint64_t data;
	uint64_t reserved[2];
};
static_assert(sizeof(struct aif_xe_query) == 40, "drm_xe_device_query");
enum aif_xe_query_kind { AIF_XE_QUERY_GT_LIST = 3, AIF_XE_QUERY_EU_STALL = 10 };

struct aif_xe_gt_list {
	uint32_t num_gt, pad;
	struct aif_xe_gt {
		uint16_t type, tile_id, gt_id, pad[3]; /* type: enum aif_xe_gt_type */
		uint32_t reference_clock;              /* Hz */
		uint64_t memory_regions[2];            /* near, far */
		uint16_t ip_ver_major, ip_ver_minor, ip_ver_rev, pad2;
		uint64_t reserved[7];
	} gt[];
};
static_assert(sizeof(struct aif_xe_gt) == 96, "drm_xe_gt");
static_assert(offsetof(struct aif_xe_gt, ip_ver_major) == 32, "drm_xe_gt.ip_ver_major");
enum aif_xe_gt_type { AIF_XE_GT_MAIN = 0, AIF_XE_GT_MEDIA = 1 };

struct aif_xe_query_eu_stall {
	uint64_t extensions, capabilities; /* bit 0: there is EU-stall sampling */
	uint64_t record_size;              /* bytes */
	uint64_t per_xecore_buf_size;      /* bytes */
	uint64_t reserved[5];
	uint64_t num_sampling_rates;
	uint64_t sampling_rates[]; /* cycles of the GPU between two samples, fastest first */
};
static_assert(sizeof(struct aif_xe_query_eu_stall) == 80, "drm_xe_query_eu_stall");

/* Returns the stream's descriptor. */
struct aif_xe_observation {
	uint64_t extensions, type, op;
	uint64_t param; /* the first property */
};
static_assert(sizeof(struct aif_xe_observation) == 32, "drm_xe_observation_param");
enum { AIF_XE_OBSERVATION_EU_STALL = 1, AIF_XE_OBSERVATION_OPEN = 0 };

struct aif_xe_property {
	uint64_t next_extension;
	uint32_t name, pad; /* 0: sets a property */
	uint32_t property, pad2;
	uint64_t value;
	uint64_t reserved[2];
};
static_assert(sizeof(struct aif_xe_property) == 48, "drm_xe_ext_set_property");
enum aif_xe_property_id {
	AIF_XE_PROPERTY_GT_ID = 1,
	AIF_XE_PROPERTY_SAMPLE_RATE = 2, /* cycles */
	AIF_XE_PROPERTY_WAIT_REPORTS = 3
};
