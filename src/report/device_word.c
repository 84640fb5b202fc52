/* SPDX-License-Identifier: Apache-2.0 */
#include "report/ops.h"

#include <stdio.h>
#include <string.h>

/* Runtimes whose devices go by another name; a vendor's comes first. */
void aif_device_word(const struct aif_profile *p, char ret[16])
{
	static const struct {
		const char *vendor, *runtime, *word;
	} words[] = {
		{"IBM", NULL, "AIU"},
		{NULL, "level_zero", "XPU"},
		{NULL, "sycl", "XPU"},
		{NULL, "kineto", "DEVICE"}, /* a trace that does not say whose it is */
	};
	uint32_t runtime = AIF_NONE;

	snprintf(ret, 16, "DEVICE");
	for (size_t i = 0; i < p->devices_len; i++) {
		if (i && p->devices[i].runtime != runtime)
			return;
		runtime = p->devices[i].runtime;
	}
	if (!p->devices_len || runtime == AIF_NONE || !*aif_profile_str(p, runtime))
		return;
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if ((!words[i].vendor ||
		     (p->devices[0].vendor != AIF_NONE &&
		      !strcmp(aif_profile_str(p, p->devices[0].vendor), words[i].vendor))) &&
		    (!words[i].runtime || !strcmp(aif_profile_str(p, runtime), words[i].runtime))) {
			snprintf(ret, 16, "%s", words[i].word);
			return;
		}
	for (size_t i = 0; i < 15; i++) {
		char c = aif_profile_str(p, runtime)[i];

		ret[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c >= ' ' ? c : '\0';
		ret[i + 1] = '\0';
		if (!ret[i])
			break;
	}
}
