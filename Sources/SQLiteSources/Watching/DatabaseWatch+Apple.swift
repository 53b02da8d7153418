#if canImport(Darwin)
  extension DatabaseWatch {
    /// What follows the path of the database in the names of the files to watch.
    ///
    /// Not the database itself: to watch it is to open it here, and closing any descriptor of it
    /// would drop the locks that SQLite has on it for the whole process. A commit touches one of
    /// these two, which are never locked.
    static let watchedSuffixes = ["-wal", "-journal"]
  }
#endif
