internal import Support

/// A directory: the names that processes see, those that are durable, and the changes in between, in order, as a file system
/// with a journal of its names keeps them.
final class Directory {
    /// What changes at once: one name, or both of a rename.
    private typealias Change = [(name: String, file: Inode?)]

    private var files: [String: Inode] = [:]
    private var durable: [String: Inode] = [:]
    private var changes: [Change] = []

    subscript(name: String) -> Inode? { files[name] }

    /// In ascending order.
    var names: [String] { files.keys.sorted() }
    /// Changes that are not synced.
    var pending: Int { changes.count }

    func add(_ file: Inode, as name: String) {
        make([(name, file)])
    }

    /// - Returns: false when there is no such name.
    func remove(_ name: String) -> Bool {
        guard files[name] != nil else { return false }
        make([(name, nil)])
        return true
    }

    /// - Returns: false when there is no such name.
    func rename(_ name: String, to target: String) -> Bool {
        guard let file = files[name] else { return false }
        if name != target { make([(target, file), (name, nil)]) }
        return true
    }

    private func make(_ change: Change) {
        for (name, file) in change {
            file?.link()
            files.replace(name, with: file)?.unlink()
        }
        changes.append(change)
    }

    func sync() {
        for change in changes { Self.apply(change, to: &durable) }
        changes.removeAll(keepingCapacity: true)
    }

    private static func apply(_ change: Change, to names: inout [String: Inode]) {
        for (name, file) in change { names[name] = file }
    }

    /// As a power cut may leave it: all that is durable, and the first of the later changes.
    func image(after loss: PowerLoss, in space: Space, using random: inout SeededGenerator) -> Directory {
        var surviving = durable
        for change in changes.prefix(loss.surviving(of: changes.count, using: &random)) {
            Self.apply(change, to: &surviving)
        }
        let image = Directory()
        // In order of their names, so that the same seed makes the same image.
        for (name, file) in surviving.sorted(by: { $0.key < $1.key }) {
            let copy = file.image(after: loss, in: space, using: &random)
            copy.link()
            image.files[name] = copy
        }
        image.durable = image.files
        return image
    }

    /// Nobody has anything in it open any more.
    func outlive() {
        for file in files.values { file.outlive() }
    }
}

extension Dictionary where Value == Inode {
    /// - Returns: what the name meant before.
    fileprivate mutating func replace(_ name: Key, with file: Inode?) -> Inode? {
        let old = self[name]
        self[name] = file
        return old
    }
}
