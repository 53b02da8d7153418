#include <sqlite3.h>

/// Sets a Boolean option of a connection. Swift cannot call the variadic function.
static inline int swappable_sqlite3_set_option(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}
