internal import Linux

/// A file that holds space back, so that when the disk is full, freezing and acknowledging can still commit: an
/// acknowledgement makes room in the database, but needs a little to say so.
struct Ballast {
    /// Bytes.
    static let size = 4 << 20
    /// Bytes that must be free besides before it is built again: it must not be what fills the disk.
    private static let margin = 4 << 20

    private let directory: String
    private let path: String
    private let files: any Files
    private(set) var isHeld = false

    init(directory: String, on files: any Files) {
        self.directory = directory
        self.files = files
        path = directory + "/ballast"
    }

    /// Takes the space, where there is enough. Failing costs only the reserve.
    mutating func hold() {
        if isHeld { return }
        if (try? files.size(path)) == Self.size {
            isHeld = true
            return
        }
        guard let free = files.freeSpace(in: directory), free >= Self.size + Self.margin,
            let file = try? files.open(path, [.write, .create])
        else { return }
        isHeld = (try? file.allocate(Self.size)) != nil
        if !isHeld { try? files.remove(path) }
    }

    /// Gives the space back.
    ///
    /// - Returns: whether there was any.
    mutating func release() -> Bool {
        defer { isHeld = false }
        return (try? files.remove(path)) != nil
    }
}
