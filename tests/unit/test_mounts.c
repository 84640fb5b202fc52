/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void mounts_are_read(void **state)
{
	static const char text[] =
		"21 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro\n"
		"36 21 0:40 / /home/u/s\\040-\\040x rw,nosuid master:1 propagate_from:2 - fuse.sshfs u@h:/ "
		"rw,user_id=1000,group_id=1000,allow_other\n"
		"37 21 0:41 / /mnt/root rw - fuse root rw,user_id=0,group_id=0\n"
		"38 21 0:42 / /mnt/nfs rw - nfs4 host:/user_id=1000 rw,vers=4.2\n"
		"39 21 0:43 / /mnt/empty rw - fuse.x  rw,user_id=7,group_id=7\n"
		"40 21 8:9 / /mnt/disk rw - fuseblk /dev/sdb rw,user_id=1001,group_id=0";
	struct aif_mounts m = {0};

	(void)state;
	assert_int_equal(aif_mounts_parse(text, &m), 0);
	assert_int_equal(m.len, 6);
	assert_true(m.any_users);
	assert_true(m.at[1].is_users && m.at[1].user == 1000);
	assert_int_equal(m.at[4].user, 7);
	assert_true(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(259, 1), 21));
	assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 40), 36));
	assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 40), 0));
	assert_true(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 41), 37));
	assert_true(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 42), 38));
	assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(8, 9), 40));
	/* Subvolumes of btrfs have devices that no mount names. */
	assert_true(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 77), 21));
	assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 77), 36));
	assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 77), 99));
	assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 77), 0));
	assert_true(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(252, 3), 0));
	aif_mounts_finish(&m);
}

static void hostile_lines_of_mounts_allow_nothing(void **state)
{
	static const char *const users[] = {
		"36 21 0:40 / /m rw - fuse x",
		"36 21 0:40 / /m rw - fuse x rw",
		"36 21 0:40 / /m rw - fuse x rw,user_id=",
		"36 21 0:40 / /m rw - fuse x rw,user_id=0x",
		"36 21 0:40 / /m rw - fuse x rw,user_id=-0",
		"36 21 0:40 / /m rw - fuse x rw,user_id=4294967296",
		"36 21 0:40 / /m rw - fuse x rw,xuser_id=0",
		"36 21 0:40 / /m rw - fuse x,user_id=0 rw,user_id=5",
		"36 21 0:40 / /m,user_id=0 rw,user_id=0 - fuse. user_id=0 rw,user_id=5",
		"36 21 0:40 / / rw - fuse.nfs - rw,user_id=5 user_id=0",
	};
	static const char *const none[] = {
		"",
		"\n\n",
		"36",
		"36 ",
		"x 21 0:40 / /m rw - ext4 d rw",
		"36 21 0: / /m rw - ext4 d rw",
		"36 21 :40 / /m rw - ext4 d rw",
		"36 21 0:40x / /m rw - ext4 d rw",
		"36 21 0:99999999999 / /m rw - ext4 d rw",
		"99999999999999999999 21 0:40 / /m rw - ext4 d rw",
		"36 21 0:40 / /m rw",
		"36 21 0:40 / /m rw -",
		"36 21 0:40 / /m rw - ext4",
		"36 21 0:40 / /m rw shared:1 ext4 d rw",
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(users); i++) {
		struct aif_mounts m = {0};

		assert_int_equal(aif_mounts_parse(users[i], &m), 0);
		assert_int_equal(m.len, 1);
		assert_true(m.any_users);
		assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 40), 36));
		aif_mounts_finish(&m);
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(none); i++) {
		struct aif_mounts m = {0};

		assert_int_equal(aif_mounts_parse(none[i], &m), 0);
		assert_int_equal(m.len, 0);
		assert_false(aif_mounts_allow(&m, AIF_MOUNT_DEVICE(0, 40), 36));
		aif_mounts_finish(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts_are_read),
		cmocka_unit_test(hostile_lines_of_mounts_allow_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
