import Support

/// A disk with a volatile cache, fed with what was recorded.
///
/// Of a file, what was written before its last sync is durable; each later change may or may not have reached the
/// platter, whole or in part, in any order. Of the directory, each name is as the last sync of the directory left it, or
/// as any later change did: a new file may be missing, a deleted one back.
struct Disk {
    enum Change {
        case write(offset: Int, bytes: UnsafeRawBufferPointer)
        case truncate(size: Int)
    }

    fileprivate struct File {
        fileprivate let durable = FileBytes()
        fileprivate var pending: [Change] = []
    }

    private var files: [File] = []
    /// Which file each name means at present.
    private var names: [String: Int] = [:]
    private var durableNames: [String: Int] = [:]
    private var pendingNames: [(name: String, file: Int?)] = []

    /// Decides what a failed sync leaves.
    private var fates: SeededGenerator

    /// - Parameter files: what is there to begin with, all of it durable.
    init(holding files: [String: [UInt8]] = [:], seed: UInt64 = Effort.seed) {
        fates = SeededGenerator(seed: seed)
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            let file = File()
            bytes.withUnsafeBytes { file.durable.put($0, at: 0) }
            self.files.append(file)
            names[name] = self.files.count - 1
            durableNames[name] = self.files.count - 1
        }
    }

    mutating func apply(_ event: Recording.Event) {
        switch event {
        case .open(let name, let isNew):
            guard isNew else { return }
            files.append(File())
            names[name] = files.count - 1
            pendingNames.append((name, files.count - 1))
        case .write(let name, let offset, let bytes): add(.write(offset: offset, bytes: bytes), to: name)
        case .truncate(let name, let size): add(.truncate(size: size), to: name)
        case .sync(let name, let withDirectory):
            if let file = names[name] { files[file].sync() }
            if withDirectory { syncDirectory() }
        case .syncFailed(let name):
            if let file = names[name] { files[file].lose(using: &fates) }
        case .delete(let name, let withDirectory):
            names[name] = nil
            pendingNames.append((name, nil))
            if withDirectory { syncDirectory() }
        case .mark: break
        }
    }

    private mutating func add(_ change: Change, to name: String) {
        if let file = names[name] { files[file].pending.append(change) }
    }

    private mutating func syncDirectory() {
        for (name, file) in pendingNames { durableNames[name] = file }
        pendingNames = []
    }

    /// The files as one power cut could leave them.
    func image(after loss: PowerLoss, using random: inout SeededGenerator) -> [String: FileBytes] {
        var surviving = durableNames
        for name in Set(pendingNames.map(\.name)).sorted() {
            let changes = pendingNames.filter { $0.name == name }
            for change in changes.prefix(loss.surviving(of: changes.count, using: &random)) {
                surviving[name] = change.file
            }
        }
        var image: [String: FileBytes] = [:]
        for (name, file) in surviving.sorted(by: { $0.key < $1.key }) {
            image[name] = files[file].content(after: loss, using: &random)
        }
        return image
    }
}

extension Disk.File {
    fileprivate mutating func sync() {
        for change in pending { durable.apply(change) }
        pending = []
    }

    /// The kernel takes everything for written now, and will not try again. Half of it never was.
    fileprivate mutating func lose(using random: inout SeededGenerator) {
        for change in pending {
            if case .write = change, random.chance(0.5) { continue }
            durable.apply(change)
        }
        pending = []
    }

    fileprivate func content(after loss: PowerLoss, using random: inout SeededGenerator) -> FileBytes {
        let content = FileBytes(copying: durable)
        let surviving = loss.surviving(of: pending.count, using: &random)
        for (index, change) in pending.enumerated() {
            switch loss.fate(ofChange: index, cutAt: surviving, using: &random) {
            case .kept: content.apply(change)
            case .lost: break
            case .torn: content.tear(change, using: &random)
            case .sized: content.grow(for: change)
            case .garbled: content.garble(change, using: &random)
            }
        }
        return content
    }
}
