import Linux
import SimulatedDisk

/// Where a store is: in a folder whose VFS is recorded, or on a simulated disk.
struct Ground {
    let directory: String
    let files: any Files
    /// An operation has returned, with its number.
    var mark: (Int) -> Void = { _ in }
    /// The `number`-th sync of the file from now on fails; 0: none does.
    var failSync: (_ name: String, _ number: Int) -> Void = { _, _ in }

    var database: String { directory + "/beekon.db" }

    init(_ folder: Folder) {
        (directory, files) = (folder.path, SystemFiles())
    }

    init(_ folder: Folder, _ recording: Recording) {
        self.init(folder)
        mark = { recording.mark($0) }
        failSync = { recording.failSync(of: $0, number: $1) }
    }

    /// The only directory of a simulated disk.
    init(_ disk: SimulatedDisk) throws {
        directory = "/state"
        disk.makeDirectory(directory)
        files = try SimulatedFiles(on: disk)
    }
}
