/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/sqlite_error.h"

#include <errno.h>
#include <string.h>

int aif_sqlite_errno(sqlite3 *db)
{
	int last = errno, code = sqlite3_extended_errcode(db), system = sqlite3_system_errno(db);

	/* SQLite does not note it when it is a COMMIT that fails. */
	if (system <= 0)
		system = last;
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return -EIO;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_INTERRUPT:
		return -EINTR;
	case SQLITE_AUTH:
		return -EPERM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
		return -EBADMSG;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return system > 0 ? -system : -EIO;
	}
	return -EINVAL;
}

const char *aif_sqlite_why(sqlite3 *db)
{
	int r = aif_sqlite_errno(db);

	/* SQLite's own words for these are "disk I/O error" and "unable to open database file". */
	return r == -ENOSPC || r == -EFBIG || r == -EDQUOT || r == -EACCES || r == -EROFS ||
			       r == -ENOENT || r == -ENOTDIR || r == -EMFILE || r == -ENFILE
		       ? strerror(-r)
		       : sqlite3_errmsg(db);
}
