internal import Glibc
internal import Linux

/// A file that holds space back, so that when the disk is full, freezing and acknowledging can still commit: an
/// acknowledgement makes room in the database, but needs a little to say so.
struct Ballast {
    /// Bytes.
    static let size = 4 << 20
    /// Bytes that must be free besides before it is built again: it must not be what fills the disk.
    private static let margin = 4 << 20

    private let path: String
    private(set) var isHeld = false

    init(directory: String) {
        path = directory + "/ballast"
    }

    /// Takes the space, where there is enough. Failing costs only the reserve.
    mutating func hold() {
        if isHeld { return }
        if fileSize(path) == Self.size {
            isHeld = true
            return
        }
        guard let free = freeSpace(beside: path), free >= Self.size + Self.margin,
            let file = try? FileDescriptor.open(path, O_WRONLY | O_CREAT | O_NOFOLLOW)
        else { return }
        isHeld = posix_fallocate(file.raw, 0, off_t(Self.size)) == 0
        if !isHeld { _ = unlink(path) }
    }

    /// Gives the space back.
    ///
    /// - Returns: whether there was any.
    mutating func release() -> Bool {
        defer { isHeld = false }
        return unlink(path) == 0
    }
}
