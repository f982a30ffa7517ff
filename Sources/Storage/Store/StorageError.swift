internal import Glibc
package import Linux
internal import SQLite

/// Storage that failed: which operation, why, and what kind of fault it is.
package struct StorageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, as far as the loops care.
    package enum Kind: Equatable, Sendable {
        /// No space is left, on the device or under the database's own cap.
        case full
        /// The device failed, or the file system is read-only, or may not be used.
        case io
        /// The database is damaged, or is none.
        case corrupt
        /// A later version of beekond wrote this database.
        case newerSchema
        case other
    }

    /// What was being done.
    package let operation: String
    /// What is wrong.
    package let kind: Kind
    /// For the log: with the name of the operation and the words of the library.
    package let message: String
    /// What the operator can do about the cause.
    package let advice: String

    /// Any storage fault, as it is to be reported.
    package init(operation: String, kind: Kind, message: String) {
        self.init(operation: operation, kind: kind, message: message, advice: Self.advice(kind, errno: 0))
    }

    private init(operation: String, kind: Kind, message: String, advice: String) {
        self.operation = operation
        self.advice = advice
        self.kind = kind
        self.message = message
    }

    /// A fault of the file system beside the database.
    package init(_ error: SystemError) {
        self.init(
            operation: error.operation, kind: .io, message: error.description,
            advice: Self.advice(.io, errno: error.code))
    }

    init(_ error: SQLiteError) {
        let kind: Kind =
            switch error.code.primary {
            case .full: .full
            // That is how SQLite reports it for its shared-memory file, which must be created at every start. A sync that
            // failed is never a matter of room alone; since 3.46 SQLite tells its errno, too.
            case .ioError where error.systemCode == ENOSPC && error.code != .failedSync: .full
            case .corrupt, .notADatabase: .corrupt
            case .ioError, .readOnly, .cannotOpen: .io
            default: .other
            }
        // SQLITE_CANTOPEN_SYMLINK occurs without a failed system call.
        let systemCode = error.code == .linkInPath ? ELOOP : error.systemCode
        self.init(
            operation: error.operation, kind: kind, message: error.description,
            advice: Self.advice(kind, errno: systemCode))
    }

    /// What happened and what to do, in one line.
    package var report: String { message + ": " + advice }

    private static func advice(_ kind: Kind, errno code: Int32) -> String {
        switch code {
        case ENOSPC, EDQUOT: "make room on the disk that holds the state directory"
        case EROFS:
            "the file system of the state directory is mounted read-only; journalctl -k says why, "
                + "then mount -o remount,rw"
        case EACCES, EPERM:
            "the state directory and all files in it must belong to the user that beekond runs as (chown -R)"
        case ELOOP:
            "a symbolic link has come into the way; restart beekond, which looks once, at its start, where its state "
                + "directory is"
        case ENOENT, ENOTDIR:
            "the state directory is not there any more; mount it or bring it back, then restart beekond"
        case EMFILE, ENFILE: "too many files are open"
        default:
            kind == .full
                ? "make room on the disk that holds the state directory"
                : "check the health of the disk (journalctl -k)"
        }
    }

    static func newerSchema(found: Int64, known: Int64) -> StorageError {
        StorageError(
            operation: "open", kind: .newerSchema,
            message:
                "beekon.db has schema \(found), this version of beekond knows up to \(known): install the "
                + "version that wrote it, or move the file away to start an empty one")
    }

    /// The message, which names the operation.
    package var description: String { message }
}
