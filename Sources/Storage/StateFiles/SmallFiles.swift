package import Linux

/// The small files beside the database: what must survive its loss.
///
/// An unreadable file is moved aside and reported; it never prevents the start.
package struct SmallFiles: Sendable {
    let directory: StateDirectory

    /// Makes no file yet.
    package init(_ directory: StateDirectory) {
        self.directory = directory
    }

    /// Removes other files of the directory, durably.
    package func remove(where isDoomed: (String) -> Bool) throws(SystemError) {
        let doomed = try directory.names().filter(isDoomed)
        guard !doomed.isEmpty else { return }
        for name in doomed { try directory.remove(name) }
        try directory.synchronise()
    }
}
